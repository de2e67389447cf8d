//! Texture and surface objects.

use gpucast_host::Error;
use gpucast_interpreter::texture::Object;

use super::arrays::ArrayFormat;
use super::driver_functions;
use crate::abi::{In, Out};
use crate::both::arrays::{ArrayHandle, array};
use crate::both::textures;
use crate::texture::{self, Reading, Texels, by_flags, not_executed};

/// `CUDA_RESOURCE_DESC` of an array.
#[repr(C)]
#[derive(Clone, Copy)]
struct ArrayTexels {
    kind: i32,
    array: ArrayHandle,
}

/// `CUDA_RESOURCE_DESC` of linear memory.
#[repr(C)]
#[derive(Clone, Copy)]
struct LinearMemory {
    kind: i32,
    address: u64,
    format: ArrayFormat,
    bytes: usize,
}

/// `CUDA_RESOURCE_DESC` of rows.
#[repr(C)]
#[derive(Clone, Copy)]
struct PitchedMemory {
    kind: i32,
    address: u64,
    format: ArrayFormat,
    width: usize,
    height: usize,
    pitch: usize,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Description {
    address: [i32; 3],
    filter: i32,
    flags: u32,
    /// Anisotropy and levels, which textures of one level do not need.
    _levels: [u32; 5],
    border: [f32; 4],
}

/// The texels of a `CUDA_RESOURCE_DESC` at an address.
fn texels(resource: u64) -> Result<Texels, Error> {
    // `CUresourcetype`: array, mipmapped array, linear memory, rows.
    match In::<i32>::at_number(resource).get()? {
        0 => {
            let ArrayTexels { array: handle, .. } = In::at_number(resource).get()?;
            Ok(Texels::Array(array(handle)?))
        }
        1 => not_executed("an array of several levels"),
        2 => {
            let LinearMemory { address, format, bytes, .. } = In::at_number(resource).get()?;
            Ok(Texels::Linear { address, bytes, format: format.format()? })
        }
        3 => {
            let memory: PitchedMemory = In::at_number(resource).get()?;
            let PitchedMemory { address, format, width, height, pitch, .. } = memory;
            Ok(Texels::Rows { address, width, height, pitch, format: format.format()? })
        }
        _ => Err(Error::InvalidValue),
    }
}

driver_functions! {
    /// Describes a texture to kernels.
    fn cuTexObjectCreate(
        object: Out<u64>,
        resource: u64,
        description: In<Description>,
        view: In<u8>,
    ) {
        if !view.is_null() {
            return not_executed("a view of its own");
        }
        let Description { address, filter, flags, border, .. } = description.get()?;
        let texels = texels(resource)?;
        let reading = Reading { address, filter, border, ..by_flags(flags, texels.format()) };
        textures::create(object, Object::Texture(texture::texture(texels, &reading)?))
    }

    /// The texture is not used any more.
    fn cuTexObjectDestroy(object: u64) { textures::destroy(object) }

    /// Describes a surface to kernels.
    fn cuSurfObjectCreate(object: Out<u64>, resource: u64) {
        let Texels::Array(array) = texels(resource)? else { return Err(Error::InvalidValue) };
        textures::create(object, Object::Surface(texture::surface(&array)?))
    }

    /// The surface is not used any more.
    fn cuSurfObjectDestroy(object: u64) { textures::destroy(object) }
}
