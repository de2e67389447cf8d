//! nvcc and clang: programs that read a file and write PTX into another.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gpucast_forecast::Report;
use gpucast_forecast::compiler::Compiled;
use gpucast_ptx_frontend::container::Target;

use super::clang::Headers;
use super::find::Dialect;
use super::{Job, log, options, path_argument};
use crate::Stop;
use crate::process::output_within;

/// Time after which a run is given up: templates of a large library take minutes.
const PATIENCE: Duration = Duration::from_secs(600);
/// Time for an answer about the compiler itself.
const PATIENCE_FOR_FACTS: Duration = Duration::from_secs(20);

/// Compiles by a program.
pub(super) fn compile(path: &Path, dialect: Dialect, job: &Job) -> Result<Compiled, Vec<Report>> {
    let cannot = |error: io::Error| {
        let message = match error.kind() {
            io::ErrorKind::TimedOut => {
                format!("{} was stopped after {} seconds", path.display(), PATIENCE.as_secs())
            }
            _ => format!("{} cannot be run: {error}", path.display()),
        };
        vec![Report::new(message)]
    };
    let name = match dialect {
        Dialect::Nvcc => "nvcc",
        Dialect::Clang => "clang",
    };
    let target = job.options.target_among(&known_targets(path, dialect, job.search.stop));
    let folder = tempfile::Builder::new().prefix("gpucast-cuda-").tempdir().map_err(cannot)?;
    let ptx = folder.path().join("kernel.ptx");
    let headers = Headers::found(&job.options.extra);
    let mut command = Command::new(path);
    match dialect {
        Dialect::Nvcc => {
            command.args(["-ptx", "-lineinfo"]).arg(format!("-arch={target}"));
        }
        Dialect::Clang => {
            command.args(["-x", "cuda", "--cuda-device-only", "-S", "-O3"]);
            command.args(["-gline-tables-only", &format!("--cuda-gpu-arch={target}")]);
            command.args(headers.options(folder.path(), target).map_err(cannot)?);
        }
    }
    if let Some(standard) = &job.options.standard {
        command.arg(format!("-std={standard}"));
    }
    command.args(job.options.defines.iter().map(|define| format!("-D{define}")));
    command.args(job.options.includes.iter().map(|folder| format!("-I{}", folder.display())));
    let passed = options::of_program(&job.options.extra).map_err(|report| vec![report])?;
    command.args(&passed.words);
    if !Path::new(&*job.source.name).is_file() {
        // A text of a caller's: it gets the file that its name promises.
        std::fs::write(folder.path().join(&*job.source.name), &*job.source.text).map_err(cannot)?;
        command.current_dir(folder.path());
    }
    command.arg(&*path_argument(&job.source.name)).arg("-o").arg(&ptx);
    let finished = output_within(&mut command, PATIENCE, job.search.stop).map_err(cannot)?;
    if !finished.success {
        let refusal = job.refusal(name, &finished.text).into_iter();
        let hint = |report: &Report| match dialect {
            Dialect::Nvcc => None,
            Dialect::Clang => headers.hint(&report.message),
        };
        let hinted = |report: Report| {
            let hint = hint(&report);
            report.maybe_hint(hint)
        };
        return Err(refusal.map(hinted).collect());
    }
    let ptx = std::fs::read_to_string(&ptx).map_err(cannot)?;
    let ptx = options::with_registers(ptx, passed.registers);
    let by = version(path, job.search.stop)
        .map_or_else(|| name.to_owned(), |version| format!("{name} {version}"));
    Ok(Compiled { ptx, by, target, warnings: log::warnings(&finished.text) })
}

/// The architectures that a compiler knows, in ascending order.
fn known_targets(path: &Path, dialect: Dialect, stop: &Stop) -> Vec<Target> {
    let (question, start): (&[&str], _) = match dialect {
        Dialect::Nvcc => (&["--list-gpu-arch"], "compute_"),
        Dialect::Clang => (&["--target=nvptx64-nvidia-cuda", "-print-supported-cpus"], "sm_"),
    };
    let answer = output_within(Command::new(path).args(question), PATIENCE_FOR_FACTS, stop);
    let Ok(answer) = answer else { return Vec::new() };
    let names = answer.text.split_whitespace().filter_map(|word| word.strip_prefix(start));
    let mut targets: Vec<Target> =
        names.filter_map(|name| format!("sm_{name}").parse().ok()).collect();
    targets.sort();
    targets
}

/// The first word with a dot between digits: `release 12.9`, `clang version 19.1.7`.
fn version(path: &Path, stop: &Stop) -> Option<String> {
    let said =
        output_within(Command::new(path).arg("--version"), PATIENCE_FOR_FACTS, stop).ok()?.text;
    let mut words = said.split(|letter: char| letter.is_whitespace() || letter == ',');
    let is_version = |word: &&str| {
        let digits = |letter: char| letter.is_ascii_digit() || letter == '.';
        word.contains('.') && word.chars().all(digits) && word.starts_with(|c: char| c != '.')
    };
    words.find(is_version).map(str::to_owned)
}
