//! Running the assembler: in a folder of its own, for a limited time, with its complaints led back to
//! the user's text.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gpucast_counters::machine::ptxas::Prepared;
use gpucast_forecast::run::assembler::{AssembleError, Assembler};
use gpucast_ptx_frontend::container::Target;

use super::cache;

/// Large modules take a minute; what takes longer than this is given up.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often a running assembler is looked at.
const GLANCE: Duration = Duration::from_millis(2);
/// As much of what a program says is kept.
const MOST_OUTPUT: u64 = 1 << 20;

/// What a finished program left.
pub(super) struct Finished {
    pub(super) success: bool,
    /// Standard output and error together.
    pub(super) text: String,
}

/// Assembles `kernel` of a prepared text, unless the same was done before.
pub(super) fn assemble(
    assembler: &Assembler,
    target: Target,
    kernel: &str,
    prepared: &Prepared,
) -> Result<Vec<u8>, AssembleError> {
    let key = cache::Key::new(&assembler.version, &target.to_string(), kernel, &prepared.text);
    if let Some(image) = cache::read(&key) {
        return Ok(image);
    }
    let image = assemble_anew(assembler, target, kernel, prepared)?;
    // A cache that cannot be written costs time and nothing else.
    cache::write(&key, &image);
    Ok(image)
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
    let folder = tempfile::tempdir().map_err(cannot)?;
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

/// Runs a program to its end or to the end of our patience.
pub(super) fn output_within(command: &mut Command, patience: Duration) -> io::Result<Finished> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Both pipes are read to their ends, so that the program never waits for a reader.
    let read = |pipe: Option<Box<dyn io::Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let kept = pipe.by_ref().take(MOST_OUTPUT).read_to_end(&mut bytes);
                let rest = kept.and_then(|_| io::copy(&mut pipe, &mut io::sink()));
                drop(rest);
            }
            bytes
        })
    };
    let out = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let err = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(GLANCE);
    };
    let mut bytes = out.join().unwrap_or_default();
    bytes.extend(err.join().unwrap_or_default());
    Ok(Finished { success: status.success(), text: String::from_utf8_lossy(&bytes).into_owned() })
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
