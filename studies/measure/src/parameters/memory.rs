//! Shared memory, caches and device memory: clocks of a load, and bytes in a clock.

use gpucast_collection::language::{Caching, Kernel};

use super::{BLOCKS_OF_SM, CLOCKS, Parameter, RATE, SECTOR_BYTES, blocks, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels::{
    self, CHASES, LOADS, Loads, READERS, Reading, Sectors, Spread, VECTOR_BYTES, WARP_LOADS,
};

pub(super) const ALL: &[Parameter] = &[
    Parameter::field("shared_latency", CLOCKS, "chase of addresses in shared memory", |bench| {
        bench.clocks(CHASE, How::default(), |m| Ok(kernels::shared_chase(m)))
    }),
    Parameter::field("l1_latency", CLOCKS, "chase of addresses in 8 KiB, ld.global.nc", |bench| {
        chase(bench, ".nc", 8 << 10, false)
    }),
    Parameter::field(
        "l2_latency",
        CLOCKS,
        "chase of addresses in 256 KiB, ld.global.cg, less half of l2_far_latency",
        |bench| {
            let mean = chase(bench, ".cg", L2_CHASE_BYTES, false)?;
            Ok(mean - figure_of(bench, "l2_far_latency")? / 2.0)
        },
    ),
    Parameter::field(
        "l2_far_latency",
        CLOCKS,
        "loads of one line again and again, ld.global.cg, by lines whose latencies are apart",
        |bench| {
            let latencies: Result<Vec<f64>, _> =
                (0..LINES).map(|line| line_latency(bench, line)).collect();
            Ok(distance(latencies?))
        },
    ),
    Parameter::field(
        "memory_latency",
        CLOCKS,
        "chase of addresses behind a read of twice the L2",
        |bench| chase(bench, ".cg", 1 << 20, true),
    ),
    Parameter::field(
        "load_store_rate",
        RATE,
        "loads of bytes from shared memory by all warps",
        |bench| {
            let loads = Loads { blocks: blocks(bench), ..WORDS_OF_SM };
            Ok(WARP / shared_loads(bench, "u8", loads)?)
        },
    ),
    Parameter::field(
        "uniform_address_interval",
        CLOCKS,
        "loads from shared memory by the warps of one sub-core",
        |bench| {
            let warps_apart = bench.capability("sub_partitions")? as u64;
            let loads =
                Loads { warps_apart, threads: MOST_THREADS, ..one_block(Spread::Stride(1)) };
            shared_loads(bench, "u32", loads)
        },
    ),
    Parameter::field(
        "address_interval",
        CLOCKS,
        "loads from the first-level cache by the warps of one sub-core",
        |bench| {
            let warps_apart = bench.capability("sub_partitions")? as u64;
            let loads =
                Loads { warps_apart, threads: MOST_THREADS, ..one_block(Spread::Stride(1)) };
            l1_loads(bench, loads)
        },
    ),
    Parameter::field(
        "shared_bytes_rate",
        RATE,
        "vectors of 16 bytes from shared memory",
        |bench| bytes(bench, VECTORS, kernels::shared_vectors),
    ),
    Parameter::field(
        "l1_bytes_rate",
        RATE,
        "vectors of 16 bytes from 32 KiB, ld.global.nc",
        |bench| {
            bytes(bench, VECTORS, |blocks, passes| {
                // Two passes of a block. Words that every pass reads are read once by compilers.
                let (caching, bytes) = (Caching::ReadOnly, 2 * READERS * LOADS * VECTOR_BYTES);
                kernels::vectors(Reading { caching, bytes, blocks, threads: READERS, passes })
            })
        },
    ),
    Parameter::field(
        "l1_tag_rate",
        RATE,
        "loads from the first-level cache that touch 8 and 32 lines without conflicts of banks",
        |bench| Ok(tags(bench)?.rate),
    ),
    Parameter::field("l1_tag_spread", CLOCKS, "the same", |bench| Ok(tags(bench)?.spread)),
    Parameter::field(
        "store_bytes_rate",
        RATE,
        "vectors of 16 bytes stored by one SM into 256 KiB",
        |bench| {
            let threads = MOST_THREADS;
            let clocks = bench.clocks(VECTORS, How::default(), |passes| {
                Ok(kernels::stores(256 << 10, 1, threads, passes))
            })?;
            Ok((threads * LOADS * VECTOR_BYTES) as f64 / clocks)
        },
    ),
    Parameter::field(
        "l2_bandwidth",
        "GB/s",
        "vectors of 16 bytes from 1 MiB by all SMs, ld.global.cg",
        |bench| {
            // Four blocks of an SM keep enough loads under way.
            let blocks = bench.facts().sm_count * 4;
            let seconds = bench.slope(L2_VECTORS, How::default(), |passes| {
                let caching = Caching::SecondLevel;
                let reading = Reading { caching, bytes: 1 << 20, blocks, threads: READERS, passes };
                Ok(kernels::vectors(reading))
            })?;
            Ok((blocks * READERS * LOADS * VECTOR_BYTES) as f64 / seconds / 1e9)
        },
    ),
    Parameter::field(
        "l2_write_bandwidth",
        "GB/s",
        "vectors of 16 bytes stored into 1 MiB by all SMs",
        |bench| {
            let blocks = bench.facts().sm_count * 4;
            let seconds = bench.slope(L2_VECTORS, How::default(), |passes| {
                Ok(kernels::stores(1 << 20, blocks, READERS, passes))
            })?;
            Ok((blocks * READERS * LOADS * VECTOR_BYTES) as f64 / seconds / 1e9)
        },
    ),
    Parameter::field(
        "l2_reply_bytes_rate",
        RATE,
        "vectors of 16 bytes from 256 KiB by one SM, ld.global.cg",
        l2_reply,
    ),
    Parameter::field(
        "l2_request_rate",
        RATE,
        "loads of a line's sector for each warp of one SM from 256 KiB, ld.global.cg",
        l2_requests,
    ),
    Parameter::field(
        "dram_efficiency",
        "%",
        "vectors of 16 bytes that are read once, slope over bytes",
        |bench| efficiency(bench, 1.0, kernels::stream),
    ),
    Parameter::field(
        "dram_mixed_efficiency",
        "%",
        "vectors of 16 bytes that are read once and written elsewhere, slope over bytes",
        |bench| efficiency(bench, 2.0, kernels::copy_stream),
    ),
];

/// The mean latency of the L2: a chase through its lines meets both halves equally often.
pub(super) fn mean_l2_latency(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    Ok(figure_of(bench, "l2_latency")? + figure_of(bench, "l2_far_latency")? / 2.0)
}

/// Lines whose latencies are measured one by one.
const LINES: u64 = 24;

/// Clocks of a load of one line from the L2.
fn line_latency(bench: &mut Bench<'_>, line: u64) -> Result<f64, MeasureError> {
    /// Bytes between the lines: neither neighbours nor in one page.
    const APART: u64 = 33 * CHASE_STRIDE;
    // Each element holds its own address.
    let how = How { pointers: Some(0), is_cold: false };
    let loads = Sizes { smaller: 8 * u64::from(CHASES), larger: 24 * u64::from(CHASES) };
    bench.clocks(loads, how, |loads| Ok(kernels::line_chase(line * APART, L2_CHASE_BYTES, loads)))
}

/// The distance of the means of two groups of latencies, divided at the widest gap. It is 0 where
/// the gap is no wider than the groups, or a group is a few lines: these lie in one partition.
fn distance(mut latencies: Vec<f64>) -> f64 {
    /// A partition has one in so many lines at least.
    const SHARE: usize = 4;
    latencies.sort_by(f64::total_cmp);
    let gap = |&at: &usize| latencies[at] - latencies[at - 1];
    let widest = (1..latencies.len()).max_by(|one, other| gap(one).total_cmp(&gap(other)));
    let Some(at) = widest else { return 0.0 };
    let (near, far) = latencies.split_at(at);
    let width = |group: &[f64]| group[group.len() - 1] - group[0];
    let mean = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
    let is_part = SHARE * near.len().min(far.len()) >= latencies.len();
    let are_apart = gap(&at) > width(near).max(width(far));
    if is_part && are_apart { mean(far) - mean(near) } else { 0.0 }
}

/// Threads of a warp.
const WARP: f64 = 32.0;

/// The most threads of a block.
const MOST_THREADS: u64 = 1024;

/// Loads of a chase.
pub(super) const CHASE: Sizes = Sizes { smaller: 32 * CHASES as u64, larger: 96 * CHASES as u64 };

/// Bytes from an address of a chase to the next: a line.
pub(super) const CHASE_STRIDE: u64 = 128;

/// Bytes of a chase in the L2.
pub(super) const L2_CHASE_BYTES: u64 = 256 << 10;

/// Passes of kernels that read vectors.
const VECTORS: Sizes = Sizes { smaller: 128, larger: 384 };

/// Passes of kernels in which all SMs read or write the L2.
const L2_VECTORS: Sizes = Sizes { smaller: 32, larger: 96 };

/// Loads of consecutive words by blocks that fill an SM.
pub(super) const WORDS_OF_SM: Loads = Loads {
    spread: Spread::Stride(1),
    blocks: BLOCKS_OF_SM,
    threads: READERS,
    warps_apart: 1,
    passes: 0,
};

/// The same by one block of each SM.
pub(super) fn of_all_sms(bench: &Bench<'_>) -> Loads {
    let threads = BLOCKS_OF_SM * READERS;
    Loads { blocks: bench.facts().sm_count, threads, ..WORDS_OF_SM }
}

/// Loads by one block.
fn one_block(spread: Spread) -> Loads {
    Loads { spread, blocks: 1, ..WORDS_OF_SM }
}

/// Clocks of a load that waits for the last one.
fn chase(
    bench: &mut Bench<'_>,
    suffix: &str,
    bytes: u64,
    is_cold: bool,
) -> Result<f64, MeasureError> {
    let how = How { pointers: Some(CHASE_STRIDE), is_cold };
    bench.clocks(CHASE, how, |m| Ok(kernels::chase(suffix, bytes, m, CHASES)))
}

/// Bytes of an SM in a clock.
fn bytes(
    bench: &mut Bench<'_>,
    sizes: Sizes,
    kernel: impl Fn(u64, u64) -> Kernel,
) -> Result<f64, MeasureError> {
    let blocks = blocks(bench);
    let clocks = bench.clocks(sizes, How::default(), |passes| Ok(kernel(blocks, passes)))?;
    Ok((BLOCKS_OF_SM * READERS * LOADS * VECTOR_BYTES) as f64 / clocks)
}

/// Warps of an SM that load.
fn loading_warps(bench: &Bench<'_>, loads: Loads) -> f64 {
    let blocks = (loads.blocks / bench.facts().sm_count).max(1);
    (blocks * loads.threads) as f64 / WARP / loads.warps_apart as f64
}

/// Clocks of an SM for a warp's load from shared memory, in blocks of one SM or of all.
pub(super) fn shared_loads(
    bench: &mut Bench<'_>,
    ty: &str,
    loads: Loads,
) -> Result<f64, MeasureError> {
    let clocks = bench.clocks(LOAD_PASSES, How::default(), |passes| {
        Ok(kernels::volatile_shared_loads(ty, Loads { passes, ..loads }))
    })?;
    Ok(clocks / (loading_warps(bench, loads) * WARP_LOADS as f64))
}

/// The same from the first-level cache.
///
/// A pass ends when the last warp has its data and has added it up: the longer, the more loads it
/// has. Blocks of half as many warps end their passes so, too, and the difference is without it.
pub(super) fn l1_loads(bench: &mut Bench<'_>, loads: Loads) -> Result<f64, MeasureError> {
    let half = Loads { threads: loads.threads / 2, ..loads };
    let copies = pass_loads(loads.threads);
    let mut clocks = |loads: Loads| {
        bench.clocks_of_copy(copies, LOAD_PASSES, |copies, passes| {
            Ok(kernels::l1_loads(Loads { passes, ..loads }, copies))
        })
    };
    let further = clocks(loads)? - clocks(half)?;
    Ok(further / (loading_warps(bench, loads) - loading_warps(bench, half)))
}

/// Loads of a warp from one barrier to the next, in two loops, by blocks of some threads. At a
/// barrier all warps wait, but equally long in both loops. Each load has a register and a sum, and
/// threads of a block of 1024 have 64 registers.
pub(super) const fn pass_loads(threads: u64) -> [u32; 2] {
    const WITH_ALL_REGISTERS: u64 = 512;
    if threads > WITH_ALL_REGISTERS { [8, 16] } else { [8, 24] }
}

/// Passes of loads by the places of lanes.
const LOAD_PASSES: Sizes = Sizes { smaller: 16, larger: 48 };

/// The stage of the first-level cache that compares tags.
struct Tags {
    /// Lines in a clock.
    rate: f64,
    /// Further clocks, times the square root of the lines.
    spread: f64,
}

/// Lines n take n / rate + spread √n clocks: two numbers of lines give both.
fn tags(bench: &mut Bench<'_>) -> Result<Tags, MeasureError> {
    let clocks = |bench: &mut Bench<'_>, lines: u64| {
        let loads = Loads { spread: Spread::Lines(lines), ..of_all_sms(bench) };
        l1_loads(bench, loads)
    };
    const FEW: f64 = 8.0;
    const MANY: f64 = 32.0;
    let (few, many) = (clocks(bench, FEW as u64)?, clocks(bench, MANY as u64)?);
    let ratio = (MANY / FEW).sqrt();
    // many − √(MANY / FEW) few = (MANY − √(MANY / FEW) FEW) / rate
    let rate = (MANY - ratio * FEW) / (many - ratio * few);
    Ok(Tags { rate, spread: (few - FEW / rate) / FEW.sqrt() })
}

