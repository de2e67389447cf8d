//! Whole launches as formulas: everything that an execution finds out, in any size of a domain.
//!
//! ```text
//! sizes ──► executed (cells) ──► solved (pieces of each cell) ──► compared: sizes held back,
//!                                                                 then larger and larger ones
//! ```
//!
//! Formulas are used between the smallest and the largest size that they were compared in, and
//! nowhere else. All cells of all launches must have one: half a launch is of no use.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gpucast_counters::cells::{Cell, Cells};
use gpucast_formulas::expression::{Atom, Expression, Monomial};
use gpucast_formulas::residues::Residue;
use gpucast_formulas::sizes::Sizes;
use gpucast_model::Gpu;
use num_rational::BigRational;
use serde::{Deserialize, Serialize};

use super::executed::{At, Executed, Key, Name, Said, Wanted};
use super::several::held_back;
use super::{HELD_BACK, Piece, PlanAt, Solved, count_at, points_of_residues, solved};
use crate::failure::Failure;
use crate::run::counting::rebuilt::FoundOut;
use crate::run::sources::Counts;
use crate::run::supervisor::Supervisor;

/// Steps from the sizes that formulas were found in to the largest one that is asked for.
const STEPS: u32 = 4;

/// Sizes that are compared when the largest one is known.
const COMPARED_AT_LAST: usize = 8;

/// The launches of a KERNEL in all sizes, and the way to count them.
pub(crate) struct Family<'a> {
    /// The names of the parameters.
    pub(crate) names: &'a [String],
    /// Makes the plan of some sizes.
    pub(crate) plan_at: PlanAt<'a>,
    /// The GPU whose counters are modelled.
    pub(crate) gpu: &'a Gpu,
    /// Settings by which launches are counted.
    pub(crate) counts: &'a Counts,
    /// Caller that can end the search.
    pub(crate) supervisor: &'a dyn Supervisor,
}

/// What executions of all launches find out, as functions of the sizes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProfileFormulas {
    /// The sizes of each parameter for which formulas were looked for.
    sizes: Vec<Sizes>,
    /// The largest size of each parameter up to which they are known to hold.
    compared: Vec<u64>,
    /// Sizes in which the launches were executed to find the formulas.
    pub(crate) executed: u64,
    /// Sizes in which they were executed afterwards, and agreed.
    pub(crate) held_back: u64,
    launches: Vec<Launch>,
    /// The formulas of all cells, each once.
    functions: Vec<Vec<Piece>>,
}

/// A launch of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Launch {
    kernel: String,
    said: Said,
    /// Each cell with the place of its function.
    cells: Vec<(Cell, usize)>,
}

/// The outcome of executing a size that has formulas.
enum Comparison {
    Agrees,
    /// The size is in none of their domains, or the launches do not run.
    NoneHere,
    /// This one does not give the count.
    Differs(Key),
    /// Kernels, or what is said of them, are others.
    OtherLaunches,
}

impl Family<'_> {
    fn executed(&self) -> Executed<'_> {
        let names = self.names.to_vec();
        Executed::new(names, self.plan_at, self.gpu, self.counts, Wanted::Cells, self.supervisor)
    }
}

