//! Global memory: section 4.3.
//!
//! The paper finds that the bandwidth depends on the number of blocks, the threads of a block and
//! the transactions of a thread. It runs a synthetic benchmark of the kernel's configuration for
//! it. We have no GPU to run it on. Its replacement follows from the reasons that the paper gives:
//!
//! - SMs that share a path to memory share its bandwidth: the 30 SMs of a GTX 285 are 10 clusters
//!   of three. Blocks are dealt to clusters uniformly, and the cluster with most of them decides.
//!   If the number of blocks is no multiple of 10, some paths idle at the end. They idle less the
//!   more blocks there are: figure 3's saw-tooth.
//! - A warp waits for each batch of its loads, so that with few warps latency decides (Little's
//!   law). Then the bandwidth is linear in blocks and threads, and more of either is almost free.
//!   Loads that are independent of each other's results are one batch. The warp waits for the
//!   slowest of them. Each load is answered by device memory, the L2 or the first-level cache,
//!   independently and by their shares of the sectors.
//! - If first-level caches share the banks of shared memory, loads whose lanes read one bank of
//!   different lines take a pass for each (`first_level`). The SM with most blocks decides.
//! - The first load's latency passes before anything arrives, which many transactions of a thread
//!   amortise.

use crate::first_level;
use crate::gpu::Gpu;
use crate::inputs::{number, optional};
use crate::predictor::ModelError;

/// Bytes that a warp loads with four bytes for each lane.
const WARP_BYTES: f64 = 128.0;
/// Threads of a warp.
const LANES: f64 = 32.0;

/// The blocks of a launch, and those that an SM runs at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Configuration {
    /// Blocks of the grid.
    pub blocks: f64,
    /// Blocks that an SM runs at the same time.
    pub blocks_per_sm: f64,
}

/// The traffic of a launch, or of a stage of it, to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Bytes to and from device memory.
    pub bytes: f64,
    /// Batches of loads that each warp waits for, one after the other.
    pub batches_per_warp: f64,
    /// Loads of a batch: the warp waits for the slowest of them.
    pub loads_per_batch: f64,
    /// The memories that answer.
    pub served: Served,
    /// Passes of loads over the banks of first-level caches.
    pub passes: f64,
}

/// The shares of the sectors that each memory serves; the L2 serves the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    /// First-level caches.
    pub first_level: f64,
    /// Device memory.
    pub device: f64,
}

/// The time of global memory, with the part that bandwidth decides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GlobalTime {
    /// The time in milliseconds.
    pub time_ms: f64,
    /// The time of the bytes at full bandwidth, or of the passes on all SMs if that is longer.
    pub streaming_ms: f64,
}

/// The path to device memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GlobalMemory {
    /// B_mem, of the whole GPU, in GB/s.
    bandwidth_gbps: f64,
    /// Paths to memory, and SMs on each.
    paths: f64,
    sms_per_path: f64,
    /// The latencies of loads that go to device memory, and of those that caches answer, in
    /// milliseconds.
    latency_ms: f64,
    l2_latency_ms: f64,
    l1_latency_ms: f64,
    sms: f64,
    /// Passes over the banks of all first-level caches in a millisecond, if they share them with
    /// shared memory.
    passes_per_ms: Option<f64>,
}

impl GlobalMemory {
    /// The path to memory of a GPU. Without `sms_per_cluster` all SMs share one path.
    ///
    /// # Errors
    ///
    /// When the bandwidth, a latency, the clock or the number of SMs is not known.
    pub fn of(gpu: &Gpu) -> Result<Self, ModelError> {
        let sms = number!(gpu.sm_count) as f64;
        let sms_per_path = optional!(gpu.sms_per_cluster).map_or(sms, |count| count as f64);
        let clocks_of_ms = 1e3 * number!(gpu.sp_clock);
        let latency = number!(gpu.memory_latency);
        // Without an L2 everything goes to device memory.
        let l2_latency = match gpu.l2_size {
            Some(_) => number!(gpu.l2_latency),
            None => optional!(gpu.l2_latency).unwrap_or(latency),
        };
        // Counts may come from a GPU that has such a cache where this one does not.
        let l1_latency = optional!(gpu.l1_latency).unwrap_or(l2_latency);
        Ok(Self {
            bandwidth_gbps: number!(gpu.memory_bandwidth),
            paths: (sms / sms_per_path).ceil(),
            sms_per_path,
            latency_ms: latency as f64 / clocks_of_ms,
            l2_latency_ms: l2_latency as f64 / clocks_of_ms,
            l1_latency_ms: l1_latency as f64 / clocks_of_ms,
            sms,
            passes_per_ms: match first_level::has_unified_banks(gpu) {
                true => Some(first_level::passes_per_ms(gpu)?),
                false => None,
            },
        })
    }

