//! The inputs of every model, and the models by name.

use std::sync::Arc;

use gpucast_counters::device::DeviceModel;
use gpucast_counters::machine::BackEnd;
use gpucast_counters::{CtaShape, Extents, KernelProfile, Refusal, RegisterRange, RequestedLaunch};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::component_throughput::ComponentThroughput;
use crate::conformal::{Table, TimeInterval};
use crate::cost_model::{CostModel, CostModels};
use crate::energy::{Energy, Limited, Load, clock_within};
use crate::gpu::{Clock, Gpu};
use crate::hierarchical_roofline::HierarchicalRoofline;
use crate::inputs::optional;
use crate::interval::Interval;
use crate::needs::Needs;
use crate::offload::{CalibratedOffload, OffloadModel, Transfers};
use crate::prediction::{Outcome, Prediction};
use crate::quantitative_roofline::QuantitativeRoofline;
use crate::reads::{self, Fields};
use crate::roofs::{self, Roof};
use crate::sm_simulation::{
    self, Anew, Invocations, Orders, Simulator, SmSimulation, data_path_clocks,
};
use crate::sustained::Sustained;
use crate::timing::Timing;
use crate::warning::Warning;

pub use crate::evidence::{Axes, Evidence, InstructionFacts, Merged};
pub use crate::gpu_parameter::GpuParameter;
pub use crate::model_error::ModelError;

/// The facts known of a launch beyond its metrics. Counts that were measured come without any of
/// them.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The shape of the launch.
    pub launch: Option<LaunchShape>,
    /// What is known of its execution.
    pub evidence: Evidence,
    /// Who made its machine code, if there is machine code.
    pub machine: Option<BackEnd>,
    /// The calibrated models of the cost model.
    pub cost_models: Option<Arc<CostModels>>,
    /// The GPU whose coalescing, banks and caches the counts follow.
    pub counted_on: Option<CountedOn>,
    /// Warps resident on an SM, over those that it can hold, if something other than the launch's
    /// shape decides (see [`crate::what_if`]).
    pub occupancy: Option<f64>,
    /// The bytes that the launch takes from the host's memory and gives back.
    pub transfers: Option<Transfers>,
    /// A calibration of those transfers.
    pub offload: Option<Arc<CalibratedOffload>>,
    /// The way in which the time is measured, if its fixed part is to be added.
    pub timing: Option<Timing>,
    /// The parts of the prediction that somebody reads.
    pub extent: Extent,
}

/// The parts of a prediction that somebody reads. The simulation leaves out what nobody does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// Time, bound and parts: the simulation does not ask the interval model for a warning.
    WithoutWarnings,
}

/// The GPU that counts were taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedOn {
    /// Its library name.
    pub gpu: String,
    /// All of it that counts depend on.
    pub device: DeviceModel,
}

impl CountedOn {
    /// Returns true if the counts are those of `gpu` too.
    #[must_use]
    pub fn holds_for(&self, gpu: &Gpu) -> bool {
        self.gpu == gpu.name || gpu.device_model().is_ok_and(|device| device == self.device)
    }
}

/// The threads that were launched, and the resources that they take on an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchShape {
    /// Blocks of the grid.
    pub blocks: u128,
    /// Threads of a block.
    pub threads_per_block: u64,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u64,
    /// Registers of a thread, if something gives them.
    pub registers: Option<u32>,
    /// The range of the registers, if they are not those of machine code for the GPU's generation.
    pub estimated_registers: Option<RegisterRange>,
    /// Registers of a thread that are surely spilled, and that no machine code shows.
    pub spilled_registers: u32,
    /// The shape of the grid, if it is known.
    pub extents: Option<Extents>,
    /// Blocks of a cluster; 1 without clusters, and 0 where nothing says it.
    pub cluster_blocks: u32,
}

