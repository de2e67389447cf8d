//! The load/store path of an SM: its units, the banks of its first-level cache, and the way back.
//!
//! Three laws hold beside the cache's bandwidth, and the slowest decides:
//!
//! - *Units.* Each access of a warp to global or local memory takes 32 lanes over the lanes per
//!   clock of the units (`load_store_rate`): two clocks on GA10x and Turing. Accesses to shared
//!   memory are left to its banks: no microbenchmark at hand shows another limit.
//! - *Return.* Loaded words come back lane by lane at the cache's rate (`l1_bytes_rate`). So a word
//!   read by all lanes costs as much as 32 words. On Turing a uniform load of 16 bytes takes 8.2
//!   clocks, one of 4 bytes 2.05. On an A40 a broadcast and a coalesced load of 4 bytes take 2.00
//!   clocks each (RRZE's `gpu-strides`), which are those of the units.
//! - *Banks.* The paragraph below.
//!
//! Since compute capability 7.0 one array of 32 banks of four bytes holds both. A bank delivers one
//! word per clock. So lanes whose words lie in the same bank of different lines wait for each
//! other, as in shared memory. An example is 32 rows of a matrix whose pitch is a multiple of 128
//! bytes. They take 32 clocks, although their sectors are the bytes of eight. Two published times
//! show it (RTX A6000 and RTX 3090: `docs/evidence/validation.md`).

use gpucast_counters::KernelProfile;
use gpucast_counters::metric;

use crate::gpu::Gpu;
use crate::inputs::{Totals, number, optional};
use crate::predictor::ModelError;

/// The first generation whose first-level cache and shared memory are one array.
const UNIFIED_SINCE: u32 = 7;

/// Bytes that the banks deliver in a pass.
const PASS_BYTES: f64 = 128.0;

/// Threads of a warp.
const WARP_LANES: f64 = 32.0;

/// Passes of a kernel's global loads over the banks of such a cache, of all invocations. Returns
/// `None` if the GPU has another kind of cache, or the counts do not say.
///
/// # Errors
///
/// When the count is impossible.
pub(crate) fn load_passes(gpu: &Gpu, profile: &KernelProfile) -> Result<Option<f64>, ModelError> {
    if !has_unified_banks(gpu) {
        return Ok(None);
    }
    Totals(profile).get(metric!("global_load_passes"))
}

/// The times that a kernel's accesses take of the load/store paths of a number of SMs, in
/// milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LoadStorePath {
    /// The time of the load/store units.
    pub(crate) units_ms: f64,
    /// The time of the way back to the lanes; zero if the cache does not share the banks of shared
    /// memory.
    pub(crate) return_ms: f64,
}

/// Metrics of a warp's loads and stores of global and local memory.
const ISSUED: [&str; 6] = metric![
    "inst_executed_global_loads",
    "inst_executed_global_stores",
    "inst_executed_global_atomics",
    "inst_executed_global_reductions",
    "inst_executed_local_loads",
    "inst_executed_local_stores"
];

impl LoadStorePath {
    /// The times on all SMs. A profile without a metric is taken to have none of its events.
    ///
    /// # Errors
    ///
    /// When a count is impossible.
    pub(crate) fn of(gpu: &Gpu, profile: &KernelProfile) -> Result<Self, ModelError> {
        let totals = Totals(profile);
        let (Some(sms), Some(clock_mhz)) = (optional!(gpu.sm_count), optional!(gpu.sp_clock))
        else {
            return Ok(Self::default());
        };
        let clocks_per_ms = sms as f64 * 1e3 * clock_mhz;
        let mut issued = 0.0;
        for metric in ISSUED {
            issued += totals.get(metric)?.unwrap_or_default();
        }
        let units_ms = optional!(gpu.load_store_rate)
            .map_or(0.0, |lanes| issued * WARP_LANES / lanes / clocks_per_ms);
        let lane_bytes = totals.get(metric!("ptx_global_load_bytes"))?.unwrap_or_default();
        let return_ms = optional!(gpu.l1_bytes_rate)
            .filter(|_| has_unified_banks(gpu))
            .map_or(0.0, |bytes| lane_bytes / bytes / clocks_per_ms);
        Ok(Self { units_ms, return_ms })
    }
}

/// Returns true if first-level caches and shared memory share their banks.
pub(crate) fn has_unified_banks(gpu: &Gpu) -> bool {
    gpu.compute_capability
        .as_ref()
        .is_some_and(|capability| capability.value.major >= UNIFIED_SINCE)
}

/// Passes of all SMs per millisecond: one per clock. If the load/store units of an SM need two
/// clocks per warp, one pass per two clocks (Turing).
///
/// # Errors
///
/// When the number of SMs or the clock is not known.
pub(crate) fn passes_per_ms(gpu: &Gpu) -> Result<f64, ModelError> {
    let of_an_sm =
        optional!(gpu.shared_bytes_rate).map_or(1.0, |bytes| (bytes / PASS_BYTES).min(1.0));
    Ok(of_an_sm * number!(gpu.sm_count) as f64 * 1e3 * number!(gpu.sp_clock))
}
