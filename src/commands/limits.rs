//! The limits that predictions are held to.

use std::collections::BTreeMap;

use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::difference::{Broken, Condition, Difference, Figures, read_baseline};
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::input::module_text;
use gpucast_forecast::prediction::KernelView;
use gpucast_forecast::run::counting::Counted;
use gpucast_forecast::run::execute::Loaded;
use gpucast_model::Gpu;
use gpucast_render::difference::{self, Checked, Held, LineChange};
use gpucast_render::marks::MarkFormat;
use gpucast_render::profile::{By, SourceChoice, View};

use crate::cli::LimitedOutput;
use crate::failure::{Failure, Report};

/// Conditions, and what changes are measured against.
pub(crate) struct Limits<'a> {
    conditions: &'a [Condition],
    /// The figures of each KERNEL before; `None` without a baseline.
    baseline: Option<Vec<Figures>>,
}

/// The lines of launches, by KERNEL and launch.
pub(crate) type LaunchLines = BTreeMap<(usize, usize), Vec<LineChange>>;

impl<'a> Limits<'a> {
    /// Reads the baseline, and refuses conditions that lack one.
    pub(crate) fn read(options: &'a LimitedOutput) -> Result<Self, Failure> {
        let conditions = &*options.fail_if;
        let lacks = |one: &&Condition| options.baseline.is_none() && one.is_of_change();
        if let Some(condition) = conditions.iter().find(lacks) {
            return Err(Failure::Usage(condition.without_baseline()));
        }
        if options.format.marks().is_some() && conditions.is_empty() {
            let report = Report::new("this form shows broken limits, and there is no limit");
            return Err(Failure::Usage(report.hint("give one: --fail-if 'time>120us'")));
        }
        let read = |path| read_baseline(&module_text::read_text(path)?);
        let baseline = options.baseline.as_deref().map(read).transpose()?;
        Ok(Self { conditions, baseline })
    }

    /// Holds each KERNEL to the conditions. `names` has the name of each.
    pub(crate) fn hold(
        &self,
        names: &[String],
        kernels: &[KernelView],
    ) -> Result<Vec<Verdict>, Report> {
        if self.conditions.is_empty() {
            return Ok(Vec::new());
        }
        let after = Figures::of_each(kernels);
        let before = match &self.baseline {
            None => vec![None; after.len()],
            Some(before) if before.len() == after.len() => before.iter().map(Some).collect(),
            Some(before) => {
                let (before, after) = (before.len(), after.len());
                let message = format!("{after} kernels stand against {before} of the baseline");
                return Err(Report::new(message).hint("name the kernels as for the baseline"));
            }
        };
        let arguments = kernels.chunk_by(|one, next| one.argument == next.argument);
        let verdict =
            |((figures, before), kernels): ((&Figures, Option<&Figures>), &[KernelView])| {
                let argument = kernels[0].argument;
                let name = names.get(argument).unwrap_or(&kernels[0].profile.kernel).clone();
                self.verdict(argument, name, before, figures)
            };
        after.iter().zip(before).zip(arguments).map(verdict).collect()
    }

    fn verdict(
        &self,
        argument: usize,
        name: String,
        before: Option<&Figures>,
        after: &Figures,
    ) -> Result<Verdict, Report> {
        let difference = before.map(|before| Difference::of(before, after)).transpose()?;
        let check = |condition: &Condition| {
            let broken = condition.broken_by(after, difference.as_ref())?;
            Ok(Checked { condition: condition.clone(), broken })
        };
        let checked = self.conditions.iter().map(check).collect::<Result<_, Report>>()?;
        let growths = match &difference {
            Some(difference) => difference.growths(),
            None => after.launches.iter().map(|launch| launch.longest_ms()).collect(),
        };
        Ok(Verdict { argument, name, checked, growths })
    }
}

/// A KERNEL that was held to the conditions.
pub(crate) struct Verdict {
    argument: usize,
    name: String,
    checked: Vec<Checked>,
    growths: Vec<f64>,
}

/// Broken limits in a form for CI.
pub(crate) fn document(
    verdicts: &[Verdict],
    mut lines: LaunchLines,
    format: MarkFormat,
) -> Result<String, Report> {
    let of_kernel = |one: &Verdict| {
        let launches = 0..one.growths.len();
        let lines = launches.map(|launch| lines.remove(&(one.argument, launch)));
        lines.map(Option::unwrap_or_default).collect::<Vec<_>>()
    };
    let lines: Vec<Vec<Vec<LineChange>>> = verdicts.iter().map(of_kernel).collect();
    let kernels: Vec<Held<'_>> = verdicts
        .iter()
        .zip(&lines)
        .map(|(one, lines)| Held {
            name: &one.name,
            checked: &one.checked,
            lines,
            growths: one.growths.clone(),
        })
        .collect();
    difference::held("predict", &kernels, format)
}

/// Fails if a condition is broken.
pub(crate) fn verdict(verdicts: &[Verdict]) -> Result<(), Failure> {
    let broken = verdicts.iter().flat_map(|verdict| {
        let broken = verdict.checked.iter().flat_map(|checked| &checked.broken);
        broken.map(|broken: &Broken| Report::new(format!("{}: {}", verdict.name, broken.sentence)))
    });
    let broken: Vec<Report> = broken.collect();
    if broken.is_empty() { Ok(()) } else { Err(broken.into()) }
}

/// The lines of a launch with their costs.
pub(crate) fn lines(
    gpu: &Gpu,
    loaded: &Loaded,
    files: &BTreeMap<u32, CudaFile>,
    counted: &Counted,
) -> Vec<LineChange> {
    let view = View {
        gpu,
        counted: std::slice::from_ref(counted),
        loaded,
        files,
        metrics: &MetricChoice::All,
        by: By::Line,
        source: SourceChoice::Auto,
        timing: false,
        width: None,
        simulations: &[],
        inlined: true,
    };
    difference::lines_of(&view, counted)
}
