//! Compute capabilities: the one type for them.

use std::fmt;
use std::str::FromStr;

use serde_core::{Serialize, Serializer};

/// A CUDA compute capability such as 8.6, in order of age.
///
/// The letter of a target (`sm_90a`) is no part of it; see
/// [`container::Target`](crate::container::Target).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ComputeCapability {
    /// The generation.
    pub major: u32,
    /// The variant within it, from 0 to 9.
    pub minor: u32,
}

impl ComputeCapability {
    /// The capability `major.minor`.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The capability of `sm_NN`: the last digit is the variant, so that 86 is 8.6 and 120 is
    /// 12.0.
    #[must_use]
    pub const fn of_sm(sm: u32) -> Self {
        Self { major: sm / 10, minor: sm % 10 }
    }

    /// The number behind `sm_`: 86 for 8.6.
    #[must_use]
    pub const fn sm(self) -> u32 {
        self.major.saturating_mul(10).saturating_add(self.minor)
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// As text: `8.6`.
impl Serialize for ComputeCapability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that is no compute capability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a compute capability such as 8.6")]
pub struct ParseCapabilityError(String);

impl FromStr for ComputeCapability {
    type Err = ParseCapabilityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseCapabilityError(text.to_owned());
        let (major, minor) = text.split_once('.').ok_or_else(error)?;
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        match (major.parse(), minor.parse()) {
            (Ok(major), Ok(minor)) if minor <= 9 && digits(text.replace('.', "").as_str()) => {
                Ok(Self { major, minor })
            }
            _ => Err(error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ComputeCapability;

    #[test]
    fn texts_and_numbers_of_targets_come_back() {
        for (text, sm) in [("3.5", 35), ("8.6", 86), ("10.0", 100), ("10.3", 103), ("12.1", 121)] {
            let capability: ComputeCapability = text.parse().unwrap();
            assert_eq!(capability.to_string(), text);
            assert_eq!((capability.sm(), ComputeCapability::of_sm(sm)), (sm, capability));
        }
        for wrong in ["8", "8.", ".6", "8.6a", "8.10", "+8.6", "8.6.1", "sm_86", ""] {
            assert!(wrong.parse::<ComputeCapability>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn later_generations_are_greater() {
        let sorted = ["2.0", "3.5", "8.0", "8.6", "9.0", "10.0", "12.1"];
        let sorted = sorted.map(|text| text.parse::<ComputeCapability>().unwrap());
        assert!(sorted.is_sorted());
    }
}
