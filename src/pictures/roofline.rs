//! Rooflines: one for each GPU, with all kernels.

use gpucast_model::Gpu;
use gpucast_plot::pictures::roofline::{Bandwidth, Ceiling, Kernel, Level, Place, Roofline};
use gpucast_plot::{DrawError, Scene};

use super::{listed, symbol, titled};
use crate::render::prediction::{KernelView, PredictionView};

/// One below the other.
pub(crate) fn scene(kernels: &[KernelView], title: Option<&str>) -> Result<Scene, DrawError> {
    let mut gpus: Vec<&Gpu> = Vec::new();
    for view in kernels.iter().flat_map(|kernel| &kernel.predictions) {
        if !gpus.iter().any(|gpu| gpu.name == view.gpu.name) {
            gpus.push(&view.gpu);
        }
    }
    let several = gpus.len() > 1;
    let scenes = gpus.into_iter().map(|gpu| {
        let mut picture = roofline(kernels, gpu);
        picture.title = titled(picture.title, title, several);
        picture.scene()
    });
    Ok(Scene::stacked(scenes.collect::<Result<Vec<Scene>, DrawError>>()?))
}

/// The roofline of a GPU.
pub(crate) fn roofline(kernels: &[KernelView], gpu: &Gpu) -> Roofline {
    let views = kernels.iter().flat_map(|kernel| &kernel.predictions);
    let views: Vec<&PredictionView> = views.filter(|view| view.gpu.name == gpu.name).collect();
    let points: Vec<Kernel> = views.iter().filter_map(|view| place(view)).collect();
    let idle = views.iter().filter(|view| place(view).is_none());
    let idle = listed(idle.map(|view| view.prediction.kernel.as_str()));
    let mut notes = Vec::new();
    if !idle.is_empty() {
        notes.push(format!("Not shown, for want of operations or of traffic: {idle}."));
    }
    let types: Vec<OperationKind> =
        views.iter().filter_map(|view| OperationKind::of(view)).collect();
    let names = listed(points.iter().map(|kernel| kernel.name.as_str()));
    Roofline {
        title: format!("Roofline of the {}", gpu.display_name),
        subtitle: format!("Predicted throughput of {names}; operational intensity by DRAM traffic"),
        bandwidths: bandwidths(gpu),
        ceilings: ceilings(gpu, &types),
        kernels: points,
        notes,
    }
}

/// What a kernel's operations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperationKind {
    Single,
    Double,
    Integer,
}

impl OperationKind {
    fn of(view: &PredictionView) -> Option<Self> {
        let kind = view.prediction.parameters.get("K_type")?;
        match kind {
            gpucast_model::SymbolValue::Name("fp32") => Some(Self::Single),
            gpucast_model::SymbolValue::Name("fp64") => Some(Self::Double),
            gpucast_model::SymbolValue::Name(_) => Some(Self::Integer),
            _ => None,
        }
    }
}

fn place(view: &PredictionView) -> Option<Kernel> {
    let prediction = &view.prediction;
    let operations = symbol(prediction, "W_comp")?;
    let bytes = symbol(prediction, "W_traf")?;
    if operations <= 0.0 || bytes <= 0.0 {
        return None;
    }
    Some(Kernel {
        name: prediction.kernel.clone(),
        places: vec![Place { level: Level::Dram, intensity: operations / bytes }],
        gflops: operations / prediction.time_ms / 1e6,
        measured_gflops: view.published.as_ref().map(|one| operations / one.measured_ms / 1e6),
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

/// The flat roofs for the kinds of operations that the kernels do; for single precision if none is
/// known.
fn ceilings(gpu: &Gpu, types: &[OperationKind]) -> Vec<Ceiling> {
    let mut ceilings = Vec::new();
    let mut add = |name: &str, gflops: Option<f64>, theoretical| {
        if let Some(gflops) = gflops {
            ceilings.push(Ceiling { name: name.to_owned(), gflops, theoretical });
        }
    };
    let any = |kind| types.contains(&kind);
    if any(OperationKind::Single) || types.is_empty() {
        let measured = gpu.sp_throughput.as_ref().map(|field| field.value.0);
        add("fp32 FMA", measured, false);
        add("fp32 without FMA", measured.map(|gflops| gflops / 2.0), false);
        add("fp32 FMA", gpu.peak_sp_throughput.as_ref().map(|f| f.value.0), true);
    }
    if any(OperationKind::Double) {
        let measured = gpu.dp_throughput.as_ref().map(|field| field.value.0);
        add("fp64 FMA", measured, false);
        add("fp64 without FMA", measured.map(|gflops| gflops / 2.0), false);
        add("fp64 FMA", gpu.peak_dp_throughput.as_ref().map(|f| f.value.0), true);
    }
    if any(OperationKind::Integer) {
        add("integer multiply-add", gpu.int_throughput.as_ref().map(|f| f.value.0), false);
        add("integer add", gpu.int_add_throughput.as_ref().map(|f| f.value.0), false);
    }
    ceilings
}
