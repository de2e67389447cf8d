//! A checked submission.

use gpucast_forecast::{Report, number};
use gpucast_lab::Language;
use gpucast_lab::check::{Case, Checked, Measured};
use gpucast_lab::hand_out::in_words;
use gpucast_lab::task::Target;
use gpucast_plot::number::duration;
use serde_json::{Value, json};

use super::words::{Words, words};
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
    let words = words(checked.language);
    let title = (words.title)(&checked.task, &checked.name, checked.points());
    let mut text = format!("{title}\n{}\n", "=".repeat(title.chars().count()));
    for note in &checked.notes {
        text += &wrapped(&format!("  {}: ", words.note), 4, WIDTH, note);
    }
    for case in &checked.cases {
        let verdict = if case.is_right() { words.right } else { words.wrong };
        text += &format!("  {verdict}  {}\n", case.size);
    }
    let wrong = checked.cases.iter().find(|case| !case.is_right());
    if let Some(case) = wrong {
        text += &faults(case);
    }
    for measured in checked.targets.iter().flatten() {
        text += &target(measured, checked.language);
    }
    if let Some(times) = checked.times_ms {
        let [own, solution] = times.map(|ms| checked.language.number(&duration(ms)));
        text += &format!("  {}\n", (words.times)(&own, &solution));
    }
    text += &format!("\n{}\n", conclusion(checked, words));
    control::visible(&text).into_owned()
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

fn target(measured: &Measured, language: Language) -> String {
    let words = words(language);
    let verdict = if measured.is_met() { words.met } else { words.open };
    let now = match &measured.target {
        Target::Metric { .. } => words.now,
        Target::Time { .. } => words.times_now,
    };
    let value = measured.value.map(|value| language.number(&number::whole_or_real(value)));
    let now = value.map_or_else(|| words.nothing_now.to_owned(), |value| now(&value));
    let what = format!("{now} {}", in_words(&measured.target, language));
    wrapped(verdict, 2 + verdict.chars().count(), WIDTH, &what.replace('`', ""))
}

fn conclusion(checked: &Checked, words: &Words) -> String {
    if checked.is_done() {
        return words.done.to_owned();
    }
    match &checked.targets {
        None => {
            let right = (words.right_at)(checked.right(), checked.sizes);
            if checked.asked > 0 { format!("{right}; {}", words.targets_later) } else { right }
        }
        Some(targets) => (words.still_open)(targets.len() - checked.met(), targets.len()),
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
            "target": in_words(&measured.target, checked.language),
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