impl LaunchShape {
    /// The shape of a launch, as the counters know it.
    #[must_use]
    pub fn of(launch: &RequestedLaunch, blocks: u128) -> Self {
        Self {
            blocks,
            threads_per_block: launch.cta.threads,
            shared_bytes: launch.cta.shared_bytes,
            registers: launch.cta.registers_per_thread,
            estimated_registers: launch.estimated_registers,
            spilled_registers: 0,
            extents: launch.extents,
            cluster_blocks: launch.cluster_ctas,
        }
    }

    /// The resources of a block.
    #[must_use]
    pub fn cta(&self) -> CtaShape {
        CtaShape {
            threads: self.threads_per_block,
            shared_bytes: self.shared_bytes,
            registers_per_thread: self.registers,
        }
    }

    /// The reasons for which a GPU refuses the launch; none if it can run. Of a GPU that cannot be
    /// modelled only the threads of a block are known.
    #[must_use]
    pub fn refusals(&self, gpu: &Gpu) -> Vec<Refusal> {
        let requested = RequestedLaunch {
            cta: self.cta(),
            extents: self.extents,
            cluster_ctas: self.cluster_blocks,
            estimated_registers: self.estimated_registers,
        };
        let threads = self.threads_per_block;
        let of_threads = || {
            let limit = gpu.max_threads_per_block.as_ref()?.value.0;
            (threads > limit).then_some(Refusal::Threads { threads, limit })
        };
        match gpu.device_model() {
            Ok(device) => device.refusals(&requested),
            Err(_) => of_threads().into_iter().collect(),
        }
    }

    /// As [`Self::refused_by`], without what rests on registers of another generation's code: a
    /// compiler for this GPU may keep to the limit and spill.
    #[must_use]
    pub fn surely_refused_by(&self, gpu: &Gpu) -> Option<Warning> {
        let is_sure = |refusal: &Refusal| match *refusal {
            Refusal::Registers { estimated: Some(range), of_thread, .. } => range.least < of_thread,
            _ => true,
        };
        let refusals: Vec<Refusal> = self.refusals(gpu).into_iter().filter(is_sure).collect();
        let gpu = gpu.name.clone();
        (!refusals.is_empty()).then_some(Warning::Unlaunchable { gpu, refusals })
    }

    /// The warning that a GPU refuses the launch, if it does.
    #[must_use]
    pub fn refused_by(&self, gpu: &Gpu) -> Option<Warning> {
        let refusals = self.refusals(gpu);
        let gpu = gpu.name.clone();
        (!refusals.is_empty()).then_some(Warning::Unlaunchable { gpu, refusals })
    }

    /// The warning that the launch runs otherwise, or not at all, with the most registers that an
    /// estimate allows; `None` if it does not matter, or the launch is refused anyhow.
    #[must_use]
    pub fn depends_on_registers(&self, gpu: &Gpu) -> Option<Warning> {
        let (registers, RegisterRange { least, most }) =
            (self.registers?, self.estimated_registers?);
        let device = gpu.device_model().ok()?;
        let most = most.min(device.limits.max_registers_per_thread);
        let held = |registers| {
            let cta = CtaShape { registers_per_thread: Some(registers), ..self.cta() };
            device.occupancy(cta).ctas_per_sm
        };
        let (blocks, blocks_at_most) = (held(registers), held(most));
        // A grid that does not need more places has them in both cases.
        let places = u128::from(device.sm_count) * u128::from(blocks_at_most);
        (blocks > blocks_at_most && self.blocks > places).then_some(Warning::EstimatedRegisters {
            registers,
            least,
            most,
            blocks,
            blocks_at_most,
        })
    }
}

impl LaunchShape {
    /// The warning that registers are spilled which no machine code shows; `None` if none are.
    #[must_use]
    pub fn spills(&self) -> Option<Warning> {
        let (registers, spilled) = (self.registers?, self.spilled_registers);
        (spilled > 0).then(|| Warning::UncountedSpills { registers, needed: registers + spilled })
    }
}

impl Conditions {
    /// Clocks of the data paths of all SMs for the recorded CTAs, if there is machine code.
    fn data_clocks(&self, gpu: &Gpu) -> Option<f64> {
        let parameters = gpu.sm_parameters().ok()?.load_store;
        let clocks =
            |one: &Invocations| data_path_clocks(&one.launch, &parameters) * one.count as f64;
        Some(self.evidence.simulation.as_ref()?.iter().map(clocks).sum())
    }

