//! `gpucast plot`: the options of each kind of picture.

use std::path::PathBuf;

use clap::{Arg, Args, Subcommand, ValueEnum};
use gpucast_forecast::choice::count_on::OF_THESIS;

use super::prediction::{CountingOptions, GpuOptions, ModelOptions, with_default};
use super::trace::Simulated;
use super::{ExecutionOptions, LaunchOptions, MachineOptions};

#[derive(Debug, Subcommand)]
pub(crate) enum Plot {
    /// Throughput over operational intensity, under the ceilings of each GPU
    #[command(mut_arg("model", of_thesis))]
    Roofline(PlotPredictions),
    /// Throughput over bandwidth: GPUs as points, the kernel as a half-line (Konstantinidis 2017,
    /// section 3.3)
    #[command(mut_arg("model", of_thesis))]
    QuadrantSplit(PlotQuadrantSplit),
    /// How long each resource is busy, for each kernel, GPU and model
    Breakdown(PlotPredictions),
    /// How long each resource is busy in each stage between barriers, where an SM holds one block
    #[command(mut_arg("model", |model| with_default(model, "component-throughput")))]
    Stages(PlotPredictions),
    /// Instructions by class
    #[command(mut_arg("count_on", |count_on| {
        let help = "The GPU whose counters are modelled, by name or TOML file";
        count_on.help(help).default_value(OF_THESIS)
    }))]
    Mix(PlotMix),
    /// The table of a sweep: lines, or a heat map
    Sweep(PlotSweep),
    /// The table of sensitivities: how much each figure of a GPU moves the time
    Sensitivity(PlotSensitivity),
    /// Predicted beside measured times, and their errors
    Errors(PlotPredictions),
    /// The warps that an SM holds, over threads, registers and shared memory of a block
    Occupancy(PlotOccupancy),
    /// The lines and sectors of global memory that the lanes of a warp access
    Access(PlotAccesses),
    /// The banks of shared memory in which the lanes of a warp meet, pass by pass
    Banks(PlotAccesses),
    /// The lanes of a warp on their way through a kernel, step by step
    Divergence(PlotDivergence),
    /// The warps of a simulated SM over time, coloured by what they wait for
    Timeline(Box<PlotTimeline>),
}

/// `--model` of pictures that show the thesis's quantities.
fn of_thesis(model: Arg) -> Arg {
    with_default(model, "quantitative-roofline")
}

/// Kernels, or files of counts.
#[derive(Debug, Args)]
pub(crate) struct PlotKernels {
    /// Corpus names (sgemm), launch files (x.toml), PTX modules (x.ptx), or containers with PTX
    /// inside
    #[arg(value_name = "KERNEL", required_unless_present = "from_metrics")]
    pub(crate) inputs: Vec<String>,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,

    /// Take counts from a metrics file or from the CSV of nvprof or ncu, too; repeat it for several
    #[arg(long, help_heading = "Counts", value_name = "FILE")]
    pub(crate) from_metrics: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) counting: CountingOptions,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,
}

/// Kernels on GPUs.
#[derive(Debug, Args)]
pub(crate) struct PlotPredictions {
    #[command(flatten)]
    pub(crate) kernels: PlotKernels,

    #[command(flatten)]
    pub(crate) gpus: GpuOptions,

