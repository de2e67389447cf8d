//! A resident server that answers for gpucast, to programs by HTTP and to agents by the Model
//! Context Protocol.
//!
//! ```text
//! http (axum) ──┐             ┌─ request: fields → files and words of a command line
//!               ├─► service ──┤
//! mcp (rmcp) ───┘   queue,    └─ worker: one run of the program `gpucast` ──► answer
//!                   metrics          in a process of its own, confined
//! ```
//!
//! - The server computes nothing. An answer is the document that the command line prints, so that
//!   numbers are equal to the last digit.
//! - One table, [`tool`], holds every tool and field. Schemas, the OpenAPI document, checks of
//!   requests and words of command lines follow from it.
//! - A request gives texts, never paths. Its strings become values of options, never options.
//! - Every request ends: with an answer, or with a [`Refusal`] that says why there is none.

mod answer;
mod http;
mod mcp;
mod metrics;
mod openapi;
mod program;
mod request;
mod resource;
mod schema;
mod service;
mod setup;
mod summary;
mod token;
pub mod tool;
mod worker;

pub use answer::{Answer, Confinement, Reason, Refusal};
pub use http::router;
pub use mcp::Agent;
pub use program::run;
pub use service::Service;
pub use setup::{Limits, Setup, TOKEN_VARIABLE};
pub use token::Token;
