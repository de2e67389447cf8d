//! Programs whose registers are followed from CTA to CTA.
//!
//! A register *moves* if its value may depend on the CTA's place in the grid. [`Program::followed`]
//! finds all rows that may, and puts a [`Code::Follow`] before each operation that reads or writes
//! one. There the engine notes how the result moves (`crate::exec::classes`). All other operations
//! work on rows that are the same in all CTAs of a class.

pub(crate) mod rule;

use std::sync::Arc;

use super::asynchronous::TensorOp;
use super::matrix_op::MatrixOp;
use super::memory_op::{MemoryOp, Space};
use super::op::{Code, GUARD_REPEATED, Op};
use super::row_uses::RowUses;
use super::texture_op::{SurfaceAction, TextureOp};
use super::{Callable, Program};
use crate::access_kind::AccessKind;
use gpucast_ptx_frontend::isa::{Component, SpecialRegister as S};
use rule::Followed;
use smallvec::{SmallVec, smallvec};

/// The rows of a program that are followed.
#[derive(Clone, Debug)]
pub(crate) struct Following {
    /// The number of each row among those that are followed, by row.
    slots: Vec<Option<u32>>,
    /// Rows that are followed.
    pub(crate) count: usize,
    /// The row of each extent of the CTA's place, with its dimension.
    pub(crate) places: Vec<CoordinateRow>,
}

/// A row that holds one coordinate of the CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CoordinateRow {
    pub(crate) row: u32,
    /// 0, 1 or 2 for x, y and z.
    pub(crate) dimension: usize,
}

impl Following {
    /// The number of a row among those that are followed; `None` if it never moves.
    #[inline]
    pub(crate) fn slot(&self, row: u32) -> Option<usize> {
        self.slots.get(row as usize).copied().flatten().map(|slot| slot as usize)
    }
}

