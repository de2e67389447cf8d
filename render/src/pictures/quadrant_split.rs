//! Quadrant splits: one for each kernel, with all its GPUs.

use gpucast_forecast::prediction::{KernelView, PredictionView};
use gpucast_model::Gpu;
use gpucast_model::quantitative_roofline::{KernelParameters, OperationType};
use gpucast_plot::axis::Kind;
use gpucast_plot::pictures::quadrant_split::{Adjustment, Device, Peak, QuadrantSplit};
use gpucast_plot::{DrawError, Scene};

use super::{short_name, titled};

/// One below the other.
///
/// # Errors
///
/// If there is nothing to draw, or the picture becomes too large.
pub fn scene(kernels: &[KernelView], scale: Kind, title: Option<&str>) -> Result<Scene, DrawError> {
    let scenes = kernels.iter().map(|kernel| {
        let mut picture = split(kernel, scale)?;
        picture.title = titled(picture.title, title, kernels.len() > 1);
        picture.scene()
    });
    Ok(Scene::stacked(scenes.collect::<Result<Vec<Scene>, DrawError>>()?))
}

/// The quadrant split of a kernel.
///
/// # Errors
///
/// If there is nothing to draw, or the picture becomes too large.
pub fn split(kernel: &KernelView, scale: Kind) -> Result<QuadrantSplit, DrawError> {
    let name = short_name(&kernel.profile.kernel);
    let mut devices: Vec<Device> = kernel.predictions.iter().filter_map(device).collect();
    let mut analyses =
        kernel.predictions.iter().filter_map(|view| view.prediction.detail.quantitative());
    let Some(KernelParameters { operations, traffic_bytes, .. }) =
        analyses.next().map(|analysis| analysis.kernel)
    else {
        let why = format!(
            "kernel {name} has no prediction by quantitative-roofline, whose efficiencies a \
             quadrant split shows"
        );
        return Err(DrawError::Nothing(why));
    };
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
        intensity: operations / traffic_bytes,
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

/// Returns the quantitative roofline's data of a GPU; `None` for other models.
fn device(view: &PredictionView) -> Option<Device> {
    let analysis = view.prediction.detail.quantitative()?;
    let kernel = &analysis.kernel;
    let peak = Peak { gbps: analysis.bandwidth_gbps, gflops: analysis.peak_throughput };
    let measured = view.published.as_ref().map(|published| published.measured_ms);
    let mixed = peak.gflops * kernel.mix_efficiency;
    Some(Device {
        name: view.gpu.name.clone(),
        peak,
        theoretical: theoretical(&view.gpu, kernel.operation_type),
        adjustments: vec![
            Adjustment { name: "× E_mix".to_owned(), gflops: mixed },
            Adjustment { name: "× E_instr".to_owned(), gflops: analysis.adjusted_throughput },
        ],
        measured_gflops: measured.map(|ms| kernel.operations / ms / 1e6),
    })
}

/// The data sheet's figures for the operations that the kernel counts.
fn theoretical(gpu: &Gpu, operations: OperationType) -> Option<Peak> {
    let peak = match operations {
        OperationType::Fp32 => &gpu.peak_sp_throughput,
        OperationType::Fp64 => &gpu.peak_dp_throughput,
        OperationType::Tensor => &gpu.peak_tensor_throughput,
        OperationType::Int => return None,
    };
    let gflops = peak.as_ref()?.value.0;
    Some(Peak { gbps: gpu.peak_memory_bandwidth.as_ref()?.value.0, gflops })
}
