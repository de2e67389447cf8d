//! Where the library with CUDA's functions is.
//!
//! Cargo builds it beside the program, and archives have it in `lib`. It is not inside the program:
//! an executable cannot be loaded as a library. In the Python package it is the library with all
//! code.

use std::path::PathBuf;

use gpucast_cuda::facade::LIBRARY;

use crate::code;
use crate::failure::Report;

/// The environment variable with the path of the library.
const VARIABLE: &str = "GPUCAST_CUDA_LIBRARY";

/// Folders to look in, relative to the program's. Cargo always keeps the one in `deps` up to date;
/// the one beside the program is that of the last build of the whole workspace.
const FOLDERS: [&str; 4] = ["deps", "", "lib", "../lib/gpucast"];

/// The library's whole path.
pub(crate) fn find() -> Result<PathBuf, Report> {
    let chosen = std::env::var_os(VARIABLE).map(PathBuf::from);
    let own = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let own = own.as_deref().and_then(std::path::Path::parent);
    let beside = FOLDERS.iter().filter_map(|folder| Some(own?.join(folder).join(LIBRARY)));
    let mut candidates = chosen.into_iter().chain(code::library()).chain(beside);
    let found = candidates.find(|path| path.is_file()).and_then(|path| path.canonicalize().ok());
    found.ok_or_else(|| {
        Report::new(format!("{LIBRARY} is not beside the program")).hint(format!(
            "`cargo build --release -p gpucast-cuda` makes it; put it beside gpucast, or name it \
             in {VARIABLE}"
        ))
    })
}
