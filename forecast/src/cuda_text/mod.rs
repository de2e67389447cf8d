//! CUDA source as text: which parts of it are for the GPU, and which kernels it declares.
//!
//! ```text
//! tokens ──► items (the declarations, with their marks) ──► device (the text without host code)
//!                                                      └──► kernels (names, parameters, instances)
//! ```
//!
//! Nothing here understands C++. Words, brackets and `__device__` marks suffice to tell functions
//! of the host from those of the GPU. A compiler has the last word about what is left.

mod device;
mod items;
mod kernels;
mod tokens;

pub use device::{DeviceText, includes};
pub use items::mark_macros;
pub use kernels::{Declared, DeclaredParameter, block_sizes, declared, instances, instantiated};
