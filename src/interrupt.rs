//! Ctrl-C: the first one asks the run to end in an orderly way, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use gpucast_toolchain::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit status of a stopped run: 128 and the number of SIGINT, as shells have it.
pub(crate) const STATUS: u8 = 130;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Takes the signals over from the system. Without this, each ends the program at once.
pub(crate) fn listen() {
    ASKED.get_or_init(|| {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the first signal finds the flag unset, and sets it. Where a
            // handler cannot be set, the system's stays.
            let second =
                flag::register_conditional_shutdown(signal, STATUS.into(), Arc::clone(&asked));
            let _ = second.and_then(|_| flag::register(signal, Arc::clone(&asked)));
        }
        asked
    });
}

/// Returns true if the user asked for the end.
pub(crate) fn is_asked() -> bool {
    ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed))
}

/// The same for programs that the toolchain runs.
pub(crate) fn stop() -> Stop {
    Stop::when(is_asked)
}
