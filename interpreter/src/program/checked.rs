//! The check that the executor's unsafe code rests on: registers, predicates, guards and operands
//! that operations name exist.
//!
//! The lowering makes no other programs. A mistake in it would let PTX read and write memory of the
//! executor, so a program is looked through once before it runs. Widths need no check here: a
//! warp's register file has room for the widest register at each row
//! ([`RegisterFile::held_rows`](super::registers::RegisterFile::held_rows)).

use smallvec::SmallVec;

use super::Program;
use super::matrix_op::MatrixOp;
use super::op::{Code, GUARD_REPEATED, NO_BLOCK, Op, combines};
use super::row_uses::compares_rows;

impl Program {
    /// Says which operation names something that does not exist.
    pub(super) fn check(&self) -> Result<(), String> {
        let problem = |op: &Op| self.problem(op).map(|what| format!("{:?} names {what}", op.code));
        if let Some(problem) = self.ops.iter().chain(&self.settling).find_map(problem) {
            return Err(problem);
        }
        let callable = self.callable.iter().map(|(_, callable)| callable.first_op);
        let mut first_ops = self.blocks.iter().map(|block| block.first_op).chain(callable);
        if !first_ops.all(|at| (at as usize) < self.ops.len()) {
            return Err("a block begins behind all operations".to_owned());
        }
        if !goes_elsewhere(&self.ops) || !goes_elsewhere(&self.settling) {
            return Err("operations do not end".to_owned());
        }
        Ok(())
    }

    /// The first thing that `op` names and that does not exist.
    fn problem(&self, op: &Op) -> Option<&'static str> {
        let guards = self.guards.len().min(self.guarded.len());
        let guard = (op.guard & !GUARD_REPEATED) as usize;
        if op.guard != 0 && (guard == 0 || guard > guards) {
            return Some("a guard that does not exist");
        }
        let guard = guard.checked_sub(1).map(|index| self.guards[index].predicate);
        let is_predicate = |&predicate: &u32| predicate < self.registers.predicates;
        if !self.predicates_of(op).iter().chain(&guard).all(is_predicate) {
            return Some("a predicate that does not exist");
        }
        let uses = match self.rows_of(op) {
            Some(uses) => uses,
            // Calls of the runtime check each row that they use.
            None if op.code == Code::Runtime => return None,
            None => return Some("operands that do not exist"),
        };
        let is_row = |&row: &u32| row < self.registers.rows;
        let mut rows = uses.reads.iter().chain(&uses.writes).chain(self.between(op));
        (!rows.all(is_row)).then_some("a register that does not exist")
    }

    /// The row by way of which a matrix instruction moves data between registers and memory.
    fn between(&self, op: &Op) -> Option<&u32> {
        match self.tables.matrix_ops.get(op.a as usize).filter(|_| op.code == Code::Matrix)? {
            MatrixOp::Rows(transfer) => Some(&transfer.staging),
            MatrixOp::Fragment(transfer) => Some(&transfer.addresses),
            _ => None,
        }
    }

    /// The predicates of an operation that are used without a check.
    fn predicates_of(&self, op: &Op) -> SmallVec<[u32; 3]> {
        let mut predicates = SmallVec::new();
        match op.code {
            Code::Select32 | Code::Select64 | Code::AddCarry32 | Code::AddCarry64 => {
                predicates.push(op.c);
            }
            Code::CarryOut32 | Code::CarryOut64 => predicates.extend([op.c, op.dst]),
            Code::PredicateLogic => predicates.extend([op.a, op.b, op.dst]),
            Code::PredicateConstant | Code::ShuffleInRange => predicates.push(op.dst),
            Code::Vote => predicates.extend([op.a, op.dst]),
            Code::Ballot => predicates.push(op.a),
            Code::Elect | Code::MatchAll32 | Code::MatchAll64 => predicates.push(op.c),
            Code::Matrix => {
                if let Some(MatrixOp::Warpgroup(product)) =
                    self.tables.matrix_ops.get(op.a as usize)
                {
                    predicates.push(product.scale_d.0);
                }
            }
            code if compares_rows(code) => {
                predicates.push(op.dst);
                predicates.extend(combines(op.n).then_some(op.c));
            }
            _ => {}
        }
        predicates
    }
}

