//! Arrays in memory.

use super::Type;

/// An array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub ty: Type,
    /// Elements.
    pub len: u64,
    /// Where it lies, and what is in it.
    pub place: ArrayMemory,
}

/// The memory of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ArrayMemory {
    /// A buffer that kernels read only.
    Input(Contents),
    /// A buffer that kernels write, too, and that begins as zeros.
    Output,
    /// Shared memory of a block.
    Shared,
    /// A variable in constant memory.
    Constant(Contents),
}

/// First contents of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Contents {
    /// Zeros.
    Zero,
    /// Random numbers from 0 to 1, from a seed.
    Uniform(u64),
    /// The index of the element that this many places behind, round and round.
    Chain(u64),
    /// Random whole numbers below a limit, from a seed.
    Below {
        /// The least number that is too large; at least 1.
        limit: u64,
        /// The seed.
        seed: u64,
    },
}
