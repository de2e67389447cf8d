//! Where results go: the standard output, or the file of `--output`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use crate::failure::{Failure, Report};

/// An open destination. It is opened before anything is executed, so that a wrong path shows at once, and
/// written when the result is there: a command that fails leaves no file, and one that was there as it was.
pub(crate) struct Output {
    destination: Destination,
    written: bool,
}

enum Destination {
    Stdout,
    File { file: File, path: PathBuf, is_new: bool },
}

impl Output {
    /// The standard output, or a file.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let destination = match path {
            None => Destination::Stdout,
            Some(path) => {
                let is_new = !path.exists();
                let opened =
                    OpenOptions::new().write(true).create(true).truncate(false).open(&path);
                let file = opened.map_err(|error| Report::file("write", &path, &error))?;
                Destination::File { file, path, is_new }
            }
        };
        Ok(Self { destination, written: false })
    }

    /// Writes a whole result and makes sure that it has arrived.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.write_bytes(text.as_bytes())
    }

    /// As [`Output::write`], for what is no text.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let is_first = !self.written;
        self.written = true;
        match &mut self.destination {
            Destination::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
                written.map_err(|error| match error.kind() {
                    ErrorKind::BrokenPipe => Failure::BrokenPipe,
                    _ => Report::new(format!("cannot write the result: {error}")).into(),
                })
            }
            Destination::File { file, path, .. } => {
                // Pipes and devices cannot be cut, and need not be.
                let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
                let cut = if is_first && is_regular { file.set_len(0) } else { Ok(()) };
                cut.and_then(|()| file.write_all(bytes))
                    .map_err(|error| Report::file("write", path, &error).into())
            }
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Destination::File { path, is_new: true, .. } = &self.destination
            && !self.written
        {
            // Nobody waits for an empty file; if it cannot be removed, it stays.
            let _ = fs::remove_file(path);
        }
    }
}
