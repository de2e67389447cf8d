//! Sensitivities as text, JSON and CSV.

use gpucast_forecast::Report;
use gpucast_forecast::number;
use gpucast_model::sensitivity::{Analysis, Sensitivity, Side};
use serde::Serialize;

use super::table::{Align, aligned, wrapped};
use crate::Format;

/// Text is this wide.
const WIDTH: usize = 96;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    analyses: &'a [Analysis],
}

/// The analyses in the format asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(analyses: &[Analysis], format: Format) -> Result<String, Report> {
    match format {
        Format::Text => Ok(text(analyses)),
        Format::Json => {
            super::json::document(&Document { schema: "gpucast.sensitivity/1", analyses })
        }
        Format::Csv => csv(analyses),
    }
}

fn csv(analyses: &[Analysis]) -> Result<String, Report> {
    let header = [
        "kernel",
        "gpu",
        "model",
        "time_ms",
        "field",
        "value",
        "unit",
        "elasticity",
        "elasticity_down",
        "elasticity_up",
        "factor_down",
        "factor_up",
        "time_ms_down",
        "time_ms_up",
    ];
    let mut rows = Vec::new();
    for analysis in analyses {
        for parameter in &analysis.parameters {
            let plain =
                |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
            let of = |side: &Side| match side {
                Side::Time { factor, time_ms, .. } => (Some(*factor), Some(*time_ms)),
                Side::Refused { .. } => (None, None),
            };
            let ((factor_down, time_down), (factor_up, time_up)) =
                (of(&parameter.down), of(&parameter.up));
            rows.push(vec![
                analysis.kernel.clone(),
                analysis.gpu.clone(),
                analysis.model.to_owned(),
                analysis.time_ms.to_string(),
                parameter.field.to_owned(),
                parameter.value.to_string(),
                parameter.unit.to_owned(),
                plain(parameter.elasticity),
                plain(parameter.down.elasticity()),
                plain(parameter.up.elasticity()),
                plain(factor_down),
                plain(factor_up),
                plain(time_down),
                plain(time_up),
            ]);
        }
    }
    super::csv::document(&header, &rows)
}

fn text(analyses: &[Analysis]) -> String {
    let mut text = String::new();
    for analysis in analyses {
        let title = format!("{} on {}, {}", analysis.kernel, analysis.gpu, analysis.model);
        text.push_str(&format!("{title}\n{}\n", "=".repeat(title.chars().count())));
        text.push_str(&format!(
            "  {} ms, bound by {}; steps of {}\n\n",
            number::real(analysis.time_ms),
            analysis.bound,
            number::percent(analysis.step)
        ));
        text.push_str(&table(&analysis.parameters));
        for parameter in &analysis.parameters {
            for (direction, side) in [("down", &parameter.down), ("up", &parameter.up)] {
                if let Side::Refused { reason } = side {
                    let note = format!("{} cannot go {direction}: {reason}", parameter.field);
                    text.push_str(&wrapped("- ", 4, WIDTH, &note));
                }
            }
        }
        let fixed: Vec<&str> = analysis.fixed.iter().map(|fixed| fixed.field).collect();
        for (what, fields) in [
            ("These move nothing", &analysis.unmoved),
            ("These are not read by the model", &analysis.unread),
            ("These cannot be moved by so little, or not alone", &fixed),
        ] {
            if !fields.is_empty() {
                text.push('\n');
                text.push_str(&wrapped("", 2, WIDTH, &format!("{what}: {}.", fields.join(", "))));
            }
        }
        text.push('\n');
    }
    text.push_str(&wrapped(
        "",
        0,
        WIDTH,
        "Elasticity: by how many percent the time changes for each percent of the parameter, and of \
         what follows from it. Counts stay as they are.",
    ));
    text
}

fn table(parameters: &[Sensitivity]) -> String {
    let header = ["parameter", "value", "", "elasticity", "down", "up", "bound below", "above"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let signed = |elasticity: Option<f64>| {
        elasticity.map_or_else(|| "-".to_owned(), |it| format!("{it:+.3}"))
    };
    let bound = |side: &Side| match side {
        Side::Time { bound, .. } => bound.to_string(),
        Side::Refused { .. } => "-".to_owned(),
    };
    for parameter in parameters {
        rows.push(vec![
            parameter.field.to_owned(),
            number::real(parameter.value),
            parameter.unit.to_owned(),
            signed(parameter.elasticity),
            signed(parameter.down.elasticity()),
            signed(parameter.up.elasticity()),
            bound(&parameter.down),
            bound(&parameter.up),
        ]);
    }
    use Align::{Left, Right};
    aligned(2, &[Left, Right, Left, Right, Right, Right, Left, Left], &rows)
}
