//! Counts as formulas in the sizes of a problem, from the PTX of any kernel.
//!
//! ```text
//! PlanAt (sizes ──► plan) ──► executed ──► slice (one parameter varies) ──► fitting ──► linear
//!                                │                  │
//!                                │                  └──► several (all vary) ──► linear
//!                                └──► sizes held back ──► ParametricCounts
//! ```
//!
//! Counts of kernels whose control flow is static are piecewise quasi-polynomials in their sizes
//! (Stevens & Klöckner 2020, section 5). The paper derives them from the source in its own
//! language. Here they are found from counts at some sizes, which classes of CTAs make cheap, and
//! compared exactly with the counts at other sizes. A formula is therefore tested and not proven.
//!
//! No formula is reported that misses any executed size of its domain. A count without a formula
//! is reported as one.
//!
//! A trial is made modulo a prime and decides nothing: rational arithmetic solves what passes, and
//! every executed size is compared exactly. Formulas come from counts and not from the boxes of
//! classes, because counts exist for every kernel and boxes for some.

mod by_formulas;
mod document;
mod evaluated;
mod executed;
mod profiles;
mod several;
mod sizes;
mod slice;

use std::collections::{BTreeMap, BTreeSet};

use gpucast_counters::{Kind, Level};
use gpucast_formulas::fitting::Found;
use gpucast_formulas::linear::Sample;
use gpucast_formulas::residues::Case;
use gpucast_formulas::sizes::{self as spacings, LARGEST};
use gpucast_model::Gpu;
use num_traits::ToPrimitive as _;

use crate::choice::metric_choice::MetricChoice;
use crate::failure::{Failure, Report};
use crate::run::sources::Counts;
use crate::run::supervisor::Supervisor;
use executed::{At, Executed, Key, Name, Wanted as WantedCounts};
use slice::{Answer, Slice};

pub use by_formulas::{ByFormulas, Problem, Swept, counted_by_kept, sizes_of};
pub use document::{SCHEMA, StoredCounts};
pub use evaluated::{CountsAt, LaunchAt, MetricAt};
pub use executed::PlanAt;
pub use gpucast_formulas::expression::{Atom, Expression, Monomial, Terms, Written};
pub use gpucast_formulas::residues::Residue;
pub use gpucast_formulas::sizes::Sizes;
pub use sizes::{Wanted, in_words};

/// The counts of all launches as functions of the parameters.
#[derive(Clone, Debug)]
pub struct ParametricCounts {
    /// The names of the parameters.
    pub names: Vec<String>,
    /// The sizes of each parameter.
    pub sizes: Vec<Sizes>,
    /// One for each launch of the file.
    pub launches: Vec<LaunchFormulas>,
    /// Sizes at which the launches were executed to find the formulas.
    pub executed: usize,
    /// Sizes at which they were executed afterwards, and agreed.
    pub held_back: usize,
    /// The largest of all sizes that were executed.
    pub largest: Vec<u64>,
}

/// The counts of a launch.
#[derive(Clone, Debug)]
pub struct LaunchFormulas {
    /// The kernel.
    pub kernel: String,
    /// The metrics with a formula, by their names.
    pub metrics: Vec<MetricFormula>,
    /// Metrics without one.
    pub without: Vec<&'static str>,
    /// Metrics that are ratios or means: they follow from counts.
    pub ratios: Vec<&'static str>,
}

/// A metric as a function of the sizes.
#[derive(Clone, Debug)]
pub struct MetricFormula {
    /// Its name.
    pub name: &'static str,
    /// The origin of the counts.
    pub kind: Kind,
    /// The level of the instructions that are counted.
    pub level: Level,
    /// The parts of its domain, from small sizes to large ones. Together they are all sizes, or
    /// all from the first part's on.
    pub pieces: Vec<Piece>,
}

/// A part of a domain, and the formula that holds there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The smallest size of each parameter.
    pub first: Vec<u64>,
    /// The largest size of each parameter, where the formula does not hold at a larger one.
    pub last: Vec<Option<u64>>,
    /// The residues of its sizes, if the formula does not hold for all: at most one of each
    /// parameter.
    pub residues: Vec<Residue>,
    /// The formula.
    pub formula: Expression,
}

