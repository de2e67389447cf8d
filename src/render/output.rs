//! Where results go: the standard output, or the file of `--output`.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;

use crate::failure::{Failure, Report};

/// An open destination.
pub(crate) struct Output {
    writer: BufWriter<Box<dyn Write>>,
    path: Option<PathBuf>,
}

impl Output {
    /// The standard output, or a new file.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let writer: Box<dyn Write> = match &path {
            None => Box::new(io::stdout()),
            Some(path) => {
                Box::new(File::create(path).map_err(|error| Report::file("write", path, &error))?)
            }
        };
        Ok(Self { writer: BufWriter::new(writer), path })
    }

    /// Writes a whole result and makes sure that it has arrived.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.write_bytes(text.as_bytes())
    }

    /// As [`Output::write`], for what is no text.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.writer.write_all(bytes).and_then(|()| self.writer.flush());
        written.map_err(|error| match (error.kind(), &self.path) {
            (ErrorKind::BrokenPipe, _) => Failure::BrokenPipe,
            (_, Some(path)) => Report::file("write", path, &error).into(),
            (_, None) => Report::new(format!("cannot write the result: {error}")).into(),
        })
    }
}
