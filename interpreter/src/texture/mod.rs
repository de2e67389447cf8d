//! Textures, samplers and surfaces: the objects that handles stand for.
//!
//! A handle is an opaque number of 64 bits, as `cudaTextureObject_t` is. The device memory keeps
//! one table of the objects ([`Textures`]), because an object describes a part of that memory. Host
//! programs and launch files make objects; kernels only name them. A `.texref`, `.samplerref` or
//! `.surfref` variable has an address, and the table says which handle is bound to it.
//!
//! A resource is rows of texels at regular distances. Arrays, whose layout NVIDIA does not publish,
//! are kept row by row too (`docs/evidence/ptx-choices.md`).

mod cube;
mod format;
mod levels;
mod mipmap;
mod sampling;

use std::collections::HashMap;

pub use format::{Channel, Format};
pub(crate) use levels::Detail;
pub use levels::{level_extent, most_levels};
pub use mipmap::{Filter, Mipmap};
pub use sampling::{AddressMode, Comparison, Sampler};
pub(crate) use sampling::{Coordinates, Footprint, Geometry, Lookup, Plane};

/// The upper bits of handles; no buffer has such an address.
const HANDLE_TAG: u64 = 0x7e58_0000_0000_0000;

/// Buffers of module variables are labelled with this and the variable's name.
const VARIABLE_LABEL: &str = "module variable ";

/// The most texels along one extent: the largest that any GPU allows for linear memory (CUDA C++
/// programming guide, table of technical specifications).
pub const LARGEST_EXTENT: u32 = 1 << 28;

/// The most samples of a pixel.
pub const MOST_SAMPLES: u32 = 32;

/// The texels of a texture or surface: where they are in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Device address of the first texel.
    pub address: u64,
    /// Texels of a row, rows of a slice, and slices of a layer; at least one each.
    pub extent: [u32; 3],
    /// Layers, at least one; a cube map has six for each cube.
    pub layers: u32,
    /// Samples of a texel, one behind the other; 1 unless kernels read it as `.2dms`.
    pub samples: u32,
    /// Bytes from one row to the next.
    pub row_pitch: u64,
    /// Bytes from one slice or layer to the next.
    pub slice_pitch: u64,
    /// True for linear memory without rows, which has no filter and no address modes.
    pub is_linear: bool,
}

impl Resource {
    /// Rows, slices and layers that follow one another without gaps.
    #[must_use]
    pub fn dense(address: u64, extent: [u32; 3], layers: u32, format: Format) -> Self {
        let row_pitch = u64::from(extent[0]) * u64::from(format.bytes());
        let slice_pitch = row_pitch.saturating_mul(u64::from(extent[1]));
        Self { address, extent, layers, samples: 1, row_pitch, slice_pitch, is_linear: false }
    }

    /// Layers of dense rows of pixels, each of `samples` texels.
    #[must_use]
    pub fn multisampled(
        address: u64,
        [width, height]: [u32; 2],
        layers: u32,
        samples: u32,
        format: Format,
    ) -> Self {
        let dense = Self::dense(address, [width, height, 1], layers, format);
        let row_pitch = dense.row_pitch.saturating_mul(u64::from(samples));
        let slice_pitch = row_pitch.saturating_mul(u64::from(height));
        Self { samples, row_pitch, slice_pitch, ..dense }
    }

    /// Linear memory of `texels` texels.
    #[must_use]
    pub fn linear(address: u64, texels: u32, format: Format) -> Self {
        Self { is_linear: true, ..Self::dense(address, [texels, 1, 1], 1, format) }
    }

    /// Bytes from the first texel to the end of the last one.
    #[must_use]
    pub fn bytes(&self, format: Format) -> u64 {
        let slices = u64::from(self.extent[2]) * u64::from(self.layers);
        let slices = slices.saturating_sub(1).saturating_mul(self.slice_pitch);
        let rows = u64::from(self.extent[1]).saturating_sub(1).saturating_mul(self.row_pitch);
        slices.saturating_add(rows).saturating_add(self.row_bytes(format))
    }

