//! The work of a kernel's stages for each component, from the counts between barriers.
//!
//! Stages carry PTX instructions. If the profile has machine-level counts, those of each class are
//! scaled to them, the same in every stage. That is an estimate, because unrolled and folded
//! instructions need not lie evenly. So are passes over the banks of shared memory, of which
//! machine code has fewer where it joins accesses.
//!
//! On compute capability 1.x, arithmetic takes an operand from shared memory. A load from there is
//! then no instruction as long as there is arithmetic to take it.

use gpucast_counters::metric;
use gpucast_counters::operation::class_metric;
use gpucast_counters::stages::{ClassCount, Stage, StageMemory, Stages};
use gpucast_counters::throughput::Operation;
use gpucast_counters::{InstructionClass, KernelProfile};

use super::global::Served;
use super::instructions::InstructionCounts;
use crate::inputs::Totals;
use crate::predictor::ModelError;

/// The work of one stage, of all blocks and invocations together.
#[derive(Clone, Debug, PartialEq)]
pub struct StageWork {
    /// Blocks that have the stage, of all invocations.
    pub blocks: f64,
    /// Warps of a block that work in it, on average.
    pub active_warps: f64,
    /// Warp instructions.
    pub instructions: InstructionCounts,
    /// Passes over the banks of shared memory.
    pub passes: f64,
    /// The same without conflicts.
    pub conflict_free: f64,
    /// Bytes to and from device memory.
    pub bytes: f64,
    /// Batches of loads from global memory that warps wait for.
    pub load_batches: f64,
    /// Loads from global memory.
    pub loads: f64,
    /// The memories that answer, of the whole kernel.
    pub served: Served,
    /// Passes of global loads over the banks of first-level caches.
    pub cache_passes: f64,
    /// The same without conflicts.
    pub cache_conflict_free: f64,
    /// Bytes that threads ask of global and local memory.
    pub requested_bytes: f64,
    /// Bytes of the sectors that their requests touch.
    pub sector_bytes: f64,
    /// Requests of warps to global and local memory.
    pub requests: f64,
}

/// The work of all stages, and where its instructions come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The stages in order of time.
    pub stages: Vec<StageWork>,
    /// True if instructions are scaled to machine-level counts.
    pub scaled: bool,
}

impl Work {
    /// The work of the stages for the components of a GPU. `folds` is true if arithmetic takes
    /// operands from shared memory.
    ///
    /// # Errors
    ///
    /// When the profile lacks the traffic to device memory or the number of instructions.
    pub fn of(
        profile: &KernelProfile,
        stages: &Stages,
        sector_bytes: f64,
        folds: bool,
    ) -> Result<Self, ModelError> {
        let totals = Totals(profile);
        let [reads, writes, executed] =
            totals.require(metric!["dram_read_bytes", "dram_write_bytes", "inst_executed"])?;
        let mut all = Stage::default();
        stages.stages.iter().for_each(|stage| all.add(stage));
        if all.instructions().warps == 0 {
            return Err(ModelError::NothingExecuted { kernel: profile.kernel.clone() });
        }
        let scale = Scale::of(totals, &all, executed)?;
        let banks = BankScale::of(totals, &all)?;
        let bytes = reads + writes;
        let all_sectors = (all.global.sectors + all.local.sectors) as f64;
        let served = Served {
            first_level: first_level_hits(profile),
            device: match all_sectors {
                0.0 => 0.0,
                sectors => (bytes / sector_bytes / sectors).min(1.0),
            },
        };
        // Tensor cores read their operands beside the warps; the rate of products has that time.
        let by_warps = |count: fn(&StageMemory) -> u128, stage: &Stage| {
            count(&stage.shared).saturating_sub(count(&stage.operands)) as f64
        };
        let stage = |stage: &Stage| {
            let sectors = (stage.global.sectors + stage.local.sectors) as f64;
            let of = |count: fn(&StageMemory) -> u128| {
                (count(&stage.global) + count(&stage.local)) as f64
            };
            let idle = stage.mean_active_warps() == 0.0;
            let warps = if idle { stage.warps } else { stage.active_warps };
            StageWork {
                blocks: stage.ctas as f64,
                active_warps: warps as f64 / stage.ctas.max(1) as f64,
                instructions: instructions(stage, folds)
                    .scaled(|instruction| scale.factor(instruction)),
                passes: banks.passes * by_warps(|memory| memory.passes, stage),
                conflict_free: banks.conflict_free * by_warps(|memory| memory.conflict_free, stage),
                bytes: if all_sectors == 0.0 { 0.0 } else { bytes * sectors / all_sectors },
                load_batches: stage.global_load_batches as f64,
                loads: stage.global_loads as f64,
                served,
                cache_passes: stage.global.passes as f64,
                cache_conflict_free: stage.global.conflict_free as f64,
                requested_bytes: of(|memory| memory.requested_bytes),
                sector_bytes: sector_bytes * sectors,
                requests: of(|memory| memory.requests),
            }
        };
        Ok(Self {
            stages: stages.stages.iter().map(stage).collect(),
            scaled: scale.is_any() || banks.is_any(),
        })
    }
}

