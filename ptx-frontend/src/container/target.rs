//! GPU architectures by the names that the compilers give them.

use std::fmt;
use std::str::FromStr;

use crate::capability::ComputeCapability;

/// An architecture: `sm_80`, `sm_90a`, `sm_100f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Ten times the compute capability.
    pub sm: u32,
    /// Features for which the code gave up portability.
    pub suffix: Option<Suffix>,
}

/// The range of architectures on which code with features of one architecture runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suffix {
    /// `f`: this architecture and later ones of its family.
    Family,
    /// `a`: this architecture alone.
    Accelerated,
}

impl Target {
    /// The architecture without suffix.
    #[must_use]
    pub const fn new(sm: u32) -> Self {
        Self { sm, suffix: None }
    }

    /// The compute capability, without the suffix.
    #[must_use]
    pub const fn capability(self) -> ComputeCapability {
        ComputeCapability::of_sm(self.sm)
    }

    /// Returns true if a GPU of architecture `gpu` accepts PTX that was compiled for `self`.
    ///
    /// PTX without suffix runs on every later architecture. PTX with `f` runs on later ones of the
    /// same major version, with `a` on its own only (PTX manual, `.target`).
    #[must_use]
    pub const fn runs_on(self, gpu: u32) -> bool {
        match self.suffix {
            None => self.sm <= gpu,
            Some(Suffix::Family) => {
                let family = ComputeCapability::of_sm(gpu).major;
                self.sm <= gpu && self.capability().major == family
            }
            Some(Suffix::Accelerated) => self.sm == gpu,
        }
    }
}

impl From<ComputeCapability> for Target {
    fn from(capability: ComputeCapability) -> Self {
        Self::new(capability.sm())
    }
}

impl From<u32> for Target {
    fn from(sm: u32) -> Self {
        Self::new(sm)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.suffix {
            None => "",
            Some(Suffix::Family) => "f",
            Some(Suffix::Accelerated) => "a",
        };
        write!(f, "sm_{}{suffix}", self.sm)
    }
}

/// A text that names no architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no architecture; write `sm_80`, `compute_80` or `80`, with `a` or `f` behind")]
pub struct ParseTargetError(String);

impl FromStr for Target {
    type Err = ParseTargetError;

    /// Reads `sm_90a`, `compute_90a` and `90a`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare =
            text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).unwrap_or(text);
        let (digits, suffix) = if let Some(digits) = bare.strip_suffix('a') {
            (digits, Some(Suffix::Accelerated))
        } else if let Some(digits) = bare.strip_suffix('f') {
            (digits, Some(Suffix::Family))
        } else {
            (bare, None)
        };
        match digits.parse() {
            Ok(sm) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Self { sm, suffix }),
            _ => Err(ParseTargetError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in ["sm_20", "sm_90a", "sm_100f", "sm_121"] {
            assert_eq!(name.parse::<Target>().unwrap().to_string(), name);
        }
        assert_eq!("compute_90a".parse(), "90a".parse::<Target>());
        for wrong in ["", "sm_", "sm_a", "ampere", "+80", "99999999999"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn suffixes_limit_where_code_runs() {
        let runs = |name: &str, gpu| name.parse::<Target>().unwrap().runs_on(gpu);
        assert!(runs("sm_80", 80) && runs("sm_80", 121) && !runs("sm_80", 75));
        assert!(runs("sm_90a", 90) && !runs("sm_90a", 100));
        assert!(runs("sm_100f", 103) && !runs("sm_100f", 120) && !runs("sm_103f", 100));
    }
}
