//! Predictions by the cost models of J. D. Stevens and A. Klöckner, "A mechanism for balancing
//! accuracy and scope in cross-machine black-box GPU performance modeling", IJHPCA 2020. Their
//! language and calibration are the crate `gpucast-cost-model`.

pub use gpucast_cost_model::{
    AccessFeature, BUILT_IN, Calibration, CalibrationError, Constraint, Cost, CostModelFile,
    CostModels, Expression, ExpressionError, Feature, FeatureBound, FeatureError, FittedParameter,
    FittedSample, Formula, Function, MachineAccessFeature, ModelFileError, Names, OperationFeature,
    Parameter, Relation, Role, SCHEMA, Sample, Scale, Settings, Sign, calibrate,
};
use gpucast_counters::KernelProfile;
use gpucast_counters::features::{Features, MemoryAccess, MemorySpace, Numbers};

use crate::gpu::Gpu;
use crate::needs::Needs;
use crate::prediction::{Bound, Component, Detail, Outcome, Part, Symbols};
use crate::predictor::{Conditions, Model, ModelError};
use crate::reads::Fields;
use crate::warning::Warning;

/// The model of Stevens & Klöckner 2020.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostModel;

/// The parts of a launch's time.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Seconds of all launches.
    pub seconds: f64,
    /// The products of features and parameters that the model adds up.
    pub terms: Vec<Term>,
    /// Features of the model that the kernel has none of.
    pub absent: Vec<String>,
    /// Accesses to global memory and arithmetic that no feature counts, in words.
    pub uncharged: Vec<String>,
    /// Accesses that more than one feature counts, in words.
    pub charged_twice: Vec<String>,
    /// True if a ratio that a feature asks for rests on an estimate.
    pub estimated: bool,
}

/// A product of features and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// As in the model, features only: `f_op_float32_madd`.
    pub name: String,
    /// The product of its features, summed over launches.
    pub count: f64,
    /// Its cost alone, in seconds.
    pub alone: f64,
    /// The time that it adds, in seconds, overlap considered.
    pub added: f64,
    /// The resource that works on it.
    pub resource: Bound,
}

impl Analysis {
    /// Applies a calibrated model to launches, each with its number of invocations.
    ///
    /// # Errors
    ///
    /// If a feature cannot be gathered.
    pub fn new(
        file: &CostModelFile,
        launches: &[(Features, u64)],
        names: &Names,
    ) -> Result<Self, FeatureError> {
        let formula = &file.formula;
        let parameters = file.values();
        let mut analysis = Self {
            seconds: 0.0,
            terms: Vec::new(),
            absent: Vec::new(),
            uncharged: Vec::new(),
            charged_twice: Vec::new(),
            estimated: false,
        };
        let mut totals = vec![0.0; formula.features().len()];
        for (features, times) in launches {
            let times = *times as f64;
            let values = formula
                .features()
                .iter()
                .map(|feature| feature.value(features, names))
                .collect::<Result<Vec<f64>, FeatureError>>()?;
            analysis.seconds += times * formula.evaluate(&parameters, &values);
            let costs = formula.costs(&parameters, &values);
            for (place, cost) in costs.iter().enumerate() {
                let count: f64 = cost.features.iter().map(|&at| values[at]).product();
                if analysis.terms.len() <= place {
                    analysis.terms.push(Term::new(formula, cost));
                }
                let term = &mut analysis.terms[place];
                term.count += times * count;
                term.alone += times * cost.alone;
                term.added += times * cost.added;
            }
            for (total, value) in totals.iter_mut().zip(&values) {
                *total += times * value;
            }
        }
        let absent = formula.features().iter().zip(&totals).filter(|(_, total)| **total == 0.0);
        analysis.absent = absent.map(|(feature, _)| feature.to_string()).collect();
        if let Some((features, _)) = launches.first() {
            analysis.look_for_gaps(formula, features, names)?;
        }
        Ok(analysis)
    }

    /// Finds the work that the model's features leave out or count twice.
    fn look_for_gaps(
        &mut self,
        formula: &Formula,
        features: &Features,
        names: &Names,
    ) -> Result<(), FeatureError> {
        for access in &features.accesses {
            let charges = self.charges(access, formula, names)?;
            // Constants and private memory are no part of the paper's models.
            let is_modelled = matches!(access.space, MemorySpace::Global | MemorySpace::Local);
            if charges.contains(&0) && is_modelled {
                self.uncharged.push(describe(access));
            } else if charges.iter().any(|charges| *charges > 1) {
                self.charged_twice.push(describe(access));
            }
        }
        for count in &features.operations {
            let is_charged = formula.features().iter().any(
                |feature| matches!(feature, Feature::Operation(wanted) if wanted.matches(count)),
            );
            // Integers compute addresses, which the paper leaves out (section 6.1.2).
            let is_floating = matches!(count.element.numbers, Numbers::Float | Numbers::Bfloat);
            if !is_charged && is_floating && count.sub_groups > 0 {
                self.uncharged.push(format!(
                    "{} x {} of {}",
                    count.sub_groups, count.operation, count.element
                ));
            }
        }
        Ok(())
    }

