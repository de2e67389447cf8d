//! The server from outside: over HTTP, over the protocol of agents, and when things go wrong.
//!
//! Clients are written here by hand, so that nothing of the server speaks to itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]
#![cfg(unix)]

mod agents;
mod answers;
mod requests;
mod server;
mod trouble;