    /// Bytes of the texels of a row.
    fn row_bytes(&self, format: Format) -> u64 {
        let texels = u64::from(self.extent[0]) * u64::from(self.samples);
        texels.saturating_mul(u64::from(format.bytes()))
    }

    /// The address of the row `y` of slice `z` of a layer.
    pub(crate) fn row(&self, [y, z]: [u32; 2], layer: u32) -> u64 {
        let slice = u64::from(layer) * u64::from(self.extent[2]) + u64::from(z);
        let offset =
            slice.wrapping_mul(self.slice_pitch).wrapping_add(u64::from(y) * self.row_pitch);
        self.address.wrapping_add(offset)
    }

    fn check(&self, format: Format) -> Result<(), BadTexture> {
        if self.extent.iter().any(|&extent| extent == 0 || extent > LARGEST_EXTENT)
            || self.layers == 0
        {
            return Err(BadTexture::Extent { largest: LARGEST_EXTENT });
        }
        let is_plane = self.extent[2] == 1 && !self.is_linear;
        if self.samples == 0 || self.samples > MOST_SAMPLES || self.samples > 1 && !is_plane {
            return Err(BadTexture::Samples { most: MOST_SAMPLES });
        }
        let texel = u64::from(format.bytes());
        let row = self.row_bytes(format);
        let (has_rows, has_slices) = (self.extent[1] > 1, self.extent[2] > 1 || self.layers > 1);
        let slice = self.row_pitch.saturating_mul(u64::from(self.extent[1]));
        if (has_rows || has_slices)
            && (self.row_pitch < row || !self.row_pitch.is_multiple_of(texel))
        {
            return Err(BadTexture::Pitch { pitch: self.row_pitch, row, texel });
        }
        if has_slices && (self.slice_pitch < slice || !self.slice_pitch.is_multiple_of(texel)) {
            return Err(BadTexture::Pitch { pitch: self.slice_pitch, row: slice, texel });
        }
        if !self.address.is_multiple_of(texel) {
            return Err(BadTexture::Misaligned { address: self.address, texel });
        }
        Ok(())
    }
}

/// A texture: texels, their format, and how they are read unless the instruction names a sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// The texels; those of the largest level if there are several.
    pub resource: Resource,
    /// The further levels, each with half the extents of the one before.
    pub smaller: Vec<Resource>,
    /// Their format.
    pub format: Format,
    /// How they are read.
    pub sampler: Sampler,
}

impl Texture {
    /// A texture of one level.
    #[must_use]
    pub const fn new(resource: Resource, format: Format, sampler: Sampler) -> Self {
        Self { resource, smaller: Vec::new(), format, sampler }
    }
}

/// A surface: texels that kernels read and write by coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// The texels.
    pub resource: Resource,
    /// Their format.
    pub format: Format,
}

/// An object that a handle stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A texture.
    Texture(Texture),
    /// A sampler of its own (`.texmode_independent`).
    Sampler(Sampler),
    /// A surface.
    Surface(Surface),
}

