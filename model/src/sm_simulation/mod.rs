//! The model `sm-simulation`: one SM, issue by issue, on the machine code.
//!
//! The crate `gpucast-simulation` simulates. This module gives it a GPU's parameters, adds up the
//! invocations of a launch, and says what its clocks were spent on.

mod kind;
mod orders;
mod recorded;
mod shared_path;
mod simulator;

use std::sync::Arc;

use gpucast_counters::KernelProfile;
use gpucast_simulation::code::Class;
use gpucast_simulation::launch::Launch;
use gpucast_simulation::parameters::Parameters;
pub use gpucast_simulation::states::{Clocks, State};
use gpucast_simulation::{Outcome as Simulated, Served, resident_ctas};
pub use gpucast_simulation::{Resource, recording};
pub use orders::Orders;
pub use recorded::Recorded;
pub(crate) use shared_path::data_path_clocks;
pub use simulator::{Anew, Simulation, Simulator};

use crate::assumptions;
use crate::conformal::{Kind, back_end};
use crate::gpu::Gpu;
use crate::inputs::{device_model, optional};
use crate::interval;
use crate::needs::Needs;
use crate::prediction::{Bound, Component, Detail, Outcome, Part, Symbols};
use crate::predictor::{Conditions, Extent, GpuParameter, Model, ModelError};
use crate::reads::{Fields, OCCUPANCY, SIMULATED};
use crate::warning::Warning;

/// The condition that an execution without caches, or without machine code, leaves open.
pub const RECORDED_BLOCKS: &str = "recorded blocks on machine code (`--machine rules` has it)";

/// An event-driven simulation of one SM, its requests answered by an analytical memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmSimulation;

/// The invocations of a launch that run alike.
#[derive(Clone, Debug)]
pub struct Invocations {
    /// One of them.
    pub launch: Arc<Launch>,
    /// Their number.
    pub count: u64,
}

/// The results of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// CTAs that an SM holds.
    pub resident_ctas: u32,
    /// Clocks of a sub-core's issue slots by state, of all invocations; they add up to the time.
    pub slots: Clocks,
    /// Clocks of warps by PTX instruction and state, of the simulated CTAs, in order of the
    /// instructions.
    pub by_ptx: Vec<(Option<u32>, Clocks)>,
    /// Clocks of all invocations.
    pub clocks: f64,
    /// Clock of the SM, in MHz.
    pub clock_mhz: f64,
    /// Warp instructions that were simulated.
    pub instructions: u64,
    /// CTAs that were simulated of one invocation, and those of an SM.
    pub ctas: (u64, u64),
    /// The difference between the halves that an extrapolation rests on.
    pub drift: f64,
    /// Clocks that the L2, its busiest line and DRAM work.
    pub served: Served,
    /// Clocks that the data paths of all SMs together work for shared memory, of all invocations.
    pub shared_clocks: f64,
    /// The same for all loads and stores: of shared, global and local memory.
    pub data_clocks: f64,
    /// Barriers that were opened because no other warp could arrive.
    pub abandoned_barriers: u64,
}

/// The oldest generation whose SM the GPU files describe: Kepler.
const LEAST_GENERATION: u32 = 3;

/// What is simulated: recorded CTAs, and the SM that runs them.
pub(crate) struct Inputs<'a> {
    pub(crate) invocations: &'a [Invocations],
    pub(crate) parameters: Parameters,
    /// CTAs that an SM holds.
    pub(crate) resident_ctas: u32,
    /// The orders of issue that simulations follow.
    pub(crate) orders: Option<&'a Orders>,
}

/// The figures of a GPU that say most about a simulated time.
pub(crate) const PARAMETERS: &[GpuParameter] = &[
    GpuParameter::new("sp_clock", "clock"),
    GpuParameter::new("sm_count", "SMs"),
    GpuParameter::new("peak_memory_bandwidth", "B_DRAM"),
    GpuParameter::new("l2_bandwidth", "B_L2"),
    GpuParameter::new("l1_latency", "L_L1"),
    GpuParameter::new("l2_latency", "L_L2"),
    GpuParameter::new("memory_latency", "L_DRAM"),
];

