//! Counts in sizes that are asked for, by formulas that are known. Nothing is executed.

use std::collections::BTreeMap;

use gpucast_counters::{Kind, Level};
use gpucast_formulas::sizes::Sizes;

use super::sizes::{Wanted, in_words};
use super::{LaunchFormulas, MetricFormula, ParametricCounts, count_at};
use crate::choice::metric_choice::MetricChoice;
use crate::failure::{Report, SourceText};
use crate::number;

/// The counts of all launches in one size of the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountsAt {
    /// The size of each parameter.
    pub sizes: Vec<u64>,
    /// True if a size is larger than all that were executed to find and to compare the formulas.
    pub is_beyond_executed: bool,
    /// One for each launch of the file.
    pub launches: Vec<LaunchAt>,
}

/// The counts of a launch in one size.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchAt {
    /// The kernel.
    pub kernel: String,
    /// The metrics whose formulas hold in this size.
    pub metrics: Vec<MetricAt>,
    /// Metrics whose formulas do not hold in this size, and those without formula.
    pub without: Vec<&'static str>,
}

/// A count in one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricAt {
    /// The metric's name.
    pub name: &'static str,
    /// The origin of the counts that the formula is made of.
    pub kind: Kind,
    /// The level of the instructions that are counted.
    pub level: Level,
    /// Its value.
    pub count: u128,
}

impl MetricFormula {
    /// The count in some sizes; `None` where no formula holds.
    #[must_use]
    pub fn at(&self, sizes: &[u64]) -> Option<u128> {
        count_at(&self.pieces, sizes)
    }
}

impl ParametricCounts {
    /// Leaves these metrics alone.
    pub fn choose(&mut self, metrics: &MetricChoice) {
        for launch in &mut self.launches {
            launch.metrics.retain(|metric| metrics.names(metric.name));
            launch.without.retain(|name| metrics.names(name));
            launch.ratios.retain(|name| metrics.names(name));
        }
    }

    /// The counts in these sizes, one for each parameter.
    ///
    /// # Errors
    ///
    /// If the formulas are not for one of the sizes, or if none of them holds there.
    pub fn at(&self, sizes: &[u64]) -> Result<CountsAt, Report> {
        let named = || self.names.iter().zip(sizes);
        for ((name, &size), of) in named().zip(&self.sizes) {
            if !of.has(size) {
                let size = number::count(size);
                let message = format!("{name} = {size} is none of the sizes of the formulas");
                return Err(Report::new(message).fact(format!("they are {}", in_words(*of))));
            }
        }
        let launch = |launch: &LaunchFormulas| {
            let (mut metrics, mut without) = (Vec::new(), launch.without.clone());
            for metric in &launch.metrics {
                let MetricFormula { name, kind, level, .. } = *metric;
                match metric.at(sizes) {
                    Some(count) => metrics.push(MetricAt { name, kind, level, count }),
                    None => without.push(name),
                }
            }
            without.sort_unstable();
            LaunchAt { kernel: launch.kernel.clone(), metrics, without }
        };
        let launches: Vec<LaunchAt> = self.launches.iter().map(launch).collect();
        if launches.iter().all(|launch| launch.metrics.is_empty()) {
            let sizes: Vec<String> =
                named().map(|(name, &size)| format!("{name} = {}", number::count(size))).collect();
            return Err(Report::new(format!("no formula holds at {}", sizes.join(", "))));
        }
        let is_beyond_executed = sizes.iter().zip(&self.largest).any(|(size, most)| size > most);
        Ok(CountsAt { sizes: sizes.to_vec(), is_beyond_executed, launches })
    }

    /// Reads sizes of all parameters, such as `n=640,m=1280`, or `n=64..4096:64,m=640`. Ranges
    /// stand for each of their sizes, with each size of the others. `option` names the text in
    /// reports.
    ///
    /// # Errors
    ///
    /// Points at what is no size. Says which parameter is unknown, missing, or there twice, and
    /// refuses more than a million sizes.
    pub fn read_sizes(&self, option: &str, text: &str) -> Result<Vec<Vec<u64>>, Report> {
        const MOST: u64 = 1_000_000;
        let source = SourceText::new(option, text);
        let mut given: BTreeMap<String, Sizes> = BTreeMap::new();
        for part in text.split(',') {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            let wrong = |message: String| source.report(start..start + part.len(), message);
            let Some((name, value)) = part.split_once('=') else {
                let hint = "write n=640, or n=64..4096:64 for several";
                return Err(wrong("this is no size of a parameter".to_owned()).hint(hint));
            };
            let Some(place) = self.names.iter().position(|own| own == name) else {
                let known = format!("formulas are in {}", self.names.join(", "));
                return Err(wrong(format!("the formulas have no parameter `{name}`")).fact(known));
            };
            let own = self.sizes[place];
            // A single size is a range of one.
            let is_range = value.contains("..");
            let range = if is_range { part.to_owned() } else { format!("{part}..{value}") };
            let wanted = match Wanted::read(option, &range) {
                Ok(wanted) => wanted,
                Err(report) => return Err(wrong(report.message)),
            };
            let first = wanted.first.unwrap_or(own.first);
            let step = wanted.step.unwrap_or(own.step);
            let sizes = Sizes { first, step, last: wanted.last.unwrap_or(own.last) };
            if given.insert(name.to_owned(), sizes).is_some() {
                return Err(wrong(format!("this is the second size of {name}")));
            }
        }
        if let Some(name) = self.names.iter().find(|name| !given.contains_key(*name)) {
            let report = source.report(0..text.len(), format!("{name} has no size here"));
            return Err(report.hint(format!("formulas are in {}", self.names.join(", "))));
        }
        let all: Vec<Sizes> =
            self.names.iter().filter_map(|name| given.get(name)).copied().collect();
        let number =
            all.iter().fold(1_u64, |all, one| all.saturating_mul(one.places().saturating_add(1)));
        if number > MOST {
            let message = format!("these are {} sizes", number::count(number));
            let hint = format!("at most {} are evaluated at once", number::count(MOST));
            return Err(source.report(0..text.len(), message).hint(hint));
        }
        let mut points = vec![Vec::new()];
        for sizes in all {
            let with = |point: &Vec<u64>| -> Vec<Vec<u64>> {
                let longer = |place| [&point[..], &[sizes.at(place)]].concat();
                (0..=sizes.places()).map(longer).collect()
            };
            points = points.iter().flat_map(with).collect();
        }
        Ok(points)
    }
}

