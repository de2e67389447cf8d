//! What loads take of a first-level cache that shares its banks with shared memory.
//!
//! Since compute capability 7.0 one array of 32 banks of four bytes holds both. A bank delivers one word in a
//! clock, so that lanes whose words lie in the same bank of different lines wait for each other, as
//! in shared memory: 32 rows of a matrix whose pitch is a multiple of 128 bytes take 32 clocks, although their
//! sectors are the bytes of eight. Two published times show it (RTX A6000 and RTX 3090:
//! `docs/validation.md`).

use gpucast_counters::KernelProfile;

use crate::gpu::Gpu;
use crate::inputs::{Totals, number, optional};
use crate::predictor::ModelError;

/// The first generation whose first-level cache and shared memory are one array.
const UNIFIED_SINCE: u32 = 7;

/// Bytes that the banks deliver in a pass.
const PASS_BYTES: f64 = 128.0;

/// Passes of a kernel's global loads over the banks of such a cache, of all invocations; `None` where the
/// GPU has another kind of cache, or the counts do not say.
///
/// # Errors
///
/// When the count is impossible.
pub(crate) fn load_passes(gpu: &Gpu, profile: &KernelProfile) -> Result<Option<f64>, ModelError> {
    if !has_unified_banks(gpu) {
        return Ok(None);
    }
    Totals(profile).get("global_load_passes")
}

/// Whether first-level caches and shared memory share their banks.
pub(crate) fn has_unified_banks(gpu: &Gpu) -> bool {
    gpu.compute_capability
        .as_ref()
        .is_some_and(|capability| capability.value.major >= UNIFIED_SINCE)
}

/// Passes of all SMs in a millisecond: one a clock, or one in two clocks where the load/store units of an SM need
/// two for a warp (Turing).
///
/// # Errors
///
/// When the number of SMs or the clock is not known.
pub(crate) fn passes_per_ms(gpu: &Gpu) -> Result<f64, ModelError> {
    let of_an_sm =
        optional!(gpu.shared_bytes_rate).map_or(1.0, |bytes| (bytes / PASS_BYTES).min(1.0));
    Ok(of_an_sm * number!(gpu.sm_count) as f64 * 1e3 * number!(gpu.sp_clock))
}
