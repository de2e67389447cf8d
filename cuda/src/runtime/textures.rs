//! Texture objects over linear memory and rows of it. Arrays are not there yet.

use gpucast_host::Error;
use gpucast_interpreter::texture::{
    AddressMode, Channel, Filter, Format, Resource, Sampler, Texture,
};

use super::runtime_functions;
use crate::abi::{In, Out};
use crate::notices;
use crate::state::on_device;

/// `cudaChannelFormatDesc`: bits of each channel, and their kind.
#[repr(C)]
#[derive(Clone, Copy)]
struct ChannelFormat {
    bits: [i32; 4],
    kind: i32,
}

/// `cudaResourceDesc` of linear memory.
#[repr(C)]
#[derive(Clone, Copy)]
struct LinearMemory {
    kind: i32,
    address: u64,
    format: ChannelFormat,
    bytes: usize,
}

/// `cudaResourceDesc` of rows.
#[repr(C)]
#[derive(Clone, Copy)]
struct PitchedMemory {
    kind: i32,
    address: u64,
    format: ChannelFormat,
    width: usize,
    height: usize,
    pitch: usize,
}

/// `cudaTextureDesc`, as far as textures of one level need it.
#[repr(C)]
#[derive(Clone, Copy)]
struct TextureDescription {
    address: [i32; 3],
    filter: i32,
    read_mode: i32,
    srgb: i32,
    border: [f32; 4],
    normalized: i32,
}

fn not_executed<T>(what: &str) -> Result<T, Error> {
    notices::once(&format!("a texture object has {what}, which gpucast does not execute"));
    Err(Error::NotSupported)
}

impl ChannelFormat {
    /// The format, with numbers up to 1 if `normalized`.
    fn format(self, normalized: bool) -> Result<Format, Error> {
        let channels = self.bits.iter().take_while(|&&bits| bits > 0).count();
        let alike = self.bits[..channels].iter().all(|bits| *bits == self.bits[0]);
        if !alike || self.bits[channels..].iter().any(|&bits| bits != 0) {
            return Err(Error::InvalidValue);
        }
        // `cudaChannelFormatKind`: signed, unsigned, float.
        let channel = match (self.kind, self.bits[0]) {
            (0, 8) => Channel::S8,
            (0, 16) => Channel::S16,
            (0, 32) => Channel::S32,
            (1, 8) => Channel::U8,
            (1, 16) => Channel::U16,
            (1, 32) => Channel::U32,
            (2, 16) => Channel::F16,
            (2, 32) => Channel::F32,
            (0..=2, _) => return Err(Error::InvalidValue),
            _ => return not_executed("a packed or compressed format"),
        };
        let normalized = normalized && !channel.is_float();
        Ok(Format { channel, channels: channels as u8, normalized })
    }
}

/// A width or height in texels.
fn texels(count: usize) -> Result<u32, Error> {
    u32::try_from(count).map_err(|_| Error::InvalidValue)
}

impl TextureDescription {
    /// The sampler. Coordinates that are not normalised do not wrap: they are clamped.
    fn sampler(&self) -> Result<Sampler, Error> {
        let normalized = self.normalized != 0;
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
        let filter = match self.filter {
            0 => Filter::Nearest,
            1 => Filter::Linear,
            _ => return Err(Error::InvalidValue),
        };
        Ok(Sampler { filter, address, normalized, border: self.border })
    }
}

/// The texture that the structures at `resource` and `description` describe.
fn texture(resource: u64, description: In<TextureDescription>) -> Result<Texture, Error> {
    let description = description.get()?;
    if description.srgb != 0 {
        return not_executed("colours of sRGB");
    }
    let normalized = description.read_mode == 1;
    let sampler = description.sampler()?;
    // `cudaResourceType`: array, mipmapped array, linear memory, rows.
    match In::<i32>::at_number(resource).get()? {
        2 => {
            let memory = In::<LinearMemory>::at_number(resource).get()?;
            let format = memory.format.format(normalized)?;
            let texel = (format.bytes() as usize).max(1);
            let resource = Resource::linear(memory.address, texels(memory.bytes / texel)?, format);
            // The manual: filters and modes have no meaning here.
            let sampler = Sampler { filter: Filter::Nearest, ..sampler };
            Ok(Texture { resource, format, sampler })
        }
        3 => {
            let memory = In::<PitchedMemory>::at_number(resource).get()?;
            let format = memory.format.format(normalized)?;
            let extent = [texels(memory.width)?, texels(memory.height)?, 1];
            let dense = Resource::dense(memory.address, extent, 1, format);
            let row_pitch = memory.pitch as u64;
            let slice_pitch = row_pitch.saturating_mul(u64::from(extent[1]));
            let resource = Resource { row_pitch, slice_pitch, ..dense };
            Ok(Texture { resource, format, sampler })
        }
        0 => not_executed("an array"),
        1 => not_executed("an array of several levels"),
        _ => Err(Error::InvalidValue),
    }
}

runtime_functions! {
    /// Describes a texture to kernels.
    fn cudaCreateTextureObject(
        object: Out<u64>,
        resource: u64,
        description: In<TextureDescription>,
        view: In<u8>,
    ) {
        if !view.is_null() {
            return not_executed("a view of its own");
        }
        let texture = texture(resource, description)?;
        object.put(on_device(|device| device.create_texture(texture))?)
    }

    /// The texture is not used any more.
    fn cudaDestroyTextureObject(object: u64) {
        on_device(|device| device.destroy_texture(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> TextureDescription {
        TextureDescription {
            address: [0, 1, 3],
            filter: 1,
            read_mode: 0,
            srgb: 0,
            border: [0.5; 4],
            normalized: 1,
        }
    }

    fn read(resource: &[u64; 9], description: &TextureDescription) -> Result<Texture, Error> {
        let place = std::ptr::from_ref(description).cast::<u8>();
        texture(resource.as_ptr().expose_provenance() as u64, In::at_address(place))
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
        let plain = TextureDescription { normalized: 0, ..scaled };
        assert_eq!(read(&rows, &plain).unwrap().sampler.address[0], AddressMode::Clamp);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert_eq!(read(&[0; 9], &description()), Err(Error::NotSupported));
        assert_eq!(read(&[9; 9], &description()), Err(Error::InvalidValue));
        let uneven = [2, 0, 8 | 16 << 32, 0, 1, 256, 0, 0, 0];
        assert_eq!(read(&uneven, &description()), Err(Error::InvalidValue));
    }
}