/// Returns true if no lane goes on behind the last operation. The lane loop then always comes to an
/// end.
fn goes_elsewhere(ops: &[Op]) -> bool {
    use Code as C;
    ops.last().is_some_and(|op| {
        matches!(op.code, C::Jump | C::Branch | C::BranchIndexed | C::Return | C::Exit)
            && (op.guard == 0 || op.b != NO_BLOCK)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with guards, comparisons, accesses and matrices.
    fn program() -> Program {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n\
             .reg .b64 %a, %d; .reg .b32 %v<9>; .reg .pred %q, %r; .shared .b32 s[64];\n\
             ld.param.u64 %a, [p]; mov.u32 %v0, %clock; mov.u32 %v1, s;\n\
             setp.eq.and.u32 %q|%r, %v0, 3, %r; @%q add.u32 %v2, %v0, 1; selp.b32 %v3, %v2, %v0, %q;\n\
             addc.cc.u32 %v3, %v3, %v2; vote.sync.all.pred %r, %q, -1;\n\
             shfl.sync.idx.b32 %v4|%q, %v0, %v2, 31, -1; ld.global.u32 %v5, [%a];\n\
             atom.global.add.u32 %v6, [%a], %v5; cvt.u64.u32 %d, %v6; st.global.u64 [%a], %d;\n\
             ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%v7}, [%v1]; @%r bra L; ret; L: exit;\n}\n";
        let module = gpucast_ptx_frontend::load(text).unwrap();
        Program::new(&module, text, "k").unwrap()
    }

    #[test]
    fn what_does_not_exist_is_found_wherever_it_is_named() {
        let program = program();
        assert_eq!(program.check(), Ok(()));
        let far = 1 << 20;
        let changes: [fn(&mut Op, u32); 4] = [
            |op, far| op.guard = far,
            |op, far| op.dst = far,
            |op, far| (op.a, op.b) = (far, far),
            |op, far| op.c = far,
        ];
        let mut found = std::collections::BTreeMap::new();
        for (pc, op) in program.ops.iter().enumerate() {
            for (which, change) in changes.iter().enumerate() {
                let mut changed = self::program();
                change(&mut changed.ops[pc], far);
                *found.entry((op.code, which)).or_insert(false) |= changed.check().is_err();
            }
        }
        let is_found = |code, which| found.get(&(code, which)).copied();
        for code in [Code::Select32, Code::AddCarry32, Code::Vote, Code::Memory, Code::Matrix] {
            assert_eq!(is_found(code, 0), Some(true), "the guard of {code:?}");
            assert_eq!(is_found(code, 2), Some(true), "operands of {code:?}");
        }
        for code in [Code::Select32, Code::Eq32, Code::CarryOut32, Code::Shuffle] {
            assert_eq!(is_found(code, 1), Some(true), "the result of {code:?}");
            assert_eq!(is_found(code, 3), Some(true), "the last operand of {code:?}");
        }
    }

    #[test]
    fn rows_of_tables_and_guards_are_looked_at() {
        let far = |change: fn(&mut Program)| {
            let mut program = program();
            change(&mut program);
            program.check().is_err()
        };
        assert!(far(|program| program.tables.memory_ops[0].base = Some(u32::MAX)));
        assert!(far(|program| program.guards[0].predicate = u32::MAX));
        assert!(far(|program| program.guarded.clear()));
        assert!(far(|program| {
            let transfer = program.tables.matrix_ops.iter_mut().find_map(|op| match op {
                MatrixOp::Rows(transfer) => Some(transfer),
                _ => None,
            });
            transfer.unwrap().staging = u32::MAX;
        }));
        assert!(far(|program| {
            program.ops.pop();
            program.ops.push(Op { code: Code::Mov32, ..program.ops[0] });
        }));
        assert!(far(|program| program.settling.clear()));
    }
}
