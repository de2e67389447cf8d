//! Numba, by gpucast's package for Python, which knows how a kernel of Numba becomes PTX.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gpucast_forecast::Report;

use crate::process::output_within;
use crate::{Stop, installed};

/// Time after which Python is given up. Numba compiles a kernel in a few seconds.
const PATIENCE: Duration = Duration::from_secs(120);
/// The module that compiles.
const MODULE: &str = "gpucast.adapters.numba";
/// What brings everything that it needs.
const NEEDS: &str = "kernels in Python need gpucast's package for Python, and `pip install \
                     numba-cuda nvidia-cuda-nvcc-cu12 nvidia-cuda-nvrtc-cu12 \
                     nvidia-cuda-runtime-cu12`";

/// A kernel of a file in Python.
#[derive(Clone, Copy, Debug)]
pub struct PythonKernel<'a> {
    /// The file, which Python executes.
    pub file: &'a Path,
    /// The kernel's name.
    pub name: &'a str,
    /// The types of its arguments, as launch files name them; an array's ends in `[]`.
    pub types: &'a [String],
    /// The compute capability to compile for, as `9.0`.
    pub capability: &'a str,
}

impl PythonKernel<'_> {
    /// Compiles the kernel to PTX.
    ///
    /// # Errors
    ///
    /// If there is no Python, or it lacks packages, or Numba refuses the kernel.
    pub fn compile(&self, stop: &Stop) -> Result<String, Report> {
        let python = installed::python()
            .ok_or_else(|| Report::new("no Python is on the search path").hint(NEEDS))?;
        let cannot = |error: std::io::Error| {
            Report::new(format!("{} cannot be compiled: {error}", self.file.display()))
        };
        let folder = tempfile::Builder::new().prefix("gpucast-numba-").tempdir();
        let folder = folder.map_err(cannot)?;
        let output = folder.path().join("kernel.ptx");
        let mut command = Command::new(python);
        // Python keeps no compiled module beside a student's file.
        command.args(["-B", "-m", MODULE]).arg(&output).arg(self.file);
        command.args([self.name, self.capability]).args(self.types);
        let finished = output_within(&mut command, PATIENCE, stop).map_err(cannot)?;
        if !finished.success {
            let said = finished.text.lines().map(str::trim).rfind(|line| !line.is_empty());
            let said = said.unwrap_or("Python failed without a message").to_owned();
            let lacks =
                ["No module named", "finds no compiler"].iter().any(|one| said.contains(one));
            let report = Report::new(said);
            return Err(if lacks { report.hint(NEEDS) } else { report });
        }
        std::fs::read_to_string(&output).map_err(cannot)
    }
}
