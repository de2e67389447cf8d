//! What a sample says of all CTAs.
//!
//! A count of the grid is that of its ends, and for each stratum the mean of its runs times the
//! number of runs that the stratum would hold. Every other figure is a function of such sums. How
//! it answers to one run more or less is found by trying: [`Estimate::moved`] has a small part of
//! the other runs be like this one.

mod columns;
mod ended;
mod rounded;

use crate::code::Code;
use crate::hierarchy::L2Traffic;
use crate::table::BaseTable;
pub(crate) use columns::{Columns, Moved, Sums};
pub(crate) use ended::{Ended, Left};
use rounded::Counts;

/// Runs that are drawn in each stratum: the fewest that tell how runs differ. There are more where
/// a sample ended early, whose strata are then wider.
pub(crate) const RUNS_PER_STRATUM: usize = 2;

/// A table and traffic that a launch may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    pub(crate) table: BaseTable,
    pub(crate) l2: L2Traffic,
}

/// An answer to what a replay of parts of the grid leaves open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unsure {
    /// The part of unsure misses that are hits.
    pub(crate) hits: f64,
    /// From 0 to 1: how few of the dirty sectors that may be left at the end are left.
    pub(crate) written: f64,
}

impl Unsure {
    /// The value of a figure. The L2 holds what earlier parts asked for. A line that it misses is
    /// not shared with those, and most such lines come in for the first time.
    pub(crate) const VALUE: Self = Self { hits: 0.0, written: 0.5 };

    /// What its interval holds. The first has the most traffic to and from DRAM, and the last the
    /// least: what hits may have been dirty before, so that hits leave less to write. The most and
    /// the fewest sectors that are dirty at the end are those of the other two.
    pub(crate) const EXTREMES: [Self; 4] = [
        Self { hits: 0.0, written: 1.0 },
        Self { hits: 0.0, written: 0.0 },
        Self { hits: 1.0, written: 1.0 },
        Self { hits: 1.0, written: 0.0 },
    ];
}

/// The runs of one stratum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stratum {
    /// Runs that it would hold, its CTAs over those of a run.
    pub(crate) runs: f64,
    /// The counts of those that were executed, in order of the grid.
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
    /// CTAs of a run.
    pub(crate) run: u64,
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

impl Estimate {
    /// The strata, in order of the grid.
    pub(crate) fn weights(&self) -> impl Iterator<Item = Weight> {
        self.strata
            .iter()
            .map(|stratum| Weight { runs: stratum.runs, executed: stratum.executed.len() })
    }

    /// True if requests went through caches.
    pub(crate) fn has_caches(&self) -> bool {
        self.ended.is_some()
    }

    /// Runs that were executed.
    pub(crate) fn executed(&self) -> usize {
        self.strata.iter().map(|stratum| stratum.executed.len()).sum()
    }

    /// CTAs that were drawn at random.
    pub(crate) fn drawn(&self) -> u64 {
        self.executed() as u64 * self.run
    }

    /// The runs of the grid that one executed run stands for, in the mean.
    fn runs_of_each(&self) -> f64 {
        self.runs() / self.executed().max(1) as f64
    }

    fn runs(&self) -> f64 {
        self.strata.iter().map(|stratum| stratum.runs).sum()
    }

    fn sum(&self) -> Vec<f64> {
        let mut sum = self.ends.clone();
        for stratum in &self.strata {
            let times = stratum.runs / stratum.executed.len().max(1) as f64;
            stratum.executed.iter().for_each(|run| add(&mut sum, run, times));
        }
        sum
    }

    /// What all CTAs count, for an answer to what is unsure.
    pub(crate) fn whole(&self, unsure: Unsure) -> Variant {
        self.variant(&self.sum(), unsure)
    }

    /// The same, for each run that was executed, where it stands for twice as many: as many as it
    /// stands for are like this one and not like the mean. They come in order of the grid.
    pub(crate) fn moved(&self, unsure: Unsure) -> impl Fn(usize) -> Variant + Sync {
        let sum = self.sum();
        let mut mean = sum.clone();
        add(&mut mean, &self.ends, -1.0);
        let runs = self.runs().max(1.0);
        mean.iter_mut().for_each(|count| *count /= runs);
        let moved = self.runs_of_each();
        let executed: Vec<&Vec<f64>> =
            self.strata.iter().flat_map(|stratum| &stratum.executed).collect();
        move |run: usize| {
            let mut list = sum.clone();
            add(&mut list, &mean, -moved);
            add(&mut list, executed.get(run).copied().unwrap_or(&mean), moved);
            self.variant(&list, unsure)
        }
    }

    fn variant(&self, list: &[f64], unsure: Unsure) -> Variant {
        let Counts { blocks, guarded_lanes, branches, memory, products, l2 } =
            self.columns.counts(&self.code, list, self.ended.as_ref(), unsure);
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
pub(crate) fn add(sum: &mut Vec<f64>, list: &[f64], times: f64) {
    if sum.len() < list.len() {
        sum.resize(list.len(), 0.0);
    }
    sum.iter_mut().zip(list).for_each(|(sum, count)| *sum += times * count);
}
