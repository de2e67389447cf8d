//! What a program needs that counts and predicts: `use gpucast_forecast::prelude::*`.

pub use gpucast_model::{Gpu, GpuLibrary, Model};

pub use crate::failure::Failure;
pub use crate::input::typed::{Argument, BufferArgument};
pub use crate::run::kernel::Kernel;
pub use crate::run::supervisor::{Alone, Supervisor};
pub use crate::settings::LaunchOptions;
