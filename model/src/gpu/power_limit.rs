//! The same GPU under a limit of its power that a user sets.
//!
//! A limit of the data sheet is a fact of the board, and times stand at the clock of the file. One
//! that a user sets decides the clock of each kernel ([`crate::energy`]).

use std::str::FromStr;

use thiserror::Error;

use super::description::Gpu;
use super::overrides::OverrideError;

/// A limit of the power of a board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PowerLimit {
    /// That of the data sheet.
    Board,
    /// A number of watts.
    Watts(f64),
}

/// A text that is no limit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no power; write board, or watts such as 300W")]
pub struct NoPower(String);

impl FromStr for PowerLimit {
    type Err = NoPower;

    fn from_str(text: &str) -> Result<Self, NoPower> {
        if text == "board" {
            return Ok(Self::Board);
        }
        match text.trim_end_matches(['W', 'w']).trim_end().parse::<f64>() {
            Ok(watts) if watts.is_finite() && watts > 0.0 => Ok(Self::Watts(watts)),
            _ => Err(NoPower(text.to_owned())),
        }
    }
}

impl Gpu {
    /// This GPU, completed, with a limit of its power that decides the clock of its kernels.
    ///
    /// # Errors
    ///
    /// If the file has no limit to keep.
    pub fn under_power_limit(&self, limit: PowerLimit) -> Result<Self, OverrideError> {
        match limit {
            PowerLimit::Board => self.with_override("power_limit", "1x"),
            PowerLimit::Watts(watts) => self.with_override("power_limit", &format!("{watts} W")),
        }
    }

    /// The limit of its power in watts that a user sets, if one does.
    #[must_use]
    pub fn set_power_limit(&self) -> Option<f64> {
        let is_set = self.changed_fields().any(|field| field == "power_limit");
        self.number("power_limit").filter(|_| is_set)
    }
}