/// What is to be counted.
pub struct Question<'a> {
    /// The parameters.
    pub parameters: &'a [Wanted],
    /// Makes the plan of some sizes.
    pub plan_at: PlanAt<'a>,
    /// The GPU whose counters are modelled.
    pub gpu: &'a Gpu,
    /// Settings by which launches are counted.
    pub counts: &'a Counts,
    /// The metrics that are asked for.
    pub metrics: &'a MetricChoice,
    /// Caller that is told of notes, and can end the search.
    pub supervisor: &'a dyn Supervisor,
}

/// Pieces for small sizes; where they do not suffice, the first formula begins later.
const MOST_PIECES: usize = 12;

/// Sizes that are held back.
const HELD_BACK: usize = 24;

/// Finds the formulas of all counts.
///
/// # Errors
///
/// Errors of the launch, if it runs at no size; sizes that are not evenly spaced; and
/// [`Failure::Stopped`] if the supervisor says so.
pub fn formulas(question: &Question<'_>) -> Result<ParametricCounts, Failure> {
    let Question { parameters, plan_at, gpu, counts, metrics, supervisor } = *question;
    let names: Vec<String> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let wanted = WantedCounts::Metrics(metrics);
    let mut executed = Executed::new(names.clone(), plan_at, gpu, counts, wanted, supervisor);
    let sizes = spaced(parameters, &mut executed)?;
    let Solved { mut pieces, to } = solved(&sizes, usize::MAX, &mut executed)?;
    let number = executed.number();
    let from = vec![0; sizes.len()];
    let mut points = several::held_back(&sizes, &from, &to, HELD_BACK, &executed);
    points.extend(points_of_residues(pieces.values(), &sizes, &to, &executed));
    let mut held_back = 0;
    for point in &points {
        let Some(at) = executed.at(point)? else { continue };
        held_back += 1;
        retain_right(&mut pieces, point, &at);
    }
    held_back += compare_further(&sizes, &to, &mut pieces, &mut executed)?;
    let largest = (0..sizes.len())
        .map(|parameter| executed.sizes().map(|sizes| sizes[parameter]).max().unwrap_or(0))
        .collect();
    let launches = launches(pieces, &mut executed, &sizes)?;
    Ok(ParametricCounts { names, sizes, launches, executed: number, held_back, largest })
}

/// Executes sizes beyond those that formulas were found in: all parameters at twice the place, then
/// at four times, as long as a size is cheap. Formulas that do not give the counts go. Returns how
/// many sizes ran.
fn compare_further(
    sizes: &[Sizes],
    from: &[u64],
    pieces: &mut BTreeMap<Key, Vec<Piece>>,
    executed: &mut Executed<'_>,
) -> Result<usize, Failure> {
    let mut number = 0;
    let mut places = from.to_vec();
    loop {
        let double =
            |(place, sizes): (&u64, &Sizes)| place.saturating_mul(2).max(1).min(sizes.places());
        let next: Vec<u64> = places.iter().zip(sizes).map(double).collect();
        if next == places {
            return Ok(number);
        }
        places = next;
        let point: Vec<u64> =
            sizes.iter().zip(&places).map(|(sizes, &place)| sizes.at(place)).collect();
        let is_new = !executed.knows(&point);
        // Larger ones do not run, either, or wrap around.
        let Some(at) = executed.at(&point)? else { return Ok(number) };
        number += usize::from(is_new);
        retain_right(pieces, &point, &at);
        if at.work > slice::MOST_WORK {
            return Ok(number);
        }
    }
}

/// Drops the formulas that miss their counts at this point.
fn retain_right(pieces: &mut BTreeMap<Key, Vec<Piece>>, point: &[u64], at: &At) {
    pieces.retain(|key, pieces| {
        let Some(count) = at.count(key) else { return false };
        let sample = Sample { sizes: point.to_vec(), count };
        pieces.iter().all(|piece| !piece.covers(point) || piece.gives(&sample))
    });
}

/// A point for each set of residues that a formula is of, as most points have the frequent ones.
fn points_of_residues<'p>(
    pieces: impl Iterator<Item = &'p Vec<Piece>>,
    sizes: &[Sizes],
    to: &[u64],
    executed: &Executed<'_>,
) -> Vec<Vec<u64>> {
    let all: BTreeSet<&[Residue]> =
        pieces.flatten().map(|piece| piece.residues.as_slice()).collect();
    let with = all.into_iter().filter(|residues| !residues.is_empty());
    with.filter_map(|residues| several::with_residues(sizes, residues, to, executed)).collect()
}

