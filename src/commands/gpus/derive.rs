//! `gpucast gpus derive`.

use gpucast_forecast::choice::gpu_argument;
use gpucast_model::gpu::Source;
use gpucast_model::{Gpu, GpuLibrary};

use crate::cli::Derive;
use crate::failure::{Failure, Report};
use crate::output::Output;

pub(super) fn run(library: &GpuLibrary, arguments: Derive) -> Result<(), Failure> {
    let display_name = arguments.display_name.as_ref().unwrap_or(&arguments.name);
    let base = match &arguments.base {
        Some(base) => gpu_argument::find(library, base)?,
        None => Gpu::named(&arguments.name, display_name),
    };
    // Only NVIDIA's GPUs have a compute capability.
    let vendor = arguments.compute_capability.as_ref().map(|_| "NVIDIA");
    let options = [
        ("vendor", vendor),
        ("compute_capability", arguments.compute_capability.as_deref()),
        ("sm_count", arguments.sm_count.as_deref()),
        ("sp_clock", arguments.clock.as_deref()),
        ("peak_memory_bandwidth", arguments.memory_bandwidth.as_deref()),
        ("memory_type", arguments.memory_type.as_deref()),
        ("memory_size", arguments.memory_size.as_deref()),
        ("l2_size", arguments.l2_size.as_deref()),
    ];
    let changes: Vec<(&str, &str)> = options
        .into_iter()
        .filter_map(|(field, value)| Some((field, value?)))
        .chain(arguments.set.iter().map(|(field, value)| (field.as_str(), value.as_str())))
        .collect();
    // A data sheet prints what has an option of its own; nobody says who stands for the rest.
    let is_set = |field: &str| arguments.set.iter().any(|(set, _)| set == field);
    let source = |field: &str| match is_set(field) {
        true => Source::Assumed(arguments.source.as_str().into()),
        false => Source::Datasheet(arguments.source.as_str().into()),
    };
    let mut gpu =
        base.with_sourced(&changes, source).map_err(|error| Report::new(error.to_string()))?;
    gpu.name.clone_from(&arguments.name);
    gpu.display_name.clone_from(display_name);
    gpu.aliases.clear();
    let text = gpu.to_toml(!arguments.given_only);
    // A file that could not be read again would help nobody; the name is all that has not been
    // looked at.
    Gpu::from_toml(&text)
        .map_err(|error| Report::new(error.problem.to_string()).maybe_hint(error.hint()))?;
    Output::open(arguments.output)?.write(&text)
}
