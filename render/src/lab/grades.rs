//! The grades of a class: a row a submission, with the first reason, or why it was not checked.

use gpucast_forecast::Report;
use gpucast_forecast::failure::in_one_line;
use gpucast_lab::Language;
use gpucast_lab::check::{Checked, Graded};
use gpucast_lab::hand_out::in_words;
use serde_json::{Value, json};

use super::words::{Words, words};
use crate::judgement::evidence;
use crate::table::{Align, aligned};
use crate::{control, csv, json};

/// The form of grades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradeFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For spreadsheets.
    Csv,
    /// For a page.
    Markdown,
}

/// The grades of a class, with headings in a language. Reasons of targets are in that of their
/// tasks, and numbers of CSV have a point in all languages.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(
    class: &[Graded],
    language: Language,
    format: GradeFormat,
) -> Result<String, Report> {
    let words = words(language);
    let header = words.grades.map(str::to_owned);
    let rows = |absent, language| {
        class.iter().map(|graded| row(graded, absent, words, language)).collect::<Vec<_>>()
    };
    match format {
        GradeFormat::Text => {
            let mut all = vec![header.to_vec()];
            all.extend(rows("–", language));
            let left = [Align::Left, Align::Left];
            let numbers = [Align::Right; 4];
            let columns = [left.as_slice(), &numbers, &[Align::Left]].concat();
            let text = format!("{}\n{}\n", aligned(0, &columns, &all), summary(class, words));
            Ok(control::visible(&text).into_owned())
        }
        GradeFormat::Csv => csv::document(&words.grades, &rows("", Language::English)),
        GradeFormat::Markdown => {
            let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
            let mut text = line(&header);
            text += "|---|---|--:|--:|--:|--:|---|\n";
            for row in rows("–", language) {
                let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
                text += &line(&cells);
            }
            Ok(control::visible(&text).into_owned())
        }
        GradeFormat::Json => json::document(&json!({
            "schema": "gpucast.lab-grades/1",
            "submissions": class.iter().map(value).collect::<Vec<Value>>(),
        })),
    }
}

/// The mean is of those that were checked.
fn summary(class: &[Graded], words: &Words) -> String {
    let checked: Vec<&Checked> =
        class.iter().filter_map(|graded| graded.outcome.as_ref().ok()).collect();
    let sum: u32 = checked.iter().map(|checked| checked.points()).sum();
    let mean = f64::from(sum) / checked.len().max(1) as f64;
    let done = checked.iter().filter(|checked| checked.is_done()).count();
    (words.summary)(class.len(), class.len() - checked.len(), done, mean)
}

fn value(graded: &Graded) -> Value {
    match &graded.outcome {
        Ok(checked) => super::check::value(checked),
        Err(reports) => json!({
            "name": graded.name,
            "task": graded.task,
            "not_checked": in_one_line(reports),
        }),
    }
}

/// `absent` stands for what was not measured. Numbers are written as in `language`.
fn row(graded: &Graded, absent: &str, words: &Words, language: Language) -> Vec<String> {
    let checked = match &graded.outcome {
        Ok(checked) => checked,
        Err(reports) => {
            let mut row = vec![graded.name.clone(), graded.task.clone()];
            row.resize(words.grades.len() - 1, absent.to_owned());
            row.push((words.not_checked)(&in_one_line(reports)));
            return row;
        }
    };
    let targets = checked.targets.as_ref();
    vec![
        checked.name.clone(),
        checked.task.clone(),
        checked.points().to_string(),
        format!("{}/{}", checked.right(), checked.sizes),
        targets.map_or_else(|| absent.to_owned(), |all| format!("{}/{}", checked.met(), all.len())),
        checked
            .times_ms
            .map_or_else(|| absent.to_owned(), |[own, _]| language.number(&format!("{own:.4}"))),
        reason(checked, words),
    ]
}

/// Why a submission is not done: the first fault with its place, or the first open target.
fn reason(checked: &Checked, words: &Words) -> String {
    let wrong = checked.cases.iter().find(|case| !case.is_right());
    if let Some(case) = wrong {
        let first = case.judgement.evidence.first();
        let told = first.and_then(|one| evidence::told(one, &case.judgement).into_iter().next());
        let Some(told) = told else { return (words.wrong_at)(&case.size) };
        let line = told.place.map(|place| format!(", line {}", place.line)).unwrap_or_default();
        return format!("{} ({}{line})", told.message, case.size);
    }
    let open = checked.targets.iter().flatten().find(|target| !target.is_met());
    open.map_or_else(String::new, |target| {
        in_words(&target.target, checked.language).replace('`', "")
    })
}
