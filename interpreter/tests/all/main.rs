//! The tests of the engine, in one program: each links the whole engine.

mod accesses;
mod async_copy;
mod asynchronous_kernels;
mod barrier_events;
mod bulk_copy;
mod calls;
#[path = "../cases/mod.rs"]
mod cases;
mod classes;
mod clusters;
mod common;
mod cooperation;
mod coverage;
mod engine;
mod executor;
mod faults;
#[path = "../fuzzed/mod.rs"]
mod fuzzed;
mod instructions;
mod mbarrier;
mod mutation;
mod narrow_addresses;
mod races;
mod samples;
mod slices;
mod tensor_copy;
mod textures;
mod triton;
