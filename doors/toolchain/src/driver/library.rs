//! `libcuda.so.1`, the interface of NVIDIA's driver, loaded when a GPU is to be measured.
//!
//! The library's functions are called here only. Handles are numbers in types of their own, which
//! only this file makes, so each one is a handle that the library gave.

#![allow(
    unsafe_code,
    reason = "a C library that is found at run time can only be called through its symbols"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;

use gpucast_measure::DeviceError;
use libloading::{Library, Symbol};

/// The name under which the system's loader finds it.
const NAME: &str = "libcuda.so.1";

/// The library's functions; each returns a `CUresult`, 0 for success.
/// <https://docs.nvidia.com/cuda/cuda-driver-api/>
mod signature {
    use super::{c_char, c_int, c_uint, c_void};

    pub(super) type Init = unsafe extern "C" fn(c_uint) -> c_int;
    pub(super) type Number = unsafe extern "C" fn(*mut c_int) -> c_int;
    pub(super) type Device = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    pub(super) type DeviceName = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
    pub(super) type TotalMemory = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
    pub(super) type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    pub(super) type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
    pub(super) type SetCurrent = unsafe extern "C" fn(*mut c_void) -> c_int;
    pub(super) type Release = unsafe extern "C" fn(c_int) -> c_int;
    pub(super) type Synchronize = unsafe extern "C" fn() -> c_int;
    pub(super) type LoadDataEx = unsafe extern "C" fn(
        *mut *mut c_void,
        *const c_void,
        c_uint,
        *mut c_int,
        *mut *mut c_void,
    ) -> c_int;
    pub(super) type GetFunction =
        unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
    pub(super) type GetGlobal =
        unsafe extern "C" fn(*mut u64, *mut usize, *mut c_void, *const c_char) -> c_int;
    pub(super) type Unload = unsafe extern "C" fn(*mut c_void) -> c_int;
    pub(super) type Allocate = unsafe extern "C" fn(*mut u64, usize) -> c_int;
    pub(super) type Free = unsafe extern "C" fn(u64) -> c_int;
    pub(super) type Fill = unsafe extern "C" fn(u64, c_uint, usize) -> c_int;
    pub(super) type ToDevice = unsafe extern "C" fn(u64, *const c_void, usize) -> c_int;
    pub(super) type CreateEvent = unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int;
    pub(super) type Event = unsafe extern "C" fn(*mut c_void) -> c_int;
    pub(super) type Record = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
    pub(super) type Elapsed = unsafe extern "C" fn(*mut f32, *mut c_void, *mut c_void) -> c_int;
    pub(super) type Launch = unsafe extern "C" fn(
        *mut c_void,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        *mut c_void,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> c_int;
    pub(super) type LaunchEx = unsafe extern "C" fn(
        *const super::LaunchConfig,
        *mut c_void,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> c_int;
    pub(super) type SetFunction = unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int;
    pub(super) type FromDevice = unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int;
    pub(super) type OnDevice = unsafe extern "C" fn(u64, u64, usize) -> c_int;
    pub(super) type ErrorName = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
}

/// `CUdevice_attribute`.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(super) enum Attribute {
    ClockRate = 13,
    MultiprocessorCount = 16,
    PciBus = 33,
    PciDevice = 34,
    MemoryClockRate = 36,
    MemoryBusWidth = 37,
    L2CacheSize = 38,
    PciDomain = 50,
    Major = 75,
    Minor = 76,
    MaxBlocksPerMultiprocessor = 106,
}

/// `CUlaunchConfig`.
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: *mut c_void,
    attributes: *const LaunchAttribute,
    attribute_count: c_uint,
}

/// `CUlaunchAttribute` whose value is an extent; the union has 64 bytes.
#[repr(C)]
struct LaunchAttribute {
    id: c_int,
    _padding: [u8; 4],
    extent: [c_uint; 3],
    _rest: [c_uint; 13],
}

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
const CLUSTER_DIMENSION: c_int = 4;

/// Dynamic shared memory that a kernel gets without asking for more.
const MOST_SHARED_BYTES: u32 = 48 << 10;

/// CTAs of a cluster that every GPU with clusters can run.
const PORTABLE_CLUSTER: u32 = 8;

/// `CU_JIT_CACHE_MODE`.
const JIT_CACHE_MODE: c_int = 14;

/// `CUjit_cacheMode`.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub(super) enum CacheOption {
    L2 = 1,
    All = 2,
}

