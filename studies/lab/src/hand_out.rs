//! The files with which somebody begins.

use std::path::Path;

use gpucast_forecast::{Report, SourceText};

use crate::language::Language;
use crate::launch::Launch;
use crate::python;
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
        (LESSON, lesson(task, files::KERNEL)),
        (files::KERNEL, task.start.clone()),
        (files::LAUNCH, task.launch.clone()),
    ];
    write(folder, &all)
}

/// The same with a kernel in Python. Its launch is that of Numba's PTX, for other commands.
///
/// # Errors
///
/// If the task has no such kernel; if the folder has one of these files already, or cannot be
/// written.
pub fn to_student_in_python(task: &Task, folder: &Path) -> Result<(), Report> {
    let start = task.start_in_python.clone().ok_or_else(|| {
        Report::new(format!("{} has no kernel in Python", task.name))
            .hint("its lesson is about something that Numba does not have")
    })?;
    let launch = Launch::of(&SourceText::new(files::LAUNCH, task.launch.clone()))?.for_numba()?;
    let module = python::compiled(Path::new(files::PYTHON));
    let all = [
        (TASK_NAME, format!("{}\n", task.name)),
        (LESSON, lesson(task, files::PYTHON)),
        (files::PYTHON, start),
        (files::LAUNCH, launch.with_module(&module.display().to_string())),
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

/// The words around a task's own.
struct Words {
    change: &'static str,
    besides: &'static str,
    and: &'static str,
    check: &'static str,
    /// Names what is slow, by a command.
    slow: fn(&str) -> String,
    done: &'static str,
    right: &'static str,
    hint: &'static str,
    /// What Numba calls the words of lessons.
    in_python: &'static str,
}

const ENGLISH: Words = Words {
    change: "Change",
    besides: ", and",
    and: "and",
    check: "In this folder, `gpucast lab check` says what is left to do.",
    slow: |command| format!("At the size of the targets, `{command}` says what is slow."),
    done: "Done is",
    right: "Results are right at all sizes, without races and stray accesses.",
    hint: "Hint",
    in_python: include_str!("in_python.md"),
};

const GERMAN: Words = Words {
    change: "Ändern Sie",
    besides: " sowie",
    and: "und",
    check: "In diesem Ordner sagt `gpucast lab check --language de`, was noch zu tun ist.",
    slow: |command| format!("Was bei der Größe der Ziele langsam ist, sagt `{command}`."),
    done: "Wann die Aufgabe gelöst ist",
    right: "Die Ergebnisse stimmen bei allen Größen, ohne Data Races und unerlaubte Zugriffe.",
    hint: "Hinweis",
    in_python: include_str!("in_python.de.md"),
};

/// What a student reads, with hints that fold.
fn lesson(task: &Task, kernel: &str) -> String {
    let words = match task.language {
        Language::English => ENGLISH,
        Language::German => GERMAN,
    };
    let mut text = format!("# {}\n\n{}\n", task.title, task.lesson.trim_end());
    text += &format!("\n{} `{kernel}`", words.change);
    if !task.may_change.is_empty() {
        let keys: Vec<String> =
            task.may_change.iter().map(|key| format!("`{}`", LaunchKey::name(*key))).collect();
        let keys = keys.join(&format!(" {} ", words.and));
        text += &format!("{} {keys} in `{}`", words.besides, files::LAUNCH);
    }
    text += &format!(". {}\n", words.check);
    if !task.targets.is_empty() {
        // The launch file has a small size, at which other things may be slow.
        let sizes = task.measured.iter().map(|(name, value)| format!(" --param {name}={value}"));
        let command = format!("gpucast advise {}{}", files::LAUNCH, sizes.collect::<String>());
        text += &format!("\n{}\n", (words.slow)(&command));
    }
    if kernel == files::PYTHON {
        text += &format!("\n{}", words.in_python);
    }
    text += &format!("\n## {}\n\n- {}\n", words.done, words.right);
    for target in &task.targets {
        text += &format!("- {}\n", in_words(target, task.language));
    }
    for (at, hint) in task.hints.iter().enumerate() {
        let summary = format!("{} {}", words.hint, at + 1);
        text += &format!("\n<details><summary>{summary}</summary>\n\n{hint}\n\n</details>\n");
    }
    text
}

/// A target as a sentence.
#[must_use]
pub fn in_words(target: &Target, language: Language) -> String {
    let number = |value: f64| language.number(&value.to_string());
    match (target, language) {
        (Target::Metric { metric, limit, why }, Language::English) => match limit {
            Limit::AtMost(limit) => format!("`{metric}` is at most {limit}: {why}."),
            Limit::AtLeast(limit) => format!("`{metric}` is at least {limit}: {why}."),
        },
        (Target::Metric { metric, limit, why }, Language::German) => match *limit {
            Limit::AtMost(limit) => format!("`{metric}` ist höchstens {}: {why}.", number(limit)),
            Limit::AtLeast(limit) => format!("`{metric}` ist mindestens {}: {why}.", number(limit)),
        },
        (Target::Time { times }, Language::English) => {
            format!("The predicted time is at most {times} times the solution's.")
        }
        (Target::Time { times }, Language::German) => {
            let times = number(*times);
            format!("Die vorhergesagte Zeit ist höchstens {times}-mal so lang wie die der Lösung.")
        }
    }
}
