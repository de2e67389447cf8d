//! The destination of results: the standard output, or the file of `--output`.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use gpucast_buffers::replacement::Replacement;
use gpucast_render::control;

use crate::failure::{Failure, Report};

/// An open destination. It is tried before anything is executed, so that a wrong path shows at
/// once, and replaced when the whole result is there: a command that fails leaves no file, and one
/// that was there as it was.
pub(crate) struct Output {
    destination: Destination,
}

enum Destination {
    Stdout,
    File {
        path: PathBuf,
        /// Everything that was written so far: the file holds all of it or nothing.
        bytes: Vec<u8>,
    },
}

impl Output {
    /// The standard output, or a file.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self { destination: Destination::Stdout }) };
        keep_inputs(&path)?;
        if !is_stream(&path) {
            Replacement::begin(&path).map_err(|error| Report::file("write", &path, &error))?;
        }
        Ok(Self { destination: Destination::File { path, bytes: Vec::new() } })
    }

    /// Writes a whole result and makes sure that it has arrived.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        match self.destination {
            Destination::Stdout => self.write_bytes(control::visible(text).as_bytes()),
            Destination::File { .. } => self.write_bytes(text.as_bytes()),
        }
    }

    /// As [`Output::write`], for bytes that are no text.
    pub(crate) fn write_bytes(&mut self, new: &[u8]) -> Result<(), Failure> {
        match &mut self.destination {
            Destination::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(new).and_then(|()| stdout.flush());
                written.map_err(|error| match error.kind() {
                    ErrorKind::BrokenPipe => Failure::BrokenPipe,
                    _ => Report::new(format!("cannot write the result: {error}")).into(),
                })
            }
            Destination::File { path, bytes } => {
                bytes.extend_from_slice(new);
                let whole = || {
                    let mut file = Replacement::begin(path)?;
                    file.write_all(bytes)?;
                    file.commit()
                };
                whole().map_err(|error| Report::file("write", path, &error).into())
            }
        }
    }
}

/// A pipe or a device: to open and close it would tell its reader that all is over.
pub(super) fn is_stream(path: &Path) -> bool {
    path.exists() && !path.is_file() && !path.is_dir()
}

/// A file that the command line names twice is read, too: a slip of the shell's history must not
/// replace it.
pub(crate) fn keep_inputs(path: &Path) -> Result<(), Failure> {
    let Ok(file) = path.canonicalize() else { return Ok(()) };
    if !file.is_file() {
        return Ok(());
    }
    let means_it = |word: &OsStr| Path::new(word).canonicalize().is_ok_and(|other| other == file);
    let named = std::env::args_os().skip(1).filter(|word| words(word).iter().any(|w| means_it(w)));
    if named.count() < 2 {
        return Ok(());
    }
    let message = format!("{} is an input, and would be overwritten", path.display());
    Err(Failure::Usage(Report::new(message).hint("give the result a name of its own")))
}

/// Returns the parts of an argument that may be a path: `FILE`, `--output=FILE`, `BUFFER=FILE`,
/// `-oFILE`.
fn words(argument: &OsStr) -> Vec<OsString> {
    let mut words = vec![argument.to_owned()];
    if let Some(text) = argument.to_str() {
        words.extend(text.rsplit_once('=').map(|(_, value)| value.into()));
        words.extend(text.strip_prefix("-o").map(Into::into));
    }
    words
}
