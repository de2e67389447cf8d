//! `gpucast kernels strip`: a kernel without its arithmetic and without chosen accesses.

use std::collections::BTreeMap;
use std::fs;

use gpucast_collection::removal::{self, Fate, RemovalError, Wanted};
use gpucast_forecast::failure::suggest;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::input::launch_text::{ThreadBuffer, launch_text};
use gpucast_forecast::input::plan::{Plan, PlannedLaunch};
use gpucast_forecast::settings;
use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::module::Formal;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_render::collection;

use super::write_new;
use crate::cli::kernels::Strip;
use crate::failure::{Failure, Report};
use crate::output::Output;

pub(super) fn run(arguments: &Strip) -> Result<(), Failure> {
    let launch = settings::LaunchOptions::from(&arguments.launch);
    let plan = kernel_argument::read(&arguments.input, &launch)?;
    let launch = one_launch(&plan)?;
    // Its diagnostics are shown with their places.
    gpucast_forecast::run::module::load(&plan)?;
    let module = gpucast_ptx_frontend::load(&plan.module.text)
        .map_err(|_| Report::new(format!("{} cannot be read", plan.module.name)))?;
    let wanted = wanted(arguments, &module, &plan, launch)?;
    let stripped = removal::strip(&plan.module.text, &launch.kernel, &wanted)
        .map_err(|error| report(&plan, &error))?;
    let Some(folder) = &arguments.output else {
        return Output::open(None)?.write(&stripped.text);
    };
    let name = format!("{}-stripped", launch.kernel);
    let buffer = stripped.destination.as_ref();
    let buffer = buffer.map(|it| ThreadBuffer { name: &it.name, ty: it.ty });
    let file = launch_text(&plan, launch, buffer, &name)?;
    fs::create_dir_all(folder).map_err(|error| Report::file("make", folder, &error))?;
    let mut text = String::new();
    for (ending, content) in [("ptx", &stripped.text), ("toml", &file)] {
        let path = folder.join(format!("{name}.{ending}"));
        write_new(&path, content)?;
        text += &format!("{}\n", path.display());
    }
    text += &collection::stripped(&stripped);
    Output::open(None)?.write(&text)
}

/// The launch whose kernel is meant.
fn one_launch(plan: &Plan) -> Result<&PlannedLaunch, Report> {
    let Some(first) = plan.launches.first() else {
        return Err(Report::new("nothing is launched"));
    };
    match plan.launches.iter().find(|other| other.kernel != first.kernel) {
        Some(other) => Err(Report::new(format!(
            "{} and {} are launched, and work is removed from one kernel",
            first.kernel, other.kernel
        ))
        .hint("choose one with --kernel")),
        None => Ok(first),
    }
}

/// The fates of parameters and variables, by the names of buffers.
fn wanted(
    arguments: &Strip,
    module: &Module,
    plan: &Plan,
    launch: &PlannedLaunch,
) -> Result<Wanted, Report> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let function = module.functions.iter().find(|function| function.name == launch.kernel);
    let parameters = function.map(|function| function.params.as_slice()).unwrap_or_default();
    for (argument, parameter) in launch.arguments.iter().zip(parameters) {
        let Formal::Variable(variable) = parameter else { continue };
        let parameter = &module.variables[variable.index()].name;
        for buffer in argument.buffers() {
            if let Some(buffer) = plan.buffers.get(buffer) {
                places.entry(&buffer.name).or_default().push(parameter.clone());
            }
        }
    }
    for variable in module.variables.iter().filter(|variable| variable.space == StateSpace::Global)
    {
        places.entry(&variable.name).or_default().push(variable.name.clone());
    }
    let mut named = BTreeMap::new();
    let lists = [(&arguments.keep, Fate::Keep), (&arguments.drop, Fate::Remove)];
    for (names, fate) in lists {
        for name in names {
            let Some(found) = places.get(name.as_str()) else {
                let known = places.keys().copied();
                return Err(Report::new(format!("the launch has no buffer `{name}`"))
                    .maybe_hint(suggest(name, known)));
            };
            for parameter in found {
                if named.insert(parameter.clone(), fate).is_some_and(|other| other != fate) {
                    return Err(Report::new(format!("`{name}` is to stay and to go")));
                }
            }
        }
    }
    let others = if arguments.keep.is_empty() { Fate::Keep } else { Fate::Remove };
    Ok(Wanted { named, others })
}

fn report(plan: &Plan, error: &RemovalError) -> Report {
    match error {
        RemovalError::Instruction { span, reason } => {
            plan.module.report(span.start as usize..span.end as usize, reason.clone())
        }
        RemovalError::Text(_) | RemovalError::NoKernel(_) | RemovalError::Form(_) => {
            Report::new(format!("{}: {error}", plan.module.name))
        }
    }
}
