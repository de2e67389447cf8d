//! Textures and surfaces that programs for CUDA 11 and older bind to variables.
//!
//! nvcc registers such a variable with the structure on the host that says how it is read. The
//! program fills the structure, then binds memory or an array.

use gpucast_host::Error;
use gpucast_interpreter::texture::{Format, LARGEST_EXTENT, Object};

use super::textures::ChannelFormat;
use super::{plain_functions, runtime_functions};
use crate::abi::{In, Out, Text};
use crate::both::arrays::{ArrayHandle, array};
use crate::both::mipmaps::{self, MipmapHandle};
use crate::both::textures::ElementFormat;
use crate::state::{self, on_device};
use crate::texture::{self, LevelReading, Reading, Texels};

/// `textureReference`, without the last field, which says how exact filters are.
#[repr(C)]
#[derive(Clone, Copy)]
struct Reference {
    normalized: i32,
    filter: i32,
    address: [i32; 3],
    format: ChannelFormat,
    srgb: i32,
    _anisotropy: u32,
    level_filter: i32,
    level_bias: f32,
    level_clamp: [f32; 2],
}

/// Lets a variable stand for texels, read as the host's structure says. The border's colour of a
/// reference is zero.
fn bind(host: u64, texels: Texels) -> Result<(), Error> {
    let (variable, fractions) = state::with(|state| state.texture(host))?;
    let reference: Reference = In::at_number(host).get()?;
    let reading = Reading {
        address: reference.address,
        filter: reference.filter,
        normalized: reference.normalized != 0,
        fractions,
        srgb: reference.srgb != 0,
        border: [0.0; 4],
        levels: LevelReading {
            filter: reference.level_filter,
            bias: reference.level_bias,
            clamp: reference.level_clamp,
        },
    };
    let texture = texture::texture(texels, &reading)?;
    on_device(|device| {
        device.bind_variable(variable.address, Some(Object::Texture(texture)));
        Ok(())
    })
}

/// Lets a variable stand for nothing.
fn unbind(host: u64) -> Result<(), Error> {
    let (variable, _) = state::with(|state| state.texture(host))?;
    on_device(|device| {
        device.bind_variable(variable.address, None);
        Ok(())
    })
}

/// Bytes of a texture over linear memory: those that are wanted, but not beyond the block.
/// `cudaBindTexture` wants 4 GiB unless it is told.
fn linear_bytes(address: u64, wanted: usize, format: Format) -> Result<usize, Error> {
    let block = on_device(|device| device.block(address).ok_or(Error::InvalidValue))?;
    let left = (block.bytes - (address - block.address)) as usize;
    let most = LARGEST_EXTENT as usize * format.bytes() as usize;
    Ok(wanted.min(left).min(most))
}

runtime_functions! {
    /// Binds linear memory. Every aligned address will do, so that the offset is 0.
    fn cudaBindTexture(
        offset: Out<usize>,
        reference: u64,
        address: u64,
        format: In<ChannelFormat>,
        bytes: usize,
    ) {
        let format = format.get()?.format()?;
        let bytes = linear_bytes(address, bytes, format)?;
        bind(reference, Texels::Linear { address, bytes, format })?;
        offset.maybe_put(0);
        Ok(())
    }

    /// Binds rows with a pitch.
    fn cudaBindTexture2D(
        offset: Out<usize>,
        reference: u64,
        address: u64,
        format: In<ChannelFormat>,
        width: usize,
        height: usize,
        pitch: usize,
    ) {
        let format = format.get()?.format()?;
        bind(reference, Texels::Rows { address, width, height, pitch, format })?;
        offset.maybe_put(0);
        Ok(())
    }

    /// Binds an array.
    fn cudaBindTextureToArray(reference: u64, handle: ArrayHandle, format: In<ChannelFormat>) {
        let array = array(handle)?;
        if format.get()?.format()? != array.shape.format {
            return Err(Error::InvalidValue);
        }
        bind(reference, Texels::Array(array))
    }

    /// Binds a mipmapped array.
    fn cudaBindTextureToMipmappedArray(
        reference: u64,
        handle: MipmapHandle,
        format: In<ChannelFormat>,
    ) {
        let texels = Texels::of_levels(mipmaps::levels(handle)?)?;
        if format.get()?.format()? != texels.format() {
            return Err(Error::InvalidValue);
        }
        bind(reference, texels)
    }

    /// Binds nothing any more.
    fn cudaUnbindTexture(reference: u64) { unbind(reference) }

    /// The offset of a bound texture.
    fn cudaGetTextureAlignmentOffset(offset: Out<usize>, reference: u64) {
        state::with(|state| state.texture(reference))?;
        offset.put(0)
    }

    /// The structure of a variable: the variable itself.
    fn cudaGetTextureReference(reference: Out<u64>, symbol: u64) {
        state::with(|state| state.texture(symbol))?;
        reference.put(symbol)
    }

    /// Binds an array to a surface.
    fn cudaBindSurfaceToArray(reference: u64, handle: ArrayHandle, format: In<ChannelFormat>) {
        let array = array(handle)?;
        if format.get()?.format()? != array.shape.format {
            return Err(Error::InvalidValue);
        }
        let surface = texture::surface(&array)?;
        let (variable, _) = state::with(|state| state.texture(reference))?;
        on_device(|device| {
            device.bind_variable(variable.address, Some(Object::Surface(surface)));
            Ok(())
        })
    }

    /// The structure of a variable: the variable itself.
    fn cudaGetSurfaceReference(reference: Out<u64>, symbol: u64) {
        state::with(|state| state.texture(symbol))?;
        reference.put(symbol)
    }
}

plain_functions! {
    /// A texture variable, by the address of its structure on the host. `fractions` says that whole
    /// numbers are read as such.
    fn __cudaRegisterTexture(
        handle: In<u64>,
        host: u64,
        _device: u64,
        name: Text,
        _dimensions: i32,
        fractions: i32,
        _external: i32,
    ) {
        let Ok(name) = name.get() else { return };
        super::registration::registered(handle, |state, image| {
            state.register_texture(image, host, name, fractions != 0);
        });
    }

    /// A surface variable, by the address of its structure on the host.
    fn __cudaRegisterSurface(
        handle: In<u64>,
        host: u64,
        _device: u64,
        name: Text,
        _dimensions: i32,
        _external: i32,
    ) {
        let Ok(name) = name.get() else { return };
        super::registration::registered(handle, |state, image| {
            state.register_texture(image, host, name, false);
        });
    }
}
