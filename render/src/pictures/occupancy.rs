//! The occupancy of a launch over what limits it: threads, registers and shared memory of a block.

use gpucast_counters::occupancy::CtaShape;
use gpucast_forecast::run::sources::Source;
use gpucast_model::Gpu;
use gpucast_plot::axis::Kind;
use gpucast_plot::pictures::curves::{Curve, Curves, Stroke};
use gpucast_plot::{DrawError, Scene};

use super::{short_name, titled};

/// Points of a curve over shared memory.
const SHARED_STEPS: u64 = 32;

/// The curves of each launch on a GPU, one below the other.
///
/// # Errors
///
/// If the counts are of no known launch, the GPU has no rules for occupancy, or the picture becomes
/// too large.
pub fn scene(sources: &[Source], gpu: &Gpu, title: Option<&str>) -> Result<Scene, DrawError> {
    let mut scenes = Vec::new();
    for source in sources {
        let shape = source.conditions.launch.map(|launch| launch.cta());
        let pictures = shape.and_then(|shape| curves(shape, gpu)).unwrap_or_default();
        for mut picture in pictures {
            let own = format!("{} of {}", picture.title, short_name(&source.profile.kernel));
            picture.title = titled(own, title, true);
            scenes.push(picture.scene()?);
        }
    }
    if scenes.is_empty() {
        return Err(DrawError::Nothing(
            "no launch is known, or the GPU has no rules for occupancy".to_owned(),
        ));
    }
    Ok(Scene::stacked(scenes))
}

/// A curve over each limit; `None` if the GPU has no rules for occupancy.
pub fn curves(shape: CtaShape, gpu: &Gpu) -> Option<Vec<Curves>> {
    let device = gpu.device_model().ok()?;
    let percent = |shape: CtaShape| 100.0 * device.occupancy(shape).theoretical();
    let max_threads = u64::from(device.limits.max_threads_per_cta);
    let by_threads = (1..=max_threads / 32)
        .map(|warps| 32 * warps)
        .map(|threads| (threads as f64, percent(CtaShape { threads, ..shape })));
    let by_registers = (16..=255).step_by(8).map(|registers: u32| {
        let shape = CtaShape { registers_per_thread: Some(registers), ..shape };
        (f64::from(registers), percent(shape))
    });
    let most_shared =
        gpu.max_shared_memory_per_block.as_ref().map_or(48 << 10, |field| field.value.0);
    let by_shared = (0..=SHARED_STEPS).map(|step| {
        let shared_bytes = most_shared * step / SHARED_STEPS;
        (shared_bytes as f64 / 1024.0, percent(CtaShape { shared_bytes, ..shape }))
    });
    let now = percent(shape);
    let curves = [
        ("threads of a block", by_threads.collect::<Vec<_>>(), Some(shape.threads as f64)),
        (
            "registers of a thread",
            by_registers.collect(),
            shape.registers_per_thread.map(f64::from),
        ),
        (
            "shared memory of a block (KiB)",
            by_shared.collect(),
            Some(shape.shared_bytes as f64 / 1024.0),
        ),
    ];
    let curve = |(x, points, at): (&str, Vec<(f64, f64)>, Option<f64>)| {
        let mut curves =
            vec![Curve { name: "occupancy".to_owned(), points, stroke: Stroke::Marked, series: 0 }];
        curves.extend(at.map(|at| Curve {
            name: "this launch".to_owned(),
            points: vec![(at, now)],
            stroke: Stroke::Marked,
            series: 1,
        }));
        Curves {
            title: format!("Occupancy over {x}"),
            subtitle: format!("On {}; everything else as it is", gpu.display_name),
            x: x.to_owned(),
            y: "warps of an SM (%)".to_owned(),
            scales: (Kind::Linear, Kind::Linear),
            curves,
            notes: Vec::new(),
        }
    };
    Some(curves.into_iter().map(curve).collect())
}
