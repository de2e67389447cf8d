//! `gpucast profile`: execute and count.

use std::io::IsTerminal as _;

use crate::cli::{By, Format, Profile};
use crate::counting::{self, Counting, Extras};
use crate::execute;
use crate::failure::Failure;
use crate::gpu_argument;
use crate::input::{cuda_source, kernel_argument};
use crate::machine::Machine;
use crate::render::diagnostic;
use crate::render::output::Output;
use crate::render::profile::{self, View};

pub(crate) fn run(arguments: Profile) -> Result<(), Failure> {
    let gpu = gpu_argument::find(&gpu_argument::library()?, &arguments.gpu)?;
    let device = gpu_argument::device_model(&gpu)?;
    let plan = kernel_argument::read(&arguments.kernel.input, &arguments.kernel.launch)?;
    if arguments.output.format == Format::Text {
        diagnostic::note(plan.note.as_deref());
    }
    let loaded = execute::load(&plan.module)?;
    // Only a terminal has a width; files and pipes get whole lines.
    let is_terminal = arguments.output.output.is_none() && std::io::stdout().is_terminal();
    let width = is_terminal.then(terminal_size::terminal_size).flatten();
    // An unwritable file is better found before the execution than after it.
    let mut output = Output::open(arguments.output.output)?;
    let settings = execute::settings(&arguments.execution)?;
    let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
    let machine = Machine::new(&arguments.machine, &loaded, device.capability, kernels)?;
    if arguments.output.format == Format::Text {
        diagnostic::note(machine.note.as_deref());
    }
    let extras = Extras {
        hashes: true,
        stages: arguments.by == By::Stage,
        features: arguments.by == By::Access,
        transfers: false,
    };
    let counting = Counting { device, machine: &machine, extras };
    let counted = counting::count(&plan, &loaded, &settings, &counting)?;
    let view = View {
        counted: &counted,
        gpu: &gpu,
        loaded: &loaded,
        files: &cuda_source::files(&plan, &loaded.module),
        metrics: &arguments.metrics,
        by: arguments.by,
        source: arguments.source,
        timing: arguments.execution.timing,
        width: width.map(|(width, _)| width.0.into()),
    };
    output.write(&profile::document(&view, arguments.output.format)?)
}
