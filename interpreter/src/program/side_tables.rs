//! Operands that do not fit into an operation.
//!
//! An operation has 24 bytes. Where it needs more, it holds an index into one of these tables.
//! Lowering fills them, and execution reads them.

use super::asynchronous::{AsyncCopy, BulkOp, MbarrierOp, TensorOp};
use super::lower::call_graph::Signature;
use super::matrix_op::MatrixOp;
use super::memory_op::MemoryOp;
use super::runtime::RuntimeCall;
use super::tensor_memory_op::TensorMemoryOp;
use super::texture_op::TextureOp;

/// The tables of one kernel.
#[derive(Debug, Default)]
pub(crate) struct SideTables {
    pub(crate) memory_ops: Vec<MemoryOp>,
    pub(crate) matrix_ops: Vec<MatrixOp>,
    pub(crate) async_copies: Vec<AsyncCopy>,
    pub(crate) mbarrier_ops: Vec<MbarrierOp>,
    pub(crate) bulk_ops: Vec<BulkOp>,
    pub(crate) tensor_ops: Vec<TensorOp>,
    pub(crate) texture_ops: Vec<TextureOp>,
    pub(crate) tensor_memory_ops: Vec<TensorMemoryOp>,
    /// Target blocks of `brx.idx`.
    pub(crate) branch_tables: Vec<Vec<u32>>,
    /// Signatures of indirect calls.
    pub(crate) signatures: Vec<Signature>,
    pub(crate) runtime_calls: Vec<RuntimeCall>,
}

/// Appends an entry to a table, and returns its index.
pub(crate) fn add<T>(table: &mut Vec<T>, entry: T) -> u32 {
    table.push(entry);
    table.len() as u32 - 1
}
