//! Places where NVIDIA's programs and libraries may be: the search path, a CUDA installation,
//! Python packages.

use std::env;
use std::path::{Path, PathBuf};

/// The folders of the search path. Relative ones, such as the empty name, are left out: nobody
/// asked for a tool of the working directory, which may come from anybody.
pub(crate) fn search_path() -> Vec<PathBuf> {
    let all = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&all).filter(|folder| folder.is_absolute()).collect()
}

/// The folders of CUDA installations, whether they exist or not.
pub(crate) fn cuda_installations() -> Vec<PathBuf> {
    [folder("CUDA_HOME"), folder("CUDA_PATH"), Some("/usr/local/cuda".into())]
        .into_iter()
        .flatten()
        .collect()
}

/// The prefixes of Python environments: the active one, and those of the search path.
pub(crate) fn python_prefixes() -> Vec<PathBuf> {
    let active = [folder("VIRTUAL_ENV"), folder("CONDA_PREFIX")].into_iter().flatten();
    active.chain(search_path().iter().filter_map(|folder| python_prefix(folder))).collect()
}

/// The Python of the search path.
pub(crate) fn python() -> Option<PathBuf> {
    let names = ["python3", "python"].map(|name| format!("{name}{}", env::consts::EXE_SUFFIX));
    let within = |folder: PathBuf| names.clone().map(|name| folder.join(name));
    search_path().into_iter().flat_map(within).find(|path| path.is_file())
}

/// The folders in which tools and what they read may be, whether they exist or not: for whoever
/// lets a process read nothing else. Of a prefix, what programs and libraries are in; of the
/// system, the folders that every program needs.
#[must_use]
pub fn folders() -> Vec<PathBuf> {
    const SYSTEM: [&str; 8] =
        ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store"];
    const OF_PREFIX: [&str; 8] =
        ["bin", "lib", "lib64", "include", "nvvm", "targets", "share", "libexec"];
    let prefixes = search_path().into_iter().filter_map(|folder| {
        let is_bin = folder.file_name().is_some_and(|name| name == "bin");
        if is_bin { folder.parent().map(Path::to_path_buf) } else { None }
    });
    let prefixes: Vec<PathBuf> = prefixes.chain(python_prefixes()).collect();
    let below = prefixes.iter().flat_map(|prefix| OF_PREFIX.map(|name| prefix.join(name)));
    let system = SYSTEM.map(PathBuf::from).into_iter();
    system.chain(search_path()).chain(cuda_installations()).chain(below).collect()
}

/// The folders below a prefix that hold Python packages, whether they exist or not.
pub(crate) fn package_folders(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for library in ["lib", "lib64", "Lib"] {
        let library = prefix.join(library);
        let mut versions: Vec<PathBuf> = std::fs::read_dir(&library)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"))
            })
            .collect();
        versions.sort();
        for version in versions.iter().chain([&library]) {
            folders.extend(["site-packages", "dist-packages"].map(|name| version.join(name)));
        }
    }
    folders
}

fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from)
}

/// The prefix of the Python whose interpreter is in `folder`. Links of virtual environments and
/// version managers are followed, as far as the file system shows them.
fn python_prefix(folder: &Path) -> Option<PathBuf> {
    let python = folder.join("python3");
    if !python.is_file() {
        return None;
    }
    folder.parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_looked_for_below_each_version_of_python() {
        let prefix = tempfile::tempdir().unwrap();
        let place = prefix.path().join("lib/python3.11/site-packages");
        std::fs::create_dir_all(&place).unwrap();
        assert!(package_folders(prefix.path()).contains(&place));
    }
}
