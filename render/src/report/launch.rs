//! The report's section on one launch.

use gpucast_counters::definitions;
use gpucast_counters::stages::{CLASSES, Stage};
use gpucast_forecast::number;
use gpucast_forecast::prediction::{KernelView, PredictionView};
use gpucast_forecast::run::counting::Counted;
use gpucast_model::{Gpu, Model, SymbolValue};
use gpucast_plot::axis::Kind as Scale;
use gpucast_plot::number::{duration, percent};
use gpucast_plot::{DrawError, Scene, Theme, svg};

use super::source;
use crate::metric;
use crate::pictures;
use crate::profile::View;

/// A launch.
pub(super) struct Launch {
    pub(super) id: String,
    pub(super) kernel: String,
    pub(super) shape: String,
    pub(super) origin: String,
    pub(super) cards: Vec<Card>,
    /// SVG elements.
    pub(super) pictures: Vec<String>,
    /// Reasons why pictures are missing.
    pub(super) undrawn: Vec<String>,
    pub(super) models: Vec<ModelRow>,
    pub(super) declined: Vec<gpucast_forecast::prediction::Declined>,
    pub(super) stages_words: String,
    pub(super) stage_titles: Vec<&'static str>,
    pub(super) stages: Vec<Vec<String>>,
    pub(super) source_words: String,
    pub(super) source_titles: Vec<String>,
    pub(super) source: Vec<source::Row>,
    pub(super) counts_words: String,
    pub(super) counts: Vec<Count>,
}

/// A GPU's answer in short.
pub(super) struct Card {
    pub(super) gpu: String,
    pub(super) time: String,
    pub(super) bound: &'static str,
    pub(super) model: &'static str,
    pub(super) measured: String,
}

/// A prediction.
pub(super) struct ModelRow {
    pub(super) gpu: String,
    pub(super) model: &'static str,
    pub(super) time: String,
    pub(super) bound: &'static str,
    pub(super) measured: String,
    pub(super) error: String,
    pub(super) explanation: String,
    pub(super) citation: &'static str,
    pub(super) warnings: Vec<String>,
    pub(super) symbols: Vec<SymbolRow>,
}

/// A value under the paper's name for it.
pub(super) struct SymbolRow {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) unit: &'static str,
}

/// A metric.
pub(super) struct Count {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) unit: String,
    pub(super) kind: &'static str,
    pub(super) level: &'static str,
    pub(super) meaning: &'static str,
}

const STAGE_TITLES: [&str; 9] = [
    "stage",
    "blocks",
    "active warps a block",
    "instructions of warps",
    "multiply-adds of warps",
    "shared passes",
    "without conflicts",
    "global transactions",
    "global sectors",
];

/// More stages than this are cut.
const MOST_STAGES: usize = 64;

impl Launch {
    pub(super) fn new(
        profile: &View<'_>,
        counted: &Counted,
        kernel: &KernelView,
        gpus: &[Gpu],
        index: usize,
    ) -> Self {
        let (pictures, undrawn) = drawn(kernel, gpus);
        let listing = source::listing(profile, counted);
        let launch = &counted.profile;
        let triple = |[x, y, z]: [u32; 3]| format!("{x} × {y} × {z}");
        Self {
            id: format!("launch-{index}"),
            kernel: launch.kernel.clone(),
            shape: format!(
                "A grid of {} blocks of {} threads; {}.",
                triple(launch.grid),
                triple(launch.block),
                match launch.invocations {
                    1 => "one invocation".to_owned(),
                    several => format!("{several} invocations, whose times are added up"),
                }
            ),
            origin: kernel.origin.clone(),
            cards: cards(kernel, gpus),
            pictures,
            undrawn,
            models: kernel.predictions.iter().map(model_row).collect(),
            declined: kernel.declined.clone(),
            stages_words: stages_words(counted),
            stage_titles: STAGE_TITLES.to_vec(),
            stages: stage_rows(counted),
            source_words: listing.words,
            source_titles: listing.titles,
            source: listing.rows,
            counts_words: match launch.invocations {
                1 => {
                    "Every metric of the launch, under nvprof's names where it has one.".to_owned()
                }
                several => format!(
                    "Every metric, under nvprof's names where it has one: means over {several} \
                     invocations, as nvprof prints them."
                ),
            },
            counts: counts(profile, counted),
        }
    }
}

/// The answer for each GPU by its default model, or else by the model that the command line puts
/// first.
fn cards(kernel: &KernelView, gpus: &[Gpu]) -> Vec<Card> {
    let card = |gpu: &Gpu| {
        let of_gpu = || kernel.predictions.iter().filter(|view| view.gpu.name == gpu.name);
        let default = <dyn Model>::default_for(gpu).name();
        let by_default = of_gpu().find(|view| view.prediction.model == default);
        let view = by_default.or_else(|| of_gpu().next())?;
        let measured = view.published.as_ref().map_or_else(String::new, |one| {
            format!(
                "measured {} ({}): error {}",
                duration(one.measured_ms),
                one.source,
                percent(one.error, 1)
            )
        });
        Some(Card {
            gpu: gpu.display_name.clone(),
            time: duration(view.prediction.time_ms),
            bound: pictures::breakdown::name(view.prediction.bound),
            model: view.prediction.model,
            measured,
        })
    };
    gpus.iter().filter_map(card).collect()
}

