//! Executes a plan under the sanitizer.

use std::sync::Arc;

use gpucast_buffers::init::Init;
use gpucast_interpreter::{DeviceMemory, Launch, Program, RunError};
use gpucast_sanitizer::{Buffer, Checks, DeviceShadow, Findings, Sanitizer};

use crate::failure::Failure;
use crate::input::plan::Plan;
use crate::run::execute::{Executed, Timing, Watch};

/// One repetition of a launch, checked.
#[non_exhaustive]
pub struct CheckedLaunch {
    /// Name of the kernel.
    pub kernel: String,
    /// The outcome of the checks.
    pub findings: Findings,
    /// True if it ran to its end.
    pub finished: bool,
}

impl CheckedLaunch {
    /// The same launch with other findings, such as some of its own.
    #[must_use]
    pub fn with(&self, findings: Findings) -> Self {
        Self { kernel: self.kernel.clone(), findings, finished: self.finished }
    }
}

/// Checks every repetition of every launch.
pub struct Check {
    checks: Checks,
    device: Arc<DeviceShadow>,
    kernel: String,
    /// Of each launch that has ended: its duration, and why CTAs ran in order, if they did.
    pub finished: Vec<(Timing, Option<String>)>,
    /// Every repetition that began, in order.
    pub checked: Vec<CheckedLaunch>,
}

impl Check {
    /// Watches a plan's launches in `memory`, which has the plan's buffers.
    #[must_use]
    pub fn new(checks: Checks, plan: &Plan, memory: &DeviceMemory) -> Self {
        let buffers = plan.buffers.iter().filter_map(|buffer| {
            Some(Buffer {
                name: buffer.name.clone(),
                address: memory.address(&buffer.name)?,
                bytes: buffer.bytes(),
                initialised: buffer.init != Init::Unstated,
            })
        });
        let device = Arc::new(DeviceShadow::new(buffers.collect()));
        let (finished, checked) = (Vec::new(), Vec::new());
        Self { checks, device, kernel: String::new(), finished, checked }
    }
}

impl Watch for Check {
    type Observer = Sanitizer;

    fn notes_hazards(&self) -> bool {
        false
    }

    fn begin(&mut self, program: &Program, launch: &Launch) -> Sanitizer {
        program.kernel().clone_into(&mut self.kernel);
        Sanitizer::new(program, launch, self.checks, &self.device)
    }

    fn end(
        &mut self,
        sanitizer: Sanitizer,
        _program: &Program,
        _memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        let findings = sanitizer.finish(None);
        let kernel = self.kernel.clone();
        self.checked.push(CheckedLaunch { kernel, findings, finished: true });
        Ok(())
    }

    fn failed(&mut self, sanitizer: Sanitizer, error: &RunError) -> bool {
        let RunError::Fault(fault) = error else {
            // It never began, or somebody ended it.
            return false;
        };
        let findings = sanitizer.finish(Some(fault));
        let explains = findings.explains_fault;
        let kernel = self.kernel.clone();
        self.checked.push(CheckedLaunch { kernel, findings, finished: false });
        explains
    }

    fn launched(&mut self, executed: Executed<'_>) {
        self.finished.push((executed.timing, executed.ordered_because));
    }
}
