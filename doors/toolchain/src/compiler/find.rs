//! Places where a CUDA compiler may be.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Choice, Search};
use crate::process::output_within;
use crate::{Stop, installed};

/// Python answers in some 50 ms.
const PATIENCE: Duration = Duration::from_secs(10);

/// A compiler's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// NVRTC.
    Library(PathBuf),
    /// A program that is run.
    Program {
        /// The file.
        path: PathBuf,
        /// The options that it understands.
        dialect: Dialect,
    },
}

/// Whose options a program understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// nvcc's.
    Nvcc,
    /// clang's.
    Clang,
}

/// Folders of libraries in Python packages, below `site-packages`.
const LIBRARIES_IN_PACKAGES: [&str; 4] =
    ["nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/bin", "nvidia/cu13/bin/x86_64"];
/// Folders of libraries in a CUDA installation.
const LIBRARIES_IN_CUDA: [&str; 4] =
    ["lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "bin"];
/// Folders of programs in Python packages.
const PROGRAMS_IN_PACKAGES: [&str; 2] = ["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"];
/// Folders of CUDA's own headers in Python packages. `crt/`, which `mma.h` includes, comes with
/// nvcc.
const HEADERS_IN_PACKAGES: [&str; 7] = [
    "nvidia/cuda_runtime/include",
    "nvidia/cuda_nvcc/include",
    "nvidia/cu13/include",
    "nvidia/cuda_cccl/include",
    "nvidia/cu13/include/cccl",
    "nvidia/curand/include",
    "nvidia/cufft/include",
];

/// The compiler of a choice, or the first one that is there: NVIDIA's before clang, whose machine
/// code differs more from what a GPU runs. nvcc alone of these reads host code as it is meant.
pub(super) fn compiler(
    choice: Option<&Choice>,
    has_host_code: bool,
    search: &Search<'_>,
) -> Option<Found> {
    let nvrtc = || nvrtc(search);
    let nvcc = || program("nvcc", Dialect::Nvcc, search);
    let clang = || program("clang++", Dialect::Clang, search);
    match choice {
        None if has_host_code => nvcc().or_else(nvrtc).or_else(clang),
        None => nvrtc().or_else(nvcc).or_else(clang),
        Some(Choice::Nvrtc) => nvrtc(),
        Some(Choice::Nvcc) => nvcc(),
        Some(Choice::Clang) => clang(),
        Some(Choice::Path(path)) => path.is_file().then(|| of_path(path)),
    }
}

/// The compiler that may understand what NVRTC does not, where none was chosen.
pub(super) fn after_nvrtc(search: &Search<'_>) -> Option<Found> {
    program("clang++", Dialect::Clang, search)
}

/// Every kind of compiler that is there, in the order in which plain source is given to them.
pub(super) fn all(search: &Search<'_>) -> Vec<Found> {
    let programs = [("nvcc", Dialect::Nvcc), ("clang++", Dialect::Clang)];
    let programs =
        programs.into_iter().filter_map(|(name, dialect)| program(name, dialect, search));
    nvrtc(search).into_iter().chain(programs).collect()
}

/// The kind of a file is in its name.
fn of_path(path: &Path) -> Found {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    if name.contains("nvrtc") {
        return Found::Library(path.to_owned());
    }
    let dialect = if name.contains("clang") { Dialect::Clang } else { Dialect::Nvcc };
    Found::Program { path: path.to_owned(), dialect }
}

/// The folders where Python keeps packages, as far as the caller or the file system shows them.
fn packages(search: &Search<'_>) -> Vec<PathBuf> {
    let prefixes = installed::python_prefixes();
    let found = prefixes.iter().flat_map(|prefix| installed::package_folders(prefix));
    search.packages.iter().cloned().chain(found).collect()
}

/// The folders where the Python of the search path looks for packages. It is asked, because a
/// user's own folder and those of path files stand nowhere else.
fn asked_python(stop: &Stop) -> Vec<PathBuf> {
    let Some(python) = installed::python() else { return Vec::new() };
    let mut command = Command::new(python);
    command.args(["-c", "import sys; print('\\n'.join(sys.path))"]);
    match output_within(&mut command, PATIENCE, stop) {
        Ok(finished) if finished.success => finished
            .text
            .lines()
            .filter(|line| !line.is_empty())
            .map(PathBuf::from)
            .filter(|path| path.is_dir())
            .collect(),
        _ => Vec::new(),
    }
}

fn below(folders: &[PathBuf], places: &[&str]) -> Vec<PathBuf> {
    folders.iter().flat_map(|folder| places.iter().map(|place| folder.join(place))).collect()
}

fn nvrtc(search: &Search<'_>) -> Option<Found> {
    if super::IS_STATIC {
        return None;
    }
    let first = |folders: &[PathBuf]| folders.iter().find_map(|folder| library_in(folder));
    first(&below(&packages(search), &LIBRARIES_IN_PACKAGES))
        .or_else(|| first(&below(&installed::cuda_installations(), &LIBRARIES_IN_CUDA)))
        // Python takes 50 ms to answer, so it is asked last.
        .or_else(|| first(&below(&asked_python(search.stop), &LIBRARIES_IN_PACKAGES)))
        .map(Found::Library)
}

/// The NVRTC of a folder; of several the latest.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| is_nvrtc(&name.to_string_lossy())))
        .collect();
    found.sort();
    found.pop()
}

