//! The engine: a grid of CTAs, each a set of warps, each a set of splits of 32 lanes.

mod access;
mod atomic;
mod cta;
pub(crate) mod lane;
mod lanes;
mod level;
mod setup;
mod warp;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::fault::Fault;
use crate::launch::{Launch, Options, RunError, Schedule, Summary};
use crate::memory::DeviceMemory;
use crate::observer::Observer;
use crate::program::Program;
use cta::{Cta, CtaTurn, LaunchContext};
use level::Level;

/// CTAs that are handed to the observer together, at least; small enough to bound what the
/// recorders hold, large enough to keep all cores busy.
const MIN_BATCH: usize = 64;

/// CTAs that are under way together where CTAs run in order, at least: how far ahead of a CTA that
/// waits the one it waits for may be. Real devices hold about as many.
const ORDERED_BATCH: usize = 1024;

/// Warp-instructions of a CTA's turn where CTAs run in order.
const ORDERED_TURN: u64 = 1 << 18;

/// Execute a launch.
///
/// CTAs run in parallel on rayon's current thread pool where their order cannot be observed, in order
/// otherwise (see [`Schedule`]); the result is the same for any number of threads. `progress` is
/// told how many CTAs are done, of how many.
///
/// # Errors
///
/// [`RunError::Launch`] if the launch itself is impossible, before anything runs;
/// [`RunError::Fault`] if the kernel fails, with the fault of the lowest CTA that failed.
pub fn run<O: Observer>(
    program: &Program,
    launch: &Launch,
    memory: &mut DeviceMemory,
    observer: &mut O,
    options: &Options,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Summary, RunError> {
    run_at(Level::detect(), program, launch, memory, observer, options, progress)
}

/// [`run`] on a CPU level that this CPU has.
fn run_at<O: Observer>(
    level: Level,
    program: &Program,
    launch: &Launch,
    memory: &mut DeviceMemory,
    observer: &mut O,
    options: &Options,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Summary, RunError> {
    let globals = setup::allocate_globals(program, memory)?;
    let context = setup::context(level, program, launch, memory, &globals, options)?;
    let ordered_because = match options.schedule {
        Schedule::Automatic => program.ordered_because.clone(),
        Schedule::Ordered => Some("asked for".to_owned()),
        Schedule::Parallel => None,
    };
    let ctas = launch.ctas();
    let wave = observer.wave().max(1);
    // In order, what ends must not depend on the number of threads.
    let batch = match ordered_because {
        Some(_) => ORDERED_BATCH,
        None => MIN_BATCH.max(4 * rayon::current_num_threads()),
    };
    let batch = wave * batch.div_ceil(wave);
    let batch = batch.min(ctas as usize).max(1);
    let mut engine = Engine {
        context: &context,
        pool: Mutex::new(Vec::new()),
        done: AtomicU64::new(0),
        ctas,
        progress,
    };
    // Two sets of recorders: while one is collected, the other fills.
    let mut current: Vec<_> = (0..batch).map(|_| observer.recorder(program)).collect();
    let mut next: Vec<_> = (0..batch).map(|_| observer.recorder(program)).collect();
    let mut summary = Summary { warp_instructions: 0, issued_lanes: 0, ordered_because };
    let ordered = summary.ordered_because.is_some();

    let mut first = 0;
    let mut pending: Option<u64> = None;
    while first < ctas {
        let count = batch.min((ctas - first) as usize);
        let limit = options.instruction_budget.saturating_sub(summary.warp_instructions);
        let execute = || {
            if ordered {
                engine.run_ordered(first, &mut next[..count], limit)
            } else {
                engine.run_parallel(first, &mut next[..count], limit)
            }
        };
        let collect = || {
            if let Some(first) = pending {
                for (wave_index, recorders) in current.chunks_mut(wave).enumerate() {
                    observer.collect(first + (wave_index * wave) as u64, recorders);
                }
            }
        };
        let (outcome, ()) = rayon::join(execute, collect);
        let (issued, lanes) = outcome?;
        summary.warp_instructions += issued;
        summary.issued_lanes += lanes;
        if summary.warp_instructions > options.instruction_budget {
            return Err(engine.over_budget());
        }
        std::mem::swap(&mut current, &mut next);
        pending = Some(first);
        first += count as u64;
    }
    if let Some(pending) = pending {
        let count = (ctas - pending) as usize;
        for (wave_index, recorders) in current[..count].chunks_mut(wave).enumerate() {
            observer.collect(pending + (wave_index * wave) as u64, recorders);
        }
    }
    engine.pool.get_mut().map(Vec::clear).unwrap_or_default();
    Ok(summary)
}

/// Runs batches of CTAs.
struct Engine<'a> {
    context: &'a LaunchContext<'a>,
    /// CTAs' registers and memories, for reuse.
    pool: Mutex<Vec<Cta>>,
    done: AtomicU64,
    ctas: u64,
    progress: &'a (dyn Fn(u64, u64) + Sync),
}

type Issued = (u64, u64);

impl Engine<'_> {
    fn take(&self) -> Cta {
        let pooled = self.pool.lock().ok().and_then(|mut pool| pool.pop());
        pooled.unwrap_or_else(|| Cta::new(self.context))
    }

    fn give_back(&self, cta: Cta) {
        if let Ok(mut pool) = self.pool.lock() {
            pool.push(cta);
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)(done, self.ctas);
    }

    /// Run the CTAs from `first` on, one for each recorder, in any order.
    fn run_parallel<R: crate::Recorder>(
        &self,
        first: u64,
        recorders: &mut [R],
        limit: u64,
    ) -> Result<Issued, RunError> {
        // The first CTA that failed; what comes after it does not matter any more.
        let failed = AtomicUsize::new(usize::MAX);
        let outcomes: Vec<Result<Issued, Box<Fault>>> = recorders
            .par_iter_mut()
            .enumerate()
            .with_max_len(4)
            .map(|(index, recorder)| {
                if index > failed.load(Ordering::Relaxed) {
                    return Ok((0, 0));
                }
                let mut cta = self.take();
                cta.start(self.context, first + index as u64);
                let fault = match cta.run(self.context, recorder, limit) {
                    Ok(CtaTurn::Done) => None,
                    Ok(CtaTurn::Expired) => Some(cta.budget_fault(self.context)),
                    Err(fault) => Some(fault),
                };
                if let Some(fault) = fault {
                    failed.fetch_min(index, Ordering::Relaxed);
                    return Err(fault);
                }
                let issued = cta.issued();
                self.give_back(cta);
                Ok(issued)
            })
            .collect();
        let mut total = (0, 0);
        for outcome in outcomes {
            let (issued, lanes) = outcome.map_err(RunError::Fault)?;
            total = (total.0 + issued, total.1 + lanes);
        }
        Ok(total)
    }

    /// Run the CTAs from `first` on, one after the other; one that does not end in its turn is
    /// continued after the others have had theirs.
    fn run_ordered<R: crate::Recorder>(
        &self,
        first: u64,
        recorders: &mut [R],
        limit: u64,
    ) -> Result<Issued, RunError> {
        let mut total = (0, 0);
        let mut waiting: Vec<(usize, Cta)> = Vec::new();
        let mut turn = ORDERED_TURN.min(limit);
        for index in 0..recorders.len() {
            let mut cta = self.take();
            cta.start(self.context, first + index as u64);
            waiting.extend(self.ordered_turns(vec![(index, cta)], recorders, turn, &mut total)?);
        }
        while !waiting.is_empty() {
            if turn >= limit {
                return Err(RunError::Fault(waiting[0].1.budget_fault(self.context)));
            }
            turn = turn.saturating_mul(2).min(limit);
            waiting = self.ordered_turns(waiting, recorders, turn, &mut total)?;
        }
        Ok(total)
    }

    /// One turn for each of `waiting`, up to `limit` warp-instructions of each in all; answers
    /// those that have not ended.
    fn ordered_turns<R: crate::Recorder>(
        &self,
        waiting: Vec<(usize, Cta)>,
        recorders: &mut [R],
        limit: u64,
        total: &mut Issued,
    ) -> Result<Vec<(usize, Cta)>, RunError> {
        let mut left = Vec::new();
        for (index, mut cta) in waiting {
            let turn = cta.run(self.context, &mut recorders[index], limit);
            if turn.map_err(RunError::Fault)? == CtaTurn::Done {
                let (issued, lanes) = cta.issued();
                *total = (total.0 + issued, total.1 + lanes);
                self.give_back(cta);
            } else {
                left.push((index, cta));
            }
        }
        Ok(left)
    }

    /// The fault of a launch whose CTAs together have used up the budget.
    fn over_budget(&self) -> RunError {
        RunError::Fault(self.take().budget_fault(self.context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Argument, NoObserver};

    /// The contents of all buffers after a launch of `kernel` with arbitrary contents, or what
    /// went wrong.
    fn outcome(
        level: Level,
        program: &Program,
        seed: u64,
    ) -> (Vec<Vec<u8>>, Result<Summary, RunError>) {
        let mut memory = DeviceMemory::new();
        let mut random = seed | 1;
        let mut arguments = Vec::new();
        for parameter in program.parameters() {
            arguments.push(Argument::Address(memory.allocate(&parameter.name, 4096).unwrap()));
            for byte in memory.bytes_mut(&parameter.name).unwrap() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (random >> 56) as u8;
            }
        }
        let launch =
            Launch { grid: [2, 1, 1], block: [45, 1, 1], dynamic_shared_bytes: 0, arguments };
        let options = Options { instruction_budget: 1 << 14, schedule: Schedule::Ordered };
        let result =
            run_at(level, program, &launch, &mut memory, &mut NoObserver, &options, &|_, _| {});
        let contents = program.parameters().iter();
        (contents.map(|p| memory.bytes(&p.name).unwrap().to_vec()).collect(), result)
    }

    #[test]
    fn all_cpu_levels_compute_the_same_from_arbitrary_bits() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instructions");
        let mut compared = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let module = gpucast_ptx_frontend::load(&text).unwrap();
            for kernel in Program::kernels(&module) {
                let program = Program::new(&module, &text, kernel).unwrap();
                let baseline = outcome(Level::available()[0].1, &program, compared);
                for (name, level) in &Level::available()[1..] {
                    let other = outcome(*level, &program, compared);
                    for (other, wanted) in other.0.iter().zip(&baseline.0) {
                        let differs = |(a, b): (&[u8], &[u8])| a != b;
                        let at = other.chunks(4).zip(wanted.chunks(4)).position(differs);
                        assert_eq!(at, None, "{kernel} differs on {name} in this word");
                    }
                    assert_eq!(other.1, baseline.1, "{kernel} differs on {name}");
                }
                compared += 1;
            }
        }
        assert!(compared > 1000);
    }
}
