//! The counts of each machine instruction.

use gpucast_counters::machine::{MachineAccess, MachineRow};
use gpucast_counters::operation::{Flops, Precision};
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};

use super::flow::{Predicated, Solution};
use super::isa::{Flow, Guard};
use super::listing::{Listing, bytes_accessed};
use super::updates::Update;

impl Listing<'_> {
    pub(super) fn rows(&self, solution: &Solution) -> Vec<MachineRow> {
        let mut rows = Vec::new();
        for (block, contents) in self.code.blocks.iter().enumerate() {
            if solution.lanes[block] == 0 {
                continue;
            }
            for index in contents.instructions.clone() {
                let decoded = &self.code.instructions[index].decoded;
                let meaning = &self.meanings[index];
                rows.push(MachineRow {
                    mnemonic: decoded.mnemonic.into(),
                    class: meaning.class,
                    flops: meaning.flops.map(|flops| match decoded.is_half_of_double {
                        true => Flops { precision: Precision::Double, ..flops },
                        false => flops,
                    }),
                    access: self.access(index),
                    instruction: self.owner(index),
                    warp_executions: solution.warps[block],
                    issued_lanes: solution.lanes[block],
                    thread_executions: self.threads(index, block, solution),
                });
            }
        }
        rows
    }

    /// Threads that executed an instruction with its guard true; none if it is the warp's.
    fn threads(&self, index: usize, block: usize, solution: &Solution) -> u128 {
        let decoded = &self.code.instructions[index].decoded;
        let lanes = solution.lanes[block];
        if self.meanings[index].is_uniform(decoded.mnemonic) {
            return 0;
        }
        if self.updates.get(&index) == Some(&Update::OneLane) {
            return solution.warps[block].min(lanes);
        }
        match decoded.guard {
            Guard::Always => lanes,
            Guard::Never => 0,
            Guard::Sometimes if decoded.conditional && is_jump(decoded.flow) => {
                solution.taken[block].min(lanes)
            }
            // The guard is that of the PTX instruction, or stands for a branch around it. Copies
            // share its executions as they share those of the block.
            Guard::Sometimes => {
                let of_loop = self.ptx[index].and_then(|ptx| {
                    let ptx = self.loops.block(ptx);
                    solution.predicated.get(&Predicated { machine: block, ptx }).copied()
                });
                if let Some(executions) = of_loop.filter(|_| self.is_predicated(index)) {
                    return executions.min(lanes);
                }
                let Some(row) = self.ptx[index].and_then(|ptx| self.counts.get(&ptx)) else {
                    return lanes;
                };
                let guarded = self.ptx[index].is_some_and(|ptx| {
                    self.program.instructions()[ptx as usize].instruction.guard.is_some()
                });
                if !guarded && row.thread_executions >= lanes && self.scales(index) {
                    0
                } else if guarded && row.issued_lanes > lanes {
                    let share = row.thread_executions as f64 / row.issued_lanes as f64;
                    (share * lanes as f64).round() as u128
                } else {
                    row.thread_executions.min(lanes)
                }
            }
        }
    }

    /// Returns true if it brings numbers too small or large for a `MUFU` into its range or back.
    /// Its guard is false for ordinary numbers.
    fn scales(&self, index: usize) -> bool {
        use Opcode as O;
        let decoded = &self.code.instructions[index].decoded;
        let Some(ptx) = self.ptx[index] else { return false };
        let ptx = &self.program.instructions()[ptx as usize].instruction;
        matches!(decoded.mnemonic, "FMUL" | "FADD")
            && matches!(ptx.opcode, O::Ex2 | O::Lg2 | O::Rcp | O::Rsqrt | O::Sqrt | O::Div)
            && ptx.types().next() == Some(ScalarType::F32)
    }

    /// The access of an instruction; the facts that its bits do not give come from the PTX.
    fn access(&self, index: usize) -> Option<MachineAccess> {
        let (space, kind) = self.meanings[index].access?;
        let decoded = &self.code.instructions[index].decoded;
        let ptx = self.ptx[index].map(|ptx| &self.program.instructions()[ptx as usize].instruction);
        let of_ptx = || Some(bytes_accessed(ptx?)).filter(|bytes| *bytes > 0);
        let bytes = decoded.bytes.or_else(of_ptx).unwrap_or(4);
        // Until Pascal `LD` may stand for a space that the PTX names.
        let named = || ptx?.modifiers.iter().find_map(|modifier| modifier.as_space());
        let space = space.or_else(named).filter(|&space| space != StateSpace::Param);
        Some(MachineAccess { space, kind, bytes })
    }
}

/// Returns true if an instruction leads away from the next one.
fn is_jump(flow: Flow) -> bool {
    !matches!(flow, Flow::Next | Flow::Push(..) | Flow::Call(_))
}