/// `CUfunction_attribute`.
#[derive(Clone, Copy)]
#[repr(i32)]
enum FunctionAttribute {
    MaxDynamicSharedBytes = 8,
    NonPortableCluster = 14,
}

/// The driver, with the context of one device.
pub(super) struct Driver {
    library: Library,
    device: c_int,
}

/// A loaded module, which ends with this value.
pub(super) struct Module<'a> {
    driver: &'a Driver,
    handle: *mut c_void,
}

/// A kernel of a module, and how it is launched.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// CTAs of a cluster, where the launch says so.
    pub(super) cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub(super) shared_bytes: u32,
    /// Bytes of each parameter. Whoever makes an entry has read them in the PTX.
    pub(super) parameters: Vec<usize>,
}

/// Device memory, which ends with this value.
pub(super) struct Memory<'a> {
    driver: &'a Driver,
    /// Its address on the device.
    pub(super) address: u64,
    bytes: usize,
    /// False for a variable of a module, which ends with its module.
    is_own: bool,
}

/// An event, which ends with this value.
pub(super) struct Event<'a> {
    driver: &'a Driver,
    handle: *mut c_void,
}

impl Driver {
    /// Opens a device by its number.
    pub(super) fn open(number: u32) -> Result<Self, DeviceError> {
        // SAFETY: the system's loader finds the vendor's library by its name; its initialisers rely
        // on nothing here.
        let library = unsafe { Library::new(NAME) }
            .map_err(|_| DeviceError(format!("there is no GPU to measure: {NAME} is not found")))?;
        let mut driver = Self { library, device: 0 };
        let none = |error: DeviceError| DeviceError(format!("there is no GPU to measure: {error}"));
        let init = driver.symbol::<signature::Init>("cuInit")?;
        // SAFETY: the call has no pointers.
        driver.check("cuInit", unsafe { init(0) }).map_err(none)?;
        let mut count = 0;
        let get = driver.symbol::<signature::Number>("cuDeviceGetCount")?;
        // SAFETY: the pointer is valid for the call.
        driver.check("cuDeviceGetCount", unsafe { get(&raw mut count) }).map_err(none)?;
        let wanted = c_int::try_from(number).unwrap_or(c_int::MAX);
        if wanted >= count {
            return Err(DeviceError(format!("there is no GPU {number}; the driver has {count}")));
        }
        let mut device = 0;
        let get = driver.symbol::<signature::Device>("cuDeviceGet")?;
        // SAFETY: the pointer is valid for the call.
        driver.check("cuDeviceGet", unsafe { get(&raw mut device, wanted) })?;
        let mut context = ptr::null_mut();
        let retain = driver.symbol::<signature::Retain>("cuDevicePrimaryCtxRetain")?;
        // SAFETY: the pointer is valid for the call, and the device is one of the library's.
        driver.check("cuDevicePrimaryCtxRetain", unsafe { retain(&raw mut context, device) })?;
        let set = driver.symbol::<signature::SetCurrent>("cuCtxSetCurrent")?;
        // SAFETY: the context was given by the library.
        driver.check("cuCtxSetCurrent", unsafe { set(context) })?;
        driver.device = device;
        Ok(driver)
    }

