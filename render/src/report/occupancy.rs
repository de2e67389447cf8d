//! The warps that an SM holds, and what would change their number.

use gpucast_counters::occupancy::{CtaShape, Limiter};
use gpucast_forecast::run::counting::Counted;
use gpucast_model::Gpu;
use gpucast_plot::axis::Kind;
use gpucast_plot::pictures::curves::{Curve, Curves, Stroke};
use gpucast_plot::{Theme, svg};

/// The occupancy of a launch on a GPU.
pub(super) struct Occupancy {
    pub(super) gpu: String,
    pub(super) words: String,
    /// Each limit with the blocks that it allows.
    pub(super) limits: Vec<Limit>,
    /// Curves over block size, registers and shared memory, as SVG.
    pub(super) pictures: Vec<String>,
}

/// A limit of the blocks of an SM.
pub(super) struct Limit {
    pub(super) name: &'static str,
    pub(super) blocks: String,
    /// True if no other limit is stricter.
    pub(super) binds: bool,
}

/// Points of a curve over shared memory.
const SHARED_STEPS: u64 = 32;

/// The occupancy on a GPU; `None` if the GPU has no rules for it.
pub(super) fn of(counted: &Counted, gpu: &Gpu) -> Option<Occupancy> {
    let device = gpu.device_model().ok()?;
    let shape = counted.profile.cta_shape();
    let here = device.occupancy(shape);
    let limiters: Vec<&str> = here.limiters().map(Limiter::text).collect();
    let registers = match shape.registers_per_thread {
        Some(registers) => format!("{registers} registers a thread"),
        None => "an unknown number of registers".to_owned(),
    };
    let words = format!(
        "Blocks of {} threads with {registers} and {} bytes of shared memory: {} blocks, {} of {} \
         warps, {:.0} % of an SM. {}",
        shape.threads,
        shape.shared_bytes,
        here.ctas_per_sm,
        here.warps_per_sm(),
        here.max_warps_per_sm,
        100.0 * here.theoretical(),
        match limiters.is_empty() {
            true => String::new(),
            false => format!("More are kept away by: {}.", limiters.join(", ")),
        }
    );
    let limit = |(limiter, blocks): (Limiter, Option<u32>)| Limit {
        name: limiter.text(),
        blocks: blocks.map_or_else(|| "no limit".to_owned(), |blocks| blocks.to_string()),
        binds: blocks == Some(here.ctas_per_sm),
    };
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
    let draw = |(x, points, at): (&str, Vec<(f64, f64)>, Option<f64>)| {
        let mut curves =
            vec![Curve { name: "occupancy".to_owned(), points, stroke: Stroke::Marked, series: 0 }];
        curves.extend(at.map(|at| Curve {
            name: "this launch".to_owned(),
            points: vec![(at, now)],
            stroke: Stroke::Marked,
            series: 1,
        }));
        let picture = Curves {
            title: format!("Occupancy over {x}"),
            subtitle: format!("On {}; everything else as it is", gpu.display_name),
            x: x.to_owned(),
            y: "warps of an SM (%)".to_owned(),
            scales: (Kind::Linear, Kind::Linear),
            curves,
            notes: Vec::new(),
        };
        picture.scene().and_then(|scene| svg::write(&scene, Theme::Light)).ok()
    };
    Some(Occupancy {
        gpu: gpu.name.clone(),
        words,
        limits: here.limits.into_iter().map(limit).collect(),
        pictures: curves.into_iter().filter_map(draw).collect(),
    })
}
