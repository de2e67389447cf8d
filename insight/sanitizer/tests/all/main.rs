//! The tests of the checks, in one program.

mod common;
mod initialisation;
mod library;
mod memory;
mod mutation;
mod races;
mod synchronisation;
mod tensor_memory;
