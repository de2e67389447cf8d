//! Runs the program and shows what came of it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a run of the program did.
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The folder of the tests' inputs, which is where the program runs.
pub(crate) fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs")
}

/// True if everything is tried, and not only what the gate has time for: `GPUCAST_NIGHTLY`.
pub(crate) fn is_nightly() -> bool {
    std::env::var_os("GPUCAST_NIGHTLY").is_some()
}

/// The program with the words of `arguments`; `'…'` keeps spaces together.
pub(crate) fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucast"));
    command.current_dir(inputs()).args(words(arguments)).env_remove("RAYON_NUM_THREADS");
    // The results of tests must not depend on what is installed.
    for name in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(name);
    }
    command.env("PATH", "").env("GPUCAST_CACHE", std::env::temp_dir().join("gpucast-tests"));
    // Nothing is trusted but what a test trusts in a folder of its own.
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

fn words(arguments: &str) -> Vec<String> {
    let quoted = |(at, part): (usize, &str)| match at % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect(),
    };
    arguments.split('\'').enumerate().flat_map(quoted).collect()
}

pub(crate) fn outcome(mut command: Command) -> Outcome {
    let output = command.output().expect("the program starts");
    Outcome {
        status: output.status.code().expect("the program is not killed"),
        stdout: String::from_utf8(output.stdout).expect("the output is text"),
        stderr: String::from_utf8(output.stderr).expect("the errors are text"),
    }
}

/// Runs the program with the words of `arguments`.
pub(crate) fn gpucast(arguments: &str) -> Outcome {
    outcome(command(arguments))
}

/// The standard output of a run that must succeed and complain about nothing.
#[track_caller]
pub(crate) fn stdout(arguments: &str) -> String {
    let outcome = gpucast(arguments);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "gpucast {arguments}");
    outcome.stdout
}

/// The result of a run that must succeed, as JSON.
#[track_caller]
pub(crate) fn json(arguments: &str) -> serde_json::Value {
    serde_json::from_str(&stdout(arguments)).expect("the output is JSON")
}

impl Outcome {
    /// Everything, for a snapshot.
    pub(crate) fn transcript(&self) -> String {
        let part = |name: &str, text: &str| match text {
            "" => String::new(),
            text => format!("--- {name}\n{text}"),
        };
        let Self { status, stdout, stderr } = self;
        format!("status {status}\n{}{}", part("stdout", stdout), part("stderr", stderr))
    }
}

/// The text without its first interval, whose ends change with each kernel that is measured. Lines
/// around it are joined: where they break depends on its length.
pub(crate) fn without_interval(text: &str) -> String {
    let Some((before, rest)) = text.split_once("; 4 of 5 measured kernels") else {
        return text.to_owned();
    };
    let (line, after) = rest.split_once("\n  bound by").unwrap();
    let behind = line.split_once(';').map_or("", |(_, others)| others).replace("\n ", "");
    let interval = "; 4 of 5 measured kernels take …";
    let others = if behind.is_empty() { String::new() } else { format!(";{behind}") };
    format!("{before}{interval}{others}\n  bound by{after}")
}