impl ProfileFormulas {
    /// Finds the formulas for some sizes, or the reason why there are none. No stage of the search
    /// executes more than `most_sizes`.
    ///
    /// # Errors
    ///
    /// [`Failure::Stopped`] if the supervisor says so.
    pub(crate) fn find(
        family: &Family<'_>,
        sizes: Vec<Sizes>,
        most_sizes: usize,
    ) -> Result<Result<Self, String>, Failure> {
        let mut executed = family.executed();
        let first: Vec<u64> = sizes.iter().map(|sizes| sizes.first).collect();
        let Some(at) = executed.at(&first)? else {
            return Ok(Err(not_run(&mut executed, "the first size")));
        };
        let Solved { pieces, to } = solved(&sizes, most_sizes, &mut executed)?;
        if !executed.ran_in_all() {
            return Ok(Err(not_run(&mut executed, "all sizes")));
        }
        let keys = executed.keys();
        let mut open = keys.iter().filter(|key| !pieces.contains_key(key));
        if let Some(key) = open.next() {
            let others = match open.count() {
                0 => String::new(),
                others => format!(", and {others} other counts have none"),
            };
            let what = executed.described(key);
            let number = executed.number();
            return Ok(Err(format!("no formula gives the {what} in {number} sizes{others}")));
        }
        let number = executed.number() as u64;
        let compared = sizes.iter().zip(&to).map(|(sizes, &to)| sizes.at(to)).collect();
        let mut found = Self::of(&at, sizes, compared, pieces);
        found.executed = number;
        let from = vec![0; found.sizes.len()];
        let mut points = held_back(&found.sizes, &from, &to, HELD_BACK, &executed);
        points.extend(points_of_residues(found.functions.iter(), &found.sizes, &to, &executed));
        for point in points {
            if let Err(reason) = found.check(&point, &mut executed)? {
                return Ok(Err(reason));
            }
        }
        found.held_back = executed.number() as u64 - number;
        let last: Vec<u64> = found.sizes.iter().map(|sizes| sizes.largest()).collect();
        let outcome = found.compare_up_to(&last, &mut executed)?;
        Ok(outcome.map(|()| found))
    }

    fn of(
        at: &At,
        sizes: Vec<Sizes>,
        compared: Vec<u64>,
        pieces: BTreeMap<Key, Vec<Piece>>,
    ) -> Self {
        let launch = |(kernel, said): (&String, &Said)| Launch {
            kernel: kernel.clone(),
            said: said.clone(),
            cells: Vec::new(),
        };
        let mut launches: Vec<Launch> = at.kernels.iter().zip(&at.said).map(launch).collect();
        let mut functions: Vec<Vec<Piece>> = Vec::new();
        for (key, pieces) in pieces {
            let (Name::Cell(cell), Some(launch)) = (key.count, launches.get_mut(key.launch)) else {
                continue;
            };
            let known = functions.iter().position(|known| *known == pieces);
            let function = known.unwrap_or_else(|| {
                functions.push(pieces);
                functions.len() - 1
            });
            launch.cells.push((cell, function));
        }
        Self { sizes, compared, executed: 0, held_back: 0, launches, functions }
    }

    /// Sizes in which the launches were executed.
    pub(crate) fn all_executed(&self) -> u64 {
        self.executed + self.held_back
    }

    /// The largest size of each parameter up to which formulas are known to hold.
    pub(crate) fn compared(&self) -> &[u64] {
        &self.compared
    }

    /// The smallest size of each parameter.
    pub(crate) fn first(&self) -> Vec<u64> {
        self.sizes.iter().map(|sizes| sizes.first).collect()
    }

    /// True if the formulas are for sizes of this spacing, from the first on.
    pub(crate) fn has_spacing(&self, sizes: &[u64]) -> bool {
        let is_of = |(one, &size): (&Sizes, &u64)| {
            size >= one.first && (size - one.first).is_multiple_of(one.step)
        };
        self.sizes.len() == sizes.len() && self.sizes.iter().zip(sizes).all(is_of)
    }

    /// True if others are for sizes that begin elsewhere, or have another step.
    pub(crate) fn is_of_other_sizes(&self, others: &Self) -> bool {
        let spacing = |of: &Self| -> Vec<(u64, u64)> {
            of.sizes.iter().map(|sizes| (sizes.first, sizes.step)).collect()
        };
        spacing(self) != spacing(others)
    }

    /// What the executions of all launches would find out in these sizes; `None` if formulas do not
    /// say it.
    pub(crate) fn at(&self, sizes: &[u64]) -> Option<Vec<FoundOut>> {
        let is_compared = sizes.iter().zip(&self.compared).all(|(size, last)| size <= last);
        if is_compared { self.formulas_at(sizes) } else { None }
    }

    fn formulas_at(&self, sizes: &[u64]) -> Option<Vec<FoundOut>> {
        if !self.has_spacing(sizes) {
            return None;
        }
        let functions = self.functions.iter();
        let values: Vec<u128> =
            functions.map(|pieces| count_at(pieces, sizes)).collect::<Option<_>>()?;
        let found_out = |launch: &Launch| {
            let counts = launch.cells.iter().map(|&(cell, function)| (cell, values[function]));
            let cells: Cells = counts.filter(|(_, count)| *count != 0).collect();
            let Said { ordered_because, watched } = launch.said.clone();
            FoundOut { cells, ordered_because, watched }
        };
        Some(self.launches.iter().map(found_out).collect())
    }

