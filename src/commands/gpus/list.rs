//! `gpucast gpus list`.

use gpucast_model::{Gpu, GpuLibrary};
use gpucast_render::gpu::fields;
use gpucast_render::table::{Align, aligned};
use gpucast_render::{Format, csv, json};
use serde_json::Value;

use super::{Document, SCHEMA};
use crate::cli::OutputOptions;
use crate::failure::{Failure, Report};
use crate::output::Output;

/// The columns of the list: field and title.
const COLUMNS: [(&str, &str); 9] = [
    ("architecture", "architecture"),
    ("compute_capability", "cc"),
    ("sm_count", "SMs"),
    ("sp_clock", "MHz"),
    ("sp_throughput", "SP GFLOPS"),
    ("dp_throughput", "DP GFLOPS"),
    ("load_store_throughput", "ld/st GOPS"),
    ("memory_bandwidth", "GB/s"),
    ("l2_size", "L2 KiB"),
];

pub(super) fn run(
    library: &GpuLibrary,
    words: &[String],
    OutputOptions { format, output }: OutputOptions,
) -> Result<(), Failure> {
    let gpus: Vec<Gpu> =
        library.iter().map(Gpu::completed).filter(|gpu| is_meant(gpu, words)).collect();
    if gpus.is_empty() {
        let report = Report::new(format!("no GPU is described by `{}`", words.join(" ")));
        return Err(report.hint("`gpucast gpus list` shows all of them").into());
    }
    let gpus: Vec<&Gpu> = gpus.iter().collect();
    Output::open(output)?.write(&match format {
        Format::Text => table(&gpus),
        Format::Json => json::document(&Document { schema: SCHEMA, gpus })?,
        Format::Csv => fields_as_csv(&gpus)?,
    })
}

/// Returns true if each word is part of a name of the GPU.
fn is_meant(gpu: &Gpu, words: &[String]) -> bool {
    let text = |field: &str| fields(gpu).into_iter().find(|f| f.name == field).map(|f| f.value);
    let known = ["vendor", "architecture", "compute_capability"].into_iter().filter_map(text);
    let names = [gpu.name.clone(), gpu.display_name.clone()].into_iter();
    let all: Vec<String> =
        names.chain(gpu.aliases.clone()).chain(known).map(|text| text.to_lowercase()).collect();
    words.iter().all(|word| all.iter().any(|text| text.contains(&word.to_lowercase())))
}

fn table(gpus: &[&Gpu]) -> String {
    let titles = COLUMNS.iter().map(|(_, title)| (*title).to_owned());
    let mut rows: Vec<Vec<String>> = vec![["name".to_owned()].into_iter().chain(titles).collect()];
    for gpu in gpus {
        let fields = fields(gpu);
        let cell = |(name, _): &(&str, &str)| match *name {
            "l2_size" => gpu.number(name).map(|bytes| format!("{}", bytes / 1024.0)),
            "sp_clock" => gpu.number(name).map(|clock| format!("{clock:.0}")),
            name => fields.iter().find(|field| field.name == name).map(|field| {
                let derived = if gpu.is_filled(name) { "~" } else { "" };
                format!("{derived}{}", field.value)
            }),
        };
        let cells = COLUMNS.iter().map(|column| cell(column).unwrap_or_else(|| "-".to_owned()));
        rows.push([gpu.name.clone()].into_iter().chain(cells).collect());
    }
    use Align::{Left, Right};
    let columns = [Left, Left, Left, Right, Right, Right, Right, Right, Right, Right];
    let table = aligned(0, &columns, &rows);
    match table.contains('~') {
        true => format!("{table}\n~ follows from other figures; `gpucast gpus show` says how\n"),
        false => table,
    }
}

/// One row for each figure, so that a spreadsheet can pivot it.
fn fields_as_csv(gpus: &[&Gpu]) -> Result<String, Report> {
    let mut rows = Vec::new();
    for gpu in gpus {
        let Ok(Value::Object(map)) = serde_json::to_value(gpu) else {
            return Err(Report::new(format!("cannot describe {}", gpu.name)));
        };
        for field in fields(gpu) {
            let value = match &map[&field.name]["value"] {
                Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            let name = gpu.name.clone();
            rows.push(vec![name, field.name, value, field.unit, field.source_kind, field.source]);
        }
    }
    csv::document(&["gpu", "field", "value", "unit", "source_kind", "source"], &rows)
}
