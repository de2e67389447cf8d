//! The file with this program's code: the program itself, or the library that a launcher loads.

use std::path::PathBuf;
use std::sync::OnceLock;

static LIBRARY: OnceLock<PathBuf> = OnceLock::new();

/// Says that a launcher has loaded this code from a library.
pub(crate) fn is_in(library: PathBuf) {
    // The first launcher is the only one.
    let _ = LIBRARY.set(library);
}

/// The library with this code, if it is in one. It has CUDA's functions, too.
pub(crate) fn library() -> Option<PathBuf> {
    LIBRARY.get().cloned()
}

/// The file with this code.
pub(crate) fn file() -> Option<PathBuf> {
    library().or_else(|| std::env::current_exe().ok())
}
