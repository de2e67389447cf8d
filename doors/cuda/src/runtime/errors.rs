//! The last error of each thread, and names of errors.

use std::cell::Cell;
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use gpucast_host::Error;

use super::{plain_functions, runtime_functions};
use crate::abi::Text;
use crate::both::limits::profiled;
use crate::notices;
use crate::state;

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(0) };
}

/// The number of a result; an error is the thread's last one from now on.
pub(crate) fn finish(result: Result<(), Error>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            LAST.set(error.code());
            error.code()
        }
    }
}

/// A kernel's fault lasts; it needs no device to be asked for.
fn lasting() -> i32 {
    state::with(|state| Ok(state.fault())).unwrap_or_default()
}

/// A text of C for each error, by its place in [`Error::ALL`].
fn texts(of: fn(Error) -> &'static str) -> Vec<CString> {
    let text = |error: &Error| CString::new(of(*error)).unwrap_or_default();
    Error::ALL.iter().map(text).collect()
}

/// The text of a number from such a list.
fn text_of(
    code: i32,
    texts: &'static [CString],
    success: &'static std::ffi::CStr,
) -> *const c_char {
    if code == 0 {
        return success.as_ptr();
    }
    let at = Error::ALL.iter().position(|error| error.code() == code);
    at.and_then(|at| texts.get(at))
        .map_or(c"unrecognized error code".as_ptr(), |text| text.as_ptr())
}

runtime_functions! {
    /// The profiler's range begins.
    fn cudaProfilerStart() { profiled(true) }

    /// The profiler's range ends.
    fn cudaProfilerStop() { profiled(false) }
}

plain_functions! {
    /// Returns the thread's last error and forgets it.
    fn cudaGetLastError() -> i32 {
        match lasting() {
            0 => LAST.replace(0),
            code => code,
        }
    }

    /// Returns the thread's last error.
    fn cudaPeekAtLastError() -> i32 {
        match lasting() {
            0 => LAST.get(),
            code => code,
        }
    }

    /// Describes an error.
    fn cudaGetErrorString(code: i32) -> *const c_char {
        static TEXTS: OnceLock<Vec<CString>> = OnceLock::new();
        text_of(code, TEXTS.get_or_init(|| texts(Error::text)), c"no error")
    }

    /// Names an error.
    fn cudaGetErrorName(code: i32) -> *const c_char {
        static TEXTS: OnceLock<Vec<CString>> = OnceLock::new();
        text_of(code, TEXTS.get_or_init(|| texts(Error::runtime_name)), c"cudaSuccess")
    }
}

/// A function that is not there was called by this name.
#[allow(unsafe_code, reason = "the symbol is for the facades")]
// SAFETY: no other symbol has this name.
#[unsafe(export_name = "gpucast_unsupported")]
extern "C" fn unsupported(name: Text) -> i32 {
    let name = name.get().unwrap_or("a function");
    notices::once(&format!("{name} is not there; it returns \"operation not supported\""));
    if name.starts_with("cuda") {
        return finish(Err(Error::NotSupported));
    }
    Error::NotSupported.driver_code()
}
