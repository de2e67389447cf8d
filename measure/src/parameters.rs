//! The parameters that are measured, each with its kernel.

use gpucast_collection::Unfit;
use gpucast_collection::language::{Caching, Kernel};
use gpucast_model::Gpu;

use crate::bench::{Bench, How, MeasureError, Sizes};
use crate::device::Facts;
use crate::kernels::{self, CHASES, LOADS, READERS, VECTOR_BYTES};

/// A parameter: a field of a GPU file, and how it is measured.
pub struct Parameter {
    /// The field of the GPU file.
    pub field: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// The kernels and what is computed of their times, in a few words.
    pub kernel: &'static str,
    measure: fn(&mut Bench<'_>) -> Result<f64, MeasureError>,
}

/// A measured parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The parameter.
    pub parameter: &'static Parameter,
    /// Its value in the parameter's unit.
    pub value: f64,
    /// Trials that were excluded as anomalous.
    pub excluded: usize,
}

impl Parameter {
    /// Measures the parameter.
    ///
    /// # Errors
    ///
    /// A kernel that the device refuses or that does not exist for it, and times that do not grow
    /// with the work.
    pub fn measured(&'static self, bench: &mut Bench<'_>) -> Result<Measured, MeasureError> {
        bench.take_excluded();
        let value = (self.measure)(bench)?;
        Ok(Measured { parameter: self, value, excluded: bench.take_excluded() })
    }

    /// What a GPU's file says of what is measured, in the same unit; `None` if it says nothing.
    #[must_use]
    pub fn of(&self, gpu: &Gpu) -> Option<f64> {
        let value = gpu.number(self.field)?;
        match self.field {
            // A chase meets both halves of the L2 equally often.
            "l2_latency" => Some(value + gpu.number("l2_far_latency").unwrap_or(0.0) / 2.0),
            _ => Some(value),
        }
    }
}

impl std::fmt::Debug for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parameter").field("field", &self.field).finish_non_exhaustive()
    }
}

impl PartialEq for Parameter {
    fn eq(&self, other: &Self) -> bool {
        self.field == other.field
    }
}

/// A parameter whose unit is results of an SM in a clock.
macro_rules! rate {
    ($field:literal, $kernel:literal, $results:literal) => {
        Parameter {
            field: $field,
            unit: "/clk/SM",
            kernel: $kernel,
            measure: |bench| rate(bench, $kernel, $results),
        }
    };
}

