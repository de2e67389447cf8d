//! Predictions for people: a comparison, the counts, and a section for each model and GPU.

use gpucast_advice::Advice;
use gpucast_counters::metric;
use gpucast_counters::{KernelProfile, Metrics};
use gpucast_forecast::comparison::distinct;
use gpucast_forecast::input::kernel_name::{readable_in, signature};
use gpucast_forecast::number;
use gpucast_forecast::prediction::together::{self, Total};
use gpucast_forecast::prediction::{KernelView, PredictionView};
use gpucast_model::{Energy, Gpu, GpuParameter, SymbolValue, Symbols, duration, duration_range};

use super::sections::{WIDTH, section};
use super::{comparison, parts, what_if};
use crate::advice;
use crate::fastest;
use crate::table::{Align, aligned, wrapped};

/// The predictions of all kernels.
pub(super) fn text(kernels: &[KernelView], advice: &[Advice]) -> String {
    let mut text = String::new();
    let arguments = kernels.chunk_by(|a, b| a.argument == b.argument);
    for of_argument in arguments {
        for launch in launches(of_argument) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&one_launch(&launch, advice));
        }
        text.push_str(&totals(of_argument));
    }
    text
}

/// The sums over the launches of a KERNEL; empty where there is one launch.
fn totals(kernels: &[KernelView]) -> String {
    let totals = together::totals(kernels);
    if totals.is_empty() {
        return String::new();
    }
    let row = |total: &Total<'_>| {
        let interval = |[low, high]: [f64; 2]| duration_range(low, high);
        vec![
            total.gpu.to_owned(),
            total.model.to_owned(),
            duration(total.time_ms),
            total.interval_ms.map_or_else(String::new, interval),
        ]
    };
    let rows: Vec<Vec<String>> = totals.iter().map(row).collect();
    let columns = [Align::Left, Align::Left, Align::Right, Align::Left];
    let mut text = format!("\n{}{}", heading("All launches together"), aligned(2, &columns, &rows));
    for protocol in distinct(totals.iter().map(|total| total.measured_as.text())) {
        text += &wrapped("", 2, WIDTH, &format!("Measured as {protocol}."));
    }
    text
}

/// The views of each launch of a KERNEL: several where it was counted on several GPUs.
fn launches(kernels: &[KernelView]) -> Vec<Vec<&KernelView>> {
    let mut launches: Vec<Vec<&KernelView>> = Vec::new();
    for view in kernels {
        let is_same = |launch: &&mut Vec<&KernelView>| {
            launch.first().is_some_and(|first| first.launch == view.launch)
        };
        match launches.iter_mut().find(is_same) {
            Some(launch) => launch.push(view),
            None => launches.push(vec![view]),
        }
    }
    launches
}

/// A launch: what was predicted, and what from.
fn one_launch(views: &[&KernelView], advice: &[Advice]) -> String {
    let Some(first) = views.first() else { return String::new() };
    let mut title = format!("Kernel {}", signature(&first.profile.kernel));
    if first.launches > 1 {
        title += &format!(" (launch {} of {})", first.launch + 1, first.launches);
    }
    let mut text = heading(&title);
    let table = comparison::table(views);
    let several = comparison::has_several_models(views);
    if let [only] = views {
        // Advice is on one KERNEL, counted once.
        if let Some(advice) = advice.iter().find(|advice| advice.launch == only.launch) {
            text.push_str(&advice::in_short(advice));
            text.push('\n');
        }
        text.push_str(&over_gpus(views));
        text.push_str(&wrapped("", 2, WIDTH, &only.origin));
        text.push_str(&table.map_or_else(String::new, |table| section("Predicted times") + &table));
        text.push_str(&one_counting(only, several));
        return text;
    }
    text.push_str(&over_gpus(views));
    text.push_str(&table.map_or_else(String::new, |table| format!("Predicted times\n{table}")));
    for view in views {
        text.push('\n');
        text.push_str(&heading(&format!("Counted for {}", view.gpus().join(", "))));
        text.push_str(&wrapped("", 2, WIDTH, &view.origin));
        text.push_str(&one_counting(view, several));
    }
    text
}

/// The verdict over several GPUs, and where the advice on each is; empty for one.
fn over_gpus(views: &[&KernelView]) -> String {
    let answers = fastest::answers(views);
    let Some(mut verdict) = fastest::verdict(&answers) else { return String::new() };
    // Advice needs a GPU whose generation is known.
    if answers.iter().all(|view| view.gpu.device_model().is_ok()) {
        verdict += " `gpucast advise` says what to change on each.";
    }
    format!("{}\n", wrapped("", 2, WIDTH, &verdict))
}

/// Everything that follows from a launch's counts on one GPU.
fn one_counting(kernel: &KernelView, several_models: bool) -> String {
    let mut text = what_if::text(kernel);
    text.push_str(&section(&counts_title(&kernel.profile)));
    text.push_str(&counts(&kernel.profile.metrics));
    for views in by_model(&kernel.predictions) {
        text.push_str(&one_model(&views, several_models));
    }
    text
}

/// The predictions of each model, models in the order of their first one.
fn by_model(views: &[PredictionView]) -> Vec<Vec<&PredictionView>> {
    let mut models: Vec<Vec<&PredictionView>> = Vec::new();
    for view in views {
        let same = |one: &&mut Vec<&PredictionView>| {
            one.first().is_some_and(|first| first.prediction.model == view.prediction.model)
        };
        match models.iter_mut().find(same) {
            Some(model) => model.push(view),
            None => models.push(vec![view]),
        }
    }
    models
}