impl<'a> Inputs<'a> {
    /// The inputs of a launch on a GPU.
    ///
    /// # Errors
    ///
    /// When the counts come without recorded CTAs or machine code, when the GPU is older than
    /// Kepler, and when it lacks a parameter.
    pub(crate) fn of(
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &'a Conditions,
    ) -> Result<Self, ModelError> {
        let major = gpu.compute_capability.as_ref().map(|capability| capability.value.major);
        if let Some(major) = major.filter(|&major| major < LEAST_GENERATION) {
            let (gpu, least) = (gpu.name.clone(), LEAST_GENERATION);
            return Err(ModelError::OlderGeneration { gpu, major, least });
        }
        let missing = |what| ModelError::MissingCondition { kernel: profile.kernel.clone(), what };
        let invocations =
            conditions.evidence.simulation.as_ref().ok_or_else(|| missing(RECORDED_BLOCKS))?;
        let shape = conditions.launch.ok_or_else(|| missing("the shape of the launch"))?;
        let device = device_model(gpu)?;
        let parameters = gpu.sm_parameters()?;
        if let Some(lacking) =
            invocations.iter().find_map(|invocation| gpu.lacks_for(&invocation.launch.code))
        {
            return Err(lacking.into());
        }
        let fit = device.ctas_per_sm(shape.cta());
        let warps = shape.threads_per_block.div_ceil(32).max(1) as f64;
        let resident = match conditions.occupancy {
            Some(share) => (share * f64::from(device.limits.max_warps) / warps).round() as u32,
            None => fit,
        }
        .max(1);
        let held = |one: &Invocations| resident_ctas(&one.launch, resident, &parameters);
        let resident_ctas = invocations.iter().map(held).max().unwrap_or(resident);
        let orders = conditions.evidence.orders.as_ref().and_then(|orders| orders.held_for(gpu));
        Ok(Self { invocations, parameters, resident_ctas, orders })
    }
}

impl Analysis {
    /// Simulates a launch on a GPU.
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
        let Inputs { invocations, parameters, resident_ctas, orders } =
            Inputs::of(profile, gpu, conditions)?;
        let simulator = conditions.simulator();
        let mut analysis = Self {
            resident_ctas,
            slots: Clocks::default(),
            by_ptx: Vec::new(),
            clocks: 0.0,
            clock_mhz: parameters.sp_clock,
            instructions: 0,
            ctas: (0, 0),
            drift: 0.0,
            served: Served::default(),
            shared_clocks: 0.0,
            data_clocks: 0.0,
            abandoned_barriers: 0,
        };
        for Invocations { launch, count } in invocations {
            let times = *count as f64;
            let simulated = simulator.outcome(Simulation {
                launch,
                resident: resident_ctas,
                parameters: &parameters,
                orders,
            });
            analysis.add(launch, &simulated, times);
            if conditions.extent == Extent::Whole {
                let path = &parameters.load_store;
                analysis.shared_clocks += shared_path::shared_clocks(launch, path) * times;
                analysis.data_clocks += data_path_clocks(launch, path) * times;
            }
        }
        Ok(analysis)
    }

    fn add(&mut self, launch: &Launch, one: &Simulated, times: f64) {
        self.clocks += one.clocks * times;
        for (sum, clocks) in self.slots.0.iter_mut().zip(one.slots.0) {
            *sum += clocks * times;
        }
        self.instructions += one.instructions;
        self.ctas = one.ctas;
        self.drift = self.drift.max(one.drift);
        self.served.l2 += one.served.l2 * times;
        self.served.atomics += one.served.atomics * times;
        self.served.dram += one.served.dram * times;
        self.served.dram_sectors += one.served.dram_sectors * times;
        self.abandoned_barriers += one.abandoned_barriers;
        for (instruction, clocks) in launch.code.instructions.iter().zip(&one.by_instruction) {
            let place = self.by_ptx.binary_search_by_key(&instruction.ptx, |(ptx, _)| *ptx);
            let place = place.unwrap_or_else(|place| {
                self.by_ptx.insert(place, (instruction.ptx, Clocks::default()));
                place
            });
            for (sum, clocks) in self.by_ptx[place].1.0.iter_mut().zip(clocks.0) {
                *sum += clocks * times;
            }
        }
    }

    /// The time of all invocations, in milliseconds.
    #[must_use]
    pub fn time_ms(&self) -> f64 {
        milliseconds(self.clocks, self.clock_mhz)
    }

    /// The clocks of warps that some PTX instructions account for, by state. A clock counts for the
    /// instruction that the warp issues next, as in Nsight Compute's samples.
    #[must_use]
    pub fn clocks_of(&self, instructions: impl IntoIterator<Item = u32>) -> Clocks {
        let mut sum = Clocks::default();
        for instruction in instructions {
            let place = self.by_ptx.binary_search_by_key(&Some(instruction), |(ptx, _)| *ptx);
            if let Ok(place) = place {
                for (sum, clocks) in sum.0.iter_mut().zip(self.by_ptx[place].1.0) {
                    *sum += clocks;
                }
            }
        }
        sum
    }

    /// The clocks of all warps in the simulated CTAs, of which [`Analysis::clocks_of`] gives parts.
    #[must_use]
    pub fn warp_clocks(&self) -> f64 {
        self.by_ptx.iter().map(|(_, clocks)| clocks.total()).sum()
    }

    /// The shares of the time by state, largest first.
    #[must_use]
    pub fn shares(&self) -> Vec<(State, f64)> {
        shares(&self.slots)
    }

    /// The resource that bounds the time, and the time of each, in milliseconds. It is the L2 or
    /// DRAM where that works nearly all the time, and else the one that most slots wait for.
    fn bounds(&self) -> (Bound, Vec<Component>) {
        let components = components(&self.slots, self.time_ms());
        let longest = components.first().map_or(Bound::Compute, |component| component.resource);
        (self.busy_server().map_or(longest, |(server, _)| server), components)
    }

    /// The server behind the SM that works nearly all the time, if one does, and its share of it.
    fn busy_server(&self) -> Option<(Bound, f64)> {
        let (busiest, awaited) = self.served.busiest();
        let share = (busiest / self.clocks.max(f64::MIN_POSITIVE)).min(1.0);
        (share >= BUSY_SERVER).then(|| (resource(awaited), share))
    }
}

