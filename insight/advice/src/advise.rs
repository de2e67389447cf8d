//! From a kernel and a GPU to ranked advice.

use std::path::Path;

use gpucast_counters::KernelProfile;
use gpucast_counters::attribution::{Attribution, Shares};
use gpucast_counters::table::Row;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::cuda_source;
use gpucast_forecast::input::plan::{Plan, PlannedArgument};
use gpucast_forecast::prediction::PredictionView;
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, Counts, Launched};
use gpucast_forecast::{Failure, Kernel, Report, Supervisor};
use gpucast_model::{
    Bound, ComponentThroughput, Conditions, Gpu, HierarchicalRoofline, Interval, LaunchShape,
    Model, Needs, Prediction, QuantitativeRoofline, SmSimulation,
};
use rayon::prelude::*;
use serde::Serialize;

use crate::case::Case;
use crate::place::{LineShare, Places};
use crate::roof::Roof;
use crate::rules::{self, Effort, Evidence, Rule, Suspicion};
use crate::trial::{self, LEAST_GAIN, Outcome, Trial};
use crate::verdict::{Costliest, Verdict, headline};

/// The models that predict: those of kernels alone that need no calibration.
const MODELS: [&dyn Model; 5] =
    [&SmSimulation, &Interval, &ComponentThroughput, &HierarchicalRoofline, &QuantitativeRoofline];

/// The models that a question is put to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// All that have a prediction.
    AllModels,
    /// The one of the headline alone.
    OneModel,
}

/// What is known of a launch before advice is asked for.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Its predictions on the GPU; models that are not among them predict anew.
    pub predictions: &'a [PredictionView],
    /// The models that questions are put to.
    pub depth: Depth,
}

impl Known<'_> {
    /// Nothing is known, and everything is asked.
    pub const NOTHING: Self = Self { predictions: &[], depth: Depth::AllModels };

    /// The model that the verdict should rest on: the GPU's default, or else the first one that is
    /// shown.
    fn preferred(&self, gpu: &Gpu) -> &'static str {
        let mut models = self.predictions.iter().map(|view| view.prediction.model);
        let default = <dyn Model>::default_for(gpu).name();
        models.clone().find(|&model| model == default).or_else(|| models.next()).unwrap_or(default)
    }
}

/// Advice on one launch on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The kernel.
    pub kernel: String,
    /// The place of the launch in its file, from 0 on.
    pub launch: usize,
    /// Launches of the file.
    pub launches: usize,
    /// The GPU's library name.
    pub gpu: String,
    /// Origin of the counts, in words.
    pub origin: String,
    /// The answer in short.
    pub verdict: Verdict,
    /// What to change, by gain and effort; what no model can see comes last.
    pub items: Vec<Item>,
    /// The roof, where nothing gains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roof: Option<Roof>,
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// The code of the rule.
    pub rule: &'static str,
    /// The cause, in a few words.
    pub title: &'static str,
    /// What the change takes, which ranks it beside its gain.
    pub effort: Effort,
    /// What to change, in a sentence.
    pub change: String,
    /// Where, by what falls on each line.
    pub places: Vec<LineShare>,
    /// The counters that tell, with what would be ideal.
    pub evidence: Vec<Evidence>,
    /// The time before over the time after, by the model of the headline, or by the one that
    /// `gain_by` names; `None` if no model can see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
    /// The time after, in milliseconds, by the model of the headline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<f64>,
    /// The model that sees the gain, where that of the headline cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_by: Option<&'static str>,
    /// The option of `predict` that asks the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Why no model can see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen_because: Option<&'static str>,
    /// What each model makes of it.
    pub outcomes: Vec<Outcome>,
}

impl Item {
    /// The models that see a gain, and those that see none.
    #[must_use]
    pub fn agreement(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let names = |agrees: bool| {
            let those =
                self.outcomes.iter().filter(|outcome| (outcome.speed_up >= LEAST_GAIN) == agrees);
            those.map(|those| those.model).collect()
        };
        (names(true), names(false))
    }
}

