//! The tasks.

use gpucast_forecast::Report;
use gpucast_lab::Task;
use gpucast_lab::hand_out::in_words;
use serde_json::{Value, json};

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
    let mut rows = vec![["task", "about", "targets"].map(str::to_owned).to_vec()];
    for task in tasks {
        let targets = match task.targets.len() {
            0 => "right results".to_owned(),
            1 => "1".to_owned(),
            number => number.to_string(),
        };
        rows.push(vec![task.name.clone(), task.title.clone(), targets]);
    }
    aligned(0, &[Align::Left; 3], &rows)
        + "\n`gpucast lab start TASK FOLDER` writes a task's files.\n"
}

fn value(task: &Task) -> Value {
    json!({
        "name": task.name,
        "title": task.title,
        "targets": task.targets.iter().map(in_words).collect::<Vec<String>>(),
        "hints": task.hints.len(),
    })
}
