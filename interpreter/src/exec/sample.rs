//! Samples of a grid: some of its CTAs are executed, and an observer estimates what all of them do.
//!
//! The CTAs of a sample must do what they do among all others. That is so if the launch writes no
//! contents of device memory that counts depend on: each CTA then finds what was there before, and
//! so does every later launch. `program` is that of a slice, which leaves out all other writes.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::classes::unfit;
use super::cta::LaunchContext;
use super::level::Level;
use super::observation::hand_over;
use super::{Engine, Failed, MIN_BATCH, Request, clusters_under_way, prepare_rest, rest_of, setup};
use crate::launch::{Host, Launch, Options, RunError, Schedule, StopReason, Summary};
use crate::memory::DeviceMemory;
use crate::observer::{Recorder, Samples, Wants};
use crate::program::Program;

/// A launch of which a sample was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BySample {
    /// As of the CTAs that were executed.
    pub summary: Summary,
    /// CTAs that were executed, those included that an observer had executed to no other end than
    /// to plan its sample or to fill caches.
    pub executed: u64,
    /// True if time was over before all CTAs of the sample were executed.
    pub is_cut_short: bool,
}

/// The time of the CTAs that are under way when time is over, over that of the slowest ones before.
/// Beyond it they are taken to be of a kind that no other CTA of the sample is: an endless loop, or
/// one that does most of the work. A sample without them would say nothing of the launch.
const UNLIKE_OTHERS: u32 = 8;

/// Executes the CTAs of a launch that an observer asks for, and no others. `program` comes from
/// [`Program::sliced`]. The budget of instructions covers what is executed. At the deadline, what
/// was executed by then is the sample, if the observer agrees and no CTA hangs.
///
/// The inner error is the reason why this cannot be done. The observer has heard nothing then.
///
/// # Errors
///
/// As [`super::run`], with the fault of the first sampled CTA that failed.
pub fn run_sample<O: Samples>(
    program: &Program,
    launch: &Launch,
    memory: &mut DeviceMemory,
    observer: &mut O,
    options: &Options,
    host: &dyn Host,
) -> Result<Result<BySample, String>, RunError> {
    let request = Request { level: Level::detect(), program, launch, options, host };
    request.run_sample(memory, observer)
}

/// Consecutive CTAs of one range.
#[derive(Clone, Debug)]
struct Piece {
    first: u64,
    ctas: usize,
}

/// Cuts ranges into pieces, and puts these together to batches of `most` CTAs.
fn batches(ranges: &[Range<u64>], most: usize) -> Vec<Vec<Piece>> {
    let pieces = ranges.iter().flat_map(|range| {
        range.clone().step_by(most).map(|first| {
            let ctas = (range.end - first).min(most as u64) as usize;
            Piece { first, ctas }
        })
    });
    let mut batches: Vec<Vec<Piece>> = Vec::new();
    let mut room = 0;
    for piece in pieces {
        match batches.last_mut().filter(|_| piece.ctas <= room) {
            Some(batch) => batch.push(piece.clone()),
            None => {
                room = most;
                batches.push(vec![piece.clone()]);
            }
        }
        room -= piece.ctas;
    }
    batches
}