/// The pieces of all counts that have any.
struct Solved {
    pieces: BTreeMap<Key, Vec<Piece>>,
    /// The place of the largest size of each parameter that was looked at.
    to: Vec<u64>,
}

/// Finds the pieces of all counts. No stage of the search asks for more than `most_sizes`.
fn solved(
    sizes: &[Sizes],
    most_sizes: usize,
    executed: &mut Executed<'_>,
) -> Result<Solved, Failure> {
    let slices = slices(sizes, most_sizes, executed)?;
    if let [answers] = &slices[..] {
        let pieces = of_one(sizes, &answers[0], executed)?;
        return Ok(Solved { pieces, to: vec![answers[0].largest] });
    }
    let several::Joined { functions, to } = several::joined(sizes, &slices, executed)?;
    let pieces = functions.into_iter().map(|(key, function)| (key, of_several(sizes, function)));
    Ok(Solved { pieces: pieces.collect(), to })
}

impl Piece {
    /// True if these sizes belong to it.
    #[must_use]
    pub fn covers(&self, sizes: &[u64]) -> bool {
        let mut all = sizes.iter().zip(&self.first).zip(&self.last);
        all.all(|((size, first), last)| size >= first && last.is_none_or(|last| *size <= last))
            && self.residues.iter().all(|residue| residue.covers(sizes))
    }

    fn gives(&self, sample: &Sample) -> bool {
        self.formula.gives(&sample.sizes, sample.count)
    }
}

/// The count that a piece gives for these sizes; `None` where none holds.
fn count_at(pieces: &[Piece], sizes: &[u64]) -> Option<u128> {
    let piece = pieces.iter().find(|piece| piece.covers(sizes))?;
    let value = piece.formula.at(sizes);
    // A formula that gives no count here does not hold here.
    if value.is_integer() { value.to_integer().to_u128() } else { None }
}

/// The sizes of each parameter at which the launches run.
fn spaced(parameters: &[Wanted], executed: &mut Executed<'_>) -> Result<Vec<Sizes>, Failure> {
    /// At one of these most kernels run, whatever their blocks; the first ones cost little.
    const USUAL: [u64; 8] = [256, 128, 512, 1024, 64, 32, 16, 1];
    let mut usual = None;
    for size in USUAL {
        let sizes: Vec<u64> =
            parameters.iter().map(|parameter| parameter.first.unwrap_or(size)).collect();
        if executed.at(&sizes)?.is_some() {
            usual = Some(sizes);
            break;
        }
    }
    let Some(usual) = usual else {
        // The first size has the plainest reason.
        let report = executed.refusal.take();
        return Err(report.unwrap_or_else(|| Report::new("the launches run at no size")).into());
    };
    let mut all = Vec::new();
    for (parameter, wanted) in parameters.iter().enumerate() {
        let last = wanted.last.unwrap_or(LARGEST);
        if let (Some(first), Some(step)) = (wanted.first, wanted.step) {
            all.push(Sizes { first, step, last });
            continue;
        }
        let (first, step) = spacing_of(parameter, wanted, &usual, executed)?;
        let first = match wanted.first {
            Some(given) => first + given.saturating_sub(first).div_ceil(step) * step,
            None => first,
        };
        all.push(Sizes { first, step: wanted.step.unwrap_or(step), last });
    }
    Ok(all)
}

/// The first size and the step at which the launches run, the other parameters being usual.
fn spacing_of(
    parameter: usize,
    wanted: &Wanted,
    usual: &[u64],
    executed: &mut Executed<'_>,
) -> Result<(u64, u64), Failure> {
    /// No tile of a kernel is larger.
    const MOST: u64 = 4096;
    let mut ran = Vec::new();
    let mut until = 32;
    while until <= MOST {
        while (ran.len() as u64) < until {
            let mut sizes = usual.to_vec();
            sizes[parameter] = (ran.len() as u64 + 1) * wanted.grain;
            ran.push(executed.at(&sizes)?.is_some());
        }
        if let Some((first, step)) = spacings::spacing(&ran) {
            return Ok((first * wanted.grain, step * wanted.grain));
        }
        until *= 2;
    }
    let name = &wanted.name;
    let ran = (1_u64..).zip(&ran).filter(|(_, ran)| **ran);
    let some: Vec<String> =
        ran.map(|(size, _)| (size * wanted.grain).to_string()).take(8).collect();
    let message = format!("the sizes of {name} at which the launches run are not evenly spaced");
    let report = Report::new(message).fact(format!("they run at {}, …", some.join(", ")));
    let hint = format!("name those that are meant: --parametric {name}=64..4096:64");
    Err(executed
        .refusal
        .take()
        .map_or(report.clone(), |why| report.fact(why.message))
        .hint(hint)
        .into())
}