    /// A function of the library. The caller says its type.
    pub(super) fn symbol<T>(&self, name: &str) -> Result<Symbol<'_, T>, DeviceError> {
        // SAFETY: every `T` is a type of `signature`, named for the function that NVIDIA's
        // documentation declares so since CUDA 7.0.
        unsafe { self.library.get(name.as_bytes()) }
            .map_err(|error| DeviceError(format!("{NAME} lacks {name}: {error}")))
    }

    pub(super) fn check(&self, what: &str, result: c_int) -> Result<(), DeviceError> {
        if result == 0 {
            return Ok(());
        }
        let name = self.symbol::<signature::ErrorName>("cuGetErrorName")?;
        let mut text: *const c_char = ptr::null();
        // SAFETY: the pointer is valid for the call.
        let known = unsafe { name(result, &raw mut text) } == 0 && !text.is_null();
        let text = match known {
            // SAFETY: the library gives constant texts that end in zero.
            true => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
            false => format!("error {result}"),
        };
        Err(DeviceError(format!("{what} says {text}")))
    }

    /// The version of the driver's interface.
    pub(super) fn version(&self) -> Result<i32, DeviceError> {
        let get = self.symbol::<signature::Number>("cuDriverGetVersion")?;
        let mut version = 0;
        // SAFETY: the pointer is valid for the call.
        self.check("cuDriverGetVersion", unsafe { get(&raw mut version) })?;
        Ok(version)
    }

    /// The device's name.
    pub(super) fn name(&self) -> Result<String, DeviceError> {
        let get = self.symbol::<signature::DeviceName>("cuDeviceGetName")?;
        let mut text = [0_u8; 256];
        let bytes = c_int::try_from(text.len()).unwrap_or(0);
        // SAFETY: the library writes as many bytes as it is told, and the buffer has them.
        let result = unsafe { get(text.as_mut_ptr().cast(), bytes, self.device) };
        self.check("cuDeviceGetName", result)?;
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Ok(String::from_utf8_lossy(&text[..end]).into_owned())
    }

    /// Bytes of the device's memory.
    pub(super) fn memory_bytes(&self) -> Result<u64, DeviceError> {
        let get = self.symbol::<signature::TotalMemory>("cuDeviceTotalMem_v2")?;
        let mut bytes = 0;
        // SAFETY: the pointer is valid for the call.
        self.check("cuDeviceTotalMem", unsafe { get(&raw mut bytes, self.device) })?;
        Ok(bytes as u64)
    }

    /// An attribute of the device.
    pub(super) fn attribute(&self, attribute: Attribute) -> Result<u32, DeviceError> {
        let get = self.symbol::<signature::Attribute>("cuDeviceGetAttribute")?;
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { get(&raw mut value, attribute as c_int, self.device) };
        self.check("cuDeviceGetAttribute", result)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Loads PTX, which the driver compiles. `keeps` says where loads without a cache operator are
    /// kept, if not where the generation keeps them.
    pub(super) fn load(
        &self,
        ptx: &str,
        keeps: Option<CacheOption>,
    ) -> Result<Module<'_>, DeviceError> {
        let text = terminated(ptx)?;
        let load = self.symbol::<signature::LoadDataEx>("cuModuleLoadDataEx")?;
        let mut handle = ptr::null_mut();
        let mut options = [JIT_CACHE_MODE];
        let mut values = [ptr::without_provenance_mut(keeps.map_or(0, |keeps| keeps as usize))];
        let count = c_uint::from(keeps.is_some());
        // SAFETY: the text ends in zero and outlives the call. There are as many options and values
        // as the count says; this option's value is a number in the place of a pointer.
        let result = unsafe {
            load(
                &raw mut handle,
                text.as_ptr().cast(),
                count,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        self.check("cuModuleLoadDataEx", result)?;
        Ok(Module { driver: self, handle })
    }

    /// Allocates memory.
    pub(super) fn allocate(&self, bytes: u64) -> Result<Memory<'_>, DeviceError> {
        let allocate = self.symbol::<signature::Allocate>("cuMemAlloc_v2")?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut address = 0;
        // SAFETY: the pointer is valid for the call.
        self.check("cuMemAlloc", unsafe { allocate(&raw mut address, bytes) })?;
        Ok(Memory { driver: self, address, bytes, is_own: true })
    }

    /// A new event.
    pub(super) fn event(&self) -> Result<Event<'_>, DeviceError> {
        let create = self.symbol::<signature::CreateEvent>("cuEventCreate")?;
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        self.check("cuEventCreate", unsafe { create(&raw mut handle, 0) })?;
        Ok(Event { driver: self, handle })
    }

    /// Begins what a profiler watches that was told not to watch from the start.
    pub(super) fn start_profiler(&self) -> Result<(), DeviceError> {
        let start = self.symbol::<signature::Synchronize>("cuProfilerStart")?;
        // SAFETY: the call has no pointers.
        self.check("cuProfilerStart", unsafe { start() })
    }

    /// Ends it.
    pub(super) fn stop_profiler(&self) -> Result<(), DeviceError> {
        let stop = self.symbol::<signature::Synchronize>("cuProfilerStop")?;
        // SAFETY: the call has no pointers.
        self.check("cuProfilerStop", unsafe { stop() })
    }

    /// Waits for everything, and says whether a kernel failed.
    pub(super) fn synchronise(&self) -> Result<(), DeviceError> {
        let synchronise = self.symbol::<signature::Synchronize>("cuCtxSynchronize")?;
        // SAFETY: the call has no pointers.
        self.check("cuCtxSynchronize", unsafe { synchronise() })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Ok(release) = self.symbol::<signature::Release>("cuDevicePrimaryCtxRelease_v2") {
            // SAFETY: `open` retained this device's context once. Nothing of it is left: modules,
            // memory and events borrow the driver.
            let _ = unsafe { release(self.device) };
        }
    }
}

