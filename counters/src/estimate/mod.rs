//! What a sample says of all CTAs.
//!
//! A count of the grid is that of its ends, and for each stratum the mean of its runs times the
//! number of runs that the stratum would hold. Every other figure is a function of such sums. How
//! it answers to one run more or less is found by trying: [`Estimate::moved`] has a small part of
//! the other runs be like this one.

mod columns;
mod ended;

use crate::code::Code;
use crate::hierarchy::L2Traffic;
use crate::table::BaseTable;
use columns::Counts;
pub(crate) use columns::{Columns, Moved, Sums};
pub(crate) use ended::Ended;

/// Runs that are drawn in each stratum: the fewest that tell how runs differ.
pub(crate) const RUNS_PER_STRATUM: usize = 2;

/// A table and traffic that a launch may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    pub(crate) table: BaseTable,
    pub(crate) l2: L2Traffic,
}

/// The runs of one stratum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stratum {
    /// Runs that it would hold, its CTAs over those of a run.
    pub(crate) runs: f64,
    /// The counts of those that were executed.
    pub(crate) executed: Vec<Vec<f64>>,
}

/// The counts of a sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) code: Code,
    pub(crate) columns: Columns,
    /// The counts of the grid's ends.
    pub(crate) ends: Vec<f64>,
    pub(crate) strata: Vec<Stratum>,
    /// What is left in the caches, if there are any.
    pub(crate) ended: Option<Ended>,
}

/// Runs of a stratum, as far as the interval needs to know them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weight {
    /// Runs that the stratum would hold.
    pub(crate) runs: f64,
    /// Runs of it that were executed.
    pub(crate) executed: usize,
}

/// With a confidence of 98 %, a kind of runs of which none is among `n` makes up less than 4/`n` of
/// all: 0.98 = 1 − (1 − 4/n)ⁿ for large n (Hanley and Lippman-Hand, "If nothing goes wrong, is
/// everything all right?", JAMA 249, 1983).
const UNSEEN: f64 = 4.0;

impl Estimate {
    /// The strata, in order of the grid.
    pub(crate) fn weights(&self) -> impl Iterator<Item = Weight> {
        self.strata.iter().map(|one| Weight { runs: one.runs, executed: one.executed.len() })
    }

    /// True if requests went through caches.
    pub(crate) fn has_caches(&self) -> bool {
        self.ended.is_some()
    }

    /// Runs that were executed.
    pub(crate) fn executed(&self) -> usize {
        RUNS_PER_STRATUM * self.strata.len()
    }

    /// The runs of the grid that were not executed and may be of a kind that the sample lacks.
    pub(crate) fn unseen_runs(&self) -> f64 {
        let (runs, executed) = (self.runs(), self.executed() as f64);
        (UNSEEN / executed.max(UNSEEN)) * (runs - executed).max(0.0)
    }

    fn runs(&self) -> f64 {
        self.strata.iter().map(|one| one.runs).sum()
    }

    fn sum(&self) -> Vec<f64> {
        let mut sum = self.ends.clone();
        for stratum in &self.strata {
            let times = stratum.runs / stratum.executed.len().max(1) as f64;
            stratum.executed.iter().for_each(|run| add(&mut sum, run, times));
        }
        sum
    }

    /// What all CTAs count, if the part `hits` of unsure misses are hits.
    pub(crate) fn whole(&self, hits: f64) -> Variant {
        self.variant(&self.sum(), hits)
    }

    /// The same, for each run that was executed, where [`Self::unseen_runs`] are like this one and
    /// not like the mean. They come in order of the strata.
    pub(crate) fn moved(&self, hits: f64) -> impl Fn(usize) -> Variant + Sync {
        let sum = self.sum();
        let mut mean = sum.clone();
        add(&mut mean, &self.ends, -1.0);
        let runs = self.runs().max(1.0);
        mean.iter_mut().for_each(|count| *count /= runs);
        let moved = self.unseen_runs();
        move |run: usize| {
            let (stratum, run) = (run / RUNS_PER_STRATUM, run % RUNS_PER_STRATUM);
            let mut list = sum.clone();
            add(&mut list, &mean, -moved);
            let executed = self.strata.get(stratum).and_then(|one| one.executed.get(run));
            add(&mut list, executed.map_or(&mean, |run| run), moved);
            self.variant(&list, hits)
        }
    }

    fn variant(&self, list: &[f64], hits: f64) -> Variant {
        let Counts { blocks, guarded_lanes, branches, memory, products, l2 } =
            self.columns.counts(list, self.ended.as_ref(), hits);
        let table = self.code.table(
            &blocks,
            &guarded_lanes,
            &branches,
            &memory,
            &products,
            self.has_caches(),
        );
        Variant { table, l2 }
    }
}

/// Adds a list `times` to another one, which may be shorter.
fn add(sum: &mut Vec<f64>, list: &[f64], times: f64) {
    if sum.len() < list.len() {
        sum.resize(list.len(), 0.0);
    }
    sum.iter_mut().zip(list).for_each(|(sum, count)| *sum += times * count);
}
