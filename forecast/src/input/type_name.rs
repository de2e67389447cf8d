//! Names of element types that nobody knows.

use gpucast_buffers::scalar::ElementType;

use crate::failure::suggest;

/// Returns a proposal to replace a name that no type has.
pub(super) fn hint(name: &str) -> Option<String> {
    match ElementType::alias(name) {
        Some(ty) => Some(format!("write `{ty}`: types have the names of PTX")),
        None => suggest(name, ElementType::names()),
    }
}
