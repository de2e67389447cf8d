//! Attributes of kernels (`CUfunction_attribute`, `cudaFuncAttribute`).

use gpucast_host::{Device, Error, FunctionId};

const MAX_DYNAMIC_SHARED: i32 = 8;

/// The last attribute (CUDA 13), and the first one that programs may change.
const LAST: i32 = 15;
const FIRST_TO_CHANGE: i32 = MAX_DYNAMIC_SHARED;

/// A fact of a kernel by its number.
pub(crate) fn attribute(
    device: &mut Device,
    function: FunctionId,
    which: i32,
) -> Result<i32, Error> {
    let facts = device.facts(function)?;
    let found = match which {
        0 => u64::from(facts.max_threads),
        1 => facts.shared_bytes,
        2 => facts.constant_bytes,
        3 => facts.local_bytes,
        4 => u64::from(facts.registers),
        5 | 6 => u64::from(facts.target),
        MAX_DYNAMIC_SHARED => facts.max_dynamic_shared_bytes,
        7..=LAST => 0,
        _ => return Err(Error::InvalidValue),
    };
    Ok(i32::try_from(found).unwrap_or(i32::MAX))
}

/// Changes an attribute: the most dynamic shared memory counts, the others are hints.
pub(crate) fn set_attribute(
    device: &mut Device,
    function: FunctionId,
    which: i32,
    value: i32,
) -> Result<(), Error> {
    match which {
        MAX_DYNAMIC_SHARED => {
            let bytes = u64::try_from(value).map_err(|_| Error::InvalidValue)?;
            device.allow_dynamic_shared(function, bytes)
        }
        other if (FIRST_TO_CHANGE..=LAST).contains(&other) => Ok(()),
        _ => Err(Error::InvalidValue),
    }
}
