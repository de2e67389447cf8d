//! What must hold for any input file at all. The fuzz targets of `tests/fuzz/` and a short
//! deterministic run of the tests share these functions.

#![allow(dead_code, reason = "each fuzz target uses one of them")]
#![allow(clippy::unwrap_used, reason = "a wrong assumption about the base of inputs fails loudly")]

mod choices;
mod store;

use std::path::Path;

use gpucast_buffers::npy;
use gpucast_buffers::scalar::ElementType;
use gpucast_counters::import;
use gpucast_forecast::input::project::Project;
use gpucast_forecast::input::{kernel_argument, packed};
use gpucast_forecast::{Report, SourceText};
use gpucast_machine::ptxas;
use gpucast_model::Gpu;
use gpucast_ptx_frontend::container::Cubin;

use choices::Choices;

/// Longer texts take longer and find nothing else.
const LONGEST: usize = 64 << 10;

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(&data[..data.len().min(LONGEST)]).ok()
}

/// A report has a message, and its place is in the text.
fn assert_report(report: &Report) {
    assert!(!report.message.is_empty());
    if let Some(anchor) = &report.anchor {
        assert!(anchor.range.end <= anchor.source.text.len(), "the place is in the text");
    }
    let _ = report.to_string();
}

/// A launch file becomes a plan or a report that names a place within it.
pub(crate) fn launch(data: &[u8]) {
    if let Some(text) = text(data) {
        launch_text(text);
    }
}

/// The same for files that the input's choices write; a plan travels as bytes and comes back.
pub(crate) fn written_launch(data: &[u8]) {
    launch_text(&choices::launch_file(&mut Choices(data)));
}

fn launch_text(text: &str) {
    let launch = SourceText::new("launch.toml", text);
    let module = SourceText::new("module.ptx", "");
    match kernel_argument::of_texts(launch, module, Path::new("/nonexistent"), &[]) {
        Ok(plan) => {
            assert!(!plan.launches.is_empty(), "a plan has launches");
            if let Ok(bytes) = packed::pack(&plan) {
                let again = packed::unpack(&bytes).and_then(|plan| packed::pack(&plan));
                assert!(again == Ok(bytes), "a packed plan comes back");
            }
        }
        Err(report) => assert_report(&report),
    }
}

/// A project file, as it is and as the input's choices write it, is read, or refused with a place.
pub(crate) fn project(data: &[u8]) {
    let written = choices::project_file(&mut Choices(data));
    for text in text(data).into_iter().chain([written.as_str()]) {
        let source = SourceText::new("gpucast.toml", text);
        match Project::of_text(Path::new("/nonexistent/gpucast.toml"), source) {
            Ok(project) => {
                assert!(project.gpus.values().all(|path| path.is_absolute()));
                assert!(project.kernels().all(|name| !name.contains(['.', '/'])));
                let depth = |command: &Option<String>| command.is_some();
                assert!(project.defaults.is_sorted_by_key(|default| depth(&default.command)));
            }
            Err(report) => assert_report(&report),
        }
    }
}

/// Damaged, exchanged and made-up objects of a shared sweep give no wrong row and no panic.
pub(crate) fn store(data: &[u8]) {
    store::check(data);
}

/// A GPU file is refused, or written again and read to the same.
pub(crate) fn gpu(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match Gpu::from_toml(text) {
        Ok(gpu) => {
            let _ = gpu.device_model();
            let _ = gpu.completed();
            let again = Gpu::from_toml(&gpu.to_toml(false));
            assert!(again.is_ok(), "what is written is read: {again:?}");
        }
        Err(error) => drop(error.to_string()),
    }
}

/// A profiler's table is refused or read to metrics with names.
pub(crate) fn metrics(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match import::read(text) {
        Ok(imported) => drop(imported),
        Err(error) => {
            let _ = (error.to_string(), error.hint());
        }
    }
    // What is no such table by its head may still be handed to one of them.
    let _ = import::nvprof_csv(text);
    let _ = import::ncu_csv(text);
}

/// An array is refused, or holds what its header says, for every type of elements.
pub(crate) fn array(data: &[u8]) {
    for ty in [ElementType::U8, ElementType::S16, ElementType::F32, ElementType::F64] {
        if let Ok(elements) = npy::read(ty, data) {
            assert!(elements.len() * ty.bytes() <= data.len(), "no element is made up");
        }
    }
}

/// Machine code is refused, or its kernels have instructions.
pub(crate) fn machine_code(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST)];
    let Ok(cubin) = Cubin::parse(data) else { return };
    for kernel in cubin.kernels.iter().take(8) {
        match ptxas::instruction_count(data, &kernel.name) {
            Ok(count) => assert!(count * 8 <= data.len(), "instructions are bytes of the file"),
            Err(error) => drop(error.to_string()),
        }
    }
}
