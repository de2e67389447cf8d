//! The library of GPUs.

use std::sync::OnceLock;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::{Failure, Report};
use gpucast_model::{Gpu, GpuLibrary};
use pyo3::prelude::*;

use crate::failure;

/// The built-in library, read once.
pub(crate) fn library() -> Result<&'static GpuLibrary, Report> {
    static LIBRARY: OnceLock<GpuLibrary> = OnceLock::new();
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let library = gpu_argument::library()?;
    Ok(LIBRARY.get_or_init(|| library))
}

/// Returns every figure of the GPUs, or of the library, as JSON: what `gpucast gpus list` writes.
#[pyfunction]
pub(crate) fn gpus(py: Python<'_>, names: Vec<String>) -> PyResult<String> {
    let found = || -> Result<String, Failure> {
        let library = library()?;
        let gpus: Vec<Gpu> = match names.as_slice() {
            [] => library.iter().map(Gpu::completed).collect(),
            names => gpu_argument::find_all(library, names)?,
        };
        serde_json::to_string(&gpus)
            .map_err(|error| Report::new(format!("cannot describe the GPUs: {error}")).into())
    };
    found().map_err(|failure| failure::raised(py, failure))
}

/// Returns the compute capability of the oldest of some GPUs; absent if none has one.
#[pyfunction]
pub(crate) fn capability(py: Python<'_>, names: Vec<String>) -> PyResult<Option<(u32, u32)>> {
    let gpus = || -> Result<Vec<Gpu>, Report> { gpu_argument::find_all(library()?, &names) };
    let gpus = gpus().map_err(|report| failure::error(py, vec![report]))?;
    let capabilities = gpus.iter().filter_map(|gpu| gpu.compute_capability.as_ref());
    Ok(capabilities.map(|capability| (capability.value.major, capability.value.minor)).min())
}
