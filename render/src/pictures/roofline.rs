//! Rooflines: one for each GPU, with all kernels.

use gpucast_forecast::prediction::{KernelView, PredictionView};
use gpucast_model::gpu::Sourced;
use gpucast_model::gpu::quantity::Gflops;
use gpucast_model::{Gpu, hierarchical_roofline};
use gpucast_plot::pictures::roofline::{Bandwidth, Ceiling, Kernel, Level, LevelPoint, Roofline};
use gpucast_plot::{DrawError, Scene};

use super::{listed, short_name, titled};

/// One below the other; those of GPUs under whose roofs no kernel has a point are left out.
///
/// # Errors
///
/// If no kernel has a point, or the picture becomes too large.
pub fn scene(kernels: &[KernelView], title: Option<&str>) -> Result<Scene, DrawError> {
    let mut gpus: Vec<&Gpu> = Vec::new();
    for view in kernels.iter().flat_map(|kernel| &kernel.predictions) {
        if !gpus.iter().any(|gpu| gpu.name == view.gpu.name) {
            gpus.push(&view.gpu);
        }
    }
    let several = gpus.len() > 1;
    let pictures: Vec<Roofline> = gpus.into_iter().map(|gpu| roofline(kernels, gpu)).collect();
    let is_empty = |picture: &Roofline| picture.kernels.is_empty();
    let all_empty = pictures.iter().all(is_empty);
    let scenes =
        pictures.into_iter().filter(|picture| all_empty || !is_empty(picture)).map(|mut one| {
            one.title = titled(one.title, title, several);
            one.scene()
        });
    Ok(Scene::stacked(scenes.collect::<Result<Vec<Scene>, DrawError>>()?))
}

/// The roofline of a GPU.
pub fn roofline(kernels: &[KernelView], gpu: &Gpu) -> Roofline {
    let views: Vec<Vec<&PredictionView>> = kernels
        .iter()
        .map(|kernel| kernel.predictions.iter().filter(|view| view.gpu.name == gpu.name).collect())
        .collect();
    let points: Vec<Kernel> = views.iter().filter_map(|views| place(views)).collect();
    // A kernel stands here once for each GPU that it was counted on; one of them is this one.
    let is_placed = |name: &String| points.iter().any(|kernel| kernel.name == *name);
    let mut idle: Vec<String> =
        kernels.iter().map(|kernel| short_name(&kernel.profile.kernel)).collect();
    idle.retain(|name| !is_placed(name));
    idle.dedup();
    let idle = listed(idle.iter().map(String::as_str));
    let mut notes = Vec::new();
    if !idle.is_empty() {
        notes.push(format!("Not shown, for want of operations or of traffic: {idle}."));
    }
    let integers = views.iter().flatten().any(|view| does_integers(view));
    let names = listed(points.iter().map(|kernel| kernel.name.as_str()));
    let model =
        views.iter().find_map(|views| levels_of(views)).map_or("", |view| view.prediction.model);
    Roofline {
        title: format!("Roofline of the {}", gpu.display_name),
        subtitle: format!("Throughput of {names} as {model} predicts it"),
        bandwidths: bandwidths(gpu),
        ceilings: ceilings(gpu, integers),
        kernels: points,
        notes,
    }
}

/// Returns true if the kernel's operations are integer ones.
fn does_integers(view: &PredictionView) -> bool {
    view.prediction.detail.quantitative().is_some_and(|analysis| analysis.counts_integers())
}

/// The level of a picture for a level of the model.
fn level(level: hierarchical_roofline::Level) -> Level {
    match level {
        hierarchical_roofline::Level::L1 => Level::L1,
        hierarchical_roofline::Level::L2 => Level::L2,
        hierarchical_roofline::Level::Dram => Level::Dram,
    }
}

/// The prediction that knows the levels of memory: hierarchical-roofline's, or the first model's.
/// Its throughput lies under the roofs that it knows; another model's may lie above them.
fn levels_of<'a>(views: &[&'a PredictionView]) -> Option<&'a PredictionView> {
    let knows = |view: &&&PredictionView| view.prediction.detail.hierarchical().is_some();
    views.iter().find(knows).or(views.first()).copied()
}

/// A kernel under the roofs of a GPU, at the intensities that the model with levels knows.
fn place(views: &[&PredictionView]) -> Option<Kernel> {
    let view = levels_of(views)?;
    let prediction = &view.prediction;
    let hierarchical = || {
        let analysis = prediction.detail.hierarchical()?;
        let operations = Some(analysis.work.flops()).filter(|count| *count > 0.0)?;
        let points = analysis.roofline.points.iter().rev();
        let places = points
            .map(|point| LevelPoint { level: level(point.level), intensity: point.intensity })
            .filter(|place| place.intensity.is_finite() && place.intensity > 0.0);
        Some((operations, places.collect::<Vec<LevelPoint>>()))
    };
    let by_traffic = || {
        let kernel = &prediction.detail.quantitative()?.kernel;
        let operations = Some(kernel.operations).filter(|count| *count > 0.0)?;
        let bytes = Some(kernel.traffic_bytes).filter(|count| *count > 0.0)?;
        Some((operations, vec![LevelPoint { level: Level::Dram, intensity: operations / bytes }]))
    };
    let (operations, places) = hierarchical().or_else(by_traffic)?;
    let published = view.published.as_ref();
    (!places.is_empty()).then(|| Kernel {
        name: short_name(&prediction.kernel),
        places,
        gflops: operations / prediction.time_ms / 1e6,
        measured_gflops: published.map(|published| operations / published.measured_ms / 1e6),
    })
}

fn bandwidths(gpu: &Gpu) -> Vec<Bandwidth> {
    let levels = [
        (Level::Dram, &gpu.peak_memory_bandwidth, true),
        (Level::Dram, &gpu.memory_bandwidth, false),
        (Level::L2, &gpu.l2_bandwidth, false),
        (Level::L1, &gpu.l1_bandwidth, false),
    ];
    let known = levels.into_iter().filter_map(|(level, field, theoretical)| {
        Some(Bandwidth { level, gbps: field.as_ref()?.value.0, theoretical })
    });
    known.collect()
}

/// The flat roofs of every pipeline that the GPU has; integers' only where a kernel needs them.
fn ceilings(gpu: &Gpu, integers: bool) -> Vec<Ceiling> {
    let mut ceilings = Vec::new();
    let mut add = |name: &str, gflops: Option<f64>, theoretical| {
        if let Some(gflops) = gflops {
            ceilings.push(Ceiling { name: name.to_owned(), gflops, theoretical });
        }
    };
    let gflops = |field: &Option<Sourced<Gflops>>| field.as_ref().map(|field| field.value.0);
    for (name, measured, peak) in [
        ("fp32", &gpu.sp_throughput, &gpu.peak_sp_throughput),
        ("fp64", &gpu.dp_throughput, &gpu.peak_dp_throughput),
    ] {
        add(&format!("{name} FMA"), gflops(measured), false);
        add(&format!("{name} without FMA"), gflops(measured).map(|gflops| gflops / 2.0), false);
        add(&format!("{name} FMA"), gflops(peak), true);
    }
    add("fp16 tensor", gflops(&gpu.tensor_throughput), false);
    add("fp16 tensor", gflops(&gpu.peak_tensor_throughput), true);
    if integers {
        add("integer multiply-add", gpu.int_throughput.as_ref().map(|f| f.value.0), false);
        add("integer add", gpu.int_add_throughput.as_ref().map(|f| f.value.0), false);
    }
    ceilings
}