/// The share of a limit up to which another one may show.
const CLOSE: f64 = 0.9;

/// The port of one SM to the L2, if it limits the SM before the sectors do that it may wait for.
fn l2_reply(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let threads = MOST_THREADS;
    let clocks = bench.clocks(L2_VECTORS, How::default(), |passes| {
        let (caching, bytes) = (Caching::SecondLevel, 256 << 10);
        Ok(kernels::vectors(Reading { caching, bytes, blocks: 1, threads, passes }))
    })?;
    let rate = (threads * LOADS * VECTOR_BYTES) as f64 / clocks;
    // A warp's load has four lines, one of which is nearly always in the far half.
    let latency = figure_of(bench, "l2_latency")? + figure_of(bench, "l2_far_latency")?;
    let waiting = rate * latency / SECTOR_BYTES;
    let most = figure_of(bench, "pending_sectors")?;
    if waiting > CLOSE * most {
        return Err(MeasureError::unfit(format!(
            "{waiting:.0} of {most:.0} sectors wait for the L2, so their number limits the SM first"
        )));
    }
    Ok(rate)
}

/// Requests that one SM sends to the L2, if their rate limits it before the number does that may
/// wait, and before their bytes do: requests of two sectors then take as long.
fn l2_requests(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    /// Bytes that the lanes of a request return to registers.
    const RETURNED: f64 = WARP * 4.0;
    let threads = MOST_THREADS;
    let mut clocks = |sectors| {
        bench.clocks_of_copy(pass_loads(threads), LOAD_PASSES, |copies, passes| {
            Ok(kernels::sectors_of_l2(sectors, threads, passes, copies))
        })
    };
    let (one, two) = (clocks(Sectors::One)?, clocks(Sectors::Two)?);
    if CLOSE * two > one {
        return Err(MeasureError::unfit("the bytes of the L2's replies limit the SM first"));
    }
    let rate = threads as f64 / WARP / one;
    if rate * RETURNED > CLOSE * figure_of(bench, "l1_bytes_rate")? {
        return Err(MeasureError::unfit("the way to registers limits the SM first"));
    }
    let waiting = rate * mean_l2_latency(bench)?;
    let most = figure_of(bench, "pending_accesses")?;
    if waiting > CLOSE * most {
        return Err(MeasureError::unfit(format!(
            "{waiting:.0} of {most:.0} requests wait for the L2, so their number limits the SM first"
        )));
    }
    Ok(rate)
}