    /// Executes larger and larger sizes up to `last`, as far as the formulas give what is counted
    /// there. Says why they are to be thrown away, if a size in between contradicts them.
    ///
    /// # Errors
    ///
    /// [`Failure::Stopped`] if the supervisor says so.
    pub(crate) fn extend(
        &mut self,
        family: &Family<'_>,
        last: &[u64],
    ) -> Result<Result<(), String>, Failure> {
        self.compare_up_to(last, &mut family.executed())
    }

    fn compare_up_to(
        &mut self,
        last: &[u64],
        executed: &mut Executed<'_>,
    ) -> Result<Result<(), String>, Failure> {
        executed.allow_large_sizes();
        let before = executed.number() as u64;
        let wider: Vec<Sizes> = self
            .sizes
            .iter()
            .zip(last)
            .map(|(&sizes, &last)| Sizes { last: last.max(sizes.last), ..sizes })
            .collect();
        let place =
            |at: usize, size: u64| (size.max(wider[at].first) - wider[at].first) / wider[at].step;
        let from: Vec<u64> = (0..wider.len()).map(|at| place(at, self.compared[at])).collect();
        let to: Vec<u64> = (0..wider.len()).map(|at| place(at, last[at]).max(from[at])).collect();
        let none = vec![0; wider.len()];
        self.sizes.clone_from(&wider);
        if from != to {
            'steps: for step in 1..=STEPS {
                let corner: Vec<u64> =
                    from.iter().zip(&to).map(|(&from, &to)| between(from, to, step)).collect();
                let sizes = |places: &[u64]| -> Vec<u64> {
                    wider.iter().zip(places).map(|(sizes, &place)| sizes.at(place)).collect()
                };
                let mut points = vec![corner.clone()];
                if corner.len() > 1 {
                    points.extend((0..corner.len()).map(|at| {
                        let mut edge = none.clone();
                        edge[at] = corner[at];
                        edge
                    }));
                }
                for point in points {
                    // From here on sizes are executed one by one.
                    let Comparison::Agrees = self.compare(&sizes(&point), executed)? else {
                        break 'steps;
                    };
                }
                self.compared = sizes(&corner);
            }
            let to: Vec<u64> = (0..wider.len()).map(|at| place(at, self.compared[at])).collect();
            for point in held_back(&wider, &none, &to, COMPARED_AT_LAST, executed) {
                if let Err(reason) = self.check(&point, executed)? {
                    return Ok(Err(reason));
                }
            }
        }
        self.held_back += executed.number() as u64 - before;
        Ok(Ok(()))
    }

    /// Says why formulas are wrong about a size in which they should hold, if they are.
    fn check(
        &self,
        sizes: &[u64],
        executed: &mut Executed<'_>,
    ) -> Result<Result<(), String>, Failure> {
        // Small sizes may have no formula, and are executed.
        if self.formulas_at(sizes).is_none() {
            return Ok(Ok(()));
        }
        Ok(match self.compare(sizes, executed)? {
            Comparison::Agrees => Ok(()),
            Comparison::NoneHere => Err(not_run(executed, "all sizes")),
            Comparison::OtherLaunches => Err("launches differ between sizes".to_owned()),
            Comparison::Differs(key) => {
                let what = executed.described(&key);
                Err(format!("the formula of the {what} does not hold at {}", written(sizes)))
            }
        })
    }

    fn compare(&self, sizes: &[u64], executed: &mut Executed<'_>) -> Result<Comparison, Failure> {
        let Some(found) = self.formulas_at(sizes) else { return Ok(Comparison::NoneHere) };
        let Some(at) = executed.at(sizes)? else { return Ok(Comparison::NoneHere) };
        let is_same = |((launch, said), kernel): ((&Launch, &Said), &String)| {
            launch.said == *said && launch.kernel == *kernel
        };
        let mut launches = self.launches.iter().zip(&at.said).zip(&at.kernels);
        if at.kernels.len() != self.launches.len() || !launches.all(is_same) {
            return Ok(Comparison::OtherLaunches);
        }
        let found = found.into_iter().enumerate().flat_map(|(launch, found)| {
            let key = move |cell| Key { launch, count: Name::Cell(cell) };
            found.cells.into_iter().map(move |(cell, count)| (key(cell), count))
        });
        let found: BTreeMap<Key, u128> = found.collect();
        if found == at.counts {
            return Ok(Comparison::Agrees);
        }
        let mut keys = found.keys().chain(at.counts.keys());
        let differs = keys.find(|key| found.get(key) != at.counts.get(key));
        Ok(differs.map_or(Comparison::Agrees, |&key| Comparison::Differs(key)))
    }

    /// The formulas as bytes.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let Self { sizes, compared, executed, held_back, launches, functions } = self;
        let functions = functions.iter().map(|pieces| pieces.iter().map(KeptPiece::of).collect());
        let kept = Kept {
            sizes: sizes.clone(),
            compared: compared.clone(),
            executed: *executed,
            held_back: *held_back,
            launches: launches.clone(),
            functions: functions.collect(),
        };
        postcard::to_stdvec(&kept).ok()
    }

    /// The formulas that bytes hold; `None` if they hold none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let Kept { sizes, compared, executed, held_back, launches, functions } =
            postcard::from_bytes(bytes).ok()?;
        let pieces = |pieces: Vec<KeptPiece>| -> Option<Vec<Piece>> {
            pieces.into_iter().map(KeptPiece::into_piece).collect()
        };
        let functions: Vec<_> = functions.into_iter().map(pieces).collect::<Option<_>>()?;
        let mut places = launches.iter().flat_map(|launch| &launch.cells);
        let is_whole = places.all(|(_, function)| *function < functions.len());
        let found = Self { sizes, compared, executed, held_back, launches, functions };
        is_whole.then_some(found)
    }
}