/// The shares of clocks by state, largest first.
pub(crate) fn shares(clocks: &Clocks) -> Vec<(State, f64)> {
    let total = clocks.total().max(f64::MIN_POSITIVE);
    let mut shares: Vec<(State, f64)> =
        State::ALL.into_iter().map(|state| (state, clocks.of(state) / total)).collect();
    shares.retain(|(_, share)| *share > 0.0);
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// The time of each resource, in milliseconds, longest first.
pub(crate) fn components(clocks: &Clocks, time_ms: f64) -> Vec<Component> {
    let mut components: Vec<Component> = Vec::new();
    for (state, share) in shares(clocks) {
        let (resource, time_ms) = (resource(state), share * time_ms);
        match components.iter_mut().find(|component| component.resource == resource) {
            Some(one) => one.time_ms += time_ms,
            None => components.push(Component { resource, time_ms }),
        }
    }
    components.sort_by(|a, b| b.time_ms.total_cmp(&a.time_ms));
    components
}

/// The resource that a state is a wait for.
fn resource(state: State) -> Bound {
    match state {
        State::Selected
        | State::NotSelected
        | State::Wait
        | State::MathPipe
        | State::Products
        | State::NoInstruction
        | State::Barrier
        | State::Membar => Bound::Compute,
        State::ShortScoreboard | State::MioThrottle => Bound::Shared,
        State::L1Latency | State::LoadStoreQueue | State::LgThrottle => Bound::L1,
        State::L2Latency | State::L2Queue => Bound::L2,
        State::DramLatency | State::DramQueue | State::Copies => Bound::Memory,
        // Constants are fetched once, when a launch begins.
        State::ConstantMiss | State::Launch | State::Tail => Bound::Overhead,
    }
}

/// The milliseconds of some clocks.
fn milliseconds(clocks: f64, clock_mhz: f64) -> f64 {
    clocks / (clock_mhz * 1e3)
}

impl Model for SmSimulation {
    fn name(&self) -> &'static str {
        "sm-simulation"
    }

    fn citation(&self) -> &'static str {
        "gpucast: one SM simulated issue by issue (docs/sm-simulation.md); after Huerta et al., MICRO 2025"
    }

    fn needs(&self) -> Needs {
        Needs::ORDER
    }

    fn gpu_parameters(&self) -> &'static [GpuParameter] {
        PARAMETERS
    }

    fn time_ms(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<f64, ModelError> {
        let Inputs { invocations, parameters, resident_ctas, orders } =
            Inputs::of(profile, gpu, conditions)?;
        let of_kind = |Invocations { launch, count }: &Invocations| {
            let clocks = conditions.simulator().clocks(Simulation {
                launch,
                resident: resident_ctas,
                parameters: &parameters,
                orders,
            });
            clocks * *count as f64
        };
        let clocks = invocations.iter().map(of_kind).sum();
        let time_ms = milliseconds(clocks, parameters.sp_clock);
        let added_ms = match conditions.timing {
            Some(timing) => timing.added_to_all_ms(time_ms, profile, gpu)?,
            None => 0.0,
        };
        let time_ms = time_ms + added_ms;
        if time_ms.is_finite() {
            return Ok(time_ms);
        }
        let (kernel, gpu) = (profile.kernel.clone(), gpu.name.clone());
        Err(ModelError::NotFinite { kernel, gpu })
    }

    fn reads_the_same(&self, before: &Conditions, after: &Conditions) -> bool {
        let (Some(before_all), Some(after_all)) =
            (&before.evidence.simulation, &after.evidence.simulation)
        else {
            return false;
        };
        let is_same = |(one, other): (&Invocations, &Invocations)| {
            Arc::ptr_eq(&one.launch, &other.launch) && one.count == other.count
        };
        before_all.len() == after_all.len()
            && before_all.iter().zip(after_all.iter()).all(is_same)
            && (before.launch, before.occupancy, before.timing)
                == (after.launch, after.occupancy, after.timing)
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
        let (bound, components) = analysis.bounds();
        let mut parameters = Symbols::default();
        parameters.push_total("CTAs per SM", f64::from(analysis.resident_ctas), "");
        let mut intermediate = Symbols::default();
        intermediate.push("clocks", analysis.clocks, "clock");
        for (state, share) in analysis.shares() {
            intermediate.push(state.name(), 100.0 * share, "%");
        }
        let mut warnings = assumptions::common(profile, gpu, conditions, time_ms);
        warnings.extend(assumptions::texels(profile, gpu));
        warnings.extend(assumptions::few_threads(gpu, conditions));
        if conditions.launch.is_some_and(|launch| launch.registers.is_none()) {
            warnings.push(Warning::UnknownRegisters);
        }
        if analysis.drift > MOST_DRIFT {
            warnings.push(Warning::Unsteady { share: analysis.drift });
        }
        if conditions.extent != Extent::WithoutWarnings {
            let milliseconds = interval::Analysis::of(profile, gpu, conditions)?.time_ms();
            let ratio = milliseconds / time_ms;
            if !(1.0 / MOST_DISAGREEMENT..=MOST_DISAGREEMENT).contains(&ratio) {
                warnings.push(Warning::ModelsDisagree { milliseconds, ratio });
            }
        }
        warnings.extend(conditions.evidence.simulation.as_ref().and_then(|all| unrecorded(all)));
        if analysis.abandoned_barriers > 0 {
            warnings.push(Warning::AbandonedBarriers { barriers: analysis.abandoned_barriers });
        }
        Ok(Outcome {
            time_ms,
            bound,
            parameters,
            intermediate,
            parts: vec![Part { name: "kernel".to_owned(), time_ms, bound, components }],
            explanation: explain(&profile.kernel, &gpu.name, &analysis),
            warnings,
            detail: Detail::Simulation(Box::new(analysis)),
        })
    }
}

