//! The device and its one context.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use gpucast_host::Error;

use super::driver_functions;
use crate::abi::{Out, Text};
use crate::both::limits;
use crate::runtime::{device_attribute, exists};
use crate::state::{self, Begun, on_device};

/// `CUcontext`: all contexts are one, and this is its handle.
type Context = u64;

const CONTEXT: Context = 0x6770_7563;

/// The version that clients are told: that of the headers.
const VERSION: i32 = 13_050;

thread_local! {
    static CURRENT: RefCell<Vec<Context>> = const { RefCell::new(Vec::new()) };
}

/// The context of the thread; 0 if it has none. The runtime makes the device's own one current.
pub(super) fn current() -> Context {
    let by_runtime = || if state::begun() == Begun::ByRuntime { CONTEXT } else { 0 };
    CURRENT.with_borrow(|all| all.last().copied().unwrap_or_else(by_runtime))
}

fn push(context: Context) {
    CURRENT.with_borrow_mut(|all| all.push(context));
}

fn create(context: Out<Context>, device: i32) -> Result<(), Error> {
    exists(device)?;
    on_device(|_| Ok(()))?;
    context.put(CONTEXT)?;
    push(CONTEXT);
    Ok(())
}

fn c_text(
    texts: &'static OnceLock<Vec<CString>>,
    of: fn(Error) -> &'static str,
    code: i32,
) -> Option<*const c_char> {
    let texts = texts.get_or_init(|| {
        let text = |error: &Error| CString::new(of(*error)).unwrap_or_default();
        Error::ALL.iter().map(text).collect()
    });
    let at = Error::ALL.iter().position(|error| error.driver_code() == code)?;
    texts.get(at).map(|text| text.as_ptr())
}