/// The place after so many [`STEPS`] from one place to a larger one, which grow with the place.
fn between(from: u64, to: u64, step: u32) -> u64 {
    if step >= STEPS {
        return to;
    }
    let low = from.max(1) as f64;
    let place = low * (to as f64 / low).powf(f64::from(step) / f64::from(STEPS));
    (place as u64).clamp(from, to.max(from))
}

/// The reason why there are no formulas if the launches do not run in some sizes.
fn not_run(executed: &mut Executed<'_>, which: &str) -> String {
    let because = executed.refusal.take();
    let because = because.map_or(String::new(), |report| format!(": {}", report.message));
    format!("the launches do not run in {which}{because}")
}

/// Sizes as they stand in sentences.
fn written(sizes: &[u64]) -> String {
    let mut text = String::new();
    for (at, size) in sizes.iter().enumerate() {
        let _ = write!(text, "{}{size}", if at > 0 { " × " } else { "" });
    }
    text
}

/// Formulas as a store has them.
#[derive(Serialize, Deserialize)]
struct Kept {
    sizes: Vec<Sizes>,
    compared: Vec<u64>,
    executed: u64,
    held_back: u64,
    launches: Vec<Launch>,
    functions: Vec<Vec<KeptPiece>>,
}

#[derive(Serialize, Deserialize)]
struct KeptPiece {
    first: Vec<u64>,
    last: Vec<Option<u64>>,
    residues: Vec<Residue>,
    /// Each coefficient as a fraction, with its factors.
    terms: Vec<(String, Vec<(Atom, u32)>)>,
}

impl KeptPiece {
    fn of(piece: &Piece) -> Self {
        let term =
            |(factor, monomial): &(BigRational, Monomial)| (factor.to_string(), monomial.0.clone());
        Self {
            first: piece.first.clone(),
            last: piece.last.clone(),
            residues: piece.residues.clone(),
            terms: piece.formula.terms.iter().map(term).collect(),
        }
    }

    fn into_piece(self) -> Option<Piece> {
        let term = |(factor, factors): (String, Vec<(Atom, u32)>)| {
            Some((factor.parse::<BigRational>().ok()?, Monomial(factors)))
        };
        let terms = self.terms.into_iter().map(term).collect::<Option<Vec<_>>>()?;
        Some(Piece {
            first: self.first,
            last: self.last,
            residues: self.residues,
            formula: Expression::new(terms),
        })
    }
}
