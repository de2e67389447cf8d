//! Mipmapped arrays.

use gpucast_host::{Array, ArrayShape, Error, MipmapId};

use super::arrays::{self, ArrayHandle};
use crate::abi::Out;
use crate::state::on_device;

/// `cudaMipmappedArray_t` and `CUmipmappedArray`: the number of the mipmapped array.
pub(crate) type MipmapHandle = u64;

/// The handle of the first one, beyond those of arrays.
const FIRST: MipmapHandle = 1 << 32;

fn id(handle: MipmapHandle) -> Result<MipmapId, Error> {
    let number = handle.checked_sub(FIRST).ok_or(Error::InvalidHandle)?;
    usize::try_from(number).map(MipmapId).map_err(|_| Error::InvalidHandle)
}

/// Makes a mipmapped array, and writes its handle.
pub(crate) fn create(
    handle: Out<MipmapHandle>,
    shape: ArrayShape,
    levels: u32,
) -> Result<(), Error> {
    handle.check()?;
    handle.put(FIRST + on_device(|device| device.create_mipmap(shape, levels))?.0 as u64)
}

/// Writes the handle of the array that is a level.
pub(crate) fn level(
    array: Out<ArrayHandle>,
    handle: MipmapHandle,
    level: u32,
) -> Result<(), Error> {
    let id = id(handle)?;
    let found = on_device(|device| {
        device.mipmap(id)?.get(level as usize).copied().ok_or(Error::InvalidValue)
    })?;
    array.put(arrays::handle(found))
}

/// The levels of a handle, the largest first.
pub(crate) fn levels(handle: MipmapHandle) -> Result<Vec<Array>, Error> {
    let id = id(handle)?;
    on_device(|device| device.mipmap(id)?.iter().map(|&level| device.array(level)).collect())
}

/// Frees a mipmapped array with its levels.
pub(crate) fn free(handle: MipmapHandle) -> Result<(), Error> {
    let id = id(handle)?;
    on_device(|device| device.free_mipmap(id))
}

/// What a mipmapped array needs if memory is mapped to it later. There is none of this kind, which
/// CUDA tells by an invalid value.
pub(crate) fn requirements(handle: MipmapHandle) -> Result<(), Error> {
    levels(handle)?;
    Err(Error::InvalidValue)
}
