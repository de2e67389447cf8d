//! `libcuda.so.1`, the interface of NVIDIA's driver, loaded when a GPU is to be measured.
//!
//! The library's functions are called here and for textures only.

#![allow(
    unsafe_code,
    reason = "a C library that is found at run time can only be called through its symbols"
)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

use gpucast_measure::DeviceError;
use libloading::Symbol;

use crate::foreign::{self, Handle, Library, Text};

/// The name under which the system's loader finds it.
const NAME: &str = "libcuda.so.1";

/// The kinds of handles.
pub(super) mod kind {
    pub(in crate::driver) enum Context {}
    pub(in crate::driver) enum Module {}
    pub(in crate::driver) enum Function {}
    pub(in crate::driver) enum Stream {}
    pub(in crate::driver) enum Event {}
}

// Each function returns a `CUresult`, 0 for success. Those without clusters exist since CUDA 7.0.
// <https://docs.nvidia.com/cuda/cuda-driver-api/>
foreign::functions! {
    Driver, DeviceError;
    safe {
        init = "cuInit"(flags: c_uint);
        get_version = "cuDriverGetVersion"(version: &mut c_int);
        count_devices = "cuDeviceGetCount"(count: &mut c_int);
        get_device = "cuDeviceGet"(device: &mut c_int, number: c_int);
        get_total_memory = "cuDeviceTotalMem_v2"(bytes: &mut usize, device: c_int);
        get_attribute = "cuDeviceGetAttribute"(value: &mut c_int, attribute: c_int, device: c_int);
        retain_context =
            "cuDevicePrimaryCtxRetain"(context: &mut Handle<kind::Context>, device: c_int);
        release_context = "cuDevicePrimaryCtxRelease_v2"(device: c_int);
        set_context = "cuCtxSetCurrent"(context: Handle<kind::Context>);
        /// Waits for everything, and says whether a kernel failed.
        pub(super) synchronise = "cuCtxSynchronize"();
        /// Begins what a profiler watches that was told not to watch from the start.
        pub(super) start_profiler = "cuProfilerStart"();
        /// Ends it.
        pub(super) stop_profiler = "cuProfilerStop"();
        get_function = "cuModuleGetFunction"(
            function: &mut Handle<kind::Function>, module: Handle<kind::Module>, name: Text<'_>
        );
        get_global = "cuModuleGetGlobal_v2"(
            address: &mut u64, bytes: &mut usize, module: Handle<kind::Module>, name: Text<'_>
        );
        unload = "cuModuleUnload"(module: Handle<kind::Module>);
        set_attribute =
            "cuFuncSetAttribute"(function: Handle<kind::Function>, attribute: c_int, value: c_int);
        allocate_bytes = "cuMemAlloc_v2"(address: &mut u64, bytes: usize);
        free = "cuMemFree_v2"(address: u64);
        fill_words = "cuMemsetD32_v2"(address: u64, word: c_uint, words: usize);
        copy_on_device = "cuMemcpyDtoD_v2"(to: u64, from: u64, bytes: usize);
        create_event = "cuEventCreate"(event: &mut Handle<kind::Event>, flags: c_uint);
        destroy_event = "cuEventDestroy_v2"(event: Handle<kind::Event>);
        record = "cuEventRecord"(event: Handle<kind::Event>, stream: Handle<kind::Stream>);
        wait_for = "cuEventSynchronize"(event: Handle<kind::Event>);
        get_elapsed = "cuEventElapsedTime"(
            milliseconds: &mut f32, from: Handle<kind::Event>, to: Handle<kind::Event>
        );
    }
    unsafe {
        /// Writes the device's name with a zero behind it into `bytes` bytes.
        get_name = "cuDeviceGetName"(text: *mut c_char, bytes: c_int, device: c_int);
        /// Loads a module with `count` options and their values.
        load_data = "cuModuleLoadDataEx"(
            module: &mut Handle<kind::Module>,
            text: Text<'_>,
            count: c_uint,
            options: *mut c_int,
            values: *mut *mut c_void
        );
        /// Copies bytes of the host.
        copy_to_device = "cuMemcpyHtoD_v2"(to: u64, from: *const c_void, bytes: usize);
        /// Copies bytes to the host.
        copy_to_host = "cuMemcpyDtoH_v2"(to: *mut c_void, from: u64, bytes: usize);
        /// Launches a kernel with a pointer to each of its parameters.
        launch_with = "cuLaunchKernelEx"(
            config: &LaunchConfig,
            function: Handle<kind::Function>,
            parameters: *mut *mut c_void,
            extra: *mut *mut c_void
        );
    }
}

