//! The engine: a grid of CTAs, each a set of warps, each a set of splits of 32 lanes.
//!
//! The unit of scheduling is the cluster, usually of one CTA. Its CTAs run on one CPU thread. Warps
//! take turns; barriers count threads. Batches of clusters run on rayon while the observer collects
//! the batch before (`parallel`). An observer that only adds up gets one recorder for each thread
//! instead (`sums`).
//!
//! A launch runs its CTAs in order, on one core, where their order could be seen. Such CTAs take
//! turns, so a CTA that waits for another one yields. 1024 CTAs are under way together, whatever
//! the number of threads. Every other round goes backwards, so chains of waiting CTAs end in either
//! direction.
//!
//! CTAs that take work from each other by atomics (`lower/taking`) share it as on a GPU: the turn
//! ends when one has taken some, and of those under way the one that has issued least goes on.
//!
//! CTAs that write different values to one address with plain stores race here as on a GPU, unless
//! a load that decides reads them (`watch`). Memory then holds one of the possible results, and one
//! thread makes it reproducible.
//!
//! Reductions are not logged. Integer reductions of one kind are applied at once, since they
//! commute. A log would hide a CTA's own reductions from its later loads.

mod access;
mod async_copy;
mod asynchronous;
mod atomic;
mod bulk_copy;
mod call;
mod classes;
mod cluster;
mod cluster_barrier;
mod cta;
mod ending;
mod lanes;
mod late_stores;
mod level;
mod matrix;
mod mbarrier;
mod observation;
mod one_cluster;
mod parallel;
mod pointers;
mod printf;
mod rare;
mod runtime;
mod sample;
mod setup;
mod shared;
mod stop;
mod sums;
mod tensor_copy;
mod tensor_memory;
mod texture;
mod warp;
mod warpgroup;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gpucast_ptx_frontend::module::VariableId;

use crate::launch::{Host, Launch, LaunchError, Options, RunError, Schedule, Summary};
use crate::memory::DeviceMemory;
use crate::observer::{Observer, Recorder, Wants};
use crate::program::Program;
pub use classes::{ByClasses, ClassEffort, run_classes, tally_classes, window_classes};
use cluster::{Cluster, ClusterTurn};
use cta::LaunchContext;
use level::Level;
use observation::{Batches, Observation, Observed};
pub use one_cluster::run_cluster;
pub use sample::{BySample, run_sample};
use stop::Stop;
use watch::{Decision, Plan};

/// Least number of CTAs that are handed to the observer together. It is small enough to bound the
/// recorders' memory, and large enough to keep all cores busy.
const MIN_BATCH: usize = 64;

/// Least number of CTAs that are under way together where CTAs run in order. A CTA for which
/// another one waits may be at most this far ahead of it. Real devices hold about as many.
const ORDERED_BATCH: usize = 1024;

/// Warp-instructions of a CTA's turn where CTAs run in order.
const ORDERED_TURN: u64 = 1 << 18;

/// Warp-instructions of a cluster after which an attempt to run CTAs in parallel is given up: one
/// of them may wait for another one that has no thread to run on.
const ATTEMPT_TURN: u64 = 1 << 28;

/// Executes a launch.
///
/// CTAs run in parallel on rayon's current thread pool where their order cannot be observed, and in
/// order otherwise (see [`Schedule`]). The observer sees the same for any number of threads. Where
/// only the run tells whether the order matters, CTAs run in parallel and are watched. If it does,
/// memory is restored, and the launch is executed again in order. `host` hears of progress and of
/// printed text.
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
    host: &dyn Host,
) -> Result<Summary, RunError> {
    let request = Request { level: Level::detect(), program, launch, options, host };
    request.run(memory, &mut Observed::new(observer))
}

/// Allocates everything in `memory` that a launch of `program` will find or make there: the
/// module's variables with their initial values, the workspace of cooperative launches, the heap.
/// [`run`] does the same. Whoever slices a program needs their addresses before.
///
/// # Errors
///
/// [`LaunchError`] if they do not fit, or for an initial value that has no address.
pub fn prepare(
    program: &Program,
    memory: &mut DeviceMemory,
    options: &Options,
) -> Result<(), LaunchError> {
    setup::variables(program, memory)?;
    prepare_rest(program, memory, options)
}

