//! The report's section on one launch.

use gpucast_advice::Advice;
use gpucast_counters::definitions;
use gpucast_counters::stages::{CLASSES, Stage};
use gpucast_forecast::comparison::distinct;
use gpucast_forecast::input::kernel_name::{readable, readable_in};
use gpucast_forecast::number;
use gpucast_forecast::prediction::{KernelView, PredictionView};
use gpucast_forecast::run::counting::Counted;
use gpucast_model::{Energy, Gpu, SymbolValue};
use gpucast_plot::axis::Kind as Scale;
use gpucast_plot::number::{duration, percent};
use gpucast_plot::{DrawError, Scene, Theme, svg};

use super::advised::Advised;
use super::memory_chart::MemoryChart;
use super::occupancy::{self, Occupancy};
use super::source::{self, Sources};
use super::speed_of_light::{Meter, meters};
use crate::fastest;
use crate::metric;
use crate::pictures;
use crate::profile::View;

/// A launch.
pub(super) struct Launch {
    pub(super) id: String,
    /// The name that people read.
    pub(super) kernel: String,
    pub(super) shape: String,
    pub(super) origin: String,
    /// Which GPU is fastest; empty for one.
    pub(super) verdict: String,
    pub(super) cards: Vec<Card>,
    /// Where the time of each GPU goes.
    pub(super) first: Option<Picture>,
    /// What to change, on each GPU.
    pub(super) advised: Vec<Advised>,
    /// GPUs that can be chosen, by their names and the vendor's.
    pub(super) gpus: Vec<(String, String)>,
    /// Models that can be chosen.
    pub(super) model_names: Vec<&'static str>,
    pub(super) panels: Vec<Panel>,
    pub(super) declined: Vec<gpucast_forecast::prediction::Declined>,
    pub(super) counted_on: String,
    pub(super) occupancies: Vec<Occupancy>,
    pub(super) pictures: Vec<Picture>,
    /// Reasons why pictures are missing.
    pub(super) undrawn: Vec<String>,
    pub(super) stages_words: String,
    pub(super) stage_titles: Vec<&'static str>,
    pub(super) stages: Vec<Vec<String>>,
    pub(super) sources: Sources,
    pub(super) counts_words: String,
    pub(super) counts: Vec<Count>,
}

/// A picture.
pub(super) struct Picture {
    pub(super) name: String,
    /// The GPU that it is about, unless it is about all.
    pub(super) gpu: Option<String>,
    /// An SVG element.
    pub(super) svg: String,
}

/// A GPU's answer in short.
pub(super) struct Card {
    pub(super) gpu: String,
    pub(super) time: String,
    /// The range of the time, where the simulation gives one.
    pub(super) interval: String,
    pub(super) bound: &'static str,
    pub(super) model: &'static str,
    /// The range of the other models' times.
    pub(super) others: String,
    pub(super) measured: String,
}

/// A prediction.
pub(super) struct Panel {
    pub(super) gpu: String,
    pub(super) gpu_name: String,
    pub(super) model: &'static str,
    pub(super) time: String,
    /// The time in milliseconds, for sorting.
    pub(super) time_ms: f64,
    /// The range of the time, if the model gives one.
    pub(super) interval: String,
    /// What a stopwatch stands around, and what the launch finds in the L2.
    pub(super) measured_as: String,
    /// The clock that the time stands at, and what a long load leaves.
    pub(super) clock: String,
    /// The energy, if the GPU has a power model.
    pub(super) energy: String,
    pub(super) bound: &'static str,
    pub(super) measured: String,
    pub(super) error: String,
    pub(super) explanation: String,
    pub(super) citation: &'static str,
    pub(super) warnings: Vec<Warned>,
    pub(super) symbols: Vec<SymbolRow>,
    pub(super) meters: Vec<Meter>,
    pub(super) memory: Option<MemoryChart>,
}

