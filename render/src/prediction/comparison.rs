//! The table at the top: one line for each GPU and model.

use gpucast_forecast::input::kernel_name::readable;
use gpucast_forecast::number;
use gpucast_forecast::prediction::{Declined, KernelView, PredictionView};
use gpucast_model::duration;

use crate::table::{Align, aligned};

/// Further results of the throughput models on their time, as the thesis tabulates them.
const SYMBOLS: [&str; 2] = ["E_instr", "T_predicted"];

/// Returns true if more than one model was asked.
pub(super) fn has_several_models(kernel: &KernelView) -> bool {
    let predicted = kernel.predictions.iter().map(|view| view.prediction.model);
    let mut models = predicted.chain(kernel.declined.iter().map(|one| one.model));
    let first = models.next();
    models.any(|model| Some(model) != first)
}

/// The table, or nothing where it would have one line.
pub(super) fn table(kernel: &KernelView) -> Option<String> {
    if kernel.predictions.len() + kernel.declined.len() < 2 {
        return None;
    }
    Some(match has_several_models(kernel) {
        true => by_model(kernel),
        false => by_gpu(&kernel.predictions),
    })
}

fn owned(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|&cell| cell.to_owned()).collect()
}

/// One model: a line for each GPU, with the symbols that say most.
fn by_gpu(views: &[PredictionView]) -> String {
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
    for view in views {
        let mut row = vec![
            view.prediction.gpu.clone(),
            view.prediction.time_text(),
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
fn by_model(kernel: &KernelView) -> String {
    let mut header = vec!["GPU", "model", "time", "bound"];
    let published = kernel.predictions.iter().any(|view| view.published.is_some());
    if published {
        header.extend(["measured", "error"]);
    }
    header.push("note");
    let mut rows = vec![owned(&header)];
    let mut gpus: Vec<&str> = Vec::new();
    let predicted = kernel.predictions.iter().map(|view| view.prediction.gpu.as_str());
    for gpu in predicted.chain(kernel.declined.iter().map(|one| one.gpu.as_str())) {
        if !gpus.contains(&gpu) {
            gpus.push(gpu);
        }
    }
    for gpu in gpus {
        let views = kernel.predictions.iter().filter(|view| view.prediction.gpu == gpu);
        rows.extend(views.map(|view| line(view, published)));
        let declined = kernel.declined.iter().filter(|one| one.gpu == gpu);
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
        prediction.time_text(),
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
