//! NVIDIA's assembler `ptxas`: finding it, running it, and keeping what it made.
//!
//! It comes with CUDA and in free Python packages and needs no GPU. Nothing else here depends on it:
//! without one, machine code is estimated by rules.

mod cache;
mod find;
mod run;

use std::fmt;
use std::path::PathBuf;

use gpucast_ptx_frontend::container::Target;

pub(crate) use find::{candidates, probe};
pub(crate) use run::{AssembleError, assemble};

/// An assembler that was found and that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assembler {
    pub(crate) path: PathBuf,
    /// Its release, such as `12.9`.
    pub(crate) version: String,
    /// All that it says of its version, and which file it is: another build of the same release
    /// may write other machine code.
    identity: String,
    /// The architectures that it assembles for, in ascending order.
    pub(crate) targets: Vec<Target>,
}

impl Assembler {
    /// The architecture to assemble PTX of `ptx` for: itself, or the nearest later one.
    pub(crate) fn target_for(&self, ptx: Target) -> Option<Target> {
        if self.targets.contains(&ptx) {
            return Some(ptx);
        }
        self.targets
            .iter()
            .copied()
            .find(|one| ptx.suffix.is_none() && one.suffix.is_none() && one.sm >= ptx.sm)
    }
}

impl fmt::Display for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ptxas {} ({})", self.version, self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_ptx_is_assembled_for_the_nearest_architecture() {
        let targets = ["sm_50", "sm_52", "sm_90", "sm_90a"].map(|name| name.parse().unwrap());
        let assembler =
            Assembler {
            path: "ptxas".into(),
            version: "12.9".into(),
            identity: String::new(),
            targets: targets.to_vec(),
        };
        let chosen =
            |ptx: &str| assembler.target_for(ptx.parse().unwrap()).map(|target| target.to_string());
        assert_eq!(chosen("sm_35").as_deref(), Some("sm_50"));
        assert_eq!(chosen("sm_52").as_deref(), Some("sm_52"));
        assert_eq!(chosen("sm_80").as_deref(), Some("sm_90"));
        assert_eq!(chosen("sm_90a").as_deref(), Some("sm_90a"));
        // Code for one architecture alone goes nowhere else, and nothing goes back in time.
        assert_eq!((chosen("sm_100a"), chosen("sm_100")), (None, None));
    }
}
