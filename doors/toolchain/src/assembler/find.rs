//! Places where an assembler may be: the search path, a CUDA installation, Python packages.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use gpucast_forecast::run::assembler::Assembler;
use gpucast_ptx_frontend::container::Target;

use crate::process::output_within;
use crate::{Stop, installed};

/// Paths in Python packages, below `site-packages`.
const IN_PACKAGES: [&str; 4] = [
    "nvidia/cu13/bin",
    "nvidia/cuda_nvcc/bin",
    "triton/backends/nvidia/bin",
    "triton/third_party/cuda/bin",
];

/// An assembler answers the question for its version in some 20 ms; a program that takes this long
/// is none.
const PATIENCE: Duration = Duration::from_secs(10);

const NAME: &str = if cfg!(windows) { "ptxas.exe" } else { "ptxas" };

/// Every assembler that seems to be there, in the order in which they are tried.
pub(super) fn candidates(packages: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = installed::search_path();
    folders.extend(installed::cuda_installations().iter().map(|root| root.join("bin")));
    let in_packages = |packages: &Path| IN_PACKAGES.map(|place| packages.join(place));
    folders.extend(packages.iter().flat_map(|packages| in_packages(packages)));
    for prefix in installed::python_prefixes() {
        folders.push(prefix.join("bin"));
        for packages in installed::package_folders(&prefix) {
            folders.extend(in_packages(&packages));
        }
    }
    let mut found = Vec::new();
    for path in folders.into_iter().map(|folder| folder.join(NAME)).filter(|path| path.is_file()) {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Asks an assembler for its version and its targets; `Err` says why it is none. Each file is asked
/// once, since one that does not answer costs the whole of our patience.
pub(super) fn probe(path: &Path, stop: &Stop) -> Result<Assembler, String> {
    static ANSWERS: Mutex<BTreeMap<PathBuf, Result<Assembler, String>>> =
        Mutex::new(BTreeMap::new());
    // It is run in another folder.
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let known = ANSWERS.lock().ok().and_then(|answers| answers.get(&path).cloned());
    if let Some(answer) = known {
        return answer;
    }
    let answer = ask_all(&path, PATIENCE, stop);
    if let Ok(mut answers) = ANSWERS.lock() {
        answers.insert(path, answer.clone());
    }
    answer
}

fn ask_all(path: &Path, patience: Duration, stop: &Stop) -> Result<Assembler, String> {
    let ask = |option: &str| {
        let mut command = std::process::Command::new(path);
        command.arg(option);
        output_within(&mut command, patience, stop).map(|output| output.text).map_err(|error| {
            match error.kind() {
                ErrorKind::TimedOut => format!("no answer within {} seconds", patience.as_secs()),
                _ => error.to_string(),
            }
        })
    };
    let said = ask("--version")?;
    let version = release(&said).ok_or("it does not say its version as ptxas does")?;
    let help = ask("--help")?;
    let targets = targets(&help);
    if targets.is_empty() {
        return Err("it does not say which architectures it knows".to_owned());
    }
    let identity = identity(path, &said).map_err(|error| error.to_string())?;
    Ok(Assembler { path: path.to_path_buf(), version, identity, targets })
}

/// Returns the identity of a build of the assembler: its output, and its file's place, size and
/// time.
fn identity(path: &Path, said: &str) -> std::io::Result<String> {
    let path = path.canonicalize()?;
    let facts = path.metadata()?;
    let changed = facts.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(format!("{said}\n{}\n{}\n{}", path.display(), facts.len(), changed.as_nanos()))
}

/// `12.9` out of `Cuda compilation tools, release 12.9, V12.9.86`.
fn release(text: &str) -> Option<String> {
    let rest = text.split_once("release ")?.1;
    let version: String =
        rest.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
    (!version.is_empty()).then_some(version)
}

/// The architectures among the allowed values of `--gpu-name`.
fn targets(help: &str) -> Vec<Target> {
    let names = help.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let mut targets: Vec<Target> =
        names.filter(|name| name.starts_with("sm_")).filter_map(|name| name.parse().ok()).collect();
    targets.sort();
    targets.dedup();
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use crate::assembler::stand_in;

    #[test]
    fn version_and_targets_are_read_off() {
        let version = "ptxas: NVIDIA (R) Ptx optimizing assembler\n\
                       Cuda compilation tools, release 12.9, V12.9.86\n";
        assert_eq!(release(version).as_deref(), Some("12.9"));
        assert_eq!(release("some other program 1.0"), None);
        let help = "--gpu-name <gpu name> (-arch)\n Allowed values for this option: \
                    'compute_50','sm_50','sm_52','sm_100','sm_90a', 'sm_90'.";
        let names: Vec<String> = targets(help).iter().map(Target::to_string).collect();
        assert_eq!(names, ["sm_50", "sm_52", "sm_90", "sm_90a", "sm_100"]);
    }

    #[cfg(unix)]
    #[test]
    fn another_file_of_the_same_version_is_another_assembler() {
        let folder = tempfile::tempdir().unwrap();
        let path = stand_in::write(folder.path(), "echo release 12.9, V12.9.86; echo sm_50");
        let first = ask_all(&path, PATIENCE, &Stop::never()).unwrap();
        assert_eq!((first.version.as_str(), first.targets.len()), ("12.9", 1));
        stand_in::write(folder.path(), "echo release 12.9, V12.9.86; echo sm_50; true");
        let second = ask_all(&path, PATIENCE, &Stop::never()).unwrap();
        assert_eq!(first.version, second.version);
        assert_ne!(first.identity, second.identity);
    }

    #[cfg(unix)]
    #[test]
    fn an_assembler_that_does_not_answer_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = stand_in::write(folder.path(), "sleep 60");
        let answer = ask_all(&path, Duration::from_millis(100), &Stop::never());
        assert!(answer.unwrap_err().starts_with("no answer within"));
    }

    #[test]
    fn what_is_no_assembler_is_not_taken_for_one() {
        assert!(probe(Path::new("/nonexistent/ptxas"), &Stop::never()).is_err());
        // A program that succeeds and says nothing of the kind.
        assert!(probe(Path::new("/bin/true"), &Stop::never()).is_err());
    }
}