/// All parameters.
pub const ALL: &[Parameter] = &[
    Parameter {
        field: "launch_overhead",
        unit: "us",
        kernel: "empty_knl, launches behind each other",
        measure: launch_overhead,
    },
    Parameter {
        field: "cta_launch_interval",
        unit: "clock",
        kernel: "chases of addresses in as many blocks as fit, slope over blocks",
        measure: cta_launch_interval,
    },
    rate!("fp32_rate", "compute_throughput operation:madd dtype:float32", 16),
    rate!("fp64_rate", "compute_throughput operation:madd dtype:float64", 16),
    rate!("int_add_rate", "iops_pattern operation:add", 32),
    rate!("int_mul_rate", "compute_throughput operation:madd dtype:int32", 16),
    rate!("logic_rate", "iops_pattern operation:xor", 32),
    rate!("shift_rate", "iops_pattern operation:shift", 32),
    Parameter {
        field: "compare_rate",
        unit: "/clk/SM",
        kernel: "minima of single-precision numbers",
        measure: compare_rate,
    },
    rate!("special_rate", "special_pattern function:sin", 32),
    rate!("conversion_rate", "conversion_pattern from:float32 to:int32", 32),
    rate!("shuffle_rate", "shuffle_pattern mode:bfly distance:1", 8),
    Parameter {
        field: "arithmetic_latency",
        unit: "clock",
        kernel: "latency_chain operation:madd dtype:float32",
        measure: |bench| chain(bench, "latency_chain operation:madd dtype:float32"),
    },
    Parameter {
        field: "fp64_latency",
        unit: "clock",
        kernel: "latency_chain operation:madd dtype:float64",
        measure: |bench| chain(bench, "latency_chain operation:madd dtype:float64"),
    },
    Parameter {
        field: "shared_latency",
        unit: "clock",
        kernel: "chase of addresses in shared memory",
        measure: |bench| bench.clocks(CHASE, How::default(), |m| Ok(kernels::shared_chase(m))),
    },
    Parameter {
        field: "l1_latency",
        unit: "clock",
        kernel: "chase of addresses in 8 KiB, ld.global.nc",
        measure: |bench| chase(bench, ".nc", 8 << 10, false),
    },
    Parameter {
        field: "l2_latency",
        unit: "clock",
        kernel: "chase of addresses in 256 KiB, ld.global.cg",
        measure: |bench| chase(bench, ".cg", 256 << 10, false),
    },
    Parameter {
        field: "memory_latency",
        unit: "clock",
        kernel: "chase of addresses behind a read of twice the L2",
        measure: |bench| chase(bench, ".cg", 1 << 20, true),
    },
    Parameter {
        field: "shared_bytes_rate",
        unit: "/clk/SM",
        kernel: "vectors of 16 bytes from shared memory",
        measure: |bench| bytes(bench, VECTORS, kernels::shared_vectors),
    },
    Parameter {
        field: "l1_bytes_rate",
        unit: "/clk/SM",
        kernel: "vectors of 16 bytes from 16 KiB, ld.global.nc",
        measure: |bench| {
            bytes(bench, VECTORS, |blocks, passes| {
                kernels::vectors(Caching::ReadOnly, 16 << 10, blocks, passes)
            })
        },
    },
    Parameter {
        field: "l2_bandwidth",
        unit: "GB/s",
        kernel: "vectors of 16 bytes from 1 MiB by all SMs, ld.global.cg",
        measure: l2_bandwidth,
    },
    Parameter {
        field: "dram_efficiency",
        unit: "%",
        kernel: "vectors of 16 bytes that are read once, slope over bytes",
        measure: dram_efficiency,
    },
    Parameter {
        field: "barrier_latency",
        unit: "clock",
        kernel: "barrier_pattern with one warp, less the fence behind it (5.x, 6.x)",
        measure: barrier_latency,
    },
    Parameter {
        field: "fence_cta_latency",
        unit: "clock",
        kernel: "membar.cta of one warp, one after the other",
        measure: |bench| fence(bench, "cta"),
    },
    Parameter {
        field: "fence_gpu_latency",
        unit: "clock",
        kernel: "membar.gl of one warp, one after the other",
        measure: |bench| fence(bench, "gl"),
    },
    Parameter {
        field: "fence_system_latency",
        unit: "clock",
        kernel: "membar.sys of one warp, one after the other",
        measure: |bench| fence(bench, "sys"),
    },
];

/// Loads of a chase.
const CHASE: Sizes = Sizes { smaller: 32 * CHASES as u64, larger: 96 * CHASES as u64 };

/// Bytes from an address of a chase to the next: a line.
const CHASE_STRIDE: u64 = 128;

/// Passes of kernels that read vectors.
const VECTORS: Sizes = Sizes { smaller: 128, larger: 384 };

/// Blocks of an SM in kernels that fill it.
const BLOCKS_OF_SM: u64 = 2;

/// Threads of a block of the collection's kernels that fill an SM.
const THREADS: u64 = 256;

/// Results of an SM in a clock. The kernel of `tags` makes `results` in a thread for each of its m.
fn rate(bench: &mut Bench<'_>, tags: &str, results: u64) -> Result<f64, MeasureError> {
    let blocks = bench.facts().sm_count * BLOCKS_OF_SM;
    let elements = blocks * THREADS;
    // The thesis's generator counts blocks, and the others count threads.
    let size = match tags.starts_with("compute_throughput") {
        true => format!("ngroups:{blocks}"),
        false => format!("nelements:{elements}"),
    };
    let sizes = Sizes { smaller: 64, larger: 192 };
    let clocks = bench.clocks(sizes, How::default(), |m| {
        kernels::of_tags(&format!("{tags} lsize_0:{THREADS} {size} m:{m}"))
    })?;
    Ok((BLOCKS_OF_SM * THREADS * results) as f64 / clocks)
}

/// Clocks of an operation that waits for the last one.
fn chain(bench: &mut Bench<'_>, tags: &str) -> Result<f64, MeasureError> {
    let sizes = Sizes { smaller: 4096, larger: 12_288 };
    bench.clocks(sizes, How::default(), |m| kernels::of_tags(&format!("{tags} m:{m}")))
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
    let blocks = bench.facts().sm_count * BLOCKS_OF_SM;
    let clocks = bench.clocks(sizes, How::default(), |passes| Ok(kernel(blocks, passes)))?;
    Ok((BLOCKS_OF_SM * READERS * LOADS * VECTOR_BYTES) as f64 / clocks)
}