    #[command(flatten)]
    pub(crate) models: ModelOptions,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotMix {
    #[command(flatten)]
    pub(crate) kernels: PlotKernels,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotSweep {
    /// The CSV of `gpucast sweep`, or one with the same columns
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,

    /// The column along the x axis [default: the first swept one whose numbers vary]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) x: Option<String>,

    /// The column along the y axis: then the picture is a heat map
    #[arg(long, value_name = "COLUMN")]
    pub(crate) y: Option<String>,

    /// The column that is shown [default: time_ms]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) value: Option<String>,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotSensitivity {
    /// The CSV of `gpucast sensitivity`
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotOccupancy {
    #[command(flatten)]
    pub(crate) kernels: PlotKernels,

    #[command(flatten)]
    pub(crate) gpus: GpuOptions,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotTimeline {
    #[command(flatten)]
    pub(crate) simulated: Simulated,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

/// One warp of a launch.
#[derive(Debug, Args)]
// Nothing is counted here.
#[command(mut_args(without_counting))]
pub(crate) struct WarpOptions {
    /// A corpus name (sgemm), a launch file (x.toml), a module (x.ptx, or x.cu, which is compiled),
    /// or a fatbin, object, library or executable with PTX inside
    #[arg(value_name = "KERNEL")]
    pub(crate) input: String,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,

    /// Which of several launches, counted from 1
    #[arg(long = "launch", help_heading = "Kernel", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) number: u32,

    /// The block, by its place in the grid
    #[arg(long, help_heading = "Warp", value_name = "X,Y,Z", default_value = "0,0,0", value_parser = place)]
    pub(crate) cta: BlockIndex,

    /// The warp of the block, counted from 0
    #[arg(long, help_heading = "Warp", value_name = "N", default_value_t = 0)]
    pub(crate) warp: u32,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,
}

/// Hides options that say how to count.
fn without_counting(option: Arg) -> Arg {
    let of_counting = ["counting", "ctas", "caches", "execution_time", "no_cache"];
    let hides = of_counting.contains(&option.get_id().as_str());
    if hides { option.hide(true) } else { option }
}

/// A block's place in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockIndex(pub(crate) [u32; 3]);

/// Reads `3`, `3,1` or `3,1,0`.
fn place(text: &str) -> Result<BlockIndex, String> {
    let wrong = || format!("`{text}` is no place in a grid; write 3 or 3,1,0");
    let mut place = [0; 3];
    for (at, part) in text.split(',').enumerate() {
        *place.get_mut(at).ok_or_else(wrong)? = part.trim().parse().map_err(|_| wrong())?;
    }
    Ok(BlockIndex(place))
}

#[derive(Debug, Args)]
pub(crate) struct PlotAccesses {
    #[command(flatten)]
    pub(crate) warp: WarpOptions,

    /// The line of the source, or of the PTX where the source is not known [default: all]
    #[arg(long, help_heading = "Warp", value_name = "N")]
    pub(crate) line: Option<u32>,

    /// Which execution of each instruction by the warp, counted from 1
    #[arg(long, help_heading = "Warp", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) execution: u64,

    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        help_heading = "Output",
        value_name = "GPU",
        help = "The GPU whose sectors and banks are shown [default: that of the environment \
                variable GPUCAST_GPU, or h100-sxm]"
    )]
    pub(crate) gpu: Option<String>,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotDivergence {
    #[command(flatten)]
    pub(crate) warp: WarpOptions,

    /// The blocks of instructions that are shown, in the order of their execution
    #[arg(long, help_heading = "Warp", value_name = "FIRST..END", default_value = "0..200", value_parser = steps)]
    pub(crate) steps: Steps,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

/// A part of a warp's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps(pub(crate) std::ops::Range<u64>);

/// Rows of a picture of the largest height.
const MOST_STEPS: u64 = 1000;

/// Reads `100..200`.
fn steps(text: &str) -> Result<Steps, String> {
    let wrong = || format!("`{text}` is no range of steps; write 0..200");
    let (first, end) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let steps = number(first)?..number(end)?;
    match steps.end.saturating_sub(steps.start) {
        0 => Err(wrong()),
        1..=MOST_STEPS => Ok(Steps(steps)),
        _ => Err(format!("a picture has room for {MOST_STEPS} steps")),
    }
}

#[derive(Debug, Args)]
pub(crate) struct PlotQuadrantSplit {
    #[command(flatten)]
    pub(crate) predictions: PlotPredictions,

    /// How the axes run; logarithmic ones hold GPUs of very different sizes
    #[arg(long, help_heading = "Output", value_name = "SCALE", default_value = "linear")]
    pub(crate) scale: ScaleChoice,
}

/// How axes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScaleChoice {
    /// Equal differences are equally long
    Linear,
    /// Equal ratios are equally long
    Log,
}

/// What a picture looks like and where it goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PictureOptions {
    /// The picture's file; its ending, svg or png, says the format
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The colours
    #[arg(long, value_name = "THEME", default_value = "light")]
    pub(crate) theme: ThemeChoice,

    /// The title [default: what the picture shows]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

/// A picture's colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThemeChoice {
    /// For white paper
    Light,
    /// For dark screens
    Dark,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_named_by_one_to_three_numbers() {
        assert_eq!(place("3"), Ok(BlockIndex([3, 0, 0])));
        assert_eq!(place("3,1"), Ok(BlockIndex([3, 1, 0])));
        assert_eq!(place("3, 1, 2"), Ok(BlockIndex([3, 1, 2])));
        for wrong in ["", "a", "1,2,3,4", "-1", "1,,2"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_of_steps_have_two_ends() {
        assert_eq!(steps("10..20"), Ok(Steps(10..20)));
        for wrong in ["", "5", "20..10", "5..5", "..5", "a..b", "0..1001"] {
            assert!(steps(wrong).is_err(), "{wrong}");
        }
    }
}
