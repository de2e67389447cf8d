//! The clocks of streaming multiprocessors, issue by issue.
//!
//! ```text
//! Code ──────┐                                      ┌─ issue: sub-cores, warps, pipes
//! Launch ────┼─► simulate ─► clocks, states ◄───────┼─ load-store path: queues, L1, shared memory
//! Parameters ┘                                      └─ memory behind it: L2 and DRAM as servers
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `code` | machine instructions with the fields that schedule them |
//! | `launch` | CTAs of a launch: the way of each warp through the code, and its requests |
//! | `parameters` | every constant of the machine |
//! | `sm` | the loop from issue to issue, a file for each part of the SM |
//! | `products` | clocks of products and copies that work on tensor memory |
//! | `memory` | the L2 and DRAM behind all SMs |
//! | `server` | a server that works at a rate |
//! | `turns` | lines of the L2 at which atomics follow each other |
//! | `combine` | atomics whose values a warp adds up first |
//! | `constants` | the constants that an SM has fetched |
//! | `run` | SMs side by side that stand for all, extrapolated |
//! | `dispatch` | which SM gets which CTAs |
//! | `feed` | the CTAs of an SM that are simulated |
//! | `representative` | an SM with its CTAs, from the first one to the last |
//! | `rates` | clocks per instruction that an extrapolation goes on with |
//! | `distributor` | when the GPU starts a CTA on an SM |
//! | `states` | what clocks are spent on |
//! | `observer` | who watches an SM: nobody, at no cost, or a recorder |
//! | `order` | the order of issue of one run, which others follow |
//! | `recording` | what each warp did and waited for, when, and the critical path |
//! | `equal_runs` | queues in a file, as runs of equal items |
//! | `packed` | a launch as bytes, for a file and for a hash |
//! | `walk` | a warp's instructions with their requests, without a clock |
//! | `work` | the warp instructions of a launch, and how long its CTAs are |
//! | `writer` | code and launches written by hand |
//!
//! The crate knows neither PTX nor GPUs by name. Who counts instructions writes its inputs; who
//! knows GPUs writes its parameters.

mod clock;
pub mod code;
mod combine;
pub mod constants;
mod dispatch;
mod distributor;
mod equal_runs;
mod feed;
pub mod launch;
mod limits;
mod memory;
mod observer;
mod order;
mod packed;
pub mod parameters;
pub mod products;
mod rates;
pub mod recording;
mod representative;
mod run;
mod server;
mod sm;
pub mod states;
mod turns;
pub mod walk;
mod work;
pub mod writer;

pub use combine::{Combiner, Combining};
pub use limits::Limits;
pub use memory::Served;
pub use observer::Resource;
pub use order::Order;
pub use packed::Packed;
pub use run::{
    Outcome, order_of_issue, record, resident_ctas, simulate, simulate_clocks,
    simulate_clocks_in_order, simulate_in_order,
};
pub use turns::busiest_line;
