//! Limits that a kernel is to keep on each of several GPUs.

use std::fmt;

use super::{Condition, Figures};
use crate::comparison::distinct;
use crate::failure::Report;
use crate::prediction::KernelView;

/// A limit that a kernel does not keep on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exceeded {
    /// The limit, as it was written.
    pub limit: String,
    /// The GPU.
    pub gpu: String,
    /// What happened, as a sentence.
    pub sentence: String,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}: {}", self.limit, self.gpu, self.sentence)
    }
}

/// The limits of values that the launches of one KERNEL do not keep. A metric has the value that is
/// counted for each GPU.
///
/// # Errors
///
/// As [`Condition::broken_by`] without a run before.
pub fn exceeded(limits: &[Condition], kernels: &[KernelView]) -> Result<Vec<Exceeded>, Report> {
    let mut exceeded = Vec::new();
    for gpu in distinct(kernels.iter().flat_map(KernelView::gpus)) {
        let figures = Figures::of(&on(gpu, kernels));
        for limit in limits {
            let broken = limit.broken_by(&figures, None)?;
            exceeded.extend(broken.into_iter().map(|broken| Exceeded {
                limit: limit.to_string(),
                gpu: gpu.to_owned(),
                sentence: broken.sentence,
            }));
        }
    }
    Ok(exceeded)
}

/// The launches with what is known of them on a GPU.
fn on(gpu: &str, kernels: &[KernelView]) -> Vec<KernelView> {
    let counted = kernels.iter().filter(|view| view.gpus().contains(&gpu));
    let of_gpu = |view: &KernelView| {
        let mut view = view.clone();
        view.predictions.retain(|one| one.prediction.gpu == gpu);
        view.declined.retain(|one| one.gpu == gpu);
        view
    };
    counted.map(of_gpu).collect()
}