    /// The same conditions where simulations follow some orders of issue.
    #[must_use]
    pub fn following(&self, orders: Option<Arc<Orders>>) -> Self {
        let mut conditions = self.clone();
        conditions.evidence.orders = orders;
        conditions
    }

    /// Who simulates the recorded CTAs.
    pub(crate) fn simulator(&self) -> &dyn Simulator {
        self.evidence.simulator.as_deref().unwrap_or(&Anew)
    }

    /// The share of their time that a number of SMs compute, where the SM with most blocks decides.
    ///
    /// With fewer blocks than SMs it is the share of SMs that have one. With more it is 1, as
    /// papers have it, unless the time is to be one that is measured: then the last wave counts in
    /// full, however few blocks it has. Returns 1 if the launch is not known.
    pub(crate) fn busy_sms(&self, sms: f64) -> f64 {
        let Some(launch) = self.launch.filter(|_| sms > 0.0) else { return 1.0 };
        let waves = launch.blocks.max(1) as f64 / sms;
        match self.timing {
            Some(_) => waves / waves.ceil(),
            None => waves.min(1.0),
        }
    }
}

/// An analytical model of a kernel's time.
pub trait Model: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The paper and the equations that it follows.
    fn citation(&self) -> &'static str;

    /// The inputs beyond metrics that it reads, each of which costs time to gather.
    fn needs(&self) -> Needs {
        Needs::METRICS
    }

    /// Returns true if its paper predicts every GPU from the counts of a GTX 480.
    fn reads_counts_of_gtx_480(&self) -> bool {
        false
    }

    /// Returns true if its times include the way of the data to the GPU and back, and so are not
    /// those of the kernel alone.
    fn includes_transfers(&self) -> bool {
        false
    }

    /// Returns true if its times have the cost of launches in them already, so that
    /// [`Conditions::timing`] adds nothing.
    fn includes_launches(&self) -> bool {
        false
    }

    /// The GPU's fields that it reads, each under the paper's symbol, in the order to show them in.
    fn gpu_parameters(&self) -> &'static [GpuParameter] {
        &[]
    }

    /// Every field of the GPU that a time may depend on, those of occupancy included. A field that
    /// is missing here is reported as unread where a user changes it.
    fn reads(&self) -> Fields;

    /// The groups of fields that a time depends on under some conditions: the model's own, those of
    /// counts that were taken for the GPU, and those of the way of measuring.
    fn read_here(&self, conditions: &Conditions, gpu: &Gpu) -> Vec<&'static [&'static str]> {
        let mut groups = self.reads().to_vec();
        if conditions.counted_on.as_ref().is_some_and(|counted| counted.holds_for(gpu)) {
            groups.extend([reads::OCCUPANCY, reads::COUNTED]);
        }
        if conditions.timing.is_some() {
            groups.push(reads::TIMED);
        }
        groups
    }

    /// Evaluates the model's equations for the profile's invocations on a GPU.
    ///
    /// # Errors
    ///
    /// When the profile lacks a metric or the GPU a parameter that the model cannot do without,
    /// or when the metrics contradict each other.
    fn evaluate(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Outcome, ModelError>;

    /// The time of [`Model::predict`] alone, in milliseconds.
    ///
    /// # Errors
    ///
    /// As [`Model::predict`].
    fn time_ms(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<f64, ModelError> {
        let conditions = Conditions { extent: Extent::WithoutWarnings, ..conditions.clone() };
        self.predict(profile, gpu, &conditions).map(|prediction| prediction.time_ms)
    }

    /// Returns true if the model finds the same time under both conditions without a look at the
    /// metrics. It may return false where the times are equal.
    fn reads_the_same(&self, _before: &Conditions, _after: &Conditions) -> bool {
        false
    }

    /// Predicts the time of the profile's invocations on a GPU: at its clock, or at the one that a
    /// power limit leaves if a user sets one ([`Gpu::under_power_limit`]).
    ///
    /// # Errors
    ///
    /// As [`Model::evaluate`], and when the time is not finite.
    fn predict(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Prediction, ModelError> {
        let own = self.predict_at_own_clock(profile, gpu, conditions)?;
        let (Some(limit_w), Some(clock_mhz)) = (gpu.set_power_limit(), own.clock_mhz) else {
            return Ok(own);
        };
        let blocks = conditions.launch.map(|launch| launch.blocks);
        let Some(load) = Load::of(profile, blocks, gpu) else { return Ok(own) };
        let slower = |clock: f64| {
            let missing =
                |_| ModelError::MissingParameter { gpu: gpu.name.clone(), parameter: "sp_clock" };
            gpu.at_clock(Clock::Megahertz(clock)).map_err(missing)
        };
        let time_at = |clock: f64| -> Result<f64, ModelError> {
            let conditions = Conditions { extent: Extent::WithoutWarnings, ..conditions.clone() };
            let there = self.predict_at_own_clock(profile, &slower(clock)?, &conditions)?;
            Ok(there.time_ms)
        };
        let limited =
            clock_within(&load, limit_w, Limited { clock_mhz, time_ms: own.time_ms }, time_at)?;
        let prediction = match limited {
            None => own,
            Some(there) => {
                self.predict_at_own_clock(profile, &slower(there.clock_mhz)?, conditions)?
            }
        };
        Ok(Prediction { power_limit_w: Some(limit_w), ..prediction })
    }

    /// The prediction at the clock that the GPU has, whatever the power.
    ///
    /// # Errors
    ///
    /// As [`Model::predict`].
    fn predict_at_own_clock(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Prediction, ModelError> {
        let mut outcome = self.evaluate(profile, gpu, conditions)?;
        if let Some(timing) = conditions.timing
            && !self.includes_launches()
        {
            timing.extend(&mut outcome, profile, gpu)?;
        }
        let is_asked = conditions.extent != Extent::WithoutWarnings;
        let blocks = conditions.launch.map(|launch| launch.blocks);
        let energy = match is_asked {
            true => Energy::of(profile, blocks, gpu, outcome.time_ms),
            false => None,
        };
        let refused = conditions.launch.and_then(|launch| launch.refused_by(gpu));
        let unsure = conditions.launch.and_then(|launch| launch.depends_on_registers(gpu));
        let spills = conditions.launch.and_then(|launch| launch.spills());
        outcome.warnings.splice(0..0, refused.or(unsure).into_iter().chain(spills));
        let roof = match is_asked {
            true => roofs::highest(profile, gpu, conditions.data_clocks(gpu)),
            false => None,
        };
        if is_asked {
            let above = roof.filter(|roof| roof.is_above(outcome.time_ms));
            let below =
                |Roof { unit, least_ms }| Warning::BelowRoof { unit, milliseconds: least_ms };
            outcome.warnings.extend(above.map(below));
            let mut groups = self.read_here(conditions, gpu);
            groups.push(reads::UNDER_LOAD);
            groups.extend(energy.as_ref().map(|_| reads::ENERGY));
            let unread = reads::unread(&groups, gpu);
            let model = self.name();
            outcome.warnings.extend(unread.map(|field| Warning::UnreadField { field, model }));
        }
        let analysis = outcome.detail.simulation().filter(|_| is_asked);
        let kind = analysis
            .map(|analysis| sm_simulation::kind_of(analysis, profile.invocations, gpu, conditions));
        let sustained = is_asked
            .then(|| {
                let class = kind.map(|kind| kind.class);
                let load = Load::of(profile, blocks, gpu);
                Sustained::of((outcome.time_ms, outcome.bound), class, load.as_ref(), gpu)
            })
            .flatten();
        let declined = || sm_simulation::declined_because(&outcome.warnings, conditions);
        let part_ms =
            conditions.timing.map_or([0.0; 2], |timing| timing.range_ms(gpu, profile.invocations));
        let interval = match kind.map(|kind| (kind, declined())) {
            Some((_, Some(reason))) => Err(Some(reason)),
            Some((kind, None)) => TimeInterval::new(outcome.time_ms, kind, Table::committed())
                .map(|interval| interval.with_part(part_ms))
                .map(|interval| match roof {
                    Some(roof) => interval.not_below(outcome.time_ms, roof),
                    None => interval,
                })
                .map(|interval| match &sustained {
                    Some(one) => interval.covering(one.time_at_most_ms, one.clock_mhz),
                    None => interval,
                })
                .ok_or(None),
            None => Err(None),
        };
        let clock_mhz = optional!(gpu.sp_clock);
        let (kernel, gpu) = (profile.kernel.clone(), gpu.name.clone());
        if !outcome.time_ms.is_finite() {
            return Err(ModelError::NotFinite { kernel, gpu });
        }
        let Outcome {
            time_ms,
            bound,
            parameters,
            intermediate,
            parts,
            explanation,
            warnings,
            detail,
        } = outcome;
        Ok(Prediction {
            kernel,
            gpu,
            model: self.name(),
            time_ms,
            interval_declined_because: interval.as_ref().err().cloned().flatten(),
            interval: interval.ok(),
            clock_mhz,
            sustained,
            power_limit_w: None,
            energy,
            bound,
            parameters,
            intermediate,
            parts,
            explanation,
            warnings,
            detail,
        })
    }
}

impl dyn Model {
    /// All models.
    pub const ALL: &'static [&'static dyn Model] = &[
        &QuantitativeRoofline,
        &ComponentThroughput,
        &HierarchicalRoofline,
        &SmSimulation,
        &Interval,
        &OffloadModel,
        &CostModel,
    ];

    /// The oldest generation for which the simulation is the default: Maxwell. Its machine code
    /// says when instructions issue, and published times from there on judge the simulation best.
    const LEAST_SIMULATED: u32 = 5;

    /// The model that answers for a GPU unless another one is asked for.
    ///
    /// It is the simulation of an SM from compute capability 5.0 on, and the thesis's model before
    /// it. `docs/models.md` compares both with published times.
    #[must_use]
    pub fn default_for(gpu: &Gpu) -> &'static dyn Model {
        let capability = gpu.compute_capability.as_ref().map(|capability| capability.value.major);
        match capability {
            Some(Self::LEAST_SIMULATED..) => &SmSimulation,
            Some(_) | None => &QuantitativeRoofline,
        }
    }

    /// The models that answer in place of the default where it lacks an input, the best first.
    ///
    /// They need nothing but metrics. The order is that of their errors on published times.
    pub const STAND_INS: &'static [&'static dyn Model] =
        &[&HierarchicalRoofline, &QuantitativeRoofline];

    /// Who reads a field of a GPU, itself or by one that follows from it: names of models, `counts`
    /// and `--timing`.
    #[must_use]
    pub fn readers(field: &str) -> Vec<&'static str> {
        let models = Self::ALL.iter().map(|model| (model.name(), model.reads()));
        let counts: Fields = &[reads::OCCUPANCY, reads::COUNTED];
        let timing: Fields = &[reads::TIMED];
        let under_load: Fields = &[reads::UNDER_LOAD];
        let energy: Fields = &[reads::ENERGY];
        let all = models.chain([
            ("counts", counts),
            ("--timing", timing),
            ("the clock under load", under_load),
            ("energy", energy),
        ]);
        all.filter(|(_, groups)| reads::reaches(field, groups)).map(|(name, _)| name).collect()
    }

    /// The model of a name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn by_name(name: &str) -> Result<&'static dyn Model, UnknownModel> {
        Self::ALL
            .iter()
            .copied()
            .find(|model| model.name() == name)
            .ok_or_else(|| UnknownModel { name: name.to_owned() })
    }
}

/// A model name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no model named `{name}`; the models are {}", known_models())]
pub struct UnknownModel {
    /// The name.
    pub name: String,
}

fn known_models() -> String {
    let names: Vec<String> =
        <dyn Model>::ALL.iter().map(|model| format!("`{}`", model.name())).collect();
    names.join(", ")
}
