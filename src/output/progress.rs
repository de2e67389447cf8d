//! A progress bar for long runs: on a terminal only, and only if there is something to wait for.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use gpucast_render::control;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Runs that are over sooner show no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The progress of one launch, counted in CTAs.
pub(crate) struct Progress {
    label: String,
    started: Instant,
    enabled: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Progress {
    pub(crate) fn new(label: String) -> Self {
        let enabled = std::io::stderr().is_terminal();
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
            let style = "{prefix} [{bar:40}] {pos}/{len} CTAs, {msg}";
            let style = ProgressStyle::with_template(style)
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .progress_chars("=> ");
            bar.set_style(style);
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
