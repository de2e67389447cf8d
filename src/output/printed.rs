//! The output of kernels' `printf`: to the standard error, or the file of `--print-to`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use super::destination::{is_stream, keep_inputs};
use crate::failure::{Failure, Report};

/// A destination, and the first thing that went wrong with it.
pub(crate) struct Printed {
    path: Option<PathBuf>,
    state: Mutex<State>,
}

struct State {
    /// None until a kernel runs: a file that is there stays until then.
    writer: Option<Box<dyn Write + Send>>,
    error: Option<io::Error>,
}

impl Printed {
    /// The standard error, or a file, which is emptied when a kernel runs.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let writer: Option<Box<dyn Write + Send>> = match &path {
            None => Some(Box::new(io::stderr())),
            Some(path) => {
                keep_inputs(path)?;
                // Better said before the run than after it. A pipe would wait for its reader here.
                let is_there = path.exists();
                if !is_stream(path) {
                    let tried = OpenOptions::new().append(true).create(true).open(path);
                    tried.map_err(|error| Report::file("write", path, &error))?;
                    if !is_there {
                        // If it cannot be removed, it stays; it is empty.
                        let _ = std::fs::remove_file(path);
                    }
                }
                None
            }
        };
        Ok(Self { path, state: Mutex::new(State { writer, error: None }) })
    }

    /// Write as much as can be written.
    pub(crate) fn write(&self, text: &[u8]) {
        if let Ok(mut state) = self.state.lock()
            && state.error.is_none()
        {
            let written = self.writer(&mut state).and_then(|writer| writer.write_all(text));
            state.error = written.err();
        }
    }

    /// Make sure that everything has arrived. That nobody reads the standard error is no failure.
    pub(crate) fn finish(&self) -> Result<(), Report> {
        let Ok(mut state) = self.state.lock() else { return Ok(()) };
        let flushed = self.writer(&mut state).and_then(Write::flush);
        let failed = state.error.take().map_or(flushed, Err);
        match (failed, &self.path) {
            (Err(error), Some(path)) => Err(Report::file("write", path, &error)),
            _ => Ok(()),
        }
    }

    fn writer<'a>(&self, state: &'a mut State) -> io::Result<&'a mut (dyn Write + Send)> {
        let writer = match (state.writer.take(), &self.path) {
            (Some(writer), _) => writer,
            (None, Some(path)) => Box::new(BufWriter::new(File::create(path)?)),
            (None, None) => Box::new(io::stderr()),
        };
        Ok(&mut **state.writer.insert(writer))
    }
}
