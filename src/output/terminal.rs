//! The program around a run: notes, progress and printed text go to the terminal.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use gpucast_forecast::Supervisor;
use gpucast_forecast::run::assembler::Toolchain;
use gpucast_forecast::run::kept::KeptCounts;
use gpucast_render::Format;
use gpucast_toolchain::assembler::Installed;

use super::manner::{self, Verbosity};
use super::printed::Printed;
use super::progress::{Progress, Whole};
use super::{diagnostic, kept};
use crate::cli::ExecutionOptions;
use crate::failure::{Failure, Report};
use crate::interrupt;
use crate::project;

/// A supervisor that shows a run on the standard error.
pub(crate) struct Terminal {
    printed: Printed,
    /// Progress of the launch that runs.
    progress: Mutex<Option<Progress>>,
    /// Progress of the whole, where it has several parts.
    whole: Mutex<Option<Whole>>,
    /// True if notes are shown.
    notes: bool,
    /// The notes that were shown. A kernel that is executed several times gives rise to each of
    /// them anew.
    noted: Mutex<HashSet<String>>,
    assemblers: Installed,
    /// Counts of earlier runs.
    kept: Option<KeptCounts>,
    /// The moment at which the run ends.
    end: Option<Instant>,
}

impl Terminal {
    /// Shows notes where the result is text: then it is for people.
    pub(crate) fn new(options: &ExecutionOptions, format: Format) -> Result<Self, Failure> {
        options.check_sample()?;
        let notes = match manner::verbosity() {
            Verbosity::Quiet => false,
            Verbosity::Usual => format == Format::Text,
            Verbosity::Verbose => true,
        };
        if manner::verbosity() == Verbosity::Verbose
            && let Some(project) = project::current()
        {
            diagnostic::note(&format!("project {}", project.path.display()));
        }
        let kept = kept::counts(options);
        Ok(Self { notes, kept, ..Self::of_worker(options.print_to.clone())? })
    }

    /// Shows no notes; what kernels print goes to the standard error or a file.
    pub(crate) fn of_worker(print_to: Option<PathBuf>) -> Result<Self, Failure> {
        let printed = Printed::open(print_to)?;
        interrupt::listen();
        let assemblers = Installed::new(interrupt::stop());
        let (progress, whole) = (Mutex::new(None), Mutex::new(None));
        let noted = Mutex::new(HashSet::new());
        let (notes, kept, end) = (false, None, None);
        Ok(Self { printed, progress, whole, notes, noted, assemblers, kept, end })
    }

    /// The same, which counts every launch anew.
    pub(crate) fn counting_anew(self) -> Self {
        Self { kept: None, ..self }
    }

    /// The same, which stops the run at a moment.
    pub(crate) fn until(self, end: Instant) -> Self {
        Self { end: Some(end), ..self }
    }

    /// Shows no notes: those about each of many kernels would be noise.
    pub(crate) fn without_notes(options: &ExecutionOptions) -> Result<Self, Failure> {
        Self::new(options, Format::Csv)
    }

    /// `None` if the work has no parts.
    fn with_whole<T>(&self, what: impl FnOnce(&mut Whole) -> T) -> Option<T> {
        // A poisoned lock only costs the bar.
        self.whole.lock().ok()?.as_mut().map(what)
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
        let is_new = |mut noted: MutexGuard<'_, HashSet<String>>| noted.insert(text.to_owned());
        // A poisoned lock only costs the repetition.
        if self.notes && self.noted.lock().map_or(true, is_new) {
            diagnostic::note(text);
        }
    }

    fn hears_notes(&self) -> bool {
        self.notes
    }

    fn part(&self, index: usize, all: usize) {
        if let Ok(mut whole) = self.whole.lock() {
            whole.get_or_insert_with(|| Whole::new(index, all)).begin(index);
        }
    }

    fn launching(&self, kernel: &str) {
        let has_whole = self.with_whole(|whole| whole.name(kernel)).is_some();
        if !has_whole {
            self.set_progress(Some(Progress::new(kernel.to_owned())));
        }
    }

    fn progress(&self, done: u128, ctas: u128) {
        // A bar has 64 bits.
        let [done, ctas] = [done, ctas].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
        // Whoever draws already will draw the rest.
        if let Ok(mut whole) = self.whole.try_lock()
            && let Some(whole) = whole.as_mut()
        {
            whole.update(done, ctas);
            return;
        }
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
        let printed = self.with_whole(|whole| whole.suspended(|| self.printed.write(text)));
        if printed.is_some() {
            return;
        }
        self.with_progress(|progress| match progress {
            Some(progress) => progress.suspended(|| self.printed.write(text)),
            None => self.printed.write(text),
        });
    }

    fn flush(&self) -> Result<(), Report> {
        self.printed.finish()
    }

    fn should_stop(&self) -> bool {
        interrupt::is_asked() || self.end.is_some_and(|end| Instant::now() >= end)
    }

    fn kept_counts(&self) -> Option<&KeptCounts> {
        self.kept.as_ref()
    }

    fn toolchain(&self) -> Option<&dyn Toolchain> {
        Some(&self.assemblers)
    }
}
