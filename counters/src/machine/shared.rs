//! Accesses of machine code to shared memory, and their passes over the banks.
//!
//! An assembler makes one wide access of several narrow ones, of one iteration or of several. It
//! drops loads whose data it has. The recorder has counted the passes of each PTX access, by itself
//! and as part of the wider accesses that there are ([`MemoryCounts::wider`]). The rows of the
//! machine code tell how often each of them is made.

use std::collections::BTreeMap;
use std::iter::Sum;

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::StateSpace::Shared;

use super::MachineProfile;
use crate::counts::{MemoryCounts, WIDER_BYTES};
use crate::direction::Direction;
use crate::table::{BaseTable, Row};

/// Accesses to shared memory and their passes over the banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedPasses {
    /// Executions by a warp with at least one lane that takes part.
    pub requests: u128,
    /// Passes over the banks.
    pub passes: u128,
    /// Passes if no two lanes that are served together conflicted.
    pub conflict_free: u128,
}

impl SharedPasses {
    /// Passes that conflicts of banks added.
    #[must_use]
    pub fn conflict_passes(&self) -> u128 {
        self.passes.saturating_sub(self.conflict_free)
    }

    /// Those of accesses of the PTX.
    fn of_ptx(counts: &MemoryCounts) -> Self {
        let MemoryCounts { requests, passes, conflict_free, .. } = *counts;
        Self { requests, passes, conflict_free }
    }

    /// Those of `requests` accesses of `bytes` bytes that stand for some of the PTX.
    fn of_width(counts: &MemoryCounts, bytes: u32, requests: u128) -> Self {
        let wider = WIDER_BYTES.iter().position(|&width| width == bytes);
        let wider = wider.map(|at| counts.wider[at]).filter(|wider| wider.passes > 0);
        let (passes, conflict_free) = match wider {
            Some(wider) => (wider.passes, wider.conflict_free),
            None => (counts.passes, counts.conflict_free),
        };
        let share = |passes: u128| match requests == counts.requests {
            true => passes,
            false => {
                (passes as f64 * (requests as f64 / counts.requests.max(1) as f64)).round() as u128
            }
        };
        Self { requests, passes: share(passes), conflict_free: share(conflict_free) }
    }
}

impl Sum for SharedPasses {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            requests: sum.requests + part.requests,
            passes: sum.passes + part.passes,
            conflict_free: sum.conflict_free + part.conflict_free,
        })
    }
}

/// The accesses to shared memory in one direction, by the PTX instruction that they stand for:
/// those of the machine code if it is known, otherwise those of the PTX. `None` stands for machine
/// instructions that stand for no PTX instruction.
///
/// Copies, matrices and updates are those of the PTX: no assembler joins them.
pub(crate) fn shared_passes(
    table: &BaseTable,
    machine: Option<&MachineProfile>,
    direction: Direction,
) -> BTreeMap<Option<u32>, SharedPasses> {
    let mut found = BTreeMap::new();
    for row in &table.rows {
        let Some(counts) = of_direction(row, direction) else { continue };
        if machine.is_none() || !may_be_joined(row) {
            found.insert(Some(row.instruction), SharedPasses::of_ptx(counts));
        }
    }
    // Executions of the accesses of one width that stand for one PTX instruction.
    let mut accesses: BTreeMap<(Option<u32>, u32), u128> = BTreeMap::new();
    for row in machine.iter().flat_map(|machine| &machine.rows) {
        let Some(access) = row.access else { continue };
        let is_meant = direction != Direction::Update
            && Direction::of(access.kind) == direction
            && table.space_of(row) == Some(Shared);
        if is_meant && !found.contains_key(&row.instruction) {
            *accesses.entry((row.instruction, access.bytes)).or_default() += table.taking_part(row);
        }
    }
    for ((instruction, bytes), requests) in accesses {
        let ptx = instruction.and_then(|instruction| table.row_of(instruction));
        // The access may be one that the PTX does not have, such as the load before an exchange.
        let passes = match ptx.and_then(|row| of_direction(row, direction)) {
            Some(counts) => SharedPasses::of_width(counts, bytes, requests),
            None => SharedPasses { requests, passes: requests, conflict_free: requests },
        };
        let sum = found.entry(instruction).or_default();
        *sum = [*sum, passes].into_iter().sum();
    }
    found
}

fn of_direction(row: &Row, direction: Direction) -> Option<&MemoryCounts> {
    let is_meant =
        |counts: &&MemoryCounts| counts.space == Shared && Direction::of(counts.kind) == direction;
    row.memory.iter().find(is_meant)
}