/// [`prepare`] without the module's variables.
fn prepare_rest(
    program: &Program,
    memory: &mut DeviceMemory,
    options: &Options,
) -> Result<(), LaunchError> {
    setup::allocate_grid_workspace(program, memory)?;
    if program.uses_heap() {
        memory.prepare_heap(options.heap_bytes).map_err(LaunchError::Allocation)?;
    }
    Ok(())
}

/// A launch that is asked for, without the memory that it changes.
struct Request<'a> {
    /// A level that this CPU has.
    level: Level,
    program: &'a Program,
    launch: &'a Launch,
    options: &'a Options,
    host: &'a dyn Host,
}

impl Request<'_> {
    /// [`run`].
    fn run(
        &self,
        memory: &mut DeviceMemory,
        observation: &mut dyn Observation,
    ) -> Result<Summary, RunError> {
        let globals = &setup::variables(self.program, memory)?;
        let Self { program, launch, options, .. } = *self;
        prepare_rest(program, memory, options)?;
        let wants = observation.wants();
        let context = self.context(memory, globals, wants)?;
        let clusters = launch.ctas() / u128::from(context.shape.ctas_per_cluster());
        let decision = match (options.schedule, &program.ordered_because) {
            (Schedule::Parallel, _) => Decision::Independent,
            (Schedule::Ordered, _) => Decision::Ordered("asked for".to_owned()),
            (Schedule::Automatic, Some(reason)) => Decision::Ordered(reason.clone()),
            (Schedule::Automatic, None) => Plan::of(&context, memory, clusters, wants.values),
        };
        let mut plan = match decision {
            Decision::Independent => return self.run_all(&context, observation, None),
            Decision::Ordered(reason) => {
                return self.run_all(&context, observation, Some(reason));
            }
            Decision::Watched(plan) => plan,
        };
        observation.begin_attempt();
        let watched = LaunchContext { watch: Some(&plan.watch), ..context };
        let outcome = self.run_all(&watched, observation, None);
        drop(watched);
        let holds = outcome.is_ok() && !plan.watch.has_conflict();
        observation.end_attempt(holds);
        match outcome {
            Err(stopped @ RunError::Stopped { .. }) => return Err(stopped),
            Ok(summary) if holds => return Ok(Summary { watched: true, ..summary }),
            Ok(_) | Err(_) => {}
        }
        plan.watch.begin_again();
        memory.restore(&plan.before);
        let context = self.context(memory, globals, wants)?;
        let ctas_per_cluster = u64::from(context.shape.ctas_per_cluster());
        // Watched once more, since only the order says which conflict is the first.
        let watched = LaunchContext { watch: Some(&plan.watch), ..context };
        let summary = self.run_all(&watched, observation, Some(String::new()))?;
        let reason = plan.watch.reason(program, ctas_per_cluster);
        Ok(Summary { ordered_because: Some(reason), watched: true, ..summary })
    }

    /// The inputs of an execution with the addresses of the module's variables.
    fn context<'c>(
        &'c self,
        memory: &'c DeviceMemory,
        globals: &Arc<HashMap<VariableId, u64>>,
        wants: Wants,
    ) -> Result<LaunchContext<'c>, LaunchError> {
        let stop = Stop::new(self.host, self.options.deadline);
        let Self { level, program, launch, options, .. } = *self;
        setup::context(level, program, launch, memory, globals, options, wants, stop)
    }

    /// Runs all CTAs of a launch once, in order if there is a reason for that.
    fn run_all(
        &self,
        context: &LaunchContext<'_>,
        observation: &mut dyn Observation,
        ordered_because: Option<String>,
    ) -> Result<Summary, RunError> {
        let ordered = ordered_because.is_some();
        let ctas = setup::ctas_in_order(&context.shape)?;
        let wave = observation.wave();
        // In order, the outcome must not depend on the number of threads.
        let batch = match ordered {
            true => ORDERED_BATCH,
            false => MIN_BATCH.max(4 * rayon::current_num_threads()),
        };
        // Whole waves and whole clusters.
        let cluster = context.shape.ctas_per_cluster() as usize;
        let unit = if wave.is_multiple_of(cluster) { wave } else { wave * cluster };
        let batch = unit * batch.div_ceil(unit);
        let batch = batch.min(ctas as usize).max(1);
        let mut engine = Engine {
            context,
            pool: Mutex::new(Vec::new()),
            done: AtomicU64::new(0),
            ctas,
            cluster,
            under_way: clusters_under_way(context)?,
            host: self.host,
            clusters: AtomicU64::new(0),
        };
        let mut summary =
            Summary { warp_instructions: 0, issued_lanes: 0, ordered_because, watched: false };
        if observation.adds_up() && !ordered {
            (summary.warp_instructions, summary.issued_lanes) =
                engine.run_sums(observation, self.options.instruction_budget)?;
            return Ok(summary);
        }
        observation.begin(context.program, batch, (batch as u64) < ctas);

        let mut first = 0;
        let mut pending: Option<u64> = None;
        while first < ctas {
            let count = batch.min((ctas - first) as usize);
            let budget = self.options.instruction_budget;
            let mut limit = rest_of(budget, summary.warp_instructions);
            if context.watch.is_some() && !ordered {
                limit = limit.min(ATTEMPT_TURN);
            }
            let Batches { mut filling, collect } = observation.batches(pending);
            let recorders = &mut filling[..count];
            let execute = || {
                if ordered {
                    engine.run_ordered(first, recorders, limit)
                } else {
                    let first_of = |index: usize| first + (index * cluster) as u64;
                    engine.run_parallel(first_of, recorders, limit)
                }
            };
            let (outcome, ()) = rayon::join(execute, collect);
            drop(filling);
            let (issued, lanes) = match outcome {
                Ok(issued) => issued,
                Err(Failed { error, reached }) => {
                    observation.fail(first, reached.min(count));
                    return Err(engine.stopped().unwrap_or(error));
                }
            };
            summary.warp_instructions += u128::from(issued);
            summary.issued_lanes += u128::from(lanes);
            let over = summary.warp_instructions > budget.into();
            let error = match engine.stopped() {
                None if over => Some(engine.over_budget()),
                stopped => stopped,
            };
            if let Some(error) = error {
                observation.fail(first, count);
                return Err(error);
            }
            observation.turn();
            pending = Some(first);
            first += count as u64;
        }
        if let Some(pending) = pending {
            observation.end(pending, (ctas - pending) as usize);
        }
        engine.pool.get_mut().map(Vec::clear).unwrap_or_default();
        Ok(summary)
    }
}

