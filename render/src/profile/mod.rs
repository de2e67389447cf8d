//! Profiles as text, JSON and CSV: by launch, line, stage or branch.

mod accesses;
mod branches;
mod launches;
mod lines;
mod profilers;
mod stages;

use std::collections::BTreeMap;

use gpucast_counters::machine::MachineProfile;
use gpucast_counters::refusal::reasons;
use gpucast_counters::{LaunchProfile, LeveledMetric, MetricValue, PROFILE_SCHEMA, RegisterRange};
use gpucast_forecast::Report;
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::input::kernel_name::signature;
use gpucast_forecast::inspection::MachineFacts;
use gpucast_forecast::number;
use gpucast_forecast::run::counting::Counted;
use gpucast_forecast::run::execute::{Loaded, Timing};
use gpucast_forecast::run::rung::Rung;
use gpucast_forecast::run::sources::replayed_part;
use gpucast_model::{Gpu, sm_simulation};
use serde::Serialize;

use crate::Format;
pub(crate) use lines::{Line, abridged, chain, lines, lines_of, ptx_text};

/// The thing that a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A kernel launch.
    Launch,
    /// A line of the source.
    Line,
    /// The work of all CTAs between two barriers.
    Stage,
    /// A conditional branch.
    Branch,
    /// Accesses to memory with the same strides: the features of cost models.
    Access,
}

/// Whose lines are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceChoice {
    /// CUDA if the PTX names its lines and the file is there, otherwise PTX.
    Auto,
    /// PTX.
    Ptx,
    /// CUDA, without its text if the file is not there.
    Cuda,
}

/// The selection of launch data to show.
pub struct View<'a> {
    /// The GPU whose counters are modelled.
    pub gpu: &'a Gpu,
    /// The launches with their counts.
    pub counted: &'a [Counted],
    /// The module, to quote its lines.
    pub loaded: &'a Loaded,
    /// The CUDA files that the module names, by their index.
    pub files: &'a BTreeMap<u32, CudaFile>,
    /// The metrics to show, and by whose names.
    pub metrics: &'a MetricChoice,
    /// The thing that a row stands for.
    pub by: By,
    /// Whose lines are shown.
    pub source: SourceChoice,
    /// True if the time of the execution is shown.
    pub timing: bool,
    /// The width of the terminal that the text goes to, if it does.
    pub width: Option<usize>,
    /// A simulation of each launch, in their order, to say where warps spend their time; may be
    /// empty.
    pub simulations: &'a [Option<sm_simulation::Analysis>],
    /// True if the text shows the inlined calls below each line.
    pub inlined: bool,
}

impl View<'_> {
    /// The simulation of one of the launches.
    fn simulation_of(&self, counted: &Counted) -> Option<&sm_simulation::Analysis> {
        let at = self.counted.iter().position(|known| std::ptr::eq(known, counted))?;
        self.simulations.get(at)?.as_ref()
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    launches: Vec<LaunchView<'a>>,
}

#[derive(Serialize)]
struct LaunchView<'a> {
    kernel: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    invocations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordered_because: Option<&'a str>,
    /// True if CTAs were watched, and ran in parallel or in order as a result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    watched: bool,
    /// The part of the launch that was executed to count it.
    counted_by: Rung,
    /// The reason why more was executed than the least that could suffice.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_by_because: Option<&'a str>,
    /// The number of classes of CTAs, if they were counted by classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    cta_classes: Option<usize>,
    /// The number of CTAs that were executed, if the counts are estimated from a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampled_ctas: Option<u64>,
    /// The share of the grid below which a kind of CTA may be missing from the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_unsure_share: Option<f64>,
    /// The number of other sizes that were executed, if formulas gave the counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    formula_sizes: Option<u64>,
    /// True if time was over before all CTAs of the sample were executed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sample_cut_short: bool,
    /// `none` if no request went through caches, so that what depends on them is absent;
    /// `windows` if those of some windows of the grid did, and `lines` if those for a sample of the
    /// lines of memory did.
    #[serde(skip_serializing_if = "Option::is_none")]
    caches: Option<&'static str>,
    /// One line of memory in so many went through the caches, if not all did.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines_per_replayed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine_code: Option<&'a MachineFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<&'a MachineProfile>,
    #[serde(flatten)]
    rows: Rows<'a>,
    buffers_sha256: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timing: Option<Timing>,
}

