//! Memory operations whose addresses come from one register.
//!
//! Loops that are unrolled read many elements at offsets from one register. The executor compares
//! the lanes' bases with each other once for all of them: operations with the same number
//! ([`SameBase::value`]) find the same bases, as long as the lane loop has not been left between
//! them.

use std::collections::HashMap;

use super::memory_op::{MemoryOp, SameBase};
use super::op::{Code, Op};
use super::registers::WIDEST;
use super::row_uses::RowUses;
use super::side_tables::SideTables;

/// The operations that have the same [`SameBase::shape`].
#[derive(PartialEq, Eq, Hash)]
struct Shape {
    base: Option<u32>,
    is_wide: bool,
    element_bytes: u8,
    elements: u8,
}

impl Shape {
    fn of(op: &MemoryOp) -> Self {
        Self {
            base: op.base,
            is_wide: op.wide_base,
            element_bytes: op.element_bytes,
            elements: op.elements,
        }
    }
}

/// Gives every memory operation of `ops` its numbers.
pub(crate) fn number(ops: &[Op], tables: &mut SideTables) {
    let mut shapes = HashMap::new();
    let mut values = HashMap::new();
    // Places of the operations that wrote each row last, and that left the lane loop last.
    let mut written: Vec<usize> = Vec::new();
    let mut left = 0;
    for (at, op) in (1..).zip(ops) {
        if matches!(op.code, Code::Memory | Code::Probe)
            && let Some(memory_op) = tables.memory_ops.get_mut(op.a as usize)
        {
            let next = shapes.len() as u32;
            let shape = *shapes.entry(Shape::of(memory_op)).or_insert(next);
            let rows = memory_op.base.map(|base| written.iter().skip(base as usize).take(WIDEST));
            let changed = rows.into_iter().flatten().max().copied().unwrap_or(0);
            let next = values.len() as u32;
            let value = *values.entry((shape, changed.max(left))).or_insert(next);
            memory_op.same_base = SameBase { shape, value };
        } else if !op.code.is_lane_operation() {
            left = at;
        }
        // Operations of which nothing is known have left the loop.
        for row in RowUses::of(op, tables).into_iter().flat_map(|uses| uses.writes) {
            // Whatever its width: a few more rows than it has do no harm.
            let rows = row as usize..row as usize + WIDEST;
            written.resize(written.len().max(rows.end), 0);
            written[rows].fill(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Program;

    /// The shape and value of each load of a kernel with the body, by its destination `%v0` on.
    fn numbers(body: &str) -> Vec<crate::program::memory_op::SameBase> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
             .reg .b64 %a, %b; .reg .b32 %v<9>; .reg .b64 %w; .reg .pred %q;\n\
             ld.param.u64 %a, [p]; mov.u64 %b, %a; setp.eq.u64 %q, %a, 0;\n{body}\nret;\n}}\n"
        );
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let program = Program::new(&module, &text, "k").unwrap();
        program.tables.memory_ops.iter().map(|op| op.same_base).collect()
    }

    #[test]
    fn values_are_the_same_until_the_register_is_written_or_the_loop_is_left() {
        let same = |body: &str| match numbers(body)[..] {
            [first, last] => (first.shape == last.shape, first.value == last.value),
            ref other => panic!("{other:?}"),
        };
        let between = |between: &str| {
            same(&format!("ld.global.u32 %v0, [%a];\n{between}\nld.global.u32 %v1, [%a+4];"))
        };
        assert_eq!(between(""), (true, true));
        assert_eq!(between("add.u64 %w, %w, 4; add.u32 %v2, %v0, 1;"), (true, true));
        assert_eq!(between("add.u64 %a, %a, 4;"), (true, false));
        assert_eq!(between("@%q add.u64 %a, %a, 4;"), (true, false));
        assert_eq!(between("bar.sync 0;"), (true, false));
        assert_eq!(between("@%q bra L; add.u32 %v2, %v0, 1; L:"), (true, false));
        assert_eq!(same("ld.global.u32 %v0, [%a]; ld.global.u32 %v1, [%b];"), (false, false));
        assert_eq!(same("ld.global.u32 %v0, [%a]; ld.global.u64 %w, [%a];"), (false, false));
        assert_eq!(same("ld.global.u32 %v0, [%a]; st.global.u32 [%a], %v0;"), (true, true));
        // A load into its own base.
        assert_eq!(same("ld.global.u64 %a, [%a]; ld.global.u64 %w, [%a];"), (true, false));
    }
}