/// What is left of a budget of instructions.
fn rest_of(budget: u64, issued: u128) -> u64 {
    u64::try_from(issued).map_or(0, |issued| budget.saturating_sub(issued))
}

/// Returns the number of clusters that may be under way together, at least one.
fn clusters_under_way(context: &LaunchContext<'_>) -> Result<usize, LaunchError> {
    let Some(limit) = context.memory_limit else { return Ok(usize::MAX) };
    let (bytes, buffers) = (Cluster::bytes(context), context.device.total_bytes());
    match limit.saturating_sub(buffers) / bytes.max(1) {
        0 => {
            let needed = buffers.saturating_add(bytes);
            Err(LaunchError::Memory { needed, buffers, limit: Some(limit) })
        }
        clusters => Ok(usize::try_from(clusters).unwrap_or(usize::MAX)),
    }
}

/// Runs batches of CTAs.
struct Engine<'a> {
    context: &'a LaunchContext<'a>,
    /// Clusters' registers and memories, for reuse.
    pool: Mutex<Vec<Cluster>>,
    done: AtomicU64,
    ctas: u64,
    /// CTAs of one cluster.
    cluster: usize,
    /// Clusters that may be under way together.
    under_way: usize,
    host: &'a dyn Host,
    /// Clusters that have registers and memories.
    clusters: AtomicU64,
}

/// Clusters begun on a thread after which it asks whether the run is to stop.
const CLUSTERS_BETWEEN_POLLS: usize = 8;

/// A batch that came to a fault.
struct Failed {
    error: RunError,
    /// Number of the batch's recorders whose content does not depend on the number of threads. That
    /// is up to the cluster that failed, or all where clusters take turns.
    reached: usize,
}

/// The turns of clusters that run in order.
struct OrderedTurn {
    /// Warp-instructions that each may have issued when its turn is over.
    instructions: u64,
    /// Clusters that had not ended when the last turn began.
    waiting: usize,
}

