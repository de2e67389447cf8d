//! `gpucast advise`: what is slow in a kernel, where, why, and what to change.

use gpucast_advice::advise_all;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::{Kernel, Supervisor as _};
use gpucast_render::{Format, TextOrJson, advice};

use super::usual_gpu;
use crate::cli::advise::Advise;
use crate::failure::Failure;
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Advise) -> Result<(), Failure> {
    let library = gpu_argument::library()?;
    let gpus = gpu_argument::find_all(&library, &usual_gpu::or_usual(&arguments.gpus.gpu))?;
    let mut output = Output::open(arguments.output.clone())?;
    let format = match arguments.format {
        TextOrJson::Text => Format::Text,
        TextOrJson::Json => Format::Json,
    };
    let terminal = Terminal::new(&arguments.execution, format)?;
    let launch = arguments.kernel.launch.on(&gpus);
    // A kernel that cannot be read is refused before another one is executed.
    let kernels = arguments
        .kernel
        .expanded()?
        .iter()
        .map(|input| Kernel::open(input, &launch))
        .collect::<Result<Vec<Kernel>, _>>()?;
    let counts = Counts {
        machine: (&arguments.machine).into(),
        execution: (&arguments.execution).into(),
        ..Counts::default()
    };
    let root = arguments.source_root.as_deref();
    let mut all = Vec::new();
    for (index, kernel) in kernels.iter().enumerate() {
        if kernels.len() > 1 {
            terminal.part(index, kernels.len());
        }
        all.extend(advise_all(kernel, &gpus, &counts, root, &terminal)?);
    }
    output.write(&advice::document(&all, arguments.format)?)
}
