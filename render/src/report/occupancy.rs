//! The warps that an SM holds, and what would change their number.

use gpucast_counters::occupancy::Limiter;
use gpucast_forecast::run::counting::Counted;
use gpucast_model::Gpu;
use gpucast_plot::pictures::curves::Curves;
use gpucast_plot::{Theme, svg};

use crate::pictures::occupancy;

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
    let draw =
        |picture: Curves| picture.scene().and_then(|scene| svg::write(&scene, Theme::Light)).ok();
    let pictures = occupancy::curves(shape, gpu)?.into_iter().filter_map(draw).collect();
    Some(Occupancy {
        gpu: gpu.name.clone(),
        words,
        limits: here.limits.into_iter().map(limit).collect(),
        pictures,
    })
}
