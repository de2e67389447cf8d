//! `libnvidia-ml.so.1`, NVIDIA's management library, which tells clocks, temperature and power.
//!
//! It is loaded as `libcuda.so.1` is. A machine need not have it, and a GPU need not tell
//! everything.

#![allow(
    unsafe_code,
    reason = "a C library that is found at run time can only be called through its symbols"
)]

use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;

use gpucast_measure::DeviceError;
use gpucast_measure::conditions::State;
use libloading::Library;

/// The name under which the system's loader finds it.
const NAME: &str = "libnvidia-ml.so.1";

/// The library's functions; each returns an `nvmlReturn_t`, 0 for success.
/// <https://docs.nvidia.com/deploy/nvml-api/>
mod signature {
    use super::{c_char, c_int, c_uint, c_ulonglong, c_void};

    pub(super) type Nothing = unsafe extern "C" fn() -> c_int;
    pub(super) type Handle = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
    pub(super) type Number = unsafe extern "C" fn(*mut c_void, *mut c_uint) -> c_int;
    pub(super) type OfKind = unsafe extern "C" fn(*mut c_void, c_int, *mut c_uint) -> c_int;
    pub(super) type Bits = unsafe extern "C" fn(*mut c_void, *mut c_ulonglong) -> c_int;
}

/// `nvmlClockType_t` of the SMs.
const SM_CLOCK: c_int = 1;
/// `nvmlClockType_t` of the memory.
const MEMORY_CLOCK: c_int = 2;
/// `nvmlTemperatureSensors_t` of the GPU.
const GPU_SENSOR: c_int = 0;

/// The place of a GPU on the PCI bus.
#[derive(Clone, Copy, Debug)]
pub(super) struct PciPlace {
    pub(super) domain: u32,
    pub(super) bus: u32,
    pub(super) device: u32,
}

/// The management library with the handle of one GPU.
pub(super) struct Nvml {
    library: Library,
    handle: *mut c_void,
}

impl Nvml {
    /// Opens the GPU at a place.
    pub(super) fn open(place: PciPlace) -> Result<Self, DeviceError> {
        // SAFETY: the system's loader finds the vendor's library by its name; its initialisers rely
        // on nothing here.
        let library = unsafe { Library::new(NAME) }
            .map_err(|_| DeviceError(format!("clocks are not read: {NAME} is not found")))?;
        let failed = |what: &str| DeviceError(format!("clocks are not read: {what} fails"));
        // SAFETY: the type is that of the documentation.
        let init = unsafe { library.get::<signature::Nothing>(b"nvmlInit_v2") };
        let init = init.map_err(|_| failed("nvmlInit_v2"))?;
        // SAFETY: the call has no pointers.
        if unsafe { init() } != 0 {
            return Err(failed("nvmlInit_v2"));
        }
        // From here on, its end shuts the library down.
        let mut nvml = Self { library, handle: ptr::null_mut() };
        let PciPlace { domain, bus, device } = place;
        let text = CString::new(format!("{domain:08x}:{bus:02x}:{device:02x}.0"));
        let text = text.map_err(|_| failed("the name of the GPU's place"))?;
        const BY_PLACE: &str = "nvmlDeviceGetHandleByPciBusId_v2";
        // SAFETY: the type is that of the documentation.
        let get = unsafe { nvml.library.get::<signature::Handle>(BY_PLACE.as_bytes()) };
        let get = get.map_err(|_| failed(BY_PLACE))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the text ends in zero, and both pointers are valid for the call.
        if unsafe { get(text.as_ptr(), &raw mut handle) } != 0 {
            return Err(failed(BY_PLACE));
        }
        nvml.handle = handle;
        Ok(nvml)
    }

    /// The state of the GPU, as far as it is told.
    pub(super) fn state(&self) -> State {
        State {
            sm_clock_mhz: self.of_kind("nvmlDeviceGetClockInfo", SM_CLOCK),
            memory_clock_mhz: self.of_kind("nvmlDeviceGetClockInfo", MEMORY_CLOCK),
            throttle_reasons: self.bits("nvmlDeviceGetCurrentClocksThrottleReasons"),
            temperature_celsius: self.of_kind("nvmlDeviceGetTemperature", GPU_SENSOR),
            power_watts: self.number("nvmlDeviceGetPowerUsage").map(|milliwatts| milliwatts / 1e3),
        }
    }

    fn number(&self, name: &str) -> Option<f64> {
        // SAFETY: the callers name functions of this type in the documentation.
        let get = unsafe { self.library.get::<signature::Number>(name.as_bytes()) }.ok()?;
        let mut value = 0;
        // SAFETY: the handle was given by the library, and the pointer is valid for the call.
        (unsafe { get(self.handle, &raw mut value) } == 0).then(|| f64::from(value))
    }

    fn of_kind(&self, name: &str, kind: c_int) -> Option<f64> {
        // SAFETY: the callers name functions of this type in the documentation.
        let get = unsafe { self.library.get::<signature::OfKind>(name.as_bytes()) }.ok()?;
        let mut value = 0;
        // SAFETY: the handle was given by the library, and the pointer is valid for the call.
        (unsafe { get(self.handle, kind, &raw mut value) } == 0).then(|| f64::from(value))
    }

    fn bits(&self, name: &str) -> Option<u64> {
        // SAFETY: the callers name functions of this type in the documentation.
        let get = unsafe { self.library.get::<signature::Bits>(name.as_bytes()) }.ok()?;
        let mut value = 0;
        // SAFETY: the handle was given by the library, and the pointer is valid for the call.
        (unsafe { get(self.handle, &raw mut value) } == 0).then_some(value)
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: the type is that of the documentation.
        if let Ok(end) = unsafe { self.library.get::<signature::Nothing>(b"nvmlShutdown") } {
            // SAFETY: `open` has initialised the library once.
            let _ = unsafe { end() };
        }
    }
}
