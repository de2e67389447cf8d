//! Predicted beside measured times.

use gpucast_forecast::prediction::KernelView;
use gpucast_plot::pictures::errors::{Errors, Row};
use gpucast_plot::{DrawError, Scene};

use super::{short_name, titled};

/// All predictions of which a measured time is known.
///
/// # Errors
///
/// If there is nothing to draw, or the picture becomes too large.
pub fn scene(kernels: &[KernelView], title: Option<&str>) -> Result<Scene, DrawError> {
    let mut picture = errors(kernels);
    picture.title = titled(picture.title, title, false);
    picture.scene()
}

/// The rows of all kernels on all GPUs; each other model or way of counting is a series.
pub fn errors(kernels: &[KernelView]) -> Errors {
    let mut errors = Errors {
        title: "Time of a kernel, predicted without a GPU and measured on it".to_owned(),
        ..Errors::default()
    };
    let mut models: Vec<&str> = Vec::new();
    let mut unmeasured = 0;
    for kernel in kernels {
        for view in &kernel.predictions {
            let Some(published) = &view.published else {
                unmeasured += 1;
                continue;
            };
            let model = view.prediction.model;
            if !models.contains(&model) {
                models.push(model);
            }
            let counts = match kernel.profile.measured_on {
                Some(_) => "counts from a profiler",
                None => "counts from executing the PTX",
            };
            let series = format!("{model}, {counts}");
            let at = position(&mut errors.series, series);
            let group =
                kernel.published.clone().unwrap_or_else(|| short_name(&kernel.profile.kernel));
            put(
                &mut errors.rows,
                (&group, &view.gpu.name),
                published.measured_ms,
                (at, view.prediction.time_ms),
            );
        }
    }
    for row in &mut errors.rows {
        row.predicted_ms.resize(errors.series.len(), None);
    }
    if let [model] = models[..] {
        errors.subtitle = format!("Predictions of the model {model}");
        let ending = format!("{model}, ");
        for series in &mut errors.series {
            *series = series.trim_start_matches(&ending).to_owned();
        }
    }
    if unmeasured > 0 {
        errors.notes.push(format!("{unmeasured} predictions have no measured time beside them."));
    }
    errors
}

fn position(series: &mut Vec<String>, wanted: String) -> usize {
    series.iter().position(|name| *name == wanted).unwrap_or_else(|| {
        series.push(wanted);
        series.len() - 1
    })
}

/// Adds a prediction to the row of its kernel and GPU.
fn put(
    rows: &mut Vec<Row>,
    (group, name): (&str, &str),
    measured_ms: f64,
    (series, predicted_ms): (usize, f64),
) {
    let same = |row: &Row| row.group == group && row.name == name;
    let at = rows.iter().position(same).unwrap_or_else(|| {
        let row = Row {
            group: group.to_owned(),
            name: name.to_owned(),
            measured_ms,
            predicted_ms: Vec::new(),
        };
        // Behind the last row of the same group.
        let end = rows.iter().rposition(|row| row.group == group).map_or(rows.len(), |at| at + 1);
        rows.insert(end, row);
        end
    });
    let predicted = &mut rows[at].predicted_ms;
    if predicted.len() <= series {
        predicted.resize(series + 1, None);
    }
    predicted[series] = Some(predicted_ms);
}
