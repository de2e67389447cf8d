//! The machine code's share in features: its instructions, and the accesses that stand for those of
//! the PTX.
//!
//! The paper counts before compilation. A compiler may join four loads of neighbouring elements
//! into one, and what that costs is not four times the cost of a load.

use std::collections::BTreeMap;

use super::kind::{AccessDirection, MemorySpace};
use super::{Features, MachineAccesses, MemoryAccess};
use crate::machine::{MachineAccess, MachineProfile};

impl Features {
    /// The same features with counts of the machine code of the launch.
    #[must_use]
    pub fn with_machine(mut self, machine: &MachineProfile) -> Self {
        let mut issued = BTreeMap::<String, u128>::new();
        for row in &machine.rows {
            *issued.entry(row.mnemonic.clone().into_owned()).or_default() += row.warp_executions;
        }
        self.machine_instructions = Some(issued);
        // A PTX instruction with a generic address may reach several memories.
        let mut memories = BTreeMap::<u32, u32>::new();
        for instruction in self.accesses.iter().flat_map(|access| &access.instructions) {
            *memories.entry(*instruction).or_default() += 1;
        }
        for access in &mut self.accesses {
            access.machine = of_access(access, machine, |ptx| memories.get(&ptx) == Some(&1));
        }
        self
    }
}

/// The accesses of the machine code for those of the PTX, in order of their width. There are none
/// that can be told if an instruction may stand for accesses of several memories.
fn of_access(
    access: &MemoryAccess,
    machine: &MachineProfile,
    is_alone: impl Fn(u32) -> bool,
) -> Option<Vec<MachineAccesses>> {
    let mut widths = BTreeMap::<u32, MachineAccesses>::new();
    for row in &machine.rows {
        let (Some(own), Some(ptx)) = (row.access, row.instruction) else { continue };
        if access.instructions.binary_search(&ptx).is_err() || !is_same_kind(access, own) {
            continue;
        }
        if own.space.is_none() && !is_alone(ptx) {
            return None;
        }
        let none = MachineAccesses { bytes: own.bytes, sub_groups: 0, work_items: 0 };
        let sum = widths.entry(own.bytes).or_insert(none);
        sum.sub_groups += row.warp_executions;
        sum.work_items += row.thread_executions;
    }
    Some(widths.into_values().collect())
}

/// Returns true if an access of the machine code may stand for one of the PTX. A spill is no access
/// of the instruction that its line names.
fn is_same_kind(access: &MemoryAccess, machine: MachineAccess) -> bool {
    machine.space.is_none_or(|space| MemorySpace::of(space) == Some(access.space))
        && AccessDirection::of(machine.kind) == access.direction
}

#[cfg(test)]
mod tests {
    use gpucast_interpreter::AccessKind;
    use gpucast_ptx_frontend::isa::InstructionClass;
    use gpucast_ptx_frontend::types::StateSpace;

    use super::super::{AccessPattern, ElementType, Strides};
    use super::*;
    use crate::machine::{BackEnd, MachineRow};
    use crate::metric::Kind;

    fn access(space: MemorySpace, direction: AccessDirection, ptx: &[u32]) -> MemoryAccess {
        let strides = Strides::Irregular;
        MemoryAccess {
            space,
            direction,
            buffer: None,
            element: ElementType::untyped(32),
            pattern: AccessPattern { local: strides, global: strides, step_bytes: None },
            sub_groups: 8,
            work_items: 256,
            footprint: None,
            instructions: ptx.to_vec(),
            machine: None,
            ptx_lines: vec![],
            cuda_lines: vec![],
        }
    }

    fn features(accesses: Vec<MemoryAccess>) -> Features {
        Features {
            kernel: "k".to_owned(),
            grid: [1; 3],
            block: [32, 1, 1],
            groups: 1,
            sub_groups: 1,
            work_items: 32,
            accesses,
            operations: vec![],
            barriers_per_work_item: 0.0,
            machine_instructions: None,
        }
    }

    /// Rows of a mnemonic with its access and PTX instruction, each issued twice.
    fn profile(rows: Vec<(&'static str, MachineAccess, Option<u32>)>) -> MachineProfile {
        let of = |(mnemonic, access, instruction): (&'static str, _, _)| MachineRow {
            mnemonic: mnemonic.into(),
            class: InstructionClass::LoadStore,
            flops: None,
            access: Some(access),
            instruction,
            warp_executions: 2,
            issued_lanes: 64,
            thread_executions: 60,
        };
        MachineProfile {
            back_end: BackEnd::Rules,
            kind: Kind::Estimated,
            target: "sm_80".to_owned(),
            registers_per_thread: None,
            rows: rows.into_iter().map(of).collect(),
            notes: Vec::new(),
        }
    }

    fn of(space: Option<StateSpace>, kind: AccessKind, bytes: u32) -> MachineAccess {
        MachineAccess { space, kind, bytes }
    }

    /// Four loads became one of 16 bytes, whose line is that of the first. A fifth one stayed.
    #[test]
    fn joined_accesses_count_once_and_spills_not_at_all() {
        use AccessKind::{Load, Store};
        let (local, shared) = (Some(StateSpace::Local), Some(StateSpace::Shared));
        let machine = profile(vec![
            ("LDS", of(shared, Load, 16), Some(3)),
            ("LDS", of(shared, Load, 4), Some(8)),
            ("LDL", of(local, Load, 4), Some(4)),
            ("STL", of(local, Store, 4), Some(8)),
            ("STS", of(shared, Store, 4), None),
            ("LDS", of(shared, Load, 4), Some(20)),
        ]);
        let loads = access(MemorySpace::Local, AccessDirection::Load, &[3, 4, 5, 6, 8]);
        let stores = access(MemorySpace::Local, AccessDirection::Store, &[9]);
        let counted = features(vec![loads, stores]).with_machine(&machine);
        let twice = |bytes| MachineAccesses { bytes, sub_groups: 2, work_items: 60 };
        assert_eq!(counted.accesses[0].machine, Some(vec![twice(4), twice(16)]));
        assert_eq!(counted.accesses[1].machine, Some(vec![]));
        let issued = counted.machine_instructions.unwrap();
        assert_eq!((issued["LDS"], issued["LDL"], issued["STS"]), (6, 2, 2));
    }

    /// A generic load that reaches two memories: nobody can say how often it was either.
    #[test]
    fn accesses_of_several_memories_cannot_be_told_apart() {
        let machine = profile(vec![("LD", of(None, AccessKind::Load, 4), Some(3))]);
        let load = |space| access(space, AccessDirection::Load, &[3]);
        let both = features(vec![load(MemorySpace::Local), load(MemorySpace::Global)]);
        let counted = both.with_machine(&machine);
        assert!(counted.accesses.iter().all(|access| access.machine.is_none()));
        let alone = features(vec![load(MemorySpace::Global)]).with_machine(&machine);
        let one = MachineAccesses { bytes: 4, sub_groups: 2, work_items: 60 };
        assert_eq!(alone.accesses[0].machine, Some(vec![one]));
    }
}
