//! One run of the program, in a process and a folder of its own.
//!
//! The program gives up files, the network and memory before it reads what the request has: see
//! `--confined` in `src/confine.rs`. Only `judge` is not started so: it confines a process for the
//! candidate itself.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Confinement, Reason, Refusal, SCHEMA};
use crate::request::Request;
use crate::setup::{Limits, Setup};
use crate::tool::{Document, Tool};

/// A process that keeps to its limit by itself has so long to say so.
const GRACE: Duration = Duration::from_secs(3);
/// The longest document.
const LONGEST_DOCUMENT: u64 = 64 << 20;
/// What is read of the standard error, and of what kernels print.
const LONGEST_NOTES: u64 = 256 << 10;
/// The file for what kernels print, in the scratch folder.
const PRINTED: &str = "printed";
/// The file in which a confined process says what is held back, as `src/confine.rs` has it.
const HELD: &str = "held";

/// What a run may know of the environment: a source can print what its compiler can read, and other
/// variables may be secrets.
const ENVIRONMENT: [&str; 14] = [
    "PATH",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "GPUCAST_CACHE",
    "GPUCAST_GPU",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "SystemRoot",
    "LOCALAPPDATA",
];

/// The end of a process.
pub(crate) enum Ended {
    Answered(Box<Answer>),
    /// Somebody else ended it.
    Killed,
}

/// Runs the program once.
pub(crate) async fn run(
    setup: &Setup,
    scratch: &Path,
    tool: &'static Tool,
    request: &Request,
    stop: &CancellationToken,
) -> Result<Ended, Refusal> {
    let cannot = |what: &str, error: &io::Error| {
        Refusal::new(Reason::Server, format!("cannot {what}: {error}"))
    };
    let folder = tempfile::Builder::new().prefix("run-").tempdir_in(scratch);
    let folder = folder.map_err(|error| cannot("make a folder", &error))?;
    for (name, text) in &request.files {
        fs::write(folder.path().join(name), text).map_err(|e| cannot("write a file", &e))?;
    }
    let started = Instant::now();
    let mut process = Process::start(command(setup, tool, request, folder.path()))
        .map_err(|error| cannot(&format!("start {}", setup.program.display()), &error))?;
    let limit = Duration::from_secs(request.seconds) + GRACE;
    let finished = tokio::select! {
        finished = process.finish() => finished,
        () = tokio::time::sleep(limit) => {
            let message = format!("the run did not end within {} s", request.seconds);
            return Err(Refusal::new(Reason::PastLimit, message));
        }
        () = stop.cancelled() => {
            let message = "the server stops, and this run did not end in time";
            return Err(Refusal::new(Reason::Stopping, message));
        }
    };
    let Finished { status, output, notes } = finished.map_err(|e| cannot("read the answer", &e))?;
    let Some(status) = status.code() else { return by_signal(status, &notes) };
    let (document, said) = match tool.result {
        Document::StandardOutput => (output, String::new()),
        Document::File(name) => {
            (read_file(&folder.path().join(name), LONGEST_DOCUMENT + 1), text(&output))
        }
    };
    if document.len() as u64 > LONGEST_DOCUMENT {
        let message = format!("the document has more than {LONGEST_DOCUMENT} bytes");
        return Err(Refusal::new(Reason::AnswerTooLong, message));
    }
    let document = document_of(&document)?;
    let (errors, notes) = told(&notes);
    let notes = said + &notes;
    if document.is_none() && errors.is_empty() && status == 0 {
        return Err(Refusal::new(Reason::Crashed, "the run ended without a document"));
    }
    let confinement = match (tool.name, &document) {
        ("judge", Some(judged)) => of_judgement(judged, request, &setup.limits),
        _ => of_process(folder.path(), request, &setup.limits),
    };
    Ok(Ended::Answered(Box::new(Answer {
        schema: SCHEMA,
        tool: tool.name,
        status,
        document,
        errors,
        printed: text(&read_file(&folder.path().join(PRINTED), LONGEST_NOTES)),
        notes,
        confinement,
        seconds: started.elapsed().as_secs_f64(),
        is_second_try: false,
    })))
}

