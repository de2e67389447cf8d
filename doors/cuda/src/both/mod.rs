//! The parts that are equal in both interfaces: functions of the runtime and of the driver call
//! them under CUDA's names.

pub(crate) mod arrays;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod functions;
pub(crate) mod graphs;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod mipmaps;
pub(crate) mod pools;
pub(crate) mod streams;
pub(crate) mod textures;
pub(crate) mod views;
