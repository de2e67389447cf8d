//! The device: its number, properties, limits and versions.

use gpucast_host::Error;
use gpucast_host::properties::Properties;

use super::runtime_functions;
use crate::abi::{Out, Text};
use crate::both::limits;
use crate::state::on_device;

/// The versions of the headers that the libraries are made from.
const VERSION_11: i32 = 11_080;
const VERSION_12: i32 = 12_090;
const VERSION_13: i32 = 13_050;

/// A member of `cudaDeviceProp`: its name, the bytes of an element, and the elements.
struct Member {
    name: &'static str,
    bytes: usize,
    count: usize,
}

/// The members of a structure in order, as `name:bytes:count`; numbers of 4 bytes have their name
/// alone.
type Layout = &'static [&'static str];

/// Reads the members of a layout.
fn members(layout: Layout) -> impl Iterator<Item = Member> {
    layout.iter().flat_map(|part| part.split_whitespace()).map(|word| {
        let mut parts = word.split(':');
        let name = parts.next().unwrap_or_default();
        let bytes = parts.next().and_then(|part| part.parse().ok()).unwrap_or(4);
        let count = parts.next().and_then(|part| part.parse().ok()).unwrap_or(1);
        Member { name, bytes, count }
    })
}

/// The members of CUDA 11's structure (`driver_types.h` of 11.8), with which CUDA 12's begins.
const UP_TO_11: &str = "
    name:1:256 uuid:1:16 luid:1:8 luidDeviceNodeMask totalGlobalMem:8 sharedMemPerBlock:8
    regsPerBlock warpSize memPitch:8 maxThreadsPerBlock maxThreadsDim:4:3 maxGridSize:4:3 clockRate
    totalConstMem:8 major minor textureAlignment:8 texturePitchAlignment:8 deviceOverlap
    multiProcessorCount kernelExecTimeoutEnabled integrated canMapHostMemory computeMode
    maxTexture1D maxTexture1DMipmap maxTexture1DLinear maxTexture2D:4:2 maxTexture2DMipmap:4:2
    maxTexture2DLinear:4:3 maxTexture2DGather:4:2 maxTexture3D:4:3 maxTexture3DAlt:4:3
    maxTextureCubemap maxTexture1DLayered:4:2 maxTexture2DLayered:4:3 maxTextureCubemapLayered:4:2
    maxSurface1D maxSurface2D:4:2 maxSurface3D:4:3 maxSurface1DLayered:4:2 maxSurface2DLayered:4:3
    maxSurfaceCubemap maxSurfaceCubemapLayered:4:2 surfaceAlignment:8 concurrentKernels ECCEnabled
    pciBusID pciDeviceID pciDomainID tccDriver asyncEngineCount unifiedAddressing memoryClockRate
    memoryBusWidth l2CacheSize persistingL2CacheMaxSize maxThreadsPerMultiProcessor
    streamPrioritiesSupported globalL1CacheSupported localL1CacheSupported
    sharedMemPerMultiprocessor:8 regsPerMultiprocessor managedMemory isMultiGpuBoard
    multiGpuBoardGroupID hostNativeAtomicSupported singleToDoublePrecisionPerfRatio
    pageableMemoryAccess concurrentManagedAccess computePreemptionSupported
    canUseHostPointerForRegisteredMem cooperativeLaunch cooperativeMultiDeviceLaunch
    sharedMemPerBlockOptin:8 pageableMemoryAccessUsesHostPageTables directManagedMemAccessFromHost
    maxBlocksPerMultiProcessor accessPolicyMaxWindowSize reservedSharedMemPerBlock:8";

/// The members that follow in CUDA 12's structure (`driver_types.h` of 12.9).
const BEHIND_11: &str = "
    hostRegisterSupported sparseCudaArraySupported hostRegisterReadOnlySupported
    timelineSemaphoreInteropSupported memoryPoolsSupported gpuDirectRDMASupported
    gpuDirectRDMAFlushWritesOptions gpuDirectRDMAWritesOrdering memoryPoolSupportedHandleTypes
    deferredMappingCudaArraySupported ipcEventSupported clusterLaunch unifiedFunctionPointers
    reserved:4:63";

const LAYOUT_11: Layout = &[UP_TO_11];
const LAYOUT_12: Layout = &[UP_TO_11, BEHIND_11];

