//! `gpucast gpus list`.

use gpucast_forecast::choice::gpu_argument;
use gpucast_model::{Gpu, GpuLibrary};
use gpucast_render::gpu::{self, fields};

use crate::cli::OutputOptions;
use crate::failure::{Failure, Report};
use crate::output::Output;

pub(super) fn run(
    library: &GpuLibrary,
    words: &[String],
    OutputOptions { format, output }: OutputOptions,
) -> Result<(), Failure> {
    let gpus: Vec<Gpu> =
        library.iter().map(Gpu::completed).filter(|gpu| is_meant(gpu, words)).collect();
    if gpus.is_empty() {
        return Err(nothing(library, words).into());
    }
    let gpus: Vec<&Gpu> = gpus.iter().collect();
    Output::open(output)?.write(&gpu::list(&gpus, format)?)
}

/// A complaint about words that describe no GPU, with the names that resemble them.
fn nothing(library: &GpuLibrary, words: &[String]) -> Report {
    let name = words.join(" ");
    let similar = library.get(&name).err().map(|unknown| unknown.suggestions).unwrap_or_default();
    gpu_argument::no_gpu(&name, &similar)
}

/// Returns true if each word is part of a name of the GPU.
fn is_meant(gpu: &Gpu, words: &[String]) -> bool {
    let text = |field: &str| fields(gpu).into_iter().find(|f| f.name == field).map(|f| f.value);
    let known = ["vendor", "architecture", "compute_capability"].into_iter().filter_map(text);
    let names = [gpu.name.clone(), gpu.display_name.clone()].into_iter();
    let all: Vec<String> =
        names.chain(gpu.aliases.clone()).chain(known).map(|text| text.to_lowercase()).collect();
    words.iter().all(|word| all.iter().any(|text| text.contains(&word.to_lowercase())))
}
