//! Checks uses of tensor memory.

use gpucast_interpreter::{TensorMemoryStep, TensorMemoryUse};

use super::{CtaChecker, locked};
use crate::checks::Check;
use crate::finding::{Between, Example, Key, Kind};
use crate::products::ProductRead;
use crate::tensor::{CellConflict, CellUse, User};

impl CtaChecker {
    /// Cells are allocated, read or written, or a warp waits for its transfers.
    pub(super) fn tensor_use(&mut self, used: &TensorMemoryUse<'_>) {
        let (init, race) = (self.has(Check::Init), self.has(Check::Race));
        if !init && !race {
            return;
        }
        let Some(cluster) = self.cluster.clone() else { return };
        let mut state = locked(&cluster);
        let state = &mut *state;
        let own_thread = 32 * used.warp + used.lane;
        let thread = 32 * self.launch.warps * self.cta.rank + own_thread;
        let writes = match used.step {
            TensorMemoryStep::Allocate => {
                for cells in used.cells {
                    if let Some(shadow) = state.tensors.get_mut(cells.rank as usize) {
                        shadow.allocate(cells);
                    }
                }
                return;
            }
            TensorMemoryStep::WaitLoads | TensorMemoryStep::WaitStores => {
                let store = used.step == TensorMemoryStep::WaitStores;
                return state.transfer_waits.wait(state.clocks.now(thread), store);
            }
            TensorMemoryStep::Read => false,
            TensorMemoryStep::Write => true,
        };
        if used.cells.is_empty() {
            return;
        }
        let by_cores = self.launch.roles.of(used.instruction).of_no_thread;
        let (by, stamp) = match by_cores {
            true => (User::Cores, state.core_stamp(thread)),
            false => (state.transfer_waits.transfer(thread, writes), state.clocks.now(thread)),
        };
        if by_cores {
            let (instruction, between) = (used.instruction, Between::TensorCores);
            state.core_use = Some(ProductRead { instruction, thread, stamp, between });
        }
        let now = CellUse { instruction: used.instruction, thread, stamp, by };
        let (mut unwritten, mut conflicts) = (None, Vec::new());
        for cells in used.cells.chunk_by(|a, b| a.rank == b.rank) {
            let rank = cells.first().map_or(0, |first| first.rank);
            let Some(shadow) = state.tensors.get_mut(rank as usize) else { continue };
            if init && !writes && unwritten.is_none() {
                unwritten = cells.iter().find_map(|cells| shadow.unwritten(cells));
            }
            let clocks = race.then_some(&state.clocks);
            let found = shadow.touch(clocks, &state.transfer_waits, now, writes, cells);
            conflicts.extend(found.into_iter().map(|conflict| {
                let other = state.ctaid(conflict.thread / (32 * self.launch.warps));
                (conflict, other)
            }));
        }
        if let Some([lane, column]) = unwritten {
            let key = Key { kind: Kind::Uninitialised, instruction: used.instruction, other: None };
            let example = self.cell_example(used.instruction, own_thread, [lane, column]);
            self.found.add(key, 1, || example);
        }
        for (conflict, other_cta) in conflicts {
            self.cell_conflict(used.instruction, own_thread, conflict, other_cta);
        }
    }

    fn cell_conflict(
        &mut self,
        instruction: u32,
        thread: u32,
        conflict: CellConflict,
        other_cta: [u32; 3],
    ) {
        let kind = Kind::Race(conflict.hazard, conflict.between);
        let key = Key { kind, instruction, other: Some(conflict.instruction) };
        let other = conflict.thread % (32 * self.launch.warps);
        let other = self.launch.party(other_cta, conflict.instruction, Some(other));
        let example = self.cell_example(instruction, thread, [conflict.lane, conflict.column]);
        self.found.add(key, 1, || Example { other: Some(other), ..example });
    }

    fn cell_example(&self, instruction: u32, thread: u32, [lane, column]: [u32; 2]) -> Example {
        Example {
            party: self.party(instruction, thread),
            other: None,
            place: None,
            detail: Some(format!("lane {lane}, column {column} of tensor memory")),
            is_fault: false,
        }
    }
}