/// `cuLaunchKernel`, which is found before the events between which it is called.
type LaunchKernel = unsafe extern "C" fn(
    Handle<kind::Function>,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    Handle<kind::Stream>,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;

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
    stream: Handle<kind::Stream>,
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
    /// Its number with the driver, once its context is retained.
    device: Option<c_int>,
}

/// A loaded module, which ends with this value.
pub(super) struct Module<'a> {
    driver: &'a Driver,
    handle: Handle<kind::Module>,
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
    handle: Handle<kind::Event>,
}

impl Driver {
    /// Opens a device by its number.
    pub(super) fn open(number: u32) -> Result<Self, DeviceError> {
        let library = Library::load(NAME)
            .map_err(|_| DeviceError(format!("there is no GPU to measure: {NAME} is not found")))?;
        let mut driver = Self { library, device: None };
        let none = |error: DeviceError| DeviceError(format!("there is no GPU to measure: {error}"));
        driver.init(0).map_err(none)?;
        let mut count = 0;
        driver.count_devices(&mut count).map_err(none)?;
        let wanted = c_int::try_from(number).unwrap_or(c_int::MAX);
        if wanted >= count {
            return Err(DeviceError(format!("there is no GPU {number}; the driver has {count}")));
        }
        let mut device = 0;
        driver.get_device(&mut device, wanted)?;
        let mut context = Handle::NONE;
        driver.retain_context(&mut context, device)?;
        driver.device = Some(device);
        driver.set_context(context)?;
        Ok(driver)
    }

    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    pub(super) fn lacks(what: String) -> DeviceError {
        DeviceError(format!("{NAME}: {what}"))
    }

    fn device(&self) -> c_int {
        self.device.unwrap_or_default()
    }

    pub(super) fn check(&self, what: &str, result: c_int) -> Result<(), DeviceError> {
        if result == 0 {
            return Ok(());
        }
        type ErrorName = extern "C" fn(c_int, &mut *const c_char) -> c_int;
        // SAFETY: the type is that of the documentation.
        let name = unsafe { self.library.function::<ErrorName>("cuGetErrorName") };
        let mut text = ptr::null();
        let known = name.map_err(Self::lacks)?(result, &mut text) == 0;
        // SAFETY: the library gives constant texts that end in zero.
        let text = unsafe { foreign::constant_text(text) }.filter(|_| known);
        let text = text.unwrap_or_else(|| format!("error {result}"));
        Err(DeviceError(format!("{} says {text}", what.trim_end_matches("_v2"))))
    }

    /// The version of the driver's interface.
    pub(super) fn version(&self) -> Result<i32, DeviceError> {
        let mut version = 0;
        self.get_version(&mut version)?;
        Ok(version)
    }

    /// The device's name.
    pub(super) fn name(&self) -> Result<String, DeviceError> {
        let mut text = [0_u8; 256];
        let bytes = c_int::try_from(text.len()).unwrap_or(0);
        // SAFETY: the library writes as many bytes as it is told, and the buffer has them.
        unsafe { self.get_name(text.as_mut_ptr().cast(), bytes, self.device())? };
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Ok(String::from_utf8_lossy(&text[..end]).into_owned())
    }

    /// Bytes of the device's memory.
    pub(super) fn memory_bytes(&self) -> Result<u64, DeviceError> {
        let mut bytes = 0;
        self.get_total_memory(&mut bytes, self.device())?;
        Ok(bytes as u64)
    }

    /// An attribute of the device.
    pub(super) fn attribute(&self, attribute: Attribute) -> Result<u32, DeviceError> {
        let mut value = 0;
        self.get_attribute(&mut value, attribute as c_int, self.device())?;
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
        let mut handle = Handle::NONE;
        let mut options = [JIT_CACHE_MODE];
        let mut values = [ptr::without_provenance_mut(keeps.map_or(0, |keeps| keeps as usize))];
        let count = c_uint::from(keeps.is_some());
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        // SAFETY: there are as many options and values as the count says; this option's value is a
        // number in the place of a pointer.
        unsafe { self.load_data(&mut handle, (&text).into(), count, options, values)? };
        Ok(Module { driver: self, handle })
    }

    /// Allocates memory.
    pub(super) fn allocate(&self, bytes: u64) -> Result<Memory<'_>, DeviceError> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut address = 0;
        self.allocate_bytes(&mut address, bytes)?;
        Ok(Memory { driver: self, address, bytes, is_own: true })
    }

    /// A new event.
    pub(super) fn event(&self) -> Result<Event<'_>, DeviceError> {
        let mut handle = Handle::NONE;
        self.create_event(&mut handle, 0)?;
        Ok(Event { driver: self, handle })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Nothing of the context is left: modules, memory and events borrow the driver.
        if let Some(device) = self.device {
            let _ = self.release_context(device);
        }
    }
}

