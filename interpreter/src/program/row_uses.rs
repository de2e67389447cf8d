//! The rows of the register file that an operation reads and writes.

use smallvec::SmallVec;

use super::asynchronous::{Boxes, ShapeRows, TensorOp};
use super::asynchronous::{BulkOp, CopyExtent, Direction, MbarrierAction, MbarrierOp, TensorCopy};
use super::matrix_op::{MatrixOp, WarpgroupA};
use super::memory_op::MemoryOp;
use super::op::{Code, MEMBERS, Op, SHUFFLES, barrier};
use super::side_tables::SideTables;
use super::tensor_memory_op::{FactorA, TensorMemoryOp};
use super::texture_op::{DetailRows, SurfaceAction, TextureOp};
use crate::access_kind::AccessKind;

/// The rows of one operation. Predicates are no rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowUses {
    pub(crate) reads: SmallVec<[u32; 4]>,
    pub(crate) writes: SmallVec<[u32; 4]>,
}

/// The operands that the table of lane operations gives a code.
enum Operands {
    /// Reads as many of the rows `a`, `b` and `c`, and writes row `dst`.
    Value(usize),
    /// Reads as many of the rows `a` and `b`.
    Predicate(usize),
    Special,
}

macro_rules! count_rows {
    ($a:ident: $at:ty $(; $n:ident)?) => {
        1
    };
    ($a:ident: $at:ty, $b:ident: $bt:ty $(; $n:ident)?) => {
        2
    };
    ($a:ident: $at:ty, $b:ident: $bt:ty, $c:ident: $ct:ty $(; $n:ident)?) => {
        3
    };
}