/// A model's section; it has a heading where there are others.
fn one_model(views: &[&PredictionView], several: bool) -> String {
    let mut text = String::new();
    if let Some(first) = views.first() {
        if several {
            text.push('\n');
            text.push_str(&heading(&format!("Model {}", first.prediction.model)));
            text.push_str(&format!("  {}\n", first.model.citation()));
        }
        text.push_str(&section("Kernel parameters"));
        text.push_str(&symbols(&first.prediction.parameters));
    }
    for view in views {
        text.push('\n');
        text.push_str(&one_gpu(view));
    }
    text
}

fn heading(title: &str) -> String {
    format!("{title}\n{}\n", "=".repeat(title.chars().count()))
}

fn counts_title(profile: &KernelProfile) -> String {
    match profile.invocations {
        1 => "Counts".to_owned(),
        several => format!("Counts of one of {} invocations", number::count(several)),
    }
}

/// The metrics that the model of the thesis reads (Konstantinidis 2017, table 4.1), and those that
/// a person wants first; `gpucast profile` shows all.
const COUNTS: [&str; 13] = metric![
    "flop_count_sp_fma",
    "flop_count_dp_fma",
    "inst_fp_32",
    "inst_fp_64",
    "inst_integer",
    "inst_compute_ld_st",
    "inst_executed",
    "dram_read_transactions",
    "dram_write_transactions",
    "ptx_inst_executed",
    "ptx_thread_inst_executed",
    "warp_execution_efficiency",
    "gld_efficiency"
];

fn counts(metrics: &Metrics) -> String {
    let shown = COUNTS.iter().filter_map(|name| Some((*name, *metrics.get(*name)?)));
    crate::metric::table(shown)
}

/// A GPU's own section.
fn one_gpu(view: &PredictionView) -> String {
    let prediction = &view.prediction;
    let mut text = heading(&format!("On {} ({})", view.gpu.display_name, prediction.gpu));
    let mut rows = vec![
        vec!["predicted time".to_owned(), prediction.time_text()],
        vec!["measured as".to_owned(), view.measured_as.text()],
        vec!["interval".to_owned(), prediction.interval_text()],
        vec!["clock".to_owned(), prediction.clock_text()],
        vec![
            "energy".to_owned(),
            prediction.energy.as_ref().map_or_else(String::new, Energy::text),
        ],
        vec!["bound by".to_owned(), prediction.bound.to_string()],
        vec!["model".to_owned(), prediction.model.to_owned()],
    ];
    rows.retain(|row| row.last().is_some_and(|value| !value.is_empty()));
    if let Some(measurement) = &view.published {
        rows.push(vec![
            "measured time".to_owned(),
            format!("{} ({})", duration(measurement.measured_ms), measurement.source),
        ]);
        rows.push(vec![
            "error".to_owned(),
            format!("{} (eq. 5.12)", number::percent(measurement.error)),
        ]);
    }
    if let Some(timing) = &view.timing {
        rows.push(vec!["executed in".to_owned(), timing.to_string()]);
    }
    text.push_str(&aligned(2, &[Align::Left, Align::Left], &rows));
    text.push('\n');
    let explanation = readable_in(&prediction.explanation, &prediction.kernel);
    text.push_str(&wrapped("", 2, WIDTH, &explanation));
    if let Some(interval) = &prediction.interval {
        text.push_str(&wrapped("", 2, WIDTH, &interval.basis()));
    }
    if let Some(table) = parts::table(&prediction.parts) {
        text.push_str(&section("Parts of the time"));
        text.push_str(&table);
    }
    if let Some(energy) = &prediction.energy {
        text.push_str(&section("Parts of the energy"));
        text.push_str(&parts::energy_table(energy));
    }
    let parameters = view.model.gpu_parameters();
    if !parameters.is_empty() {
        text.push_str(&section("GPU parameters"));
        text.push_str(&gpu_parameters(&view.gpu, parameters));
    }
    text.push_str(&section("Intermediate values"));
    text.push_str(&symbols(&prediction.intermediate));
    if !prediction.warnings.is_empty() {
        text.push_str(&section("Warnings"));
        for warning in &prediction.warnings {
            text.push_str(&wrapped("- ", 4, WIDTH, &warning.to_string()));
        }
    }
    text
}

fn symbols(symbols: &Symbols) -> String {
    let rows: Vec<Vec<String>> = symbols
        .iter()
        .map(|symbol| {
            let value = match &symbol.value {
                SymbolValue::Count(count) => number::count(*count),
                SymbolValue::Real(real) => number::real(*real),
                SymbolValue::Name(name) => (*name).to_owned(),
                SymbolValue::Undefined => "undefined".to_owned(),
            };
            vec![symbol.name.to_owned(), value, symbol.unit.to_owned()]
        })
        .collect();
    aligned(2, &[Align::Left, Align::Right, Align::Left], &rows)
}

fn gpu_parameters(gpu: &Gpu, parameters: &[GpuParameter]) -> String {
    let fields = crate::gpu::fields(gpu);
    let rows: Vec<Vec<String>> = parameters
        .iter()
        .filter_map(|parameter| {
            let field = fields.iter().find(|field| field.name == parameter.field)?;
            Some(vec![
                parameter.symbol.to_owned(),
                field.value.clone(),
                field.unit.clone(),
                format!("{}: {}", field.source_kind, field.source),
            ])
        })
        .collect();
    aligned(2, &[Align::Left, Align::Right, Align::Left, Align::Left], &rows)
}
