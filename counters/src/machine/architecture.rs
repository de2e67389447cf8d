//! Targets of machine code.

use std::fmt;
use std::str::FromStr;

use gpucast_ptx_frontend::ComputeCapability;
use gpucast_ptx_frontend::container::Target;

/// A target of machine code: a compute capability of which there is some, written `sm_50`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Architecture(ComputeCapability);

/// A target that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is no target of machine code; one is written like sm_50 or sm_90a")]
pub struct ArchitectureError {
    text: String,
}

impl Architecture {
    /// The oldest target that PTX is translated for: Fermi.
    pub const OLDEST: Self = Self(ComputeCapability::new(2, 0));

    /// The target of a compute capability, such as 5.0; `None` before 2.0, whose machines have
    /// an instruction set of their own.
    #[must_use]
    pub fn of_capability(capability: ComputeCapability) -> Option<Self> {
        (Self(capability) >= Self::OLDEST).then_some(Self(capability))
    }

    /// The compute capability times ten.
    #[must_use]
    pub const fn sm(self) -> u32 {
        self.0.sm()
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.sm())
    }
}

impl FromStr for Architecture {
    type Err = ArchitectureError;

    /// Reads `sm_50`, and `sm_90a` or `sm_100f`, whose extensions are the same machine.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let target = text.strip_prefix("sm_").and_then(|name| name.parse::<Target>().ok());
        let architecture = target.and_then(|target| Self::of_capability(target.capability()));
        architecture.ok_or_else(|| ArchitectureError { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_printed() {
        for text in ["sm_20", "sm_52", "sm_100", "sm_121"] {
            assert_eq!(text.parse::<Architecture>().unwrap().to_string(), text);
        }
        assert_eq!("sm_90a".parse::<Architecture>().unwrap().sm(), 90);
        assert_eq!("sm_100f".parse::<Architecture>().unwrap().sm(), 100);
    }

    #[test]
    fn what_is_no_target_is_refused() {
        for text in ["", "sm_", "sm_x", "50", "compute_50", "sm_13", "sm_+5", "sm_99999999999"] {
            assert!(text.parse::<Architecture>().is_err(), "{text}");
        }
    }
}