/// Returns true for `libnvrtc.so.12` and `nvrtc64_120_0.dll`, and not for the libraries that they
/// load themselves.
fn is_nvrtc(name: &str) -> bool {
    let is_other = name.contains("builtins") || name.contains(".alt.");
    let windows = name.starts_with("nvrtc64_") && name.ends_with(".dll");
    !is_other && (name.starts_with("libnvrtc.so") || windows)
}

fn program(name: &str, dialect: Dialect, search: &Search<'_>) -> Option<Found> {
    let mut folders = installed::search_path();
    folders.extend(below(&installed::cuda_installations(), &["bin"]));
    folders.extend(below(&packages(search), &PROGRAMS_IN_PACKAGES));
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = folders.into_iter().map(|folder| folder.join(&name)).find(|path| path.is_file())?;
    Some(Found::Program { path, dialect })
}

/// The folders of CUDA's own headers, for NVRTC, which knows none. Those beside a library in
/// Python packages come first: they are of the same release.
pub(super) fn cuda_headers(library: &Path, search: &Search<'_>) -> Vec<PathBuf> {
    // site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
    let beside = library.ancestors().nth(4).map(Path::to_owned);
    headers_of(&beside.into_iter().chain(packages(search)).collect::<Vec<_>>())
}

/// The folders of CUDA's own headers, whichever library they belong to.
pub(super) fn all_headers(search: &Search<'_>) -> Vec<PathBuf> {
    headers_of(&packages(search))
}

fn headers_of(packages: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = below(packages, &HEADERS_IN_PACKAGES);
    folders.extend(below(&installed::cuda_installations(), &["include", "include/cccl"]));
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        if !found.contains(&folder) {
            found.push(folder);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_told_from_those_that_it_loads() {
        assert!(is_nvrtc("libnvrtc.so.12"));
        assert!(is_nvrtc("nvrtc64_120_0.dll"));
        for other in ["libnvrtc-builtins.so.12.9", "libnvrtc.alt.so.12", "libcudart.so.12"] {
            assert!(!is_nvrtc(other), "{other}");
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc-builtins.so.12.9"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(library_in(folder.path()), Some(folder.path().join("libnvrtc.so.12")));
    }

    #[test]
    fn a_files_name_says_what_it_is() {
        let kind = |path: &str| of_path(Path::new(path));
        assert!(matches!(kind("/a/libnvrtc.so.12"), Found::Library(_)));
        assert!(matches!(kind("clang++-19"), Found::Program { dialect: Dialect::Clang, .. }));
        assert!(matches!(kind("my-nvcc"), Found::Program { dialect: Dialect::Nvcc, .. }));
    }
}
