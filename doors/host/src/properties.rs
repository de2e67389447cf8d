//! What a program is told of the GPU: the fields of `cudaDeviceProp` and the device attributes.
//!
//! Both interfaces ask for the same figures. [`Properties::value`] knows them by the names of the
//! structure's fields, and [`ATTRIBUTES`] gives attributes' numbers these names. Figures that no
//! GPU file has, such as sizes of textures, are 0.

use gpucast_counters::{ComputeCapability, DeviceModel};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::failure::Report;
use gpucast_model::Gpu;

/// The modelled GPU, with the figures that programs ask for.
#[derive(Clone, Debug)]
pub struct Properties {
    gpu: Gpu,
    device: DeviceModel,
}

/// Memory of GPUs whose files do not say how much they have.
const UNKNOWN_MEMORY_BYTES: u64 = 8 << 30;

/// Shared memory of a CTA that asks for no more (CUDA programming guide, technical specifications).
const SHARED_BYTES_PER_BLOCK: u64 = 48 << 10;

/// The attributes of `cudaDeviceAttr` and `CUdevice_attribute` by number, with the name of the
/// figure. Attributes that are not listed are 0.
pub const ATTRIBUTES: &[(i32, &str)] = &[
    (1, "maxThreadsPerBlock"),
    (2, "maxThreadsDim.x"),
    (3, "maxThreadsDim.y"),
    (4, "maxThreadsDim.z"),
    (5, "maxGridSize.x"),
    (6, "maxGridSize.y"),
    (7, "maxGridSize.z"),
    (8, "sharedMemPerBlock"),
    (9, "totalConstMem"),
    (10, "warpSize"),
    (11, "memPitch"),
    (12, "regsPerBlock"),
    (13, "clockRate"),
    (14, "textureAlignment"),
    (15, "deviceOverlap"),
    (16, "multiProcessorCount"),
    (19, "canMapHostMemory"),
    (30, "surfaceAlignment"),
    (31, "concurrentKernels"),
    (36, "memoryClockRate"),
    (37, "memoryBusWidth"),
    (38, "l2CacheSize"),
    (39, "maxThreadsPerMultiProcessor"),
    (40, "asyncEngineCount"),
    (41, "unifiedAddressing"),
    (51, "texturePitchAlignment"),
    (75, "major"),
    (76, "minor"),
    (78, "streamPrioritiesSupported"),
    (79, "globalL1CacheSupported"),
    (80, "localL1CacheSupported"),
    (81, "sharedMemPerMultiprocessor"),
    (82, "regsPerMultiprocessor"),
    (83, "managedMemory"),
    (87, "singleToDoublePrecisionPerfRatio"),
    (89, "concurrentManagedAccess"),
    (90, "computePreemptionSupported"),
    (91, "canUseHostPointerForRegisteredMem"),
    (95, "cooperativeLaunch"),
    (97, "sharedMemPerBlockOptin"),
    (99, "hostRegisterSupported"),
    (101, "directManagedMemAccessFromHost"),
    (106, "maxBlocksPerMultiProcessor"),
    (111, "reservedSharedMemPerBlock"),
    (115, "memoryPoolsSupported"),
    (120, "clusterLaunch"),
    (123, "unifiedFunctionPointers"),
];

/// The last attribute of `CUdevice_attribute` (`cuda.h` of CUDA 13.5).
const LAST_ATTRIBUTE: i32 = 161;

impl Properties {
    /// The figures of a GPU.
    ///
    /// # Errors
    ///
    /// If the GPU's compute capability, SMs or L2 are not known.
    pub fn new(gpu: Gpu) -> Result<Self, Report> {
        let device = gpu_argument::device_model(&gpu)?;
        Ok(Self { gpu, device })
    }

    /// The GPU.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The GPU as counters know it.
    #[must_use]
    pub fn model(&self) -> &DeviceModel {
        &self.device
    }

    /// Its name for people.
    #[must_use]
    pub fn display_name(&self) -> &str {
        &self.gpu.display_name
    }

    /// Its compute capability.
    #[must_use]
    pub fn capability(&self) -> ComputeCapability {
        self.device.capability
    }

