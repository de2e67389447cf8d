//! Formulas of counts: sums of products of sizes that give every sample, exactly.
//!
//! ```text
//! samples ─► fitting ─► bases (sums to try) ─► linear (solve, and check) ─► expression
//!               └─────► residues (cut sizes in two until a sum holds) ────┘
//! ```
//!
//! Nothing here knows kernels or GPUs. It is a crate of its own because its linear algebra wants to
//! be optimised, and the crate that feeds it does not.

pub mod bases;
pub mod expression;
pub mod fitting;
pub mod linear;
pub mod residues;
pub mod sizes;
