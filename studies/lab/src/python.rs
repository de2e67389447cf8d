//! Kernels in Python, for Numba.
//!
//! Who compiles one executes the student's file. A check does, by the student's own Python, and
//! leaves the PTX beside the file. Grades read that PTX, which says from which text it was made.

use std::path::{Path, PathBuf};

use gpucast_forecast::{Report, SourceText};
use sha2::{Digest as _, Sha256};

use crate::launch::Launch;
pub use crate::launch::Signature;
use crate::task::{Task, files};

/// Returns true for a file of Python.
#[must_use]
pub fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "py")
}

/// The kernel that a task wants, with its types.
///
/// # Errors
///
/// If the task's launch file does not say it.
pub fn signature(task: &Task) -> Result<Signature, Report> {
    let source = SourceText::new(format!("{}/{}", task.name, files::LAUNCH), task.launch.clone());
    Launch::of(&source)?.signature()
}

/// The file of the PTX of a file of Python.
#[must_use]
pub fn compiled(source: &Path) -> PathBuf {
    source.with_extension("ptx")
}

/// Keeps the PTX of a file beside it.
///
/// # Errors
///
/// If a file cannot be read or written.
pub fn keep(source: &Path, ptx: &str) -> Result<(), Report> {
    let text = format!("{}\n{ptx}", stamp(source)?);
    let path = compiled(source);
    std::fs::write(&path, text).map_err(|error| Report::file("write", &path, &error))
}

/// The PTX that was kept of a file.
///
/// # Errors
///
/// If there is none, or the file has changed since.
pub fn kept(source: &Path) -> Result<PathBuf, Report> {
    let path = compiled(source);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let was_made = text.lines().next() == Some(stamp(source)?.as_str());
    let wrong =
        if text.is_empty() { "has no PTX beside it" } else { "has changed since it was compiled" };
    if was_made {
        return Ok(path);
    }
    Err(Report::new(format!("{} {wrong}", source.display()))
        .hint("`gpucast lab check` compiles it, which executes it; grades only read its PTX"))
}

/// The first line of the PTX of a file. The file's name may change on its way.
fn stamp(source: &Path) -> Result<String, Report> {
    let text = std::fs::read(source).map_err(|error| Report::file("read", source, &error))?;
    // Editors and archives of other systems change the ends of lines.
    let text: Vec<u8> = text.into_iter().filter(|byte| *byte != b'\r').collect();
    let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("// Numba's PTX of a file with SHA-256 {hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_is_that_of_the_text_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("kernel.py");
        std::fs::write(&source, "a\n").unwrap();
        assert!(kept(&source).unwrap_err().message.ends_with("has no PTX beside it"));
        keep(&source, ".version 8.8\n").unwrap();
        assert_eq!(kept(&source).unwrap(), folder.path().join("kernel.ptx"));
        std::fs::write(&source, "a\r\n").unwrap();
        assert!(kept(&source).is_ok());
        std::fs::write(&source, "b\n").unwrap();
        assert!(kept(&source).unwrap_err().message.ends_with("has changed since it was compiled"));
    }
}
