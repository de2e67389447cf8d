//! A kernel of a request with its module and its sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_forecast::compiler::Compiler;
use gpucast_forecast::input::cuda_source::{self, CudaFile};
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::run::module;
use gpucast_forecast::{Failure, Kernel as Forecast};
use gpucast_model::Gpu;

use crate::place::Place;
use crate::request::Kernel;

/// A kernel that can be executed.
pub(crate) struct Opened {
    /// Its files, for as long as something may read them.
    pub(crate) place: Place,
    pub(crate) kernel: Forecast,
    pub(crate) loaded: Loaded,
    pub(crate) files: BTreeMap<u32, CudaFile>,
}

impl Opened {
    /// Opens a kernel. CUDA is compiled, for a GPU if one is given, where there is a compiler.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with its texts.
    pub(crate) fn of(
        kernel: &Kernel,
        compiler: Option<&Arc<dyn Compiler>>,
        gpu: Option<&Gpu>,
    ) -> Result<Self, Failure> {
        let mut place = Place::of(kernel)?;
        place.launch.cuda.compiler = compiler.cloned();
        if let Some(gpu) = gpu {
            place.launch.cuda.suggest_for(std::slice::from_ref(gpu));
        }
        let kernel = Forecast::open(&place.input, &place.launch)?;
        let loaded = module::load(kernel.plan())?;
        let files = cuda_source::files(kernel.plan(), &loaded.module, place.sources().as_deref());
        Ok(Self { place, kernel, loaded, files })
    }
}