    /// The number of features that count an access, for each width that its machine accesses have.
    fn charges(
        &mut self,
        access: &MemoryAccess,
        formula: &Formula,
        names: &Names,
    ) -> Result<Vec<usize>, FeatureError> {
        let machine = access.machine.as_deref().unwrap_or_default();
        let is_left_out = access.machine.as_deref() == Some(&[]);
        let mut charges = vec![0; machine.len().max(1)];
        for feature in formula.features() {
            let wanted = match feature {
                Feature::MemoryAccess(wanted) => wanted,
                Feature::MachineAccess(wanted) if !is_left_out => &wanted.access,
                _ => continue,
            };
            self.estimated |= wanted.ratio.is_some()
                && access.footprint.is_some_and(|footprint| !footprint.exact)
                && access.space == MemorySpace::Global;
            if !wanted.matches(access, names)? {
                continue;
            }
            for (place, charges) in charges.iter_mut().enumerate() {
                let is_as_wide = match (feature, machine.get(place)) {
                    (Feature::MachineAccess(wanted), Some(one)) => {
                        wanted.is_as_wide(access, one, names)?
                    }
                    _ => true,
                };
                *charges += usize::from(is_as_wide);
            }
        }
        // The machine does nothing for an access that the compiler left out, at no cost.
        Ok(if is_left_out && charges == [0] { vec![1] } else { charges })
    }
}

/// An access in a few words: `the loads of a`.
fn describe(access: &MemoryAccess) -> String {
    let buffer = match (&access.buffer, access.space) {
        (Some(buffer), _) => format!(" of {buffer}"),
        (None, space) => format!(" of {} memory", space.name()),
    };
    let lines: Vec<String> = access.ptx_lines.iter().take(4).map(ToString::to_string).collect();
    let more = if access.ptx_lines.len() > 4 { ", …" } else { "" };
    format!("the {}s{buffer} (PTX line {}{more})", access.direction.name(), lines.join(", "))
}

impl Term {
    fn new(formula: &Formula, cost: &Cost) -> Self {
        let features: Vec<&Feature> =
            cost.features.iter().filter_map(|&at| formula.features().get(at)).collect();
        let names: Vec<String> = features.iter().map(ToString::to_string).collect();
        Self {
            name: names.join(" * "),
            count: 0.0,
            alone: 0.0,
            added: 0.0,
            resource: features.first().map_or(Bound::Overhead, |feature| resource(feature)),
        }
    }
}

/// The resource that works on a feature: c_gmem, c_on-chip (apart for arithmetic and shared memory)
/// and c_overhead of section 8.1.
fn resource(feature: &Feature) -> Bound {
    match feature {
        Feature::Operation(_) | Feature::MachineOperation(_) => Bound::Compute,
        Feature::MemoryAccess(access)
        | Feature::MachineAccess(MachineAccessFeature { access, .. }) => match access.space {
            Some(MemorySpace::Local) => Bound::Shared,
            _ => Bound::Memory,
        },
        Feature::LocalBarriers
        | Feature::KernelLaunches
        | Feature::ThreadGroups
        | Feature::SubGroups
        | Feature::WorkItems
        | Feature::WallTime(_) => Bound::Overhead,
    }
}

impl Model for CostModel {
    fn name(&self) -> &'static str {
        "cost-model"
    }

    fn citation(&self) -> &'static str {
        "Stevens & Klöckner 2020, equations 1 to 8, by a calibrated model file"
    }

    fn needs(&self) -> Needs {
        Needs::FEATURES
    }

    fn includes_launches(&self) -> bool {
        true
    }

    fn reads(&self) -> Fields {
        &[]
    }

    fn evaluate(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Outcome, ModelError> {
        let models = conditions.cost_models.as_deref();
        let Some(models) = models.filter(|models| !models.files.is_empty()) else {
            return Err(ModelError::NoCostModel);
        };
        let Some(file) = models.files.iter().find(|file| file.gpu == gpu.name) else {
            let known: Vec<String> =
                models.files.iter().map(|file| format!("`{}`", file.gpu)).collect();
            return Err(ModelError::OtherGpu { gpu: gpu.name.clone(), known: known.join(", ") });
        };
        let Some(launches) = conditions.evidence.features.as_deref() else {
            let kernel = profile.kernel.clone();
            return Err(ModelError::MissingCondition {
                kernel,
                what: "the features of its accesses",
            });
        };
        let analysis = Analysis::new(file, launches, &models.names)
            .map_err(|error| ModelError::Feature { kernel: profile.kernel.clone(), error })?;
        let parameters = launches.first().map(|(features, _)| of_launch(features));
        Ok(outcome(file, analysis, parameters.unwrap_or_default()))
    }
}

