//! Counts, times and advice.

use gpucast_advice::place::Places;
use gpucast_advice::{Advice, Known};
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::prediction::{KernelView, left_with_predictions, predict as predicted};
use gpucast_forecast::run::counting::Counted;
use gpucast_forecast::run::sources::Launched;
use gpucast_forecast::{Failure, Report, Supervisor};
use gpucast_model::sm_simulation::Analysis;
use gpucast_render::profile::{By, SourceChoice, View};
use gpucast_render::{Format, TextOrJson, advice, prediction, profile as profiles};

use super::Asked;
use crate::Engine;
use crate::request::{Lines, OnGpu, Profile};

pub(super) fn profile(
    engine: &mut Engine,
    profile: &Profile,
    supervisor: &dyn Supervisor,
) -> Result<String, Failure> {
    let asked = engine.asked(&profile.on, false, supervisor)?;
    let gpu = asked.gpu()?;
    // Lines have shares of the time where an SM is simulated.
    let sources = asked.kernel.sources(&asked.group.counting_gpu);
    let simulation = |source: &gpucast_forecast::run::sources::Source| {
        Analysis::of(&source.profile, gpu, &source.conditions).ok()
    };
    let simulations: Vec<Option<Analysis>> = sources.iter().map(simulation).collect();
    let has_all = simulations.iter().all(Option::is_some);
    let view = View {
        gpu: &asked.group.counting_gpu,
        counted: &asked.kernel.counted,
        loaded: &asked.kernel.opened.loaded,
        files: &asked.kernel.opened.files,
        metrics: &MetricChoice::All,
        by: By::Line,
        source: match profile.source_lines {
            Lines::Ptx => SourceChoice::Ptx,
            Lines::Cuda => SourceChoice::Auto,
        },
        timing: false,
        width: None,
        simulations: if has_all { &simulations } else { &[] },
        inlined: false,
    };
    Ok(profiles::document(&view, Format::Json)?)
}

/// The predictions of each launch.
pub(super) fn predictions(asked: &Asked<'_>) -> Result<Vec<KernelView>, Failure> {
    let sources = asked.kernel.sources(&asked.group.counting_gpu);
    let launches = sources.len();
    let views = sources.iter().enumerate().map(|(launch, source)| {
        let view = predicted(&asked.models, source, &asked.group.gpus, None, &[])?;
        Ok(KernelView { launch, launches, ..view })
    });
    Ok(views.collect::<Result<Vec<_>, Report>>()?)
}

pub(super) fn predict(
    engine: &mut Engine,
    on: &OnGpu,
    supervisor: &dyn Supervisor,
) -> Result<String, Failure> {
    let views = predictions(&engine.asked(on, false, supervisor)?)?;
    let views = left_with_predictions(views, supervisor)?;
    Ok(prediction::document(&views, &[], Format::Json)?)
}

/// The advice on each launch.
pub(super) fn advised(asked: &mut Asked<'_>) -> Result<Vec<Advice>, Failure> {
    let gpu = asked.gpu()?.clone();
    let sources = asked.kernel.sources(&asked.group.counting_gpu);
    let kernel = &mut *asked.kernel;
    // Counts are large: they are lent, and come back.
    let counted = std::mem::take(&mut kernel.counted);
    let both = counted.into_iter().zip(sources);
    let launched: Vec<Launched> =
        both.map(|(counted, source)| Launched { counted, source }).collect();
    let places = Places { files: &kernel.opened.files, loaded: &kernel.opened.loaded };
    let plan = kernel.opened.kernel.plan();
    let all = launched.iter().enumerate().map(|(at, launched)| {
        gpucast_advice::advise(plan, places, launched, at, &gpu, Known::NOTHING)
    });
    let all = all.collect::<Result<Vec<Advice>, Report>>();
    kernel.counted = launched.into_iter().map(|one| one.counted).collect::<Vec<Counted>>();
    Ok(all?)
}

pub(super) fn advise(
    engine: &mut Engine,
    on: &OnGpu,
    supervisor: &dyn Supervisor,
) -> Result<String, Failure> {
    let all = advised(&mut engine.asked(on, false, supervisor)?)?;
    Ok(advice::document(&all, TextOrJson::Json)?)
}
