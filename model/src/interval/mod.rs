//! The model `interval`: stalls of one warp, carried over to all warps of an SM.
//!
//! GPUMech (Huang et al., MICRO 2014), GCoM (Lee et al., ISCA 2022) and AMALI (Cao et al., ISCA
//! 2025) predict from *intervals*: instructions that issue one after the other, and the stall that
//! ends them. The model reads what the simulation of an SM reads, and is a second opinion on it
//! that costs milliseconds.
//!
//! ```text
//! warps of recorded CTAs ──► representative ──► intervals ──┐ latency of one warp
//!                       └──► demand: issue, pipes, L1, L2 ──┴─► contention ──► waves ──► time
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `intervals` | the instructions of one warp alone, and what ends each run of them |
//! | `latency` | when the result of an instruction is there on an idle machine |
//! | `demand` | clocks that instructions take of each unit and server |
//! | `representative` | the warp that stands for a CTA class |
//! | `contention` | warps of an SM together: overlap, structural and memory contention |
//! | `waves` | CTAs one after the other, from launch to tail |
//!
//! Differences from the papers stand where they are made. No constant is fitted to a kernel's time.

mod contention;
mod demand;
mod intervals;
mod latency;
mod representative;
#[cfg(test)]
mod tests;
mod waves;

use gpucast_counters::KernelProfile;
use gpucast_simulation::states::{Clocks, State};

use crate::assumptions;
use crate::gpu::Gpu;
use crate::needs::Needs;
use crate::prediction::{Bound, Detail, Outcome, Part, Symbols};
use crate::predictor::{Conditions, GpuParameter, Model, ModelError};
use crate::reads::{Fields, OCCUPANCY, SIMULATED};
use crate::sm_simulation::{Inputs, Invocations, PARAMETERS, components, shares};
use crate::warning::Warning;

/// An interval model of the GCoM family.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval;

/// The results of the interval model.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// CTAs that an SM holds.
    pub resident_ctas: u32,
    /// Clocks of the launch by what they are spent on, of all invocations; they add up to the time.
    pub stack: Clocks,
    /// Clock of the SM, in MHz.
    pub clock_mhz: f64,
    /// Warp instructions of the representative warp.
    pub instructions: f64,
    /// Intervals that it has.
    pub intervals: u64,
    /// Clocks of the representative warp on an SM of its own.
    pub alone: f64,
    /// Warps of the fullest sub-core.
    pub warps: f64,
}

impl Analysis {
    /// Evaluates the model for a launch on a GPU.
    ///
    /// # Errors
    ///
    /// When the counts come without recorded CTAs or machine code, when the GPU is older than
    /// Kepler, and when it lacks a parameter.
    pub fn of(
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Self, ModelError> {
        let Inputs { invocations, parameters, resident_ctas, .. } =
            Inputs::of(profile, gpu, conditions)?;
        let mut analysis = Self {
            resident_ctas,
            stack: Clocks::default(),
            clock_mhz: parameters.sp_clock,
            instructions: 0.0,
            intervals: 0,
            alone: 0.0,
            warps: 0.0,
        };
        for Invocations { launch, count } in invocations {
            let one = waves::predict(launch, resident_ctas, &parameters);
            for (sum, clocks) in analysis.stack.0.iter_mut().zip(one.stack.0) {
                *sum += clocks * *count as f64;
            }
            analysis.instructions = one.instructions;
            analysis.intervals = one.intervals;
            analysis.alone = one.alone;
            analysis.warps = one.warps;
        }
        Ok(analysis)
    }

    /// The time of all invocations, in milliseconds.
    #[must_use]
    pub fn time_ms(&self) -> f64 {
        self.stack.total() / (self.clock_mhz * 1e3)
    }
}

impl Model for Interval {
    fn name(&self) -> &'static str {
        "interval"
    }

    fn citation(&self) -> &'static str {
        "interval analysis after GPUMech (Huang et al. 2014), GCoM (Lee et al. 2022) and AMALI (Cao \
         et al. 2025)"
    }

    fn needs(&self) -> Needs {
        Needs::ORDER
    }

    fn gpu_parameters(&self) -> &'static [GpuParameter] {
        PARAMETERS
    }

    fn reads(&self) -> Fields {
        &[SIMULATED, OCCUPANCY]
    }

    fn evaluate(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Outcome, ModelError> {
        let analysis = Analysis::of(profile, gpu, conditions)?;
        let time_ms = analysis.time_ms();
        let components = components(&analysis.stack, time_ms);
        let bound = components.first().map_or(Bound::Compute, |component| component.resource);
        let mut parameters = Symbols::default();
        parameters.push_total("CTAs per SM", f64::from(analysis.resident_ctas), "");
        parameters.push_total("instructions", analysis.instructions, "instruction");
        parameters.push_total("intervals", analysis.intervals as f64, "");
        let mut intermediate = Symbols::default();
        intermediate.push("clocks", analysis.stack.total(), "clock");
        intermediate.push("C_alone", analysis.alone, "clock");
        intermediate.push("w", analysis.warps, "warp");
        for (state, share) in shares(&analysis.stack) {
            intermediate.push(state.name(), 100.0 * share, "%");
        }
        let mut warnings = assumptions::common(profile, gpu, conditions, time_ms);
        warnings.extend(assumptions::texels(profile, gpu));
        if conditions.launch.is_some_and(|launch| launch.registers.is_none()) {
            warnings.push(Warning::UnknownRegisters);
        }
        Ok(Outcome {
            time_ms,
            bound,
            parameters,
            intermediate,
            parts: vec![Part { name: "kernel".to_owned(), time_ms, bound, components }],
            explanation: explain(&profile.kernel, &gpu.name, &analysis),
            warnings,
            detail: Detail::Interval(Box::new(analysis)),
        })
    }
}

/// Shares below this are not named in the explanation.
const LEAST_NAMED: f64 = 0.03;

/// Says what the clocks are spent on.
fn explain(kernel: &str, gpu: &str, analysis: &Analysis) -> String {
    let named: Vec<String> = shares(&analysis.stack)
        .into_iter()
        .filter(|(_, share)| *share >= LEAST_NAMED)
        .map(|(state, share): (State, f64)| format!("{:.0} % {}", 100.0 * share, state.text()))
        .collect();
    format!(
        "{kernel} on {gpu} by intervals of one warp: {:.0} clocks alone, with {:.0} warps of a \
         sub-core its time is {}.",
        analysis.alone,
        analysis.warps,
        named.join(", ")
    )
}
