//! The GPUs that the program knows by name.

use gpucast_counters::import::Position;

use super::description::Gpu;
use super::error::{FieldError, GpuError, UnknownGpu, nearest};

/// The texts of the built-in GPU files.
macro_rules! files {
    ($($name:literal)+) => {
        &[$(include_str!(concat!("../../gpus/", $name, ".toml"))),+]
    };
}

/// The built-in GPU files, by vendor and generation.
const BUILTIN: &[&str] = files! {
    "gtx-285"
    "gtx-480" "gtx-580" "tesla-c2070" "tesla-m2050"
    "gtx-660" "gtx-680" "gtx-770" "gtx-780" "gtx-780-ti" "gtx-titan" "tesla-k20c" "tesla-k20x"
    "tesla-k40c" "tesla-k80"
    "gtx-750-ti" "gtx-960" "gtx-970" "gtx-980" "gtx-980-ti" "gtx-titan-x"
    "gtx-1060" "gtx-1070" "gtx-1080" "gtx-1080-ti" "titan-x-pascal" "titan-xp" "quadro-p6000"
    "tesla-p100-pcie-12gb" "tesla-p100-pcie-16gb" "tesla-p100-sxm2"
    "titan-v" "tesla-v100-pcie" "tesla-v100-sxm2"
    "gtx-1650" "gtx-1650-super" "gtx-1660-ti" "rtx-2060" "rtx-2070" "rtx-2080" "rtx-2080-ti" "titan-rtx" "tesla-t4"
    "rtx-3060" "rtx-3060-ti" "rtx-3070" "rtx-3070-ti" "rtx-3080" "rtx-3090" "rtx-a4000" "rtx-a5000"
    "rtx-a6000" "a10" "a30" "a40" "a100-pcie-40gb" "a100-pcie-80gb" "a100-sxm-40gb" "a100-sxm-80gb"
    "jetson-agx-orin"
    "rtx-4060" "rtx-4070" "rtx-4080" "rtx-4090" "rtx-6000-ada" "l4" "l20" "l40" "l40s"
    "h100-pcie" "h100-sxm" "h100-nvl" "h20" "h800" "h200" "gh200"
    "rtx-5060" "rtx-5060-ti" "rtx-5070" "rtx-5070-ti" "rtx-5080" "rtx-5090" "rtx-pro-6000"
    "b200" "gb200" "b300" "gb300" "jetson-thor" "gb10"
    "r9-nano" "r9-fury"
};

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
    /// If the library has one of this name, or one of its aliases.
    pub fn insert(&mut self, gpu: Gpu) -> Result<(), GpuError> {
        let is_taken = |name: &str| self.gpus.iter().any(|known| known.answers_to(name));
        let names = [&gpu.name].into_iter().chain(&gpu.aliases);
        if let Some(name) = names.into_iter().find(|name| is_taken(name)) {
            let problem = FieldError::Duplicate { name: name.clone() };
            return Err(GpuError { position: Position::START, problem });
        }
        self.gpus.push(gpu);
        Ok(())
    }

    /// The GPU of a name or alias, with everything that follows from its file's figures
    /// ([`Gpu::completed`]), as models want it. Names are those of [`GpuLibrary::as_written`].
    ///
    /// # Errors
    ///
    /// If there is none, with the names that resemble it.
    pub fn get(&self, name: &str) -> Result<Gpu, UnknownGpu> {
        self.as_written(name).map(Gpu::completed)
    }

    /// The GPU of a name or alias, as its file has it. Case, spaces and dashes do not matter, and
    /// the vendor's full name may stand for ours. `GTX 480`, `gtx480` and `GeForce GTX 480` are one
    /// GPU.
    ///
    /// # Errors
    ///
    /// If there is none, with the names that resemble it.
    pub fn as_written(&self, name: &str) -> Result<&Gpu, UnknownGpu> {
        let exact = self.gpus.iter().find(|gpu| gpu.answers_to(name));
        let letters = squeezed(name);
        let similar = || {
            self.gpus.iter().find(|gpu| {
                let names = [&gpu.name, &gpu.display_name].into_iter().chain(&gpu.aliases);
                names.into_iter().any(|name| squeezed(name) == letters)
            })
        };
        exact.or_else(similar).ok_or_else(|| {
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

impl Gpu {
    fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// A name without the characters that people write in different ways.
fn squeezed(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_gpu_file_is_built_in_under_its_own_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/gpus");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let library = GpuLibrary::builtin().unwrap();
        let names: BTreeSet<String> = library.names().map(str::to_owned).collect();
        assert_eq!(names, files);
        assert_eq!(library.gpus.len(), BUILTIN.len());
    }
}