fn launch_overhead(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const LAUNCHES: u32 = 100;
    let kernel = kernels::of_tags("empty_knl lsize_0:32 lsize_1:1 ngroups:1")?;
    let (smaller, larger) = (LAUNCHES, 3 * LAUNCHES);
    let smaller_seconds = bench.seconds(kernel.clone(), How::default(), smaller)?;
    let larger_seconds = bench.seconds(kernel, How::default(), larger)?;
    let sizes = Sizes { smaller: smaller.into(), larger: larger.into() };
    Ok(sizes.slope(smaller_seconds, larger_seconds)? * 1e6)
}

/// Blocks that all fit on the device begin behind each other and take equally long, so the last one
/// ends later by each of them. The first blocks wait for their code together, so that they do not
/// show it; a short loop makes these few.
fn cta_launch_interval(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const COPIES: u32 = 8;
    const LOADS: u64 = 64;
    let Facts { sm_count, max_blocks_per_sm, .. } = *bench.facts();
    let most = sm_count * max_blocks_per_sm.clamp(2, 32);
    let sizes = Sizes { smaller: most / 2, larger: most };
    let how = How { pointers: Some(CHASE_STRIDE), ..How::default() };
    bench.clocks(sizes, how, |blocks| {
        let mut kernel = kernels::chase(".cg", 4096, LOADS, COPIES);
        kernel.grid = [u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1];
        Ok(kernel)
    })
}

fn compare_rate(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const MINIMA: u64 = 16;
    let blocks = bench.facts().sm_count * BLOCKS_OF_SM;
    let sizes = Sizes { smaller: 64, larger: 192 };
    let clocks = bench.clocks(sizes, How::default(), |m| Ok(kernels::minima(blocks, m)))?;
    Ok((BLOCKS_OF_SM * READERS * MINIMA) as f64 / clocks)
}

fn l2_bandwidth(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    // Four blocks of an SM keep enough loads under way.
    let blocks = bench.facts().sm_count * 4;
    let sizes = Sizes { smaller: 32, larger: 96 };
    let seconds = bench.slope(sizes, How::default(), |passes| {
        Ok(kernels::vectors(Caching::SecondLevel, 1 << 20, blocks, passes))
    })?;
    Ok((blocks * READERS * LOADS * VECTOR_BYTES) as f64 / seconds / 1e9)
}

fn dram_efficiency(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    // What a launch begins to read is gone from the L2 when it ends.
    let smaller = (2 * bench.facts().l2_bytes).next_multiple_of(1 << 24).max(1 << 25);
    let how = How { is_cold: true, ..How::default() };
    let sizes = Sizes { smaller, larger: 2 * smaller };
    let seconds = bench.slope(sizes, how, |bytes| Ok(kernels::stream(bytes)))?;
    let peak = bench.facts().peak_bandwidth().ok_or_else(|| {
        Unfit::new("the driver tells neither the clock nor the width of the memory's bus")
    })?;
    let percent = 1.0 / seconds / 1e9 / peak * 100.0;
    match percent {
        ..=100.0 => Ok(percent),
        _ => Err(Unfit::new(format!(
            "{percent:.1} % of the peak are too many, so a cache delivered a part"
        ))
        .into()),
    }
}

/// Barriers or fences of the slope between two launches.
const ORDERED: Sizes = Sizes { smaller: 2048, larger: 6144 };

fn fence(bench: &mut Bench<'_>, scope: &str) -> Result<f64, MeasureError> {
    bench.clocks(ORDERED, How::default(), |m| Ok(kernels::fences(scope, m)))
}

fn barrier_latency(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let barrier = bench.clocks(ORDERED, How::default(), |m| {
        let mut kernel = kernels::of_tags(&format!(
            "barrier_pattern lsize_0:32 lsize_1:1 nelements:1024 m:{m}"
        ))?;
        // One warp on the device.
        kernel.grid = [1, 1, 1];
        Ok(kernel)
    })?;
    // Compilers put a fence of the block behind each barrier there.
    let has_fence = matches!(bench.facts().major, 5 | 6);
    let fence = if has_fence { fence(bench, "cta")? } else { 0.0 };
    Ok(barrier - fence)
}
