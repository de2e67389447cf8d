//! The generators, one file each.

mod accesses;
mod arithmetic;
mod atomics;
mod bandwidth;
mod barrier;
mod block_sum;
mod cache_ladder;
mod constant;
mod conversions;
mod dg;
mod divergence;
mod empty;
mod finite_diff;
mod global_access;
mod integer;
mod latency;
mod local_move;
mod local_stride;
mod matmul;
mod mixbench;
mod overlap;
mod pattern;
mod pointer_chase;
mod reuse;
mod shared_swap;
mod shuffle;
mod special;
mod spmv;
mod stencil;
mod stream;
mod tensor;
mod texture;
mod throughput;
mod transpose;
mod updates;

use crate::Generator;

/// All generators, by the kind of their work.
#[must_use]
pub fn all() -> &'static [Generator] {
    const ALL: &[Generator] = &[
        arithmetic::ADD,
        arithmetic::MULTIPLY,
        arithmetic::MULTIPLY_ADD,
        special::GENERATOR,
        integer::GENERATOR,
        conversions::GENERATOR,
        throughput::GENERATOR,
        latency::GENERATOR,
        tensor::GENERATOR,
        global_access::GENERATOR,
        reuse::GENERATOR,
        stream::GENERATOR,
        bandwidth::GENERATOR,
        cache_ladder::GENERATOR,
        pointer_chase::GENERATOR,
        constant::GENERATOR,
        texture::GENERATOR,
        local_move::GENERATOR,
        local_stride::GENERATOR,
        shared_swap::GENERATOR,
        atomics::GENERATOR,
        overlap::GENERATOR,
        mixbench::GENERATOR,
        barrier::GENERATOR,
        shuffle::GENERATOR,
        divergence::GENERATOR,
        empty::GENERATOR,
        matmul::GENERATOR,
        dg::GENERATOR,
        finite_diff::GENERATOR,
        transpose::GENERATOR,
        stencil::GENERATOR,
        block_sum::GENERATOR,
        spmv::GENERATOR,
        accesses::MATMUL,
        accesses::DG,
        accesses::FINITE_DIFF,
    ];
    ALL
}
