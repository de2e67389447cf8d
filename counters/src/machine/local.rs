//! Local memory that the machine code still accesses.
//!
//! An assembler keeps arrays in registers whose indices it knows, widens accesses, and spills
//! registers. The accesses of the PTX say nothing of that; those of the machine code do.

use std::collections::BTreeMap;

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::types::StateSpace;

use super::{MachineProfile, MachineRow};

/// Accesses of machine code to local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalAccesses {
    /// Loads (`LDL`) that a warp issued.
    pub loads: u128,
    /// Stores (`STL`) that a warp issued.
    pub stores: u128,
    /// Bytes that threads loaded.
    pub loaded_bytes: u128,
    /// Bytes that threads stored.
    pub stored_bytes: u128,
}

impl LocalAccesses {
    fn add(&mut self, row: &MachineRow) {
        let Some(access) = row.access.filter(|access| access.space == Some(StateSpace::Local))
        else {
            return;
        };
        let bytes = row.thread_executions * u128::from(access.bytes);
        match access.kind {
            AccessKind::Load | AccessKind::LoadReadOnly => {
                self.loads += row.warp_executions;
                self.loaded_bytes += bytes;
            }
            // No instruction updates local memory atomically; one that did would write it.
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => {
                self.stores += row.warp_executions;
                self.stored_bytes += bytes;
            }
        }
    }
}

impl MachineProfile {
    /// Accesses to local memory by the PTX instruction that they stand for, an index into the
    /// program's instructions.
    ///
    /// PTX instructions without an entry have no access left. Spilled registers are found with the
    /// instruction that needed them, or under `None` if the back end knows none.
    #[must_use]
    pub fn local_accesses(&self) -> BTreeMap<Option<u32>, LocalAccesses> {
        let mut accesses: BTreeMap<Option<u32>, LocalAccesses> = BTreeMap::new();
        let is_local = |row: &&MachineRow| {
            row.access.is_some_and(|access| access.space == Some(StateSpace::Local))
        };
        for row in self.rows.iter().filter(is_local) {
            accesses.entry(row.instruction).or_default().add(row);
        }
        accesses
    }
}

#[cfg(test)]
mod tests {
    use gpucast_ptx_frontend::isa::InstructionClass;

    use super::super::{BackEnd, MachineAccess};
    use super::*;
    use crate::metric::Kind;

    #[test]
    fn accesses_to_local_memory_add_up_by_ptx_instruction() {
        let row = |mnemonic: &'static str, space, kind, bytes, instruction| MachineRow {
            mnemonic: mnemonic.into(),
            class: InstructionClass::LoadStore,
            flops: None,
            access: Some(MachineAccess { space: Some(space), kind, bytes }),
            instruction,
            warp_executions: 3,
            issued_lanes: 96,
            thread_executions: 90,
        };
        let profile = MachineProfile {
            back_end: BackEnd::Rules,
            kind: Kind::Estimated,
            target: "sm_80".to_owned(),
            registers_per_thread: None,
            rows: vec![
                row("LDL", StateSpace::Local, AccessKind::Load, 16, Some(4)),
                row("LDL", StateSpace::Local, AccessKind::Load, 4, Some(4)),
                row("STL", StateSpace::Local, AccessKind::Store, 8, None),
                row("LDG", StateSpace::Global, AccessKind::Load, 4, Some(5)),
            ],
            notes: Vec::new(),
        };
        let loads = LocalAccesses { loads: 6, loaded_bytes: 90 * 20, ..Default::default() };
        let spill = LocalAccesses { stores: 3, stored_bytes: 90 * 8, ..Default::default() };
        assert_eq!(profile.local_accesses(), BTreeMap::from([(None, spill), (Some(4), loads)]));
    }
}
