//! Predictions as text, JSON and CSV.

use gpucast_counters::{KernelProfile, Metrics};
use gpucast_model::{Gpu, Prediction, SymbolValue, Symbols};
use serde::Serialize;

use super::number;
use super::table::{Align, aligned, wrapped};
use crate::cli::Format;
use crate::execute::Timing;
use crate::failure::Failure;
use crate::inspection::MachineFacts;
use crate::published::Measurement;

/// Text is this wide.
const WIDTH: usize = 96;

/// The fields of a GPU that models read, in the order of Konstantinidis 2017, table 4.3.
const GPU_PARAMETERS: [(&str, &str); 6] = [
    ("sp_throughput", "T_SP"),
    ("dp_throughput", "T_DP"),
    ("int_throughput", "T_int"),
    ("int_add_throughput", "T_add"),
    ("load_store_throughput", "T_ldst"),
    ("memory_bandwidth", "B_mem"),
];

/// A prediction with everything that is shown beside it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PredictionView {
    #[serde(flatten)]
    pub(crate) prediction: Prediction,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) published: Option<Measurement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) machine_code: Option<MachineFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timing: Option<Timing>,
    #[serde(skip)]
    pub(crate) gpu: Gpu,
}

/// The predictions of one kernel on all GPUs.
#[derive(Clone, Debug)]
pub(crate) struct KernelView {
    pub(crate) profile: KernelProfile,
    /// Where the counts come from, in words.
    pub(crate) origin: String,
    pub(crate) predictions: Vec<PredictionView>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    predictions: Vec<&'a PredictionView>,
}

/// All predictions in the format asked for.
pub(crate) fn document(kernels: &[KernelView], format: Format) -> Result<String, Failure> {
    match format {
        Format::Text => Ok(text(kernels)),
        Format::Json => super::json::document(&Document {
            schema: "gpucast.predictions/1",
            predictions: kernels.iter().flat_map(|kernel| &kernel.predictions).collect(),
        }),
        Format::Csv => csv(kernels),
    }
}

fn csv(kernels: &[KernelView]) -> Result<String, Failure> {
    let all = || kernels.iter().flat_map(|kernel| &kernel.predictions);
    // Models differ in their symbols; every symbol that occurs becomes a column.
    let mut symbols: Vec<&'static str> = Vec::new();
    for view in all() {
        for symbol in view.prediction.parameters.iter().chain(view.prediction.intermediate.iter()) {
            if !symbols.contains(&symbol.name) {
                symbols.push(symbol.name);
            }
        }
    }
    let mut header = vec!["kernel", "gpu", "model", "time_ms", "bound", "measured_ms", "error"];
    header.extend(&symbols);
    let rows: Vec<Vec<String>> = all()
        .map(|view| {
            let prediction = &view.prediction;
            let published = view.published.as_ref();
            let mut row = vec![
                prediction.kernel.clone(),
                prediction.gpu.clone(),
                prediction.model.to_owned(),
                prediction.time_ms.to_string(),
                prediction.bound.to_string(),
                published.map_or_else(String::new, |it| it.measured_ms.to_string()),
                published.map_or_else(String::new, |it| it.error.to_string()),
            ];
            row.extend(symbols.iter().map(|name| {
                let value = prediction.parameters.get(name).or(prediction.intermediate.get(name));
                value.map_or_else(String::new, raw)
            }));
            row
        })
        .collect();
    super::csv::document(&header, &rows)
}

fn raw(value: &SymbolValue) -> String {
    match value {
        SymbolValue::Count(count) => count.to_string(),
        SymbolValue::Real(real) => real.to_string(),
        SymbolValue::Name(name) => (*name).to_owned(),
        SymbolValue::Undefined => String::new(),
    }
}

fn text(kernels: &[KernelView]) -> String {
    let mut text = String::new();
    for kernel in kernels {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&heading(&format!("Kernel {}", kernel.profile.kernel)));
        text.push_str(&wrapped("", 2, WIDTH, &kernel.origin));
        let several = kernel.predictions.len() > 1;
        if several {
            text.push_str(&section("Predicted times"));
            text.push_str(&comparison(&kernel.predictions));
        }
        text.push_str(&section(&counts_title(&kernel.profile)));
        text.push_str(&counts(&kernel.profile.metrics));
        if let Some(first) = kernel.predictions.first() {
            text.push_str(&section("Kernel parameters"));
            text.push_str(&symbols(&first.prediction.parameters));
        }
        for view in &kernel.predictions {
            text.push('\n');
            text.push_str(&one_gpu(view));
        }
    }
    text
}

