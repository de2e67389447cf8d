//! The driver interface: `cu*` functions. And `ptx_run`, which stands on the same device.
//!
//! Before each function it asks: was there a `cuInit`, and is there a context where one is needed?
//! A program that uses the runtime has both.

mod arrays;
mod context;
mod execution;
mod graphs;
mod lookup;
mod memory;
mod modules;
mod ocelot;
mod pools;
mod references;
mod streams;
mod tensor_maps;
mod textures;

use std::ffi::c_void;

use gpucast_host::Error;

use crate::state::{self, Begun};

/// Declares functions of C that return a `CUresult`, under their names with `gpucast_` before them,
/// and the list of these names with the functions' addresses.
macro_rules! driver_functions {
    ($($(#[doc = $doc:literal])* fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $body:block)+) => {
        /// The names of the functions in this file.
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),+];

        /// The addresses of the functions, in order of their names.
        pub(super) fn addresses() -> Vec<$crate::driver::Address> {
            vec![$($name as $crate::driver::Address),+]
        }

        $(
            $(#[doc = $doc])*
            #[allow(non_snake_case, reason = "the name is CUDA's")]
            #[allow(clippy::too_many_arguments, reason = "the signature is CUDA's")]
            #[allow(unsafe_code, reason = "the symbol is for C")]
            // SAFETY: no other symbol has this name.
            #[unsafe(export_name = concat!("gpucast_", stringify!($name)))]
            extern "C" fn $name($($argument: $ty),*) -> i32 {
                $crate::driver::call(stringify!($name), || $body)
            }
        )+
    };
}

use driver_functions;

/// The address of a function.
pub(crate) type Address = *const c_void;

/// Functions that may be called before `cuInit`; `ptx_run` knows nothing of it.
const BEFORE_BEGIN: [&str; 8] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorString",
    "cuGetErrorName",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuGetExportTable",
    "ptx_run",
];

/// How the names of functions begin that work in the current context.
const IN_CONTEXT: [&str; 13] = [
    "cuArray3DCreate",
    "cuArrayCreate",
    "cuCtxSynchronize",
    "cuEventCreate",
    "cuLaunch",
    "cuMemAlloc",
    "cuMemGetInfo",
    "cuMemHostAlloc",
    "cuMemcpy",
    "cuMemset",
    "cuMipmappedArrayCreate",
    "cuModuleLoad",
    "cuStreamCreate",
];

/// Calls a function where the driver would: after `cuInit`, and with a context where it needs one.
/// A program that uses the runtime has both, as the runtime makes them.
pub(crate) fn call(name: &str, function: impl FnOnce() -> Result<(), Error>) -> i32 {
    let outcome = match state::begun() {
        Begun::Not if !BEFORE_BEGIN.contains(&name) => Err(Error::NotInitialized),
        Begun::ByDriver
            if context::current() == 0
                && IN_CONTEXT.iter().any(|prefix| name.starts_with(prefix)) =>
        {
            Err(Error::InvalidContext)
        }
        Begun::Not | Begun::ByDriver | Begun::ByRuntime => Ok(()),
    };
    let outcome = outcome.and_then(|()| state::told(name, function));
    outcome.err().map_or(0, Error::driver_code)
}

/// The functions of a file: their names, and their addresses in the same order.
type File = (&'static [&'static str], fn() -> Vec<Address>);

/// The files with functions.
const FILES: [File; 13] = [
    (arrays::NAMES, arrays::addresses),
    (context::NAMES, context::addresses),
    (execution::NAMES, execution::addresses),
    (graphs::NAMES, graphs::addresses),
    (lookup::NAMES, lookup::addresses),
    (memory::NAMES, memory::addresses),
    (modules::NAMES, modules::addresses),
    (ocelot::NAMES, ocelot::addresses),
    (pools::NAMES, pools::addresses),
    (references::NAMES, references::addresses),
    (streams::NAMES, streams::addresses),
    (tensor_maps::NAMES, tensor_maps::addresses),
    (textures::NAMES, textures::addresses),
];

/// The names of all functions of the driver interface.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().flat_map(|(names, _)| *names).copied()
}

/// The address of a function by its name.
pub(crate) fn address(name: &str) -> Option<Address> {
    FILES.iter().find_map(|(names, addresses)| {
        let at = names.iter().position(|&known| known == name)?;
        addresses().get(at).copied()
    })
}
