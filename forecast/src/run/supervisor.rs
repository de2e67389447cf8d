//! The caller of a long run, as the run sees it.

use crate::failure::Report;
use crate::run::assembler::Toolchain;
use crate::run::kept::KeptCounts;

/// Hears of a run's progress, can end it, and lends it what only a program has: an assembler, and a
/// place for counts.
///
/// Every method has a default that does nothing: [`Alone`] is a supervisor without opinions.
pub trait Supervisor: Sync {
    /// Passes on a note that nobody asked for but should know.
    fn note(&self, _text: &str) {}

    /// Returns true if notes reach somebody. Nothing is executed to find out what nobody hears.
    fn hears_notes(&self) -> bool {
        false
    }

    /// The part `index`, counted from 0, of work in `all` parts begins: a kernel of a sweep.
    fn part(&self, _index: usize, _all: usize) {}

    /// A launch of this kernel begins.
    fn launching(&self, _kernel: &str) {}

    /// `done` of `ctas` CTAs of the launch have run, all repetitions together. Any thread may call.
    fn progress(&self, _done: u128, _ctas: u128) {}

    /// The launch has ended, with or without a result.
    fn launched(&self) {}

    /// A kernel printed this.
    fn print(&self, _text: &[u8]) {}

    /// A repetition has ended: everything that was printed should have arrived.
    ///
    /// # Errors
    ///
    /// The report says why the output has not arrived. The run ends with it.
    fn flush(&self) -> Result<(), Report> {
        Ok(())
    }

    /// Returns true to end the run, which then fails with
    /// [`Failure::Stopped`](crate::Failure::Stopped).
    fn should_stop(&self) -> bool {
        false
    }

    /// A place where counts are kept from run to run; none if every launch is to be counted anew.
    fn kept_counts(&self) -> Option<&KeptCounts> {
        None
    }

    /// NVIDIA's assembler, for callers who can run programs. Without it, rules estimate machine
    /// instructions.
    fn toolchain(&self) -> Option<&dyn Toolchain> {
        None
    }
}

/// A supervisor who hears nothing, stops nothing and has no assembler.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Supervisor for Alone {}

/// Passes on nothing but the wish to stop, and the assembler: for trials that nobody wants to hear
/// of, and whose counts are not worth keeping.
pub(crate) struct Silent<'a>(pub(crate) &'a dyn Supervisor);

impl Supervisor for Silent<'_> {
    fn should_stop(&self) -> bool {
        self.0.should_stop()
    }

    fn toolchain(&self) -> Option<&dyn Toolchain> {
        self.0.toolchain()
    }
}