impl Program {
    /// Makes a program that is executed for one CTA and says for which others that CTA stands.
    ///
    /// # Errors
    ///
    /// The reason why one CTA cannot stand for others.
    pub fn followed(mut self) -> Result<Self, String> {
        let uses = self.uses_of_rows()?;
        let places = self.places();
        let mut moves = vec![false; self.registers.rows as usize];
        for place in &places {
            moves[place.row as usize] = true;
        }
        // True if a value that moves may lie in a thread's own memory.
        let mut held = false;
        loop {
            let mut changed = false;
            for (op, uses) in self.ops.iter().zip(&uses) {
                let moving = uses.reads.iter().any(|&row| moves[row as usize]);
                let own = self.in_own_memory(op);
                if moving && own == Some(Way::In) {
                    changed |= !std::mem::replace(&mut held, true);
                }
                let passes_on = Followed::of(op.code).is_some_and(Followed::writes_register);
                if passes_on && moving || held && own == Some(Way::Out) {
                    for &row in &uses.writes {
                        changed |= !std::mem::replace(&mut moves[row as usize], true);
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let mut followed = Vec::with_capacity(self.ops.len());
        for (pc, (op, uses)) in self.ops.iter().zip(&uses).enumerate() {
            let own = held && (self.in_own_memory(op).is_some() || op.code == Code::CopyLocal);
            followed.push(own || self.is_followed(pc, op, uses, &moves)?);
        }
        self.insert(&followed)?;
        let mut count = 0;
        let slots = moves.into_iter().map(|moves| {
            moves.then(|| {
                count += 1;
                count - 1
            })
        });
        let slots = slots.collect();
        self.following = Some(Arc::new(Following { slots, count: count as usize, places }));
        Ok(self)
    }

    /// The reason why CTAs may find what others write, if the program of a slice has one: it writes
    /// contents of device memory that counts depend on.
    pub(crate) fn writes_contents(&self) -> Option<String> {
        let changes = |access: &&MemoryOp| {
            may_change(access, Space::Global) || may_change(access, Space::Generic)
        };
        let writes = |op: &Op| self.accesses(op).iter().any(changes) || self.changes_surface(op);
        let pc = self.ops.iter().position(writes)?;
        Some(format!("line {} writes contents that counts depend on", self.line(pc)))
    }

    /// The rows of each operation.
    fn uses_of_rows(&self) -> Result<Vec<RowUses>, String> {
        let uses = |(pc, op): (usize, &Op)| {
            self.rows_of(op)
                .ok_or_else(|| format!("line {} calls a function of the runtime", self.line(pc)))
        };
        self.ops.iter().enumerate().map(uses).collect()
    }

    /// The rows of an operation, with those that calls save. `None` for calls of the runtime.
    pub(crate) fn rows_of(&self, op: &Op) -> Option<RowUses> {
        let mut uses = RowUses::default();
        match op.code {
            Code::Call => {}
            Code::CallIndirect => uses.reads.push(op.a),
            Code::CopyLocal => uses.reads.extend((op.n != 0).then_some(op.dst)),
            Code::EnterFrame => {
                uses.reads.push(op.b);
                uses.writes.extend([op.dst, op.b]);
            }
            Code::Allocate => {
                uses.reads.extend([op.a, op.b]);
                uses.writes.extend([op.dst, op.b]);
            }
            Code::SaveRegisters => uses.reads.extend(self.saved_rows(op)),
            Code::RestoreRegisters => uses.writes.extend(self.saved_rows(op)),
            _ => return RowUses::of(op, &self.tables),
        }
        Some(uses)
    }

    fn saved_rows(&self, op: &Op) -> impl Iterator<Item = u32> {
        self.saved[op.a as usize].rows.iter().map(|row| row.first)
    }

    /// The way that an operation's values go to or from the threads' own memory, if it may access
    /// it.
    fn in_own_memory(&self, op: &Op) -> Option<Way> {
        let access = match op.code {
            Code::Memory => &self.tables.memory_ops[op.a as usize],
            _ => return None,
        };
        if !access.moves || !matches!(access.space, Space::Local | Space::Generic) {
            return None;
        }
        let loads = matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly);
        Some(if loads { Way::Out } else { Way::In })
    }

    /// The one-based line of an operation.
    pub(crate) fn line(&self, pc: usize) -> u32 {
        let instruction = self.op_instruction.get(pc).copied().unwrap_or_default();
        self.instructions.get(instruction as usize).map_or(0, |instruction| instruction.line)
    }

    /// The rows that hold the CTA's coordinates.
    fn places(&self) -> Vec<CoordinateRow> {
        let place = |&(special, row): &(S, u32)| {
            let (S::Ctaid(component) | S::Clusterid(component)) = special else { return None };
            let dimension = match component {
                Component::X => 0,
                Component::Y => 1,
                Component::Z => 2,
                Component::W => return None,
            };
            Some(CoordinateRow { row, dimension })
        };
        self.registers.cta_specials.iter().filter_map(place).collect()
    }

    /// Returns true if the engine has to look at an operation before it is executed.
    fn is_followed(
        &self,
        pc: usize,
        op: &Op,
        uses: &RowUses,
        moves: &[bool],
    ) -> Result<bool, String> {
        let moving = |rows: &[u32]| rows.iter().any(|&row| moves[row as usize]);
        let (reads, writes) = (moving(&uses.reads), moving(&uses.writes));
        let line = || self.line(pc);
        let accesses = self.accesses(op);
        let looks = matches!(op.code, Code::Memory | Code::Probe | Code::AsyncCopy);
        let changes = |space| accesses.iter().any(|access| may_change(access, space));
        // Where a generic address leads is seen by those that look.
        if changes(Space::Global) || changes(Space::Generic) && !looks {
            let line = line();
            return Err(format!("line {line} writes contents of a buffer that counts depend on"));
        }
        if self.changes_surface(op) {
            let line = line();
            return Err(format!("line {line} writes contents of a surface that counts depend on"));
        }
        match op.code {
            _ if looks => Ok(reads || writes || changes(Space::Generic)),
            code if Followed::of(code).is_some() => Ok(reads || writes),
            Code::SaveRegisters | Code::RestoreRegisters => Ok(reads || writes),
            // They write one row. Nothing moves that they read in the CTAs that are kept.
            code if code.is_lane_operation() || code == Code::Clock => Ok(reads || writes),
            _ if writes => {
                Err(format!("line {} writes a register that holds the CTA's place", line()))
            }
            _ => Ok(reads),
        }
    }

    /// The accesses of an operation that may change contents.
    fn accesses(&self, op: &Op) -> SmallVec<[&MemoryOp; 2]> {
        let (at, tables) = (op.a as usize, &self.tables);
        match op.code {
            Code::Memory | Code::Probe => smallvec![&tables.memory_ops[at]],
            Code::AsyncCopy => {
                let copy = &tables.async_copies[at];
                smallvec![&copy.source, &copy.destination]
            }
            Code::Bulk => smallvec![&tables.bulk_ops[at].destination],
            Code::Tensor => match &tables.tensor_ops[at] {
                TensorOp::Copy(copy) => smallvec![&copy.global, &copy.shared],
                TensorOp::Replace { map, .. } => smallvec![&**map],
            },
            Code::Matrix => match &tables.matrix_ops[at] {
                MatrixOp::Rows(transfer) => smallvec![&transfer.access],
                MatrixOp::Fragment(transfer) => {
                    transfer.parts.iter().map(|part| &part.access).collect()
                }
                MatrixOp::Multiply(_)
                | MatrixOp::Warpgroup(_)
                | MatrixOp::WarpgroupFence
                | MatrixOp::Transpose { .. }
                | MatrixOp::Compress(_)
                | MatrixOp::Expand(_)
                | MatrixOp::CountedOnly => SmallVec::new(),
            },
            _ => SmallVec::new(),
        }
    }

    /// Returns true if an operation changes texels.
    fn changes_surface(&self, op: &Op) -> bool {
        op.code == Code::Texture
            && match &self.tables.texture_ops[op.a as usize] {
                TextureOp::Surface(access) => access.moves && access.action != SurfaceAction::Load,
                TextureOp::Fetch(_) | TextureOp::Query { .. } | TextureOp::IsType { .. } => false,
            }
    }

    /// Puts a [`Code::Follow`] before each operation of which `followed` is true.
    fn insert(&mut self, followed: &[bool]) -> Result<(), String> {
        // The new place of each operation is that of the one which is put before it.
        let mut places = Vec::with_capacity(followed.len() + 1);
        let (mut ops, mut op_instruction) = (Vec::new(), Vec::new());
        for ((op, &instruction), &is_followed) in
            self.ops.iter().zip(&self.op_instruction).zip(followed)
        {
            places.push(ops.len() as u32);
            if is_followed {
                let guard = if op.guard == 0 { 0 } else { op.guard | GUARD_REPEATED };
                ops.push(Op { code: Code::Follow, n: 0, guard, dst: 0, a: 0, b: 0, c: 0 });
                op_instruction.push(instruction);
            }
            ops.push(*op);
            op_instruction.push(instruction);
        }
        places.push(ops.len() as u32);
        let place = |pc: u32| places.get(pc as usize).copied().unwrap_or(pc);
        for block in &mut self.blocks {
            block.first_op = place(block.first_op);
        }
        for (_, Callable { first_op, .. }) in &mut self.callable {
            *first_op = place(*first_op);
        }
        // Lanes that do not call go on behind what follows the call.
        for (pc, op) in self.ops.iter().enumerate() {
            if matches!(op.code, Code::Call | Code::CallIndirect) {
                let own = places[pc] + u32::from(followed[pc]);
                let following = place(pc as u32 + 1 + u32::from(op.n)) - own - 1;
                ops[own as usize].n = u16::try_from(following)
                    .map_err(|_| format!("line {} returns too many values", self.line(pc)))?;
            }
        }
        (self.ops, self.op_instruction) = (ops, op_instruction);
        Ok(())
    }
}

/// A way of values between registers and the threads' own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// Returns true if an access changes contents in `space`.
fn may_change(access: &MemoryOp, space: Space) -> bool {
    let reads = matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly);
    access.moves && access.space == space && !reads
}
