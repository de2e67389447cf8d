//! `libnvidia-ml.so.1`, NVIDIA's management library, which tells clocks, temperature and power.
//!
//! It is loaded as `libcuda.so.1` is. A machine need not have it, and a GPU need not tell
//! everything.

use std::ffi::{c_int, c_uint, c_ulonglong};

use gpucast_measure::DeviceError;
use gpucast_measure::conditions::State;

use crate::foreign::{self, Handle, Library, Text};

/// The name under which the system's loader finds it.
const NAME: &str = "libnvidia-ml.so.1";

/// The kind of handles.
enum Gpu {}

// Each function returns an `nvmlReturn_t`, 0 for success.
// <https://docs.nvidia.com/deploy/nvml-api/>
foreign::functions! {
    Nvml, DeviceError;
    safe {
        init = "nvmlInit_v2"();
        shut_down = "nvmlShutdown"();
        find = "nvmlDeviceGetHandleByPciBusId_v2"(place: Text<'_>, gpu: &mut Handle<Gpu>);
        get_clock = "nvmlDeviceGetClockInfo"(gpu: Handle<Gpu>, kind: c_int, mhz: &mut c_uint);
        get_throttle_reasons =
            "nvmlDeviceGetCurrentClocksThrottleReasons"(gpu: Handle<Gpu>, bits: &mut c_ulonglong);
        get_temperature =
            "nvmlDeviceGetTemperature"(gpu: Handle<Gpu>, sensor: c_int, celsius: &mut c_uint);
        get_power = "nvmlDeviceGetPowerUsage"(gpu: Handle<Gpu>, milliwatts: &mut c_uint);
    }
    unsafe {}
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
    /// True once there is something to shut down.
    is_initialised: bool,
    gpu: Handle<Gpu>,
}

impl Nvml {
    /// Opens the GPU at a place.
    pub(super) fn open(place: PciPlace) -> Result<Self, DeviceError> {
        let library = Library::load(NAME)
            .map_err(|_| DeviceError(format!("clocks are not read: {NAME} is not found")))?;
        let mut nvml = Self { library, is_initialised: false, gpu: Handle::NONE };
        nvml.init()?;
        nvml.is_initialised = true;
        let PciPlace { domain, bus, device } = place;
        let text = foreign::terminated(&format!("{domain:08x}:{bus:02x}:{device:02x}.0"));
        let text = text.map_err(Self::lacks)?;
        let mut gpu = Handle::NONE;
        nvml.find((&text).into(), &mut gpu)?;
        nvml.gpu = gpu;
        Ok(nvml)
    }

    fn library(&self) -> &Library {
        &self.library
    }

    fn lacks(what: String) -> DeviceError {
        DeviceError(format!("clocks are not read: {what}"))
    }

    fn check(&self, what: &str, result: c_int) -> Result<(), DeviceError> {
        match result {
            0 => Ok(()),
            _ => Err(DeviceError(format!("clocks are not read: {what} fails"))),
        }
    }

    /// The state of the GPU, as far as it is told.
    pub(super) fn state(&self) -> State {
        let mut reasons = 0;
        State {
            sm_clock_mhz: told(|mhz| self.get_clock(self.gpu, SM_CLOCK, mhz)),
            memory_clock_mhz: told(|mhz| self.get_clock(self.gpu, MEMORY_CLOCK, mhz)),
            throttle_reasons: self
                .get_throttle_reasons(self.gpu, &mut reasons)
                .ok()
                .map(|()| reasons),
            temperature_celsius: told(|celsius| {
                self.get_temperature(self.gpu, GPU_SENSOR, celsius)
            }),
            power_watts: told(|milliwatts| self.get_power(self.gpu, milliwatts))
                .map(|milliwatts| milliwatts / 1e3),
        }
    }
}

/// The number that a function writes, if it does.
fn told(get: impl FnOnce(&mut c_uint) -> Result<(), DeviceError>) -> Option<f64> {
    let mut number = 0;
    get(&mut number).ok().map(|()| f64::from(number))
}

impl Drop for Nvml {
    fn drop(&mut self) {
        if self.is_initialised {
            let _ = self.shut_down();
        }
    }
}
