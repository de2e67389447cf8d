//! Texture and surface objects.

use gpucast_host::Error;
use gpucast_interpreter::texture::{Format, Object};

use super::arrays::{ArrayHandle, array};
use super::mipmaps::{self, MipmapHandle};
use crate::abi::{In, Out};
use crate::state::on_device;
use crate::texture::Texels;

/// The way in which an interface describes elements.
pub(crate) trait ElementFormat: Copy {
    /// The format, with whole numbers as they are.
    fn format(self) -> Result<Format, Error>;
}

/// `cudaResourceDesc` or `CUDA_RESOURCE_DESC` of an array.
#[repr(C)]
#[derive(Clone, Copy)]
struct ArrayTexels {
    kind: i32,
    array: ArrayHandle,
}

/// `cudaResourceDesc` or `CUDA_RESOURCE_DESC` of a mipmapped array.
#[repr(C)]
#[derive(Clone, Copy)]
struct LevelTexels {
    kind: i32,
    mipmap: MipmapHandle,
}

/// `cudaResourceDesc` or `CUDA_RESOURCE_DESC` of linear memory.
#[repr(C)]
#[derive(Clone, Copy)]
struct LinearMemory<F> {
    kind: i32,
    address: u64,
    format: F,
    bytes: usize,
}

/// `cudaResourceDesc` or `CUDA_RESOURCE_DESC` of rows.
#[repr(C)]
#[derive(Clone, Copy)]
struct PitchedMemory<F> {
    kind: i32,
    address: u64,
    format: F,
    width: usize,
    height: usize,
    pitch: usize,
}

/// The texels of a `cudaResourceDesc` or `CUDA_RESOURCE_DESC` at an address.
pub(crate) fn texels<F: ElementFormat>(resource: u64) -> Result<Texels, Error> {
    // `cudaResourceType` and `CUresourcetype`: array, mipmapped array, linear memory, rows.
    match In::<i32>::at_number(resource).get()? {
        0 => {
            let ArrayTexels { array: handle, .. } = In::at_number(resource).get()?;
            Ok(Texels::Array(array(handle)?))
        }
        1 => {
            let LevelTexels { mipmap, .. } = In::at_number(resource).get()?;
            Texels::of_levels(mipmaps::levels(mipmap)?)
        }
        2 => {
            let memory: LinearMemory<F> = In::at_number(resource).get()?;
            let LinearMemory { address, format, bytes, .. } = memory;
            Ok(Texels::Linear { address, bytes, format: format.format()? })
        }
        3 => {
            let memory: PitchedMemory<F> = In::at_number(resource).get()?;
            let PitchedMemory { address, format, width, height, pitch, .. } = memory;
            Ok(Texels::Rows { address, width, height, pitch, format: format.format()? })
        }
        _ => Err(Error::InvalidValue),
    }
}

/// Makes an object, and writes its handle.
pub(crate) fn create(handle: Out<u64>, object: Object) -> Result<(), Error> {
    handle.check()?;
    handle.put(on_device(|device| device.create_object(object))?)
}

/// Removes an object.
pub(crate) fn destroy(handle: u64) -> Result<(), Error> {
    on_device(|device| device.destroy_object(handle))
}