/// The kind of a simulated time.
#[must_use]
pub fn kind_of(analysis: &Analysis, invocations: u64, gpu: &Gpu, conditions: &Conditions) -> Kind {
    let recorded = conditions.evidence.simulation.as_deref().map_or(&[][..], Vec::as_slice);
    let invocation_ms = analysis.time_ms() / invocations.max(1) as f64;
    let launching_ms = optional!(gpu.launch_overhead).unwrap_or_default() / 1e3;
    let major = gpu.compute_capability.as_ref().map(|capability| capability.value.major);
    Kind {
        class: kind::class(
            &analysis.shares(),
            analysis.busy_server().map(|(server, _)| server),
            launching_ms / (invocation_ms + launching_ms).max(f64::MIN_POSITIVE),
            has_products(recorded),
        ),
        capability: major.unwrap_or_default(),
        machine: conditions.machine.as_ref().and_then(|machine| back_end(machine.name())),
    }
}

/// The reason why no measured error says anything of a time, if there is one: a mechanism that the
/// simulation lacks decides it.
#[must_use]
pub(crate) fn declined_because(warnings: &[Warning], conditions: &Conditions) -> Option<String> {
    if conditions.launch.is_some_and(|launch| launch.cluster_blocks > 1) {
        return Some("blocks of a cluster are simulated as if each were alone".to_owned());
    }
    let reason = |warning: &Warning| match warning {
        Warning::Unlaunchable { .. } => Some("the GPU refuses the launch"),
        Warning::TexelsWithoutMemory { .. } => Some("texels cost no cache and no memory here"),
        Warning::UnrecordedBlocks { .. } => Some("blocks unlike all recorded ones decide the time"),
        Warning::AbandonedBarriers { .. } => Some("the simulation let warps through barriers"),
        Warning::CountedElsewhere { .. } => Some("the counts are those of another GPU"),
        _ => None,
    };
    warnings.iter().find_map(reason).map(str::to_owned)
}

