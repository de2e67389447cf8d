//! The library as a caller uses it: kernels with launches in, memory and counts out.

mod common;
mod launches;
mod stopping;
