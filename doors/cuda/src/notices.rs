//! Sentences for the user, on the standard error of the program.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use gpucast_forecast::run::assembler::Toolchain;
use gpucast_host::Program;
use gpucast_toolchain::Stop;
use gpucast_toolchain::assembler::Installed;

static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Says something once, however often it happens.
pub(crate) fn once(text: &str) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(text.to_owned()) {
        // Nobody can be told that the standard error is closed.
        let _ = writeln!(std::io::stderr(), "gpucast: {text}");
    }
}

/// The program that this library is loaded into.
pub(crate) struct ThisProcess {
    assemblers: Installed,
}

impl ThisProcess {
    /// Assemblers end by themselves: nobody stops them but the one who ends the program.
    pub(crate) fn new() -> Self {
        Self { assemblers: Installed::new(Stop::never()) }
    }
}

impl Program for ThisProcess {
    fn print(&self, text: &[u8]) {
        crate::abi::print(text);
    }

    fn note(&self, text: &str) {
        once(text);
    }

    fn toolchain(&self) -> Option<&dyn Toolchain> {
        Some(&self.assemblers)
    }
}

/// Writes a text to the standard error.
pub(crate) fn print(text: &str) {
    // As above.
    let _ = write!(std::io::stderr(), "{text}");
}
