//! What a linker is given, so that a program takes its runtime from a library of its own.
//!
//! nvcc links `libcudart_static.a` unless it is told otherwise, and that archive brings NVIDIA's
//! runtime into the program. A linker looks at what a file holds and not at its ending. So a file
//! of that name may be a script that names the shared library.

use std::fs;
use std::path::Path;

use super::{FACADES, Facade, FacadeError};

/// The names by which a linker asks for a library, and the beginning of the library's own name.
const SCRIPTS: [(&str, &str); 3] = [
    ("libcudart_static.a", "libcudart.so."),
    ("libcudart.so", "libcudart.so."),
    ("libcuda.so", "libcuda.so."),
];

/// Writes the libraries of a major version of CUDA into a folder for `-L`, with scripts under the
/// names that linkers ask for. The libraries load the functions from `library`.
///
/// Programs that are linked so have no path of the folder inside. They find the runtime as all
/// programs with the shared one do: that of `gpucast exec`, or NVIDIA's.
///
/// # Errors
///
/// As [`super::write`]; a version whose runtime is not known.
pub fn write_for_linker(folder: &Path, library: &Path, cuda: u32) -> Result<(), FacadeError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(FacadeError::Machine);
    }
    let own_name = format!("libcudart.so.{cuda}");
    // CUDA 11 has the whole version in the name.
    let runtime = |facade: &&Facade| {
        let rest = facade.file.strip_prefix(&own_name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if !FACADES.iter().any(|facade| runtime(&facade)) {
        return Err(FacadeError::Version(cuda));
    }
    let is_wanted = |facade: &&Facade| runtime(facade) || !facade.file.starts_with("libcudart.");
    for facade in FACADES.iter().filter(is_wanted) {
        let bytes = facade.bytes(&library.to_string_lossy());
        put(&folder.join(facade.file), &bytes)?;
        for (name, _) in SCRIPTS.iter().filter(|(_, own)| facade.file.starts_with(own)) {
            let script =
                format!("/* Stands for {name} under gpucast. */\nINPUT ( {} )\n", facade.file);
            put(&folder.join(name), script.as_bytes())?;
        }
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), FacadeError> {
    fs::write(path, bytes).map_err(|error| FacadeError::Write { path: path.to_owned(), error })
}
