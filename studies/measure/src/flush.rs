//! What takes a kernel's data out of the L2.

use gpucast_collection::language::Kernel;

use crate::kernels;

/// A kernel that reads twice an L2 of so many bytes, so that nothing else stays in it.
///
/// It writes nothing: what it left dirty, the next launch would evict and pay for.
#[must_use]
pub fn flush(l2_bytes: u64) -> Kernel {
    /// Bytes that the kernel's blocks share out without a rest.
    const UNIT: u64 = 1 << 20;
    kernels::stream((2 * l2_bytes).next_multiple_of(UNIT).max(UNIT))
}
