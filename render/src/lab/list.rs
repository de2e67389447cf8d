//! The tasks.

use gpucast_forecast::Report;
use gpucast_lab::hand_out::in_words;
use gpucast_lab::task::Target;
use gpucast_lab::{Language, Task};
use serde_json::{Value, json};

use super::words::words;
use crate::table::{Align, aligned};
use crate::{TextOrJson, json};

/// The tasks with their targets.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(tasks: &[Task], format: TextOrJson) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(text(tasks)),
        TextOrJson::Json => json::document(&json!({
            "schema": "gpucast.lab-tasks/1",
            "tasks": tasks.iter().map(value).collect::<Vec<Value>>(),
        })),
    }
}

fn text(tasks: &[Task]) -> String {
    let language = tasks.first().map_or_else(Language::default, |task| task.language);
    let words = words(language);
    let mut rows = vec![words.header.map(str::to_owned).to_vec()];
    for task in tasks {
        let targets = match task.targets.len() {
            0 => words.right_results.to_owned(),
            1 => "1".to_owned(),
            number => number.to_string(),
        };
        rows.push(vec![task.name.clone(), task.title.clone(), targets]);
    }
    format!("{}\n{}\n", aligned(0, &[Align::Left; 3], &rows), words.how_to_start)
}

fn value(task: &Task) -> Value {
    let target = |target: &Target| in_words(target, task.language);
    json!({
        "name": task.name,
        "title": task.title,
        "targets": task.targets.iter().map(target).collect::<Vec<String>>(),
        "hints": task.hints.len(),
    })
}
