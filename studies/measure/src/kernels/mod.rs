//! Kernels that measure a parameter: those of the collection by their tags, and those that only
//! have a meaning for one figure.
//!
//! Each file is named after what limits its kernels.

mod access_costs;
mod arithmetic;
mod asynchronous;
mod atomics;
mod bursts;
mod chases;
mod constants;
mod jumps;
mod tensor_memory;
mod texels;
mod vectors;
mod waiting_reads;

use gpucast_collection::language::{Array, Builder, Expression, Kernel, Type, Unroll, Variable};
use gpucast_collection::{MatchCondition, Request, Unfit};

use crate::error::MeasureError;

pub(crate) use access_costs::{
    LOADS as WARP_LOADS, Loads, Sectors, Spread, l1_loads, l2_loads, sectors_of_l2, shared_sectors,
    single_sectors, volatile_shared_loads,
};
pub(crate) use arithmetic::{
    LINKS, VARIABLES, chain, issue_mix, minima, paired_halves, repeated, wide_products,
};
pub(crate) use asynchronous::{Copies, Products, Waiter, asynchronous_products, awaited_copies};
pub(crate) use atomics::{EXCHANGES, atomic_chain, global_reductions, shared_exchanges};
pub(crate) use bursts::{STORED_SECTORS, Stores, load_burst, store_burst};
pub(crate) use chases::{CHASES, chase, line_chase, shared_chase, shared_chase_with_sum};
pub(crate) use constants::constant_chase;
pub(crate) use jumps::{Awaited, awaited_jumps, cold_code, jumps};
pub(crate) use tensor_memory::{
    Format, ROW_BYTES, ROWS, Sms, TRANSFER_BYTES, TensorMemoryProducts, Transfer,
    tensor_memory_products, transfers,
};
pub(crate) use texels::texels;
pub(crate) use vectors::{
    LOADS, READERS, Reading, VECTOR_BYTES, copy_stream, shared_vectors, stores, stream, vectors,
};
pub(crate) use waiting_reads::{Mix, Waiting, waiting_reads};

/// The first kernel that tags choose.
pub(crate) fn of_tags(tags: &str) -> Result<Kernel, MeasureError> {
    let words: Vec<&str> = tags.split_whitespace().collect();
    let choices = Request::parse(&words, MatchCondition::Superset)?.choices()?;
    let first = choices.first().ok_or_else(|| Unfit::new(format!("{tags} choose no kernel")))?;
    Ok((first.generator.make)(&first.variant)?)
}

/// A chain of multiply-adds on `value`. It has a loop of its own, so that no compiler issues a part
/// of it among what stands before.
fn chain_behind(kernel: &mut Builder, value: Variable, multiply_adds: u64) {
    /// Copies of the chain's link in its loop.
    const LINKS: u32 = 64;
    if multiply_adds > 0 {
        kernel.repeat("link", multiply_adds, Unroll::By(LINKS), |kernel| {
            kernel.assembly("fma.rn.f32 $0, $0, $0, $0", &[value], &[]);
        });
    }
}

/// Stores a sum of sums of positive numbers where the first one is -1, which never happens. No
/// compiler knows that, so it keeps what the sums are made of.
fn store_never(kernel: &mut Builder, sums: &[Variable], result: &Array) {
    let zero = Expression::number(0, Type::F32);
    let total = sums.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    let first = sums.first().map_or(Expression::number(0, Type::F32), |&sum| sum.into());
    let never = first.equals(Expression::number(0, Type::F32) - 1);
    let place = kernel.thread_of_grid();
    kernel.when(never, |kernel| kernel.store(result, place, total));
}
