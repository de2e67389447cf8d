//! Files that are replaced whole or not at all.
//!
//! A result is written beside the file that it replaces, and takes that file's place when all of it
//! has arrived. A full disk or an interrupted program leaves the old file as it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file on its way; dropped before [`commit`](Self::commit), it leaves nothing behind.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    /// Path of the new file until it is in place; `None` afterwards, or if it is written in place.
    beside: Option<PathBuf>,
    /// Path of the file that it replaces.
    target: PathBuf,
}

/// Names that are tried for the file beside; more than a few are taken only by interrupted runs.
const MOST_NAMES: u32 = 100;

impl Replacement {
    /// Begins a file at `path`, which may be there already. Links are followed. A file that is not
    /// regular, such as a pipe, is written in place.
    ///
    /// # Errors
    ///
    /// If the folder is not there or cannot be written, or if the old file may not be.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let old = match fs::metadata(&target) {
            Ok(old) => Some(old),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if old.is_some() {
            // Neither a folder nor a file that may not be written can be replaced.
            let file = OpenOptions::new().write(true).open(&target)?;
            if old.as_ref().is_some_and(|old| !old.is_file()) {
                return Ok(Self { file, beside: None, target });
            }
        }
        let (file, beside) = create_beside(&target)?;
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        Ok(Self { file, beside: Some(beside), target })
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    ///
    /// Returns an error if the written bytes do not reach the disk, or the place cannot be taken.
    /// The old file is then as it was.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        if let Some(beside) = &self.beside {
            self.file.sync_all()?;
            fs::rename(beside, &self.target)?;
            self.beside = None;
        }
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(beside) = self.beside.take() {
            // If it cannot be removed, it stays; nobody could be told.
            let _ = fs::remove_file(beside);
        }
    }
}

fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let name = target.file_name().ok_or_else(|| {
        io::Error::new(ErrorKind::InvalidInput, "the path does not end in a file's name")
    })?;
    let mut taken = None;
    for attempt in 0..MOST_NAMES {
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}-{attempt}.part", std::process::id()));
        let beside = target.with_file_name(beside);
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(taken.unwrap_or_else(|| io::Error::from(ErrorKind::AlreadyExists)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("gpucast-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let folder = folder("replacement");
        let path = folder.join("result");
        fs::write(&path, "old").unwrap();
        let mut abandoned = Replacement::begin(&path).unwrap();
        abandoned.write_all(b"half of the n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(abandoned);
        assert_eq!(names(&folder), ["result"]);
        let mut whole = Replacement::begin(&path).unwrap();
        whole.write_all(b"new").unwrap();
        whole.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(&folder), ["result"]);
        assert!(Replacement::begin(&folder).is_err(), "a folder is no file");
        assert!(Replacement::begin(&folder.join("missing").join("file")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_their_files_are_replaced() {
        let folder = folder("replaced-link");
        fs::write(folder.join("file"), "old").unwrap();
        std::os::unix::fs::symlink("file", folder.join("link")).unwrap();
        let mut new = Replacement::begin(&folder.join("link")).unwrap();
        new.write_all(b"new").unwrap();
        new.commit().unwrap();
        assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "new");
        assert!(fs::symlink_metadata(folder.join("link")).unwrap().is_symlink());
        fs::remove_dir_all(&folder).unwrap();
    }
}
