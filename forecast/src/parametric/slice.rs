//! All counts as functions of one parameter, the others being fixed.

use std::collections::{BTreeMap, BTreeSet};

use gpucast_formulas::bases::{self, Bases};
use gpucast_formulas::expression::Expression;
use gpucast_formulas::fitting::{self, Found};
use gpucast_formulas::linear::Sample;
use gpucast_formulas::sizes::Sizes;

use super::executed::{Executed, Key};
use crate::failure::Failure;

/// Sizes that are executed: first a few, and more for the counts that these leave open.
const STAGES: [Stage; 3] = [
    Stage { dense: 24, sparse: 40, residues: false },
    Stage { dense: 96, sparse: 64, residues: true },
    Stage { dense: 768, sparse: 96, residues: true },
];

/// Fewer sizes than twice this one are few: none of them is left out of a fit for its smallness.
const FEW_SIZES: u64 = 12;

struct Stage {
    /// The smallest sizes, all of them.
    dense: u64,
    /// Sizes beyond, the distance growing with the size.
    sparse: u32,
    /// True if formulas may differ by the size's residue.
    residues: bool,
}

impl Stage {
    /// Sizes that it asks for.
    fn sizes(&self) -> usize {
        let aligned = if self.residues { ALIGNED * PERIOD_BITS } else { 0 };
        self.dense as usize + (self.sparse + aligned) as usize
    }
}

/// Odd multiples of each power of two, which few other sizes are.
const ALIGNED: u32 = 16;

/// The smallest of them, one after the other. The distance of the others grows with the size.
const ALIGNED_DENSE: u32 = 8;

/// The powers of two up to the greatest period.
const PERIOD_BITS: u32 = fitting::GREATEST_PERIOD.ilog2();

/// Thread instructions that one size may cost: some hundredths of a second.
pub(super) const MOST_WORK: u64 = 1 << 24;

/// As [`MOST_WORK`], where several parameters vary: ten times as many sizes are executed then.
const MOST_WORK_OF_SEVERAL: u64 = 1 << 21;

/// A parameter that varies while the others stay.
pub(super) struct Slice<'a> {
    /// The place of the parameter.
    pub(super) parameter: usize,
    pub(super) sizes: &'a [Sizes],
    /// The size of each parameter; that of the one that varies is replaced.
    pub(super) others: Vec<u64>,
}

/// A count as a function of one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) found: Found,
    /// The place of the smallest size at which it holds, and all those after it do.
    pub(super) from: u64,
    /// The place of the largest size at which it holds, if a larger one was found at which it does
    /// not.
    pub(super) until: Option<u64>,
}

/// What a slice says.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) functions: BTreeMap<Key, Function>,
    /// Counts without a formula.
    pub(super) open: BTreeSet<Key>,
    /// The place of the largest size that is cheap enough.
    pub(super) largest: u64,
    /// True if counts that are in neither were zero in every size.
    others_are_zero: bool,
}

impl Answer {
    /// The function that a count is, if one was found.
    pub(super) fn function(&self, key: &Key) -> Option<Function> {
        let is_zero = self.others_are_zero && !self.open.contains(key);
        self.functions.get(key).cloned().or_else(|| is_zero.then(Function::zero))
    }
}

impl Function {
    fn zero() -> Self {
        Self { found: Found::of_all(Expression::default()), from: 0, until: None }
    }
}