/// The share of the peak bandwidth that a kernel reaches, which moves `moved` bytes for each of its
/// bytes.
fn efficiency(
    bench: &mut Bench<'_>,
    moved: f64,
    kernel: fn(u64) -> Kernel,
) -> Result<f64, MeasureError> {
    // What a launch begins to read is gone from the L2 when it ends.
    let smaller = (2 * bench.facts().l2_bytes).next_multiple_of(1 << 24).max(1 << 25);
    let sizes = Sizes { smaller, larger: 2 * smaller };
    let seconds = bench.slope(sizes, How::COLD, |bytes| Ok(kernel(bytes)))?;
    let peak = bench.facts().peak_bandwidth().ok_or_else(|| {
        MeasureError::unfit("the driver tells neither the clock nor the width of the memory's bus")
    })?;
    let percent = moved / seconds / 1e9 / peak * 100.0;
    match percent {
        ..=100.0 => Ok(percent),
        _ => Err(MeasureError::unfit(format!(
            "{percent:.1} % of the peak are too many, so a cache delivered a part"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn latencies_are_apart_where_the_gap_is_wider_than_either_group() {
        let check = |latencies: &[f64], expected: f64| {
            let found = distance(latencies.to_vec());
            assert!((found - expected).abs() < 1e-9, "{latencies:?}: {found}");
        };
        check(&[], 0.0);
        check(&[200.0], 0.0);
        check(&[200.0, 200.0, 200.0], 0.0);
        check(&[380.0, 200.0, 210.0, 390.0], 180.0);
        check(&[390.0, 200.0, 210.0, 205.0], 185.0);
        check(&[200.0, 200.0, 200.0, 200.0, 205.0], 0.0);
        // One partition, whose slices lie evenly apart.
        check(&[200.0, 206.0, 212.0, 219.0], 0.0);
    }
}
