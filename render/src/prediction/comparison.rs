//! The table at the top: one line for each GPU and model.

use gpucast_forecast::comparison::distinct;
use gpucast_forecast::input::kernel_name::readable;
use gpucast_forecast::number;
use gpucast_forecast::prediction::{Declined, KernelView, PredictionView};
use gpucast_model::duration;

use crate::table::{Align, aligned};

/// Further results of the throughput models on their time, as the thesis tabulates them.
const SYMBOLS: [&str; 2] = ["E_instr", "T_predicted"];

/// Returns true if more than one model was asked.
pub(super) fn has_several_models(kernels: &[&KernelView]) -> bool {
    let mut models = kernels.iter().flat_map(|kernel| {
        let predicted = kernel.predictions.iter().map(|view| view.prediction.model);
        predicted.chain(kernel.declined.iter().map(|one| one.model))
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
    let mut header = vec!["GPU", "time", "bound"];
    header.extend(&symbols);
    if published {
        header.extend(["measured", "error"]);
    }
    let mut rows = vec![owned(&header)];
    for view in views.iter().copied() {
        let mut row = vec![
            view.prediction.gpu.clone(),
            duration(view.prediction.time_ms),
            view.prediction.bound.to_string(),
        ];
        row.extend(symbols.iter().map(|name| symbol(view, name).unwrap_or_else(|| "-".to_owned())));
        if let Some(measurement) = &view.published {
            row.push(duration(measurement.measured_ms));
            row.push(number::percent(measurement.error));
        }
        rows.push(row);
    }
    use Align::{Left, Right};
    aligned(2, &[Left, Right, Left, Right, Right, Right, Right], &rows)
}

/// Several models: a line for each GPU and model, those without a prediction with their reason.
fn by_model(kernels: &[&KernelView]) -> String {
    let mut header = vec!["GPU", "model", "time", "bound"];
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
        rows.extend(views.map(|view| line(view, published)));
        let declined = declined().filter(|one| one.gpu == gpu);
        rows.extend(declined.map(|one| line_of_declined(one, published)));
    }
    use Align::{Left, Right};
    let numbers: &[Align] = if published { &[Right, Right] } else { &[] };
    aligned(2, &[&[Left, Left, Right, Left], numbers, &[Left]].concat(), &rows)
}

fn line(view: &PredictionView, published: bool) -> Vec<String> {
    let prediction = &view.prediction;
    let mut row = vec![
        prediction.gpu.clone(),
        prediction.model.to_owned(),
        duration(prediction.time_ms),
        prediction.bound.to_string(),
    ];
    if published {
        let measurement = view.published.as_ref();
        let measured = measurement.map(|one| duration(one.measured_ms));
        row.push(measured.unwrap_or_default());
        row.push(measurement.map(|one| number::percent(one.error)).unwrap_or_default());
    }
    row.push(match prediction.warnings.len() {
        0 => String::new(),
        1 => "1 warning".to_owned(),
        several => format!("{several} warnings"),
    });
    row
}

fn line_of_declined(one: &Declined, published: bool) -> Vec<String> {
    let mut row = vec![one.gpu.clone(), one.model.to_owned(), "-".to_owned(), "-".to_owned()];
    if published {
        row.extend([String::new(), String::new()]);
    }
    row.push(one.reason.replace(&one.kernel, &readable(&one.kernel)));
    row
}