impl Work {
    /// All stages as one, whose blocks have `warps` warps: the sum of overlapped stages.
    #[must_use]
    pub fn combined(&self, warps: f64) -> StageWork {
        let sum = |of: fn(&StageWork) -> f64| self.stages.iter().map(of).sum::<f64>();
        let mut instructions = InstructionCounts::default();
        self.stages.iter().for_each(|stage| instructions.add(&stage.instructions));
        StageWork {
            blocks: self.stages.iter().map(|stage| stage.blocks).fold(0.0, f64::max),
            active_warps: warps,
            instructions,
            passes: sum(|stage| stage.passes),
            conflict_free: sum(|stage| stage.conflict_free),
            bytes: sum(|stage| stage.bytes),
            load_batches: sum(|stage| stage.load_batches),
            loads: sum(|stage| stage.loads),
            served: self.stages.first().map_or_else(Served::default, |stage| stage.served),
            cache_passes: sum(|stage| stage.cache_passes),
            cache_conflict_free: sum(|stage| stage.cache_conflict_free),
            requested_bytes: sum(|stage| stage.requested_bytes),
            sector_bytes: sum(|stage| stage.sector_bytes),
            requests: sum(|stage| stage.requests),
        }
    }
}

/// The share of loaded sectors that first-level caches hold; none if the counts know of no such
/// cache.
fn first_level_hits(profile: &KernelProfile) -> f64 {
    let percent =
        profile.metrics.get(metric!("global_hit_rate")).map(|figure| figure.value.as_f64());
    percent.filter(|percent| percent.is_finite()).unwrap_or_default() / 100.0
}

/// PTX instructions of a stage, without the loads that arithmetic takes in.
fn instructions(stage: &Stage, folds: bool) -> InstructionCounts {
    let counts = InstructionCounts::by(|operation| stage.operation(operation) as f64);
    if !folds {
        return counts;
    }
    let folded = counts.computations().min(stage.shared_loads as f64);
    InstructionCounts::by(|operation| match operation {
        Operation::LoadStore => (counts.of(operation) - folded).max(0.0),
        _ => counts.of(operation),
    })
}

/// Lanes of a warp.
const WARP_LANES: f64 = 32.0;

/// Machine instructions for each PTX instruction, by operation.
struct Scale([f64; Operation::ALL.len()]);

impl Scale {
    fn of(totals: Totals<'_>, all: &Stage, executed: f64) -> Result<Self, ModelError> {
        let mut factors = [1.0; Operation::ALL.len()];
        for operation in Operation::ALL {
            let (mut ptx, mut machine) = (ClassCount::<u128>::default(), 0.0);
            for &class in operation.classes() {
                ptx.threads += all.class(class).threads;
                // The metric of matrix products counts warps, those of other classes threads.
                let lanes = if class == InstructionClass::Tensor { WARP_LANES } else { 1.0 };
                machine += lanes * totals.get(class_metric(class))?.unwrap_or_default();
            }
            if ptx.threads > 0 && machine > 0.0 {
                factors[operation as usize] = machine / ptx.threads as f64;
            }
        }
        // Guards and idle lanes differ between the levels: the total of warps is the executed one.
        let scaled: f64 = Operation::ALL
            .map(|class| factors[class as usize] * all.operation(class) as f64)
            .iter()
            .sum();
        let rest = if scaled > 0.0 { executed / scaled } else { 1.0 };
        Ok(Self(factors.map(|factor| factor * rest)))
    }

    fn factor(&self, operation: Operation) -> f64 {
        self.0[operation as usize]
    }

    fn is_any(&self) -> bool {
        self.0.iter().any(|factor| (factor - 1.0).abs() > 1e-9)
    }
}

/// Passes over the banks of shared memory by the launch's counts, for each of the stages'.
struct BankScale {
    passes: f64,
    conflict_free: f64,
}

impl BankScale {
    fn of(totals: Totals<'_>, all: &Stage) -> Result<Self, ModelError> {
        let mut passes = 0.0;
        for metric in metric![
            "shared_load_transactions",
            "shared_store_transactions",
            "shared_update_transactions"
        ] {
            passes += totals.get(metric)?.unwrap_or_default();
        }
        // Of several invocations it is the same.
        let degree = totals.0.metrics.get(metric!("shared_conflict_degree"));
        let degree = degree.map(|figure| figure.value.as_f64()).filter(|degree| *degree >= 1.0);
        let StageMemory { passes: of_stages, conflict_free, .. } = all.shared;
        let factor = |count: f64, of_stages: u128| match of_stages > 0 && count > 0.0 {
            true => count / of_stages as f64,
            false => 1.0,
        };
        let of_passes = factor(passes, of_stages);
        Ok(Self {
            passes: of_passes,
            conflict_free: match degree {
                Some(degree) => factor(passes / degree, conflict_free),
                None => of_passes,
            },
        })
    }

    fn is_any(&self) -> bool {
        [self.passes, self.conflict_free].iter().any(|factor| (factor - 1.0).abs() > 1e-9)
    }
}
