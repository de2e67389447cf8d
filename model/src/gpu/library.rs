//! The GPUs that the program knows by name.

use gpucast_counters::import::Position;

use super::description::Gpu;
use super::error::{FieldError, GpuError, UnknownGpu, nearest};

/// The built-in GPU files.
const BUILTIN: [&str; 9] = [
    include_str!("../../gpus/gtx-480.toml"),
    include_str!("../../gpus/gtx-660.toml"),
    include_str!("../../gpus/gtx-960.toml"),
    include_str!("../../gpus/gtx-1060.toml"),
    include_str!("../../gpus/tesla-m2050.toml"),
    include_str!("../../gpus/tesla-k20c.toml"),
    include_str!("../../gpus/r9-nano.toml"),
    include_str!("../../gpus/gtx-285.toml"),
    include_str!("../../gpus/tesla-v100-sxm2.toml"),
];

/// GPUs by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuLibrary {
    gpus: Vec<Gpu>,
}

impl GpuLibrary {
    /// The GPUs that come with the program.
    ///
    /// # Errors
    ///
    /// If a file that was built in is at fault, which a test of this crate rules out.
    pub fn builtin() -> Result<Self, GpuError> {
        let mut library = Self::default();
        for text in BUILTIN {
            library.insert(Gpu::from_toml(text)?)?;
        }
        Ok(library)
    }

    /// Adds a GPU.
    ///
    /// # Errors
    ///
    /// If the library has one of this name.
    pub fn insert(&mut self, gpu: Gpu) -> Result<(), GpuError> {
        if self.names().any(|name| name == gpu.name) {
            let problem = FieldError::Duplicate { name: gpu.name };
            return Err(GpuError { position: Position::START, problem });
        }
        self.gpus.push(gpu);
        Ok(())
    }

    /// The GPU of a name.
    ///
    /// # Errors
    ///
    /// If there is none, with the names that resemble it.
    pub fn get(&self, name: &str) -> Result<&Gpu, UnknownGpu> {
        self.gpus.iter().find(|gpu| gpu.name == name).ok_or_else(|| {
            // People type `GTX 480` and `gtx480`.
            let typed = name.to_lowercase().replace([' ', '_'], "-");
            let suggestions = nearest(&typed, self.names()).into_iter().map(str::to_owned);
            UnknownGpu { name: name.to_owned(), suggestions: suggestions.collect() }
        })
    }

    /// All GPUs, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Gpu> {
        self.gpus.iter()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.gpus.iter().map(|gpu| gpu.name.as_str())
    }
}
