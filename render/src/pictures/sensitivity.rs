//! Sensitivities: the CSV of `gpucast sensitivity` as tornado charts.

use gpucast_forecast::{Report, SourceText};
use gpucast_plot::number::{duration, percent};
use gpucast_plot::pictures::tornado::{Effect, Tornado};
use gpucast_plot::{DrawError, Scene};

use super::table::Table;
use super::{short_name, titled};

/// A chart for each kernel, GPU and model, one below the other.
///
/// # Errors
///
/// The outer error is one of the table: it is no CSV, or a column is missing. The inner one is one
/// of the picture: there is nothing to draw.
pub fn scene(source: &SourceText, title: Option<&str>) -> Result<Result<Scene, DrawError>, Report> {
    let table = Table::read(source)?;
    let mut charts: Vec<([String; 3], Tornado)> = Vec::new();
    let [kernel, gpu, model, field] = [
        table.column("kernel")?,
        table.column("gpu")?,
        table.column("model")?,
        table.column("field")?,
    ];
    let time = table.column("time_ms")?;
    let sides = [
        (table.column("factor_down")?, table.column("time_ms_down")?),
        (table.column("factor_up")?, table.column("time_ms_up")?),
    ];
    for row in 0..table.rows.len() {
        let key = [kernel, gpu, model].map(|column| table.cell(row, column).to_owned());
        let name = table.cell(row, field).to_owned();
        let Some(before) = table.number(row, time).filter(|ms| *ms > 0.0) else {
            let message = format!("{} has no time beside {name}", source.name);
            return Err(Report::new(message));
        };
        let place = charts.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            charts.push((key.clone(), chart(&key, before)));
            charts.len() - 1
        });
        let chart = &mut charts[place].1;
        let mut changes = [0.0; 2];
        for ((change, (factor, after)), direction) in
            changes.iter_mut().zip(sides).zip(["lowered", "raised"])
        {
            match (table.number(row, factor), table.number(row, after)) {
                (Some(factor), Some(after)) => {
                    *change = after / before - 1.0;
                    let at = usize::from(direction == "raised");
                    if chart.changes[at].is_empty() {
                        let step = percent((factor - 1.0).abs(), 0);
                        chart.changes[at] = format!("{direction} by {step}");
                    }
                }
                _ => chart.notes.push(format!("{name} cannot be {direction}.")),
            }
        }
        chart.effects.push(Effect { name, lowered: changes[0], raised: changes[1] });
    }
    let several = charts.len() > 1;
    let scenes = charts.into_iter().map(|(_, mut chart)| {
        chart.title = titled(chart.title, title, several);
        chart.scene()
    });
    Ok(scenes.collect::<Result<Vec<Scene>, DrawError>>().map(Scene::stacked))
}

/// A chart without bars.
fn chart([kernel, gpu, model]: &[String; 3], time_ms: f64) -> Tornado {
    Tornado {
        title: format!("What moves the time of {} on {gpu}", short_name(kernel)),
        subtitle: format!(
            "Change of the {} that {model} predicts when one figure of the GPU changes. Whole numbers make a \
             whole step.",
            duration(time_ms)
        ),
        axis: "change of the predicted time (%)".to_owned(),
        changes: [String::new(), String::new()],
        effects: Vec::new(),
        notes: Vec::new(),
    }
}