type Issued = (u64, u64);

/// A cluster under way, with the index of its first recorder in the batch.
type Begun = (usize, Cluster);

impl Engine<'_> {
    /// A cluster's registers and memories: used ones if there are any.
    fn take(&self) -> Result<Cluster, RunError> {
        if let Some(cluster) = self.pool.lock().ok().and_then(|mut pool| pool.pop()) {
            return Ok(cluster);
        }
        let clusters = self.clusters.fetch_add(1, Ordering::Relaxed) + 1;
        Cluster::new(self.context).map_err(|_| {
            let buffers = self.context.device.total_bytes();
            let bytes = clusters.saturating_mul(Cluster::bytes(self.context));
            let needed = buffers.saturating_add(bytes);
            RunError::Launch(LaunchError::Memory { needed, buffers, limit: None })
        })
    }

    /// Returns true if the run stops before the cluster at `index`; asked anew at every eighth
    /// only.
    fn stops(&self, index: usize) -> bool {
        let stop = &self.context.stop;
        if index.is_multiple_of(CLUSTERS_BETWEEN_POLLS) {
            stop.poll()
        } else {
            stop.reason().is_some()
        }
    }

    /// Returns the error that ends the run if it was given up from outside.
    fn stopped(&self) -> Option<RunError> {
        let reason = self.context.stop.reason()?;
        let done = self.done.load(Ordering::Relaxed);
        Some(RunError::Stopped { reason, done: done.into(), ctas: self.ctas.into() })
    }

    /// Tells the host that so many more clusters are done.
    fn have_ended(&self, clusters: usize) {
        let ctas = (clusters * self.cluster) as u64;
        let done = self.done.fetch_add(ctas, Ordering::Relaxed) + ctas;
        self.host.progress(done.into(), self.ctas.into());
    }

    fn give_back(&self, cluster: Cluster) {
        if let Ok(mut pool) = self.pool.lock() {
            pool.push(cluster);
        }
    }

    fn print(&self, text: &[u8]) {
        if !text.is_empty() {
            self.host.print(text);
        }
    }

    /// Runs the CTAs from `first` on, one cluster after the other; one that does not end in its
    /// turn is continued after the others have had theirs.
    fn run_ordered(
        &self,
        first: u64,
        recorders: &mut [&mut dyn Recorder],
        limit: u64,
    ) -> Result<Issued, Failed> {
        let reached = recorders.len();
        self.take_turns(first, recorders, limit).map_err(|error| Failed { error, reached })
    }

    /// [`Self::run_ordered`], with the error alone.
    fn take_turns(
        &self,
        first: u64,
        recorders: &mut [&mut dyn Recorder],
        limit: u64,
    ) -> Result<Issued, RunError> {
        let mut total = (0, 0);
        let mut waiting: Vec<(usize, Cluster)> = Vec::new();
        let mut turn = OrderedTurn { instructions: ORDERED_TURN.min(limit), waiting: usize::MAX };
        for index in (0..recorders.len()).step_by(self.cluster) {
            if self.stops(index) {
                break;
            }
            // The memory limits the clusters under way; another one begins when one has ended.
            while waiting.len() >= self.under_way {
                waiting = self.next_round(waiting, recorders, &mut turn, limit, &mut total)?;
            }
            let mut cluster = self.take()?;
            let own = &mut recorders[index..index + self.cluster];
            cluster.start(self.context, own, first + index as u64);
            let others = !waiting.is_empty() || index + self.cluster < recorders.len();
            let may_help = others && turn.instructions < limit;
            let own = (index, cluster);
            let outcome = self.turn(own, recorders, turn.instructions, may_help, &mut total)?;
            waiting.extend(outcome.map(|(_, left)| left));
        }
        while !waiting.is_empty() {
            waiting = self.next_round(waiting, recorders, &mut turn, limit, &mut total)?;
        }
        Ok(total)
    }

    /// Gives each of `waiting` one more turn, longer than the last, up to `limit` in all. Returns
    /// those that have not ended.
    fn next_round(
        &self,
        mut waiting: Vec<(usize, Cluster)>,
        recorders: &mut [&mut dyn Recorder],
        turn: &mut OrderedTurn,
        limit: u64,
        total: &mut Issued,
    ) -> Result<Vec<(usize, Cluster)>, RunError> {
        let first = waiting.iter().min_by_key(|(index, _)| *index);
        if let Some((_, first)) = first
            && (turn.instructions >= limit || self.context.stop.reason().is_some())
        {
            return Err(RunError::Fault(first.budget_fault(self.context)));
        }
        // Turns grow faster where nobody gets anywhere. Every other round goes backwards, so that
        // chains of clusters that wait for their predecessors end as soon as those that wait for
        // their successors.
        let stuck = waiting.len() == turn.waiting;
        let longer = if stuck { turn.instructions } else { ORDERED_TURN };
        turn.instructions = turn.instructions.saturating_add(longer).min(limit);
        turn.waiting = waiting.len();
        waiting.reverse();
        let may_help = waiting.len() > 1 && turn.instructions < limit;
        self.ordered_turns(waiting, recorders, turn.instructions, may_help, total)
    }

    /// Gives each of `waiting` one turn, up to `limit` warp-instructions of each in all. Returns
    /// those that have not ended. Where they only wait, other clusters `may_help` them.
    fn ordered_turns(
        &self,
        waiting: Vec<(usize, Cluster)>,
        recorders: &mut [&mut dyn Recorder],
        limit: u64,
        may_help: bool,
        total: &mut Issued,
    ) -> Result<Vec<(usize, Cluster)>, RunError> {
        let mut left = Vec::new();
        let mut taking = BTreeMap::new();
        for own in waiting {
            if !self.context.program.takes_work.is_empty() {
                taking.insert((own.1.issued().0, own.0), own);
            } else if let Some((_, own)) = self.turn(own, recorders, limit, may_help, total)? {
                left.push(own);
            }
        }
        // Whoever has done least asks for work first, as on SMs that are equally fast.
        while let Some((_, own)) = taking.pop_first() {
            match self.turn(own, recorders, limit, may_help, total)? {
                Some((ClusterTurn::Taken, own)) => {
                    taking.insert((own.1.issued().0, own.0), own);
                }
                Some((_, own)) => left.push(own),
                None => {}
            }
        }
        Ok(left)
    }

    /// Gives a cluster one turn, up to `limit` of its warp-instructions in all. Returns it with the
    /// reason why it stopped, unless it has ended.
    fn turn(
        &self,
        (index, mut cluster): Begun,
        recorders: &mut [&mut dyn Recorder],
        limit: u64,
        may_help: bool,
        total: &mut Issued,
    ) -> Result<Option<(ClusterTurn, Begun)>, RunError> {
        if self.stops(index) {
            return Ok(Some((ClusterTurn::Expired, (index, cluster))));
        }
        let recorders = &mut recorders[index..index + self.cluster];
        let turn = cluster.run(self.context, recorders, limit, may_help);
        self.print(&cluster.take_printed());
        let turn = turn.map_err(RunError::Fault)?;
        if turn != ClusterTurn::Done {
            return Ok(Some((turn, (index, cluster))));
        }
        let (issued, lanes) = cluster.issued();
        *total = (total.0 + issued, total.1 + lanes);
        self.give_back(cluster);
        self.have_ended(1);
        Ok(None)
    }

    /// The fault of a launch whose CTAs together have used up the budget.
    fn over_budget(&self) -> RunError {
        match self.take() {
            Ok(cluster) => RunError::Fault(cluster.budget_fault(self.context)),
            Err(error) => error,
        }
    }
}

#[cfg(test)]
mod unsafe_tests;

#[cfg(test)]
#[path = "../../tests/cases/mod.rs"]
mod cases;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Argument, NoObserver, Silent};

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
        let launch = Launch {
            grid: [2, 1, 1],
            block: [45, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments,
        };
        let options = Options {
            instruction_budget: 1 << 14,
            schedule: Schedule::Ordered,
            ..Options::default()
        };
        let request = Request { level, program, launch: &launch, options: &options, host: &Silent };
        let result = request.run(&mut memory, &mut Observed::new(&mut NoObserver));
        let contents = program.parameters().iter();
        (contents.map(|p| memory.bytes(&p.name).unwrap().to_vec()).collect(), result)
    }

    #[test]
    fn all_cpu_levels_compute_the_same_from_arbitrary_bits() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instructions");
        let mut compared = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            let text = cases::expanded(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
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
