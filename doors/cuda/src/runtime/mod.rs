//! The runtime interface: `cuda*` functions and those that nvcc's code calls.

mod arrays;
mod attributes;
mod errors;
mod events;
mod graphs;
pub(crate) mod launch;
mod memory;
mod pools;
mod properties;
mod references;
mod registration;
mod streams;
mod textures;

/// Declares functions of C that return an error's number, under their names with `gpucast_` before
/// them, and the list of these names. Bodies give a `Result`; errors are kept for
/// `cudaGetLastError`.
macro_rules! runtime_functions {
    ($($(#[doc = $doc:literal])* fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $body:block)+) => {
        /// The names of the functions in this file.
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),+];

        $(
            $(#[doc = $doc])*
            #[allow(non_snake_case, reason = "the name is CUDA's")]
            #[allow(clippy::too_many_arguments, reason = "the signature is CUDA's")]
            #[allow(unsafe_code, reason = "the symbol is for C")]
            // SAFETY: no other symbol has this name.
            #[unsafe(export_name = concat!("gpucast_", stringify!($name)))]
            extern "C" fn $name($($argument: $ty),*) -> i32 {
                $crate::state::begin($crate::state::Begun::ByRuntime);
                let outcome = $crate::state::told(stringify!($name), || $body);
                $crate::runtime::errors::finish(outcome)
            }
        )+
    };
}

/// As [`runtime_functions`], for functions that return anything else.
macro_rules! plain_functions {
    ($($(#[doc = $doc:literal])* fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $(-> $result:ty)? $body:block)+) => {
        /// The names of the other functions in this file.
        pub(super) const PLAIN_NAMES: &[&str] = &[$(stringify!($name)),+];

        $(
            $(#[doc = $doc])*
            #[allow(non_snake_case, reason = "the name is CUDA's")]
            #[allow(clippy::too_many_arguments, reason = "the signature is CUDA's")]
            #[allow(unsafe_code, reason = "the symbol is for C")]
            // SAFETY: no other symbol has this name.
            #[unsafe(export_name = concat!("gpucast_", stringify!($name)))]
            extern "C" fn $name($($argument: $ty),*) $(-> $result)? $body
        )+
    };
}

pub(crate) use properties::{device_attribute, exists};
pub(crate) use registration::{Wrapper, fatbin, fatbin_at};
use {plain_functions, runtime_functions};

/// The names of all functions of the runtime interface.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    [
        arrays::NAMES,
        arrays::PLAIN_NAMES,
        attributes::NAMES,
        errors::NAMES,
        errors::PLAIN_NAMES,
        events::NAMES,
        graphs::NAMES,
        launch::NAMES,
        launch::PLAIN_NAMES,
        memory::NAMES,
        pools::NAMES,
        properties::NAMES,
        references::NAMES,
        references::PLAIN_NAMES,
        registration::PLAIN_NAMES,
        streams::NAMES,
        textures::NAMES,
    ]
    .into_iter()
    .flatten()
    .copied()
}
