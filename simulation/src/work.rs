//! The warp instructions of a launch, counted once.

use crate::launch::{CtaClass, CtaRun, Launch};

/// Warp instructions of a CTA of a class, by its samples' paths.
#[derive(Clone, Copy, Debug)]
struct OfClass {
    /// Those of the paths.
    kept: f64,
    /// Those of the CTAs that the paths stand for: more where paths were cut or where samples of
    /// another class stand in.
    whole: f64,
}

/// Warp instructions of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    of_class: Vec<OfClass>,
    /// Those of the launch's paths.
    pub(crate) instructions: f64,
    /// Instructions of the launch over those of the paths that stand for it.
    pub(crate) scale: f64,
}

impl Work {
    pub(crate) fn of(launch: &Launch) -> Self {
        let in_block: Vec<u64> = (0..launch.code.blocks.len())
            .map(|block| launch.code.range(block).len() as u64)
            .collect();
        let of_class: Vec<OfClass> =
            launch.classes.iter().map(|class| of_class(class, &in_block)).collect();
        let (mut instructions, mut whole) = (0.0, 0.0);
        for &CtaRun { class, ctas } in &launch.order {
            if let Some(one) = of_class.get(class as usize) {
                instructions += one.kept * ctas as f64;
                whole += one.whole * ctas as f64;
            }
        }
        let scale = if instructions > 0.0 { whole / instructions } else { 1.0 };
        Self { of_class, instructions, scale }
    }

    /// Those of a CTA of a class, by its samples' paths.
    pub(crate) fn of_cta(&self, class: usize) -> f64 {
        self.of_class.get(class).map_or(0.0, |one| one.kept)
    }
}

fn of_class(class: &CtaClass, in_block: &[u64]) -> OfClass {
    let (mut kept, mut left_out) = (0_u64, 0_u64);
    for warp in class.samples.iter().flat_map(|sample| &sample.warps) {
        let of_block = |&block: &u32| in_block.get(block as usize).copied().unwrap_or(0);
        kept += warp.path.iter().map(of_block).sum::<u64>();
        left_out += warp.left_out_instructions;
    }
    let samples = class.samples.len().max(1) as f64;
    let scale = if class.scale > 0.0 { class.scale } else { 1.0 };
    OfClass { kept: kept as f64 / samples, whole: (kept + left_out) as f64 / samples * scale }
}