#[cfg(test)]
mod tests {
    use num_rational::BigRational;

    use super::*;
    use crate::parametric::{Atom, Expression, Monomial, Piece, Residue};

    /// `flop_count_sp` is n·m where n is even, else nothing is known; `warps_launched` is m − 10
    /// from m = 8 on, which is no count before 10.
    fn counts() -> ParametricCounts {
        let product = |factors: &[usize]| {
            Monomial(factors.iter().map(|&at| (Atom::Parameter(at), 1)).collect())
        };
        let number = |value: i64| BigRational::from_integer(value.into());
        let piece = |first: [u64; 2], residues: Vec<Residue>, formula| Piece {
            first: first.to_vec(),
            last: vec![None; 2],
            residues,
            formula,
        };
        let metric =
            |name, pieces| MetricFormula { name, kind: Kind::Exact, level: Level::Ptx, pieces };
        let even = Residue { parameter: 0, modulus: 2, residue: 0 };
        let area = Expression::new([(number(1), product(&[0, 1]))]);
        let less = Expression::new([(number(1), product(&[1])), (number(-10), product(&[]))]);
        let metrics = vec![
            metric("flop_count_sp", vec![piece([2, 1], vec![even], area)]),
            metric("warps_launched", vec![piece([1, 8], Vec::new(), less)]),
        ];
        let launch = LaunchFormulas {
            kernel: "k".to_owned(),
            metrics,
            without: vec!["gld_transactions"],
            ratios: Vec::new(),
        };
        ParametricCounts {
            names: vec!["n".to_owned(), "m".to_owned()],
            sizes: vec![
                Sizes { first: 1, step: 1, last: 100 },
                Sizes { first: 1, step: 3, last: 1 << 40 },
            ],
            launches: vec![launch],
            executed: 10,
            held_back: 2,
            largest: vec![50, 1000],
        }
    }

    fn found(n: u64, m: u64) -> (Vec<(&'static str, u128)>, Vec<&'static str>, bool) {
        let at = counts().at(&[n, m]).unwrap();
        let metrics =
            at.launches[0].metrics.iter().map(|metric| (metric.name, metric.count)).collect();
        (metrics, at.launches[0].without.clone(), at.is_beyond_executed)
    }

    #[test]
    fn formulas_count_where_they_hold() {
        let (area, warps, loads) = ("flop_count_sp", "warps_launched", "gld_transactions");
        assert_eq!(found(4, 13), (vec![(area, 52), (warps, 3)], vec![loads], false));
        assert_eq!(found(5, 13), (vec![(warps, 3)], vec![area, loads], false));
        assert_eq!(found(4, 7), (vec![(area, 28)], vec![loads, warps], false), "m begins at 8");
        assert_eq!(found(52, 1), (vec![(area, 52)], vec![loads, warps], true), "n ends at 50");
        let large = 3 * (1 << 38) + 1;
        assert_eq!(found(2, large).0[0], (area, 2 * u128::from(large)));
        assert!(found(2, large).2);
    }

    #[test]
    fn sizes_that_formulas_are_not_for_are_refused() {
        let message = |n, m| counts().at(&[n, m]).unwrap_err().to_string();
        assert!(message(101, 1).contains("n = 101 is none of the sizes"), "{}", message(101, 1));
        assert!(message(1, 3).contains("m = 3 is none of the sizes"), "{}", message(1, 3));
        assert!(message(1, 0).contains("m = 0 is none"), "{}", message(1, 0));
        // Neither is 1 even, nor 1 at least 8.
        assert!(message(1, 1).contains("no formula holds at n = 1, m = 1"), "{}", message(1, 1));
    }

    #[test]
    fn ranges_stand_for_their_sizes() {
        let read = |text| counts().read_sizes("--at", text);
        assert_eq!(read("m=4,n=3").unwrap(), [[3, 4]]);
        assert_eq!(read("n=3..5,m=4").unwrap(), [[3, 4], [4, 4], [5, 4]]);
        assert_eq!(
            read("n=2..6:4,m=1..7").unwrap(),
            [[2, 1], [2, 4], [2, 7], [6, 1], [6, 4], [6, 7]]
        );
        for wrong in
            ["n=3", "n", "n=3,m=4,k=5", "n=3,n=4,m=1", "n=x,m=4", "n=0,m=4", "n=1,m=1..", ""]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