/// Counts each launch of a kernel on each GPU and advises on it. CUDA files are looked for beside
/// the module, and below `source_root`.
///
/// # Errors
///
/// Errors of the text, of a launch, or of the kernel; a GPU that cannot be counted on; a launch
/// that no model can predict; [`Failure::Stopped`] if the supervisor says so.
pub fn advise_all(
    kernel: &Kernel,
    gpus: &[Gpu],
    counts: &Counts,
    source_root: Option<&Path>,
    supervisor: &dyn Supervisor,
) -> Result<Vec<Advice>, Failure> {
    // A GPU that cannot count is refused before another one has been executed for.
    for gpu in gpus {
        gpu_argument::device_model(gpu)?;
    }
    let plan = kernel.plan();
    let loaded = module::load(plan)?;
    let files = cuda_source::files(plan, &loaded.module, source_root);
    let needs = Needs::STAGES | Needs::ORDER;
    let counts = Counts { needs, ..counts.clone() };
    let mut all = Vec::new();
    for gpu in gpus {
        let launches = sources::launched(plan, &loaded, gpu, &counts, supervisor)?;
        for (index, launched) in launches.iter().enumerate() {
            let places = Places { files: &files, loaded: &loaded };
            all.push(advise(plan, places, launched, index, gpu, Known::NOTHING)?);
        }
    }
    Ok(all)
}

