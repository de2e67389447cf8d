//! Textures and surfaces that are bound to variables of modules, as programs before CUDA 12 do.
//!
//! A reference is known by the address of its variable. Each call changes one of its properties.
//! What it stands for is made at the next launch.

use gpucast_host::Error;
use gpucast_interpreter::texture::Object;

use super::arrays::{ArrayFormat, Description};
use super::driver_functions;
use super::modules::{ModuleHandle, module};
use crate::abi::{In, Out, Text};
use crate::both::arrays::{ArrayHandle, array};
use crate::both::mipmaps::{self, MipmapHandle};
use crate::both::textures::ElementFormat;
use crate::state::{self, on_device};
use crate::texture::{self, Texels, TextureReference};

/// Changes the reference of a variable.
fn change(variable: u64, change: impl FnOnce(&mut TextureReference)) -> Result<(), Error> {
    state::with(|state| {
        let reference = state.references.get_mut(&variable).ok_or(Error::InvalidValue)?;
        let mut changed = reference.clone();
        change(&mut changed);
        let object = changed.object()?;
        *reference = changed;
        state.device()?.bind_variable(variable, object);
        Ok(())
    })
}

fn variable(of: ModuleHandle, name: Text) -> Result<u64, Error> {
    let name = name.get()?;
    Ok(on_device(|device| device.variable(module(of)?, name))?.address)
}

driver_functions! {
    /// The texture reference of a module's variable.
    fn cuModuleGetTexRef(reference: Out<u64>, of: ModuleHandle, name: Text) {
        let variable = variable(of, name)?;
        state::with(|state| {
            state.references.entry(variable).or_insert(TextureReference::NEW);
            Ok(())
        })?;
        reference.put(variable)
    }

    /// Binds linear memory. Every aligned address will do, so that the offset is 0.
    fn cuTexRefSetAddress_v2(offset: Out<usize>, reference: u64, address: u64, bytes: usize) {
        offset.maybe_put(0);
        change(reference, |reference| {
            let format = reference.format;
            reference.texels = Some(Texels::Linear { address, bytes, format });
        })
    }

    /// Binds rows.
    fn cuTexRefSetAddress2D_v3(
        reference: u64,
        description: In<Description>,
        address: u64,
        pitch: usize,
    ) {
        let Description { width, height, format } = description.get()?;
        let format = format.format()?;
        let texels = Texels::Rows { address, width, height, pitch, format };
        change(reference, |reference| reference.texels = Some(texels))
    }

    /// Binds an array, with its format.
    fn cuTexRefSetArray(reference: u64, handle: ArrayHandle, _flags: u32) {
        let array = array(handle)?;
        change(reference, |reference| reference.texels = Some(Texels::Array(array)))
    }

    /// Binds a mipmapped array, with its format.
    fn cuTexRefSetMipmappedArray(reference: u64, handle: MipmapHandle, _flags: u32) {
        let texels = Texels::of_levels(mipmaps::levels(handle)?)?;
        change(reference, |reference| reference.texels = Some(texels))
    }

    /// How values are made of levels.
    fn cuTexRefSetMipmapFilterMode(reference: u64, filter: i32) {
        texture::filter(filter)?;
        change(reference, |reference| reference.levels.filter = filter)
    }

    /// What is added to the level that a kernel asks for.
    fn cuTexRefSetMipmapLevelBias(reference: u64, bias: f32) {
        change(reference, |reference| reference.levels.bias = bias)
    }

    /// The least level and the greatest.
    fn cuTexRefSetMipmapLevelClamp(reference: u64, least: f32, most: f32) {
        change(reference, |reference| reference.levels.clamp = [least, most])
    }

    /// The most texels along a long gradient: whatever is asked for, one is taken.
    fn cuTexRefSetMaxAnisotropy(reference: u64, _most: u32) { change(reference, |_| {}) }

    /// The format of linear memory.
    fn cuTexRefSetFormat(reference: u64, number: i32, channels: u32) {
        let format = ArrayFormat { number, channels }.format()?;
        change(reference, |reference| reference.format = format)
    }

    /// The meaning of coordinates outside, along one axis.
    fn cuTexRefSetAddressMode(reference: u64, axis: i32, mode: i32) {
        let axis = usize::try_from(axis).ok().filter(|&axis| axis < 3).ok_or(Error::InvalidValue)?;
        change(reference, |reference| reference.address[axis] = mode)
    }

    /// How values are made of texels.
    fn cuTexRefSetFilterMode(reference: u64, filter: i32) {
        texture::filter(filter)?;
        change(reference, |reference| reference.filter = filter)
    }

    /// How coordinates and whole numbers are read.
    fn cuTexRefSetFlags(reference: u64, flags: u32) {
        change(reference, |reference| reference.flags = flags)
    }

    /// The colour outside.
    fn cuTexRefSetBorderColor(reference: u64, colour: In<[f32; 4]>) {
        let colour = colour.get()?;
        change(reference, |reference| reference.border = colour)
    }

    /// The surface reference of a module's variable.
    fn cuModuleGetSurfRef(reference: Out<u64>, of: ModuleHandle, name: Text) {
        reference.put(variable(of, name)?)
    }

    /// Binds an array to a surface.
    fn cuSurfRefSetArray(reference: u64, handle: ArrayHandle, _flags: u32) {
        let surface = texture::surface(&array(handle)?)?;
        on_device(|device| {
            device.bind_variable(reference, Some(Object::Surface(surface)));
            Ok(())
        })
    }
}
