//! `gpucast profile`: execute and count.

use crate::cli::{Format, Profile};
use crate::counting;
use crate::execute;
use crate::failure::Failure;
use crate::input::kernel_argument;
use crate::render::diagnostic;
use crate::render::output::Output;
use crate::render::profile::{self, View};

pub(crate) fn run(arguments: Profile) -> Result<(), Failure> {
    let plan = kernel_argument::read(&arguments.kernel.input, &arguments.kernel.launch)?;
    if arguments.output.format == Format::Text {
        diagnostic::note(plan.note.as_deref());
    }
    let loaded = execute::load(&plan.module)?;
    // An unwritable file is better found before the execution than after it.
    let mut output = Output::open(arguments.output.output)?;
    let settings = execute::settings(&arguments.execution)?;
    let counted = counting::count(&plan, &loaded, &settings, true)?;
    let view = View {
        counted: &counted,
        loaded: &loaded,
        names: arguments.metrics,
        timing: arguments.execution.timing,
    };
    output.write(&profile::document(&view, arguments.by, arguments.output.format)?)
}