impl Request<'_> {
    fn run_sample<O: Samples>(
        &self,
        memory: &mut DeviceMemory,
        observer: &mut O,
    ) -> Result<Result<BySample, String>, RunError> {
        let Self { program, options, .. } = *self;
        if let Some(because) = program.writes_contents() {
            return Ok(Err(because));
        }
        let globals = setup::variables(program, memory)?;
        prepare_rest(program, memory, options)?;
        let wants = Wants::of::<O>();
        let context = self.context(memory, &globals, wants)?;
        setup::ctas_in_order(&context.shape)?;
        if let Some(because) = unfit(&context, memory, options, wants) {
            return Ok(Err(because));
        }
        let ordered_because = match options.schedule {
            Schedule::Automatic => program.ordered_because.clone(),
            Schedule::Ordered | Schedule::Parallel => None,
        };
        let mut sampled = BySample {
            summary: Summary {
                warp_instructions: 0,
                issued_lanes: 0,
                ordered_because,
                watched: false,
            },
            executed: 0,
            is_cut_short: false,
        };
        while !sampled.is_cut_short {
            match observer.next_ranges() {
                Ok(ranges) if ranges.is_empty() => break,
                Ok(ranges) => self.run_ranges(&context, &ranges, observer, &mut sampled)?,
                Err(because) => return Ok(Err(because)),
            }
        }
        Ok(Ok(sampled))
    }

    /// Executes ranges of CTAs while the observer collects those before. It ends early where time
    /// is over and the CTAs before are a sample by themselves.
    fn run_ranges<O: Samples>(
        &self,
        context: &LaunchContext<'_>,
        ranges: &[Range<u64>],
        observer: &mut O,
        sampled: &mut BySample,
    ) -> Result<(), RunError> {
        let wave = observer.wave().max(1);
        let most = MIN_BATCH.max(4 * rayon::current_num_threads()).next_multiple_of(wave);
        let ctas: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let engine = Engine {
            context,
            pool: Mutex::new(Vec::new()),
            done: AtomicU64::new(0),
            ctas,
            cluster: 1,
            under_way: clusters_under_way(context)?,
            host: self.host,
            clusters: AtomicU64::new(0),
        };
        let recorders = |observer: &O| -> Vec<_> {
            (0..most).map(|_| observer.recorder(context.program)).collect()
        };
        let (mut filling, mut full) = (recorders(observer), recorders(observer));
        let mut pending: Vec<Piece> = Vec::new();
        let budget = self.options.instruction_budget;
        let mut longest = Duration::ZERO;
        for batch in batches(ranges, most) {
            let ctas: Vec<u64> = batch
                .iter()
                .flat_map(|piece| piece.first..piece.first + piece.ctas as u64)
                .collect();
            let limit = rest_of(budget, sampled.summary.warp_instructions);
            let began = Instant::now();
            let execute = || {
                let mut recorders: Vec<&mut dyn Recorder> =
                    filling[..ctas.len()].iter_mut().map(Recorder::listening).collect();
                let outcome = engine.run_parallel(|index| ctas[index], &mut recorders, limit);
                (outcome, began.elapsed())
            };
            let ((outcome, lasting), ()) =
                rayon::join(execute, || collect(observer, &pending, &mut full));
            if let Some(error) = engine.stopped() {
                let is_over =
                    matches!(error, RunError::Stopped { reason: StopReason::Deadline, .. });
                let hangs = lasting > UNLIKE_OTHERS * longest;
                if !is_over || hangs || !observer.may_end() {
                    return Err(error);
                }
                sampled.is_cut_short = true;
                return Ok(());
            }
            longest = longest.max(lasting);
            let (issued, lanes) = outcome.map_err(|Failed { error, .. }| error)?;
            let Summary { warp_instructions, issued_lanes, .. } = &mut sampled.summary;
            *warp_instructions += u128::from(issued);
            *issued_lanes += u128::from(lanes);
            sampled.executed += ctas.len() as u64;
            if *warp_instructions > budget.into() {
                return Err(engine.over_budget());
            }
            std::mem::swap(&mut filling, &mut full);
            pending = batch;
        }
        collect(observer, &pending, &mut full);
        Ok(())
    }
}

/// Hands over the recorders of a batch, piece by piece.
fn collect<O: Samples>(observer: &mut O, batch: &[Piece], recorders: &mut [O::Recorder]) {
    let mut rest = recorders;
    for piece in batch {
        let (own, others) = rest.split_at_mut(piece.ctas.min(rest.len()));
        hand_over(observer, piece.first, own);
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_each_cta_of_the_ranges_once_and_in_order() {
        let ranges = [0..3, 10..11, 20..31, 40..41, 50..54];
        let batches = batches(&ranges, 4);
        let ctas = |batch: &Vec<Piece>| -> Vec<u64> {
            batch.iter().flat_map(|piece| piece.first..piece.first + piece.ctas as u64).collect()
        };
        assert!(batches.iter().all(|batch| (1..=4).contains(&ctas(batch).len())));
        let all: Vec<u64> = batches.iter().flat_map(ctas).collect();
        assert_eq!(all, ranges.iter().flat_map(Clone::clone).collect::<Vec<_>>());
    }
}
