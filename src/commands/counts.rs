//! `gpucast counts`: counts as formulas in the sizes of a problem.

use std::collections::BTreeSet;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::parametric::{self, Question, Wanted};
use gpucast_forecast::run::sources;
use gpucast_render::counts::{self, View};

use super::launch_template::check_parameter;
use crate::cli::Counts;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Counts) -> Result<(), Failure> {
    let gpu = gpu_argument::find(&gpu_argument::library()?, &arguments.gpu)?;
    gpu_argument::device_model(&gpu)?;
    let wanted = |text: &String| Wanted::read("--parametric", text).map_err(Failure::Usage);
    let parameters = arguments.parametric.iter().map(wanted).collect::<Result<Vec<_>, _>>()?;
    let mut names = BTreeSet::new();
    for Wanted { name, .. } in &parameters {
        if !names.insert(name) {
            let report = Report::new(format!("--parametric names {name} twice"));
            return Err(Failure::Usage(report));
        }
        check_parameter(&arguments.input, name, &arguments.launch)?;
    }
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?;
    let plan_at = |sizes: &Parameters| {
        let launch = arguments.launch.at(&arguments.input, None, sizes.clone())?;
        kernel_argument::read(&arguments.input, &launch)
    };
    let settings = sources::Counts {
        machine: (&arguments.machine).into(),
        execution: (&arguments.execution).into(),
        ..sources::Counts::default()
    };
    let question = Question {
        parameters: &parameters,
        plan_at: &plan_at,
        gpu: &gpu,
        counts: &settings,
        metrics: &arguments.metrics,
        supervisor: &terminal,
    };
    let found = parametric::formulas(&question)?;
    let view = View { counts: &found, input: &arguments.input, gpu: &gpu.name };
    output.write(&counts::document(&view, arguments.output.format)?)
}