impl Module<'_> {
    /// A kernel, ready for launches.
    pub(super) fn launcher(&self, entry: Entry) -> Result<Launcher<'_>, DeviceError> {
        let get = self.driver.symbol::<signature::GetFunction>("cuModuleGetFunction")?;
        let launch = self.driver.symbol::<signature::Launch>("cuLaunchKernel")?;
        let text = terminated(&entry.name)?;
        let mut function = ptr::null_mut();
        // SAFETY: the module lives, and the text ends in zero.
        let result = unsafe { get(&raw mut function, self.handle, text.as_ptr()) };
        self.driver.check("cuModuleGetFunction", result)?;
        let launcher = Launcher { driver: self.driver, launch, function, entry };
        launcher.ask_for_leave()?;
        Ok(launcher)
    }

    /// The memory of a variable.
    pub(super) fn variable(&self, name: &str) -> Result<Memory<'_>, DeviceError> {
        let get = self.driver.symbol::<signature::GetGlobal>("cuModuleGetGlobal_v2")?;
        let text = terminated(name)?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module lives, the text ends in zero, and both pointers are valid in the call.
        let result = unsafe { get(&raw mut address, &raw mut bytes, self.handle, text.as_ptr()) };
        self.driver.check("cuModuleGetGlobal", result)?;
        Ok(Memory { driver: self.driver, address, bytes, is_own: false })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        if let Ok(unload) = self.driver.symbol::<signature::Unload>("cuModuleUnload") {
            // SAFETY: the module was loaded by this library and is unloaded once.
            let _ = unsafe { unload(self.handle) };
        }
    }
}

/// A kernel that can be launched.
pub(super) struct Launcher<'a> {
    driver: &'a Driver,
    launch: Symbol<'a, signature::Launch>,
    function: *mut c_void,
    entry: Entry,
}

