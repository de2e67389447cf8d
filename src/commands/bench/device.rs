//! `gpucast bench --device`: the parameters of a GPU, measured.

use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_measure::parameters::ALL;
use gpucast_measure::{Bench, Device as _, MeasureError, Measured, Parameter, Trials, gpu_file};
use gpucast_model::Gpu;
use gpucast_render::table::{Align, aligned};
use gpucast_render::{Format, csv};
use gpucast_toolchain::driver;

use crate::cli::bench;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

/// A parameter as the library has it and as it was measured.
struct Row {
    field: &'static str,
    unit: &'static str,
    library: Option<f64>,
    measured: f64,
    /// The measured over the library's.
    ratio: Option<f64>,
    kernel: &'static str,
    /// Trials that were left out as anomalous.
    excluded: usize,
}

pub(super) fn run(arguments: &bench::Bench) -> Result<(), Failure> {
    let options = &arguments.device;
    let library = gpu_argument::library()?;
    let compared = options.compare.as_deref();
    let compared = compared.map(|name| gpu_argument::find(&library, name)).transpose()?;
    let parameters = chosen(&options.only)?;
    let format = arguments.output.format;
    if compared.is_none() && format != Format::Text {
        let report = Report::new("a GPU's file is TOML and has no other format");
        return Err(Failure::Usage(report.hint("--compare GPU gives a table for --format")));
    }
    if format == Format::Json {
        let report = Report::new("a comparison with a measured GPU has no JSON form");
        return Err(Failure::Usage(report.hint("write --format csv")));
    }
    let mut output = Output::open(arguments.output.output.clone())?;
    let saved = options.save.clone().map(|path| Output::open(Some(path))).transpose()?;
    let terminal = Terminal::without_notes(&arguments.execution)?;
    let mut device = driver::Gpu::open(options.device.unwrap_or(0))
        .map_err(|error| Report::new(error.to_string()))?;
    let facts = device.facts().clone();
    let trials = Trials { warm_up: options.warm_up, timed: options.trials.get() };
    let mut bench = Bench::new(&mut device, trials);
    let mut measured = Vec::new();
    for (index, parameter) in parameters.iter().enumerate() {
        terminal.part(index, parameters.len());
        match parameter.measured(&mut bench) {
            Ok(one) => measured.push(one),
            Err(error @ MeasureError::Device(_)) => {
                return Err(Report::new(format!("{}: {error}", parameter.field)).into());
            }
            Err(error) => terminal.note(&format!("{} is not measured: {error}", parameter.field)),
        }
    }
    let name = options.name.clone().unwrap_or_else(|| gpu_file::name_of(&facts.name));
    let text = gpu_file::text(&name, &facts, &measured);
    // A figure that no GPU can have is told before the file is written.
    gpu_file::gpu(&text).map_err(|error| Report::new(error.to_string()))?;
    if let Some(mut saved) = saved {
        saved.write(&text)?;
    }
    let Some(compared) = compared else { return output.write(&text) };
    let rows: Vec<Row> = measured.iter().map(|one| row(one, &compared)).collect();
    output.write(&match format {
        Format::Csv => as_csv(&rows)?,
        Format::Text | Format::Json => table(&compared.name, &rows),
    })?;
    Ok(())
}

/// The parameters of the fields that `--only` names, or all.
fn chosen(only: &[String]) -> Result<Vec<&'static Parameter>, Failure> {
    let find = |field: &String| {
        ALL.iter().find(|one| one.field == field).ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|one| one.field).collect();
            let report = Report::new(format!("`{field}` is not measured"));
            Failure::Usage(report.hint(format!("these are: {}", known.join(", "))))
        })
    };
    match only {
        [] => Ok(ALL.iter().collect()),
        only => only.iter().map(find).collect(),
    }
}

fn row(one: &Measured, gpu: &Gpu) -> Row {
    let Measured { parameter, value, excluded } = *one;
    let library = parameter.of(gpu);
    Row {
        field: parameter.field,
        unit: parameter.unit,
        library,
        measured: value,
        ratio: library.map(|library| value / library),
        kernel: parameter.kernel,
        excluded,
    }
}

fn table(gpu: &str, rows: &[Row]) -> String {
    let titles = ["field", "unit", gpu, "measured", "ratio", "kernel"];
    let mut lines = vec![titles.map(str::to_owned).to_vec()];
    for Row { field, unit, library, measured, ratio, kernel, .. } in rows {
        let number = |value: &Option<f64>, digits| match value {
            Some(value) => format!("{value:.digits$}"),
            None => "-".to_owned(),
        };
        lines.push(vec![
            (*field).to_owned(),
            (*unit).to_owned(),
            number(library, 2),
            number(&Some(*measured), 2),
            number(ratio, 3),
            (*kernel).to_owned(),
        ]);
    }
    use Align::{Left, Right};
    aligned(0, &[Left, Left, Right, Right, Right, Left], &lines)
}

fn as_csv(rows: &[Row]) -> Result<String, Report> {
    let number = |value: &Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.field.to_owned(),
                row.unit.to_owned(),
                number(&row.library),
                row.measured.to_string(),
                number(&row.ratio),
                row.kernel.to_owned(),
                row.excluded.to_string(),
            ]
        })
        .collect();
    csv::document(&["field", "unit", "library", "measured", "ratio", "kernel", "excluded"], &lines)
}
