//! Textures of linear memory, through `libcuda.so.1`.

use std::ffi::{c_int, c_uint};

use gpucast_measure::DeviceError;

use super::library::{Driver, Memory};
use crate::foreign;

/// `CUarray_format` of a texel of one word.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(super) enum TexelFormat {
    Unsigned = 0x03,
    Signed = 0x0A,
    Single = 0x20,
}

/// `CU_RESOURCE_TYPE_LINEAR`.
const LINEAR: c_int = 2;

/// `CU_TRSF_READ_AS_INTEGER`: texels are fetched as they are.
const AS_THEY_ARE: c_uint = 1;

/// `CUDA_RESOURCE_DESC` of linear memory. The union has 128 bytes.
#[repr(C)]
struct Resource {
    kind: c_int,
    address: u64,
    format: c_int,
    channels: c_uint,
    bytes: usize,
    _rest: [u64; 13],
    flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`: addresses, filter, levels and border have no part in fetches by index.
#[repr(C)]
struct Description {
    _address_and_filter: [c_int; 4],
    flags: c_uint,
    _rest: [c_uint; 21],
}

// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TEXOBJECT.html>
foreign::functions! {
    Driver, DeviceError;
    safe {
        create_texture = "cuTexObjectCreate"(
            texture: &mut u64, resource: &Resource, description: &Description, view: Option<&u8>
        );
        destroy_texture = "cuTexObjectDestroy"(texture: u64);
    }
    unsafe {}
}

/// A texture, which ends with this value. Its texels must not end before it.
pub(super) struct Texture<'a> {
    driver: &'a Driver,
    /// The handle that kernels take.
    pub(super) handle: u64,
}

impl Driver {
    /// A texture of the first bytes of a memory, which holds one texel of a word after the other.
    pub(super) fn texture<'a>(
        &'a self,
        texels: &Memory<'a>,
        bytes: u64,
        format: TexelFormat,
    ) -> Result<Texture<'a>, DeviceError> {
        let resource = Resource {
            kind: LINEAR,
            address: texels.address,
            format: format as c_int,
            channels: 1,
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            _rest: [0; 13],
            flags: 0,
        };
        let description =
            Description { _address_and_filter: [0; 4], flags: AS_THEY_ARE, _rest: [0; 21] };
        let mut handle = 0;
        self.create_texture(&mut handle, &resource, &description, None)?;
        Ok(Texture { driver: self, handle })
    }
}

impl Drop for Texture<'_> {
    fn drop(&mut self) {
        let _ = self.driver.destroy_texture(self.handle);
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn structures_are_laid_out_as_in_cuda_h() {
        assert_eq!(size_of::<Resource>(), 8 + 128 + 8);
        assert_eq!(offset_of!(Resource, address), 8);
        assert_eq!(offset_of!(Resource, bytes), 24);
        assert_eq!(offset_of!(Resource, flags), 136);
        assert_eq!(size_of::<Description>(), 104);
        assert_eq!(offset_of!(Description, flags), 16);
    }
}
