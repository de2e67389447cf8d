//! The choices that say which kernel is launched and how, as plain data.

use std::sync::Arc;

use gpucast_counters::hierarchy::L2Contents;

use super::load_caching::LoadCaching;
use super::project::Project;
use super::typed::Argument;
use crate::compiler::CudaOptions;

/// The launch of a module, or the choice of a corpus kernel's files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchOptions {
    /// The kernel: its name, mangled or not, a part that only one has, or a pattern.
    pub kernel: Option<String>,
    /// CTAs of the grid.
    pub grid: Option<[u32; 3]>,
    /// Threads of a CTA.
    pub block: Option<[u32; 3]>,
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a CTA in bytes.
    pub shared_bytes: Option<u32>,
    /// The arguments, in the order of the kernel's parameters.
    pub arg: Vec<Argument>,
    /// The PTX of a corpus kernel or a container, such as `sm_80`.
    pub arch: Option<String>,
    /// The problem size of a corpus kernel.
    pub size: Option<Size>,
    /// The L2's contents when launches begin, in place of those in a launch file.
    pub l2: Option<L2Contents>,
    /// Values for the `[parameters]` of a launch file.
    pub param: Vec<(String, f64)>,
    /// Cache level that keeps loads without a cache operator, whatever a launch file says.
    pub dlcm: Option<LoadCaching>,
    /// The way to compile CUDA source.
    pub cuda: CudaOptions,
    /// The project whose kernels have names.
    pub project: Option<Arc<Project>>,
}

impl LaunchOptions {
    /// A launch of the kernel of this name: CTAs of the grid, and threads of a CTA.
    pub fn new(kernel: impl Into<String>, grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            kernel: Some(kernel.into()),
            grid: Some(grid),
            block: Some(block),
            ..Self::default()
        }
    }

    /// The same launch with one more argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<Argument>) -> Self {
        self.arg.push(argument.into());
        self
    }

    /// The first option given that describes an execution; which kernel is meant does not.
    pub fn first_of_execution(&self) -> Option<&'static str> {
        let of_launch_file = || (!self.param.is_empty()).then_some("--param");
        let of_module = self.first_of_module();
        let of_all = || self.dlcm.map(|_| "--dlcm");
        let of_cuda = || self.cuda.first_given();
        of_module
            .or_else(|| self.first_of_corpus())
            .or_else(of_launch_file)
            .or_else(of_cuda)
            .or_else(of_all)
    }

    /// The first option given that describes a module's launch; a launch file has kernels, too.
    pub fn first_of_module(&self) -> Option<&'static str> {
        let options = self.options_of_module().into_iter();
        let mut options = options.filter(|&(option, _)| option != "--kernel");
        options.find_map(|(option, given)| given.then_some(option))
    }

    /// The options that describe a module's launch, each with a flag that is true if it was given.
    fn options_of_module(&self) -> [(&'static str, bool); 6] {
        [
            ("--kernel", self.kernel.is_some()),
            ("--grid", self.grid.is_some()),
            ("--block", self.block.is_some()),
            ("--cluster", self.cluster.is_some()),
            ("--shared-bytes", self.shared_bytes.is_some()),
            ("--arg", !self.arg.is_empty()),
        ]
    }

    /// The first option given that chooses among a corpus kernel's files.
    pub fn first_of_corpus(&self) -> Option<&'static str> {
        [("--arch", self.arch.is_some()), ("--size", self.size.is_some())]
            .into_iter()
            .find_map(|(option, given)| given.then_some(option))
    }
}

/// A corpus kernel's problem size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// Runs in well under a second.
    Small,
    /// The size of the publication.
    Paper,
}

impl Size {
    /// The size of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Small, Self::Paper].into_iter().find(|size| size.name() == name)
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Paper => "paper",
        }
    }
}