fn command(setup: &Setup, tool: &Tool, request: &Request, folder: &Path) -> Command {
    let Limits { bytes, .. } = setup.limits;
    let seconds = request.seconds;
    let mut command = Command::new(&setup.program);
    command.args(["--no-project", "--color=never", "--error-format=json"]);
    command.arg(format!("--threads={}", setup.threads));
    let is_judge = tool.name == "judge";
    if !is_judge {
        command.arg("--confined").arg(folder);
        command.arg(format!("--confined-seconds={seconds}"));
        command.arg(format!("--confined-bytes={bytes}"));
    }
    let (name, rest) = request.words.split_first().map_or(("", &[][..]), |(n, r)| (n.as_str(), r));
    command.arg(name);
    match name {
        "judge" => {
            command.arg(format!("--time-limit={seconds}"));
            command.arg(format!("--memory-limit={bytes}"));
        }
        "check" | "explain" => {}
        "classroom" => {
            command.arg(format!("--time-limit={seconds}"));
            command.arg(format!("--memory-limit={bytes}"));
        }
        _ => {
            command.arg(format!("--time-limit={seconds}"));
            command.arg(format!("--print-to={PRINTED}"));
        }
    }
    if let Some(compiler) = setup.cuda_compiler.as_ref().filter(|_| name != "explain") {
        let mut option = std::ffi::OsString::from("--cuda-compiler=");
        option.push(compiler);
        command.arg(option);
    }
    command.args(rest);
    command
        .env_clear()
        .envs(ENVIRONMENT.iter().filter_map(|name| Some((name, env::var_os(name)?))));
    command.current_dir(folder).env("TMPDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    command.process_group(0);
    command.kill_on_drop(true);
    command
}

/// A process with its group. Whoever drops it ends them: that is how a request is cancelled.
struct Process {
    child: Child,
    /// The process's number, which is also its group's.
    #[cfg_attr(not(unix), allow(dead_code, reason = "other systems have no groups"))]
    id: Option<u32>,
}

struct Finished {
    status: ExitStatus,
    output: Vec<u8>,
    notes: Vec<u8>,
}

impl Process {
    fn start(mut command: Command) -> io::Result<Self> {
        let child = command.spawn()?;
        let id = child.id();
        Ok(Self { child, id })
    }

    async fn finish(&mut self) -> io::Result<Finished> {
        let (output, notes) = (self.child.stdout.take(), self.child.stderr.take());
        let both = async {
            tokio::try_join!(first(output, LONGEST_DOCUMENT + 1), first(notes, LONGEST_NOTES))
        };
        let (read, status) = tokio::join!(both, self.child.wait());
        let (output, notes) = read?;
        Ok(Finished { status: status?, output, notes })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) =
            self.id.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
        {
            // A group of which nobody is left is the aim, so its error is ignored.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// The first bytes of a stream. The rest is read, too, so that nobody waits for a full pipe.
async fn first(stream: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        (&mut stream).take(most).read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

#[cfg(unix)]
fn by_signal(status: ExitStatus, notes: &[u8]) -> Result<Ended, Refusal> {
    use std::os::unix::process::ExitStatusExt as _;

    let signal = status.signal().unwrap_or_default();
    // Whoever wants a process to go sends one of these; faults and limits send others.
    let asked = [rustix::process::Signal::KILL, rustix::process::Signal::TERM];
    if asked.iter().any(|asked| asked.as_raw() == signal) {
        return Ok(Ended::Killed);
    }
    let said = text(notes);
    let said = said.lines().next().unwrap_or("it said nothing");
    let message = format!("the run ended by signal {signal}, mostly for memory: {said}");
    Err(Refusal::new(Reason::Crashed, message))
}

#[cfg(not(unix))]
fn by_signal(_status: ExitStatus, _notes: &[u8]) -> Result<Ended, Refusal> {
    Ok(Ended::Killed)
}

fn read_file(path: &Path, most: u64) -> Vec<u8> {
    use std::io::Read as _;

    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(path) {
        // What cannot be read is as what is not there.
        let _ = file.take(most).read_to_end(&mut bytes);
    }
    bytes
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn document_of(output: &[u8]) -> Result<Option<Box<RawValue>>, Refusal> {
    let output = text(output);
    if output.trim().is_empty() {
        return Ok(None);
    }
    let document = RawValue::from_string(output.trim().to_owned());
    document.map(Some).map_err(|error| {
        Refusal::new(Reason::Crashed, format!("the run's document is no JSON: {error}"))
    })
}

/// The errors among the lines of the standard error, and the other lines.
fn told(notes: &[u8]) -> (Vec<Value>, String) {
    let (mut errors, mut others) = (Vec::new(), String::new());
    for line in text(notes).lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(report) if report["schema"] == "gpucast.report/1" => errors.push(report),
            _ => {
                others += line;
                others.push('\n');
            }
        }
    }
    for error in &mut errors {
        if let Some(error) = error.as_object_mut() {
            error.remove("schema");
        }
    }
    (errors, others)
}

fn of_process(folder: &Path, request: &Request, limits: &Limits) -> Confinement {
    let held = read_file(&folder.join(HELD), 3);
    let holds = |at: usize| held.get(at) == Some(&b'1');
    Confinement {
        time_limit_s: request.seconds,
        memory_limit_bytes: limits.bytes,
        holds_limits: holds(0),
        holds_files: holds(1),
        holds_network: holds(2),
    }
}

/// A judgement says itself what was held back from its candidate.
fn of_judgement(judged: &RawValue, request: &Request, limits: &Limits) -> Confinement {
    let judged: Value = serde_json::from_str(judged.get()).unwrap_or_default();
    let holds = |what: &str| judged["confinement"][what] == true;
    Confinement {
        time_limit_s: request.seconds,
        memory_limit_bytes: limits.bytes,
        holds_limits: holds("holds_limits"),
        holds_files: holds("holds_files"),
        holds_network: holds("holds_network"),
    }
}