/// Advice on a launch of a plan that was counted on `gpu`.
///
/// # Errors
///
/// If the GPU cannot be counted on, or no model predicts.
pub fn advise(
    plan: &Plan,
    places: Places<'_>,
    launched: &Launched,
    index: usize,
    gpu: &Gpu,
    known: Known<'_>,
) -> Result<Advice, Report> {
    let Launched { counted, source } = launched;
    let (profile, conditions) = (&source.profile, &source.conditions);
    let predicted = predicted(known, profile, gpu, conditions);
    let predictions: Vec<Prediction> = predicted.iter().map(|(_, one)| one.clone()).collect();
    let headline = headline(&predictions, known.preferred(gpu)).ok_or_else(|| {
        let kernel = &profile.kernel;
        let report = Report::new(format!("no model predicts kernel {kernel} on {}", gpu.name));
        report.maybe_hint(source.lacks_caches().then_some(
            "`--caches none` leaves out what the models need; `--caches full` counts it".to_owned(),
        ))
    })?;
    let case = Case {
        profile: &counted.profile,
        conditions,
        shape: conditions.launch.unwrap_or(LaunchShape {
            blocks: 1,
            threads_per_block: 1,
            ..LaunchShape::default()
        }),
        buffer_bytes: buffer_bytes(plan, index),
        gpu,
        device: gpu_argument::device_model(gpu)?,
        headline,
        simulated: predictions.iter().find_map(|prediction| prediction.detail.simulation()),
        places,
    };
    let mut models: Vec<(&'static dyn Model, &Prediction)> =
        predicted.iter().map(|(model, one)| (*model, one)).collect();
    if known.depth == Depth::OneModel {
        models.retain(|(model, _)| model.name() == headline.model);
    }
    let mut items: Vec<Item> = rules::ALL
        .par_iter()
        .filter_map(|rule| {
            let suspicion = (rule.check)(&case)?;
            let outcomes = trial::outcomes(&suspicion.trial, &models, profile, conditions, gpu);
            item(rule, suspicion, outcomes, headline)
        })
        .collect();
    // Gains by the model of the headline come first, since gains of several models do not compare.
    // Sorting keeps the order of the registry where gains are equal.
    items.sort_by(|a, b| {
        let worth =
            |item: &Item| item.speed_up.map_or(0.0, |gain| gain.ln() / item.effort.weight());
        let of_headline = |item: &Item| item.gain_by.is_none() && item.speed_up.is_some();
        of_headline(b).cmp(&of_headline(a)).then(worth(b).total_cmp(&worth(a)))
    });
    Ok(Advice {
        kernel: profile.kernel.clone(),
        launch: index,
        launches: plan.launches.len(),
        gpu: gpu.name.clone(),
        origin: source.origin.clone(),
        verdict: Verdict::new(headline, &predictions, costliest(&case)),
        roof: if items.is_empty() { Roof::of(headline, &predictions) } else { None },
        items,
    })
}

/// The predictions of all models. What is known stands, even of models that nobody asks otherwise.
fn predicted(
    known: Known<'_>,
    profile: &KernelProfile,
    gpu: &Gpu,
    conditions: &Conditions,
) -> Vec<(&'static dyn Model, Prediction)> {
    let views = known.predictions.iter();
    let mut all: Vec<(&'static dyn Model, Prediction)> =
        views.map(|view| (view.model, view.prediction.clone())).collect();
    let others: Vec<(&'static dyn Model, Prediction)> = MODELS
        .par_iter()
        .filter(|model| all.iter().all(|(other, _)| other.name() != model.name()))
        // It rests on the same record as the simulation, which asks it by itself and warns.
        .filter(|model| known.depth == Depth::AllModels || model.name() != Interval.name())
        // Without the counts between barriers a model that reads them answers otherwise.
        .filter(|model| conditions.evidence.stages.is_some() || !model.needs().stages)
        .filter_map(|model| Some((*model, model.predict(profile, gpu, conditions).ok()?)))
        .collect();
    all.extend(others);
    all
}

/// The advice of a suspicion, unless it gains nothing. What the model of the headline cannot see,
/// the simulation answers.
fn item(
    rule: &Rule,
    suspicion: Suspicion,
    outcomes: Vec<Outcome>,
    headline: &Prediction,
) -> Option<Item> {
    let Suspicion { trial, change, places, evidence } = suspicion;
    let asked = trial.option();
    let (answer, unseen_because) = match trial {
        Trial::Unseen(reason) => (None, Some(reason)),
        Trial::WhatIf(_) | Trial::Launches => {
            let of = |model: &str| outcomes.iter().find(|outcome| outcome.model == model);
            let own = of(headline.model).filter(|rule| rule.sees);
            let answer = own.or_else(|| of(SmSimulation.name()))?;
            if answer.speed_up < LEAST_GAIN {
                return None;
            }
            (Some((answer.speed_up, answer.model)), None)
        }
    };
    let speed_up = answer.map(|(speed_up, _)| speed_up);
    let gain_by = answer.map(|(_, model)| model).filter(|&model| model != headline.model);
    Some(Item {
        rule: rule.code,
        title: rule.title,
        effort: rule.effort,
        change,
        places,
        evidence,
        time_ms: speed_up.filter(|_| gain_by.is_none()).map(|gain| headline.time_ms / gain),
        speed_up,
        gain_by,
        asked,
        unseen_because,
        outcomes,
    })
}

/// The line that warps spend most of their clocks on; without a simulation, the one with most of
/// what bounds the kernel.
fn costliest(case: &Case<'_>) -> Option<Costliest> {
    let most = |share_of, weight: &dyn Fn(&Row) -> f64| {
        let place = case.ranked(weight).into_iter().next()?;
        Some(Costliest { place, share_of })
    };
    if let Some(analysis) = case.headline.detail.simulation() {
        return most("warps' time", &|row| analysis.clocks_of([row.instruction]).total());
    }
    let attribution = Attribution::new(&case.profile.table, case.profile.machine.as_ref());
    let share = |of: fn(&Shares) -> Option<f64>| {
        let attribution = &attribution;
        move |row: &Row| of(&attribution.shares(&attribution.part([row]))).unwrap_or_default()
    };
    match case.headline.bound {
        Bound::Compute => most("instructions", &share(|shares| shares.instructions)),
        Bound::Shared => most("shared-memory passes", &share(|shares| shares.shared)),
        Bound::L1 | Bound::L2 => most("sectors", &share(|shares| shares.sectors)),
        // Stores reach device memory by way of the L2, and belong to no line there.
        Bound::Memory => most("reads of device memory", &share(|shares| shares.dram_reads))
            .or_else(|| most("sectors", &share(|shares| shares.sectors))),
        // No line of the kernel makes it wait for its launch.
        Bound::Overhead => None,
    }
}

/// Bytes of the buffers among the arguments of a launch, and of those that textures are made of: a
/// kernel reads textures of its module without arguments.
fn buffer_bytes(plan: &Plan, index: usize) -> u64 {
    let Some(launch) = plan.launches.get(index) else { return 0 };
    let mut buffers: Vec<usize> =
        launch.arguments.iter().flat_map(PlannedArgument::buffers).collect();
    buffers.extend(plan.textures.iter().map(|texture| texture.buffer));
    buffers.sort_unstable();
    buffers.dedup();
    buffers.iter().filter_map(|&buffer| plan.buffers.get(buffer)).map(|buffer| buffer.bytes()).sum()
}

#[cfg(test)]
mod tests {
    use gpucast_forecast::{Kernel, LaunchOptions};

    #[test]
    fn texels_are_bytes_that_a_launch_is_given() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/textures/picture.toml");
        let kernel = Kernel::open(file, &LaunchOptions::default()).unwrap();
        assert_eq!(super::buffer_bytes(kernel.plan(), 0), 4 * 4_194_304 + 4);
    }
}
