//! What students hand in.

use std::path::{Path, PathBuf};

use gpucast_forecast::Report;

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
    /// The task that the folder names.
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
            Report::new(format!("{} has no {}", path.display(), files::KERNEL))
                .hint("`gpucast lab start TASK FOLDER` writes the files of a task")
        })
    }

    fn found(path: &Path) -> Option<Self> {
        if path.is_file() {
            let name = path.file_stem()?.to_string_lossy().into_owned();
            return Some(Self { name, kernel: path.to_owned(), launch: None, task: None });
        }
        let kernel = Some(path.join(files::KERNEL)).filter(|path| path.is_file())?;
        let launch = Some(path.join(files::LAUNCH)).filter(|path| path.is_file());
        let task = std::fs::read_to_string(path.join(TASK_NAME)).ok();
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned();
        Some(Self { name, kernel, launch, task: task.map(|task| task.trim().to_owned()) })
    }
}

/// The submissions of a class: the folders and CUDA files of a folder, by name. Others are named
/// in the second list.
///
/// # Errors
///
/// If the folder cannot be read, or has no submission.
pub fn of_class(folder: &Path) -> Result<(Vec<Submission>, Vec<PathBuf>), Report> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| Report::file("read", folder, &error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let is_hidden = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
    };
    paths.retain(|path| !is_hidden(path));
    let (mut all, mut others) = (Vec::new(), Vec::new());
    for path in paths {
        let is_source = path.extension().is_some_and(|end| end == "cu" || end == "ptx");
        match Submission::found(&path).filter(|_| path.is_dir() || is_source) {
            Some(submission) => all.push(submission),
            None => others.push(path),
        }
    }
    if all.is_empty() {
        let message = format!("{} has no submissions", folder.display());
        return Err(Report::new(message)
            .hint(format!("each is a folder with a {}, or a file NAME.cu", files::KERNEL)));
    }
    Ok((all, others))
}
