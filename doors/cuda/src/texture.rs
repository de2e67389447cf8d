//! What both interfaces say of textures and surfaces, in structures of their own.

use gpucast_host::{Array, ArrayShape, Error};
use gpucast_interpreter::texture::{
    AddressMode, Channel, Filter, Format, Mipmap, Object, Resource, Sampler, Surface, Texture,
};

use crate::notices;

/// A number of elements.
pub(crate) fn elements(count: usize) -> Result<u32, Error> {
    u32::try_from(count).map_err(|_| Error::InvalidValue)
}

/// Says what is not there, and refuses it.
pub(crate) fn not_executed<T>(what: &str) -> Result<T, Error> {
    notices::once(&format!("a texture has {what}, which gpucast does not execute"));
    Err(Error::NotSupported)
}

/// The texels of a texture.
#[derive(Clone)]
pub(crate) enum Texels {
    /// Linear memory.
    Linear { address: u64, bytes: usize, format: Format },
    /// Rows with a pitch in bytes.
    Rows { address: u64, width: usize, height: usize, pitch: usize, format: Format },
    /// An array.
    Array(Array),
    /// A mipmapped array: its largest level, and the others.
    Levels(Array, Vec<Array>),
}

impl Texels {
    /// Those of the levels of a mipmapped array, the largest first.
    pub(crate) fn of_levels(levels: impl IntoIterator<Item = Array>) -> Result<Self, Error> {
        let mut levels = levels.into_iter();
        let largest = levels.next().ok_or(Error::InvalidValue)?;
        Ok(Self::Levels(largest, levels.collect()))
    }

    /// Their format, with whole numbers as they are.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Linear { format, .. } | Self::Rows { format, .. } => *format,
            Self::Array(array) | Self::Levels(array, _) => array.shape.format,
        }
    }
}

/// How a texture is read. Numbers are those of `cudaTextureAddressMode` and
/// `cudaTextureFilterMode`, which the driver shares.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) address: [i32; 3],
    pub(crate) filter: i32,
    /// The extents count as 1.
    pub(crate) normalized: bool,
    /// Whole numbers are read as fractions of the greatest one.
    pub(crate) fractions: bool,
    pub(crate) srgb: bool,
    pub(crate) border: [f32; 4],
    pub(crate) levels: LevelReading,
}

/// How the levels of a mipmapped array are read.
#[derive(Clone, Copy)]
pub(crate) struct LevelReading {
    pub(crate) filter: i32,
    pub(crate) bias: f32,
    /// The least level and the greatest.
    pub(crate) clamp: [f32; 2],
}

impl LevelReading {
    /// What a structure of zeros says: level 0 alone.
    pub(crate) const ZERO: Self = Self { filter: 0, bias: 0.0, clamp: [0.0; 2] };

    fn mipmap(&self) -> Result<Mipmap, Error> {
        Ok(Mipmap { filter: filter(self.filter)?, bias: self.bias, clamp: self.clamp })
    }
}

/// The filter of a number.
pub(crate) fn filter(number: i32) -> Result<Filter, Error> {
    match number {
        0 => Ok(Filter::Nearest),
        1 => Ok(Filter::Linear),
        _ => Err(Error::InvalidValue),
    }
}

impl Reading {
    /// The sampler. Coordinates that are not normalised do not wrap: they are clamped.
    fn sampler(&self) -> Result<Sampler, Error> {
        let normalized = self.normalized;
        let mut address = [AddressMode::Clamp; 3];
        for (mode, number) in address.iter_mut().zip(self.address) {
            *mode = match number {
                0 if normalized => AddressMode::Wrap,
                2 if normalized => AddressMode::Mirror,
                0..=2 => AddressMode::Clamp,
                3 => AddressMode::Border,
                _ => return Err(Error::InvalidValue),
            };
        }
        let filter = filter(self.filter)?;
        let (border, mipmap) = (self.border, Mipmap::default());
        Ok(Sampler { filter, address, normalized, border, compare: None, mipmap })
    }
}