driver_functions! {
    /// Begins. There are no flags.
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        on_device(|_| Ok(()))?;
        state::begin(Begun::ByDriver);
        Ok(())
    }

    /// The driver's version.
    fn cuDriverGetVersion(version: Out<i32>) { version.put(VERSION) }

    /// Number of devices.
    fn cuDeviceGetCount(count: Out<i32>) { count.put(1) }

    /// A device by its number.
    fn cuDeviceGet(device: Out<i32>, number: i32) {
        exists(number)?;
        device.put(number)
    }

    /// The device's name.
    fn cuDeviceGetName(text: Out<u8>, bytes: i32, device: i32) {
        exists(device)?;
        let name = on_device(|device| Ok(device.properties().display_name().to_owned()))?;
        text.put_text(&name, usize::try_from(bytes).map_err(|_| Error::InvalidValue)?)
    }

    /// The device's identity: always the same.
    fn cuDeviceGetUuid(id: Out<[u8; 16]>, device: i32) {
        exists(device)?;
        id.put(*b"gpucast-device-0")
    }

    /// The device's identity: always the same.
    fn cuDeviceGetUuid_v2(id: Out<[u8; 16]>, device: i32) {
        exists(device)?;
        id.put(*b"gpucast-device-0")
    }

    /// Bytes of the device's memory.
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        exists(device)?;
        bytes.put(on_device(|device| Ok(device.memory_info()))?.total as usize)
    }

    /// An attribute of the device.
    fn cuDeviceGetAttribute(value: Out<i32>, attribute: i32, device: i32) {
        exists(device)?;
        value.put(device_attribute(attribute)?)
    }

    /// The compute capability.
    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        exists(device)?;
        let found = on_device(|device| Ok(device.properties().capability()))?;
        major.put(found.major as i32)?;
        minor.put(found.minor as i32)
    }

    /// A name on a bus on which no device is.
    fn cuDeviceGetPCIBusId(text: Out<u8>, bytes: i32, device: i32) {
        exists(device)?;
        text.put_text("0000:00:00.0", usize::try_from(bytes).map_err(|_| Error::InvalidValue)?)
    }

    /// There is no other device.
    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, _peer: i32) {
        exists(device)?;
        can.put(0)
    }

    /// The device's own context.
    fn cuDevicePrimaryCtxRetain(context: Out<Context>, device: i32) {
        exists(device)?;
        on_device(|_| Ok(()))?;
        context.put(CONTEXT)
    }

    /// The device's own context is not needed any more.
    fn cuDevicePrimaryCtxRelease_v2(device: i32) { exists(device) }

    /// Flags of the device's own context.
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, _flags: u32) { exists(device) }

    /// The device's own context begins anew: it keeps everything here.
    fn cuDevicePrimaryCtxReset_v2(device: i32) { exists(device) }

    /// The state of the device's own context.
    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        exists(device)?;
        flags.put(0)?;
        active.put(1)
    }

    /// A new context: the same as all others.
    fn cuCtxCreate_v2(context: Out<Context>, _flags: u32, device: i32) { create(context, device) }

    /// A new context with parameters: the same as all others.
    fn cuCtxCreate_v4(context: Out<Context>, _parameters: u64, _flags: u32, device: i32) {
        create(context, device)
    }

    /// A context is not needed any more.
    fn cuCtxDestroy_v2(context: Context) {
        CURRENT.with_borrow_mut(|all| {
            if all.last() == Some(&context) {
                all.pop();
            }
        });
        Ok(())
    }

    /// Makes a context current.
    fn cuCtxPushCurrent_v2(context: Context) {
        push(context);
        Ok(())
    }

    /// Makes the context before it current again.
    fn cuCtxPopCurrent_v2(context: Out<Context>) {
        // The runtime has made the primary context current, and nobody has pushed it.
        let by_runtime = || Some(current()).filter(|&context| context != 0);
        let popped = CURRENT.with_borrow_mut(Vec::pop).or_else(by_runtime);
        let popped = popped.ok_or(Error::InvalidContext)?;
        context.maybe_put(popped);
        Ok(())
    }

    /// Makes a context current in place of another one.
    fn cuCtxSetCurrent(context: Context) {
        CURRENT.with_borrow_mut(|all| {
            all.pop();
            if context != 0 {
                all.push(context);
            }
        });
        Ok(())
    }

    /// The current context.
    fn cuCtxGetCurrent(context: Out<Context>) { context.put(current()) }

    /// The device of the current context.
    fn cuCtxGetDevice(device: Out<i32>) {
        if current() == 0 {
            return Err(Error::InvalidContext);
        }
        device.put(0)
    }

    /// The version of a context.
    fn cuCtxGetApiVersion(_context: Context, version: Out<u32>) { version.put(VERSION as u32) }

    /// The host waits for everything.
    fn cuCtxSynchronize() {
        on_device(|device| {
            device.usable()?;
            device.clock().synchronise();
            Ok(())
        })
    }

    /// Changes a limit.
    fn cuCtxSetLimit(limit: i32, value: usize) { limits::set(limit, value) }

    /// A limit.
    fn cuCtxGetLimit(value: Out<usize>, limit: i32) { limits::get(value, limit) }

    /// A hint for the caches.
    fn cuCtxSetCacheConfig(config: i32) { limits::check_cache_choice(config) }

    /// A hint for the banks.
    fn cuCtxSetSharedMemConfig(config: i32) { limits::check_bank_choice(config) }

    /// The range of priorities, which change nothing.
    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        least.maybe_put(0);
        greatest.maybe_put(-5);
        Ok(())
    }

    /// Describes an error.
    fn cuGetErrorString(code: i32, text: Out<*const c_char>) {
        static TEXTS: OnceLock<Vec<CString>> = OnceLock::new();
        if code == 0 {
            return text.put(c"no error".as_ptr());
        }
        text.put(c_text(&TEXTS, Error::text, code).ok_or(Error::InvalidValue)?)
    }

    /// Names an error.
    fn cuGetErrorName(code: i32, text: Out<*const c_char>) {
        static TEXTS: OnceLock<Vec<CString>> = OnceLock::new();
        if code == 0 {
            return text.put(c"CUDA_SUCCESS".as_ptr());
        }
        text.put(c_text(&TEXTS, Error::driver_name, code).ok_or(Error::InvalidValue)?)
    }

    /// The device of a name on a bus.
    fn cuDeviceGetByPCIBusId(device: Out<i32>, name: Text) {
        name.get()?;
        device.put(0)
    }

    /// The profiler's range begins.
    fn cuProfilerStart() { limits::profiled(true) }

    /// The profiler's range ends.
    fn cuProfilerStop() { limits::profiled(false) }
}
