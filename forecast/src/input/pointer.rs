//! Addresses of device memory in a plan.

use serde::{Deserialize, Serialize};

/// A device address: bytes behind the beginning of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// An index into [`Plan::buffers`](super::plan::Plan::buffers).
    pub buffer: usize,
    /// Bytes behind the buffer's beginning.
    pub offset: u64,
}

impl Pointer {
    /// The beginning of a buffer.
    pub fn to(buffer: usize) -> Self {
        Self { buffer, offset: 0 }
    }
}
