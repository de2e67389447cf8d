//! The device specifications that mixbench and gpumembench print above their results.

use super::{Draft, ImportError, lines, number};
use crate::gpu::quantity::Raw;

/// Reads the labelled lines. OpenCL and HIP programs print fewer of them.
pub(super) fn read(text: &str, by: &str, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let mut knows_memory_clock = false;
    for (line, content) in lines(text) {
        let Some((label, value)) = content.split_once(':') else { continue };
        let value = value.trim();
        let printed = draft.printed(by);
        let mut set =
            |field, number: f64| draft.set(field, Raw::Number(number), printed.clone(), line);
        match label.trim() {
            "Device" => draft.named(value),
            "Compute Capability" => {
                draft.set("compute_capability", Raw::Text(value), printed, line)?;
            }
            "GPU clock rate" => set("sp_clock", number(value, line)?)?,
            "Memory clock rate" => knows_memory_clock = number(value, line)? > 0.0,
            "Memory bus width" => set("memory_bus_width", number(value, line)?)?,
            "WarpSize" => set("warp_size", number(value, line)?)?,
            "L2 cache size" => set("l2_size", 1024.0 * number(value, line)?)?,
            "Total global mem" => set("memory_size", 1_048_576.0 * number(value, line)?)?,
            // `1280 (10 MPs x 128 SPs/MP)`
            "Total SPs" => {
                set("sp_count", number(value, line)?)?;
                if let Some((_, sms)) = value.split_once('(') {
                    set("sm_count", number(sms, line)?)?;
                }
            }
            // HIP prints a figure without knowing the memory's clock.
            "Memory bandwidth" if knows_memory_clock => {
                set("peak_memory_bandwidth", number(value, line)?)?;
            }
            _ => {}
        }
    }
    Ok(())
}
