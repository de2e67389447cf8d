//! `gpucast diff`: two kernels side by side.

use std::path::Path;

use gpucast_advice::Depth;
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::difference::{Broken, Condition, Difference, Figures, read_baseline};
use gpucast_forecast::input::module_text;
use gpucast_forecast::prediction::tell_stand_ins;
use gpucast_render::Format;
use gpucast_render::difference::{self, Checked, DifferenceFormat, Side, SideRun};
use gpucast_render::profile::SourceChoice;

use super::counted::{Request, Shown};
use super::usual_gpu;
use crate::cli::diff::Diff;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Diff) -> Result<(), Failure> {
    let models = arguments.models.read(&[])?;
    let library = gpu_argument::library()?;
    let measurement = &arguments.measurement;
    let gpus = gpu_argument::find_all_running(
        &library,
        &usual_gpu::or_usual(&arguments.gpus.gpu),
        measurement.running(),
    )?;
    let count_on = CountOn::read(&library, arguments.counting.count_on.as_deref())?;
    let request = Request {
        launch: &arguments.launch,
        groups: &count_on.groups(gpus, &models)?,
        models: &models,
        measurement,
        machine: &arguments.machine,
        execution: &arguments.execution,
        source_root: arguments.source_root.as_deref(),
        depth: Depth::OneModel,
    };
    let format = arguments.format();
    let notes = match format {
        DifferenceFormat::Json | DifferenceFormat::Sarif => Format::Json,
        DifferenceFormat::Text
        | DifferenceFormat::Html
        | DifferenceFormat::Markdown
        | DifferenceFormat::Junit
        | DifferenceFormat::Github => Format::Text,
    };
    let terminal = Terminal::new(&arguments.execution, notes)?;
    let mut output = Output::open(arguments.output.clone())?;
    let before = Compared::of(&arguments.before, &request, &terminal)?;
    let after = Compared::of(&arguments.after, &request, &terminal)?;
    let difference = Difference::of(&before.figures, &after.figures)?;
    let check = |condition: &Condition| {
        let broken = condition.broken_by(&after.figures, Some(&difference))?;
        Ok(Checked { condition: condition.clone(), broken })
    };
    let checked = arguments.fail_if.iter().map(check).collect::<Result<Vec<Checked>, Report>>()?;
    let source = arguments.source;
    let sides = [before.side(&arguments.before, source), after.side(&arguments.after, source)];
    output.write(&difference::document(&difference, &sides, &checked, format)?)?;
    let broken: Vec<&Broken> = checked.iter().flat_map(|condition| &condition.broken).collect();
    if broken.is_empty() {
        return Ok(());
    }
    let (before, after) = (&arguments.before, &arguments.after);
    let report =
        |broken: &&Broken| Report::new(format!("{after} against {before}: {}", broken.sentence));
    Err(broken.iter().map(report).collect::<Vec<Report>>().into())
}

/// One side of a difference.
struct Compared {
    figures: Figures,
    /// What was run; `None` for a document of an earlier run.
    shown: Option<Shown>,
}

impl Compared {
    fn of(input: &str, request: &Request<'_>, terminal: &Terminal) -> Result<Self, Failure> {
        if Path::new(input).extension().is_some_and(|ending| ending == "json") {
            let figures = read_baseline(&module_text::read_text(Path::new(input))?)?;
            let [figures] = <[Figures; 1]>::try_from(figures).map_err(|several| {
                let message = format!("{input} is about {} kernels", several.len());
                let hint = "`gpucast predict KERNEL… --baseline FILE` compares several";
                Report::new(message).hint(hint)
            })?;
            return Ok(Self { figures, shown: None });
        }
        let shown = Shown::of(input, request, terminal)?;
        tell_stand_ins(&shown.kernels, terminal);
        let figures = Figures::of(&shown.kernels);
        Ok(Self { figures, shown: Some(shown) })
    }

    fn side<'a>(&'a self, name: &'a str, source: SourceChoice) -> Side<'a> {
        let run = |shown: &'a Shown| SideRun { view: shown.view(source), advice: &shown.advice };
        Side { name, run: self.shown.as_ref().map(run) }
    }
}
