//! The time of a launch in the clocks that Nsight Compute counts.

use gpucast_model::sm_simulation::{Analysis, State};
use gpucast_model::{Gpu, Timing};
use gpucast_simulation::parameters::Parameters;

use super::Profiled;

/// Times and clocks of one launch.
pub(super) struct Cycles {
    /// What the profiler shows as the launch's duration.
    pub(super) seconds: f64,
    /// From the launch's begin to its end, in clocks of an SM.
    pub(super) elapsed: f64,
    /// What a simulation of an SM knows.
    pub(super) simulated: Option<Simulated>,
}

/// Sums over all SMs, from the one that was simulated.
pub(super) struct Simulated {
    pub(super) analysis: Analysis,
    pub(super) parameters: Parameters,
    /// Clocks in which an SM has a warp: the mean over SMs.
    pub(super) active: f64,
    /// CTAs of the grid over those whose warps were accounted for.
    pub(super) scale: f64,
}

impl Cycles {
    /// The clocks of a launch; none without a prediction.
    pub(super) fn new(launch: &Profiled<'_>) -> Option<Self> {
        let prediction = launch.prediction?;
        let gpu = launch.gpu;
        let clock_hz = gpu.number("sp_clock")? * 1e6;
        let seconds = prediction.time_ms / 1e3;
        let Some(analysis) = prediction.detail.simulation() else {
            let (elapsed, simulated) = (seconds * clock_hz, None);
            return Some(Self { seconds, elapsed, simulated });
        };
        let added_ms = Timing::NcuCycles.added_ms(gpu, seconds * 1e3).unwrap_or(0.0);
        let elapsed = analysis.clocks + added_ms / 1e3 * clock_hz;
        Some(Self { seconds, elapsed, simulated: Simulated::new(launch, analysis) })
    }
}

impl Simulated {
    fn new(launch: &Profiled<'_>, analysis: &Analysis) -> Option<Self> {
        let parameters = launch.gpu.sm_parameters().ok()?;
        let ctas: f64 = launch.counts.grid.iter().map(|&extent| f64::from(extent)).product();
        let (simulated, of_sm) = analysis.ctas;
        // The SM that ends last has most CTAs. Those with fewer are active as much less.
        let of_all = (of_sm as f64 * sm_count(launch.gpu)?).max(1.0);
        let costs = parameters.launch;
        let idle = costs.launch_start + costs.launch_end;
        let active = (analysis.clocks - idle).max(1.0) * (ctas / of_all).min(1.0);
        let scale = ctas / (simulated as f64).max(1.0);
        Some(Self { analysis: analysis.clone(), parameters, active, scale })
    }

    /// Clocks of warps of the CTAs that were accounted for, by state.
    pub(super) fn warps(&self, states: &[State]) -> f64 {
        let of_row = |state: &State| -> f64 {
            self.analysis.by_ptx.iter().map(|(_, clocks)| clocks.of(*state)).sum()
        };
        states.iter().map(of_row).sum()
    }

    /// Schedulers of an SM.
    pub(super) fn schedulers(&self) -> f64 {
        f64::from(self.parameters.issue.sub_partitions)
    }
}

/// SMs of a GPU.
pub(super) fn sm_count(gpu: &Gpu) -> Option<f64> {
    gpu.number("sm_count")
}
