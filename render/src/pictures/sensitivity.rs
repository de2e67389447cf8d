//! Sensitivities: the CSV of `gpucast sensitivity` as tornado charts.

use gpucast_forecast::{Report, SourceText};
use gpucast_plot::number::{duration, percent};
use gpucast_plot::pictures::tornado::{Effect, Tornado};
use gpucast_plot::{DrawError, Scene};

use super::table::Table;
use super::{short_name, titled};

/// The ways that a parameter is changed.
const DIRECTIONS: [&str; 2] = ["lowered", "raised"];

/// A chart for each kernel, GPU and model, one below the other.
///
/// # Errors
///
/// The outer error is one of the table: it is no CSV, or a column is missing. The inner one is one
/// of the picture: there is nothing to draw.
pub fn scene(source: &SourceText, title: Option<&str>) -> Result<Result<Scene, DrawError>, Report> {
    let table = Table::read(source)?;
    let mut charts: Vec<Chart> = Vec::new();
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
        let place = charts.iter().position(|chart| chart.key == key).unwrap_or_else(|| {
            charts.push(Chart { tornado: tornado(&key, before), key, steps: Vec::new() });
            charts.len() - 1
        });
        let chart = &mut charts[place];
        let mut changes = [0.0; 2];
        let mut steps = [const { String::new() }; 2];
        for ((side, (factor, after)), direction) in (0..).zip(sides).zip(DIRECTIONS) {
            match (table.number(row, factor), table.number(row, after)) {
                (Some(factor), Some(after)) => {
                    changes[side] = after / before - 1.0;
                    steps[side] = percent((factor - 1.0).abs(), 0);
                }
                _ => chart.tornado.notes.push(format!("{name} cannot be {direction}.")),
            }
        }
        chart.tornado.effects.push(Effect { name, lowered: changes[0], raised: changes[1] });
        chart.steps.push(steps);
    }
    let several = charts.len() > 1;
    let scenes = charts.into_iter().map(|chart| {
        let mut tornado = chart.with_steps();
        tornado.title = titled(tornado.title, title, several);
        tornado.scene()
    });
    Ok(scenes.collect::<Result<Vec<Scene>, DrawError>>().map(Scene::stacked))
}

/// A chart under way.
struct Chart {
    /// Kernel, GPU and model.
    key: [String; 3],
    tornado: Tornado,
    /// The steps of each effect, down and up, in percent; empty where there was none.
    steps: Vec<[String; 2]>,
}

impl Chart {
    /// The chart whose legend has the step that most parameters make. Whole numbers make steps of
    /// their own, which stand beside their names.
    fn with_steps(mut self) -> Tornado {
        let usual = [0, 1].map(|side| {
            let steps = || self.steps.iter().map(|steps| steps[side].as_str());
            let times = |step: &str| steps().filter(|other| *other == step).count();
            let known = steps().filter(|step| !step.is_empty());
            // The first of several that are as frequent.
            known.rev().max_by_key(|step| times(step)).unwrap_or_default().to_owned()
        });
        for ((change, step), direction) in
            self.tornado.changes.iter_mut().zip(&usual).zip(DIRECTIONS)
        {
            *change = format!("{direction} by {step}");
        }
        for (effect, steps) in self.tornado.effects.iter_mut().zip(&self.steps) {
            if steps.iter().zip(&usual).any(|(step, usual)| !step.is_empty() && step != usual) {
                effect.name = format!("{} (by {})", effect.name, steps.join(", "));
            }
        }
        self.tornado
    }
}

/// A chart without bars.
fn tornado([kernel, gpu, model]: &[String; 3], time_ms: f64) -> Tornado {
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
