//! Tags, and the texts of all generators.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod page;
mod tags;
mod texts;
