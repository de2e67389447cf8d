//! Running another program: for a limited time, with its output kept, and with everything that it
//! started ended.

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::Stop;

/// Interval at which a running program is looked at.
const GLANCE: Duration = Duration::from_millis(2);
/// Bytes of a program's output that are kept.
const MOST_OUTPUT: usize = 1 << 20;

/// The result of a finished program.
pub(crate) struct Finished {
    pub(crate) success: bool,
    /// Standard output and error together.
    pub(crate) text: String,
}

/// Runs a program to its end, to the end of our patience, or until the user stops us. Processes
/// that it left behind end with it, as far as they stayed in its process group. The group is its
/// own, so the terminal's Ctrl-C reaches us alone.
pub(crate) fn output_within(
    command: &mut Command,
    patience: Duration,
    stop: &Stop,
) -> io::Result<Finished> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (done, ends) = mpsc::channel();
    let out = child.stdout.take().map(|pipe| Kept::new(pipe, done.clone()));
    let err = child.stderr.take().map(|pipe| Kept::new(pipe, done));
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if started.elapsed() > patience => break Err(io::ErrorKind::TimedOut.into()),
            Ok(None) if stop.is_asked() => break Err(io::ErrorKind::Interrupted.into()),
            Ok(None) => thread::sleep(GLANCE),
            Err(error) => break Err(error),
        }
    };
    end_group(&mut child);
    let status = status?;
    // The pipes end with the group. A process that left the group may keep them open; nobody waits
    // for it.
    let until = Instant::now() + LAST_WORDS;
    for _ in 0..2 {
        let left = until.saturating_duration_since(Instant::now());
        if ends.recv_timeout(left).is_err() {
            break;
        }
    }
    let mut bytes = out.map(|kept| kept.take()).unwrap_or_default();
    bytes.extend(err.map(|kept| kept.take()).unwrap_or_default());
    Ok(Finished { success: status.success(), text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// After a program's end its pipes are read for so long at most.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Ends a program and everything in its process group, and forgets it.
fn end_group(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // A group of which nobody is left is the aim, so its error is ignored.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The output of a program, read to the end by a thread of its own, so that the program never waits
/// for a reader.
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// Reads a pipe and tells `done` that it ended.
    fn new(mut pipe: impl io::Read + Send + 'static, done: mpsc::Sender<()>) -> Self {
        let kept = Self(Arc::default());
        let bytes = Arc::clone(&kept.0);
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut part) {
                if let Ok(mut bytes) = bytes.lock() {
                    let room = MOST_OUTPUT.saturating_sub(bytes.len());
                    bytes.extend_from_slice(&part[..count.min(room)]);
                }
            }
            // Nobody may be waiting any more.
            let _ = done.send(());
        });
        kept
    }

    fn take(self) -> Vec<u8> {
        self.0.lock().map(|mut bytes| std::mem::take(&mut *bytes)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_stopped() {
        let mut command = Command::new("sleep");
        command.arg("60");
        let result = output_within(&mut command, Duration::from_millis(50), &Stop::never());
        assert_eq!(result.err().map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
    }

    /// A wrapper ends and leaves a child behind that holds its pipes open.
    #[cfg(unix)]
    #[test]
    fn what_a_program_leaves_behind_ends_with_it() {
        let started = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo $!"]);
        let finished =
            output_within(&mut command, Duration::from_secs(30), &Stop::never()).unwrap();
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        let child = finished.text.trim().to_owned();
        let is_gone = || {
            let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        for _ in 0..100 {
            if is_gone() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("process {child} is still there");
    }

    #[cfg(unix)]
    #[test]
    fn the_time_limit_holds_for_children_too() {
        let started = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & sleep 60"]);
        let result = output_within(&mut command, Duration::from_millis(50), &Stop::never());
        assert_eq!(result.err().map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
