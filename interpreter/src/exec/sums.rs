//! Clusters of a launch whose observer adds up: each thread has recorders of its own, and records
//! one cluster after the other with them.
//!
//! Most runs only count. A recorder for every CTA would then fill the caches of the CPU, and its
//! sums would be added by one thread while the others wait.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::cluster::Cluster;
use super::observation::Observation;
use super::parallel::Untold;
use super::{ATTEMPT_TURN, Engine, rest_of};
use crate::launch::RunError;
use crate::observer::Recorder;

/// Clusters of the first batch, and of all if each uses a large part of the budget.
const LEAST_BATCH: u64 = 64;

/// Clusters of a batch, at most: some seconds between looks at the budget if they are short.
/// Clusters that print come in small batches, since their text is kept until the batch ends.
const MOST_BATCH: u64 = 1 << 16;

/// Clusters that a thread takes at once, at most. The next ones are then in its cache more often,
/// and threads seldom ask for more.
const CLUSTERS_AT_ONCE: u64 = 16;

/// Times that a thread takes clusters of a batch, at least, if there are enough: the last ones end
/// together.
const TIMES_OF_THREAD: u64 = 16;

/// A thread's place: its recorders, registers and memories.
struct Seat<'r> {
    /// One for each CTA of a cluster.
    recorders: Vec<&'r mut (dyn Recorder + 'r)>,
    cluster: Option<Cluster>,
    /// Warp-instructions and lanes of its clusters.
    issued: (u128, u128),
    /// What its clusters of this batch have printed, each text with the first one of its clusters.
    printed: Vec<(u64, Vec<u8>)>,
    /// The cluster that failed, and why. It is the last one then.
    error: Option<(u64, RunError)>,
}

/// The clusters of a batch, which threads take some at a time, in their order.
struct Batch {
    end: u64,
    at_once: u64,
    /// Warp-instructions of a cluster, at most.
    limit: u64,
    /// The next one to be taken.
    next: AtomicU64,
    /// The first cluster that failed; later ones do not matter any more.
    failed: AtomicU64,
}

impl Batch {
    fn new(clusters: Range<u64>, threads: usize, limit: u64) -> Self {
        let all = clusters.end - clusters.start;
        Self {
            end: clusters.end,
            at_once: (all / (TIMES_OF_THREAD * threads as u64)).clamp(1, CLUSTERS_AT_ONCE),
            limit,
            next: AtomicU64::new(clusters.start),
            failed: AtomicU64::new(u64::MAX),
        }
    }

    /// The next clusters that nobody has taken.
    fn take(&self) -> Option<Range<u64>> {
        let first = self.next.fetch_add(self.at_once, Ordering::Relaxed);
        (first < self.end).then(|| first..self.end.min(first + self.at_once))
    }
}

