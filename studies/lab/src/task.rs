//! A task: what a student is given, and what counts as done.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::toml_report::toml_report;
use gpucast_forecast::{Report, SourceText};
use serde::Deserialize;

use crate::language::Language;
use crate::translation::Translation;

/// Names of a task's files.
pub mod files {
    use crate::language::Language;

    /// The task itself.
    pub const TASK: &str = "task.toml";
    /// The launch of kernel and solution, with the buffers.
    pub const LAUNCH: &str = "launch.toml";
    /// The student's kernel, in a student's folder.
    pub const KERNEL: &str = "kernel.cu";
    /// The student's kernel in Python.
    pub const PYTHON: &str = "kernel.py";
    /// The kernel that a student is given.
    pub const START: &str = "start.cu";
    /// The same in Python.
    pub const START_IN_PYTHON: &str = "start.py";
    /// The teacher's.
    pub const SOLUTION: &str = "solution.cu";
    /// The teacher's launch, where it differs.
    pub const SOLUTION_LAUNCH: &str = "solution.toml";
    /// The solution as PTX, which needs no compiler and is no text to copy from.
    pub const REFERENCE: &str = "reference.ptx";
    /// The solution in Python as Numba compiles it.
    pub const REFERENCE_OF_NUMBA: &str = "reference-numba.ptx";

    /// The task's texts in another language than [`TASK`] has.
    #[must_use]
    pub fn translation(language: Language) -> String {
        format!("task.{}.toml", language.code())
    }
}

/// A task with its texts.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its name: that of its folder.
    pub name: String,
    /// The language of what is told.
    pub language: Language,
    /// Its title.
    pub title: String,
    /// What the student reads, in Markdown.
    pub lesson: String,
    /// Hints, each of which says a little more than the one before.
    pub hints: Vec<String>,
    /// The sizes at which results are compared.
    pub cases: Vec<Parameters>,
    /// The size at which targets are measured.
    pub measured: Parameters,
    /// The targets.
    pub targets: Vec<Target>,
    /// The keys of a launch that a student may change.
    pub may_change: Vec<LaunchKey>,
    /// The launch file.
    pub launch: String,
    /// The kernel that is given.
    pub start: String,
    /// The same in Python, if the task has it.
    pub start_in_python: Option<String>,
    /// The solution.
    pub solution: Solution,
    /// The texts in other languages.
    translations: BTreeMap<Language, Translation>,
}

/// What a submission is compared with.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Its CUDA source, if the folder has it.
    pub cuda: Option<String>,
    /// Its PTX, if somebody has compiled it.
    pub ptx: Option<String>,
    /// The PTX of the solution in Python, for arguments of Numba.
    pub numba: Option<String>,
    /// Its launch file, where it is not the task's.
    pub launch: Option<String>,
}

/// A limit that a submission shall keep.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Of a metric of the profile.
    Metric {
        /// Its name.
        metric: String,
        /// The limit.
        limit: Limit,
        /// Why it can be kept.
        why: String,
    },
    /// Of the predicted time, as a multiple of the solution's.
    Time {
        /// The multiple.
        times: f64,
    },
}

/// The side on which a metric shall stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
}

impl Limit {
    /// Returns true if a value keeps the limit.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }
}

/// A key of `[[launch]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchKey {
    /// The blocks of the grid.
    Grid,
    /// The threads of a block.
    Block,
    /// The blocks of a cluster.
    Cluster,
    /// Shared memory beside that of the kernel's arrays.
    SharedBytes,
}

impl LaunchKey {
    /// The key in a launch file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Block => "block",
            Self::Cluster => "cluster",
            Self::SharedBytes => "shared_bytes",
        }
    }
}

/// `task.toml` as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    lesson: String,
    #[serde(default)]
    hints: Vec<String>,
    cases: Vec<BTreeMap<String, f64>>,
    measured: BTreeMap<String, f64>,
    #[serde(default)]
    may_change: Vec<LaunchKey>,
    #[serde(default, rename = "target")]
    targets: Vec<TargetTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetTable {
    metric: Option<String>,
    at_most: Option<f64>,
    at_least: Option<f64>,
    #[serde(default)]
    why: String,
    time: Option<f64>,
}

