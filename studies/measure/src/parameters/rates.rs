//! Arithmetic: results in a clock, and clocks until a result is there.

use gpucast_collection::language::Kernel;
use gpucast_collection::language::Type;

use super::{BLOCKS_OF_SM, CLOCKS, PASSES, Parameter, RATE, blocks, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels::{self, Awaited, LINKS, READERS, VARIABLES};

/// A rate whose kernel tags name, with the results of a thread for each of its m.
macro_rules! rate {
    ($field:literal, $kernel:literal, $results:literal) => {
        Parameter::field($field, RATE, $kernel, |bench| rate(bench, $kernel, $results))
    };
}

pub(super) const ALL: &[Parameter] = &[
    rate!("fp32_rate", "compute_throughput operation:madd dtype:float32", 16),
    rate!("fp32_mul_rate", "compute_throughput operation:mul dtype:float32", 16),
    rate!("fp64_rate", "compute_throughput operation:madd dtype:float64", 16),
    Parameter::field("fp16_rate", RATE, "multiply-adds of pairs of halves", |bench| {
        Ok(2.0 * own_rate(bench, VARIABLES, kernels::paired_halves)?)
    }),
    rate!("int_add_rate", "iops_pattern operation:add", 32),
    rate!("int_mul_rate", "compute_throughput operation:madd dtype:int32", 16),
    Parameter::field("wide_mul_rate", RATE, "products of words, added to 64 bits", |bench| {
        if bench.facts().compute_capability.major < 7 {
            return Err(MeasureError::unfit("a wide product is made of other instructions there"));
        }
        own_rate(bench, VARIABLES, kernels::wide_products)
    }),
    rate!("logic_rate", "iops_pattern operation:xor", 32),
    rate!("shift_rate", "iops_pattern operation:shift", 32),
    Parameter::field("compare_rate", RATE, "minima of single-precision numbers", |bench| {
        own_rate(bench, VARIABLES, kernels::minima)
    }),
    rate!("special_rate", "special_pattern function:sin", 32),
    rate!("conversion_rate", "conversion_pattern from:float32 to:int32", 32),
    rate!("wide_conversion_rate", "conversion_pattern from:float32 to:float64", 32),
    rate!("shuffle_rate", "shuffle_pattern mode:bfly distance:1", 8),
    Parameter::field("issue_rate", RATE, "multiply-adds and logic in turn", |bench| {
        if bench.capability("issue_width")? > 1.0 {
            let reason = "pairs of instructions fill the issue of no scheduler that takes two";
            return Err(MeasureError::unfit(reason));
        }
        Ok(own_rate(bench, 2 * VARIABLES, kernels::issue_mix)? / WARP)
    }),
    Parameter::field(
        "branch_interval",
        CLOCKS,
        "jumps of all warps over code that is never executed, of a sub-core",
        branch_interval,
    ),
    Parameter::field(
        "arithmetic_latency",
        CLOCKS,
        "multiply-adds of one warp that wait for each other",
        |bench| latency(bench, "fma.rn.f32 $0, $0, $0, $0", Type::F32),
    ),
    Parameter::field(
        "fp64_latency",
        CLOCKS,
        "double-precision multiply-adds of one warp that wait for each other",
        |bench| latency(bench, "fma.rn.f64 $0, $0, $0, $0", Type::F64),
    ),
    Parameter::field(
        "special_latency",
        CLOCKS,
        "rcp.approx.ftz.f32 of one warp, each of the last one's result",
        |bench| latency(bench, "rcp.approx.ftz.f32 $0, $0", Type::F32),
    ),
    Parameter::field(
        "shuffle_latency",
        CLOCKS,
        "shfl.bfly of one warp, each of the last one's result",
        |bench| latency(bench, "shfl.sync.bfly.b32 $0, $0, 1, 31, 0xffffffff", Type::U32),
    ),
    Parameter::field(
        "special_register_latency",
        CLOCKS,
        "jumps that each wait for %warpid, less those that wait for logic",
        special_register_latency,
    ),
];

/// A jump waits for the register, and then for a field of it. Beside it, a jump waits for an
/// instruction of logic, and for the same field of its result.
fn special_register_latency(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let logic = figure_of(bench, "arithmetic_latency")?;
    let mut clocks = |awaited| {
        bench.clocks_of_copy([8, 24], Sizes { smaller: 64, larger: 192 }, |copies, passes| {
            Ok(kernels::awaited_jumps(awaited, copies, passes))
        })
    };
    let (register, word) = (clocks(Awaited::WarpNumber)?, clocks(Awaited::FieldOfWord)?);
    Ok(register - word + logic)
}

/// Threads of a warp.
const WARP: f64 = 32.0;

/// Threads of a block of the collection's kernels that fill an SM.
const THREADS: u64 = 256;

/// Results of an SM in a clock. The kernel of `tags` makes `results` in a thread for each of its m.
pub(super) fn rate(bench: &mut Bench<'_>, tags: &str, results: u64) -> Result<f64, MeasureError> {
    let blocks = blocks(bench);
    let elements = blocks * THREADS;
    // The thesis's generator counts blocks, and the others count threads.
    let size = match tags.starts_with("compute_throughput") {
        true => format!("ngroups:{blocks}"),
        false => format!("nelements:{elements}"),
    };
    let clocks = bench.clocks(PASSES, How::default(), |m| {
        kernels::of_tags(&format!("{tags} lsize_0:{THREADS} {size} m:{m}"))
    })?;
    Ok((BLOCKS_OF_SM * THREADS * results) as f64 / clocks)
}

/// The same of a kernel that takes blocks and m.
fn own_rate(
    bench: &mut Bench<'_>,
    results: usize,
    kernel: fn(u64, u64) -> Kernel,
) -> Result<f64, MeasureError> {
    let blocks = blocks(bench);
    let clocks = bench.clocks(PASSES, How::default(), |m| Ok(kernel(blocks, m)))?;
    Ok((BLOCKS_OF_SM * READERS) as f64 * results as f64 / clocks)
}

/// Clocks of an instruction that waits for the last one.
pub(super) fn latency(bench: &mut Bench<'_>, ptx: &str, ty: Type) -> Result<f64, MeasureError> {
    let passes = Sizes { smaller: 128, larger: 512 };
    bench
        .clocks_of_copy(LINKS, passes, |copies, passes| Ok(kernels::chain(ptx, ty, copies, passes)))
}

/// Clocks of a sub-core for a jump.
///
/// A warp's own jumps are further apart, so many warps jump. Schedulers prefer some, and the last
/// ones would be too few. So blocks follow each other, and the slope is that over rounds of blocks.
fn branch_interval(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const WARPS_OF_BLOCK: u64 = 4;
    const PASSES: u64 = 96;
    const COPIES: Sizes = Sizes { smaller: 16, larger: 48 };
    let warps = bench.capability("max_warps_per_sm")?;
    let of_round = bench.facts().sm_count * (warps as u64 / WARPS_OF_BLOCK);
    let rounds = Sizes { smaller: 4, larger: 12 };
    let mut clocks = |copies: u64| {
        bench.clocks(rounds, How::default(), |rounds| {
            let threads = WARPS_OF_BLOCK * WARP as u64;
            Ok(kernels::jumps(of_round * rounds, threads, copies, PASSES))
        })
    };
    let (few, many) = (clocks(COPIES.smaller)?, clocks(COPIES.larger)?);
    let jumps = PASSES as f64 * warps / bench.capability("sub_partitions")?;
    Ok(COPIES.slope(few, many)? / jumps)
}