/// For each parameter the counts as functions of it. With others beside it, it is varied at two
/// sizes of these, which are no multiples of anything.
fn slices(
    sizes: &[Sizes],
    most_sizes: usize,
    executed: &mut Executed<'_>,
) -> Result<Vec<Vec<Answer>>, Failure> {
    let mut all = Vec::new();
    for parameter in 0..sizes.len() {
        let number = if sizes.len() == 1 { 1 } else { several::PLACES.len() };
        let mut answers = Vec::new();
        for place in &several::PLACES[..number] {
            let others = sizes.iter().map(|sizes| sizes.at(*place)).collect();
            answers.push(Slice { parameter, sizes, others }.explore(most_sizes, executed)?);
        }
        all.push(answers);
    }
    Ok(all)
}

/// The pieces of functions of one parameter.
fn of_one(
    sizes: &[Sizes],
    answer: &Answer,
    executed: &mut Executed<'_>,
) -> Result<BTreeMap<Key, Vec<Piece>>, Failure> {
    let slice = Slice { parameter: 0, sizes, others: vec![0] };
    let mut all: BTreeMap<Key, Vec<Piece>> = BTreeMap::new();
    // Equal counts have equal pieces.
    let mut known: Vec<(Key, &slice::Function)> = Vec::new();
    for (&key, function) in &answer.functions {
        let mut equal = known.iter().filter(|(_, other)| *other == function);
        if let Some((other, _)) = equal.find(|(other, _)| executed.agree(&key, other)) {
            let pieces = all.get(other).cloned().unwrap_or_default();
            all.insert(key, pieces);
            continue;
        }
        let mut pieces = Vec::new();
        slice.below(key, function.from, MOST_PIECES, &mut pieces, executed)?;
        pieces.push((function.from, function.until, function.found.clone()));
        let piece = |(from, until, found): (u64, Option<u64>, Found)| {
            found.cases.into_iter().map(move |Case { residues, formula }| Piece {
                first: vec![sizes[0].at(from)],
                last: vec![until.map(|until| sizes[0].at(until))],
                residues,
                formula,
            })
        };
        all.insert(key, pieces.into_iter().flat_map(piece).collect());
        known.push((key, function));
    }
    Ok(all)
}

fn of_several(sizes: &[Sizes], function: several::Function) -> Vec<Piece> {
    let several::Function { cases, from, until } = function;
    let first: Vec<u64> = sizes.iter().zip(from).map(|(sizes, from)| sizes.at(from)).collect();
    let last = sizes.iter().zip(until).map(|(sizes, until)| until.map(|it| sizes.at(it)));
    let last: Vec<Option<u64>> = last.collect();
    let piece = |Case { residues, formula }: Case| Piece {
        first: first.clone(),
        last: last.clone(),
        residues,
        formula,
    };
    cases.into_iter().map(piece).collect()
}

/// The formulas by launch and metric.
fn launches(
    mut pieces: BTreeMap<Key, Vec<Piece>>,
    executed: &mut Executed<'_>,
    sizes: &[Sizes],
) -> Result<Vec<LaunchFormulas>, Failure> {
    let sizes: Vec<u64> = sizes.iter().map(|sizes| sizes.at(10)).collect();
    let Some(at) = executed.at(&sizes)? else { return Ok(Vec::new()) };
    let mut of = |index: usize, kernel: &String| {
        let mut launch = LaunchFormulas {
            kernel: kernel.clone(),
            metrics: Vec::new(),
            without: Vec::new(),
            ratios: Vec::new(),
        };
        for (&key, &(kind, level)) in at.origins.iter().filter(|(key, _)| key.launch == index) {
            let Name::Metric(name) = key.count else { continue };
            match pieces.remove(&key) {
                Some(pieces) => launch.metrics.push(MetricFormula { name, kind, level, pieces }),
                None if at.ratios.contains(&key) => launch.ratios.push(name),
                None => launch.without.push(name),
            }
        }
        launch
    };
    Ok(at.kernels.iter().enumerate().map(|(index, kernel)| of(index, kernel)).collect::<Vec<_>>())
}
