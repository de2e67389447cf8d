//! The language, its derivatives, calibration, and the paper's table 3.

mod calibrating;
mod deriving;
mod parsing;
mod predicting;

use std::collections::BTreeMap;

use super::Formula;

/// A formula without named expressions.
#[track_caller]
fn formula(text: &str) -> Formula {
    Formula::parse(text, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}
