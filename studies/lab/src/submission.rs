//! What students hand in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gpucast_forecast::Report;
use serde::Deserialize;
use tempfile::TempDir;

use crate::hand_out::TASK_NAME;
use crate::task::files;

/// A submission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Submission {
    /// Whose it is: the name of the folder or the file.
    pub name: String,
    /// The kernel.
    pub kernel: PathBuf,
    /// The student's launch file, if there is one.
    pub launch: Option<PathBuf>,
    /// The task that the folder names, in a line.
    pub task: Option<String>,
}

impl Submission {
    /// A folder as it was handed out, or a kernel alone.
    ///
    /// # Errors
    ///
    /// If there is no kernel.
    pub fn at(path: &Path) -> Result<Self, Report> {
        Self::found(path).ok_or_else(|| {
            let (cuda, python) = (files::KERNEL, files::PYTHON);
            Report::new(format!("{} has no {cuda} and no {python}", path.display()))
                .hint("`gpucast lab start TASK FOLDER` writes the files of a task")
        })
    }

    fn found(path: &Path) -> Option<Self> {
        if path.is_file() {
            let name = path.file_stem()?.to_string_lossy().into_owned();
            return Some(Self { name, kernel: path.to_owned(), launch: None, task: None });
        }
        let kernels = [files::KERNEL, files::PYTHON].map(|name| path.join(name));
        let kernel = kernels.into_iter().find(|path| path.is_file())?;
        let launch = Some(path.join(files::LAUNCH)).filter(|path| path.is_file());
        let task = std::fs::read_to_string(path.join(TASK_NAME)).ok();
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned();
        let task = task.map(|text| text.trim().lines().next().unwrap_or_default().to_owned());
        Some(Self { name, kernel, launch, task })
    }
}

/// The submissions of a class.
pub struct Class {
    /// By name.
    pub submissions: Vec<Submission>,
    /// What the folder has besides.
    pub others: Vec<PathBuf>,
    /// Holds the kernels of the page's files for as long as somebody may read them.
    unpacked: Option<TempDir>,
}

impl Class {
    /// The folders, kernels and files of the page in a folder. With `only`, the page's files give
    /// kernels of that task alone. The PTX of kernels in Python is no submission of its own.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read, or has no submission.
    pub fn of(folder: &Path, only: Option<&str>) -> Result<Self, Report> {
        let entries =
            std::fs::read_dir(folder).map_err(|error| Report::file("read", folder, &error))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let is_hidden = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
        };
        paths.retain(|path| !is_hidden(path));
        let mut class = Self { submissions: Vec::new(), others: Vec::new(), unpacked: None };
        for path in paths {
            let ending = path.extension().unwrap_or_default();
            if ending == "ptx" && path.with_extension("py").is_file() {
                continue;
            }
            let is_source = ["cu", "ptx", "py"].iter().any(|known| ending == *known);
            if ending == "json"
                && let Some(progress) = Progress::read(&path)
            {
                class.unpack(&path, progress, only)?;
                continue;
            }
            match Submission::found(&path).filter(|_| path.is_dir() || is_source) {
                Some(submission) => class.submissions.push(submission),
                None => class.others.push(path),
            }
        }
        if class.submissions.is_empty() {
            let message = format!("{} has no submissions", folder.display());
            let hint = format!(
                "each is a folder with a {}, a file NAME.cu, or a NAME.json of the page",
                files::KERNEL
            );
            return Err(Report::new(message).hint(hint));
        }
        Ok(class)
    }

    /// Adds what a student has changed in the page.
    fn unpack(
        &mut self,
        path: &Path,
        progress: Progress,
        only: Option<&str>,
    ) -> Result<(), Report> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if self.unpacked.is_none() {
            let folder = tempfile::Builder::new().prefix("gpucast-lab-").tempdir();
            let folder =
                folder.map_err(|error| Report::file("write", &std::env::temp_dir(), &error))?;
            self.unpacked = Some(folder);
        }
        let Some(all) = &self.unpacked else { return Ok(()) };
        for (task, kept) in progress.tasks {
            let Some(mine) = kept.mine.filter(|_| only.is_none_or(|only| only == task)) else {
                continue;
            };
            let folder = all.path().join(self.submissions.len().to_string());
            let write = |path: &Path, text: &str| {
                std::fs::write(path, text).map_err(|error| Report::file("write", path, &error))
            };
            std::fs::create_dir(&folder).map_err(|error| Report::file("write", &folder, &error))?;
            let (kernel, launch) = (folder.join(files::KERNEL), folder.join(files::LAUNCH));
            write(&kernel, &mine.source)?;
            write(&launch, &mine.launch)?;
            self.submissions.push(Submission {
                name: name.clone(),
                kernel,
                launch: Some(launch),
                task: Some(task),
            });
        }
        Ok(())
    }
}

/// What the page saves of a student's work.
#[derive(Deserialize)]
struct Progress {
    schema: String,
    tasks: BTreeMap<String, Kept>,
}

/// What it keeps of a task. Points that it claims count for nothing.
#[derive(Deserialize)]
struct Kept {
    /// The student's version, if it is not the start code.
    mine: Option<Version>,
}

#[derive(Deserialize)]
struct Version {
    /// PTX, or CUDA.
    source: String,
    launch: String,
}

impl Progress {
    /// The progress of a file, if it has one.
    fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let progress: Self = serde_json::from_str(&text).ok()?;
        (progress.schema == "gpucast.classroom/1").then_some(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_file_has_a_submission_for_each_changed_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let version = r#"{ "source": ".version 8.0", "launch": "module = 'k'", "cuda": null }"#;
        let text = format!(
            r#"{{ "schema": "gpucast.classroom/1", "tasks": {{ "02-guard": {{ "mine": {version},
            "points": 100 }}, "11-scan": {{ "mine": {version} }}, "03-coalescing": {{ "hints": 1 }} }} }}"#
        );
        std::fs::write(folder.path().join("anna.json"), text).unwrap();
        std::fs::write(folder.path().join("notes.json"), "{}").unwrap();
        let tasks = |only| {
            let class = Class::of(folder.path(), only).unwrap();
            assert_eq!(class.others, [folder.path().join("notes.json")]);
            assert!(class.submissions.iter().all(|one| one.name == "anna" && one.kernel.is_file()));
            class.submissions.into_iter().map(|one| one.task.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(tasks(None), ["02-guard", "11-scan"]);
        assert_eq!(tasks(Some("11-scan")), ["11-scan"]);
        assert!(Class::of(folder.path(), Some("12-histogram")).is_err());
    }
}
