//! The tests of the front end, in one program.

#[path = "../../../tests/archive/mod.rs"]
mod archive;
mod cfg;
mod compilers;
mod containers;
mod diagnostics;
#[path = "../fuzzed/mod.rs"]
mod fuzzed;
mod mutation;
mod round_trip;
mod squeeze;
mod table;
mod usage;