/// Reason why an object cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTexture {
    /// An extent is zero or too large.
    #[error("each extent of a texture is from 1 to {largest} texels")]
    Extent {
        /// The largest extent in texels.
        largest: u32,
    },
    /// Rows or slices overlap, or texels are not aligned in them.
    #[error(
        "a pitch of {pitch} bytes is too small for {row} bytes, or no multiple of the texel's \
         {texel} bytes"
    )]
    Pitch {
        /// The pitch in bytes.
        pitch: u64,
        /// Bytes that must fit into it.
        row: u64,
        /// Bytes of a texel.
        texel: u64,
    },
    /// The first texel is not aligned to its size.
    #[error("the texture's address {address:#x} is no multiple of the texel's {texel} bytes")]
    Misaligned {
        /// The address.
        address: u64,
        /// Bytes of a texel.
        texel: u64,
    },
    /// Whole numbers have no mean.
    #[error("only floating-point or normalised texels can be filtered linearly")]
    FilteredIntegers,
    /// A format that no texture has.
    #[error(
        "a texel has 1, 2 or 4 channels, only those of 8 or 16 bits can be normalised, and colours \
         of sRGB are normalised channels of 8 bits"
    )]
    Format,
    /// Samples that no texture has.
    #[error("a texel has from 1 to {most} samples, and several only in two dimensions")]
    Samples {
        /// The largest number of samples.
        most: u32,
    },
    /// Depths that cannot be compared.
    #[error("depths that are compared are one channel of floating-point or normalised texels")]
    Depth,
    /// A surface of several samples.
    #[error("a surface has one sample for each texel")]
    SurfaceSamples,
    /// Wrapping and mirroring need to know the extent as 1.
    #[error("the address modes wrap and mirror need normalised coordinates")]
    NotNormalized,
    /// More levels than there are halves, or several of texels that have none.
    #[error(
        "a texture of these extents has from 1 to {most} levels, and one of linear memory or of \
         several samples has 1"
    )]
    Levels {
        /// The largest number of levels.
        most: usize,
    },
    /// A level that is no half of the one before.
    #[error("level {level} has not half the extents of the level before, or other layers")]
    LevelExtent {
        /// The number of the level.
        level: u32,
    },
    /// Coordinates that mean another place in each level.
    #[error("a texture of several levels needs normalised coordinates")]
    LevelsNotNormalized,
    /// Levels that nothing chooses.
    #[error("the least level must not be beyond the greatest one, and the bias must be finite")]
    LevelClamp,
}

/// The objects of a device.
#[derive(Clone, Debug, Default)]
pub struct Textures {
    objects: Vec<Option<Object>>,
    /// The handle that is bound to the variable at an address.
    at: HashMap<u64, u64>,
    /// The handle that is bound to the variable of a name, in memories without instances.
    named: HashMap<String, u64>,
}

impl Textures {
    /// The handle of the object that will be the `index`-th to be made.
    #[must_use]
    pub fn handle(index: usize) -> u64 {
        HANDLE_TAG + index as u64 + 1
    }

    /// Makes an object and returns its handle.
    ///
    /// # Errors
    ///
    /// [`BadTexture`] if no GPU reads such an object.
    pub fn create(&mut self, object: Object) -> Result<u64, BadTexture> {
        match &object {
            Object::Texture(texture) => {
                texture.format.check()?;
                texture.resource.check(texture.format)?;
                texture.sampler.check(Some(texture))?;
                texture.check_levels()?;
            }
            Object::Sampler(sampler) => sampler.check(None)?,
            Object::Surface(surface) => {
                surface.format.check()?;
                surface.resource.check(surface.format)?;
                if surface.resource.samples > 1 {
                    return Err(BadTexture::SurfaceSamples);
                }
            }
        }
        self.objects.push(Some(object));
        Ok(Self::handle(self.objects.len() - 1))
    }

    /// Removes an object. Returns false if there is none of this handle.
    pub fn destroy(&mut self, handle: u64) -> bool {
        let slot = Self::index(handle).and_then(|index| self.objects.get_mut(index));
        slot.is_some_and(|slot| slot.take().is_some())
    }

    /// Binds an object to the `.texref`, `.samplerref` or `.surfref` variable at a device address.
    pub fn bind(&mut self, address: u64, handle: u64) {
        self.at.insert(address, handle);
    }

    /// As [`Self::bind`], for the variable of a module that has no instance, by its name.
    pub fn bind_name(&mut self, name: &str, handle: u64) {
        self.named.insert(name.to_owned(), handle);
    }

    /// Undoes [`Self::bind`].
    pub fn unbind(&mut self, address: u64) {
        self.at.remove(&address);
    }

    /// The object of a handle.
    #[must_use]
    pub fn get(&self, handle: u64) -> Option<&Object> {
        self.objects.get(Self::index(handle)?)?.as_ref()
    }

    /// The handle that is bound to the variable at an address, whose name is given.
    pub(crate) fn bound(&self, address: u64, name: Option<&str>) -> Option<u64> {
        let by_name = || self.named.get(name?.strip_prefix(VARIABLE_LABEL)?);
        self.at.get(&address).or_else(by_name).copied()
    }

    fn index(handle: u64) -> Option<usize> {
        usize::try_from(handle.checked_sub(HANDLE_TAG + 1)?).ok()
    }
}

#[cfg(test)]
mod tests;
