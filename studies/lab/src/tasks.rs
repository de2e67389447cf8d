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
}

macro_rules! embedded {
    ($name:literal, $solution_launch:expr) => {
        Embedded {
            name: $name,
            task: include_str!(concat!("../tasks/", $name, "/task.toml")),
            german: include_str!(concat!("../tasks/", $name, "/task.de.toml")),
            launch: include_str!(concat!("../tasks/", $name, "/launch.toml")),
            start: include_str!(concat!("../tasks/", $name, "/start.cu")),
            solution: include_str!(concat!("../tasks/", $name, "/solution.cu")),
            solution_launch: $solution_launch,
            reference: include_str!(concat!("../tasks/", $name, "/reference.ptx")),
        }
    };
}

/// In the order of a course.
const ALL: [Embedded; 15] = [
    embedded!("01-indexing", None),
    embedded!("02-guard", None),
    embedded!("03-coalescing", None),
    embedded!("04-vectors", None),
    embedded!("05-grid-stride", None),
    embedded!("06-transpose", None),
    embedded!("07-banks", None),
    embedded!("08-divergence", None),
    embedded!("09-occupancy", None),
    embedded!("10-reduction", None),
    embedded!("11-scan", None),
    embedded!("12-histogram", None),
    embedded!("13-stencil", None),
    embedded!("14-product", None),
    embedded!("15-registers", Some(include_str!("../tasks/15-registers/solution.toml"))),
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
