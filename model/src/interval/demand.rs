//! Clocks that instructions take of every unit and server of an SM and of the memory behind it.

use gpucast_simulation::code::{
    AccessKind, Action, Class, Instruction, MemoryAccess, Space, TensorMemoryAction,
};
use gpucast_simulation::launch::Request;
use gpucast_simulation::parameters::{Parameters, Unit};
use gpucast_simulation::states::State;

use super::latency::Latency;

/// The work of some instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Demand {
    /// Warp instructions.
    pub(super) instructions: f64,
    /// Clocks of issue slots: less than instructions where a scheduler issues two in a clock.
    pub(super) issue: f64,
    /// Clocks of each unit of a sub-core: ΣII of GCoM, section 4.3.
    pub(super) units: [f64; Unit::COUNT],
    /// Clocks of each unit that sub-cores share.
    pub(super) shared_units: [f64; Unit::COUNT],
    /// Clocks of the SM's tensor core for products and copies in tensor memory.
    pub(super) tensor_core: f64,
    /// Clocks of a sub-core's address stage.
    pub(super) address: f64,
    /// Clocks of the SM's port into the load-store path.
    pub(super) port: f64,
    /// Clocks of the data stage: banks, tags and the way back to registers.
    pub(super) data: f64,
    /// Requests that leave the SM.
    pub(super) requests: f64,
    /// Sectors that the L2 delivers.
    pub(super) l2_reads: f64,
    /// Sectors that the L2 takes.
    pub(super) l2_writes: f64,
    /// Sectors that atomics change in the L2.
    pub(super) l2_updates: f64,
    /// Sectors that DRAM delivers.
    pub(super) dram_reads: f64,
    /// Sectors that DRAM takes.
    pub(super) dram_writes: f64,
    /// Accesses that wait for data, times the clocks that they wait.
    pub(super) pending_accesses: f64,
    /// Sectors that wait for data, times the clocks that they wait.
    pub(super) pending_sectors: f64,
}

/// Applies an operation to every component of one demand, or of two.
macro_rules! each_field {
    ($sum:ident, $other:ident, $operation:expr; $($field:ident),+; $($array:ident),+) => {
        $($operation(&mut $sum.$field, $other.$field);)+
        $(for (sum, other) in $sum.$array.iter_mut().zip($other.$array) {
            $operation(sum, other);
        })+
    };
}

impl Demand {
    /// Applies an operation to each component with that of another demand.
    fn combine(&mut self, other: &Self, mut operation: impl FnMut(&mut f64, f64)) {
        each_field!(
            self, other, operation;
            instructions, issue, tensor_core, address, port, data, requests, l2_reads, l2_writes, l2_updates,
            dram_reads, dram_writes, pending_accesses, pending_sectors;
            units, shared_units
        );
    }

    /// Adds `times` another demand.
    pub(super) fn add(&mut self, other: &Self, times: f64) {
        self.combine(other, |sum, value| *sum += times * value);
    }

    /// The same, `times` as much.
    #[must_use]
    pub(super) fn scaled(mut self, times: f64) -> Self {
        let copy = self;
        self.combine(&copy, |sum, value| *sum = times * value);
        self
    }

    /// The part of this demand that `part` is of `whole`, component by component. Components that
    /// `whole` lacks are divided as issue slots are.
    #[must_use]
    pub(super) fn part(&self, part: &Self, whole: &Self) -> Self {
        let otherwise = if whole.issue > 0.0 { part.issue / whole.issue } else { 0.0 };
        let mut share = *part;
        share.combine(whole, |share, whole| {
            *share = if whole > 0.0 { *share / whole } else { otherwise };
        });
        let mut result = *self;
        result.combine(&share, |result, share| *result *= share);
        result
    }

    /// Adds an instruction with the request of its access.
    pub(super) fn count(
        &mut self,
        instruction: &Instruction,
        request: Option<&Request>,
        latency: &Latency,
        machine: &Machine<'_>,
    ) {
        let parameters = machine.parameters;
        self.instructions += 1.0;
        let pairs = parameters.issue.issue_width > 1 && instruction.control.stall == 0;
        self.issue += if pairs { 1.0 / f64::from(parameters.issue.issue_width) } else { 1.0 };
        let units = parameters.unit_of(instruction);
        if let Some(unit) = units.unit {
            let busy = if units.is_shared { &mut self.shared_units } else { &mut self.units };
            match units.other {
                // Either of two pipes takes it.
                Some(other) => {
                    busy[unit as usize] += units.interval / 2.0;
                    busy[other as usize] += units.interval / 2.0;
                }
                None => busy[unit as usize] += units.interval,
            }
        }
        match instruction.action {
            Action::Access(access) => self.access(&access, request, latency, machine),
            Action::TensorMemory(action) => {
                self.tensor_core += tensor_core_clocks(&action, request, parameters);
            }
            Action::Compute if instruction.class == Class::Shuffle => {
                self.enter(true, parameters);
                self.data += 1.0;
            }
            _ => {}
        }
    }

    fn enter(&mut self, is_uniform: bool, parameters: &Parameters) {
        let path = &parameters.load_store;
        self.address +=
            if is_uniform { path.uniform_address_interval } else { path.address_interval };
        self.port += path.port_interval;
    }

