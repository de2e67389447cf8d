//! `gpucast compare`: predicted times against measured ones.

use gpucast_forecast::LaunchOptions;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::comparison::{Comparing, Comparison, TimeChoice};
use gpucast_forecast::run::sources::Counts;
use gpucast_render::comparison;
use gpucast_toolchain::compiler::plain_cuda;

use crate::cli::Compare;
use crate::failure::Failure;
use crate::output::{Output, Terminal};
use crate::{interrupt, project};

pub(crate) fn run(arguments: Compare) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let library = gpu_argument::library()?;
    let choice = TimeChoice {
        models: &arguments.prediction.models()?,
        count_on: &arguments.prediction.count_on(&library)?,
        library: &library,
        running: arguments.measurement.running(),
        timing: arguments.measurement.timing(),
    };
    let times = match &arguments.measured {
        Some(path) => choice.of_file(path)?,
        None => {
            let words = arguments.published.as_deref().unwrap_or_default();
            choice.of_publications(words, arguments.published_counts)?
        }
    };
    let mut output = Output::open(arguments.output.output.clone())?;
    let comparing = Comparing {
        counts: &|| Counts {
            machine: (&arguments.machine).into(),
            execution: (&arguments.execution).into(),
            ..Counts::default()
        },
        launch: &LaunchOptions {
            cuda: plain_cuda(interrupt::stop()),
            project: project::current(),
            ..LaunchOptions::default()
        },
        supervisor: &Terminal::without_notes(&arguments.execution)?,
    };
    let comparison = Comparison::new(comparing.rows(&times)?);
    output.write(&comparison::document(&comparison, arguments.output.format)?)
}
