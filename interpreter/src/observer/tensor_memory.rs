//! Events of tensor memory, for those who check its use.

/// Cells of one CTA's tensor memory: a rectangle of lanes and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorCells {
    /// The CTA's rank in its cluster.
    pub rank: u32,
    /// The first lane.
    pub lane: u32,
    /// Number of lanes.
    pub lanes: u32,
    /// The first column.
    pub column: u32,
    /// Number of columns.
    pub columns: u32,
}

/// What happens to cells, or to the transfers of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorMemoryStep {
    /// They are allocated.
    Allocate,
    /// They are read.
    Read,
    /// They are written.
    Write,
    /// `tcgen05.wait::ld`: the warp's loads are done.
    WaitLoads,
    /// `tcgen05.wait::st`: the warp's stores are done.
    WaitStores,
}

/// A use of tensor memory by a warp, or by the tensor cores for one of its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMemoryUse<'a> {
    /// Index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lane that issues it; the first of several.
    pub lane: u32,
    /// What happens.
    pub step: TensorMemoryStep,
    /// The cells; none for the waits.
    pub cells: &'a [TensorCells],
}
