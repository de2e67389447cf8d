//! The value semantics against definitions that share nothing with them: big integers, truth
//! tables, loops transcribed from the manual's pseudo-code, `rustc_apfloat`, and exact dyadics.

mod approx;
mod convert;
mod double;
mod half;
mod integer;
mod logic;
mod mbarrier;
mod narrow;
mod quad;
mod single;
mod sparse_vector;
mod values;
