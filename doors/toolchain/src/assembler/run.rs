//! Running the assembler: in a folder of its own, for a limited time, with its complaints led back
//! to the user's text.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use gpucast_forecast::run::assembler::{AssembleError, Assembler};
use gpucast_machine::ptxas::{Prepared, examine};
use gpucast_ptx_frontend::container::Target;

use super::cache;
use crate::Stop;
use crate::process::output_within;

/// Time after which a run is given up; large modules take a minute.
const PATIENCE: Duration = Duration::from_secs(300);

/// Assembles `kernel` of a prepared text, unless the same was done before.
pub(super) fn assemble(
    assembler: &Assembler,
    target: Target,
    kernel: &str,
    prepared: &Prepared,
    stop: &Stop,
) -> Result<Vec<u8>, AssembleError> {
    let key = cache::Key::new(&assembler.identity, &target.to_string(), kernel, &prepared.text);
    if let Some(image) = cache::read(&key) {
        if examine(&image, prepared, kernel).is_ok() {
            return Ok(image);
        }
        cache::drop_entry(&key);
    }
    let image = assemble_once(assembler, target, kernel, prepared, stop)?;
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
    stop: &Stop,
) -> Result<Vec<u8>, AssembleError> {
    static STOPPED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if STOPPED.lock().is_ok_and(|stopped| stopped.contains(&assembler.path)) {
        return Err(AssembleError::Patience { seconds: PATIENCE.as_secs() });
    }
    let made = assemble_anew(assembler, target, kernel, prepared, stop);
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
    stop: &Stop,
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
    let finished =
        output_within(&mut command, PATIENCE, stop).map_err(|error| match error.kind() {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An assembler that writes no machine code.
    #[cfg(unix)]
    #[test]
    fn what_cannot_be_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let garbage = "while [ $# -gt 1 ]; do shift; done; echo garbage > \"$1\"";
        let path = crate::assembler::stand_in::write(folder.path(), garbage);
        let assembler = Assembler {
            path,
            version: "12.9".to_owned(),
            identity: folder.path().display().to_string(),
            targets: Vec::new(),
        };
        let text = ".version 7.8\n.target sm_50\n.address_size 64\n.entry k() { ret; }\n";
        let prepared = gpucast_machine::ptxas::prepare(text).unwrap();
        let target = "sm_50".parse().unwrap();
        // Twice: the first time must leave nothing behind.
        for _ in 0..2 {
            let made = assemble(&assembler, target, "k", &prepared, &Stop::never());
            assert!(matches!(made, Err(AssembleError::Useless { .. })), "{made:?}");
        }
    }

    #[test]
    fn complaints_lead_back_to_the_users_line() {
        let text = ".version 7.8\n.target sm_50\n.address_size 64\n.entry k() {\n.reg .u32 r;\nmov.u32 r, 1;\nmov.u32 r, 2;\nret;\n}\n";
        let prepared = gpucast_machine::ptxas::prepare(text).unwrap();
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
