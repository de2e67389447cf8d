//! What Nsight Compute prints: to the standard output, or the file of `--log-file`.

use std::path::Path;

use crate::failure::Failure;
use crate::output::Output;

/// Lines and pages on their way to one place.
pub(super) struct Log {
    output: Output,
    text: String,
}

impl Log {
    /// The standard output, or a file; the words `stdout` and `stderr` mean the streams.
    pub(super) fn open(file: Option<&Path>) -> Result<Self, Failure> {
        let path = match file.and_then(Path::to_str) {
            Some("stdout") => None,
            Some("stderr") => Some("/dev/stderr".into()),
            _ => file.map(Path::to_owned),
        };
        Ok(Self { output: Output::open(path)?, text: String::new() })
    }

    /// A line about the run.
    pub(super) fn say(&mut self, line: &str) {
        self.text.push_str(&format!("==PROF== {line}\n"));
    }

    /// A warning.
    pub(super) fn warn(&mut self, text: &str) {
        self.text.push_str(&format!("==WARNING== {text}\n"));
    }

    /// A page.
    pub(super) fn write(&mut self, page: &str) {
        self.text.push_str(page);
    }

    /// Writes everything.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.output.write(&self.text)
    }
}
