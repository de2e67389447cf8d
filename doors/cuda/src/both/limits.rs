//! Limits of a context, and hints for its caches and banks.

use gpucast_host::Error;

use crate::abi::Out;
use crate::state::on_device;

const STACK_SIZE: i32 = 0;
const PRINTF_FIFO_SIZE: i32 = 1;
const MALLOC_HEAP_SIZE: i32 = 2;

/// The last number of `CUlimit` (CUDA 13).
const LAST: i32 = 9;

/// Bytes that the buffer of `printf` has on a GPU; here it has no end.
const PRINTF_BYTES: usize = 1 << 20;

/// Changes a limit. The others bound what is not bounded here.
pub(crate) fn set(limit: i32, value: usize) -> Result<(), Error> {
    on_device(|device| match limit {
        STACK_SIZE => {
            device.set_stack_bytes(u32::try_from(value).map_err(|_| Error::InvalidValue)?);
            Ok(())
        }
        MALLOC_HEAP_SIZE => {
            device.set_heap_bytes(value as u64);
            Ok(())
        }
        other if (0..=LAST).contains(&other) => Ok(()),
        _ => Err(Error::InvalidValue),
    })
}

/// Writes a limit.
pub(crate) fn get(value: Out<usize>, limit: i32) -> Result<(), Error> {
    value.put(on_device(|device| match limit {
        STACK_SIZE => Ok(device.stack_bytes() as usize),
        PRINTF_FIFO_SIZE => Ok(PRINTF_BYTES),
        MALLOC_HEAP_SIZE => Ok(device.heap_bytes() as usize),
        other if (0..=LAST).contains(&other) => Err(Error::UnsupportedLimit),
        _ => Err(Error::InvalidValue),
    })?)
}

/// Begins or ends the range of launches that a profiler looks at.
pub(crate) fn profiled(is_on: bool) -> Result<(), Error> {
    on_device(|device| {
        device.set_profiled(is_on);
        Ok(())
    })
}

/// Checks a choice between L1 and shared memory (`CUfunc_cache`), which changes nothing here.
pub(crate) fn check_cache_choice(choice: i32) -> Result<(), Error> {
    if (0..=3).contains(&choice) { Ok(()) } else { Err(Error::InvalidValue) }
}

/// Checks a width of banks (`CUsharedconfig`), which changes nothing here.
pub(crate) fn check_bank_choice(choice: i32) -> Result<(), Error> {
    if (0..=2).contains(&choice) { Ok(()) } else { Err(Error::InvalidValue) }
}
