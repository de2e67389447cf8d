//! Loads that are under way together.
//!
//! A warp issues in order and waits where it needs the data of a load. `ptxas` puts the loads of a
//! basic block as far ahead as it may. So loads that are independent of each other's results (by
//! address or guard) are one *batch*, and the warp waits for them once. Barriers, fences and calls
//! also end a batch. So do stores that the load might have to see, because the compiler does not
//! know that they go elsewhere. Asynchronous copies belong to no batch: they exist so that nobody
//! waits. Approximation: no batch is too large for the registers, and none reaches beyond its basic
//! block.

use std::collections::HashMap;

use gpucast_ptx_frontend::dataflow::Uses;
use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::module::{Instruction, RegisterId};
use gpucast_ptx_frontend::types::StateSpace;

/// For each instruction of a basic block, true if it is a load from global memory that begins a
/// batch.
pub(super) fn begins_batch<'i>(block: impl Iterator<Item = &'i Instruction>) -> Vec<bool> {
    let mut batches = Batches::default();
    block.map(|instruction| batches.next(instruction)).collect()
}

/// Batches so far. Every batch comes after the one before it.
#[derive(Default)]
struct Batches {
    count: u32,
    /// The batch that a register's value comes with or depends on; 0 for none.
    of: HashMap<RegisterId, u32>,
    /// The batch behind which all loads stay.
    waited_for: u32,
    /// The batch behind which loads stay that might see a store.
    stored: u32,
}

impl Batches {
    /// Returns true if the next instruction begins a batch.
    fn next(&mut self, instruction: &Instruction) -> bool {
        let uses = Uses::of(instruction);
        let of = |register| self.of.get(register).copied().unwrap_or(0);
        let needs = uses.read.iter().map(of).max().unwrap_or(0);
        let mut begins = false;
        let mut result = needs;
        match kind(instruction) {
            Kind::Load { sees_stores } => {
                let stored = if sees_stores { self.stored } else { 0 };
                let after = needs.max(self.waited_for).max(stored);
                begins = after == self.count;
                self.count += u32::from(begins);
                result = after + 1;
            }
            Kind::Store => self.stored = self.stored.max(needs),
            Kind::Wait => {
                self.waited_for = self.count;
                self.of.clear();
            }
            Kind::Other => {}
        }
        for register in uses.written.iter().chain(&uses.partly_written) {
            self.of.insert(*register, result);
        }
        begins
    }
}

enum Kind {
    /// A load from global memory, as far as the instruction shows.
    Load {
        /// True if stores before it come first.
        sees_stores: bool,
    },
    /// A store to memory that loads might read.
    Store,
    /// The warp goes on when everything before is done.
    Wait,
    Other,
}

fn kind(instruction: &Instruction) -> Kind {
    let space = instruction.modifiers.iter().find_map(|modifier| modifier.as_space());
    let may_be_global = matches!(space, None | Some(StateSpace::Global | StateSpace::Tex));
    match instruction.opcode {
        Opcode::Ld | Opcode::Ldu if may_be_global => {
            Kind::Load { sees_stores: !instruction.has(Modifier::Nc) }
        }
        Opcode::Tex | Opcode::Tld4 | Opcode::Suld => Kind::Load { sees_stores: false },
        Opcode::St | Opcode::Red if may_be_global => Kind::Store,
        Opcode::Atom if may_be_global => Kind::Wait,
        Opcode::Bar | Opcode::Barrier | Opcode::Membar | Opcode::Fence | Opcode::Call => Kind::Wait,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instructions of a kernel's only block that begin a batch.
    fn beginning(code: &str) -> Vec<usize> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n{code}\nret;\n}}\n"
        );
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let body = module.functions[0].body.as_ref().unwrap();
        let begins = begins_batch(body.instructions.iter());
        (0..begins.len()).filter(|&at| begins[at]).collect()
    }

    #[test]
    fn loads_that_need_each_other_wait_and_others_go_together() {
        let independent = "ld.global.f32 %f1, [%rd1];\nadd.f32 %f3, %f1, %f1;\n\
                           ld.global.f32 %f2, [%rd1+4];\nld.f32 %f4, [%rd2];";
        assert_eq!(beginning(independent), [0]);
        // An index, what stands there, and something else that needs neither.
        let chain = "ld.global.u32 %r1, [%rd1];\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd3, %rd2;\n\
                     ld.global.f32 %f1, [%rd4];\nld.global.f32 %f2, [%rd1+8];\nld.global.f32 %f3, [%rd4+4];";
        assert_eq!(beginning(chain), [0, 3]);
        // A guard that needs a load.
        let guarded =
            "ld.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ld.global.f32 %f1, [%rd2];";
        assert_eq!(beginning(guarded), [0, 2]);
        // A register that is written anew needs nothing any more.
        let anew = "ld.global.u64 %rd3, [%rd1];\nmov.u64 %rd3, %rd2;\nld.global.f32 %f1, [%rd3];";
        assert_eq!(beginning(anew), [0]);
        assert_eq!(beginning("ld.shared.f32 %f1, [%rd1];\nld.param.u64 %rd1, [p];"), [0; 0]);
    }

    #[test]
    fn stores_and_barriers_keep_loads_behind_them() {
        // Copying word by word: the second load might read what the store writes.
        let copy =
            "ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd2], %f1;\nld.global.f32 %f2, [%rd1+4];";
        assert_eq!(beginning(copy), [0, 2]);
        assert_eq!(beginning(&copy.replace("ld.global", "ld.global.nc")), [0]);
        // Shared memory is another memory, and a constant needs no load.
        assert_eq!(beginning(&copy.replace("st.global.f32 [%rd2]", "st.shared.f32 [%r1]")), [0]);
        assert_eq!(beginning(&copy.replace("%rd2], %f1", "%rd2], %f5")), [0]);
        let barrier = "ld.global.f32 %f1, [%rd1];\nbar.sync 0;\nld.global.f32 %f2, [%rd1+4];";
        assert_eq!(beginning(barrier), [0, 2]);
        assert_eq!(beginning(&barrier.replace("ld.global", "ld.global.nc")), [0, 2]);
        let atomic = "ld.global.f32 %f1, [%rd1];\natom.global.add.u32 %r1, [%rd2], 1;\nld.global.f32 %f2, [%rd1];";
        assert_eq!(beginning(atomic), [0, 2]);
    }
}
