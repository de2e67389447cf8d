//! The table at the top: one line for each GPU and model.

use gpucast_forecast::comparison::distinct;
use gpucast_forecast::input::kernel_name::readable_in;
use gpucast_forecast::number;
use gpucast_forecast::prediction::{Declined, KernelView, PredictionView};
use gpucast_model::{TimeInterval, duration, duration_range};

use crate::table::{Align, aligned};

/// Further results of the throughput models on their time, as the thesis tabulates them.
const SYMBOLS: [&str; 2] = ["E_instr", "T_predicted"];

/// Returns true if more than one model was asked.
pub(super) fn has_several_models(kernels: &[&KernelView]) -> bool {
    let mut models = kernels.iter().flat_map(|kernel| {
        let predicted = kernel.predictions.iter().map(|view| view.prediction.model);
        predicted.chain(kernel.declined.iter().map(|declined| declined.model))
    });
    let first = models.next();
    models.any(|model| Some(model) != first)
}

/// The table of a launch, counted once or on several GPUs; nothing where it would have one line.
pub(super) fn table(kernels: &[&KernelView]) -> Option<String> {
    let lines = |kernel: &&KernelView| kernel.predictions.len() + kernel.declined.len();
    if kernels.iter().map(lines).sum::<usize>() < 2 {
        return None;
    }
    Some(match has_several_models(kernels) {
        true => by_model(kernels),
        false => by_gpu(kernels),
    })
}

fn predictions<'a>(kernels: &[&'a KernelView]) -> impl Iterator<Item = &'a PredictionView> {
    kernels.iter().flat_map(|kernel| &kernel.predictions)
}

fn owned(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|&cell| cell.to_owned()).collect()
}

/// One model: a line for each GPU, with the symbols that say most.
fn by_gpu(kernels: &[&KernelView]) -> String {
    let views: Vec<&PredictionView> = predictions(kernels).collect();
    let published = views.iter().any(|view| view.published.is_some());
    let symbol = |view: &PredictionView, name: &str| {
        let symbol = view.prediction.intermediate.find(name)?;
        let value = number::real(symbol.value.as_f64()?);
        Some(if symbol.unit.is_empty() { value } else { format!("{value} {}", symbol.unit) })
    };
    let symbols: Vec<&str> = SYMBOLS
        .into_iter()
        .filter(|name| views.iter().any(|view| symbol(view, name).is_some()))
        .collect();
    let intervals = views.iter().any(|view| view.prediction.interval.is_some());
    let mut header = vec!["GPU", "time", "bound"];
    if intervals {
        header.push(INTERVAL);
    }
    header.extend(&symbols);
    if published {
        header.extend(["measured", "error"]);
    }
    let mut rows = vec![owned(&header)];
    for view in views.iter().copied() {
        let mut row = vec![
            view.prediction.gpu.clone(),
            view.prediction.time_text(),
            view.prediction.bound.to_string(),
        ];
        row.extend(intervals.then(|| interval(view)));
        row.extend(symbols.iter().map(|name| symbol(view, name).unwrap_or_else(|| "-".to_owned())));
        if let Some(measurement) = &view.published {
            row.push(duration(measurement.measured_ms));
            row.push(number::percent(measurement.error));
        }
        rows.push(row);
    }
    use Align::{Left, Right};
    aligned(2, &[Left, Right, Left, Right, Right, Right, Right, Right], &rows)
}

/// The title of a column of intervals.
const INTERVAL: &str = "4 of 5 take";

/// The interval of a time, for a column.
fn interval(view: &PredictionView) -> String {
    let range = |it: &TimeInterval| duration_range(it.low_ms, it.high_ms);
    view.prediction.interval.as_ref().map_or_else(String::new, range)
}

/// Several models: a line for each GPU and model, those without a prediction with their reason.
fn by_model(kernels: &[&KernelView]) -> String {
    let mut header = vec!["GPU", "model", "time", "bound"];
    let intervals = predictions(kernels).any(|view| view.prediction.interval.is_some());
    if intervals {
        header.push(INTERVAL);
    }
    let published = predictions(kernels).any(|view| view.published.is_some());
    let declined = || kernels.iter().flat_map(|kernel| &kernel.declined);
    if published {
        header.extend(["measured", "error"]);
    }
    header.push("note");
    let mut rows = vec![owned(&header)];
    let gpus = distinct(kernels.iter().flat_map(|kernel| kernel.gpus()));
    for gpu in gpus {
        let views = predictions(kernels).filter(|view| view.prediction.gpu == gpu);
        rows.extend(views.map(|view| line(view, intervals, published)));
        let declined = declined().filter(|declined| declined.gpu == gpu);
        rows.extend(declined.map(|declined| line_of_declined(declined, intervals, published)));
    }
    use Align::{Left, Right};
    let numbers = vec![Right; usize::from(intervals) + if published { 2 } else { 0 }];
    aligned(2, &[&[Left, Left, Right, Left][..], &numbers, &[Left]].concat(), &rows)
}

fn line(view: &PredictionView, intervals: bool, published: bool) -> Vec<String> {
    let prediction = &view.prediction;
    let mut row = vec![
        prediction.gpu.clone(),
        prediction.model.to_owned(),
        prediction.time_text(),
        prediction.bound.to_string(),
    ];
    row.extend(intervals.then(|| interval(view)));
    if published {
        let measurement = view.published.as_ref();
        let measured = measurement.map(|measurement| duration(measurement.measured_ms));
        row.push(measured.unwrap_or_default());
        row.push(
            measurement.map(|measurement| number::percent(measurement.error)).unwrap_or_default(),
        );
    }
    row.push(match prediction.warnings.len() {
        0 => String::new(),
        1 => "1 warning".to_owned(),
        several => format!("{several} warnings"),
    });
    row
}

fn line_of_declined(one: &Declined, intervals: bool, published: bool) -> Vec<String> {
    let mut row = vec![one.gpu.clone(), one.model.to_owned(), "-".to_owned(), "-".to_owned()];
    row.extend(intervals.then(String::new));
    if published {
        row.extend([String::new(), String::new()]);
    }
    row.push(readable_in(&one.reason, &one.kernel));
    row
}
