//! Where the machine instructions of an operation stand.

/// The place that decides how often an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodePlace {
    /// With its operation.
    Operation,
    /// In a block outside of the operation's own, whose executions are its.
    Block(u32),
    /// At the start of a block where lanes come together.
    Meeting(u32),
    /// In front of an unrolled loop of one block.
    Entries(u32),
    /// In a block that ends the kernel, for those that run into it: who branches to it has ended.
    RunInto(u32),
}
