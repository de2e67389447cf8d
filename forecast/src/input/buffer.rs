//! A buffer of a plan.

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::ElementType;
use serde::{Deserialize, Serialize};

use super::pointer::Pointer;
use crate::failure::Anchor;

/// A buffer in device memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// The elements' type.
    pub ty: ElementType,
    /// Elements.
    pub len: usize,
    /// Contents before the first launch, but for the pointers.
    pub init: Init,
    /// Byte offsets in it, and the pointers that stand there: those of arrays of pointers and of
    /// tensor maps in memory.
    pub pointers: Vec<(usize, Pointer)>,
    /// Place of its description.
    pub anchor: Anchor,
}

impl Buffer {
    /// Size in bytes; lengths for which this would overflow are refused when a plan is read.
    pub fn bytes(&self) -> u64 {
        self.len as u64 * self.ty.bytes() as u64
    }
}
