//! NVIDIA's assembler `ptxas`, as far as counting needs to know it. Finding and running it is the
//! caller's part: a [`Toolchain`].

use std::fmt;
use std::path::{Path, PathBuf};

use gpucast_machine::ptxas::Prepared;
use gpucast_ptx_frontend::container::Target;

/// Finds assemblers and runs them.
pub trait Toolchain: Sync {
    /// Every assembler that seems to be there, in the order in which they are tried.
    fn candidates(&self) -> Vec<PathBuf>;

    /// Asks an assembler for its version and its targets.
    ///
    /// # Errors
    ///
    /// Returns the reason if the file is no assembler that works.
    fn probe(&self, path: &Path) -> Result<Assembler, String>;

    /// Assembles one kernel of a text and returns the cubin.
    ///
    /// # Errors
    ///
    /// [`AssembleError`] says why there is none.
    fn assemble(
        &self,
        assembler: &Assembler,
        target: Target,
        kernel: &str,
        prepared: &Prepared,
    ) -> Result<Vec<u8>, AssembleError>;
}

/// An assembler that was found and that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembler {
    /// The program.
    pub path: PathBuf,
    /// Its release, such as `12.9`.
    pub version: String,
    /// All that it says of its version, and which file it is: another build of the same release
    /// may write other machine code.
    pub identity: String,
    /// The architectures that it assembles for, in ascending order.
    pub targets: Vec<Target>,
}

impl Assembler {
    /// The architecture to assemble PTX of `ptx` for: itself, or the nearest later one.
    pub fn target_for(&self, ptx: Target) -> Option<Target> {
        if self.targets.contains(&ptx) {
            return Some(ptx);
        }
        self.targets
            .iter()
            .copied()
            .find(|target| ptx.suffix.is_none() && target.suffix.is_none() && target.sm >= ptx.sm)
    }
}

impl fmt::Display for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ptxas {} ({})", self.version, self.path.display())
    }
}

/// Reason why there is no machine code.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// The assembler could not be started, or files for it not be written.
    #[error("{path} cannot be run: {reason}")]
    Start {
        /// The assembler.
        path: String,
        /// The system's message.
        reason: String,
    },
    /// It took too long.
    #[error("ptxas was stopped after {seconds} seconds")]
    Patience {
        /// The limit.
        seconds: u64,
    },
    /// Whoever waits for it asked for the end of the run.
    #[error("ptxas was stopped with the run")]
    Stopped,
    /// Its output is no machine code of the kernel.
    #[error("what ptxas made cannot be used: {reason}")]
    Useless {
        /// The fault of the output.
        reason: String,
    },
    /// It refused the text.
    #[error("ptxas: {message}")]
    Refused {
        /// The assembler's message, without its decoration.
        message: String,
        /// The line of the original text that it complains about.
        line: Option<u32>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_ptx_is_assembled_for_the_nearest_architecture() {
        let targets = ["sm_50", "sm_52", "sm_90", "sm_90a"].map(|name| name.parse().unwrap());
        let assembler = Assembler {
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