impl Slice<'_> {
    fn own(&self) -> Sizes {
        self.sizes[self.parameter]
    }

    /// The sums that are tried, for launches with these extents of blocks.
    fn bases(&self, of_blocks: &BTreeSet<u64>) -> Bases {
        let divisors = bases::divisors(self.own().step, of_blocks);
        Bases::of_one(self.parameter, self.sizes.len(), divisors)
    }

    /// All sizes, the one that varies being at this place.
    pub(super) fn at(&self, place: u64) -> Vec<u64> {
        let mut sizes = self.others.clone();
        sizes[self.parameter] = self.own().at(place);
        sizes
    }

    /// Finds the functions. Counts that the first sizes leave open get more of them, up to
    /// `most_sizes`.
    pub(super) fn explore(
        &self,
        most_sizes: usize,
        executed: &mut Executed<'_>,
    ) -> Result<Answer, Failure> {
        let mut answer = Answer { largest: self.largest(executed)?, ..Answer::default() };
        let Some(first) = executed.at(&self.at(0))? else { return Ok(answer) };
        answer.others_are_zero = first.others_are_zero();
        let bases = self.bases(&first.of_blocks);
        // The last stage is for functions of one parameter: several have many slices.
        let stages = if self.sizes.len() == 1 { &STAGES[..] } else { &STAGES[..2] };
        let affordable = stages.iter().take_while(|stage| stage.sizes() <= most_sizes).count();
        let stages = &stages[..affordable.max(1)];
        for (index, stage) in stages.iter().enumerate() {
            let dense = stage.dense.min(answer.largest + 1);
            let is_last = index + 1 == stages.len() || dense < stage.dense;
            let mut places: BTreeSet<u64> = (0..dense).collect();
            // Where sizes are few, some are left to be held back.
            let are_few = answer.largest < 2 * FEW_SIZES;
            if are_few {
                places.retain(|place| place % 8 != 5);
            }
            places.extend(spread(dense, answer.largest, stage.sparse, FIRST_ANGLE));
            if stage.residues && !are_few {
                places.extend(self.aligned(answer.largest));
            }
            if index == 0 {
                // Small sizes may lack counts that others have.
                for &place in &places {
                    executed.at(&self.at(place))?;
                }
                answer.open = executed.keys();
            }
            let samples = self.samples(&places, executed, &answer.open)?;
            let with_residues = stage.residues;
            // Equal counts are common: they have one formula.
            let mut solved: Vec<(&[Sample], Option<Function>)> = Vec::new();
            for (&key, samples) in &samples {
                let function = match solved.iter().find(|(known, _)| *known == samples) {
                    Some((_, function)) => function.clone(),
                    None => {
                        // Small sizes often have fewer kinds of blocks than large ones.
                        let windows = match is_last {
                            _ if are_few => vec![(0, answer.largest), (dense / 4, answer.largest)],
                            true => windows(dense, answer.largest, &[1.0, 0.75, 0.5, 0.25]),
                            false if index > 0 => windows(dense, answer.largest, &[1.0]),
                            false => vec![(dense / 4, answer.largest)],
                        };
                        let function =
                            self.function(key, samples, &windows, &bases, with_residues, executed)?;
                        solved.push((samples, function.clone()));
                        function
                    }
                };
                let Some(function) = function else { continue };
                // A formula that ends may be a better one's beginning.
                if function.until.is_none() || is_last {
                    answer.functions.insert(key, function);
                    answer.open.remove(&key);
                }
            }
            if answer.open.is_empty() || is_last {
                break;
            }
        }
        Ok(answer)
    }

    /// The first function that holds in one of the windows of places, with the places at which it
    /// begins and ends.
    pub(super) fn function(
        &self,
        key: Key,
        samples: &[Sample],
        windows: &[(u64, u64)],
        bases: &Bases,
        with_residues: bool,
        executed: &mut Executed<'_>,
    ) -> Result<Option<Function>, Failure> {
        let (own, step) = (self.parameter, self.own().step);
        let place = |sample: &Sample| (sample.sizes[own] - self.own().first) / step;
        for (index, &(low, high)) in windows.iter().enumerate() {
            let begin = samples.partition_point(|sample| place(sample) < low);
            let end = samples.partition_point(|sample| place(sample) <= high);
            let fitted = &samples[begin..end.max(begin)];
            let found = match index {
                0 => fitting::simplest(bases.all(), fitted),
                _ => fitting::simplest(bases.simple(), fitted),
            };
            let found = found.or_else(|| {
                let residues =
                    || fitting::by_residues(own, self.sizes, bases.of_residues(), fitted);
                (with_residues && index < RESIDUE_WINDOWS).then(residues).flatten()
            });
            let Some(found) = found else { continue };
            let holds = |sample: &&Sample| found.gives(sample);
            let before = samples[..begin].iter().rev().take_while(holds).count();
            let after = samples[end..].iter().take_while(holds).count();
            let (first, last) = (begin - before, end + after - 1);
            let from = match first.checked_sub(1) {
                None => place(&samples[first]),
                Some(other) => self.edge(
                    key,
                    &found,
                    (place(&samples[first]), place(&samples[other])),
                    executed,
                )?,
            };
            let until = match samples.get(last + 1) {
                None => None,
                Some(other) => {
                    Some(self.edge(key, &found, (place(&samples[last]), place(other)), executed)?)
                }
            };
            return Ok(Some(Function { found, from, until }));
        }
        Ok(None)
    }

    /// Pieces for the places before `end`, from the last to the first, `most` of them: sums where
    /// there is one, else straight lines and single values. They go before those in `pieces`.
    pub(super) fn below(
        &self,
        key: Key,
        end: u64,
        most: usize,
        pieces: &mut Vec<(u64, Option<u64>, Found)>,
        executed: &mut Executed<'_>,
    ) -> Result<(), Failure> {
        /// Fewer places are described one by one.
        const FEW: u64 = 48;
        let keys = BTreeSet::from([key]);
        let bases = self.bases(&BTreeSet::new());
        let mut end = end;
        let mut reversed = Vec::new();
        while end > 0 && reversed.len() < most {
            if end > FEW {
                let mut places: BTreeSet<u64> = (0..FEW).chain(end - FEW / 2..end).collect();
                places.extend(spread(FEW, end - 1, 64, FIRST_ANGLE));
                let samples = self.samples(&places, executed, &keys)?;
                let Some(samples) = samples.get(&key) else { break };
                let last = end - 1;
                let windows: Vec<(u64, u64)> =
                    [0, FEW / 4, end / 8, end / 4, end / 2].map(|low| (low, last)).to_vec();
                let function = self.function(key, samples, &windows, &bases, false, executed)?;
                let Some(function) = function.filter(|it| it.from < end) else { break };
                reversed.push((function.from, Some(last), function.found));
                end = function.from;
                continue;
            }
            let samples = self.samples(&(0..end).collect(), executed, &keys)?;
            let samples = samples.get(&key).map_or(&[][..], |samples| samples);
            let runs = fitting::runs(self.parameter, samples);
            if runs.len() + reversed.len() > most {
                break;
            }
            let place = |size: u64| (size - self.own().first) / self.own().step;
            reversed.extend(
                runs.into_iter().rev().map(|run| {
                    (place(run.first), Some(place(run.last)), Found::of_all(run.formula))
                }),
            );
            end = 0;
        }
        pieces.extend(reversed.into_iter().rev());
        Ok(())
    }

    /// The last place on the way from one at which a formula holds to one at which it does not.
    fn edge(
        &self,
        key: Key,
        found: &Found,
        (mut holds, mut fails): (u64, u64),
        executed: &mut Executed<'_>,
    ) -> Result<u64, Failure> {
        while holds.abs_diff(fails) > 1 {
            let middle = holds.midpoint(fails);
            let sizes = self.at(middle);
            let count = executed.at(&sizes)?.and_then(|at| at.count(&key));
            let sample = count.map(|count| Sample { sizes, count });
            match sample.is_some_and(|sample| found.gives(&sample)) {
                true => holds = middle,
                false => fails = middle,
            }
        }
        Ok(holds)
    }

    /// The counts at some places, by the size that varies. Counts that some sizes lack are left
    /// out.
    pub(super) fn samples(
        &self,
        places: &BTreeSet<u64>,
        executed: &mut Executed<'_>,
        keys: &BTreeSet<Key>,
    ) -> Result<BTreeMap<Key, Vec<Sample>>, Failure> {
        let mut samples: BTreeMap<Key, Vec<Sample>> =
            keys.iter().map(|&key| (key, Vec::new())).collect();
        for &place in places {
            let sizes = self.at(place);
            let Some(at) = executed.at(&sizes)? else { continue };
            samples.retain(|key, list| match at.count(key) {
                Some(count) => {
                    list.push(Sample { sizes: sizes.clone(), count });
                    true
                }
                None => false,
            });
        }
        Ok(samples)
    }

    /// The places of sizes that are odd multiples of powers of two.
    fn aligned(&self, largest: u64) -> BTreeSet<u64> {
        let own = self.own();
        let near = |bits: u32| {
            // Odd multiples lie twice as far apart as the power itself.
            let distance = (2_u64 << bits).div_ceil(own.step);
            let smallest = (0..ALIGNED_DENSE).map(move |at| u64::from(at) * distance);
            let beyond = u64::from(ALIGNED_DENSE) * distance;
            smallest.chain(spread(beyond, largest, ALIGNED - ALIGNED_DENSE - 1, FIRST_ANGLE))
        };
        let sizes = (1..=PERIOD_BITS)
            .flat_map(|bits| near(bits).filter_map(move |place| own.aligned(place, bits, true)));
        let places = sizes.map(|size| (size - own.first) / own.step);
        places.filter(|&place| place <= largest).collect()
    }

    /// The place of the largest size that runs and costs little, among those that double. The
    /// first places may cost more: fewer show no formula.
    fn largest(&self, executed: &mut Executed<'_>) -> Result<u64, Failure> {
        /// A polynomial of the third degree needs four samples, and some that could contradict it.
        const FIRST: u64 = 16;
        let most = self.own().places();
        let work = if self.sizes.len() > 1 { MOST_WORK_OF_SEVERAL } else { MOST_WORK };
        let (mut largest, mut place) = (0, 1);
        while place <= most {
            match executed.at(&self.at(place))? {
                Some(at) if at.work <= work || place <= FIRST => largest = place,
                _ => break,
            }
            place *= 2;
        }
        Ok(if place > most { most } else { largest })
    }
}