/// The requested data of a launch.
#[derive(Serialize)]
#[serde(untagged)]
enum Rows<'a> {
    Metrics {
        metrics: BTreeMap<&'a str, LeveledMetric>,
        /// The same counted on PTX, where `metrics` count the machine's instructions.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        ptx_metrics: BTreeMap<&'a str, MetricValue>,
    },
    Lines {
        lines: Vec<lines::Line<'a>>,
    },
    Branches {
        branches: Vec<branches::Branch>,
    },
    Features {
        features: Vec<accesses::FeaturesView>,
    },
    Stages {
        stages: Vec<stages::StageView>,
        /// Stages that are part of the last one because there were too many.
        merged_stages: u64,
    },
}

/// The launches in the form asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(view: &View<'_>, format: Format) -> Result<String, Report> {
    match (format, view.by, view.metrics) {
        (Format::Json, _, _) => {
            let launches = view.counted.iter().map(|counted| launch(view, counted)).collect();
            super::json::document(&Document { schema: PROFILE_SCHEMA, launches })
        }
        (Format::Csv, By::Launch, MetricChoice::Nvprof) => Ok(profilers::nvprof(view)),
        (Format::Csv, By::Launch, MetricChoice::Ncu) => Ok(profilers::ncu(view)),
        (Format::Csv, By::Launch, _) => launches::csv(view),
        (Format::Csv, By::Line, _) => lines::csv(view),
        (Format::Csv, By::Stage, _) => stages::csv(view),
        (Format::Csv, By::Branch, _) => branches::csv(view),
        (Format::Csv, By::Access, _) => accesses::csv(view),
        (Format::Text, _, _) => Ok(text(view)),
    }
}

fn launch<'a>(view: &View<'a>, counted: &'a Counted) -> LaunchView<'a> {
    let profile = &counted.profile;
    let rows = match view.by {
        By::Launch => launches::rows(view, counted),
        By::Line => Rows::Lines { lines: lines::lines(view, counted) },
        By::Branch => Rows::Branches { branches: branches::branches(view, counted) },
        By::Stage => stages::rows(counted),
        By::Access => Rows::Features { features: accesses::views(view, counted) },
    };
    LaunchView {
        kernel: &profile.kernel,
        grid: profile.grid,
        block: profile.block,
        invocations: profile.invocations,
        ordered_because: counted.ordered_because.as_deref(),
        watched: counted.watched,
        counted_by: counted.counted_by.rung,
        counted_by_because: counted.counted_by.because.as_deref(),
        cta_classes: counted.counted_by.classes,
        sampled_ctas: counted.counted_by.sampled,
        sample_unsure_share: counted.counted_by.unsure_share(),
        formula_sizes: counted.counted_by.sizes,
        sample_cut_short: counted.counted_by.is_cut_short,
        caches: caches(profile),
        lines_per_replayed: profile.lines_per_replayed(),
        warning: too_large(view.gpu, counted),
        machine_code: counted.machine_code.as_ref(),
        machine: profile.machine.as_ref(),
        rows,
        buffers_sha256: &counted.buffers_sha256,
        timing: view.timing.then_some(counted.timing),
    }
}

/// The requests that went through caches, if not all did.
fn caches(profile: &LaunchProfile) -> Option<&'static str> {
    if !profile.has_caches() {
        Some("none")
    } else if profile.is_of_windows() {
        Some("windows")
    } else {
        profile.lines_per_replayed().map(|_| "lines")
    }
}

fn extent([x, y, z]: [u32; 3]) -> String {
    format!("{x} x {y} x {z}")
}

fn text(view: &View<'_>) -> String {
    let mut text = String::new();
    for counted in view.counted {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &heading(view, counted);
        text.push('\n');
        text += &match view.by {
            By::Launch => launches::text(view, counted),
            By::Line => lines::text(view, counted),
            By::Branch => branches::text(view, counted),
            By::Stage => stages::text(counted),
            By::Access => accesses::text(view, counted),
        };
    }
    text
}

