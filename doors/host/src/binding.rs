//! Texture and surface variables of modules, and the objects that they stand for.
//!
//! Programs for CUDA 11 and older bind textures to variables instead of passing objects. A program
//! may say what a variable stands for in several calls. So all is made when the next kernel is
//! launched.

use std::collections::BTreeMap;

use gpucast_interpreter::texture::{Object, Textures};

/// What a variable stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) object: Object,
    pub(crate) handle: u64,
}

/// What the variables of all modules stand for, by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    pub(crate) bound: BTreeMap<u64, Bound>,
    /// What the program said since the last launch; none for nothing.
    pub(crate) pending: BTreeMap<u64, Option<Object>>,
    /// How often a variable has come to stand for something else.
    pub(crate) changes: u64,
}

impl Bindings {
    /// The variable is there no more.
    pub(crate) fn forget(&mut self, address: u64, textures: &mut Textures) {
        self.pending.remove(&address);
        self.unbind(address, textures);
        self.changes += 1;
    }

    /// Removes the object that a variable stands for.
    pub(crate) fn unbind(&mut self, address: u64, textures: &mut Textures) {
        if let Some(bound) = self.bound.remove(&address) {
            textures.unbind(address);
            textures.destroy(bound.handle);
        }
    }
}