    fn access(
        &mut self,
        access: &MemoryAccess,
        request: Option<&Request>,
        latency: &Latency,
        machine: &Machine<'_>,
    ) {
        let parameters = machine.parameters;
        let path = &parameters.load_store;
        let Some(request) = request.filter(|request| request.lanes > 0) else {
            return self.enter(true, parameters);
        };
        let space = if access.space == Space::Generic { request.space } else { access.space };
        match space {
            Space::Constant => self.enter(true, parameters),
            Space::Shared => {
                self.enter(true, parameters);
                self.data += path.shared_clocks(access, request);
            }
            Space::Global | Space::Local | Space::Generic => {
                self.enter(access.has_uniform_address, parameters);
                self.data += path.global_clocks(access, request);
                let missed = f64::from(request.l2_sectors) + f64::from(request.dram_sectors);
                let sectors = missed + f64::from(request.l1_sectors);
                match access.kind {
                    AccessKind::Store | AccessKind::BulkStore => {
                        self.l2_writes += sectors;
                        self.dram_writes += sectors * machine.dram_writes_per_store;
                    }
                    AccessKind::Atomic | AccessKind::Reduction | AccessKind::BulkReduction => {
                        self.requests += 1.0;
                        self.l2_updates += sectors;
                    }
                    AccessKind::Load | AccessKind::AsyncCopy { .. } | AccessKind::BulkCopy => {
                        if missed > 0.0 {
                            self.requests += request.to_l2(access.kind);
                            self.l2_reads += missed;
                            self.dram_reads += f64::from(request.dram_sectors);
                            if access.kind != AccessKind::BulkCopy {
                                self.pending_accesses += latency.result;
                            }
                            if !access.kind.bypasses_l1() {
                                self.pending_sectors += missed * latency.result;
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The machine, and what its memory does with stores of a launch.
#[derive(Clone, Copy)]
pub(super) struct Machine<'a> {
    /// The GPU.
    pub(super) parameters: &'a Parameters,
    /// Sectors that DRAM writes for each sector stored.
    pub(super) dram_writes_per_store: f64,
}

/// Clocks for which an instruction keeps the SM's tensor core.
pub(super) fn tensor_core_clocks(
    action: &TensorMemoryAction,
    request: Option<&Request>,
    parameters: &Parameters,
) -> f64 {
    match (action, request.filter(|request| request.lanes > 0)) {
        (TensorMemoryAction::Multiply(product), Some(request)) => {
            parameters.product_clocks(product, request).interval
        }
        (TensorMemoryAction::Copy { .. }, Some(request)) => {
            parameters.tensor_copy_clocks(request).interval
        }
        _ => 0.0,
    }
}

/// A resource that is busy for some clocks, under the state of warps that wait for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Busy {
    /// Clocks.
    pub(super) clocks: f64,
    /// The state.
    pub(super) state: State,
}

impl Demand {
    /// The resource of an SM that is busy longest with `ctas` times this work. The fullest sub-core
    /// has the share `fullest` of it.
    pub(super) fn busiest_of_sm(&self, ctas: f64, fullest: f64, parameters: &Parameters) -> Busy {
        let path = &parameters.load_store;
        let of_units = self.units.iter().copied().fold(0.0, f64::max) * fullest;
        let of_shared = self.shared_units.iter().copied().fold(0.0, f64::max);
        let of_path = (self.address * fullest).max(self.port).max(self.data);
        // Little's law: a table holds what waits for data (GCoM, section 4.4: MSHRs).
        let of_tables = (self.pending_accesses / f64::from(path.pending_accesses.max(1)))
            .max(self.pending_sectors / f64::from(path.pending_sectors.max(1)));
        let candidates = [
            Busy { clocks: of_units.max(of_shared), state: State::MathPipe },
            Busy { clocks: self.tensor_core, state: State::Products },
            Busy { clocks: of_path, state: State::LoadStoreQueue },
            Busy { clocks: of_tables, state: State::LgThrottle },
            Busy { clocks: self.ports(parameters), state: State::L2Queue },
        ];
        let busiest = longest(candidates);
        Busy { clocks: busiest.clocks * ctas, ..busiest }
    }

    /// Clocks of the SM's ports to and from the L2.
    fn ports(&self, parameters: &Parameters) -> f64 {
        let memory = &parameters.memory;
        let requests = self.requests / memory.l2_request_rate;
        requests.max(self.l2_reads * memory.sector / memory.l2_reply_bytes_rate)
    }

    /// Clocks of the L2 for the work of `ctas` CTAs of the whole GPU.
    pub(super) fn l2_clocks(&self, ctas: f64, parameters: &Parameters) -> f64 {
        let memory = &parameters.memory;
        let sector = memory.sector * parameters.sp_clock * 1e6;
        ctas * (self.l2_reads * sector / memory.l2_read_bandwidth
            + self.l2_writes * sector / memory.l2_write_bandwidth
            + self.l2_updates / memory.atomic_rate)
    }

    /// Clocks of DRAM for the work of `ctas` CTAs of the whole GPU.
    pub(super) fn dram_clocks(&self, ctas: f64, parameters: &Parameters) -> f64 {
        let memory = &parameters.memory;
        let bandwidth = memory.dram_bandwidth * memory.efficiency(self.written_share());
        let sector = memory.sector * parameters.sp_clock * 1e6;
        ctas * (self.dram_reads + self.dram_writes) * sector / bandwidth
    }

    /// The share of DRAM's sectors that are written.
    pub(super) fn written_share(&self) -> f64 {
        self.dram_writes / (self.dram_reads + self.dram_writes).max(f64::MIN_POSITIVE)
    }
}

/// The one with most clocks.
pub(super) fn longest<const N: usize>(candidates: [Busy; N]) -> Busy {
    let none = Busy { clocks: 0.0, state: State::MathPipe };
    candidates.into_iter().fold(
        none,
        |longest, one| {
            if one.clocks > longest.clocks { one } else { longest }
        },
    )
}
