//! Names of the rows of counts of memory instructions.

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::types::StateSpace;

/// The kinds of access that an instruction has a row of counts for.
///
/// A copy from one shared memory to another reads and writes the same space, and tells an mbarrier
/// there, so that shared memory has three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum RowKind {
    Global,
    Texture,
    Local,
    SharedLoad,
    SharedStore,
    SharedUpdate,
    Constant,
    Parameter,
}

impl RowKind {
    /// Kinds of row of one instruction.
    const COUNT: u32 = Self::Parameter as u32 + 1;

    fn of(space: StateSpace, kind: AccessKind) -> Self {
        match (space, kind) {
            (StateSpace::Global, _) => Self::Global,
            (StateSpace::Tex, _) => Self::Texture,
            (StateSpace::Local, _) => Self::Local,
            (StateSpace::Shared, AccessKind::Load | AccessKind::LoadReadOnly) => Self::SharedLoad,
            (StateSpace::Shared, AccessKind::Store) => Self::SharedStore,
            (StateSpace::Shared, AccessKind::Atomic | AccessKind::Reduction) => Self::SharedUpdate,
            (StateSpace::Const, _) => Self::Constant,
            // Registers are not memory; nothing reports an access to them.
            (StateSpace::Param | StateSpace::Reg | StateSpace::Sreg, _) => Self::Parameter,
        }
    }
}

// A trace keeps a set of them in eight bits.
const _: () = assert!(RowKind::COUNT <= u8::BITS);

/// Names a row of counts: an instruction and a kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowKey(u32);

impl RowKey {
    /// The row of `instruction` for accesses of `kind` to `space`.
    #[inline]
    pub(crate) fn new(instruction: u32, space: StateSpace, kind: AccessKind) -> Self {
        Self(instruction * RowKind::COUNT + RowKind::of(space, kind) as u32)
    }

    /// The row with this index.
    pub(crate) fn of_index(index: u32) -> Self {
        Self(index)
    }

    /// Its place among all rows.
    #[inline]
    pub(crate) fn index(self) -> u32 {
        self.0
    }

    /// The instruction that it belongs to.
    pub(crate) fn instruction(self) -> u32 {
        self.0 / RowKind::COUNT
    }

    /// The kind of access among those of an instruction: a number below 8.
    pub(crate) fn kind(self) -> u32 {
        self.0 % RowKind::COUNT
    }

    /// The rows of so many instructions.
    pub(crate) fn rows(instructions: usize) -> usize {
        instructions * RowKind::COUNT as usize
    }
}
