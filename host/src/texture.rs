//! Texture objects of the program.

use gpucast_interpreter::texture::{Object, Texture};

use crate::{Device, Error};

impl Device {
    /// Makes a texture object and returns its handle.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if no GPU reads such a texture; the program is told why.
    pub fn create_texture(&mut self, texture: Texture) -> Result<u64, Error> {
        self.usable()?;
        self.memory.textures.create(Object::Texture(texture)).map_err(|error| {
            self.program.note(&format!("a texture object is refused: {error}"));
            Error::InvalidValue
        })
    }

    /// Removes a texture object.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is none of this handle.
    pub fn destroy_texture(&mut self, handle: u64) -> Result<(), Error> {
        self.usable()?;
        if self.memory.textures.destroy(handle) { Ok(()) } else { Err(Error::InvalidValue) }
    }
}
