//! Settings of runs as plain data: the choices of a command line or another caller.

use std::path::PathBuf;

use gpucast_counters::SampleSize;
use gpucast_interpreter::Options;
use gpucast_ptx_frontend::container::Target;
use serde::{Deserialize, Serialize};

pub use crate::input::options::{LaunchOptions, Size};
pub use crate::input::plan::LoadCaching;

/// The choice of a rung: how much of each launch is executed where only counts are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RungChoice {
    /// The highest rung that is proven for the launches of a file.
    #[default]
    Auto,
    /// The slice of one CTA of each class; launches for which it is not proven are refused.
    Classes,
    /// The slice on which counts depend; launches for which it is not proven are refused.
    Slice,
    /// A sample of the grid's CTAs, from which all counts are estimated, with intervals; launches
    /// for which it is not sound are executed as [`Self::Auto`] does without classes.
    Sample,
    /// Everything.
    Full,
    /// Nothing in most sizes of a problem: formulas that were found in some of them. Where there
    /// are none, launches are executed as with [`Self::Auto`].
    Formulas,
}

/// The part of the requests that goes through the modelled caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheChoice {
    /// Those of every CTA, unless they ask for more than twice [`WindowSizes::LINES`] lines and
    /// the launch is counted by classes of CTAs. A sample of the lines then goes through, and of
    /// larger launches windows of the grid. What depends on caches is estimated, with intervals.
    ///
    /// It is the program's default.
    ///
    /// [`WindowSizes::LINES`]: gpucast_counters::WindowSizes::LINES
    Auto,
    /// Those of every CTA.
    #[default]
    Full,
    /// Those of some windows of the grid, where it is large and counted by classes of CTAs. What
    /// depends on caches is estimated, with intervals.
    Windows,
    /// None. Metrics that depend on caches are absent, and grids may have any size.
    None,
}

impl CacheChoice {
    /// The name of the choice.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Full => "full",
            Self::Windows => "windows",
            Self::None => "none",
        }
    }
}

/// Settings of the execution.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExecutionSettings {
    /// Limits and the order of CTAs.
    pub options: Options,
    /// True if results say how long the execution took.
    pub timing: bool,
    /// How much is executed where only counts are wanted.
    pub counting: RungChoice,
    /// CTAs of a sample. With [`RungChoice::Auto`] a launch is then sampled if its CTAs do not fall
    /// into classes.
    pub ctas: Option<u64>,
    /// Requests that go through the caches.
    pub caches: CacheChoice,
}

impl ExecutionSettings {
    /// The sample to take, if one may be taken.
    #[must_use]
    pub fn sample(&self) -> Option<SampleSize> {
        let default = SampleSize::default();
        let of = |ctas| SampleSize { ctas, ..default };
        match self.counting {
            RungChoice::Sample => Some(self.ctas.map_or(default, of)),
            RungChoice::Auto => self.ctas.map(of),
            RungChoice::Classes | RungChoice::Slice | RungChoice::Full | RungChoice::Formulas => {
                None
            }
        }
    }
}

/// Settings by which PTX becomes machine instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineSettings {
    /// Source of the machine instructions that the PTX becomes.
    pub machine: MachineChoice,
    /// The architecture of the machine code. By default it is that of the GPU whose counters are
    /// modelled, or the nearest later one that the PTX and the assembler allow.
    pub machine_target: Option<Target>,
    /// The assembler; by default the supervisor's [`Toolchain`](crate::run::assembler::Toolchain)
    /// looks for one.
    pub ptxas: Option<PathBuf>,
    /// Registers of a thread, as `-Xptxas -v` and every profiler print them. They limit the CTAs of
    /// an SM in place of those of machine code.
    pub registers: Option<u32>,
}

/// Source of machine instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineChoice {
    /// NVIDIA's assembler where there is one, else the built-in rules.
    #[default]
    Auto,
    /// NVIDIA's assembler.
    Ptxas,
    /// The built-in rules.
    Rules,
    /// Nothing: PTX instructions alone are counted.
    None,
}
