//! Shadow of the tensor memory of a CTA: for each cell its last write and the last reads since.
//!
//! Two kinds of operations use it (manual of PTX ISA, section 9.7.16.6). *Transfers* (`tcgen05.ld`,
//! `.st`) are done when their warp has waited for them. Operations of the *tensor cores*
//! (`tcgen05.mma`, `.cp`, `.shift`) are agents of the thread that issues them. Those of one thread
//! take their turns; all others must know that they are done, from the mbarrier of a
//! `tcgen05.commit`.

use gpucast_interpreter::TensorCells;

use crate::clocks::{Clocks, Stamp};
use crate::finding::{Between, Hazard};

/// Lanes, and columns of each.
const LANES: usize = 128;
const COLUMNS: usize = 576;
/// No use.
const NONE: u32 = u32::MAX;

/// An operation that uses cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellUse {
    pub(crate) instruction: u32,
    /// The thread of the cluster that issues it.
    pub(crate) thread: u32,
    pub(crate) stamp: Stamp,
    pub(crate) by: User,
}

/// Who uses cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// The tensor cores.
    Cores,
    /// A load or a store by a warp that has waited so often for such transfers.
    Transfer { store: bool, waits: u32 },
}

/// Two uses that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellConflict {
    pub(crate) hazard: Hazard,
    pub(crate) between: Between,
    pub(crate) instruction: u32,
    pub(crate) thread: u32,
    pub(crate) lane: u32,
    pub(crate) column: u32,
}

/// The last uses of a cell, as places in the list of uses.
#[derive(Clone, Copy, Debug)]
struct CellState {
    write: u32,
    load: u32,
    core_read: u32,
}

const FRESH: CellState = CellState { write: NONE, load: NONE, core_read: NONE };

/// The waits of a warp for its transfers of one kind: the time of each.
type Waits = Vec<Stamp>;

/// The shadow of one CTA's tensor memory.
#[derive(Debug, Default)]
pub(crate) struct TensorShadow {
    /// Lane by lane; empty until something is allocated.
    cells: Vec<CellState>,
    uses: Vec<CellUse>,
}

/// The waits of a cluster's warps for their transfers.
#[derive(Debug, Default)]
pub(crate) struct TransferWaits {
    /// Those for loads, then those for stores, of each warp.
    of_warp: Vec<[Waits; 2]>,
}

impl TransferWaits {
    pub(crate) fn reset(&mut self, warps: usize) {
        self.of_warp.clear();
        self.of_warp.resize_with(warps, Default::default);
    }

    /// A warp waits for its loads or stores.
    pub(crate) fn wait(&mut self, stamp: Stamp, store: bool) {
        if let Some(waits) = self.of_warp.get_mut((stamp.owner / 32) as usize) {
            waits[usize::from(store)].push(stamp);
        }
    }

    /// The transfer that a thread's warp makes now.
    pub(crate) fn transfer(&self, thread: u32, store: bool) -> User {
        let waits = self.of_warp.get((thread / 32) as usize);
        let waits = waits.map_or(0, |waits| waits[usize::from(store)].len() as u32);
        User::Transfer { store, waits }
    }

    /// The time at which a transfer was waited for.
    fn waited(&self, thread: u32, store: bool, waits: u32) -> Option<Stamp> {
        self.of_warp.get((thread / 32) as usize)?[usize::from(store)].get(waits as usize).copied()
    }
}

impl TensorShadow {
    /// Forgets everything.
    pub(crate) fn reset(&mut self) {
        self.cells.clear();
        self.uses.clear();
    }

    /// Columns are allocated: nothing is known of what is in them.
    pub(crate) fn allocate(&mut self, cells: &TensorCells) {
        self.cells.resize(LANES * COLUMNS, FRESH);
        each(cells, |at| {
            if let Some(cell) = self.cells.get_mut(at) {
                *cell = FRESH;
            }
        });
    }

    /// The first cell that nothing has written, as lane and column.
    pub(crate) fn unwritten(&self, cells: &TensorCells) -> Option<[u32; 2]> {
        let mut first = None;
        each(cells, |at| {
            if self.cells.get(at).is_none_or(|cell| cell.write == NONE) {
                first.get_or_insert(at);
            }
        });
        first.map(|at| [at / COLUMNS, at % COLUMNS].map(|part| part as u32))
    }

    /// Records a use of cells, and tells of earlier ones that nothing orders before it, each once.
    pub(crate) fn touch(
        &mut self,
        clocks: Option<&Clocks>,
        waits: &TransferWaits,
        now: CellUse,
        writes: bool,
        cells: &[TensorCells],
    ) -> Vec<CellConflict> {
        let place = self.uses.len() as u32;
        self.uses.push(now);
        let mut conflicts: Vec<CellConflict> = Vec::new();
        // Neighbours mostly have the same earlier uses.
        let mut seen: Vec<(u32, Hazard)> = Vec::new();
        for rectangle in cells {
            each(rectangle, |at| {
                let Some(cell) = self.cells.get_mut(at) else { return };
                let mut against = |earlier: u32, hazard| {
                    if earlier == NONE || earlier == place || seen.contains(&(earlier, hazard)) {
                        return;
                    }
                    seen.push((earlier, hazard));
                    let (Some(clocks), Some(earlier)) = (clocks, self.uses.get(earlier as usize))
                    else {
                        return;
                    };
                    if let Some(between) = unordered(clocks, waits, earlier, &now) {
                        let (lane, column) = ((at / COLUMNS) as u32, (at % COLUMNS) as u32);
                        let CellUse { instruction, thread, .. } = *earlier;
                        let conflict =
                            CellConflict { hazard, between, instruction, thread, lane, column };
                        conflicts.push(conflict);
                    }
                };
                if !writes {
                    against(cell.write, Hazard::ReadAfterWrite);
                    match now.by {
                        User::Cores => cell.core_read = place,
                        User::Transfer { .. } => cell.load = place,
                    }
                    return;
                }
                against(cell.load, Hazard::WriteAfterRead);
                against(cell.core_read, Hazard::WriteAfterRead);
                against(cell.write, Hazard::WriteAfterWrite);
                *cell = CellState { write: place, ..FRESH };
            });
        }
        conflicts
    }
}

/// What is missing between two uses, if nothing orders them.
fn unordered(
    clocks: &Clocks,
    waits: &TransferWaits,
    earlier: &CellUse,
    now: &CellUse,
) -> Option<Between> {
    let same_warp = earlier.thread / 32 == now.thread / 32;
    match (earlier.by, now.by) {
        // The tensor cores work for a thread in order.
        (User::Cores, User::Cores) if earlier.thread == now.thread => None,
        (User::Cores, _) if clocks.ordered(earlier.stamp, now.thread) => None,
        (User::Cores, _) => Some(Between::TensorCores),
        // So do the transfers of one kind of a warp.
        (User::Transfer { store: a, .. }, User::Transfer { store: b, .. })
            if same_warp && a == b =>
        {
            None
        }
        (User::Transfer { store, waits: at }, _) => match waits.waited(earlier.thread, store, at) {
            None => Some(Between::PendingTransfer),
            Some(_) if same_warp => None,
            Some(waited) if clocks.ordered(waited, now.thread) => None,
            Some(_) => Some(Between::Warps),
        },
    }
}

/// Calls `with` with the place of each cell.
fn each(cells: &TensorCells, mut with: impl FnMut(usize)) {
    for lane in cells.lane..cells.lane + cells.lanes {
        let first = lane as usize * COLUMNS + cells.column as usize;
        (first..first + cells.columns as usize).for_each(&mut with);
    }
}
