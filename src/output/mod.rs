//! Everything that is written: results on the standard output or into a file, complaints and
//! progress on the standard error. Nothing else in the program prints. `gpucast_render` makes the
//! texts.

mod destination;
pub(crate) mod diagnostic;
mod kept;
pub(crate) mod manner;
mod printed;
mod progress;
pub(crate) mod rows;
mod terminal;

pub(crate) use destination::{Output, keep_inputs};
pub(crate) use terminal::Terminal;
