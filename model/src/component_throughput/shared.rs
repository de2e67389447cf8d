//! Shared memory: section 4.2.
//!
//! Every pass over the banks takes the time of a whole one, so that an n-way conflict counts n
//! times. The bandwidth depends on the warps of an SM (figure 2, right).

use gpucast_counters::device::DeviceModel;

use super::saturation::Saturation;
use crate::gpu::Gpu;
use crate::inputs::number;
use crate::predictor::ModelError;

/// Bytes that a warp asks for with four bytes for each lane.
const WARP_BYTES: f64 = 128.0;

/// Shared memory of a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedMemory {
    /// The bandwidth of all SMs, in GB/s.
    peak_gbps: f64,
    /// Bytes that a pass over the banks could deliver.
    pub pass_bytes: f64,
    saturation: Saturation,
}

impl SharedMemory {
    /// The shared memory of a GPU with a device's banks.
    ///
    /// # Errors
    ///
    /// When the bytes of a clock or, but for compute capability 1.x, the latency are not known.
    pub fn of(gpu: &Gpu, device: &DeviceModel) -> Result<Self, ModelError> {
        let bytes_rate = number!(gpu.shared_bytes_rate);
        Ok(Self {
            peak_gbps: bytes_rate * number!(gpu.sm_count) as f64 * number!(gpu.sp_clock) / 1e3,
            pass_bytes: f64::from(device.banks.banks()) * f64::from(device.banks.bank_bytes()),
            saturation: match device.capability.major {
                1 => Saturation::shared_of_gt200(),
                _ => Saturation::covered_by(
                    number!(gpu.shared_latency) as f64 * bytes_rate / WARP_BYTES,
                ),
            },
        })
    }

    /// Bandwidth of all SMs with `warps` warps of each, in GB/s: figure 2, right.
    #[must_use]
    pub fn bandwidth(&self, warps: f64) -> f64 {
        self.peak_gbps * self.saturation.fraction(warps)
    }

    /// The bandwidth that enough warps reach, in GB/s.
    #[must_use]
    pub fn best_bandwidth(&self) -> f64 {
        self.peak_gbps * self.saturation.best()
    }

    /// The warps of an SM beyond which nothing is gained.
    #[must_use]
    pub fn saturating_warps(&self) -> f64 {
        self.saturation.saturating_warps()
    }

    /// Milliseconds of passes over the banks with `warps` warps of an SM, on a share of the SMs.
    #[must_use]
    pub fn time_ms(&self, passes: f64, warps: f64, busy: f64) -> f64 {
        if passes == 0.0 {
            return 0.0;
        }
        passes * self.pass_bytes / (self.bandwidth(warps) * busy) / 1e6
    }
}
