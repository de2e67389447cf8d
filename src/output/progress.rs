//! A progress bar for long runs: on a terminal only, and only if there is something to wait for.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use gpucast_render::control;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::manner::{self, Verbosity};

/// Runs that are over sooner show no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Returns true if there is somebody to watch, who did not ask for silence.
fn is_shown() -> bool {
    std::io::stderr().is_terminal() && manner::verbosity() != Verbosity::Quiet
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// The progress of one launch, counted in CTAs.
pub(crate) struct Progress {
    label: String,
    started: Instant,
    enabled: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Progress {
    pub(crate) fn new(label: String) -> Self {
        let enabled = is_shown();
        Self { label, started: Instant::now(), enabled, bar: Mutex::new(None) }
    }

    /// `done` of `all` CTAs have run; may be called from any thread.
    pub(crate) fn update(&self, done: u64, all: u64) {
        if !self.enabled || self.started.elapsed() < PATIENCE {
            return;
        }
        // Whoever draws already will draw the rest; a poisoned lock only costs the bar.
        let Ok(mut bar) = self.bar.try_lock() else { return };
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
            bar.set_style(style("{prefix} [{bar:40}] {pos}/{len} CTAs, {msg}"));
            bar.set_prefix(control::visible(&self.label).into_owned());
            bar
        });
        bar.set_length(all);
        bar.set_position(done);
        // CTAs take about the same time each. The bar's own estimate starts only when the bar
        // does, and takes the CTAs before that for instantaneous.
        let left =
            self.started.elapsed().mul_f64(all.saturating_sub(done) as f64 / done.max(1) as f64);
        bar.set_message(format!("{:.0} s left", left.as_secs_f64().ceil()));
    }

    /// Call `write` while the bar is out of the way.
    pub(crate) fn suspended(&self, write: impl FnOnce()) {
        match self.bar.lock().ok().as_deref() {
            Some(Some(bar)) => bar.suspend(write),
            _ => write(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Ok(Some(bar)) = self.bar.get_mut().map(Option::take) {
            bar.finish_and_clear();
        }
    }
}

/// The progress of work in several parts, such as the kernels of a sweep. Its bar stays while
/// launches come and go.
pub(crate) struct Whole {
    started: Instant,
    /// The part that this run began with: a continued sweep has earlier ones.
    first: usize,
    index: usize,
    all: usize,
    name: String,
    bar: Option<ProgressBar>,
}

impl Whole {
    pub(crate) fn new(first: usize, all: usize) -> Self {
        Self { started: Instant::now(), first, index: first, all, name: String::new(), bar: None }
    }

    /// A part begins.
    pub(crate) fn begin(&mut self, index: usize) {
        self.index = index;
        self.update(0, 1);
    }

    /// The part is now about this kernel.
    pub(crate) fn name(&mut self, kernel: &str) {
        self.name = control::visible(kernel).into_owned();
    }

    /// `done` of `all` CTAs of the part have run.
    pub(crate) fn update(&mut self, done: u64, all: u64) {
        if self.started.elapsed() < PATIENCE || !is_shown() {
            return;
        }
        let number = self.all as u64;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(number), ProgressDrawTarget::stderr());
            bar.set_style(style("[{bar:40}] {msg}"));
            bar
        });
        bar.set_position(self.index as u64);
        let within = done as f64 / all.max(1) as f64;
        let left = match left(
            self.started.elapsed(),
            self.index - self.first,
            within,
            self.all - self.index,
        ) {
            Some(left) => format!(", {:.0} s left", left.as_secs_f64().ceil()),
            None => String::new(),
        };
        bar.set_message(format!("{} of {}{left}: {}", self.index + 1, self.all, self.name));
    }

    /// Call `write` while the bar is out of the way.
    pub(crate) fn suspended<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// The time that is left after `done` parts and a fraction of the next, if parts take about the
/// same time each. `None` before there is anything to go by. `remaining` counts the part that runs.
fn left(elapsed: Duration, done: usize, within: f64, remaining: usize) -> Option<Duration> {
    let done = done as f64 + within;
    // A hundredth of a part says nothing.
    (done > 0.01).then(|| elapsed.mul_f64(((remaining as f64 - within) / done).max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_parts_before() {
        let second = Duration::from_secs(1);
        assert_eq!(left(second, 0, 0.0, 10), None);
        assert_eq!(left(second, 1, 0.0, 9), Some(9 * second));
        assert_eq!(left(3 * second, 1, 0.5, 2), Some(3 * second));
        assert_eq!(left(second, 5, 1.0, 1), Some(Duration::ZERO));
    }
}
