//! The data that the corpus holds for each kernel.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A kernel with everything that is needed to run and to judge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name on the command line: `sgemm`, `mixbench-f32-8`.
    pub name: &'static str,
    /// The folder under `kernels/`. Variants of one kernel share it.
    pub family: &'static str,
    /// Description of the kernel, in one line.
    pub summary: &'static str,
    /// The CUDA source, `kernel.cu`.
    pub source: &'static str,
    /// The source compiled for each architecture, in ascending order.
    pub modules: &'static [Module],
    /// The launch file at full size: the published one where there is one. Its `module` names a
    /// [`Module::file`].
    pub launch: &'static str,
    /// A launch file for the same kernel that an interpreter runs in well under a second.
    pub launch_small: &'static str,
    /// The [references](mod@crate::reference) that the launch files' expectations name.
    pub references: &'static [&'static str],
    /// Published metrics of the kernel at the size of [`launch`](Entry::launch), as a metrics file
    /// in TOML.
    pub published: Option<&'static str>,
}

impl Entry {
    /// The PTX that a launch file means by `module = "sm_35.ptx"`; `sm_35` finds it too.
    pub fn module(&self, file_or_target: &str) -> Option<&'static Module> {
        self.modules
            .iter()
            .find(|module| module.file == file_or_target || module.target == file_or_target)
    }

    /// Every file with its text.
    pub fn files(&self) -> Vec<(&'static str, &'static str)> {
        let mut files = vec![("kernel.cu", self.source)];
        files.extend(self.modules.iter().map(|module| (module.file, module.ptx())));
        files.push(("launch.toml", self.launch));
        files.push(("launch-small.toml", self.launch_small));
        files.extend(self.published.map(|metrics| ("published.toml", metrics)));
        files
    }
}

/// A kernel's PTX for one architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// The architecture, as in PTX's `.target`: `sm_35`.
    pub target: &'static str,
    /// The file name that launch files use: `sm_35.ptx`.
    pub file: &'static str,
    /// The PTX text, packed by `deflate`.
    pub(crate) packed: &'static [u8],
}

/// The module of a kernel's folder for a target.
macro_rules! module {
    ($family:literal, $target:literal) => {
        $crate::entry::Module {
            target: $target,
            file: concat!($target, ".ptx"),
            packed: include_bytes!(concat!(env!("OUT_DIR"), "/", $family, "-", $target)),
        }
    };
}
pub(crate) use module;

impl Module {
    /// The PTX text.
    #[must_use]
    pub fn ptx(&self) -> &'static str {
        // Those that were asked for, by place: they stay.
        static TEXTS: Mutex<BTreeMap<usize, &'static str>> = Mutex::new(BTreeMap::new());
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        texts.entry(self.packed.as_ptr().addr()).or_insert_with(|| {
            // The build script has packed it, so it is whole, and text.
            let bytes = miniz_oxide::inflate::decompress_to_vec(self.packed).unwrap_or_default();
            String::from_utf8(bytes).unwrap_or_default().leak()
        })
    }
}
