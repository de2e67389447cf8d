//! The program around a run: notes, progress and printed text go to the terminal.

use std::sync::Mutex;

use gpucast_forecast::Supervisor;
use gpucast_forecast::run::assembler::Toolchain;
use gpucast_render::Format;

use super::diagnostic;
use super::printed::Printed;
use super::progress::Progress;
use crate::assembler::Installed;
use crate::cli::ExecutionOptions;
use crate::failure::{Failure, Report};
use crate::interrupt;

/// A supervisor that shows a run on the standard error.
pub(crate) struct Terminal {
    printed: Printed,
    /// Progress of the launch that runs.
    progress: Mutex<Option<Progress>>,
    /// True if notes are shown.
    notes: bool,
}

impl Terminal {
    /// Shows notes where the result is text: then it is for people.
    pub(crate) fn new(options: &ExecutionOptions, format: Format) -> Result<Self, Failure> {
        let printed = Printed::open(options.print_to.clone())?;
        interrupt::listen();
        Ok(Self { printed, progress: Mutex::new(None), notes: format == Format::Text })
    }

    /// Shows no notes: those about each of many kernels would be noise.
    pub(crate) fn without_notes(options: &ExecutionOptions) -> Result<Self, Failure> {
        Self::new(options, Format::Csv)
    }

    fn with_progress(&self, what: impl FnOnce(Option<&Progress>)) {
        // A poisoned lock only costs the bar.
        what(self.progress.lock().ok().as_deref().and_then(Option::as_ref));
    }

    fn set_progress(&self, new: Option<Progress>) {
        if let Ok(mut progress) = self.progress.lock() {
            *progress = new;
        }
    }
}

impl Supervisor for Terminal {
    fn note(&self, text: &str) {
        if self.notes {
            diagnostic::note(text);
        }
    }

    fn launching(&self, kernel: &str) {
        self.set_progress(Some(Progress::new(kernel.to_owned())));
    }

    fn progress(&self, done: u64, ctas: u64) {
        // Whoever draws already will draw the rest.
        if let Ok(progress) = self.progress.try_lock()
            && let Some(progress) = progress.as_ref()
        {
            progress.update(done, ctas);
        }
    }

    fn launched(&self) {
        self.set_progress(None);
    }

    fn print(&self, text: &[u8]) {
        self.with_progress(|progress| match progress {
            Some(progress) => progress.suspended(|| self.printed.write(text)),
            None => self.printed.write(text),
        });
    }

    fn flush(&self) -> Result<(), Report> {
        self.printed.finish()
    }

    fn should_stop(&self) -> bool {
        interrupt::is_asked()
    }

    fn toolchain(&self) -> Option<&dyn Toolchain> {
        Some(&Installed)
    }
}