/// Residues are told apart in so many of the widest windows.
const RESIDUE_WINDOWS: usize = 2;

/// Windows of places in which a formula may hold that does not hold everywhere: the widest first.
/// They end at these powers of the largest place.
fn windows(dense: u64, largest: u64, powers: &[f64]) -> Vec<(u64, u64)> {
    let lows = [dense / 4, dense, 4 * dense, 16 * dense, 64 * dense, 256 * dense];
    let mut windows = Vec::new();
    for &power in powers {
        // The largest place itself has no rounding.
        let high = if power < 1.0 { (largest as f64).powf(power) as u64 } else { largest };
        windows.extend(lows.iter().filter(|&&low| low < high).map(|&low| (low, high)));
    }
    windows
}

/// Multiples of these modulo one are spread evenly, and differently: the golden ratio's, and roots.
pub(super) const FIRST_ANGLE: f64 = 0.618_033_988_749_894_9;
/// As [`FIRST_ANGLE`], for what is held back.
pub(super) const OTHER_ANGLE: f64 = 0.414_213_562_373_095_1;

/// `number` places from `from` to `to`, evenly on a logarithmic scale.
pub(super) fn spread(from: u64, to: u64, number: u32, angle: f64) -> BTreeSet<u64> {
    let (from, to) = (from.max(1), to);
    if to < from {
        return BTreeSet::new();
    }
    let ratio = to as f64 / from as f64;
    let place = |at: u32| from as f64 * ratio.powf((f64::from(at) * angle).fract());
    let inside = (1..=number).map(|at| (place(at) as u64).clamp(from, to));
    inside.chain([to]).collect()
}
