//! Registers whose value is the same in all CTAs of a launch.
//!
//! A row is *settled* if each lane's value follows from the thread's place in its CTA and from the
//! launch: constants, parameters, `%tid`, and what is computed from them alone. The code of a
//! kernel mostly begins with such rows: copies of parameters and addresses in shared memory, which
//! are affine functions of the thread's place. They are computed once, when a warp's register file
//! is made, and not once for each CTA. Blocks count their instructions as before.
//!
//! A row is settled if one operation alone writes it, without a guard, from settled rows, and no
//! code may read it before. Which lanes come to that operation does not matter: those that do not
//! come never read the row.

use super::op::{Code, Op};
use super::registers::RegisterFile;
use super::row_uses::{RowUses, computes_row};
use super::{Callable, Program};

/// The number of operations that write a row, if it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writers {
    None,
    One,
    Several,
}

impl Program {
    /// Moves the operations that compute settled rows to [`Program::settling`]. Copies of the CTA's
    /// place become rows that are filled in when a CTA begins.
    pub(super) fn settle(&mut self) {
        let uses: Option<Vec<RowUses>> = self.ops.iter().map(|op| self.rows_of(op)).collect();
        // Functions of the runtime work on whole activations.
        let Some(uses) = uses else { return self.end_settling() };
        let rows = self.registers.rows as usize;
        let mut writers = vec![Writers::None; rows];
        for &row in uses.iter().flat_map(|uses| &uses.writes) {
            let writers = &mut writers[row as usize];
            *writers = if *writers == Writers::None { Writers::One } else { Writers::Several };
        }
        for &row in &self.registers.uninitialised_rows {
            writers[row as usize] = Writers::Several;
        }
        let mut settled = vec![false; rows];
        for row in self.registers.filled_once() {
            settled[row as usize] = writers[row as usize] == Writers::None;
        }
        let mut moves = vec![false; self.ops.len()];
        // An operation may stand before one whose result it reads: functions are in any order.
        loop {
            let before = self.settling.len();
            for ((op, uses), moves) in self.ops.iter().zip(&uses).zip(&mut moves) {
                let is_candidate = !*moves && op.guard == 0 && computes_row(op.code);
                let is_settled = |&row: &u32| settled[row as usize];
                if is_candidate
                    && writers[op.dst as usize] == Writers::One
                    && uses.reads.iter().all(is_settled)
                {
                    settled[op.dst as usize] = true;
                    *moves = true;
                    self.settling.push(*op);
                }
            }
            if self.settling.len() == before {
                break;
            }
        }
        for (op, moves) in self.ops.iter().zip(&mut moves) {
            let copies = op.guard == 0 && op.code == Code::Mov32;
            if copies && writers[op.dst as usize] == Writers::One {
                *moves |= self.registers.fill_as(op.dst, op.a);
            }
        }
        self.remove(&moves);
        self.end_settling();
    }

    /// Ends the list of operations with one that leaves the lane loop.
    fn end_settling(&mut self) {
        self.settling.push(Op { code: Code::Exit, n: 0, guard: 0, dst: 0, a: 0, b: 0, c: 0 });
    }

    /// Removes the operations of which `removed` is true.
    fn remove(&mut self, removed: &[bool]) {
        let kept = |pc: usize| !removed.get(pc).copied().unwrap_or_default();
        // The new place of each operation, or of the next one that is kept.
        let mut places = Vec::with_capacity(removed.len() + 1);
        let mut next = 0;
        for pc in 0..=removed.len() {
            places.push(next);
            next += u32::from(kept(pc));
        }
        let place = |pc: u32| places.get(pc as usize).copied().unwrap_or(pc);
        for block in &mut self.blocks {
            block.first_op = place(block.first_op);
        }
        for (_, Callable { first_op, .. }) in &mut self.callable {
            *first_op = place(*first_op);
        }
        // Lanes that do not call go on behind what follows the call.
        for (pc, op) in (0..).zip(&mut self.ops) {
            if matches!(op.code, Code::Call | Code::CallIndirect) {
                let behind = place(pc + 1 + u32::from(op.n)) - place(pc + 1);
                op.n = behind as u16;
            }
        }
        let mut pcs = 0..;
        self.ops.retain(|_| pcs.next().is_some_and(kept));
        let mut pcs = 0..;
        self.op_instruction.retain(|_| pcs.next().is_some_and(kept));
    }
}

impl RegisterFile {
    /// Rows that are filled in when a warp's register file is made, and never again.
    fn filled_once(&self) -> impl Iterator<Item = u32> {
        let constants = self.constants.iter().map(|constant| constant.row);
        let parameters = self.parameters.iter().map(|parameter| parameter.row);
        constants.chain(parameters).chain(self.specials.iter().map(|&(_, row)| row))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Program;

    /// The number of operations that are left of a kernel with the body, without its `ret`, and of
    /// those that have moved.
    fn left(body: &str) -> (usize, usize) {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .func (.reg .b32 %r) f(.reg .b32 %x) {{ .reg .b32 %y; add.u32 %y, %x, 1; \
             mov.u32 %r, %y; ret; }}\n\
             .visible .entry k(.param .u64 p) {{\n\
             .reg .b64 %a<9>; .reg .b32 %v<9>; .reg .pred %q<3>;\n{body}\nret;\n}}\n"
        );
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let program = Program::new(&module, &text, "k").unwrap();
        (program.ops.len() - 1, program.settling.len() - 1)
    }

    #[test]
    fn what_follows_from_threads_and_parameters_moves() {
        assert_eq!(left("mov.u32 %v1, %tid.x; mul.wide.u32 %a1, %v1, 4;"), (0, 2));
        assert_eq!(left("ld.param.u64 %a1, [p]; add.u64 %a2, %a1, 8;"), (0, 2));
        // The second reads what the first writes, wherever they stand.
        let backwards = "bra B; A: mul.lo.u32 %v2, %v1, %v1; ret; B: mov.u32 %v1, %laneid; bra A;";
        assert_eq!(left(backwards).1, 2);
    }

    #[test]
    fn what_the_place_of_the_block_changes_stays_but_for_copies() {
        assert_eq!(left("mov.u32 %v1, %ctaid.x; add.u32 %v2, %v1, 1;"), (1, 0));
        assert_eq!(left("mov.u32 %v1, %ctaid.y; mov.u32 %v2, %v1;"), (0, 0));
        assert_eq!(left("mov.u32 %v1, %ctaid.x; mov.u32 %v1, %ctaid.y;"), (2, 0));
    }

    #[test]
    fn what_may_have_another_value_stays() {
        let settled = |body: &str| left(body).1;
        assert_eq!(settled("mov.u32 %v1, 1; mov.u32 %v1, 2;"), 0, "two values");
        assert_eq!(settled("setp.eq.u32 %q1, %v1, 0; @%q1 mov.u32 %v2, 2;"), 0, "a guard");
        assert_eq!(settled("L: add.u32 %v2, %v1, 1; mov.u32 %v1, 3; bra L;"), 0, "read before");
        assert_eq!(settled("L: add.u32 %v1, %v1, 1; bra L;"), 0, "a counter");
        assert_eq!(settled("ld.param.u64 %a1, [p]; ld.global.u32 %v1, [%a1];"), 1, "a load");
        assert_eq!(settled("mov.u32 %v1, %clock; add.u32 %v2, %v1, 1;"), 0, "a clock");
        // Each call gives the function's parameter a value of its own.
        assert_eq!(settled("call (%v1), f, (1); call (%v2), f, (2);"), 0);
    }
}
