//! The counts of the last kernels. A slider of a GPU or another picture then executes nothing.

use std::sync::Arc;

use gpucast_forecast::compiler::Compiler;
use gpucast_forecast::run::counting::Counted;
use gpucast_forecast::run::sources::{self, Counts, Source};
use gpucast_forecast::{Failure, Supervisor};
use gpucast_model::{Gpu, Needs};

use crate::opened::Opened;
use crate::request::Kernel;

/// Kernels whose counts are kept: two that are compared, on two kinds of GPUs.
const MOST: usize = 4;

/// A kernel that was counted.
pub(crate) struct CountedKernel {
    /// Texts, parameters, and the rules of counting.
    key: (Kernel, String),
    pub(crate) opened: Opened,
    pub(crate) counted: Vec<Counted>,
}

impl CountedKernel {
    /// The counts as models read them on a GPU that counts alike.
    pub(crate) fn sources(&self, gpu: &Gpu) -> Vec<Source> {
        let plan = self.opened.kernel.plan();
        self.counted.iter().map(|counted| sources::of_counted(counted, plan, gpu)).collect()
    }
}

/// The last kernels, the latest one last.
#[derive(Default)]
pub(crate) struct Kept(Vec<CountedKernel>);

impl Kept {
    /// The counts of a kernel on a GPU, by executing it unless they are kept.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the kernel, and a GPU that cannot be counted on.
    pub(crate) fn counted(
        &mut self,
        kernel: &Kernel,
        gpu: &Gpu,
        counts: &Counts,
        compiler: Option<&Arc<dyn Compiler>>,
        supervisor: &dyn Supervisor,
    ) -> Result<&mut CountedKernel, Failure> {
        let device = gpucast_forecast::choice::gpu_argument::device_model(gpu)?;
        let key = (kernel.clone(), format!("{device:?}"));
        match self.0.iter().position(|kept| kept.key == key) {
            Some(at) => {
                let kept = self.0.remove(at);
                self.0.push(kept);
            }
            None => {
                // Made before room, so that a kernel with a fault leaves the others.
                let counted = CountedKernel::of(key, gpu, counts, compiler, supervisor)?;
                if self.0.len() == MOST {
                    self.0.remove(0);
                }
                self.0.push(counted);
            }
        }
        self.0.last_mut().ok_or(Failure::Stopped)
    }
}

impl CountedKernel {
    fn of(
        key: (Kernel, String),
        gpu: &Gpu,
        counts: &Counts,
        compiler: Option<&Arc<dyn Compiler>>,
        supervisor: &dyn Supervisor,
    ) -> Result<Self, Failure> {
        let opened = Opened::of(&key.0, compiler, Some(gpu))?;
        let plan = opened.kernel.plan();
        // Everything that a question of the page reads.
        let counts =
            Counts { needs: counts.needs | Needs::STAGES | Needs::ORDER, ..counts.clone() };
        let launched = sources::launched(plan, &opened.loaded, gpu, &counts, supervisor)?;
        let counted = launched.into_iter().map(|launched| launched.counted).collect();
        Ok(Self { key, opened, counted })
    }
}
