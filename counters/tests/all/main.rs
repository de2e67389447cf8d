//! The tests of the counters, in one program.

mod machine_rules;
mod metrics_page;
mod order;
