//! NVIDIA's assembler `ptxas`: finds it, runs it, and keeps its output.
//!
//! It comes with CUDA and in free Python packages and needs no GPU. Nothing else here depends on
//! it: without one, machine code is estimated by rules.

mod cache;
mod find;
mod run;

use std::path::{Path, PathBuf};

use gpucast_counters::machine::ptxas::Prepared;
use gpucast_forecast::run::assembler::{AssembleError, Assembler, Toolchain};
use gpucast_ptx_frontend::container::Target;

pub(crate) use run::output_within;

/// The assemblers that are installed on this system.
pub(crate) struct Installed;

impl Toolchain for Installed {
    fn candidates(&self) -> Vec<PathBuf> {
        find::candidates()
    }

    fn probe(&self, path: &Path) -> Result<Assembler, String> {
        find::probe(path)
    }

    fn assemble(
        &self,
        assembler: &Assembler,
        target: Target,
        kernel: &str,
        prepared: &Prepared,
    ) -> Result<Vec<u8>, AssembleError> {
        run::assemble(assembler, target, kernel, prepared)
    }
}
