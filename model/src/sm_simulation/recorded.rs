//! A simulation with all that happened on the way: what a timeline shows.

use std::sync::Arc;

use gpucast_counters::KernelProfile;
use gpucast_simulation::launch::Launch;
use gpucast_simulation::recording::Recording;
use gpucast_simulation::{Limits, Outcome as Simulated, record};

use super::{Inputs, Invocations};
use crate::gpu::Gpu;
use crate::predictor::{Conditions, ModelError};

/// A simulated launch, SM by SM.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What was simulated.
    pub launch: Arc<Launch>,
    /// Invocations that run like this one.
    pub alike: u64,
    /// All invocations.
    pub invocations: u64,
    /// The result, as [`Analysis`](super::Analysis) has it.
    pub outcome: Simulated,
    /// The simulated SMs, the one that ends last first.
    pub sms: Vec<Recording>,
    /// CTAs that an SM holds.
    pub resident_ctas: u32,
    /// Clock of the SM, in MHz.
    pub clock_mhz: f64,
}

impl Recorded {
    /// Simulates a launch on a GPU. Of several invocations it is the one that most run like.
    ///
    /// # Errors
    ///
    /// As [`Analysis::of`](super::Analysis::of).
    pub fn of(
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Self, ModelError> {
        let Inputs { invocations, parameters, resident_ctas, .. } =
            Inputs::of(profile, gpu, conditions)?;
        let all = invocations.iter().map(|invocation| invocation.count).sum();
        // Of equal numbers it is the first.
        let most = invocations.iter().rev().max_by_key(|invocation| invocation.count);
        let Some(Invocations { launch, count }) = most else {
            let (kernel, what) = (profile.kernel.clone(), super::RECORDED_BLOCKS);
            return Err(ModelError::MissingCondition { kernel, what });
        };
        let (outcome, sms) = record(launch, resident_ctas, &parameters, Limits::default());
        Ok(Self {
            launch: Arc::clone(launch),
            alike: *count,
            invocations: all,
            outcome,
            sms,
            resident_ctas,
            clock_mhz: parameters.sp_clock,
        })
    }
}
