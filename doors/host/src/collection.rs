//! The metrics of launches that somebody asks for, and what they get.

mod names;

use std::collections::BTreeMap;

use gpucast_forecast::failure::Report;
use gpucast_forecast::nsight::{Figure, InstructionLine};
use serde::{Deserialize, Serialize};

pub use names::{KernelId, KernelNames, NameBase, Pattern};

/// The launches that are profiled, and the metrics that they get.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfilerSettings {
    /// Names of metrics, as the profiler has them.
    pub metrics: Vec<String>,
    /// Kernels that are profiled, as a name or `regex:` and an expression; none for all.
    pub kernel: Option<String>,
    /// The form of the names that `kernel` is compared with.
    pub base: NameBase,
    /// Launches that are profiled, as `context:stream:name:invocation`; none for all.
    pub kernel_ids: Vec<String>,
    /// Launches of all kernels before which none is looked at.
    pub skip_before_match: u64,
    /// Launches of chosen kernels that are passed by.
    pub skip: u64,
    /// The most launches that are profiled.
    pub most: Option<u64>,
    /// True if a launch finds the caches as the one before left them.
    pub keeps_caches: bool,
    /// True if launches get their instructions, too.
    pub lists_lines: bool,
    /// True if profiling begins when the program says so.
    pub waits_for_start: bool,
}

impl ProfilerSettings {
    /// Tries the patterns.
    ///
    /// # Errors
    ///
    /// If one is none.
    pub fn check(&self) -> Result<(), Report> {
        self.kernel.as_deref().map(Pattern::parse).transpose()?;
        self.kernel_ids.iter().try_for_each(|text| KernelId::parse(text).map(|_| ()))
    }
}

/// The metrics of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchMetrics {
    /// The kernel.
    pub names: KernelNames,
    /// Each metric that was asked for; none where it does not follow from the launch.
    pub metrics: BTreeMap<String, Option<Figure>>,
    /// The kernel's instructions, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<InstructionLine>,
}
