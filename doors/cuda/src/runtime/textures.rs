//! Texture and surface objects.

use gpucast_host::Error;
use gpucast_interpreter::texture::{Channel, Format, Object, Texture};

use super::runtime_functions;
use crate::abi::{In, Out};
use crate::both::textures::{self, ElementFormat};
use crate::both::views::{View, viewed};
use crate::texture::{self, LevelReading, Reading, Texels, not_executed};

/// `cudaChannelFormatDesc`: bits of each channel, and their kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ChannelFormat {
    pub(super) bits: [i32; 4],
    pub(super) kind: i32,
}

/// `cudaTextureDesc`, without the last fields, which say how exact filters are and join faces of
/// cubes.
#[repr(C)]
#[derive(Clone, Copy)]
struct TextureDescription {
    address: [i32; 3],
    filter: i32,
    read_mode: i32,
    srgb: i32,
    border: [f32; 4],
    normalized: i32,
    _anisotropy: u32,
    level_filter: i32,
    level_bias: f32,
    level_clamp: [f32; 2],
}

// `cudaChannelFormatKind`.
const SIGNED: i32 = 0;
const UNSIGNED: i32 = 1;
const FLOAT: i32 = 2;

impl ElementFormat for ChannelFormat {
    fn format(self) -> Result<Format, Error> {
        let channels = self.bits.iter().take_while(|&&bits| bits > 0).count();
        let alike = self.bits[..channels].iter().all(|bits| *bits == self.bits[0]);
        if !alike || self.bits[channels..].iter().any(|&bits| bits != 0) {
            return Err(Error::InvalidValue);
        }
        let channel = match (self.kind, self.bits[0]) {
            (SIGNED, 8) => Channel::S8,
            (SIGNED, 16) => Channel::S16,
            (SIGNED, 32) => Channel::S32,
            (UNSIGNED, 8) => Channel::U8,
            (UNSIGNED, 16) => Channel::U16,
            (UNSIGNED, 32) => Channel::U32,
            (FLOAT, 16) => Channel::F16,
            (FLOAT, 32) => Channel::F32,
            (SIGNED..=FLOAT, _) => return Err(Error::InvalidValue),
            _ => return not_executed("a packed or compressed format"),
        };
        Ok(Format::new(channel, channels as u8))
    }
}

impl ChannelFormat {
    /// The description of a format.
    pub(super) fn of(format: Format) -> Self {
        let kind = match format.channel {
            channel if channel.is_float() => FLOAT,
            channel if channel.is_signed() => SIGNED,
            _ => UNSIGNED,
        };
        let width = format.channel.bytes() as i32 * 8;
        let bits = [0, 1, 2, 3].map(|index| if index < format.channels { width } else { 0 });
        Self { bits, kind }
    }
}

impl From<TextureDescription> for Reading {
    fn from(description: TextureDescription) -> Self {
        Self {
            address: description.address,
            filter: description.filter,
            normalized: description.normalized != 0,
            fractions: description.read_mode == 1,
            srgb: description.srgb != 0,
            border: description.border,
            levels: LevelReading {
                filter: description.level_filter,
                bias: description.level_bias,
                clamp: description.level_clamp,
            },
        }
    }
}

/// The texture that the structures at `resource`, `description` and `view` describe.
fn texture(
    resource: u64,
    description: In<TextureDescription>,
    view: In<View>,
) -> Result<Texture, Error> {
    let texels = viewed(textures::texels::<ChannelFormat>(resource)?, view)?;
    texture::texture(texels, &description.get()?.into())
}

runtime_functions! {
    /// Describes a texture to kernels.
    fn cudaCreateTextureObject(
        object: Out<u64>,
        resource: u64,
        description: In<TextureDescription>,
        view: In<View>,
    ) {
        textures::create(object, Object::Texture(texture(resource, description, view)?))
    }

    /// The texture is not used any more.
    fn cudaDestroyTextureObject(object: u64) { textures::destroy(object) }

    /// Describes a surface to kernels.
    fn cudaCreateSurfaceObject(object: Out<u64>, resource: u64) {
        let Texels::Array(array) = textures::texels::<ChannelFormat>(resource)? else { return Err(Error::InvalidValue) };
        textures::create(object, Object::Surface(texture::surface(&array)?))
    }

    /// The surface is not used any more.
    fn cudaDestroySurfaceObject(object: u64) { textures::destroy(object) }
}

#[cfg(test)]
mod tests {
    use gpucast_interpreter::texture::{AddressMode, Filter, Resource};

    use super::*;

    fn description() -> TextureDescription {
        TextureDescription {
            address: [0, 1, 3],
            filter: 1,
            read_mode: 0,
            srgb: 0,
            border: [0.5; 4],
            normalized: 1,
            _anisotropy: 0,
            level_filter: 0,
            level_bias: 0.0,
            level_clamp: [0.0; 2],
        }
    }

    fn read(resource: &[u64; 9], description: &TextureDescription) -> Result<Texture, Error> {
        let place = std::ptr::from_ref(description).cast::<u8>();
        texture(
            resource.as_ptr().expose_provenance() as u64,
            In::at_address(place),
            In::at_number(0),
        )
    }

    /// The words of the structures as C lays them out: the kind, the address, the bits of four
    /// channels and their kind, then sizes.
    #[test]
    fn structures_of_c_become_textures() {
        let one_float = [32, 0, 2];
        let linear = [2, 0x1000, one_float[0], one_float[1], one_float[2], 256, 0, 0, 0];
        let found = read(&linear, &description()).unwrap();
        assert_eq!(found.format, Format::new(Channel::F32, 1));
        assert_eq!(found.resource, Resource::linear(0x1000, 64, found.format));
        assert_eq!(found.sampler.filter, Filter::Nearest);

        let two_bytes = [8 | 8 << 32, 0, 1];
        let rows = [3, 0x2000, two_bytes[0], two_bytes[1], two_bytes[2], 10, 4, 512, 0];
        let scaled = TextureDescription { read_mode: 1, ..description() };
        let found = read(&rows, &scaled).unwrap();
        let format = Format { normalized: true, ..Format::new(Channel::U8, 2) };
        assert_eq!(found.format, format);
        assert_eq!(found.resource.extent, [10, 4, 1]);
        assert_eq!((found.resource.row_pitch, found.resource.address), (512, 0x2000));
        let modes = [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Border];
        assert_eq!((found.sampler.address, found.sampler.filter), (modes, Filter::Linear));
        let colours = TextureDescription { srgb: 1, ..scaled };
        assert_eq!(read(&rows, &colours).unwrap().format, Format { srgb: true, ..format });
        let plain = TextureDescription { normalized: 0, ..scaled };
        assert_eq!(read(&rows, &plain).unwrap().sampler.address[0], AddressMode::Clamp);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert_eq!(read(&[1; 9], &description()), Err(Error::InvalidHandle), "no mipmapped array");
        let colours = TextureDescription { srgb: 1, ..description() };
        assert_eq!(read(&[2, 0, 32, 0, 2, 64, 0, 0, 0], &colours), Err(Error::NotSupported));
        assert_eq!(read(&[9; 9], &description()), Err(Error::InvalidValue));
        let uneven = [2, 0, 8 | 16 << 32, 0, 1, 256, 0, 0, 0];
        assert_eq!(read(&uneven, &description()), Err(Error::InvalidValue));
    }
}