/// The texture of some texels, read in some way.
pub(crate) fn texture(texels: Texels, reading: &Reading) -> Result<Texture, Error> {
    if reading.srgb && !(reading.fractions && texels.format().channel == Channel::U8) {
        return not_executed("colours of sRGB that are no fractions of 8 bits");
    }
    let sampler = reading.sampler()?;
    let read = |format: Format| Format {
        normalized: reading.fractions && !format.channel.is_float(),
        srgb: reading.srgb,
        ..format
    };
    Ok(match texels {
        Texels::Linear { address, bytes, format } => {
            let texel = (format.bytes() as usize).max(1);
            let resource = Resource::linear(address, elements(bytes / texel)?, format);
            // The manual: filters and modes have no meaning here.
            let sampler = Sampler { filter: Filter::Nearest, ..sampler };
            Texture::new(resource, read(format), sampler)
        }
        Texels::Rows { address, width, height, pitch, format } => {
            let extent = [elements(width)?, elements(height)?, 1];
            let dense = Resource::dense(address, extent, 1, format);
            let row_pitch = pitch as u64;
            let slice_pitch = row_pitch.saturating_mul(u64::from(extent[1]));
            let resource = Resource { row_pitch, slice_pitch, ..dense };
            Texture::new(resource, read(format), sampler)
        }
        Texels::Array(array) => Texture::new(array.resource, read(array.shape.format), sampler),
        Texels::Levels(Array { shape, resource }, smaller) => {
            let sampler = Sampler { mipmap: reading.levels.mipmap()?, ..sampler };
            let smaller = smaller.into_iter().map(|level| level.resource).collect();
            Texture { resource, smaller, format: read(shape.format), sampler }
        }
    })
}

/// The surface of an array.
pub(crate) fn surface(array: &Array) -> Result<Surface, Error> {
    if array.shape.flags & ArrayShape::SURFACE == 0 {
        notices::once("a surface needs an array that was made for surfaces (SurfaceLoadStore)");
        return Err(Error::InvalidValue);
    }
    Ok(Surface { resource: array.resource, format: array.shape.format })
}

// `CU_TRSF_*`.
const READ_AS_INTEGER: u32 = 1;
const NORMALIZED_COORDINATES: u32 = 2;
const SRGB: u32 = 0x10;

/// How texels of a format are read, without address modes, filters and levels.
pub(crate) fn by_flags(flags: u32, format: Format) -> Reading {
    Reading {
        address: [1; 3],
        filter: 0,
        normalized: flags & NORMALIZED_COORDINATES != 0,
        // Numbers of 32 bits stay as they are.
        fractions: flags & READ_AS_INTEGER == 0 && format.channel.bytes() < 4,
        srgb: flags & SRGB != 0,
        border: [0.0; 4],
        levels: LevelReading::ZERO,
    }
}

/// What a program has said of a texture reference.
#[derive(Clone)]
pub(crate) struct TextureReference {
    pub(crate) texels: Option<Texels>,
    /// The format of linear memory.
    pub(crate) format: Format,
    pub(crate) address: [i32; 3],
    pub(crate) filter: i32,
    pub(crate) flags: u32,
    pub(crate) border: [f32; 4],
    pub(crate) levels: LevelReading,
}

impl TextureReference {
    /// A reference of which nothing was said: coordinates are clamped.
    pub(crate) const NEW: Self = Self {
        texels: None,
        format: Format::new(Channel::F32, 1),
        address: [1; 3],
        filter: 0,
        flags: 0,
        border: [0.0; 4],
        levels: LevelReading::ZERO,
    };

    /// What the variable stands for.
    pub(crate) fn object(&self) -> Result<Option<Object>, Error> {
        let Some(texels) = self.texels.clone() else { return Ok(None) };
        let texels = match texels {
            Texels::Linear { address, bytes, .. } => {
                Texels::Linear { address, bytes, format: self.format }
            }
            others => others,
        };
        let Self { address, filter, flags, border, levels, .. } = *self;
        let reading =
            Reading { address, filter, border, levels, ..by_flags(flags, texels.format()) };
        Ok(Some(Object::Texture(texture(texels, &reading)?)))
    }
}
