//! When machine blocks follow from the visits of PTX blocks.

use gpucast_counters::trace::WarpRecord;
use smallvec::SmallVec;

/// The machine blocks that visits of each PTX block bring about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) by_ptx_block: Vec<Vec<Follower>>,
}

/// The plan of each warp.
pub(crate) trait Plans {
    fn plan(&mut self, record: &WarpRecord) -> &Plan;
}

/// All warps have one plan.
impl Plans for Plan {
    fn plan(&mut self, _: &WarpRecord) -> &Plan {
        self
    }
}

/// A machine block that follows the visits of a PTX block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Follower {
    /// The machine block.
    pub(crate) block: u32,
    pub(crate) rate: Rate,
    /// The part of each run of visits in which it runs, from 0 to 1.
    pub(crate) start: f64,
    pub(crate) length: f64,
}

/// How often a machine block runs in the runs of visits of a PTX block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    /// So many times in so many visits, whichever runs they belong to.
    Share { executions: u64, visits: u64 },
    /// Once in each run.
    OfRuns,
    /// Once for so many visits of a run.
    OfRounds(u64),
    /// Once in each run that has `rest` visits more than a multiple of `rounds`.
    OfRest { rounds: u64, rest: u64 },
    /// Once, if runs of these PTX blocks have begun that it has not followed yet.
    Behind(SmallVec<[u32; 2]>),
}

/// Visits of a PTX block that no other loop interrupts, and those before them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    pub(super) visits: u64,
    pub(super) at: u64,
    pub(super) before: u64,
}

impl Rate {
    /// A block that runs in each visit.
    pub(crate) const EACH: Self = Self::Share { executions: 1, visits: 1 };

    /// Executions in a run of visits. `begun` are the runs of each PTX block that have begun, and
    /// `done` the executions in runs before this one.
    pub(super) fn executions(&self, run: Run, begun: &[usize], done: u64) -> u64 {
        match *self {
            Self::Share { executions, visits } => {
                let so_far = |count| share(executions, visits, count);
                so_far(run.before + run.visits) - so_far(run.before)
            }
            Self::OfRuns => 1,
            Self::OfRounds(rounds) => run.visits / rounds,
            Self::OfRest { rounds, rest } => u64::from(run.visits % rounds == rest),
            Self::Behind(ref blocks) => {
                let begun = |&block: &u32| begun.get(block as usize).map_or(0, |&runs| runs as u64);
                u64::from(blocks.iter().map(begun).sum::<u64>() > done)
            }
        }
    }
}

/// Executions in the first `count` visits, of `executions` in `visits`.
fn share(executions: u64, visits: u64, count: u64) -> u64 {
    if executions == visits {
        return count;
    }
    let [executions, visits, count] = [executions, visits, count].map(u128::from);
    (2 * executions * count + visits).checked_div(2 * visits).unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executions_of_all_visits_are_exact_and_spread_evenly() {
        let sums: Vec<u64> = (0..=19).map(|count| share(7, 19, count)).collect();
        assert_eq!((sums[0], sums[19]), (0, 7));
        assert!(sums.windows(2).all(|pair| pair[1] - pair[0] <= 1));
        assert_eq!(share(u64::MAX / 2, 3, 3), u64::MAX / 2);
    }
}
