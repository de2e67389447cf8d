//! What rules look at: one launch on one GPU.

use gpucast_counters::counts::MemoryCounts;
use gpucast_counters::device::DeviceModel;
use gpucast_counters::occupancy::{CtaShape, Occupancy};
use gpucast_counters::table::Row;
use gpucast_counters::{LaunchProfile, Metrics};
use gpucast_interpreter::AccessKind;
use gpucast_model::sm_simulation::Analysis;
use gpucast_model::{Conditions, Gpu, InstructionFacts, LaunchShape, Prediction};
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::launch::Launch;
use gpucast_simulation::states::State;

use crate::place::{LineShare, Places};

/// A launch on a GPU, as rules see it.
pub struct Case<'a> {
    /// The counts, instruction by instruction.
    pub profile: &'a LaunchProfile,
    /// Everything else that models read.
    pub conditions: &'a Conditions,
    /// The shape of the launch.
    pub shape: LaunchShape,
    /// Bytes of the buffers that the launch is given.
    pub buffer_bytes: u64,
    /// The GPU.
    pub gpu: &'a Gpu,
    /// The same GPU as the counters have it.
    pub device: DeviceModel,
    /// The prediction that the verdict rests on.
    pub headline: &'a Prediction,
    /// The values of the simulation, if it predicts too.
    pub simulated: Option<&'a Analysis>,
    /// Where lines are.
    pub places: Places<'a>,
}

impl Case<'_> {
    /// The value of a metric of one invocation; 0 if the counts lack it.
    #[must_use]
    pub fn metric(&self, name: &str) -> f64 {
        metric(&self.profile.metrics, name)
    }

    /// The rows of the instructions that ran.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.profile.table.rows.iter().filter(|row| row.warp_executions > 0)
    }

    /// The lines that most of a quantity falls on.
    #[must_use]
    pub fn ranked(&self, weight: impl Fn(&Row) -> f64) -> Vec<LineShare> {
        self.places.ranked(self.rows(), weight)
    }

    /// The lines that some instructions stand on, by their executions.
    #[must_use]
    pub fn lines_of(&self, instructions: &[u32]) -> Vec<LineShare> {
        self.ranked(|row| match instructions.contains(&row.instruction) {
            true => row.warp_executions as f64,
            false => 0.0,
        })
    }

    /// Executions by warps of some instructions, over those of all.
    #[must_use]
    pub fn share_of(&self, instructions: &[u32]) -> f64 {
        let sum = |of: &dyn Fn(&&Row) -> bool| -> f64 {
            self.rows().filter(of).map(|row| row.warp_executions as f64).sum()
        };
        sum(&|row| instructions.contains(&row.instruction)) / sum(&|_| true).max(1.0)
    }

    /// The share of the time that issue slots spend in some states, by the simulation.
    #[must_use]
    pub fn time_in(&self, states: &[State]) -> f64 {
        let Some(analysis) = self.simulated else { return 0.0 };
        let sum: f64 = states.iter().map(|&state| analysis.slots.of(state)).sum();
        sum / analysis.slots.total().max(f64::MIN_POSITIVE)
    }

    /// The lines whose warps spend most clocks in some states, by the simulation.
    #[must_use]
    pub fn lines_in(&self, states: &[State]) -> Vec<LineShare> {
        let Some(analysis) = self.simulated else { return Vec::new() };
        self.ranked(|row| {
            let of_row = analysis.by_ptx.iter().find(|(ptx, _)| *ptx == Some(row.instruction));
            of_row.map_or(0.0, |(_, clocks)| states.iter().map(|&state| clocks.of(state)).sum())
        })
    }

    /// The facts of the instructions; none if nothing was recorded.
    #[must_use]
    pub fn facts(&self) -> Option<&InstructionFacts> {
        self.conditions.evidence.instructions.as_deref()
    }

    /// The recorded launch, if there is one.
    #[must_use]
    pub fn recorded(&self) -> Option<&Launch> {
        let invocations = self.conditions.evidence.simulation.as_deref()?;
        invocations.first().map(|invocation| invocation.launch.as_ref())
    }

    /// The resources of a block.
    #[must_use]
    pub fn cta(&self) -> CtaShape {
        self.shape.cta()
    }

    /// The occupancy of the launch.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        self.device.occupancy(self.cta())
    }

    /// SMs of the GPU.
    #[must_use]
    pub fn sms(&self) -> u128 {
        u128::from(self.device.sm_count.max(1))
    }
}

/// The value of a metric; 0 if there is none.
#[must_use]
pub fn metric(metrics: &Metrics, name: &str) -> f64 {
    metrics.get(name).map_or(0.0, |figure| figure.value.as_f64())
}

/// The counts of a row's plain loads and stores of a space.
pub fn accesses(row: &Row, space: StateSpace) -> impl Iterator<Item = &MemoryCounts> {
    row.memory.iter().filter(move |counts| counts.space == space && !updates(counts))
}

/// Returns true if the counts are those of atomics or reductions.
#[must_use]
pub fn updates(counts: &MemoryCounts) -> bool {
    matches!(counts.kind, AccessKind::Atomic | AccessKind::Reduction)
}
