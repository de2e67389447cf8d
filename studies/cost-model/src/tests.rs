//! The language, its derivatives, and calibration.

mod calibrating;
mod deriving;
mod parsing;

use std::collections::BTreeMap;

use super::Formula;

/// A formula without named expressions.
#[track_caller]
fn formula(text: &str) -> Formula {
    Formula::parse(text, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}
