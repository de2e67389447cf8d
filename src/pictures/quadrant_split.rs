//! Quadrant splits: one for each kernel, with all its GPUs.

use gpucast_forecast::prediction::{KernelView, PredictionView};
use gpucast_model::Gpu;
use gpucast_plot::axis::Kind;
use gpucast_plot::pictures::quadrant_split::{Adjustment, Device, Peak, QuadrantSplit};
use gpucast_plot::{DrawError, Scene};

use super::{short_name, symbol, titled};

/// One below the other.
pub(crate) fn scene(
    kernels: &[KernelView],
    scale: Kind,
    title: Option<&str>,
) -> Result<Scene, DrawError> {
    let scenes = kernels.iter().map(|kernel| {
        let mut picture = split(kernel, scale)?;
        picture.title = titled(picture.title, title, kernels.len() > 1);
        picture.scene()
    });
    Ok(Scene::stacked(scenes.collect::<Result<Vec<Scene>, DrawError>>()?))
}

/// The quadrant split of a kernel.
pub(crate) fn split(kernel: &KernelView, scale: Kind) -> Result<QuadrantSplit, DrawError> {
    let name = short_name(&kernel.profile.kernel);
    let mut devices: Vec<Device> = kernel.predictions.iter().filter_map(device).collect();
    let Some(first) = kernel.predictions.iter().find(|view| device(view).is_some()) else {
        let why = format!(
            "kernel {name} has no prediction by quantitative-roofline, whose efficiencies a \
             quadrant split shows"
        );
        return Err(DrawError::Nothing(why));
    };
    let value = |symbol_name| symbol(&first.prediction, symbol_name).unwrap_or(f64::NAN);
    if devices.len() > 1 {
        // Many arrows would hide each other.
        devices.iter_mut().for_each(keep_adjusted);
    }
    let subtitle = match devices.len() {
        1 => kernel.origin.clone(),
        _ => format!("GPUs as far as the kernel's instruction mix lets them. {}", kernel.origin),
    };
    let title = match devices.as_slice() {
        [only] => format!("{name} on {}", only.name),
        several => format!("{name} on {} GPUs", several.len()),
    };
    Ok(QuadrantSplit {
        title,
        subtitle,
        kernel: name,
        intensity: value("W_comp") / value("W_traf"),
        devices,
        scale,
        notes: Vec::new(),
    })
}

/// Leaves of a GPU the point after all efficiencies.
fn keep_adjusted(device: &mut Device) {
    device.peak.gflops = device.adjusted();
    device.adjustments.clear();
    device.theoretical = None;
}

/// What the quantitative roofline says of a GPU; nothing for other models.
fn device(view: &PredictionView) -> Option<Device> {
    let prediction = &view.prediction;
    let value = |name| symbol(prediction, name);
    let peak = Peak { gbps: value("B_mem")?, gflops: value("T_op")? };
    let mix = value("E_mix")?;
    let measured = view.published.as_ref().map(|one| one.measured_ms);
    Some(Device {
        name: view.gpu.name.clone(),
        peak,
        theoretical: theoretical(view),
        adjustments: vec![
            Adjustment { name: "× E_mix".to_owned(), gflops: peak.gflops * mix },
            Adjustment { name: "× E_instr".to_owned(), gflops: value("T_op_adjusted")? },
        ],
        measured_gflops: measured.and_then(|ms| Some(value("W_comp")? / ms / 1e6)),
    })
}

/// The data sheet's figures for the operations that the kernel counts.
fn theoretical(view: &PredictionView) -> Option<Peak> {
    let Gpu { peak_memory_bandwidth, peak_sp_throughput, peak_dp_throughput, .. } = &view.gpu;
    let kind = view.prediction.parameters.iter().find(|symbol| symbol.name == "K_type")?;
    let peak = match kind.value {
        gpucast_model::SymbolValue::Name("fp32") => peak_sp_throughput,
        gpucast_model::SymbolValue::Name("fp64") => peak_dp_throughput,
        _ => return None,
    };
    let gflops = peak.as_ref()?.value.0;
    Some(Peak { gbps: peak_memory_bandwidth.as_ref()?.value.0, gflops })
}
