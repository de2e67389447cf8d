//! What runs and times kernels.

use gpucast_collection::language::Kernel;
use gpucast_model::gpu::quantity::ComputeCapability;

use crate::conditions::State;

/// Facts that a driver tells of its device.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The vendor's name of the device.
    pub name: String,
    /// The version of the driver's interface, such as 13000.
    pub driver_version: i32,
    /// The compute capability.
    pub compute_capability: ComputeCapability,
    /// Streaming multiprocessors.
    pub sm_count: u64,
    /// Blocks that an SM can hold; 0 if the driver does not tell.
    pub max_blocks_per_sm: u64,
    /// Clock of the SMs in MHz.
    pub clock_mhz: f64,
    /// Clock of the memory in MHz.
    pub memory_clock_mhz: f64,
    /// Width of the memory's bus in bits.
    pub memory_bus_bits: u64,
    /// Bytes of the L2.
    pub l2_bytes: u64,
    /// Bytes of device memory.
    pub memory_bytes: u64,
}

impl Facts {
    /// The peak bandwidth of device memory in GB/s: two transfers in a clock over the whole bus.
    /// `None` if the driver does not tell clock and width.
    #[must_use]
    pub fn peak_bandwidth(&self) -> Option<f64> {
        let peak = 2.0 * self.memory_clock_mhz * 1e6 * self.memory_bus_bits as f64 / 8.0 / 1e9;
        (peak > 0.0).then_some(peak)
    }
}

/// A kernel to be timed.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The kernel with its launch.
    pub kernel: Kernel,
    /// The input buffers hold addresses of their own elements, this many bytes ahead, round and
    /// round. Without it they hold what the kernel says.
    pub pointers: Option<u64>,
    /// True if no cache of the device may hold the kernel's data when it begins.
    pub is_cold: bool,
    /// Launches between the two events.
    pub launches: u32,
    /// Trials that are not timed.
    pub warm_up: u32,
    /// Trials that are timed.
    pub trials: u32,
}

/// The reason why a device did not time a kernel, as a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DeviceError(pub String);

/// Runs and times kernels.
pub trait Device {
    /// What the driver tells of it.
    fn facts(&self) -> &Facts;

    /// The seconds of each trial, between two events.
    ///
    /// # Errors
    ///
    /// Whatever the driver refuses.
    fn time(&mut self, job: &Job) -> Result<Vec<f64>, DeviceError>;

    /// Its state now; `None` if nothing tells it.
    fn state(&self) -> Option<State> {
        None
    }
}