impl Engine<'_> {
    /// Runs all clusters. Returns the warp-instructions that they issued and the lanes active in
    /// them. Clusters of a batch share the rest of the budget, and a batch may exceed it: the
    /// larger the part that clusters have used so far, the smaller the batch.
    pub(super) fn run_sums(
        &self,
        observation: &mut dyn Observation,
        budget: u64,
    ) -> Result<(u128, u128), RunError> {
        let clusters = self.ctas / self.cluster as u64;
        let threads = rayon::current_num_threads().min(self.under_way).max(1);
        let seats = threads.min(usize::try_from(clusters).unwrap_or(usize::MAX));
        let mut recorders =
            observation.sums(self.context.program, seats * self.cluster).into_iter();
        let mut seats: Vec<Seat<'_>> = (0..seats)
            .map(|_| Seat {
                recorders: recorders.by_ref().take(self.cluster).collect(),
                cluster: None,
                issued: (0, 0),
                printed: Vec::new(),
                error: None,
            })
            .collect();
        let most = if self.context.program.prints() { LEAST_BATCH } else { MOST_BATCH };
        let mut issued = (0, 0);
        let mut first = 0;
        while first < clusters {
            let rest = rest_of(budget, issued.0);
            let limit = match self.context.watch {
                Some(_) => rest.min(ATTEMPT_TURN),
                None => rest,
            };
            let end = clusters.min(first + batch_of(first, issued.0, rest).min(most));
            let batch = Batch::new(first..end, threads, limit);
            seats.par_iter_mut().with_max_len(1).for_each(|seat| self.fill(seat, &batch));
            self.end_batch(&mut seats)?;
            let sum =
                |sum: (u128, u128), seat: &Seat<'_>| (sum.0 + seat.issued.0, sum.1 + seat.issued.1);
            issued = seats.iter().fold((0, 0), sum);
            if issued.0 > budget.into() {
                return Err(self.stopped().unwrap_or_else(|| self.over_budget()));
            }
            if let Some(stopped) = self.stopped() {
                return Err(stopped);
            }
            first = end;
        }
        drop(seats);
        observation.end_sums();
        Ok(issued)
    }

    /// Runs clusters on one thread as long as there are any.
    fn fill(&self, seat: &mut Seat<'_>, batch: &Batch) {
        let mut untold = Untold::default();
        while let Some(clusters) = batch.take() {
            let mut printed = Vec::new();
            let first = clusters.start;
            let ended = clusters.into_iter().try_for_each(|index| {
                let given_up = self.stops(index as usize) || self.context.is_given_up();
                if given_up || index > batch.failed.load(Ordering::Relaxed) {
                    return Err(());
                }
                let outcome = self.record(seat, index, batch.limit, &mut printed);
                outcome.map(|issued| untold.add(self, issued)).map_err(|error| {
                    batch.failed.fetch_min(index, Ordering::Relaxed);
                    seat.error = Some((index, error));
                })
            });
            if !printed.is_empty() {
                seat.printed.push((first, printed));
            }
            if ended.is_err() {
                break;
            }
        }
        untold.tell(self);
    }

    /// Runs a cluster from its beginning to its end. Returns the warp-instructions of it.
    fn record(
        &self,
        seat: &mut Seat<'_>,
        index: u64,
        limit: u64,
        printed: &mut Vec<u8>,
    ) -> Result<u64, RunError> {
        let Seat { recorders, cluster, issued, .. } = seat;
        let first = index * self.cluster as u64;
        let cluster = match cluster {
            Some(cluster) => {
                cluster.go_on(self.context, recorders, first);
                cluster
            }
            None => {
                let cluster = cluster.insert(self.take()?);
                cluster.start(self.context, recorders, first);
                cluster
            }
        };
        let ended = self.to_its_end(cluster, recorders, limit);
        printed.append(&mut cluster.take_printed());
        let (instructions, lanes) = cluster.issued();
        *issued = (issued.0 + u128::from(instructions), issued.1 + u128::from(lanes));
        ended.map(|()| instructions)
    }

    /// Prints what clusters have printed, in their order, up to the one that failed.
    fn end_batch(&self, seats: &mut [Seat<'_>]) -> Result<(), RunError> {
        let mut printed: Vec<_> =
            seats.iter_mut().flat_map(|seat| seat.printed.drain(..)).collect();
        printed.sort_unstable_by_key(|(first, _)| *first);
        let errors = seats.iter_mut().filter_map(|seat| seat.error.take());
        let failed = errors.min_by_key(|(index, _)| *index);
        let last = failed.as_ref().map_or(u64::MAX, |(index, _)| *index);
        for (_, text) in printed.iter().take_while(|(first, _)| *first <= last) {
            self.print(text);
        }
        match failed {
            Some((_, error)) => Err(self.stopped().unwrap_or(error)),
            None => Ok(()),
        }
    }
}

/// The clusters of the next batch after `ended` ones that have issued so many warp-instructions, if
/// `rest` are left: as many as use half of it, as far as those before tell.
fn batch_of(ended: u64, issued: u128, rest: u64) -> u64 {
    let Some(of_each) = issued.checked_div(ended.into()) else { return LEAST_BATCH };
    let half = u128::from(rest / 2) / of_each.max(1);
    half.clamp(LEAST_BATCH.into(), MOST_BATCH.into()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_that_use_much_of_the_budget_come_in_small_batches() {
        for (ended, issued, rest, batch) in [
            (0, 0, 1 << 40, LEAST_BATCH),
            (64, 64 * 100, 1 << 40, MOST_BATCH),
            (64, 64 * 100, 200_000, 1000),
            (64, 64 * 100, 2000, LEAST_BATCH),
            (64, 0, 2000, 1000),
        ] {
            assert_eq!(batch_of(ended, issued, rest), batch, "{ended} {issued} {rest}");
        }
    }

    #[test]
    fn threads_take_each_cluster_once_and_the_last_ones_alone() {
        for (all, threads, at_once) in [(5, 2, 1), (32, 2, 1), (128, 2, 4), (9000, 2, 16)] {
            let batch = Batch::new(100..100 + all, threads, 0);
            assert_eq!(batch.at_once, at_once);
            let taken: Vec<u64> = std::iter::from_fn(|| batch.take()).flatten().collect();
            assert_eq!(taken, (100..100 + all).collect::<Vec<_>>());
        }
    }
}