/// Says that the GPU refuses the launch, if it does.
fn too_large(gpu: &Gpu, counted: &Counted) -> Option<String> {
    let refusals = gpu.device_model().ok()?.refusals(&counted.profile.requested());
    let why = || {
        format!(
            "the {} refuses this launch: {}; it is counted as if one block fitted an SM",
            gpu.name,
            reasons(&refusals)
        )
    };
    (!refusals.is_empty()).then(why)
}

/// Says that registers are an estimate, if they limit the occupancy.
fn estimated_registers(counted: &Counted) -> Option<String> {
    let requested = counted.profile.requested();
    let registers = requested.cta.registers_per_thread?;
    let RegisterRange { least, most } = requested.estimated_registers?;
    Some(match least < most {
        true => format!(
            "{registers} registers per thread, estimated from live values: {least} to {most} are likely \
             (`--registers` states them)"
        ),
        false => format!(
            "{registers} registers per thread limit the occupancy, estimated: no machine code is known \
             for this GPU (`--registers` states them)"
        ),
    })
}

/// Renders the text before the table of a launch.
fn heading(view: &View<'_>, counted: &Counted) -> String {
    let profile = &counted.profile;
    let (grid, block) = (extent(profile.grid), extent(profile.block));
    let mut text = format!("{}: {grid} blocks of {block} threads", signature(&profile.kernel));
    if profile.invocations > 1 {
        let means = if view.by == By::Launch { "means of" } else { "totals of" };
        text += &format!(", {means} {} invocations", number::count(profile.invocations));
    }
    text.push('\n');
    match &counted.ordered_because {
        Some(why) => text += &format!("blocks ran one after the other: {why}\n"),
        None if counted.watched => {
            text += "blocks ran in parallel, watched: none decides by what another one writes\n";
        }
        None => {}
    }
    if let (Rung::Full, Some(because)) = (counted.counted_by.rung, &counted.counted_by.because) {
        text += &format!("counted by {} execution: {because}\n", counted.counted_by.rung.name());
    }
    if let Some(sampled) = counted.counted_by.sampled {
        let ctas: u128 = profile.grid.iter().map(|&extent| u128::from(extent)).product();
        let (sampled, ctas) = (number::count(sampled), number::count(ctas));
        text += &format!(
            "counted by a sample, {sampled} of {ctas} blocks: figures are estimated, with intervals of \
             95 %\n"
        );
        if let Some(share) = counted.counted_by.unsure_share() {
            text += &format!(
                "a kind of block with a share of the grid below {} may be missing from the sample; no \
                 interval tells of it\n",
                number::percent(share)
            );
        }
        if counted.counted_by.is_cut_short {
            text += "time was over before the whole sample was executed: intervals are wider\n";
        }
        if let Some(because) = &counted.counted_by.because {
            text += &format!("why by a sample: {because}\n");
        }
    }
    if let Some(sizes) = counted.counted_by.sizes {
        text += &format!(
            "counted by formulas, which {} other sizes gave: figures are estimated\n",
            number::count(sizes)
        );
    }
    if !profile.has_caches() {
        text += "caches are left out: figures that depend on them are absent\n";
    } else if let Some(part) = replayed_part(profile) {
        text += &format!(
            "caches saw {part}: figures that depend on them are estimated; --caches full counts them\n"
        );
    }
    if let Some(warning) = too_large(view.gpu, counted) {
        text += &format!("warning: {warning}\n");
    }
    if let Some(facts) = &counted.machine_code {
        text += &format!("{facts}\n");
    }
    if let Some(machine) = &profile.machine {
        text += &machine_line(machine);
    }
    if let Some(estimated) = estimated_registers(counted) {
        text += &format!("{estimated}\n");
    }
    if view.timing {
        text += &format!("executed in {}\n", counted.timing);
    }
    text
}

/// Renders the origin of machine instructions, and the approximations.
fn machine_line(machine: &MachineProfile) -> String {
    let version = machine.back_end.version().map_or(String::new(), |version| format!(" {version}"));
    let registers = machine
        .registers_per_thread
        .map_or(String::new(), |registers| format!(", {registers} registers per thread"));
    let name = machine.back_end.name();
    let mut text =
        format!("machine instructions by {name}{version} for {}{registers}\n", machine.target);
    for note in &machine.notes {
        text += &format!("  {note}\n");
    }
    text
}

#[cfg(test)]
mod tests;
