//! NVIDIA's assembler `ptxas`: finds it, runs it, and keeps its output.
//!
//! It comes with CUDA and in free Python packages and needs no GPU. Nothing else here depends on
//! it: without one, machine code is estimated by rules.

pub mod cache;
mod find;
mod run;
#[cfg(all(test, unix))]
mod stand_in;

use std::path::{Path, PathBuf};

use gpucast_forecast::run::assembler::{AssembleError, Assembler, Toolchain};
use gpucast_machine::ptxas::Prepared;
use gpucast_ptx_frontend::container::Target;

use crate::Stop;

/// The assemblers that are installed on this system.
#[derive(Clone, Debug)]
pub struct Installed {
    packages: Vec<PathBuf>,
    stop: Stop,
}

impl Installed {
    /// Assemblers that end when `stop` is asked.
    #[must_use]
    pub fn new(stop: Stop) -> Self {
        Self { packages: Vec::new(), stop }
    }

    /// The same with folders of Python packages that are looked through after the search path.
    #[must_use]
    pub fn with_packages(self, packages: Vec<PathBuf>) -> Self {
        Self { packages, ..self }
    }
}

impl Toolchain for Installed {
    fn candidates(&self) -> Vec<PathBuf> {
        find::candidates(&self.packages)
    }

    fn probe(&self, path: &Path) -> Result<Assembler, String> {
        find::probe(path, &self.stop)
    }

    fn assemble(
        &self,
        assembler: &Assembler,
        target: Target,
        kernel: &str,
        prepared: &Prepared,
    ) -> Result<Vec<u8>, AssembleError> {
        run::assemble(assembler, target, kernel, prepared, &self.stop)
    }
}
