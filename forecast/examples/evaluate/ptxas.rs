//! NVIDIA's assembler at a place that is given.

use std::path::{Path, PathBuf};
use std::process::Command;

use gpucast_forecast::Supervisor;
use gpucast_forecast::run::assembler::{AssembleError, Assembler, Toolchain};
use gpucast_machine::ptxas::Prepared;
use gpucast_ptx_frontend::container::Target;

/// The architectures of the GPUs with published times.
const TARGETS: [u32; 10] = [50, 52, 60, 61, 70, 75, 80, 86, 89, 90];

/// An assembler of CUDA 12.
pub(crate) struct Ptxas(PathBuf);

impl Ptxas {
    pub(crate) fn at(path: &str) -> Self {
        Self(path.into())
    }
}

impl Supervisor for Ptxas {
    fn toolchain(&self) -> Option<&dyn Toolchain> {
        Some(self)
    }
}

impl Toolchain for Ptxas {
    fn candidates(&self) -> Vec<PathBuf> {
        vec![self.0.clone()]
    }

    fn probe(&self, path: &Path) -> Result<Assembler, String> {
        Ok(Assembler {
            path: path.to_owned(),
            version: "12".to_owned(),
            identity: path.display().to_string(),
            targets: TARGETS.map(Target::new).to_vec(),
        })
    }

    fn assemble(
        &self,
        assembler: &Assembler,
        target: Target,
        kernel: &str,
        prepared: &Prepared,
    ) -> Result<Vec<u8>, AssembleError> {
        let cannot = |error: std::io::Error| AssembleError::Start {
            path: assembler.path.display().to_string(),
            reason: error.to_string(),
        };
        let folder = tempfile::tempdir().map_err(cannot)?;
        let [source, image] = ["kernel.ptx", "kernel.cubin"].map(|name| folder.path().join(name));
        std::fs::write(&source, &prepared.text).map_err(cannot)?;
        let run = Command::new(&assembler.path)
            .args(["-arch", &target.to_string(), "--entry", kernel])
            .arg(&source)
            .arg("-o")
            .arg(&image)
            .output()
            .map_err(cannot)?;
        if !run.status.success() {
            let message = String::from_utf8_lossy(&run.stderr).into_owned();
            return Err(AssembleError::Refused { message, line: None });
        }
        std::fs::read(&image).map_err(cannot)
    }
}
