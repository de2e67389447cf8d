//! A small language of kernels: written once, printed as PTX and as CUDA.
//!
//! A generator writes what its threads do with a [`Builder`], in loops, loads, stores and
//! expressions. [`ptx`](crate::ptx) makes machine-near text of it and [`cuda`](crate::cuda) text
//! for readers. Both are thus the same kernel, and a generator stays a page long.

mod array;
mod builder;
mod expression;
mod kernel;
mod operation;
mod statement;
mod types;

pub use array::{Array, ArrayMemory, Contents};
pub use builder::Builder;
pub use expression::{Expression, Index, Variable};
pub use kernel::{Kernel, Parameter, VariableName};
pub use operation::{Binary, Function};
pub use statement::{Caching, Loop, Statement, Unroll};
pub use types::Type;
