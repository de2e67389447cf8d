//! A sweep that many processes execute together, on one machine or on many.
//!
//! ```text
//! plan ──► kernels/HASH  plans/NAME ──► work … work ──► counts/HASH ──► merge ──► rows
//!                                         └─ leases/HASH ─┘
//! ```
//!
//! Executing is the cost of a sweep; predicting is arithmetic on counts. An *item* is therefore one
//! kernel in one size, counted as one kind of GPU would. Its name is a hash of everything that
//! decides the counts (`item`). It is executed at least once and stored exactly once, because a
//! [`Store`](crate::store::Store) puts an object only where there is none. Leases save work, and
//! nothing else depends on them: two workers that execute the same item write the same bytes.
//!
//! A store is written by many. So a plan names no program and no file, every object is sealed with
//! its name, and what is damaged counts as not there. `stored` says so to workers, status and merge
//! alike.
//!
//! Merging predicts from stored counts, in the order of the plan. The rows are those that one
//! process writes.

mod counts;
mod item;
mod lease;
mod merge;
mod plan;
mod slurm;
mod status;
mod stored;
mod work;

pub use item::COUNTING_VERSION;
pub use lease::USUAL_LEASE;
pub use merge::{Missing, merge};
pub use plan::{Opened, PLAN_SCHEMA, Planned, Request, SweepPlan};
pub use slurm::SlurmArray;
pub use status::{Leased, Status, status};
pub use work::{Shard, Worked, Worker};