/// Returns true if one of the invocations' machine code has matrix products.
fn has_products(invocations: &[Invocations]) -> bool {
    let products = |class: Class| class == Class::Tensor;
    let mut instructions =
        invocations.iter().flat_map(|invocation| &invocation.launch.code.instructions);
    instructions.any(|instruction| products(instruction.class))
}

/// Tells of blocks for which others with other numbers of instructions stand in.
fn unrecorded(invocations: &[Invocations]) -> Option<Warning> {
    let (mut blocks, mut factor) = (0, 1.0_f64);
    for Invocations { launch, .. } in invocations {
        for run in &launch.order {
            let scale = launch.classes.get(run.class as usize).map_or(1.0, |class| class.scale);
            let either_way = if scale > 0.0 { scale.max(1.0 / scale) } else { 1.0 };
            if either_way > MOST_STAND_IN {
                blocks += run.ctas;
                factor = factor.max(either_way);
            }
        }
    }
    (blocks > 0).then_some(Warning::UnrecordedBlocks { blocks, factor })
}

/// A block stands in for others whose instructions are fewer or more by less than this factor
/// without a warning.
const MOST_STAND_IN: f64 = 1.1;

/// A server that works this share of the time bounds it, whatever the warps wait for: what keeps it
/// from more is mostly that its queue runs empty for a moment.
const BUSY_SERVER: f64 = 0.8;

/// Beyond this difference between the halves of what was simulated, a warning says so.
const MOST_DRIFT: f64 = 0.05;

/// Beyond this factor between the interval model and the simulation, a warning says so.
const MOST_DISAGREEMENT: f64 = 2.0;

/// Shares below this are not named in the explanation.
const LEAST_NAMED: f64 = 0.03;

/// Says what the issue slots were spent on.
fn explain(kernel: &str, gpu: &str, analysis: &Analysis) -> String {
    let named: Vec<String> = analysis
        .shares()
        .into_iter()
        .filter(|(_, share)| *share >= LEAST_NAMED)
        .map(|(state, share)| format!("{:.0} % {}", 100.0 * share, state.text()))
        .collect();
    let busy = analysis.busy_server().map_or(String::new(), |(server, share)| {
        let server = match server {
            Bound::L2 if analysis.served.atomics > analysis.served.l2 => {
                "The line of the L2 where most atomics meet"
            }
            Bound::L2 => "The L2",
            _ => "Device memory",
        };
        format!(" {server} works {:.0} % of the time, whatever warps wait for.", 100.0 * share)
    });
    format!("{kernel} on {gpu} spends its issue slots on: {}.{busy}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predictor::LaunchShape;

    #[test]
    fn a_mechanism_that_the_simulation_lacks_takes_the_interval_away() {
        let mut conditions = Conditions::default();
        assert_eq!(declined_because(&[], &conditions), None);
        assert_eq!(declined_because(&[Warning::UnknownRegisters], &conditions), None);
        for warning in [
            Warning::TexelsWithoutMemory { milliseconds: 1.0 },
            Warning::UnrecordedBlocks { blocks: 3, factor: 2.0 },
            Warning::AbandonedBarriers { barriers: 1 },
            Warning::CountedElsewhere { counted_on: "gtx-480".to_owned() },
        ] {
            assert!(declined_because(&[warning], &conditions).is_some());
        }
        conditions.launch = Some(LaunchShape { cluster_blocks: 2, ..LaunchShape::default() });
        let reason = declined_because(&[], &conditions).unwrap();
        assert!(reason.contains("cluster"), "{reason}");
        conditions.launch = Some(LaunchShape { cluster_blocks: 1, ..LaunchShape::default() });
        assert_eq!(declined_because(&[], &conditions), None);
    }
}
