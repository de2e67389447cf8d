//! Texture and surface objects.

use gpucast_host::Error;
use gpucast_interpreter::texture::Object;

use super::arrays::ArrayFormat;
use super::driver_functions;
use crate::abi::{In, Out};
use crate::both::textures;
use crate::both::views::{View, viewed};
use crate::texture::{self, LevelReading, Reading, Texels, by_flags};

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Description {
    address: [i32; 3],
    filter: i32,
    flags: u32,
    _anisotropy: u32,
    level_filter: i32,
    level_bias: f32,
    level_clamp: [f32; 2],
    border: [f32; 4],
}

driver_functions! {
    /// Describes a texture to kernels.
    fn cuTexObjectCreate(
        object: Out<u64>,
        resource: u64,
        description: In<Description>,
        view: In<View>,
    ) {
        let Description { address, filter, flags, border, .. } = description.get()?;
        let Description { level_filter, level_bias: bias, level_clamp: clamp, .. } =
            description.get()?;
        let levels = LevelReading { filter: level_filter, bias, clamp };
        let texels = viewed(textures::texels::<ArrayFormat>(resource)?, view)?;
        let by_flags = by_flags(flags, texels.format());
        let reading = Reading { address, filter, border, levels, ..by_flags };
        textures::create(object, Object::Texture(texture::texture(texels, &reading)?))
    }

    /// The texture is not used any more.
    fn cuTexObjectDestroy(object: u64) { textures::destroy(object) }

    /// Describes a surface to kernels.
    fn cuSurfObjectCreate(object: Out<u64>, resource: u64) {
        let Texels::Array(array) = textures::texels::<ArrayFormat>(resource)? else { return Err(Error::InvalidValue) };
        textures::create(object, Object::Surface(texture::surface(&array)?))
    }

    /// The surface is not used any more.
    fn cuSurfObjectDestroy(object: u64) { textures::destroy(object) }
}
