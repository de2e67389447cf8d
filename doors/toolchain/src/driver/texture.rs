//! Textures of linear memory, through `libcuda.so.1`.

#![allow(
    unsafe_code,
    reason = "a C library that is found at run time can only be called through its symbols"
)]

use std::ffi::{c_int, c_uint, c_void};

use gpucast_measure::DeviceError;

use super::library::{Driver, Memory};

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

/// `cuTexObjectCreate`, `cuTexObjectDestroy`.
/// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TEXOBJECT.html>
type Create =
    unsafe extern "C" fn(*mut u64, *const Resource, *const Description, *const c_void) -> c_int;
type Destroy = unsafe extern "C" fn(u64) -> c_int;

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
        let create = self.symbol::<Create>("cuTexObjectCreate")?;
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
        // SAFETY: all pointers are valid for the call and name the structures that the
        // documentation declares; there is no view.
        let result = unsafe {
            create(&raw mut handle, &raw const resource, &raw const description, std::ptr::null())
        };
        self.check("cuTexObjectCreate", result)?;
        Ok(Texture { driver: self, handle })
    }
}

impl Drop for Texture<'_> {
    fn drop(&mut self) {
        if let Ok(destroy) = self.driver.symbol::<Destroy>("cuTexObjectDestroy") {
            // SAFETY: the object was created by this library and is destroyed once, before its
            // memory.
            let _ = unsafe { destroy(self.handle) };
        }
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
