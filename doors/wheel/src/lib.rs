//! The one library of the Python package.
//!
//! ```text
//! Python ─────────────────────────► PyInit__gpucast     ┐
//! launcher `gpucast` ─────────────► gpucast_main        │
//! launcher `gpucast-serve` ───────► gpucast_serve_main  ├── _gpucast.abi3.so
//! facades of CUDA's libraries ────► gpucast_cu…         ┘
//! ```
//!
//! Programs and module are mostly the same code. Three files would hold it three times.
//!
//! Only Python has Python's symbols. `.ci/wheel` makes them weak, so that the library can be loaded
//! where there is no Python. They are null there, and only the module uses them.

use std::ffi::{CStr, OsString, c_char, c_int};
use std::panic::{self, UnwindSafe};
use std::path::PathBuf;

// Their functions are found by name.
use _gpucast as _;
use gpucast_cuda as _;

/// The status of a program of Rust that panicked.
const PANICKED: u8 = 101;

/// Runs `gpucast` in a process whose words are its own, and returns the exit status.
///
/// # Safety
///
/// `library` is this library's path, as a C string of the bytes of Rust's `OsStr`.
#[allow(unsafe_code, reason = "a launcher calls it by its name")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpucast_main(library: *const c_char) -> c_int {
    // SAFETY: the caller gives a C string.
    let bytes = unsafe { CStr::from_ptr(library) }.to_bytes().to_vec();
    // SAFETY: they are an `OsStr`'s, of a launcher that the same compiler has built.
    let path = PathBuf::from(unsafe { OsString::from_encoded_bytes_unchecked(bytes) });
    ended(move || gpucast::run(Some(path)))
}

/// Runs `gpucast-serve` in the same way. It does not need to know where its library is.
///
/// # Safety
///
/// There is nothing to keep to: both programs are called alike.
#[allow(unsafe_code, reason = "a launcher calls it by its name")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpucast_serve_main(_library: *const c_char) -> c_int {
    ended(gpucast_serve::run)
}

/// A program's status. No panic crosses the border; its message has been printed.
fn ended(program: impl FnOnce() -> u8 + UnwindSafe) -> c_int {
    panic::catch_unwind(program).unwrap_or(PANICKED).into()
}
