//! Running the assembler: in a folder of its own, for a limited time, with its complaints led back
//! to the user's text.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use gpucast_counters::machine::ptxas::{Prepared, examine};
use gpucast_forecast::run::assembler::{AssembleError, Assembler};
use gpucast_ptx_frontend::container::Target;

use super::cache;
use crate::interrupt;

/// Time after which a run is given up; large modules take a minute.
const PATIENCE: Duration = Duration::from_secs(300);
/// Interval at which a running assembler is looked at.
const GLANCE: Duration = Duration::from_millis(2);
/// Bytes of a program's output that are kept.
const MOST_OUTPUT: usize = 1 << 20;

/// The result of a finished program.
pub(crate) struct Finished {
    pub(crate) success: bool,
    /// Standard output and error together.
    pub(crate) text: String,
}

/// Assembles `kernel` of a prepared text, unless the same was done before.
pub(super) fn assemble(
    assembler: &Assembler,
    target: Target,
    kernel: &str,
    prepared: &Prepared,
) -> Result<Vec<u8>, AssembleError> {
    let key = cache::Key::new(&assembler.identity, &target.to_string(), kernel, &prepared.text);
    if let Some(image) = cache::read(&key) {
        if examine(&image, prepared, kernel).is_ok() {
            return Ok(image);
        }
        cache::drop_entry(&key);
    }
    let image = assemble_once(assembler, target, kernel, prepared)?;
    examine(&image, prepared, kernel)
        .map_err(|error| AssembleError::Useless { reason: error.to_string() })?;
    // A cache that cannot be written costs time and nothing else.
    cache::write(&key, &image);
    Ok(image)
}

/// Assembles unless the assembler was stopped before: then the next kernel would wait as long.
fn assemble_once(
    assembler: &Assembler,
    target: Target,
    kernel: &str,
    prepared: &Prepared,
) -> Result<Vec<u8>, AssembleError> {
    static STOPPED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if STOPPED.lock().is_ok_and(|stopped| stopped.contains(&assembler.path)) {
        return Err(AssembleError::Patience { seconds: PATIENCE.as_secs() });
    }
    let made = assemble_anew(assembler, target, kernel, prepared);
    if let (Err(AssembleError::Patience { .. }), Ok(mut stopped)) = (&made, STOPPED.lock()) {
        stopped.insert(assembler.path.clone());
    }
    made
}

fn assemble_anew(
    assembler: &Assembler,
    target: Target,
    kernel: &str,
    prepared: &Prepared,
) -> Result<Vec<u8>, AssembleError> {
    let cannot = |error: io::Error| AssembleError::Start {
        path: assembler.path.display().to_string(),
        reason: error.to_string(),
    };
    let folder = tempfile::Builder::new().prefix("gpucast-ptxas-").tempdir().map_err(cannot)?;
    let source = folder.path().join("kernel.ptx");
    let image = folder.path().join("kernel.cubin");
    std::fs::write(&source, &prepared.text).map_err(cannot)?;
    let mut command = Command::new(&assembler.path);
    command.arg("-arch").arg(target.to_string());
    // Other kernels of the module need not be translated.
    command.arg("--entry").arg(kernel);
    command.arg(&source).arg("-o").arg(&image).current_dir(folder.path());
    let finished = output_within(&mut command, PATIENCE).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => AssembleError::Patience { seconds: PATIENCE.as_secs() },
        io::ErrorKind::Interrupted => AssembleError::Stopped,
        _ => cannot(error),
    })?;
    if !finished.success {
        return Err(refusal(&finished.text, &source, prepared));
    }
    std::fs::read(&image).map_err(cannot)
}

/// The first complaint: `ptxas /tmp/x/kernel.ptx, line 7; error   : Unknown symbol 'x'`.
fn refusal(text: &str, source: &Path, prepared: &Prepared) -> AssembleError {
    let complaint = text.lines().find(|line| line.contains("error") || line.contains("fatal"));
    let complaint = complaint.unwrap_or("it failed without a message");
    let place = format!("{}, line ", source.display());
    let line = complaint.split_once(&place).and_then(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        prepared.original_line(digits.parse().ok()?)
    });
    let message = match complaint.split_once(" : ") {
        Some((_, message)) => message.trim(),
        None => complaint.trim(),
    };
    AssembleError::Refused { message: message.to_owned(), line }
}

/// Runs a program to its end, to the end of our patience, or until the user stops us. Processes
/// that it left behind end with it, as far as they stayed in its process group. The group is its
/// own, so the terminal's Ctrl-C reaches us alone.
pub(crate) fn output_within(command: &mut Command, patience: Duration) -> io::Result<Finished> {
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
            Ok(None) if interrupt::is_asked() => break Err(io::ErrorKind::Interrupted.into()),
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
        let result = output_within(&mut command, Duration::from_millis(50));
        assert_eq!(result.err().map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
    }

    /// A wrapper ends and leaves a child behind that holds its pipes open.
    #[cfg(unix)]
    #[test]
    fn what_a_program_leaves_behind_ends_with_it() {
        let started = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo $!"]);
        let finished = output_within(&mut command, Duration::from_secs(30)).unwrap();
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
        let result = output_within(&mut command, Duration::from_millis(50));
        assert_eq!(result.err().map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    /// An assembler that writes no machine code.
    #[cfg(unix)]
    #[test]
    fn what_cannot_be_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ptxas");
        let script = "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done; echo garbage > \"$1\"\n";
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let assembler = Assembler {
            path,
            version: "12.9".to_owned(),
            identity: folder.path().display().to_string(),
            targets: Vec::new(),
        };
        let text = ".version 7.8\n.target sm_50\n.address_size 64\n.entry k() { ret; }\n";
        let prepared = gpucast_counters::machine::ptxas::prepare(text).unwrap();
        let target = "sm_50".parse().unwrap();
        // Twice: the first time must leave nothing behind.
        for _ in 0..2 {
            let made = assemble(&assembler, target, "k", &prepared);
            assert!(matches!(made, Err(AssembleError::Useless { .. })), "{made:?}");
        }
    }

    #[test]
    fn complaints_lead_back_to_the_users_line() {
        let text = ".version 7.8\n.target sm_50\n.address_size 64\n.entry k() {\n.reg .u32 r;\nmov.u32 r, 1;\nmov.u32 r, 2;\nret;\n}\n";
        let prepared = gpucast_counters::machine::ptxas::prepare(text).unwrap();
        let line = prepared.text.lines().position(|line| line == "mov.u32 r, 2;").unwrap() + 1;
        let said = format!(
            "ptxas /tmp/a/kernel.ptx, line {line}; error   : Bad thing\nptxas fatal   : Aborted"
        );
        match refusal(&said, Path::new("/tmp/a/kernel.ptx"), &prepared) {
            AssembleError::Refused { message, line } => {
                assert_eq!((message.as_str(), line), ("Bad thing", Some(7)));
            }
            other => panic!("{other}"),
        }
    }
}