/// A warning.
pub(super) struct Warned {
    pub(super) code: &'static str,
    pub(super) text: String,
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
    /// The value for sorting.
    pub(super) raw: f64,
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
        advice: &[&Advice],
        gpus: &[Gpu],
        index: usize,
    ) -> Self {
        let (pictures, undrawn) = drawn(kernel, gpus);
        let launch = &counted.profile;
        let answers: Vec<&PredictionView> =
            gpus.iter().filter_map(|gpu| answer(kernel, advice, gpu)).collect();
        let shown = answers.first();
        let bound = shown.map(|view| view.prediction.bound);
        let sources = source::sources(profile, counted, bound);
        let triple = |[x, y, z]: [u32; 3]| format!("{x} × {y} × {z}");
        let models = kernel.predictions.iter().map(|view| view.prediction.model);
        let shown = shown.map(|view| view.prediction.model);
        Self {
            id: format!("launch-{index}"),
            kernel: readable(&launch.kernel),
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
            verdict: fastest::verdict(&answers).unwrap_or_default(),
            first: first_picture(kernel, advice, &answers),
            advised: gpus.iter().filter_map(|gpu| Advised::of(advice, gpu)).collect(),
            cards: cards(kernel, advice, gpus),
            gpus: gpus.iter().map(|gpu| (gpu.name.clone(), gpu.display_name.clone())).collect(),
            model_names: distinct(shown.into_iter().chain(models)),
            panels: kernel.predictions.iter().map(|view| panel(kernel, view)).collect(),
            declined: kernel.declined.clone(),
            counted_on: profile.gpu.display_name.clone(),
            occupancies: gpus.iter().filter_map(|gpu| occupancy::of(counted, gpu)).collect(),
            pictures,
            undrawn,
            stages_words: stages_words(counted),
            stage_titles: STAGE_TITLES.to_vec(),
            stages: stage_rows(counted),
            sources,
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

/// The answer for a GPU: that of the advice, if there is any.
fn answer<'a>(kernel: &'a KernelView, advice: &[&Advice], gpu: &Gpu) -> Option<&'a PredictionView> {
    let advice = advice.iter().find(|advice| advice.gpu == gpu.name);
    let advised = advice.and_then(|advice| of_model(kernel, gpu, advice.verdict.model));
    advised.or_else(|| fastest::of_gpu(kernel.predictions.iter(), gpu))
}

/// Where the time goes, a bar for each GPU: what its issue slots wait for, or else how long each
/// resource is busy.
fn first_picture(
    kernel: &KernelView,
    advice: &[&Advice],
    answers: &[&PredictionView],
) -> Option<Picture> {
    let mut spent = Vec::new();
    for view in answers {
        let advice = advice.iter().find(|advice| advice.gpu == view.gpu.name);
        let states = advice.map(|advice| advice.verdict.spent.as_slice());
        spent.push(states.filter(|all| !all.is_empty()).map(|all| (&view.prediction, all)));
    }
    let scene = match spent.into_iter().collect::<Option<Vec<_>>>() {
        Some(spent) => pictures::spent::scene(&spent),
        None => {
            let predictions = answers.iter().map(|view| (*view).clone()).collect();
            let shown = KernelView { predictions, ..kernel.clone() };
            pictures::breakdown::scene(&[shown], None)
        }
    };
    let svg = svg::write(&scene.ok()?, Theme::Light).ok()?;
    Some(Picture { name: "Where the time goes".to_owned(), gpu: None, svg })
}

/// The prediction of a model for a GPU.
fn of_model<'a>(kernel: &'a KernelView, gpu: &Gpu, model: &str) -> Option<&'a PredictionView> {
    let is_meant =
        |view: &&PredictionView| view.gpu.name == gpu.name && view.prediction.model == model;
    kernel.predictions.iter().find(is_meant)
}

/// The answer for each GPU.
fn cards(kernel: &KernelView, advice: &[&Advice], gpus: &[Gpu]) -> Vec<Card> {
    let card = |gpu: &Gpu| {
        let view = answer(kernel, advice, gpu)?;
        let advice = advice.iter().find(|advice| advice.gpu == gpu.name);
        let interval = match advice {
            Some(one) => crate::advice::interval(&one.verdict).unwrap_or_default(),
            None => view.prediction.interval_text(),
        };
        let measured = view.published.as_ref().map_or_else(String::new, |published| {
            format!(
                "measured {} ({}): error {}",
                duration(published.measured_ms),
                published.source,
                percent(published.error, 1)
            )
        });
        Some(Card {
            gpu: gpu.display_name.clone(),
            time: view.prediction.time_text(),
            interval,
            bound: view.prediction.bound.name(),
            model: view.prediction.model,
            others: match advice {
                Some(one) => crate::advice::others(&one.verdict).unwrap_or_default(),
                None => others(kernel, view),
            },
            measured,
        })
    };
    gpus.iter().filter_map(card).collect()
}

/// The range of times that the other models predict for a GPU, in words.
fn others(kernel: &KernelView, shown: &PredictionView) -> String {
    let same_gpu = kernel.predictions.iter().filter(|view| view.gpu.name == shown.gpu.name);
    let others = same_gpu.filter(|view| view.prediction.model != shown.prediction.model);
    let mut others: Vec<&PredictionView> = others.collect();
    others.sort_by(|a, b| a.prediction.time_ms.total_cmp(&b.prediction.time_ms));
    let time = |view: &PredictionView| view.prediction.time_text();
    match others.as_slice() {
        [] => String::new(),
        [one] => format!("{} says {}", one.prediction.model, time(one)),
        [first, .., last] => {
            format!("{} other models say {} to {}", others.len(), time(first), time(last))
        }
    }
}

