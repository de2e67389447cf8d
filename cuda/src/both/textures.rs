//! Texture and surface objects.

use gpucast_host::Error;
use gpucast_interpreter::texture::Object;

use crate::abi::Out;
use crate::state::on_device;

/// Makes an object, and writes its handle.
pub(crate) fn create(handle: Out<u64>, object: Object) -> Result<(), Error> {
    handle.put(on_device(|device| device.create_object(object))?)
}

/// Removes an object.
pub(crate) fn destroy(handle: u64) -> Result<(), Error> {
    on_device(|device| device.destroy_object(handle))
}
