//! The libraries that programs load, as `gpucast exec` writes them.
//!
//! The names are facts of the libraries that they stand for: what `nm -D` lists. Each file in
//! `names/` has them in alphabetical order.
//!
//! Three reasons speak for facades beside one library. A symbol needs the version node of the
//! library that it stands for. The compiler's own version script leaves no room for one. And the
//! 300 functions that are not there need no code.

mod elf;
mod linking;

use std::path::{Path, PathBuf};

pub use linking::write_for_linker;

/// A library that programs ask for.
#[derive(Clone, Copy, Debug)]
pub struct Facade {
    /// The file's name, by which programs find it.
    pub file: &'static str,
    /// The version of all its symbols, if they have one.
    pub version: Option<&'static str>,
    /// Every name that it has.
    names: &'static str,
    /// Functions that stand under another name, because libraries differ: name here, name there.
    renamed: &'static [(&'static str, &'static str)],
}

/// The libraries.
pub const FACADES: &[Facade] = &[
    Facade {
        file: "libcudart.so.11.0",
        version: Some("libcudart.so.11.0"),
        names: include_str!("names/libcudart.so.11.0.txt"),
        renamed: &[
            ("cudaCreateTextureObject_v2", "cudaCreateTextureObject"),
            ("cudaFuncGetAttributes", "cudaFuncGetAttributes_11"),
            ("cudaGetDeviceProperties", "cudaGetDeviceProperties_11"),
            ("cudaGraphExecUpdate", "cudaGraphExecUpdate_11"),
            ("cudaRuntimeGetVersion", "cudaRuntimeGetVersion_11"),
            ("cudaDriverGetVersion", "cudaRuntimeGetVersion_11"),
        ],
    },
    Facade {
        file: "libcudart.so.12",
        version: Some("libcudart.so.12"),
        names: include_str!("names/libcudart.so.12.txt"),
        renamed: &[
            ("cudaGetDeviceProperties_v2", "cudaGetDeviceProperties_12"),
            ("cudaRuntimeGetVersion", "cudaRuntimeGetVersion_12"),
            ("cudaDriverGetVersion", "cudaRuntimeGetVersion_12"),
        ],
    },
    Facade {
        file: "libcudart.so.13",
        version: Some("libcudart.so.13"),
        names: include_str!("names/libcudart.so.13.txt"),
        renamed: &[
            ("cudaGetDeviceProperties", "cudaGetDeviceProperties_13"),
            ("cudaGraphAddDependencies", "cudaGraphAddDependencies_v2"),
            ("cudaGraphAddNode", "cudaGraphAddNode_v2"),
            ("cudaGraphGetEdges", "cudaGraphGetEdges_v2"),
            ("cudaGraphNodeGetDependencies", "cudaGraphNodeGetDependencies_v2"),
            ("cudaGraphNodeGetDependentNodes", "cudaGraphNodeGetDependentNodes_v2"),
            ("cudaGraphRemoveDependencies", "cudaGraphRemoveDependencies_v2"),
            ("cudaRuntimeGetVersion", "cudaRuntimeGetVersion_13"),
            ("cudaDriverGetVersion", "cudaRuntimeGetVersion_13"),
        ],
    },
    Facade {
        file: "libcuda.so.1",
        version: None,
        names: include_str!("names/libcuda.so.1.txt"),
        renamed: &[],
    },
    Facade { file: "libgpuocelot.so", version: None, names: "ptx_run", renamed: &[] },
];

/// Names without a version, under which some clients open libraries, and the files behind them.
/// NVIDIA's driver has the first, its toolkits have the second for their own version.
const WITHOUT_VERSION: [(&str, &str); 2] =
    [("libcuda.so", "libcuda.so.1"), ("libcudart.so", "libcudart.so.13")];

/// The library with the functions.
pub const LIBRARY: &str = "libgpucast_cuda.so";

/// Functions for threads with a default stream of their own end in one of these; all threads share
/// one stream here.
const PER_THREAD: [&str; 2] = ["_ptsz", "_ptds"];

/// Reason why no facades are written.
#[derive(Debug, thiserror::Error)]
pub enum FacadeError {
    /// Jumps are known for one kind of machine only.
    #[error("CUDA programs run here on x86-64 Linux only")]
    Machine,
    /// There is no runtime of this version.
    #[error("there is no runtime of CUDA {0} here, only of 11, 12 and 13")]
    Version(u32),
    /// The file system refuses.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
}

