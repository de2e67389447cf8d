//! GPUs, kernels of the corpus, and texts.

use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::{Failure, Report};
use gpucast_model::Gpu;
use gpucast_plot::Theme;
use serde_json::{Value, json};

use super::document;
use crate::Engine;
use crate::opened::Opened;
use crate::request::{Kernel, SizeWord};

/// The figures that sliders change, in the order of the page: those that a teacher speaks of.
const SLIDERS: [&str; 8] = [
    "sm_count",
    "sp_clock",
    "memory_bandwidth",
    "memory_latency",
    "l2_size",
    "l2_latency",
    "fp32_rate",
    "shared_bytes_rate",
];

/// The GPUs that a page shows: those that kernels are counted on.
pub(super) fn gpus(engine: &Engine) -> Result<String, Failure> {
    let all = engine.library.iter().map(Gpu::completed);
    let gpus = all.filter(|gpu| gpu.device_model().is_ok()).map(|gpu| {
        let figures = SLIDERS.iter().filter_map(|field| {
            let unit = Gpu::units(field)?.first().map_or("", |(unit, _)| *unit);
            Some(json!({ "field": field, "value": gpu.number(field)?, "unit": unit }))
        });
        json!({
            "name": gpu.name,
            "title": gpu.display_name,
            "capability": gpu.compute_capability.as_ref().map(|one| one.value.to_string()),
            "figures": figures.collect::<Vec<Value>>(),
        })
    });
    let meaning = |field: &&str| Some(((*field).to_owned(), Value::from(Gpu::meaning(field)?)));
    document(&json!({
        "schema": "gpucast.page-gpus/1",
        "version": env!("CARGO_PKG_VERSION"),
        "has_compiler": engine.compiler.is_some(),
        // Pictures are those of the light theme; this gives them the colours of the dark one.
        "dark_style": Theme::dark_style(".dark .picture svg"),
        "meanings": SLIDERS.iter().filter_map(meaning).collect::<serde_json::Map<_, _>>(),
        "gpus": gpus.collect::<Vec<Value>>(),
    }))
}

/// The kernels of the corpus.
pub(super) fn list() -> Result<String, Failure> {
    let kernel = |entry: &gpucast_corpus::Entry| json!({ "name": entry.name, "family": entry.family, "summary": entry.summary });
    document(&json!({
        "schema": "gpucast.page-kernels/1",
        "kernels": gpucast_corpus::entries().iter().map(kernel).collect::<Vec<Value>>(),
    }))
}

/// The texts of a kernel. CUDA is compiled, where somebody does that.
pub(super) fn open(engine: &Engine, kernel: &Kernel) -> Result<String, Failure> {
    let opened = Opened::of(kernel, engine.compiler.as_ref(), None)?;
    let Opened { place, kernel: forecast, loaded, files } = opened;
    let cuda = files.into_values().find_map(|file| {
        let lines = file.lines?;
        Some(json!({ "name": file.name, "text": lines.join("\n") + "\n" }))
    });
    let entry = kernel.corpus.as_deref().and_then(gpucast_corpus::find);
    let launch = match (entry, kernel.size) {
        (Some(entry), Some(SizeWord::Paper)) => Some(entry.launch),
        (Some(entry), _) => Some(entry.launch_small),
        (None, _) => kernel.launch.as_deref(),
    };
    let parameters = kernel_argument::parameters(&place.input, &place.launch)?;
    let launches = forecast.plan().launches.iter().map(
        |launch| json!({ "kernel": launch.kernel, "grid": launch.grid, "block": launch.block }),
    );
    let launches: Vec<Value> = launches.collect();
    if launches.is_empty() {
        return Err(Report::new("the launch file has no launch").into());
    }
    document(&json!({
        "schema": "gpucast.page-kernel/1",
        "ptx": &*loaded.source.text,
        "launch": launch,
        "cuda": cuda,
        "parameters": parameters,
        "launches": launches,
    }))
}
