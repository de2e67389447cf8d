//! How far apart the errors of one kernel's variants are.
//!
//! Variants of a kernel on one GPU have much of their error in common: the GPU's clock, its
//! latencies, and whatever a model does not know of the kernel. Whether one of them is faster does
//! not depend on that. So a ranking rests on the differences of errors, which are smaller than the
//! errors.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::quantile::{Unit, central};
use super::table::COVERAGE;

/// The committed factors. `evaluate tables` writes them from the committed times, and a test
/// compares both.
const COMMITTED: &str = include_str!("../../data/variant-factors.csv");

/// The error of a measured variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariantError<'a> {
    /// The model that predicts.
    pub model: &'a str,
    /// The back end of the machine code. Times by both are not compared.
    pub machine: &'a str,
    /// The kernel that it is a variant of.
    pub family: &'a str,
    /// The GPU.
    pub gpu: &'a str,
    /// ln (measured / predicted).
    pub error: f64,
}

/// The differences of a model's errors.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantFactor {
    /// The model.
    pub model: String,
    /// The number of measured variants.
    pub times: usize,
    /// The number of kernels on a GPU that they are of, each with the same weight.
    pub kernels: usize,
    /// The number of GPUs.
    pub gpus: usize,
    /// The measured ratio of two variants is within this factor of the predicted one, for 4 of 5
    /// pairs.
    pub factor: f64,
}

/// The factors by model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariantFactors {
    rows: Vec<VariantFactor>,
}

const HEADER: &str = "model,times,kernels,gpus,factor";

impl VariantFactors {
    /// The committed factors.
    #[must_use]
    pub fn committed() -> &'static Self {
        // A test makes sure that all of it is read.
        static TABLE: LazyLock<VariantFactors> =
            LazyLock::new(|| VariantFactors::from_csv(COMMITTED).unwrap_or_default());
        &TABLE
    }

    /// The factors of measured errors, for models with kernels enough.
    #[must_use]
    pub fn of(errors: &[VariantError<'_>]) -> Self {
        type ByMachine<'a> = BTreeMap<&'a str, Vec<f64>>;
        let mut models: BTreeMap<&str, BTreeMap<(&str, &str), ByMachine<'_>>> = BTreeMap::new();
        for one in errors {
            let kernels = models.entry(one.model).or_default();
            let kernel = kernels.entry((one.gpu, one.family)).or_default();
            kernel.entry(one.machine).or_default().push(one.error);
        }
        let row = |(model, kernels): (&str, BTreeMap<(&str, &str), ByMachine<'_>>)| {
            let has_variants = |kernel: &ByMachine<'_>| kernel.values().any(|all| all.len() > 1);
            let kernels: BTreeMap<_, _> =
                kernels.into_iter().filter(|(_, kernel)| has_variants(kernel)).collect();
            let variants = kernels.values().flat_map(BTreeMap::values).filter(|all| all.len() > 1);
            let times = variants.map(Vec::len).sum();
            let mut gpus: Vec<&str> = kernels.keys().map(|(gpu, _)| *gpu).collect();
            gpus.dedup();
            let units: Vec<Unit> =
                kernels.values().map(|kernel| vec![differences(kernel)]).collect();
            let (_, high) = central(&units, COVERAGE)?;
            Some(VariantFactor {
                model: model.to_owned(),
                times,
                kernels: units.len(),
                gpus: gpus.len(),
                factor: high.exp(),
            })
        };
        Self { rows: models.into_iter().filter_map(row).collect() }
    }

    /// The factor of a model, if enough variants were measured.
    #[must_use]
    pub fn find(&self, model: &str) -> Option<&VariantFactor> {
        self.rows.iter().find(|row| row.model == model)
    }

    /// The factors as CSV.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for VariantFactor { model, times, kernels, gpus, factor } in &self.rows {
            text += &format!("{model},{times},{kernels},{gpus},{factor:.4}\n");
        }
        text
    }

    /// Reads what [`Self::to_csv`] writes. `None` of anything else.
    #[must_use]
    pub fn from_csv(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        (lines.next()? == HEADER).then_some(())?;
        Some(Self { rows: lines.map(row).collect::<Option<_>>()? })
    }
}

/// The differences of all pairs, each both ways.
fn differences(by_machine: &BTreeMap<&str, Vec<f64>>) -> Vec<f64> {
    let mut all = Vec::new();
    for errors in by_machine.values() {
        for (at, one) in errors.iter().enumerate() {
            for other in &errors[at + 1..] {
                all.extend([one - other, other - one]);
            }
        }
    }
    all
}

fn row(line: &str) -> Option<VariantFactor> {
    let cells: Vec<&str> = line.split(',').collect();
    let &[model, times, kernels, gpus, factor] = cells.as_slice() else { return None };
    Some(VariantFactor {
        model: model.to_owned(),
        times: times.parse().ok()?,
        kernels: kernels.parse().ok()?,
        gpus: gpus.parse().ok()?,
        factor: factor.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error<'a>(family: &'a str, machine: &'a str, error: f64) -> VariantError<'a> {
        VariantError { model: "m", machine, family, gpu: "g", error }
    }

    #[test]
    fn what_variants_have_in_common_does_not_count() {
        // Nine kernels, each far off by an amount of its own, with two variants 0.1 apart.
        let names: Vec<String> = (0..9).map(|at| format!("kernel {at}")).collect();
        let pairs = names
            .iter()
            .enumerate()
            .flat_map(|(at, name)| [0.0, 0.1].map(|more| error(name, "rules", at as f64 + more)));
        let mut errors: Vec<_> = pairs.collect();
        let found = VariantFactors::of(&errors);
        let row = found.find("m").unwrap();
        assert!((row.factor.ln() - 0.1).abs() < 1e-9, "{row:?}");
        assert_eq!((row.times, row.kernels, row.gpus), (18, 9, 1));
        // A kernel without variants adds nothing, nor do times by another back end.
        errors.push(error("alone", "rules", 5.0));
        errors.push(error("kernel 3", "ptxas", 50.0));
        assert_eq!(VariantFactors::of(&errors), found);
        assert_eq!(VariantFactors::of(&errors[..16]).find("m"), None, "eight kernels are too few");
    }

    #[test]
    fn the_committed_factors_are_all_read_and_written_alike() {
        assert_eq!(VariantFactors::committed().to_csv(), COMMITTED);
        let simulation = VariantFactors::committed().find("sm-simulation").unwrap();
        assert!(simulation.factor > 1.0 && simulation.kernels > 9);
    }
}
