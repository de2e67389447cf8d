//! Waits for a program, and ends it when the user ends `gpucast`.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::interrupt;

/// The first pause between two looks at the program, and the longest.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);

/// The time that a program has for an end in order.
const PATIENCE: Duration = Duration::from_millis(400);

/// Runs a program to its end, and returns its status and its number. Without this, a signal to
/// `gpucast` alone would leave it behind.
pub(super) fn run(command: &mut Command) -> io::Result<(ExitStatus, u32)> {
    interrupt::listen();
    let mut child = command.spawn()?;
    let mut pause = SHORTEST;
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, child.id()));
        }
        if interrupt::is_asked() {
            match asked {
                None => ask(&child),
                Some(since) if since.elapsed() > PATIENCE => child.kill()?,
                Some(_) => {}
            }
            asked.get_or_insert_with(Instant::now);
        }
        thread::sleep(pause);
        pause = (2 * pause).min(LONGEST);
    }
}

/// Asks the program to end. One that has ended already needs no asking.
fn ask(child: &Child) {
    #[cfg(unix)]
    if let Some(process) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
    #[cfg(not(unix))]
    let _ = child;
}
