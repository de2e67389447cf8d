//! A batch of clusters in any order, on all threads. Each CTA has a recorder of its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::cluster::{Cluster, ClusterTurn};
use super::{Engine, Failed, Issued};
use crate::launch::RunError;
use crate::observer::Recorder;

/// Clusters that a thread runs one after the other, at most. It takes registers and memories once
/// for all of them: where CTAs are short, threads would else wait for each other there.
const CLUSTERS_OF_TASK: usize = 4;

/// Tasks for each thread, at least, where there are enough clusters: the last ones end together.
const TASKS_OF_THREAD: usize = 4;

/// Warp-instructions after which the host is told of clusters that have ended.
const TOLD_AFTER: u64 = 1 << 16;

/// The clusters of `all` that a task runs one after the other. No more tasks are under way than
/// clusters may be, and few clusters are one for each thread.
fn clusters_of_task(all: usize, under_way: usize, threads: usize) -> usize {
    let fair = all / (TASKS_OF_THREAD * threads.max(1));
    all.div_ceil(under_way.max(1)).max(fair.clamp(1, CLUSTERS_OF_TASK))
}

/// What clusters that one thread ran one after the other have led to.
#[derive(Default)]
struct TaskOutcome {
    printed: Vec<u8>,
    issued: Issued,
    /// The cluster that failed, and why.
    error: Option<(usize, RunError)>,
}

/// Clusters that have ended on a thread, and that the host has not been told of.
#[derive(Default)]
pub(super) struct Untold {
    clusters: usize,
    instructions: u64,
}

impl Untold {
    /// Another one has ended. The host is told now and then.
    pub(super) fn add(&mut self, engine: &Engine<'_>, instructions: u64) {
        self.clusters += 1;
        self.instructions += instructions;
        if self.instructions >= TOLD_AFTER {
            self.tell(engine);
        }
    }

    /// Tells the host of all of them.
    pub(super) fn tell(&mut self, engine: &Engine<'_>) {
        let Self { clusters, .. } = std::mem::take(self);
        if clusters > 0 {
            engine.have_ended(clusters);
        }
    }
}

impl Engine<'_> {
    /// Runs a CTA for each recorder, cluster by cluster in any order; `first_of` a cluster's index
    /// is its first CTA.
    pub(super) fn run_parallel(
        &self,
        first_of: impl Fn(usize) -> u64 + Sync,
        recorders: &mut [&mut dyn Recorder],
        limit: u64,
    ) -> Result<Issued, Failed> {
        // The first cluster that failed; later ones do not matter any more.
        let failed = AtomicUsize::new(usize::MAX);
        let clusters = recorders.len().div_ceil(self.cluster);
        let of_task = clusters_of_task(clusters, self.under_way, rayon::current_num_threads());
        let tasks: Vec<TaskOutcome> = recorders
            .par_chunks_mut(of_task * self.cluster)
            .enumerate()
            .map(|(task, recorders)| {
                self.run_task(task * of_task, &first_of, recorders, limit, &failed)
            })
            .collect();
        let mut total = (0, 0);
        for TaskOutcome { printed, issued, error } in tasks {
            self.print(&printed);
            if let Some((index, error)) = error {
                return Err(Failed { error, reached: (index + 1) * self.cluster });
            }
            total = (total.0 + issued.0, total.1 + issued.1);
        }
        Ok(total)
    }

    /// Runs clusters from the one at `first` on, until one fails here or one before has `failed`.
    fn run_task(
        &self,
        first: usize,
        first_of: &impl Fn(usize) -> u64,
        recorders: &mut [&mut dyn Recorder],
        limit: u64,
        failed: &AtomicUsize,
    ) -> TaskOutcome {
        let mut outcome = TaskOutcome::default();
        let mut used: Option<Cluster> = None;
        let mut untold = Untold::default();
        for (index, recorders) in (first..).zip(recorders.chunks_mut(self.cluster)) {
            let given_up = self.stops(index) || self.context.is_given_up();
            if given_up || index > failed.load(Ordering::Relaxed) {
                break;
            }
            let mut cluster = match used.take().map_or_else(|| self.take(), Ok) {
                Ok(cluster) => cluster,
                Err(error) => {
                    failed.fetch_min(index, Ordering::Relaxed);
                    outcome.error = Some((index, error));
                    break;
                }
            };
            cluster.start(self.context, recorders, first_of(index));
            let ended = self.to_its_end(&mut cluster, recorders, limit);
            outcome.printed.append(&mut cluster.take_printed());
            if let Err(error) = ended {
                failed.fetch_min(index, Ordering::Relaxed);
                outcome.error = Some((index, error));
                break;
            }
            let (issued, lanes) = cluster.issued();
            outcome.issued = (outcome.issued.0 + issued, outcome.issued.1 + lanes);
            used = Some(cluster);
            untold.add(self, issued);
        }
        if let Some(cluster) = used {
            self.give_back(cluster);
        }
        untold.tell(self);
        outcome
    }

    /// Runs a cluster that has begun until it ends. No other one can help it.
    pub(super) fn to_its_end(
        &self,
        cluster: &mut Cluster,
        recorders: &mut [&mut dyn Recorder],
        limit: u64,
    ) -> Result<(), RunError> {
        match cluster.run(self.context, recorders, limit, false) {
            Ok(ClusterTurn::Done) => Ok(()),
            Ok(ClusterTurn::Expired | ClusterTurn::Taken) => {
                Err(RunError::Fault(cluster.budget_fault(self.context)))
            }
            Err(fault) => Err(RunError::Fault(fault)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_clusters_are_one_for_each_thread() {
        let any = usize::MAX;
        for (all, under_way, threads, of_task) in [
            (0, any, 2, 1),
            (1, any, 2, 1),
            (2, any, 2, 1),
            (8, any, 2, 1),
            (16, any, 2, 2),
            (64, any, 2, 4),
            (64, any, 1, 4),
            (64, any, 16, 1),
            (1024, any, 2, 4),
            // Memory for three clusters.
            (64, 3, 2, 22),
            (64, 1, 8, 64),
        ] {
            let found = clusters_of_task(all, under_way, threads);
            assert_eq!(found, of_task, "{all} clusters, {under_way} under way, {threads} threads");
        }
    }
}