    /// Bytes of its memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.gpu.memory_size.as_ref().map_or(UNKNOWN_MEMORY_BYTES, |size| size.value.0)
    }

    /// Gigabytes that its memory moves each second.
    #[must_use]
    pub fn memory_gbps(&self) -> Option<f64> {
        self.gpu.memory_bandwidth.as_ref().map(|bandwidth| bandwidth.value.0)
    }

    /// Threads of the largest CTA.
    #[must_use]
    pub fn max_threads_per_block(&self) -> u32 {
        self.device.limits.max_threads_per_cta
    }

    /// The most shared memory of a CTA that asks for it.
    #[must_use]
    pub fn max_shared_bytes_per_block(&self) -> u64 {
        self.device.limits.max_shared_bytes_per_cta
    }

    /// The attribute of a number; none if CUDA has no such attribute. Those that are not listed
    /// are 0.
    #[must_use]
    pub fn attribute(&self, number: i32) -> Option<u64> {
        let known = ATTRIBUTES.iter().find(|&&(one, _)| one == number);
        let value = || known.and_then(|(_, name)| self.value(name)).unwrap_or(0);
        (1..=LAST_ATTRIBUTE).contains(&number).then(value)
    }

    /// The figure of a field of `cudaDeviceProp`, with `.x`, `.y` and `.z` for the members of an
    /// array.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<u64> {
        let limits = &self.device.limits;
        let capability = self.device.capability;
        let since = |major: u32| u64::from(capability.major >= major);
        Some(match name {
            "totalGlobalMem" => self.memory_bytes(),
            "sharedMemPerBlock" => SHARED_BYTES_PER_BLOCK.min(limits.max_shared_bytes_per_cta),
            "sharedMemPerBlockOptin" => limits.max_shared_bytes_per_cta,
            "sharedMemPerMultiprocessor" => limits.shared_bytes,
            "reservedSharedMemPerBlock" => limits.shared_reserved_bytes_per_cta,
            "regsPerBlock" => u64::from(limits.max_registers_per_cta),
            "regsPerMultiprocessor" => u64::from(limits.registers),
            "warpSize" => 32,
            "memPitch" => i32::MAX as u64,
            "maxThreadsPerBlock" => u64::from(limits.max_threads_per_cta),
            "maxThreadsDim.x" | "maxThreadsDim.y" => u64::from(limits.max_threads_per_cta),
            "maxThreadsDim.z" => 64,
            "maxGridSize.x" if capability.major >= 3 => i32::MAX as u64,
            "maxGridSize.x" | "maxGridSize.y" | "maxGridSize.z" => 65_535,
            "clockRate" => self.gpu.sp_clock.as_ref().map(|clock| clock.value.0 * 1e3)? as u64,
            "memoryClockRate" => self.memory_clock_khz()?,
            "memoryBusWidth" => self.gpu.memory_bus_width.as_ref()?.value.0,
            "totalConstMem" => 64 << 10,
            "major" => u64::from(capability.major),
            "minor" => u64::from(capability.minor),
            "multiProcessorCount" => u64::from(self.device.sm_count),
            "l2CacheSize" => self.device.l2.size_bytes,
            "maxThreadsPerMultiProcessor" => 32 * u64::from(limits.max_warps),
            "maxBlocksPerMultiProcessor" => u64::from(limits.max_ctas),
            "singleToDoublePrecisionPerfRatio" => self.double_ratio()?,
            "textureAlignment" | "surfaceAlignment" => 512,
            "texturePitchAlignment" => 32,
            "asyncEngineCount" => 2,
            "deviceOverlap"
            | "canMapHostMemory"
            | "concurrentKernels"
            | "unifiedAddressing"
            | "streamPrioritiesSupported"
            | "globalL1CacheSupported"
            | "localL1CacheSupported"
            | "managedMemory"
            | "canUseHostPointerForRegisteredMem"
            | "hostRegisterSupported"
            | "directManagedMemAccessFromHost"
            | "memoryPoolsSupported"
            | "unifiedFunctionPointers" => 1,
            "concurrentManagedAccess" | "computePreemptionSupported" | "cooperativeLaunch" => {
                since(6)
            }
            "clusterLaunch" => since(9),
            _ => return None,
        })
    }

    /// The clock from which programs compute the peak bandwidth: twice the clock times the bus.
    fn memory_clock_khz(&self) -> Option<u64> {
        let gbps = self.gpu.peak_memory_bandwidth.as_ref()?.value.0;
        let bus_bytes = self.gpu.memory_bus_width.as_ref()?.value.0 as f64 / 8.0;
        Some((gbps * 1e6 / (2.0 * bus_bytes)).round() as u64)
    }

    fn double_ratio(&self) -> Option<u64> {
        let single = self.gpu.peak_sp_throughput.as_ref()?.value.0;
        let double = self.gpu.peak_dp_throughput.as_ref()?.value.0;
        (double > 0.0).then(|| (single / double).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpucast_model::GpuLibrary;

    #[test]
    fn every_attribute_of_the_table_has_a_figure() {
        let gpu = GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap();
        let properties = Properties::new(gpu).unwrap();
        for (number, name) in ATTRIBUTES {
            assert!(properties.value(name).is_some(), "{number} {name}");
        }
        assert_eq!(properties.attribute(75), Some(9));
        assert_eq!(properties.attribute(16), Some(132));
        assert_eq!(properties.attribute(18), Some(0));
        assert_eq!([-1, 0, 10_000].map(|number| properties.attribute(number)), [None; 3]);
        // What deviceQuery prints as the peak bandwidth.
        let figure = |number| properties.attribute(number).unwrap() as f64;
        let (clock, bus) = (figure(36), figure(37));
        assert!((2.0 * clock * bus / 8.0 / 1e6 - 3352.0).abs() < 1.0);
    }
}