impl TargetTable {
    fn target(self) -> Result<Target, String> {
        match self {
            Self { metric: None, at_most: None, at_least: None, time: Some(times), .. } => {
                Ok(Target::Time { times })
            }
            Self { metric: Some(metric), at_most, at_least, time: None, why } => {
                let limit = match (at_most, at_least) {
                    (Some(limit), None) => Limit::AtMost(limit),
                    (None, Some(limit)) => Limit::AtLeast(limit),
                    _ => return Err("a metric has either `at_most` or `at_least`".to_owned()),
                };
                MetricChoice::parse(&metric)?;
                Ok(Target::Metric { metric, limit, why })
            }
            _ => Err("a target has either a `metric` or a `time`".to_owned()),
        }
    }
}

/// The texts of a task's folder, by the names of [`files`].
pub(crate) type Texts<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl Task {
    /// The task of a folder.
    ///
    /// # Errors
    ///
    /// If a file is missing or cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Report> {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
        let file = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        Self::of_texts(&name, &folder.display().to_string(), &file)
    }

    /// The task of texts, which lie at `place`.
    pub(crate) fn of_texts(name: &str, place: &str, texts: &Texts<'_>) -> Result<Self, Report> {
        let needed = |file: &str| {
            texts(file).ok_or_else(|| {
                Report::new(format!("the task {place} has no readable file {file}"))
                    .hint("`gpucast lab new FOLDER` writes a task with all of its files")
            })
        };
        let text = needed(files::TASK)?;
        let source = SourceText::new(format!("{place}/{}", files::TASK), text);
        let file: File =
            toml::from_str(&source.text).map_err(|error| toml_report(&source, &error))?;
        let invalid = |message: String| {
            Report::new(format!("{}: {message}", source.name))
                .hint("write [[target]] with metric, at_most and why, or with time = 1.1")
        };
        if file.cases.is_empty() {
            return Err(Report::new(format!("{}: `cases` has no size", source.name))
                .hint("write cases = [{ n = 1 }, { n = 1000 }]"));
        }
        let targets = file.targets.into_iter().map(TargetTable::target);
        let targets = targets.collect::<Result<Vec<_>, _>>().map_err(invalid)?;
        let mut translations = BTreeMap::new();
        for &language in Language::ALL {
            let name = files::translation(language);
            let Some(text) = texts(&name) else { continue };
            let source = SourceText::new(format!("{place}/{name}"), text);
            let translation = Translation::of(&source, &file.hints, &targets)?;
            translations.insert(language, translation);
        }
        let solution = Solution {
            cuda: texts(files::SOLUTION),
            ptx: texts(files::REFERENCE),
            numba: texts(files::REFERENCE_OF_NUMBA),
            launch: texts(files::SOLUTION_LAUNCH),
        };
        if solution.cuda.is_none() && solution.ptx.is_none() {
            needed(files::SOLUTION)?;
        }
        Ok(Self {
            name: name.to_owned(),
            language: Language::default(),
            title: file.title,
            lesson: file.lesson,
            hints: file.hints,
            cases: file.cases,
            measured: file.measured,
            targets,
            may_change: file.may_change,
            launch: needed(files::LAUNCH)?,
            start: needed(files::START)?,
            start_in_python: texts(files::START_IN_PYTHON),
            solution,
            translations,
        })
    }

    /// The task in a language. What the folder has no translation of stays as `task.toml` says it.
    #[must_use]
    pub fn told_in(self, language: Language) -> Self {
        let Some(translation) = self.translations.get(&language) else {
            return Self { language, ..self };
        };
        let Translation { title, lesson, hints, .. } = translation.clone();
        let targets = self.targets.iter().map(|target| translation.target(target)).collect();
        Self { language, title, lesson, hints, targets, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(targets: &str) -> Result<Task, Report> {
        let text = format!(
            "title = \"T\"\nlesson = \"L\"\ncases = [{{ n = 1 }}]\nmeasured = {{ n = 9 }}\n{targets}"
        );
        Task::of_texts("t", "tasks/t", &|name| match name {
            files::TASK => Some(text.clone()),
            files::LAUNCH | files::START | files::SOLUTION => Some(String::new()),
            _ => None,
        })
    }

    /// A task with two hints and a reason, and a German translation.
    fn translated(german: &str) -> Result<Task, Report> {
        let targets = "[[target]]\nmetric = \"shared_load\"\nat_most = 4.5\nwhy = \"of tiles\"\n[[target]]\ntime = 1.5\n";
        let head = "title = \"T\"\nlesson = \"L\"\nhints = [\"a\", \"b\"]\n";
        let text = format!("{head}cases = [{{ n = 1 }}]\nmeasured = {{ n = 9 }}\n{targets}");
        Task::of_texts("t", "tasks/t", &|name| match name {
            files::TASK => Some(text.clone()),
            "task.de.toml" => Some(format!("title = \"D\"\nlesson = \"E\"\n{german}")),
            files::LAUNCH | files::START | files::SOLUTION => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn a_target_is_a_limit_of_a_metric_or_a_multiple_of_a_time() {
        let targets = "[[target]]\nmetric = \"shared_load\"\nat_least = 2.0\nwhy = \"w\"\n[[target]]\ntime = 1.5\n";
        let metric = "shared_load".to_owned();
        let limit = Limit::AtLeast(2.0);
        assert_eq!(
            task(targets).unwrap().targets,
            [Target::Metric { metric, limit, why: "w".to_owned() }, Target::Time { times: 1.5 }]
        );
        assert!(limit.holds(2.0) && !limit.holds(1.9));
        let metric = "metric = \"shared_load\"";
        let both = format!("{metric}\ntime = 1.0");
        for wrong in [metric, "metric = \"m\"\nat_most = 1.0", "at_most = 1.0", &both, ""] {
            let refused = task(&format!("[[target]]\n{wrong}\n")).unwrap_err();
            assert!(refused.message.contains("tasks/t/task.toml"), "{}", refused.message);
        }
    }

    #[test]
    fn a_task_is_told_in_the_languages_that_its_folder_has() {
        let german = "hints = [\"c\", \"d\"]\n[why]\nshared_load = \"wegen der Kacheln\"\n";
        let task = translated(german).unwrap();
        assert_eq!((task.title.as_str(), task.hints[1].as_str()), ("T", "b"));
        let german = task.clone().told_in(Language::German);
        assert_eq!((german.title.as_str(), german.lesson.as_str()), ("D", "E"));
        assert_eq!(german.hints, ["c", "d"]);
        let (Target::Metric { limit, why, .. }, Target::Time { .. }) =
            (&german.targets[0], &german.targets[1])
        else {
            panic!("{:?}", german.targets)
        };
        assert_eq!((*limit, why.as_str()), (Limit::AtMost(4.5), "wegen der Kacheln"));
        assert_eq!(german.told_in(Language::English).language, Language::English);
    }

    #[test]
    fn a_translation_that_says_more_or_less_than_its_task_is_refused() {
        let why = "[why]\nshared_load = \"w\"\n";
        let two = "hints = [\"c\", \"d\"]\n";
        for (wrong, says) in [
            (format!("hints = [\"c\"]\n{why}"), "its number of hints is 1, and the task's is 2"),
            (why.to_owned(), "its number of hints is 0, and the task's is 2"),
            (two.to_owned(), "[why] has no reason for `shared_load`"),
            (format!("{two}{why}shared_store = \"w\"\n"), "[why] has `shared_store`, which"),
            (format!("{two}cases = []\n{why}"), "cases"),
        ] {
            let refused = translated(&wrong).unwrap_err();
            assert!(refused.message.contains(says), "{}", refused.message);
        }
    }

    #[test]
    fn a_fault_in_the_file_has_its_place() {
        let refused = task("hint = 3\n").unwrap_err();
        assert!(refused.message.contains("hint"), "{}", refused.message);
        assert_eq!(refused.hint.as_deref(), Some("did you mean `hints`?"));
        assert!(refused.anchor.is_some());
    }
}
