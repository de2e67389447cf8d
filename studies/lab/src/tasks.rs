//! The tasks that come with the program, from the first index to registers.

use gpucast_forecast::Report;

use crate::language::Language;
use crate::task::{Task, files};

/// The texts of a task.
struct Embedded {
    name: &'static str,
    task: &'static str,
    german: &'static str,
    launch: &'static str,
    start: &'static str,
    solution: &'static str,
    solution_launch: Option<&'static str>,
    reference: &'static str,
    python: Option<InPython>,
}

/// A kernel in Python.
struct InPython {
    start: &'static str,
    reference: &'static str,
}

macro_rules! embedded {
    ($name:literal) => {
        embedded!($name, None, None)
    };
    ($name:literal, python) => {
        embedded!($name, in_python!($name), None)
    };
    ($name:literal, python, own_launch) => {
        embedded!($name, in_python!($name), Some(text_of!($name, "solution.toml")))
    };
    ($name:literal, $python:expr, $solution_launch:expr) => {
        Embedded {
            name: $name,
            task: text_of!($name, "task.toml"),
            german: text_of!($name, "task.de.toml"),
            launch: text_of!($name, "launch.toml"),
            start: text_of!($name, "start.cu"),
            solution: text_of!($name, "solution.cu"),
            solution_launch: $solution_launch,
            reference: text_of!($name, "reference.ptx"),
            python: $python,
        }
    };
}

macro_rules! in_python {
    ($name:literal) => {
        Some(InPython {
            start: text_of!($name, "start.py"),
            reference: text_of!($name, "reference-numba.ptx"),
        })
    };
}

macro_rules! text_of {
    ($task:literal, $file:literal) => {
        include_str!(concat!("../tasks/", $task, "/", $file))
    };
}

/// In the order of a course.
const ALL: [Embedded; 15] = [
    embedded!("01-indexing", python),
    embedded!("02-guard", python),
    embedded!("03-coalescing", python),
    embedded!("04-vectors"),
    embedded!("05-grid-stride", python),
    embedded!("06-transpose", python),
    embedded!("07-banks", python),
    embedded!("08-divergence", python),
    embedded!("09-occupancy", python),
    embedded!("10-reduction", python),
    embedded!("11-scan", python),
    embedded!("12-histogram", python),
    embedded!("13-stencil", python),
    embedded!("14-product", python),
    embedded!("15-registers", python, own_launch),
];

/// The names of all tasks, in the order of a course.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|task| task.name)
}

/// The task of a name: `03-coalescing`, `coalescing` or `3`. `None` if there is none.
///
/// # Errors
///
/// If its files do not belong together.
pub fn find(name: &str) -> Option<Result<Task, Report>> {
    let is_meant = |task: &&Embedded| {
        let (number, word) = task.name.split_once('-').unwrap_or_default();
        let is_number = name.parse::<u32>().is_ok_and(|n| number.parse() == Ok(n));
        name == task.name || name == word || is_number
    };
    ALL.iter().find(is_meant).map(Embedded::task)
}

impl Embedded {
    fn task(&self) -> Result<Task, Report> {
        Task::of_texts(self.name, self.name, &|file| {
            let text = match file {
                files::TASK => self.task,
                files::LAUNCH => self.launch,
                files::START => self.start,
                files::START_IN_PYTHON => self.python.as_ref()?.start,
                files::REFERENCE_OF_NUMBA => self.python.as_ref()?.reference,
                files::SOLUTION => self.solution,
                files::REFERENCE => self.reference,
                files::SOLUTION_LAUNCH => self.solution_launch?,
                _ if file == files::translation(Language::German) => self.german,
                _ => return None,
            };
            Some(text.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tasks_can_be_read_and_found_by_name_word_and_number() {
        for (at, name) in names().enumerate() {
            let task = find(name).unwrap().unwrap();
            assert!(!task.hints.is_empty() && !task.lesson.is_empty(), "{name}");
            let german = task.clone().told_in(Language::German);
            assert_ne!(german.title, task.title, "{name}");
            assert_eq!(find(&(at + 1).to_string()).unwrap().unwrap().name, name);
            let word = name.split_once('-').unwrap().1;
            assert_eq!(find(word).unwrap().unwrap().name, name);
        }
        assert!(find("16").is_none() && find("").is_none());
    }
}
