//! One file for each kind of picture.

pub mod bars;
pub mod curves;
pub mod errors;
pub mod heatmap;
pub mod quadrant_split;
pub mod roofline;
pub mod stages;
pub mod tornado;
