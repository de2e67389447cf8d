//! Arrays of the program, and the textures and surfaces through which kernels reach them.

use gpucast_interpreter::texture::Object;

use crate::array::{Array, ArrayId, ArrayShape};
use crate::binding::Bound;
use crate::block::BlockKind;
use crate::mipmap::{Layout, Mipmap, MipmapId};
use crate::{Device, Error};

impl Device {
    /// Makes a texture or surface object and returns its handle.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if no GPU reads such an object; the program is told why.
    pub fn create_object(&mut self, object: Object) -> Result<u64, Error> {
        self.usable()?;
        self.memory.textures.create(object).map_err(|error| {
            self.program.note(&format!("a texture or surface is refused: {error}"));
            Error::InvalidValue
        })
    }

    /// Removes a texture or surface object.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is none of this handle.
    pub fn destroy_object(&mut self, handle: u64) -> Result<(), Error> {
        self.usable()?;
        if self.memory.textures.destroy(handle) { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// Lets the texture or surface variable at an address stand for an object, or for nothing, from
    /// the next launch on.
    pub fn bind_variable(&mut self, address: u64, object: Option<Object>) {
        self.bindings.pending.insert(address, object);
    }

    /// Makes the objects that variables have come to stand for.
    pub(crate) fn bind_variables(&mut self) -> Result<(), Error> {
        // What cannot be made stays pending, so that the next launch fails as well.
        while let Some((&address, object)) = self.bindings.pending.first_key_value() {
            let before = self.bindings.bound.get(&address).map(|bound| &bound.object);
            if before != object.as_ref() {
                let object = object.clone();
                let handle = object.clone().map(|object| self.create_object(object)).transpose()?;
                self.bindings.unbind(address, &mut self.memory.textures);
                if let (Some(object), Some(handle)) = (object, handle) {
                    self.memory.textures.bind(address, handle);
                    self.bindings.bound.insert(address, Bound { object, handle });
                }
                self.bindings.changes += 1;
            }
            self.bindings.pending.remove(&address);
        }
        Ok(())
    }

    /// Makes an array of zeros.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is no such shape, and [`Error::OutOfMemory`].
    pub fn create_array(&mut self, shape: ArrayShape) -> Result<ArrayId, Error> {
        self.usable()?;
        shape.check()?;
        let bytes = shape.resource(0).bytes(shape.format);
        let address = self.allocate(bytes, BlockKind::Array)?;
        self.arrays.push(Some(Array { shape, resource: shape.resource(address) }));
        Ok(ArrayId(self.arrays.len() - 1))
    }

    /// An array that was made and not freed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is none of this number.
    pub fn array(&self, id: ArrayId) -> Result<Array, Error> {
        self.arrays.get(id.0).copied().flatten().ok_or(Error::InvalidHandle)
    }

    /// The array whose texels lie at an address.
    #[must_use]
    pub fn array_at(&self, address: u64) -> Option<ArrayId> {
        let holds = |array: &Array| {
            let bytes = array.resource.bytes(array.shape.format);
            address.checked_sub(array.resource.address).is_some_and(|offset| offset < bytes)
        };
        self.arrays.iter().position(|array| array.as_ref().is_some_and(holds)).map(ArrayId)
    }

    /// Frees an array.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is none of this number.
    pub fn free_array(&mut self, id: ArrayId) -> Result<(), Error> {
        let array = self.array(id)?;
        self.free(array.resource.address, &[BlockKind::Array])?;
        self.arrays[id.0] = None;
        Ok(())
    }

    /// Makes a mipmapped array of zeros. A number of levels that its largest extent does not allow
    /// becomes the nearest one that it does.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is no such shape, and [`Error::OutOfMemory`].
    pub fn create_mipmap(&mut self, shape: ArrayShape, levels: u32) -> Result<MipmapId, Error> {
        self.usable()?;
        let Layout { levels, bytes } = Layout::new(shape, levels)?;
        let address = self.allocate(bytes, BlockKind::Mipmap)?;
        let first = self.arrays.len();
        self.arrays.extend(levels.into_iter().map(|(shape, offset)| {
            let resource = shape.resource(address + offset);
            Some(Array { shape, resource })
        }));
        let levels = (first..self.arrays.len()).map(ArrayId).collect();
        self.mipmaps.push(Some(Mipmap { address, levels }));
        Ok(MipmapId(self.mipmaps.len() - 1))
    }

    /// The levels of a mipmapped array that was made and not freed, the largest first.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is none of this number.
    pub fn mipmap(&self, id: MipmapId) -> Result<&[ArrayId], Error> {
        let mipmap = self.mipmaps.get(id.0).and_then(Option::as_ref);
        mipmap.map(|mipmap| mipmap.levels.as_slice()).ok_or(Error::InvalidHandle)
    }

    /// Frees a mipmapped array with its levels.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is none of this number.
    pub fn free_mipmap(&mut self, id: MipmapId) -> Result<(), Error> {
        let mipmap = self.mipmaps.get(id.0).cloned().flatten().ok_or(Error::InvalidHandle)?;
        self.free(mipmap.address, &[BlockKind::Mipmap])?;
        for level in mipmap.levels {
            self.arrays[level.0] = None;
        }
        self.mipmaps[id.0] = None;
        Ok(())
    }
}
