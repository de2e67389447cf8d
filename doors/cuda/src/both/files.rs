//! Files that programs name.

use std::path::Path;

use gpucast_forecast::input::bounded;
use gpucast_host::Error;

use crate::abi::Text;
use crate::notices;

/// The bytes of a module's file. Devices and pipes have no end, so they are no modules.
pub(crate) fn module(path: Text) -> Result<Vec<u8>, Error> {
    let path = Path::new(path.get()?);
    bounded::read(path, bounded::MOST_BYTES).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            return Error::FileNotFound;
        }
        notices::once(&format!("cannot read {}: {error}", path.display()));
        Error::InvalidImage
    })
}