impl Module<'_> {
    /// A kernel, ready for launches.
    pub(super) fn launcher(&self, entry: Entry) -> Result<Launcher<'_>, DeviceError> {
        // SAFETY: the type is that of the documentation.
        let launch = unsafe { self.driver.library.function::<LaunchKernel>("cuLaunchKernel") };
        let launch = launch.map_err(Driver::lacks)?;
        let name = terminated(&entry.name)?;
        let mut function = Handle::NONE;
        self.driver.get_function(&mut function, self.handle, (&name).into())?;
        let launcher = Launcher { driver: self.driver, launch, function, entry };
        launcher.ask_for_leave()?;
        Ok(launcher)
    }

    /// The memory of a variable.
    pub(super) fn variable(&self, name: &str) -> Result<Memory<'_>, DeviceError> {
        let name = terminated(name)?;
        let (mut address, mut bytes) = (0, 0);
        self.driver.get_global(&mut address, &mut bytes, self.handle, (&name).into())?;
        Ok(Memory { driver: self.driver, address, bytes, is_own: false })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        let _ = self.driver.unload(self.handle);
    }
}

/// A kernel that can be launched.
pub(super) struct Launcher<'a> {
    driver: &'a Driver,
    launch: Symbol<'a, LaunchKernel>,
    function: Handle<kind::Function>,
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
        self.driver.set_attribute(self.function, attribute as c_int, value)
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
                Handle::NONE,
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
        let attribute =
            LaunchAttribute { id: CLUSTER_DIMENSION, _padding: [0; 4], extent, _rest: [0; 13] };
        let config = LaunchConfig {
            grid: self.entry.grid,
            block: self.entry.block,
            shared_bytes: self.entry.shared_bytes,
            stream: Handle::NONE,
            attributes: &raw const attribute,
            attribute_count: 1,
        };
        let pointers = pointers.as_mut_ptr();
        // SAFETY: as in `launch_plainly`; the configuration's one attribute outlives the call.
        unsafe { self.driver.launch_with(&config, self.function, pointers, ptr::null_mut()) }
    }
}

impl Memory<'_> {
    /// Its bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Sets every word of four bytes.
    pub(super) fn fill(&self, word: u32) -> Result<(), DeviceError> {
        self.driver.fill_words(self.address, word, self.bytes / 4)
    }

    /// Writes from the beginning on; what is beyond the memory's end is left out.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), DeviceError> {
        let count = bytes.len().min(self.bytes);
        // SAFETY: both sides have these bytes, and the call returns when they are copied.
        unsafe { self.driver.copy_to_device(self.address, bytes.as_ptr().cast(), count) }
    }

    /// A copy of its bytes on the host.
    pub(super) fn read(&self) -> Result<Vec<u8>, DeviceError> {
        let mut bytes = vec![0_u8; self.bytes];
        // SAFETY: as in `write`.
        unsafe { self.driver.copy_to_host(bytes.as_mut_ptr().cast(), self.address, self.bytes)? };
        Ok(bytes)
    }

    /// Takes over the bytes of another memory of the device, as far as both have bytes.
    pub(super) fn copy_from(&self, other: &Memory<'_>) -> Result<(), DeviceError> {
        let bytes = self.bytes.min(other.bytes);
        self.driver.copy_on_device(self.address, other.address, bytes)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        if self.is_own {
            let _ = self.driver.free(self.address);
        }
    }
}

impl Event<'_> {
    /// Records the event behind what was launched before, in the default stream.
    pub(super) fn record(&self) -> Result<(), DeviceError> {
        self.driver.record(self.handle, Handle::NONE)
    }

    /// Waits for the event.
    pub(super) fn wait(&self) -> Result<(), DeviceError> {
        self.driver.wait_for(self.handle)
    }

    /// Seconds from an earlier event to this one.
    pub(super) fn seconds_since(&self, earlier: &Self) -> Result<f64, DeviceError> {
        let mut milliseconds = 0.0;
        self.driver.get_elapsed(&mut milliseconds, earlier.handle, self.handle)?;
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        let _ = self.driver.destroy_event(self.handle);
    }
}

fn terminated(text: &str) -> Result<std::ffi::CString, DeviceError> {
    foreign::terminated(text).map_err(DeviceError)
}