impl Launcher<'_> {
    /// Asks for what a launch may not take by itself: much shared memory, large clusters.
    fn ask_for_leave(&self) -> Result<(), DeviceError> {
        let Entry { shared_bytes, cluster, .. } = self.entry;
        if shared_bytes > MOST_SHARED_BYTES {
            let bytes = c_int::try_from(shared_bytes).unwrap_or(c_int::MAX);
            self.set(FunctionAttribute::MaxDynamicSharedBytes, bytes)?;
        }
        match cluster.map(|extent| extent.iter().product()) {
            Some(PORTABLE_CLUSTER..) => self.set(FunctionAttribute::NonPortableCluster, 1),
            _ => Ok(()),
        }
    }

    fn set(&self, attribute: FunctionAttribute, value: c_int) -> Result<(), DeviceError> {
        let set = self.driver.symbol::<signature::SetFunction>("cuFuncSetAttribute")?;
        // SAFETY: the function lives as long as its module.
        let result = unsafe { set(self.function, attribute as c_int, value) };
        self.driver.check("cuFuncSetAttribute", result)
    }

    /// Launches the kernel with the bytes of each of its parameters.
    pub(super) fn launch(&self, arguments: &[Vec<u8>]) -> Result<(), DeviceError> {
        let Entry { parameters, name, .. } = &self.entry;
        let fits = |(given, &bytes): (&Vec<u8>, &usize)| given.len() >= bytes;
        if arguments.len() != parameters.len() || !arguments.iter().zip(parameters).all(fits) {
            let sizes: Vec<usize> = arguments.iter().map(Vec::len).collect();
            return Err(DeviceError(format!(
                "{name} has parameters of {parameters:?} bytes and not {sizes:?}"
            )));
        }
        let mut pointers: Vec<*mut c_void> =
            arguments.iter().map(|bytes| bytes.as_ptr().cast_mut().cast()).collect();
        match self.entry.cluster {
            None => self.launch_plainly(&mut pointers),
            Some(extent) => self.launch_clusters(extent, &mut pointers),
        }
    }

    fn launch_plainly(&self, pointers: &mut [*mut c_void]) -> Result<(), DeviceError> {
        let Entry { grid: [gx, gy, gz], block: [bx, by, bz], shared_bytes, .. } = self.entry;
        // SAFETY: the function lives as long as its module. The library copies the bytes of each
        // parameter of the PTX in the call, and does not write them. There is a pointer to as many
        // bytes for each.
        let result = unsafe {
            (self.launch)(
                self.function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shared_bytes,
                ptr::null_mut(),
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.driver.check("cuLaunchKernel", result)
    }

    fn launch_clusters(
        &self,
        extent: [u32; 3],
        pointers: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        let launch = self.driver.symbol::<signature::LaunchEx>("cuLaunchKernelEx")?;
        let attribute =
            LaunchAttribute { id: CLUSTER_DIMENSION, _padding: [0; 4], extent, _rest: [0; 13] };
        let config = LaunchConfig {
            grid: self.entry.grid,
            block: self.entry.block,
            shared_bytes: self.entry.shared_bytes,
            stream: ptr::null_mut(),
            attributes: &raw const attribute,
            attribute_count: 1,
        };
        // SAFETY: as in `launch_plainly`; the configuration and its one attribute outlive the call.
        let result = unsafe {
            launch(&raw const config, self.function, pointers.as_mut_ptr(), ptr::null_mut())
        };
        self.driver.check("cuLaunchKernelEx", result)
    }
}

impl Memory<'_> {
    /// Its bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Sets every word of four bytes.
    pub(super) fn fill(&self, word: u32) -> Result<(), DeviceError> {
        let fill = self.driver.symbol::<signature::Fill>("cuMemsetD32_v2")?;
        // SAFETY: the memory lives and has these words.
        let result = unsafe { fill(self.address, word, self.bytes / 4) };
        self.driver.check("cuMemsetD32", result)
    }

    /// Writes from the beginning on; what is beyond the memory's end is left out.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), DeviceError> {
        let copy = self.driver.symbol::<signature::ToDevice>("cuMemcpyHtoD_v2")?;
        let count = bytes.len().min(self.bytes);
        // SAFETY: both sides have these bytes, and the call returns when they are copied.
        let result = unsafe { copy(self.address, bytes.as_ptr().cast(), count) };
        self.driver.check("cuMemcpyHtoD", result)
    }

    /// A copy of its bytes on the host.
    pub(super) fn read(&self) -> Result<Vec<u8>, DeviceError> {
        let copy = self.driver.symbol::<signature::FromDevice>("cuMemcpyDtoH_v2")?;
        let mut bytes = vec![0_u8; self.bytes];
        // SAFETY: both sides have these bytes, and the call returns when they are copied.
        let result = unsafe { copy(bytes.as_mut_ptr().cast(), self.address, self.bytes) };
        self.driver.check("cuMemcpyDtoH", result)?;
        Ok(bytes)
    }

    /// Takes over the bytes of another memory of the device, as far as both have bytes.
    pub(super) fn copy_from(&self, other: &Memory<'_>) -> Result<(), DeviceError> {
        let copy = self.driver.symbol::<signature::OnDevice>("cuMemcpyDtoD_v2")?;
        // SAFETY: both memories live and have these bytes.
        let result = unsafe { copy(self.address, other.address, self.bytes.min(other.bytes)) };
        self.driver.check("cuMemcpyDtoD", result)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        if self.is_own
            && let Ok(free) = self.driver.symbol::<signature::Free>("cuMemFree_v2")
        {
            // SAFETY: the memory was allocated by this library and is freed once.
            let _ = unsafe { free(self.address) };
        }
    }
}

impl Event<'_> {
    /// Records the event behind what was launched before.
    pub(super) fn record(&self) -> Result<(), DeviceError> {
        let record = self.driver.symbol::<signature::Record>("cuEventRecord")?;
        // SAFETY: the event lives; the stream is the default one.
        self.driver.check("cuEventRecord", unsafe { record(self.handle, ptr::null_mut()) })
    }

    /// Waits for the event.
    pub(super) fn wait(&self) -> Result<(), DeviceError> {
        let wait = self.driver.symbol::<signature::Event>("cuEventSynchronize")?;
        // SAFETY: the event lives.
        self.driver.check("cuEventSynchronize", unsafe { wait(self.handle) })
    }

    /// Seconds from an earlier event to this one.
    pub(super) fn seconds_since(&self, earlier: &Self) -> Result<f64, DeviceError> {
        let elapsed = self.driver.symbol::<signature::Elapsed>("cuEventElapsedTime")?;
        let mut milliseconds = 0.0;
        // SAFETY: both events live, and the pointer is valid for the call.
        let result = unsafe { elapsed(&raw mut milliseconds, earlier.handle, self.handle) };
        self.driver.check("cuEventElapsedTime", result)?;
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        if let Ok(destroy) = self.driver.symbol::<signature::Event>("cuEventDestroy_v2") {
            // SAFETY: the event was created by this library and is destroyed once.
            let _ = unsafe { destroy(self.handle) };
        }
    }
}

fn terminated(text: &str) -> Result<CString, DeviceError> {
    CString::new(text).map_err(|_| DeviceError("a text holds a zero byte".to_owned()))
}