/// The members of CUDA 13's structure. `driver_types.h` of 13.5.
const LAYOUT_13: Layout = &["
    name:1:256 uuid:1:16 luid:1:8 luidDeviceNodeMask totalGlobalMem:8 sharedMemPerBlock:8
    regsPerBlock warpSize memPitch:8 maxThreadsPerBlock maxThreadsDim:4:3 maxGridSize:4:3
    totalConstMem:8 major minor textureAlignment:8 texturePitchAlignment:8 multiProcessorCount
    integrated canMapHostMemory maxTexture1D maxTexture1DMipmap maxTexture2D:4:2
    maxTexture2DMipmap:4:2 maxTexture2DLinear:4:3 maxTexture2DGather:4:2 maxTexture3D:4:3
    maxTexture3DAlt:4:3 maxTextureCubemap maxTexture1DLayered:4:2 maxTexture2DLayered:4:3
    maxTextureCubemapLayered:4:2 maxSurface1D maxSurface2D:4:2 maxSurface3D:4:3
    maxSurface1DLayered:4:2 maxSurface2DLayered:4:3 maxSurfaceCubemap maxSurfaceCubemapLayered:4:2
    surfaceAlignment:8 concurrentKernels ECCEnabled pciBusID pciDeviceID pciDomainID tccDriver
    asyncEngineCount unifiedAddressing memoryBusWidth l2CacheSize persistingL2CacheMaxSize
    maxThreadsPerMultiProcessor streamPrioritiesSupported globalL1CacheSupported
    localL1CacheSupported sharedMemPerMultiprocessor:8 regsPerMultiprocessor managedMemory
    isMultiGpuBoard multiGpuBoardGroupID hostNativeAtomicSupported pageableMemoryAccess
    concurrentManagedAccess computePreemptionSupported canUseHostPointerForRegisteredMem
    cooperativeLaunch sharedMemPerBlockOptin:8 pageableMemoryAccessUsesHostPageTables
    directManagedMemAccessFromHost maxBlocksPerMultiProcessor accessPolicyMaxWindowSize
    reservedSharedMemPerBlock:8 hostRegisterSupported sparseCudaArraySupported
    hostRegisterReadOnlySupported timelineSemaphoreInteropSupported memoryPoolsSupported
    gpuDirectRDMASupported gpuDirectRDMAFlushWritesOptions gpuDirectRDMAWritesOrdering
    memoryPoolSupportedHandleTypes deferredMappingCudaArraySupported ipcEventSupported clusterLaunch
    unifiedFunctionPointers deviceNumaConfig deviceNumaId mpsEnabled hostNumaId gpuPciDeviceID
    gpuPciSubsystemID hostNumaMultinodeIpcSupported reserved:4:56"];

/// The structure's bytes.
fn structure(layout: Layout, properties: &Properties) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    for member in members(layout) {
        bytes.resize(bytes.len().next_multiple_of(member.bytes), 0);
        let start = bytes.len();
        bytes.resize(start + member.bytes * member.count, 0);
        let place = &mut bytes[start..];
        if member.name == "name" {
            // The last byte stays zero.
            place
                .iter_mut()
                .zip(properties.display_name().bytes().take(255))
                .for_each(|(to, from)| *to = from);
            continue;
        }
        for (index, element) in place.chunks_exact_mut(member.bytes).enumerate() {
            let axis = ["x", "y", "z"].get(index).copied().unwrap_or_default();
            let of_axis = || properties.value(&format!("{}.{axis}", member.name));
            let value = match member.count {
                1 => properties.value(member.name),
                _ => of_axis(),
            };
            element.copy_from_slice(&value.unwrap_or(0).to_le_bytes()[..member.bytes]);
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

fn properties(place: Out<u8>, device: i32, layout: Layout) -> Result<(), Error> {
    exists(device)?;
    place.put_all(on_device(|device| Ok(structure(layout, device.properties())))?)
}

/// Checks a device's number: there is one.
pub(crate) fn exists(device: i32) -> Result<(), Error> {
    if device == 0 { Ok(()) } else { Err(Error::InvalidDevice) }
}

/// The figure of a device's attribute.
pub(crate) fn device_attribute(attribute: i32) -> Result<i32, Error> {
    let found = on_device(|device| Ok(device.properties().attribute(attribute)))?;
    Ok(i32::try_from(found.ok_or(Error::InvalidValue)?).unwrap_or(i32::MAX))
}

fn synchronise() -> Result<(), Error> {
    on_device(|device| {
        device.usable()?;
        device.clock().synchronise();
        Ok(())
    })
}

runtime_functions! {
    /// Number of devices.
    fn cudaGetDeviceCount(count: Out<i32>) {
        on_device(|_| Ok(()))?;
        count.put(1)
    }

    /// The current device.
    fn cudaGetDevice(device: Out<i32>) { device.put(0) }

    /// Chooses the current device.
    fn cudaSetDevice(device: i32) { exists(device) }

    /// Chooses and prepares a device.
    fn cudaInitDevice(device: i32, _device_flags: u32, _flags: u32) { exists(device) }

    /// Devices that may be chosen.
    fn cudaSetValidDevices(_devices: *const i32, _count: i32) { Ok(()) }

    /// The device that fits wishes best: the only one.
    fn cudaChooseDevice(device: Out<i32>, _wishes: *const u8) { device.put(0) }

    /// The properties of a device, in CUDA 11's layout.
    fn cudaGetDeviceProperties_11(place: Out<u8>, device: i32) {
        properties(place, device, LAYOUT_11)
    }

    /// The properties of a device, in CUDA 12's layout.
    fn cudaGetDeviceProperties_12(place: Out<u8>, device: i32) {
        properties(place, device, LAYOUT_12)
    }

    /// The properties of a device, in CUDA 13's layout.
    fn cudaGetDeviceProperties_13(place: Out<u8>, device: i32) {
        properties(place, device, LAYOUT_13)
    }

    /// An attribute of a device.
    fn cudaDeviceGetAttribute(value: Out<i32>, attribute: i32, device: i32) {
        exists(device)?;
        value.put(device_attribute(attribute)?)
    }

    /// A name on a bus on which no device is.
    fn cudaDeviceGetPCIBusId(text: Out<u8>, bytes: i32, device: i32) {
        exists(device)?;
        text.put_text("0000:00:00.0", usize::try_from(bytes).map_err(|_| Error::InvalidValue)?)
    }

    /// The device of a name on a bus.
    fn cudaDeviceGetByPCIBusId(device: Out<i32>, name: Text) {
        name.get()?;
        device.put(0)
    }

    /// There is no other device.
    fn cudaDeviceCanAccessPeer(can: Out<i32>, device: i32, _peer: i32) {
        exists(device)?;
        can.put(0)
    }

    /// The host waits for everything.
    fn cudaDeviceSynchronize() { synchronise() }

    /// The host waits for everything.
    fn cudaThreadSynchronize() { synchronise() }

    /// The program is done with the device. It keeps its memory, which few use behind this.
    fn cudaDeviceReset() {
        crate::state::report(false);
        on_device(|device| {
            device.clock().synchronise();
            Ok(())
        })
    }

    /// The program is done with the device.
    fn cudaThreadExit() { Ok(()) }

    /// Changes a limit.
    fn cudaDeviceSetLimit(limit: i32, value: usize) { limits::set(limit, value) }

    /// A limit.
    fn cudaDeviceGetLimit(value: Out<usize>, limit: i32) { limits::get(value, limit) }

    /// A hint for the caches.
    fn cudaDeviceSetCacheConfig(config: i32) { limits::check_cache_choice(config) }

    /// The hint for the caches.
    fn cudaDeviceGetCacheConfig(config: Out<i32>) { config.put(0) }

    /// A hint for the banks.
    fn cudaDeviceSetSharedMemConfig(config: i32) { limits::check_bank_choice(config) }

    /// The hint for the banks.
    fn cudaDeviceGetSharedMemConfig(config: Out<i32>) { config.put(0) }

    /// Flags of the way in which the host waits.
    fn cudaSetDeviceFlags(_flags: u32) { Ok(()) }

    /// Flags of the way in which the host waits.
    fn cudaGetDeviceFlags(flags: Out<u32>) { flags.put(0) }

    /// The version of CUDA 11's library, for its driver, too.
    fn cudaRuntimeGetVersion_11(version: Out<i32>) { version.put(VERSION_11) }

    /// The version of CUDA 12's library, for its driver, too.
    fn cudaRuntimeGetVersion_12(version: Out<i32>) { version.put(VERSION_12) }

    /// The version of CUDA 13's library, for its driver, too.
    fn cudaRuntimeGetVersion_13(version: Out<i32>) { version.put(VERSION_13) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpucast_host::properties::ATTRIBUTES;

    fn offset(layout: Layout, name: &str) -> usize {
        let mut at: usize = 0;
        for member in members(layout) {
            at = at.next_multiple_of(member.bytes);
            if member.name == name {
                return at;
            }
            at += member.bytes * member.count;
        }
        panic!("{name} is no member");
    }

    #[test]
    fn structures_have_the_sizes_and_places_of_the_headers() {
        // sizeof and offsetof of a C compiler on the headers.
        let end = |layout: Layout, reserved: usize| {
            (offset(layout, "reserved") + 4 * reserved).next_multiple_of(8)
        };
        assert_eq!((end(LAYOUT_12, 63), end(LAYOUT_13, 56)), (1032, 1008));
        assert_eq!(offset(LAYOUT_11, "reservedSharedMemPerBlock") + 8, 728);
        assert_eq!(offset(LAYOUT_12, "multiProcessorCount"), 388);
        assert_eq!(offset(LAYOUT_13, "multiProcessorCount"), 384);
    }

    #[test]
    fn every_attribute_is_a_member_of_a_structure() {
        for (_, name) in ATTRIBUTES {
            let name = name.split('.').next().unwrap_or_default();
            let mut all = members(LAYOUT_12).chain(members(LAYOUT_13));
            assert!(all.any(|member| member.name == name), "{name}");
        }
    }
}
