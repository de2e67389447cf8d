//! Ctrl-C and SIGTERM: the first one asks the run to end in an orderly way. A second Ctrl-C ends
//! the program, and so does a second of time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use gpucast_toolchain::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
#[cfg(unix)]
use signal_hook::low_level::pipe;

/// The exit status of a stopped run: 128 and the number of SIGINT, as shells have it.
pub(crate) const STATUS: u8 = 130;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Takes the signals over from the system. Without this, each ends the program at once.
pub(crate) fn listen() {
    ASKED.get_or_init(|| {
        let asked = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        watch();
        // The order matters: the first signal finds the flag unset, and sets it. Where a handler
        // cannot be set, the system's stays. `timeout` sends SIGTERM twice, to the program and to
        // its group, which is no impatience.
        let second = flag::register_conditional_shutdown(SIGINT, STATUS.into(), Arc::clone(&asked));
        let _ = second.and_then(|_| flag::register(SIGINT, Arc::clone(&asked)));
        let _ = flag::register(SIGTERM, Arc::clone(&asked));
        asked
    });
}

/// The time from the first signal to the end of the program, whatever it is doing then. What it
/// keeps on disk survives any end.
#[cfg(unix)]
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(900);

/// Has a thread wait for the first signal. Work that asks for it ends in order before that.
#[cfg(unix)]
fn watch() {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    let Ok((mut told, tell)) = UnixStream::pair() else { return };
    for signal in [SIGINT, SIGTERM] {
        let registered = tell.try_clone().map(|tell| pipe::register(signal, tell));
        if registered.is_err() {
            return;
        }
    }
    // Without the thread, the second signal ends the program.
    let _ = std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        if told.read_exact(&mut [0]).is_ok() {
            std::thread::sleep(PATIENCE);
            signal_hook::low_level::exit(STATUS.into());
        }
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