    /// B_mem, in GB/s.
    #[must_use]
    pub fn peak_bandwidth(&self) -> f64 {
        self.bandwidth_gbps
    }

    /// The time of bytes at full bandwidth, or of passes on all SMs if that is longer, in
    /// milliseconds.
    #[must_use]
    pub fn streaming_ms(&self, bytes: f64, passes: f64) -> f64 {
        self.bytes_ms(bytes).max(self.passes_ms(passes))
    }

    fn bytes_ms(&self, bytes: f64) -> f64 {
        bytes / self.bandwidth_gbps / 1e6
    }

    fn passes_ms(&self, passes: f64) -> f64 {
        self.passes_per_ms.map_or(0.0, |rate| passes / rate)
    }

    /// The time of traffic.
    #[must_use]
    pub fn time(&self, traffic: &Traffic, configuration: &Configuration) -> GlobalTime {
        if traffic.bytes == 0.0 && traffic.batches_per_warp == 0.0 {
            return GlobalTime::default();
        }
        // The cluster with most blocks, or the SM, has this many times the mean.
        let most =
            |parts: f64| (configuration.blocks / parts).ceil() * parts / configuration.blocks;
        let of_one_path = (configuration.blocks / self.paths).ceil();
        let busiest = (self.bytes_ms(traffic.bytes) * most(self.paths))
            .max(self.passes_ms(traffic.passes) * most(self.sms));
        let latency_ms = self.slowest_latency(&traffic.served, traffic.loads_per_batch);
        let together = self.sms_per_path * configuration.blocks_per_sm;
        let rounds = (of_one_path / together).ceil();
        let waiting = rounds * traffic.batches_per_warp * latency_ms;
        let time_ms = busiest.max(waiting) + latency_ms;
        GlobalTime { time_ms, streaming_ms: self.streaming_ms(traffic.bytes, traffic.passes) }
    }

    /// The latency of the slowest of `loads` loads, in milliseconds. Each is answered by device
    /// memory, by the L2 or by the first-level cache with the shares of `served`, independently.
    fn slowest_latency(&self, served: &Served, loads: f64) -> f64 {
        let device = served.device.clamp(0.0, 1.0);
        let first_level = served.first_level.clamp(0.0, 1.0 - device);
        let loads = loads.max(1.0);
        let none_by_device = (1.0 - device).powf(loads);
        let all_by_first_level = first_level.powf(loads);
        (1.0 - none_by_device) * self.latency_ms
            + all_by_first_level * self.l1_latency_ms
            + (none_by_device - all_by_first_level) * self.l2_latency_ms
    }

    /// The bandwidth of the paper's synthetic benchmark, in GB/s (figure 3). Each of `threads`
    /// threads of `blocks` blocks loads `transactions` words of four bytes, neighbours beside each
    /// other. An SM runs `blocks_per_sm` blocks at a time.
    #[must_use]
    pub fn synthetic_bandwidth(
        &self,
        blocks: u64,
        threads: u64,
        transactions: u64,
        blocks_per_sm: u64,
    ) -> f64 {
        let warps = blocks as f64 * (threads as f64 / LANES).ceil();
        let bytes = warps * transactions as f64 * WARP_BYTES;
        let served = Served { first_level: 0.0, device: 1.0 };
        let batches_per_warp = transactions as f64;
        let passes = bytes / WARP_BYTES;
        let traffic = Traffic { bytes, batches_per_warp, loads_per_batch: 1.0, served, passes };
        let configuration =
            Configuration { blocks: blocks as f64, blocks_per_sm: blocks_per_sm as f64 };
        bytes / self.time(&traffic, &configuration).time_ms / 1e6
    }
}
