//! The tests of the counters, in one program.

mod metrics_page;
mod order;
