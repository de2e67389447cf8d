//! A checked submission.

use gpucast_forecast::{Report, number};
use gpucast_lab::check::{ALL_POINTS, Case, Checked, Measured};
use gpucast_lab::hand_out::in_words;
use gpucast_lab::task::Target;
use gpucast_plot::number::duration;
use serde_json::{Value, json};

use crate::judgement::{evidence, text::fault};
use crate::table::wrapped;
use crate::{TextOrJson, control, json};

/// Text is this wide.
const WIDTH: usize = 96;

/// What became of a submission.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(checked: &Checked, format: TextOrJson) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(text(checked)),
        TextOrJson::Json => json::document(&value(checked)),
    }
}

fn text(checked: &Checked) -> String {
    let title = format!(
        "{} of {}: {} of {ALL_POINTS} points",
        checked.task,
        checked.name,
        checked.points()
    );
    let mut text = format!("{title}\n{}\n", "=".repeat(title.chars().count()));
    for note in &checked.notes {
        text += &wrapped("  note: ", 4, WIDTH, note);
    }
    for case in &checked.cases {
        text += &format!("  {}  {}\n", mark(case.is_right()), case.size);
    }
    let wrong = checked.cases.iter().find(|case| !case.is_right());
    if let Some(case) = wrong {
        text += &faults(case);
    }
    for measured in checked.targets.iter().flatten() {
        text += &target(measured);
    }
    if let Some([own, solution]) = checked.times_ms {
        let [own, solution] = [own, solution].map(duration);
        text += &format!("  predicted time {own}; the solution's {solution}\n");
    }
    text += &format!("\n{}\n", conclusion(checked));
    control::visible(&text).into_owned()
}

fn mark(is_right: bool) -> &'static str {
    if is_right { "right" } else { "WRONG" }
}

/// The first faults of a size.
fn faults(case: &Case) -> String {
    let mut text = String::new();
    let all = case.judgement.evidence.iter();
    for told in all.flat_map(|one| evidence::told(one, &case.judgement)).take(3) {
        text += &fault(&told, Some(&case.size));
    }
    text
}

fn target(measured: &Measured) -> String {
    let word = if measured.is_met() { "met    " } else { "OPEN   " };
    let value = measured.value.map_or_else(|| "nothing to count".to_owned(), number::whole_or_real);
    let unit = match &measured.target {
        Target::Metric { .. } => "",
        Target::Time { .. } => " times",
    };
    let what = format!("{value}{unit} now. {}", in_words(&measured.target));
    wrapped(word, 9, WIDTH, &what.replace('`', ""))
}

fn conclusion(checked: &Checked) -> String {
    if checked.is_done() {
        return "done".to_owned();
    }
    match &checked.targets {
        None => {
            let right = format!("right at {} of {} sizes", checked.right(), checked.sizes);
            let then = "targets are measured when all are right";
            if checked.asked > 0 { format!("{right}; {then}") } else { right }
        }
        Some(targets) => {
            let open = targets.len() - checked.met();
            format!("{open} of {} targets are open", targets.len())
        }
    }
}

pub(super) fn value(checked: &Checked) -> Value {
    json!({
        "schema": "gpucast.lab-check/1",
        "name": checked.name,
        "task": checked.task,
        "points": checked.points(),
        "done": checked.is_done(),
        "notes": checked.notes,
        "sizes": checked.sizes,
        "cases": checked.cases.iter().map(case).collect::<Vec<Value>>(),
        "targets": checked.targets.as_ref().map(|all| all.iter().map(|measured| json!({
            "target": in_words(&measured.target),
            "value": measured.value,
            "met": measured.is_met(),
        })).collect::<Vec<Value>>()),
        "time_ms": checked.times_ms.map(|[own, _]| own),
        "solution_time_ms": checked.times_ms.map(|[_, solution]| solution),
    })
}

fn case(case: &Case) -> Value {
    let all = case.judgement.evidence.iter();
    let told = all.flat_map(|one| evidence::told(one, &case.judgement));
    json!({
        "size": case.size,
        "right": case.is_right(),
        "reasons": told.map(|told| json!({
            "code": told.code,
            "message": told.message,
            "file": told.place.as_ref().map(|place| &place.file),
            "line": told.place.as_ref().map(|place| place.line),
        })).collect::<Vec<Value>>(),
    })
}
