//! Refinements that add roofs and times beside the pipeline.

use super::{Inputs, Roof};
use crate::first_level;
use crate::inputs::parameter;
use crate::prediction::{Bound, Component};
use crate::predictor::ModelError;
use crate::quantitative_roofline::TRANSACTION_BYTES;
use gpucast_counters::metric;

/// Adds the GPU's launch overhead for each invocation, in milliseconds (thesis, section 7.2: it
/// "should be included in the model").
pub(super) fn launch_overhead(inputs: &Inputs<'_>) -> Result<(f64, String), ModelError> {
    let microseconds = parameter(inputs.gpu, "launch_overhead", &inputs.gpu.launch_overhead)?.0;
    let invocations = inputs.counts.profile.invocations;
    let sentence = format!(
        "launch-overhead: {microseconds} µs for each of {invocations} launch{}.",
        if invocations == 1 { "" } else { "es" }
    );
    Ok((invocations as f64 * microseconds / 1e3, sentence))
}

/// Lets the bandwidths of the L2 and of the first-level caches bound the kernel. The thesis
/// (sections 5.2.6 and 6.2) leaves it as future work; figure 6.1 shows the error without it.
///
/// If first-level caches share the banks of shared memory, loads also take a clock for each pass
/// over them, and the longer time counts.
///
/// The L2 moves every sector that loads, stores and atomics touch there. The first-level caches
/// move those of global and local loads. A GPU whose first-level bandwidth is not known has no such
/// roof, and the sentence says so. On some (Kepler) they do not hold global loads at all.
pub(super) fn cache_bandwidth(inputs: &Inputs<'_>) -> Result<(Vec<Roof>, String), ModelError> {
    let l2_bandwidth = parameter(inputs.gpu, "l2_bandwidth", &inputs.gpu.l2_bandwidth)?.0;
    let l2_bytes = TRANSACTION_BYTES * inputs.sum(&[metric!("l2_transactions")])?;
    let mut roofs = vec![roof(Bound::L2, ("W_L2", "B_L2"), l2_bytes, l2_bandwidth)];
    let mut sentence = format!("cache-bandwidth: {:.4} ms in the L2", roofs[0].component.time_ms);
    match &inputs.gpu.l1_bandwidth {
        Some(bandwidth) => {
            let sectors = inputs.sum(&metric!["global_load_sectors", "local_load_transactions"])?;
            let bytes = TRANSACTION_BYTES * sectors;
            let mut l1 = roof(Bound::L1, ("W_L1", "B_L1"), bytes, bandwidth.value.0);
            if let Some(passes) = first_level::load_passes(inputs.gpu, inputs.counts.profile)? {
                let passes_ms = passes / first_level::passes_per_ms(inputs.gpu)?;
                l1.component.time_ms = l1.component.time_ms.max(passes_ms);
            }
            sentence.push_str(&format!(
                " and {:.4} ms in the first-level caches.",
                l1.component.time_ms
            ));
            roofs.push(l1);
        }
        None => sentence.push_str(
            "; the bandwidth of this GPU's first-level caches is not known and left out.",
        ),
    }
    Ok((roofs, sentence))
}

fn roof(
    resource: Bound,
    symbols: (&'static str, &'static str),
    bytes: f64,
    bandwidth: f64,
) -> Roof {
    let component = Component { resource, time_ms: bytes / bandwidth / 1e6 };
    Roof { symbols, bytes, bandwidth, component }
}