/// The analysis in the form that all models share.
fn outcome(file: &CostModelFile, analysis: Analysis, parameters: Symbols) -> Outcome {
    let of = |resource: Bound| -> f64 {
        analysis.terms.iter().filter(|term| term.resource == resource).map(|term| term.alone).sum()
    };
    let on_chip = of(Bound::Compute) + of(Bound::Shared);
    let mut intermediate = Symbols::default();
    for (name, seconds) in [
        ("c_gmem", of(Bound::Memory)),
        ("c_on-chip", on_chip),
        ("c_overhead", of(Bound::Overhead)),
        ("t", analysis.seconds),
    ] {
        intermediate.push(name, seconds * 1e3, "ms");
    }
    let parts: Vec<Part> = analysis
        .terms
        .iter()
        .filter(|term| term.count != 0.0)
        .map(|term| Part {
            name: term.name.clone(),
            time_ms: term.added * 1e3,
            bound: term.resource,
            components: vec![Component { resource: term.resource, time_ms: term.alone * 1e3 }],
        })
        .collect();
    let bound = [Bound::Memory, Bound::Compute, Bound::Shared, Bound::Overhead]
        .into_iter()
        .max_by(|a, b| added(&analysis, *a).total_cmp(&added(&analysis, *b)))
        .unwrap_or(Bound::Overhead);
    Outcome {
        time_ms: analysis.seconds * 1e3,
        bound,
        parameters,
        intermediate,
        explanation: explanation(file, &analysis),
        warnings: warnings(file, &analysis),
        parts,
        detail: Detail::Cost(Box::new(analysis)),
    }
}

/// The facts about a launch that features hold besides accesses and arithmetic.
fn of_launch(features: &Features) -> Symbols {
    let mut symbols = Symbols::default();
    symbols.push_total("work-groups", features.groups as f64, "");
    symbols.push_total("sub-groups", features.sub_groups as f64, "");
    symbols.push_total("work-items", features.work_items as f64, "");
    symbols.push_total("barriers", features.barriers_per_work_item, "per work-item");
    symbols
}

/// The time that the terms of a resource add.
fn added(analysis: &Analysis, resource: Bound) -> f64 {
    analysis.terms.iter().filter(|term| term.resource == resource).map(|term| term.added).sum()
}

fn explanation(file: &CostModelFile, analysis: &Analysis) -> String {
    let largest = analysis.terms.iter().max_by(|a, b| a.added.total_cmp(&b.added));
    let alone: f64 = analysis.terms.iter().map(|term| term.alone).sum();
    let mut text = match largest {
        Some(term) if analysis.seconds > 0.0 => format!(
            "{} adds most, {:.1} % of the time",
            term.name,
            100.0 * term.added / analysis.seconds
        ),
        _ => "the model adds up to no time".to_owned(),
    };
    let hidden = alone - analysis.seconds;
    if hidden > 0.001 * alone {
        text += &format!(
            "; {:.1} % of what all terms cost alone is hidden behind others",
            100.0 * hidden / alone
        );
    }
    format!("{text}. The parameters hold for {}: {}.", file.gpu, file.source)
}

fn warnings(file: &CostModelFile, analysis: &Analysis) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for parameter in file.parameters.iter().filter(|parameter| parameter.value < 0.0) {
        warnings.push(Warning::NegativeCost {
            parameter: parameter.name.clone(),
            value: parameter.value,
        });
    }
    if analysis.seconds < 0.0 {
        warnings.push(Warning::NegativeTime);
    }
    if !analysis.uncharged.is_empty() {
        warnings.push(Warning::NoCost { what: analysis.uncharged.join("; ") });
    }
    if !analysis.charged_twice.is_empty() {
        warnings.push(Warning::SeveralCosts { what: analysis.charged_twice.join("; ") });
    }
    if !analysis.absent.is_empty() {
        warnings.push(Warning::AbsentFeatures { features: analysis.absent.join(", ") });
    }
    if analysis.estimated {
        warnings.push(Warning::EstimatedFootprint);
    }
    warnings
}

#[cfg(test)]
mod tests;