fn model_row(view: &PredictionView) -> ModelRow {
    let prediction = &view.prediction;
    let published = view.published.as_ref();
    let symbols = prediction.parameters.iter().chain(prediction.intermediate.iter());
    ModelRow {
        gpu: prediction.gpu.clone(),
        model: prediction.model,
        time: duration(prediction.time_ms),
        bound: pictures::breakdown::name(prediction.bound),
        measured: published.map_or_else(String::new, |one| duration(one.measured_ms)),
        error: published.map_or_else(String::new, |one| percent(one.error, 1)),
        explanation: prediction.explanation.clone(),
        citation: view.model.citation(),
        warnings: prediction.warnings.iter().map(ToString::to_string).collect(),
        symbols: symbols.map(symbol_row).collect(),
    }
}

fn symbol_row(symbol: &gpucast_model::Symbol) -> SymbolRow {
    let value = match &symbol.value {
        SymbolValue::Count(count) => number::count(*count),
        SymbolValue::Real(real) => number::real(*real),
        SymbolValue::Name(name) => (*name).to_owned(),
        SymbolValue::Undefined => "undefined".to_owned(),
    };
    SymbolRow { name: symbol.name, value, unit: symbol.unit }
}

/// The pictures as SVG, and why others are missing.
fn drawn(kernel: &KernelView, gpus: &[Gpu]) -> (Vec<String>, Vec<String>) {
    let one = std::slice::from_ref(kernel);
    let mut scenes: Vec<(String, Result<Scene, DrawError>)> = Vec::new();
    for gpu in gpus {
        let name = format!("The roofline of {}", gpu.name);
        scenes.push((name, pictures::roofline::roofline(one, gpu).scene()));
    }
    let split = pictures::quadrant_split::scene(one, Scale::Logarithmic, None);
    scenes.push(("The quadrant split".to_owned(), split));
    scenes.push(("The breakdown".to_owned(), pictures::breakdown::scene(one, None)));
    for view in &kernel.predictions {
        if view.prediction.parts.len() > 1 {
            let name = format!("The stages on {}", view.gpu.name);
            scenes.push((name, pictures::stages::stages(&view.prediction).scene()));
        }
    }
    let mix = pictures::mix::bars([(&kernel.profile, kernel.origin.as_str())]);
    scenes.push(("The mix".to_owned(), mix.scene()));
    if kernel.predictions.iter().any(|view| view.published.is_some()) {
        scenes.push(("The errors".to_owned(), pictures::errors::scene(one, None)));
    }
    let mut pictures = Vec::new();
    let mut undrawn = Vec::new();
    for (name, scene) in scenes {
        match scene.and_then(|scene| svg::write(&scene, Theme::Light)) {
            Ok(picture) => pictures.push(picture),
            Err(error) => undrawn.push(format!("{name} is not drawn: {error}.")),
        }
    }
    (pictures, undrawn)
}

fn stages_words(counted: &Counted) -> String {
    let stages = counted.stages.as_ref().map_or(0, |stages| stages.stages.len());
    match stages {
        0 | 1 => "No barrier parts the kernel: it is one stage.".to_owned(),
        many if many > MOST_STAGES => format!(
            "Barriers part the kernel into {many} stages, of which the first {MOST_STAGES} are shown. \
             Counts are those of all blocks and invocations."
        ),
        many => format!(
            "Barriers part the kernel into {many} stages. Counts are those of all blocks and \
             invocations."
        ),
    }
}

fn stage_rows(counted: &Counted) -> Vec<Vec<String>> {
    let Some(stages) = counted.stages.as_ref().filter(|stages| stages.stages.len() > 1) else {
        return Vec::new();
    };
    let row = |(at, stage): (usize, &Stage)| {
        let instructions: u64 = CLASSES.iter().map(|&class| stage.class(class).warps).sum();
        vec![
            at.to_string(),
            number::count(stage.ctas),
            number::real(stage.mean_active_warps()),
            number::count(instructions),
            number::count(stage.multiply_adds),
            number::count(stage.shared.passes),
            number::count(stage.shared.conflict_free),
            number::count(stage.global.transactions),
            number::count(stage.global.sectors),
        ]
    };
    stages.stages.iter().enumerate().take(MOST_STAGES).map(row).collect()
}

fn counts(profile: &View<'_>, counted: &Counted) -> Vec<Count> {
    let shown = profile.metrics.of(&counted.profile);
    let count = |one: &gpucast_forecast::choice::metric_choice::Shown| Count {
        name: one.name.to_owned(),
        value: metric::value(one.metric.figure.value),
        unit: one.metric.figure.unit.to_owned(),
        kind: metric::kind(one.metric.figure.kind),
        level: metric::level(one.metric.level),
        meaning: definitions::definition(one.name).map_or("", |definition| definition.meaning),
    };
    shown.iter().map(count).collect()
}