/// Returns true if an assembler may make an access part of a wider one.
fn may_be_joined(row: &Row) -> bool {
    matches!(row.description.opcode, Opcode::Ld | Opcode::St)
}

#[cfg(test)]
mod tests {
    use std::array;

    use gpucast_interpreter::AccessKind;
    use gpucast_ptx_frontend::isa::InstructionClass::LoadStore;
    use gpucast_ptx_frontend::source::Span;

    use super::*;
    use crate::counts::WiderPasses;
    use crate::machine::{BackEnd, MachineAccess, MachineRow};
    use crate::metric::Kind;
    use crate::table::Description;

    /// A PTX load of words by 40 warps, and what it takes as part of wider ones.
    fn load(instruction: u32, opcode: Opcode, passes: u128, wider: [u128; 2]) -> Row {
        let description = Description {
            opcode,
            class: LoadStore,
            flops: None,
            tensor: None,
            line: 1,
            span: Span::default(),
            location: None,
        };
        let counts = MemoryCounts {
            space: Shared,
            requests: 40,
            passes,
            conflict_free: 40,
            wider: wider.map(|passes| WiderPasses { passes, conflict_free: passes }),
            ..MemoryCounts::default()
        };
        Row {
            warp_executions: 40,
            issued_lanes: 40 * 32,
            thread_executions: 40 * 32,
            memory: vec![counts],
            ..Row::without_counts(instruction, description)
        }
    }

    fn access(instruction: Option<u32>, bytes: u32, warps: u128) -> MachineRow {
        MachineRow {
            mnemonic: "LDS".into(),
            class: LoadStore,
            flops: None,
            access: Some(MachineAccess { space: Some(Shared), kind: AccessKind::Load, bytes }),
            instruction,
            warp_executions: warps,
            issued_lanes: 32 * warps,
            thread_executions: 32 * warps,
        }
    }

    fn found(rows: [Row; 3], machine: Vec<MachineRow>) -> [Option<[u128; 3]>; 4] {
        let table = BaseTable { rows: rows.into() };
        let machine = MachineProfile {
            back_end: BackEnd::Rules,
            kind: Kind::Estimated,
            target: "sm_80".to_owned(),
            registers_per_thread: None,
            rows: machine,
            notes: Vec::new(),
        };
        let found = shared_passes(&table, Some(&machine), Direction::Load);
        let figures = |key| {
            let SharedPasses { requests, passes, conflict_free } = *found.get(&key)?;
            Some([requests, passes, conflict_free])
        };
        let of_rows: [_; 3] = array::from_fn(|index| figures(Some(index as u32)));
        [of_rows[0], of_rows[1], of_rows[2], figures(None)]
    }

    /// A loop of 40 rounds that is unrolled by four and by two, with two rounds left over: 9 loads
    /// of 16 bytes, one of 8 and two of 4. A neighbour's loads are part of the same ones.
    #[test]
    fn each_width_of_an_unrolled_loop_takes_its_own_passes() {
        let rows = [
            load(0, Opcode::Ld, 40, [40, 80]),
            load(1, Opcode::Ld, 160, [0, 0]),
            load(2, Opcode::Ldmatrix, 160, [0, 0]),
        ];
        let code = [access(Some(0), 16, 9), access(Some(0), 8, 1), access(Some(0), 4, 2)];
        let [unrolled, joined, matrix, none] = found(rows, code.into());
        assert_eq!(unrolled, Some([9 + 1 + 2, 9 * 2 + 1 + 2, 9 * 2 + 1 + 2]));
        assert_eq!((joined, none), (None, None));
        // Matrices are loaded as the PTX says.
        assert_eq!(matrix, Some([40, 160, 40]));
    }

    /// Copies of an instruction in several places of the machine code make up the whole, exactly.
    /// An instruction without a line takes one pass.
    #[test]
    fn accesses_as_wide_as_those_of_the_ptx_take_their_passes() {
        let rows = [
            load(0, Opcode::Ld, 41, [0, 0]),
            load(1, Opcode::Ld, 123, [0, 0]),
            load(2, Opcode::Ld, 40, [0, 0]),
        ];
        let code = [
            access(Some(0), 4, 13),
            access(Some(0), 4, 27),
            access(Some(1), 4, 40),
            access(None, 4, 7),
        ];
        let expected = [Some([40, 41, 40]), Some([40, 123, 40]), None, Some([7, 7, 7])];
        assert_eq!(found(rows, code.into()), expected);
    }
}