fn heading(title: &str) -> String {
    format!("{title}\n{}\n", "=".repeat(title.chars().count()))
}

fn section(title: &str) -> String {
    format!("\n{title}\n")
}

fn counts_title(profile: &KernelProfile) -> String {
    match profile.invocations {
        1 => "Counts".to_owned(),
        several => format!("Counts of one of {} invocations", number::count(several)),
    }
}

/// The metrics that the model of the thesis reads (Konstantinidis 2017, table 4.1), and what a
/// person wants to know first besides; `gpucast profile` shows all.
const COUNTS: [&str; 13] = [
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
    "gld_efficiency",
];

fn counts(metrics: &Metrics) -> String {
    let shown = COUNTS.iter().filter_map(|name| Some((*name, *metrics.get(*name)?)));
    super::metric::table(shown)
}

/// One line for each GPU.
fn comparison(views: &[PredictionView]) -> String {
    let published = views.iter().any(|view| view.published.is_some());
    let mut header = vec!["GPU", "time", "bound", "E_instr", "T_predicted"];
    if published {
        header.extend(["measured", "error"]);
    }
    let mut rows: Vec<Vec<String>> = vec![header.into_iter().map(str::to_owned).collect()];
    for view in views {
        let symbol = |name| {
            let value = view.prediction.intermediate.get(name).and_then(SymbolValue::as_f64);
            value.map_or_else(|| "-".to_owned(), number::real)
        };
        let mut row = vec![
            view.prediction.gpu.clone(),
            milliseconds(view.prediction.time_ms),
            view.prediction.bound.to_string(),
            symbol("E_instr"),
            format!("{} GFLOPS", symbol("T_predicted")),
        ];
        if let Some(measurement) = &view.published {
            row.push(milliseconds(measurement.measured_ms));
            row.push(number::percent(measurement.error));
        }
        rows.push(row);
    }
    use Align::{Left, Right};
    aligned(2, &[Left, Right, Left, Right, Right, Right, Right], &rows)
}

/// A GPU's own section.
fn one_gpu(view: &PredictionView) -> String {
    let prediction = &view.prediction;
    let mut text = heading(&format!("On {} ({})", view.gpu.display_name, prediction.gpu));
    let mut rows = vec![
        vec!["predicted time".to_owned(), milliseconds(prediction.time_ms)],
        vec!["bound by".to_owned(), prediction.bound.to_string()],
        vec!["model".to_owned(), prediction.model.to_owned()],
    ];
    if let Some(measurement) = &view.published {
        rows.push(vec![
            "measured time".to_owned(),
            format!("{} ({})", milliseconds(measurement.measured_ms), measurement.source),
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
    text.push_str(&wrapped("", 2, WIDTH, &prediction.explanation));
    text.push_str(&section("GPU parameters"));
    text.push_str(&gpu_parameters(&view.gpu));
    text.push_str(&section("Weights, costs and efficiencies"));
    text.push_str(&symbols(&prediction.intermediate));
    if !prediction.warnings.is_empty() {
        text.push_str(&section("Warnings"));
        for warning in &prediction.warnings {
            text.push_str(&wrapped("- ", 4, WIDTH, &warning.to_string()));
        }
    }
    text
}

/// A time in milliseconds; very short ones with their significant digits.
fn milliseconds(time: f64) -> String {
    if time != 0.0 && time < 0.01 { format!("{time:.3e} ms") } else { format!("{time:.3} ms") }
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

fn gpu_parameters(gpu: &Gpu) -> String {
    let fields = crate::commands::gpus::fields(gpu);
    let rows: Vec<Vec<String>> = GPU_PARAMETERS
        .iter()
        .filter_map(|(name, symbol)| {
            let field = fields.iter().find(|field| field.name == *name)?;
            Some(vec![
                (*symbol).to_owned(),
                field.value.clone(),
                field.unit.clone(),
                format!("{}: {}", field.source_kind, field.source),
            ])
        })
        .collect();
    aligned(2, &[Align::Left, Align::Right, Align::Left, Align::Left], &rows)
}
