//! Bounds of the metrics of a sample.
//!
//! Ratios answer to a run by their derivative. It is found by trying: the infinitesimal jackknife
//! (Jaeckel 1972). [`super::reach`] makes intervals of what runs change.

use rayon::prelude::*;

use super::LaunchProfile;
use super::figures::{Values, figures};
use super::reach::Reach;
use crate::definitions::Basis;
use crate::estimate::{Estimate, Unsure, Weight};
use crate::table::{BaseTable, Row};

/// Tells `widen` of bounds of the metrics, by name.
pub(super) fn intervals(
    estimate: &Estimate,
    profile: &LaunchProfile,
    widen: &mut impl FnMut(&str, [f64; 2]),
) {
    let answers = if estimate.has_caches() { &Unsure::EXTREMES[..] } else { &[Unsure::VALUE] };
    let weights: Vec<Weight> = estimate.weights().collect();
    for &unsure in answers {
        let whole = estimate.whole(unsure);
        let table = whole.table.clone();
        let machine = profile.machine.as_ref();
        let values = figures(profile, whole, machine, Basis::is_counted);
        let moved = estimate.moved(unsure);
        let tried: Vec<Values> = (0..estimate.executed())
            .into_par_iter()
            .map(|run| {
                let variant = moved(run);
                let machine = machine.map(|machine| machine.scaled(&table, &variant.table));
                figures(profile, variant, machine.as_ref(), Basis::is_counted)
            })
            .collect();
        for (name, value) in values {
            let change = |one: &Values| one.get(&name).map_or(0.0, |moved| moved - value);
            let changes: Vec<f64> = tried.iter().map(change).collect();
            let Reach { below, above } = Reach::of(&changes, &weights);
            widen(&name, [value - below, value + above]);
        }
    }
}

impl crate::machine::MachineProfile {
    /// The same code where PTX instructions were executed as often as in `to` instead of `from`:
    /// the instructions that stand for one of PTX change as it does.
    fn scaled(&self, from: &BaseTable, to: &BaseTable) -> Self {
        let all = |table: &BaseTable, of: fn(&Row) -> u128| table.rows.iter().map(of).sum();
        let scaled = |count: &mut u128, instruction: Option<u32>, of: fn(&Row) -> u128| {
            let row = |table: &BaseTable| match instruction {
                Some(instruction) => table.rows.get(instruction as usize).map_or(0, of),
                None => all(table, of),
            };
            let (from, to): (u128, u128) = (row(from), row(to));
            if from > 0 {
                *count = (*count as f64 * (to as f64 / from as f64)).round() as u128;
            }
        };
        let mut machine = self.clone();
        for row in &mut machine.rows {
            scaled(&mut row.warp_executions, row.instruction, |row| row.warp_executions);
            scaled(&mut row.issued_lanes, row.instruction, |row| row.issued_lanes);
            scaled(&mut row.thread_executions, row.instruction, |row| row.thread_executions);
        }
        machine
    }
}