macro_rules! define_operands {
    (
        value { $($(#[$vm:meta])* $value:ident ($($va:tt)*) -> $vr:ty $vb:block)+ }
        cold { $($(#[$dm:meta])* $cold:ident ($($da:tt)*) -> $dr:ty $db:block)+ }
        predicate { $($(#[$pm:meta])* $pred:ident ($($pa:tt)*) $pb:block)+ }
        other { $($(#[$om:meta])* $other:ident,)+ }
        control { $($(#[$cm:meta])* $control:ident,)+ }
    ) => {
        fn operands(code: Code) -> Operands {
            match code {
                $(Code::$value => Operands::Value(count_rows!($($va)*)),)+
                $(Code::$cold => Operands::Value(count_rows!($($da)*)),)+
                $(Code::$pred => Operands::Predicate(count_rows!($($pa)*)),)+
                $(Code::$other)|+ | $(Code::$control)|+ => Operands::Special,
            }
        }
    };
}

super::table::lane_operations!(define_operands);

/// Returns true if an operation with the code does nothing but compute one row from others, lane
/// by lane.
pub(crate) fn computes_row(code: Code) -> bool {
    matches!(operands(code), Operands::Value(_))
}

/// Returns true if an operation with the code compares rows and writes a predicate.
pub(crate) fn compares_rows(code: Code) -> bool {
    code == Code::NotZero32 || matches!(operands(code), Operands::Predicate(_))
}

impl RowUses {
    /// The rows of `op`. `None` for operations that also work on whole activations of functions.
    pub(crate) fn of(op: &Op, tables: &SideTables) -> Option<Self> {
        let mut uses = Self::default();
        match operands(op.code) {
            Operands::Value(count) => {
                uses.reads.extend_from_slice(&[op.a, op.b, op.c][..count]);
                uses.writes.push(op.dst);
            }
            Operands::Predicate(count) => uses.reads.extend_from_slice(&[op.a, op.b][..count]),
            Operands::Special => uses.special(op, tables)?,
        }
        Some(uses)
    }

    fn special(&mut self, op: &Op, tables: &SideTables) -> Option<()> {
        let members = (op.n & MEMBERS != 0).then_some(op.b);
        let at = op.a as usize;
        match op.code {
            Code::Select32 | Code::Select64 | Code::AddCarry32 | Code::AddCarry64 => {
                self.reads.extend([op.a, op.b]);
                self.writes.push(op.dst);
            }
            Code::CarryOut32 | Code::CarryOut64 => self.reads.extend([op.a, op.b]),
            Code::Shuffle => {
                self.reads.extend([op.a, op.b, op.c]);
                self.writes.push(op.dst);
            }
            Code::ShuffleInRange => self.reads.extend([op.b, op.c]),
            Code::Vote => self.reads.extend(members),
            Code::Ballot | Code::Elect => {
                self.reads.extend(members);
                self.writes.push(op.dst);
            }
            Code::MatchAny32
            | Code::MatchAny64
            | Code::MatchAll32
            | Code::MatchAll64
            | Code::Redux
            | Code::ReduxF32 => {
                self.reads.push(op.a);
                self.reads.extend(members);
                self.writes.push(op.dst);
            }
            Code::NotZero32 | Code::BranchIndexed => self.reads.push(op.a),
            Code::ActiveMask | Code::Clock => self.writes.push(op.dst),
            Code::Memory | Code::Probe => self.memory(tables.memory_ops.get(at)?),
            Code::AsyncCopy => {
                let copy = tables.async_copies.get(at)?;
                self.memory(&copy.source);
                self.memory(&copy.destination);
                if let CopyExtent::Bytes(row) = copy.extent {
                    self.reads.push(row);
                }
            }
            Code::Mbarrier => self.mbarrier(tables.mbarrier_ops.get(at)?, op.dst),
            Code::Bulk => self.bulk(tables.bulk_ops.get(at)?),
            Code::Tensor => match tables.tensor_ops.get(at)? {
                TensorOp::Copy(copy) => self.tensor_copy(copy),
                TensorOp::Replace { map, value, .. } => {
                    self.memory(map);
                    self.reads.push(*value);
                }
            },
            Code::Texture => self.texture(tables.texture_ops.get(at)?),
            Code::TensorMemory => self.tensor_memory(tables.tensor_memory_ops.get(at)?),
            Code::Matrix => self.matrix(tables.matrix_ops.get(at)?),
            Code::Barrier => {
                self.reads.push(op.a);
                self.reads.extend((op.n & barrier::COUNTED != 0).then_some(op.b));
                let counts = op.n & barrier::KIND == barrier::REDUCE_POPC;
                self.writes.extend(counts.then_some(op.dst));
            }
            Code::WarpSync => {
                self.reads.push(op.a);
                if op.n & SHUFFLES != 0 {
                    self.reads.extend([op.b, op.c]);
                }
            }
            Code::PredicateLogic
            | Code::PredicateConstant
            | Code::Jump
            | Code::Branch
            | Code::AsyncWait
            | Code::ClusterBarrier
            | Code::Return
            | Code::Exit
            | Code::Rejoin
            | Code::Trap
            | Code::Follow => {}
            // Functions share registers' places with their callers, and calls copy them.
            _ => return None,
        }
        Some(())
    }

    /// The rows of an access. One that moves nothing names its base alone.
    fn memory(&mut self, op: &MemoryOp) {
        self.reads.extend(op.base);
        if !op.moves {
            return;
        }
        if let Some(atomic) = &op.atomic {
            let count = usize::from(op.elements).min(atomic.operands.len());
            self.reads.extend_from_slice(&atomic.operands[..count]);
            self.reads.extend(atomic.compare);
            self.writes.extend(atomic.destinations.iter().copied().flatten());
            return;
        }
        let rows = op.rows.iter().copied().flatten();
        match op.kind {
            AccessKind::Load | AccessKind::LoadReadOnly => self.writes.extend(rows),
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => {
                self.reads.extend(rows);
            }
        }
    }

    fn mbarrier(&mut self, op: &MbarrierOp, destination: u32) {
        self.memory(&op.object);
        self.reads.extend(op.multicast);
        match op.action {
            MbarrierAction::Init { count, .. } => self.reads.push(count),
            MbarrierAction::ExpectTx { bytes } | MbarrierAction::CompleteTx { bytes } => {
                self.reads.push(bytes);
            }
            MbarrierAction::Arrive(arrival) => {
                self.reads.extend(arrival.count);
                self.reads.extend(arrival.expect_tx);
                self.writes.push(destination);
            }
            MbarrierAction::Wait(wait) => self.reads.push(wait.phase),
            MbarrierAction::Invalidate
            | MbarrierAction::ArriveWithCopies { .. }
            | MbarrierAction::Commit
            | MbarrierAction::CheckLayout { .. } => {}
        }
    }

    fn bulk(&mut self, op: &BulkOp) {
        self.memory(&op.destination);
        op.source.iter().chain(&op.mbarrier).for_each(|access| self.memory(access));
        self.reads.push(op.size.row);
        self.reads.extend(op.multicast.into_iter().chain(op.byte_mask));
        self.reads.extend(op.ignored.into_iter().flatten());
    }

    fn tensor_copy(&mut self, copy: &TensorCopy) {
        [&copy.map, &copy.global, &copy.shared]
            .into_iter()
            .for_each(|operand| self.memory(operand));
        self.reads.extend(copy.global_address);
        if let Some(ShapeRows { sizes, lower_strides, upper_strides }) = &copy.shape {
            self.reads.extend(sizes.iter().chain(lower_strides).chain(upper_strides).copied());
        }
        self.reads.extend_from_slice(&copy.coordinates);
        if let Boxes::Pixels { mode: _, offsets, halo } = copy.boxes {
            self.reads.extend(offsets.into_iter().chain([halo]).flatten());
        }
        if let Direction::ToShared { mbarrier, multicast, .. } = &copy.direction {
            self.memory(mbarrier);
            self.reads.extend(*multicast);
        }
    }

    fn texture(&mut self, op: &TextureOp) {
        match op {
            TextureOp::Fetch(fetch) => {
                self.reads.push(fetch.texture);
                self.reads.extend(fetch.sampler.into_iter().chain(fetch.layer));
                self.reads.extend(fetch.sample.into_iter().chain(fetch.depth));
                self.reads.extend(fetch.coordinates.into_iter().chain(fetch.offset).flatten());
                match fetch.detail {
                    DetailRows::Base => {}
                    DetailRows::Level(row) => self.reads.push(row),
                    DetailRows::Gradients(rows) => {
                        self.reads.extend(rows.into_iter().flatten().flatten());
                    }
                }
                self.writes.extend(fetch.rows.into_iter().flatten());
            }
            TextureOp::Query { object, level, answer, .. } => {
                self.reads.push(*object);
                self.reads.extend(*level);
                self.writes.push(*answer);
            }
            TextureOp::IsType { object, answer, .. } => {
                self.reads.push(*object);
                self.writes.push(*answer);
            }
            TextureOp::Surface(access) => {
                self.reads.push(access.surface);
                self.reads.extend(access.layer);
                self.reads.extend(access.coordinates.into_iter().flatten());
                let rows = access.rows.into_iter().flatten();
                match access.action {
                    SurfaceAction::Load => self.writes.extend(rows),
                    SurfaceAction::Store
                    | SurfaceAction::StoreFormatted
                    | SurfaceAction::Reduce { .. } => self.reads.extend(rows),
                }
            }
        }
    }

    fn tensor_memory(&mut self, op: &TensorMemoryOp) {
        match op {
            TensorMemoryOp::Allocate(op) => {
                self.reads.extend(op.destination.base);
                self.reads.push(op.columns);
            }
            TensorMemoryOp::Free { address, columns, .. } => {
                self.reads.extend([*address, *columns]);
            }
            TensorMemoryOp::Shift(op) => self.reads.extend(op.address.base),
            TensorMemoryOp::Relinquish | TensorMemoryOp::Wait { .. } => {}
            TensorMemoryOp::Transfer(op) => {
                self.reads.extend(op.address.base);
                let rows = if op.is_store { &mut self.reads } else { &mut self.writes };
                rows.extend_from_slice(&op.rows);
                self.writes.extend(op.reduction.map(|reduction| reduction.row));
                if let Some(compression) = &op.compression {
                    self.writes.extend_from_slice(&compression.metadata);
                    self.writes.extend_from_slice(&compression.kept);
                }
            }
            TensorMemoryOp::Copy(op) => {
                self.reads.extend(op.address.base);
                self.reads.push(op.source);
            }
            TensorMemoryOp::Multiply(op) => {
                let scales = op.scales.iter().flat_map(|scales| [&scales.a, &scales.b]);
                let addresses =
                    [&op.d].into_iter().chain(&op.metadata).chain(&op.tables_of_b).chain(scales);
                self.reads.extend(addresses.filter_map(|address| address.base));
                match &op.a {
                    FactorA::Shared(row) => self.reads.push(*row),
                    FactorA::Tensor(address) => self.reads.extend(address.base),
                }
                self.reads.extend([op.b, op.descriptor]);
                self.reads.extend(op.zeros);
                self.reads.extend_from_slice(&op.disabled_lanes);
            }
        }
    }

    fn matrix(&mut self, op: &MatrixOp) {
        match op {
            MatrixOp::Multiply(product) => {
                for fragment in [&product.a, &product.b, &product.c] {
                    self.reads.extend_from_slice(&fragment.rows);
                }
                self.reads.extend(product.sparse.map(|sparse| sparse.metadata));
                for scale in product.scales.iter().flatten() {
                    self.reads.extend([scale.data, scale.byte_id, scale.thread_id]);
                }
                self.writes.extend_from_slice(&product.d.rows);
            }
            MatrixOp::Rows(transfer) => {
                self.reads.extend(transfer.access.base);
                self.either(&transfer.access, &transfer.rows);
            }
            MatrixOp::Fragment(transfer) => {
                self.reads.extend(transfer.base);
                self.reads.push(transfer.stride);
                for part in &transfer.parts {
                    self.memory(&part.access);
                    self.either(&part.access, &part.copies);
                    self.writes.extend(part.part_of.map(|part| part.row));
                }
            }
            MatrixOp::Warpgroup(product) => {
                match product.a {
                    WarpgroupA::Registers(rows) => self.reads.extend(rows),
                    WarpgroupA::Descriptor { row, .. } => self.reads.push(row),
                }
                self.reads.push(product.b);
                self.reads.extend(product.sparse.map(|sparse| sparse.metadata));
                self.reads.extend_from_slice(&product.d);
                self.writes.extend_from_slice(&product.d);
            }
            MatrixOp::Transpose { source, destination } => {
                self.reads.push(*source);
                self.writes.push(*destination);
            }
            MatrixOp::Compress(op) => {
                self.reads.extend_from_slice(&op.dense);
                self.reads.push(op.descriptor);
                self.writes.extend(op.metadata.iter().chain(&op.kept).copied());
            }
            MatrixOp::Expand(op) => {
                self.reads.extend(op.metadata.iter().chain(&op.stored).copied());
                self.writes.extend_from_slice(&op.dense);
            }
            MatrixOp::WarpgroupFence | MatrixOp::CountedOnly => {}
        }
    }

    /// Registers of an access that is made by way of rows of its own.
    fn either(&mut self, access: &MemoryOp, registers: &[u32]) {
        if access.moves {
            self.reads.extend_from_slice(registers);
            self.writes.extend_from_slice(registers);
        }
    }
}