impl Facade {
    /// Every name, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.lines()
    }

    /// The function that stands behind a name; none if it is not there.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&'static str> {
        let renamed = self.renamed.iter().find(|(here, _)| *here == name);
        let wanted = renamed.map_or(name, |(_, there)| there);
        let own = PER_THREAD.iter().find_map(|ending| wanted.strip_suffix(ending));
        let known = |wanted: &str| implemented().find(|&known| known == wanted);
        known(wanted).or_else(|| known(own?))
    }

    /// The file's bytes; it loads the functions from `library`, a path.
    #[must_use]
    pub fn bytes(&self, library: &str) -> Vec<u8> {
        let symbols: Vec<elf::Symbol> = self
            .names()
            .map(|name| elf::Symbol {
                name,
                target: self.function(name).map(|function| format!("{PREFIX}{function}")),
            })
            .collect();
        elf::write(&elf::SharedLibrary {
            name: self.file,
            version: self.version,
            needed: library,
            symbols: &symbols,
            fallback: concat!("gpucast_", "unsupported"),
        })
    }
}

/// What functions' names begin with in [`LIBRARY`].
const PREFIX: &str = "gpucast_";

/// The names of the functions that are there.
#[cfg(target_os = "linux")]
pub fn implemented() -> impl Iterator<Item = &'static str> {
    crate::runtime::names().chain(crate::driver::names())
}

/// The names of the functions that are there.
#[cfg(not(target_os = "linux"))]
pub fn implemented() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// Writes all facades into a folder; they load the functions from `library`.
///
/// # Errors
///
/// On machines other than x86-64 Linux, and if a file cannot be written.
pub fn write(folder: &Path, library: &Path) -> Result<(), FacadeError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(FacadeError::Machine);
    }
    for facade in FACADES {
        let path = folder.join(facade.file);
        let bytes = facade.bytes(&library.to_string_lossy());
        replace(&path, &bytes).map_err(|error| FacadeError::Write { path, error })?;
    }
    for (name, file) in WITHOUT_VERSION {
        link(&folder.join(name), file)?;
    }
    Ok(())
}

/// Writes a file beside its place and moves it there: a program that has the old one open keeps it
/// whole.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&new, bytes)?;
    std::fs::rename(&new, path)
}

/// Makes a link to a file of the same folder.
fn link(path: &Path, file: &str) -> Result<(), FacadeError> {
    // That of an earlier call may be there.
    let _ = std::fs::remove_file(path);
    #[cfg(unix)]
    let made = std::os::unix::fs::symlink(file, path);
    #[cfg(not(unix))]
    let made = std::fs::copy(path.with_file_name(file), path).map(|_| ());
    made.map_err(|error| FacadeError::Write { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_name_in_some_library() {
        let all: Vec<_> = FACADES
            .iter()
            .flat_map(|facade| facade.names().filter_map(|name| facade.function(name)))
            .collect();
        for function in implemented() {
            assert!(all.contains(&function), "nothing leads to {function}");
        }
        assert!(implemented().count() > 100);
    }

    #[test]
    fn names_are_sorted_and_single() {
        for facade in FACADES {
            let names: Vec<_> = facade.names().collect();
            assert!(names.is_sorted_by(|a, b| a < b), "{}", facade.file);
        }
    }

    #[test]
    fn versions_of_a_function_lead_to_their_own() {
        let [eleven, twelve, thirteen, ..] = FACADES else { panic!("there are more") };
        let properties = "cudaGetDeviceProperties";
        assert_eq!(thirteen.function(properties), Some("cudaGetDeviceProperties_13"));
        assert_eq!(eleven.function(properties), Some("cudaGetDeviceProperties_11"));
        // Programs of CUDA 12 ask for the function by its second name.
        assert_eq!(twelve.function(properties), None);
        assert_eq!(twelve.function("cudaMemcpyAsync_ptsz"), Some("cudaMemcpyAsync"));
        assert_eq!(twelve.function("cudaGraphDebugDotPrint"), None);
        let edges = "cudaGraphAddDependencies";
        assert_eq!(twelve.function(edges), Some(edges));
        assert_eq!(thirteen.function(edges), Some("cudaGraphAddDependencies_v2"));
    }
}
