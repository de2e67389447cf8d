//! What can be asked. Fields that `gpucast serve` has, too, have its names and forms.

use gpucast_forecast::settings::Size;
use serde::Deserialize;

/// A question.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "tool", rename_all = "kebab-case")]
pub enum Request {
    /// The GPUs with their figures, and what can be changed about them.
    Gpus,
    /// The kernels of the corpus.
    Kernels,
    /// The tasks for classes, with lessons and hints.
    Tasks,
    /// The texts of a kernel: its PTX, its launch, its CUDA source.
    Open(Kernel),
    /// The counts of each line.
    Profile(Profile),
    /// The predicted time.
    Predict(OnGpu),
    /// What is slow, and what to change.
    Advise(OnGpu),
    /// A picture.
    Plot(Plot),
    /// The occupancy of an SM by blocks of a shape.
    Occupancy(Occupancy),
    /// The steps of a warp.
    Steps(Steps),
    /// What is right, what is wrong, and what is left to do of a task.
    LabCheck(LabCheck),
}

/// A kernel: one of the corpus, or texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// A kernel of the corpus.
    pub corpus: Option<String>,
    /// The problem size of a corpus kernel.
    pub size: Option<SizeWord>,
    /// The PTX, or CUDA where there is a compiler.
    pub source: Option<String>,
    /// The launch file.
    pub launch: Option<String>,
    /// Values for `[parameters]` of the launch file: `n=4096`.
    pub params: Vec<String>,
    /// The CUDA source that the PTX was made of, to quote its lines.
    pub cuda: Option<Named>,
}

/// [`Size`] in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeWord {
    /// Runs in well under a second.
    Small,
    /// The size of the publication.
    Paper,
}

impl From<SizeWord> for Size {
    fn from(word: SizeWord) -> Self {
        match word {
            SizeWord::Small => Self::Small,
            SizeWord::Paper => Self::Paper,
        }
    }
}

/// A text with the name by which another one refers to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Named {
    /// The name of the file, without folders.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A kernel on a GPU.
#[derive(Clone, Debug, Deserialize)]
pub struct OnGpu {
    /// The kernel.
    #[serde(flatten)]
    pub kernel: Kernel,
    /// The GPU.
    #[serde(flatten)]
    pub gpu: Changed,
}

/// A GPU with changes.
#[derive(Clone, Debug, Deserialize)]
pub struct Changed {
    /// The GPU by name.
    pub gpu: String,
    /// Changes of its figures, as `gpucast gpus derive --set` takes them: `memory_bandwidth=1.2x`.
    #[serde(default)]
    pub set: Vec<String>,
}

/// Lines of the PTX or of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lines {
    /// Of the PTX.
    #[default]
    Ptx,
    /// Of the CUDA source.
    Cuda,
}

/// A profile by lines.
#[derive(Clone, Debug, Deserialize)]
pub struct Profile {
    /// The kernel and the GPU.
    #[serde(flatten)]
    pub on: OnGpu,
    /// The text whose lines are counted.
    #[serde(default)]
    pub source_lines: Lines,
}

/// A warp of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Warp {
    /// The launch, counted from 0.
    pub of_launch: usize,
    /// The CTA's place in the grid.
    pub cta: [u32; 3],
    /// The warp's index in its CTA.
    pub warp: u32,
}

/// The kinds of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Picture {
    /// Lanes in the lines and sectors of global memory.
    Access,
    /// Lanes in the banks of shared memory.
    Banks,
    /// Lanes on their way.
    Divergence,
    /// Warps of a simulated SM over time.
    Timeline,
    /// Throughput over intensity.
    Roofline,
    /// Where the time goes.
    Spent,
}

/// A picture.
#[derive(Clone, Debug, Deserialize)]
pub struct Plot {
    /// The kernel and the GPU.
    #[serde(flatten)]
    pub on: OnGpu,
    /// The kind.
    pub picture: Picture,
    /// The warp, where it is of one.
    #[serde(flatten)]
    pub warp: Warp,
    /// The line of the source whose accesses are shown, or of the PTX where that is not known.
    pub line: Option<u32>,
    /// Of each instruction, the execution that is shown, counted from 0.
    #[serde(default)]
    pub execution: u64,
    /// Simulated CTAs of a timeline: `all` or `0,5-7`.
    pub ctas: Option<String>,
}

/// The shape of a block on a GPU.
#[derive(Clone, Debug, Deserialize)]
pub struct Occupancy {
    /// The GPU, and the kernel whose blocks are meant where `threads` is absent.
    #[serde(flatten)]
    pub on: OnGpu,
    /// Threads of a block.
    pub threads: Option<u64>,
    /// Registers of a thread; they limit nothing without.
    pub registers: Option<u32>,
    /// Shared memory of a block in bytes.
    #[serde(default)]
    pub shared_bytes: u64,
}

/// The steps of a warp.
#[derive(Clone, Debug, Deserialize)]
pub struct Steps {
    /// The kernel.
    #[serde(flatten)]
    pub kernel: Kernel,
    /// The warp.
    #[serde(flatten)]
    pub warp: Warp,
    /// The first step that is wanted.
    #[serde(default)]
    pub first: u64,
    /// The most steps that are wanted.
    #[serde(default = "most_steps")]
    pub most: u64,
}

fn most_steps() -> u64 {
    gpucast_forecast::run::warp_steps::MOST_STEPS
}

/// A submission of a task.
#[derive(Clone, Debug, Deserialize)]
pub struct LabCheck {
    /// The task by its name, word or number.
    pub task: String,
    /// The submission: PTX, or CUDA where there is a compiler.
    pub source: String,
    /// Its launch file; the task's without.
    pub launch: Option<String>,
    /// The CUDA source that the PTX was made of.
    pub cuda: Option<Named>,
    /// The GPU of targets; an H100 without.
    pub gpu: Option<String>,
}
