//! The files with which somebody begins.

use std::path::Path;

use gpucast_forecast::Report;

use crate::task::{LaunchKey, Limit, Target, Task, files};

/// The lesson in a student's folder.
const LESSON: &str = "README.md";
/// The file that says which task a student's folder belongs to.
pub const TASK_NAME: &str = "task.txt";

/// Writes a task into a student's folder: the lesson, the kernel, its launch.
///
/// # Errors
///
/// If the folder has one of these files already, or cannot be written.
pub fn to_student(task: &Task, folder: &Path) -> Result<(), Report> {
    let all = [
        (TASK_NAME, format!("{}\n", task.name)),
        (LESSON, lesson(task)),
        (files::KERNEL, task.start.clone()),
        (files::LAUNCH, task.launch.clone()),
    ];
    write(folder, &all)
}

/// A new task for a teacher to change: a small one of ours under another name.
///
/// # Errors
///
/// If the folder has one of the files already, or cannot be written.
pub fn to_teacher(example: &Task, folder: &Path) -> Result<(), Report> {
    let solution = example.solution.cuda.clone().unwrap_or_default();
    let all = [
        (files::TASK, TASK.to_owned()),
        (files::LAUNCH, example.launch.clone()),
        (files::START, example.start.clone()),
        (files::SOLUTION, solution),
    ];
    write(folder, &all)
}

/// A task to change, for the kernel of `03-coalescing`.
const TASK: &str = include_str!("new_task.toml");

fn write(folder: &Path, all: &[(&str, String)]) -> Result<(), Report> {
    if let Some((name, _)) = all.iter().find(|(name, _)| folder.join(name).exists()) {
        let place = folder.join(name);
        return Err(Report::new(format!("{} is there already", place.display()))
            .hint("name a folder that does not exist yet"));
    }
    std::fs::create_dir_all(folder).map_err(|error| Report::file("write", folder, &error))?;
    for (name, text) in all {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| Report::file("write", &path, &error))?;
    }
    Ok(())
}

/// What a student reads, with hints that fold.
fn lesson(task: &Task) -> String {
    let mut text = format!("# {}\n\n{}\n", task.title, task.lesson.trim_end());
    text += &format!("\nChange `{}`", files::KERNEL);
    if !task.may_change.is_empty() {
        let keys: Vec<String> =
            task.may_change.iter().map(|key| format!("`{}`", LaunchKey::name(*key))).collect();
        text += &format!(", and {} in `{}`", keys.join(" and "), files::LAUNCH);
    }
    text += ". In this folder, `gpucast lab check` says what is left to do.\n";
    text += "\n## Done is\n\n- Results are right at all sizes, without races and stray accesses.\n";
    for target in &task.targets {
        text += &format!("- {}\n", in_words(target));
    }
    for (at, hint) in task.hints.iter().enumerate() {
        text += &format!("\n<details><summary>Hint {}</summary>\n\n{hint}\n\n</details>\n", at + 1);
    }
    text
}

/// A target as a sentence.
#[must_use]
pub fn in_words(target: &Target) -> String {
    match target {
        Target::Metric { metric, limit, why } => {
            let limit = match limit {
                Limit::AtMost(limit) => format!("at most {limit}"),
                Limit::AtLeast(limit) => format!("at least {limit}"),
            };
            format!("`{metric}` is {limit}: {why}.")
        }
        Target::Time { times } => {
            format!("The predicted time is at most {times} times the solution's.")
        }
    }
}