fn panel(kernel: &KernelView, view: &PredictionView) -> Panel {
    let prediction = &view.prediction;
    let published = view.published.as_ref();
    let symbols = prediction.parameters.iter().chain(prediction.intermediate.iter());
    // A pass takes a clock of the data path.
    let of_gpu =
        kernel.predictions.iter().filter(|prediction| prediction.gpu.name == view.gpu.name);
    let simulated = of_gpu.filter_map(|row| row.prediction.detail.simulation()).next();
    let shared_passes = simulated.map(|analysis| analysis.shared_clocks);
    let meters = meters(&kernel.profile, &view.gpu, prediction.time_ms, shared_passes);
    let explanation = readable_in(&prediction.explanation, &prediction.kernel);
    Panel {
        gpu: prediction.gpu.clone(),
        gpu_name: view.gpu.display_name.clone(),
        model: prediction.model,
        time: prediction.time_text(),
        time_ms: prediction.time_ms,
        interval: prediction.interval_text(),
        measured_as: view.measured_as.text(),
        clock: prediction.clock_text(),
        energy: prediction.energy.as_ref().map_or_else(String::new, Energy::text),
        bound: prediction.bound.name(),
        measured: published.map_or_else(String::new, |published| duration(published.measured_ms)),
        error: published.map_or_else(String::new, |published| percent(published.error, 1)),
        explanation: match &prediction.interval {
            Some(interval) => format!("{explanation} {}", interval.basis()),
            None => explanation,
        },
        citation: view.model.citation(),
        warnings: prediction
            .warnings
            .iter()
            .map(|warning| Warned { code: warning.code(), text: warning.to_string() })
            .collect(),
        symbols: symbols.map(symbol_row).collect(),
        memory: MemoryChart::of(&kernel.profile, &meters),
        meters,
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

/// The pictures, and why others are missing.
fn drawn(kernel: &KernelView, gpus: &[Gpu]) -> (Vec<Picture>, Vec<String>) {
    let one = std::slice::from_ref(kernel);
    type Drawn = (String, Option<String>, Result<Scene, DrawError>);
    let mut scenes: Vec<Drawn> = Vec::new();
    for gpu in gpus {
        let name = format!("The roofline of the {}", gpu.name);
        let scene = pictures::roofline::roofline(one, gpu).scene();
        scenes.push((name, Some(gpu.name.clone()), scene));
    }
    let split = pictures::quadrant_split::scene(one, Scale::Logarithmic, None);
    scenes.push(("The quadrant split".to_owned(), None, split));
    let breakdown = pictures::breakdown::scene(one, None);
    scenes.push(("What each model makes the time of".to_owned(), None, breakdown));
    for view in &kernel.predictions {
        if view.prediction.parts.len() > 1 {
            let name = format!("The stages on the {}", view.gpu.name);
            let scene = pictures::stages::stages(&view.prediction).scene();
            scenes.push((name, Some(view.gpu.name.clone()), scene));
        }
    }
    let mix = pictures::mix::bars([(&kernel.profile, kernel.origin.as_str())]);
    scenes.push(("The mix of instructions".to_owned(), None, mix.scene()));
    if kernel.predictions.iter().any(|view| view.published.is_some()) {
        let errors = pictures::errors::scene(one, None);
        scenes.push(("Predicted and measured times".to_owned(), None, errors));
    }
    let mut pictures = Vec::new();
    let mut undrawn = Vec::new();
    for (name, gpu, scene) in scenes {
        match scene.and_then(|scene| svg::write(&scene, Theme::Light)) {
            Ok(svg) => pictures.push(Picture { name, gpu, svg }),
            Err(DrawError::Nothing(why)) => undrawn.push(format!("{name} is left out: {why}.")),
            Err(error) => undrawn.push(format!("{name} is left out: {error}.")),
        }
    }
    (pictures, undrawn)
}

fn stages_words(counted: &Counted) -> String {
    let stages = counted.evidence.stages.as_ref().map_or(0, |stages| stages.stages.len());
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
    let Some(stages) = counted.evidence.stages.as_ref().filter(|stages| stages.stages.len() > 1)
    else {
        return Vec::new();
    };
    let row = |(at, stage): (usize, &Stage)| {
        let instructions: u128 = CLASSES.iter().map(|&class| stage.class(class).warps).sum();
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
        raw: one.metric.figure.value.as_f64(),
        unit: one.metric.figure.unit.to_owned(),
        kind: metric::kind(one.metric.figure.kind),
        level: metric::level(one.metric.level),
        meaning: definitions::definition(one.name).map_or("", |definition| definition.meaning),
    };
    shown.iter().map(count).collect()
}
