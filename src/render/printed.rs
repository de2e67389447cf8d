//! What `printf` of kernels prints: the standard error, or the file of `--print-to`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use crate::failure::{Failure, Report};

/// An open destination, and the first thing that went wrong with it.
pub(crate) struct Printed {
    path: Option<PathBuf>,
    state: Mutex<(Box<dyn Write + Send>, Option<io::Error>)>,
}

impl Printed {
    /// The standard error, or a new file.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let writer: Box<dyn Write + Send> = match &path {
            None => Box::new(io::stderr()),
            Some(path) => {
                let file = File::create(path);
                let file = file.map_err(|error| Report::file("write", path, &error))?;
                Box::new(BufWriter::new(file))
            }
        };
        Ok(Self { path, state: Mutex::new((writer, None)) })
    }

    /// Write as much as can be written.
    pub(crate) fn write(&self, text: &[u8]) {
        if let Ok(mut state) = self.state.lock()
            && state.1.is_none()
        {
            state.1 = state.0.write_all(text).err();
        }
    }

    /// Make sure that everything has arrived. That nobody reads the standard error is no failure.
    pub(crate) fn finish(&self) -> Result<(), Report> {
        let Ok(mut state) = self.state.lock() else { return Ok(()) };
        let flushed = state.0.flush();
        let failed = state.1.take().map_or(flushed, Err);
        match (failed, &self.path) {
            (Err(error), Some(path)) => Err(Report::file("write", path, &error)),
            _ => Ok(()),
        }
    }
}
