//! The kinds of accesses that programs make and observers hear of.

/// The effect of an access on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Reads data that the kernel promises not to write (`ld.global.nc`, `ldu`).
    LoadReadOnly,
    /// Writes.
    Store,
    /// Reads and writes in one step and returns the old value.
    Atomic,
    /// Reads and writes in one step and returns nothing.
    Reduction,
}
