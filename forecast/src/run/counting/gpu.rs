//! The part of counting that is one GPU's: its L2, its launches so far.

use std::collections::BTreeMap;
use std::mem;

use gpucast_buffers::init::Init;
use gpucast_counters::DeviceModel;
use gpucast_counters::hierarchy::{L2, L2Contents};
use gpucast_interpreter::{DeviceMemory, Launch, Program};
use gpucast_model::offload::Transfers;
use sha2::{Digest as _, Sha256};

use super::invocation::{counter, repetition};
use super::observer::Counts;
use super::recurrence::Recurrence;
use super::transferred::{Transferred, buffer_arguments};
use super::{Counted, Counting, rehearsal};
use crate::failure::Failure;
use crate::input::plan::{Buffer, Plan};
use crate::inspection::MachineFacts;
use crate::run::execute::Executed;
use crate::run::repetitions::{Mean, Repeated};
use crate::run::rung::{CountedBy, Rung};
use crate::settings::CacheChoice;

/// What one GPU counts of a plan.
pub(super) struct OfGpu<'a> {
    plan: &'a Plan,
    counting: &'a Counting<'a>,
    /// Repetitions of the launch that is running.
    repetitions: Mean,
    /// What the last of them says of the next. Two are compared before a third one is like them, so
    /// that launches with fewer have none.
    recurrence: Option<Recurrence>,
    /// The buffers that the launch takes, if transfers are counted.
    before: Option<Transferred>,
    /// The transfers of the launches of a rehearsal. Those after it find its results in memory.
    transfers: Vec<Option<Transfers>>,
    counted: Vec<Counted>,
    /// The plan's first launches, whose counts are dropped: those of a rehearsal.
    rehearsed: usize,
    /// True if the launch that is running is none of those.
    is_counted: bool,
    /// The L2 as the launch or copy before left it.
    l2: Option<L2>,
    /// The fewest CTAs that a repetition of the launch drew at random.
    drawn: Option<u64>,
}

impl<'a> OfGpu<'a> {
    pub(super) fn new(plan: &'a Plan, counting: &'a Counting<'a>) -> Self {
        Self {
            plan,
            counting,
            repetitions: Mean::default(),
            recurrence: None,
            before: None,
            transfers: Vec::new(),
            counted: Vec::new(),
            rehearsed: rehearsal::dropped(plan),
            is_counted: true,
            l2: None,
            drawn: None,
        }
    }

    /// Repetitions of the running launch that have ended.
    pub(super) fn repetitions(&self) -> u64 {
        self.repetitions.invocations()
    }

    pub(super) fn into_counted(self) -> Vec<Counted> {
        self.counted
    }

    /// True if the plan's launches have not been rehearsed yet, so that memory is what they take.
    fn has_first_memory(&self) -> bool {
        self.rehearsed == 0 || !self.is_counted
    }

    /// The first repetition of a launch begins.
    pub(super) fn launching(&mut self, index: usize, memory: &DeviceMemory) {
        self.is_counted = index >= self.rehearsed;
        let recurs = self.is_counted && self.plan.launches[index].repeat > 2;
        self.recurrence = recurs.then(Recurrence::default);
        let has_caches = self.counting.caches != CacheChoice::None;
        if has_caches && self.l2.is_none() {
            self.l2 = found(self.plan, &self.counting.device, memory);
        }
        if self.counting.extras.transfers && self.has_first_memory() {
            self.before = Some(Transferred::of(self.plan, index, memory));
        }
    }

    /// A counter for the repetition that begins. Sums may still become `times` as large.
    pub(super) fn begin<C: Counts>(&mut self, program: &Program, launch: &Launch, times: u64) -> C {
        let l2 = (self.plan.l2, self.l2.take());
        let traced = self.is_counted && self.repetitions.is_traced();
        counter(self.counting, program, launch, l2, traced, times)
    }

    /// A repetition has ended.
    pub(super) fn end<C: Counts>(
        &mut self,
        counter: C,
        program: &Program,
        memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        if !self.is_counted {
            self.l2 = counter.end(memory).1;
            return Ok(());
        }
        let (repetition, l2) = repetition(self.counting, counter, program, memory)?;
        self.l2 = l2;
        let drawn = [self.drawn, repetition.profile.drawn_ctas()];
        self.drawn = drawn.into_iter().flatten().min();
        if let Some(recurrence) = &mut self.recurrence {
            recurrence.end(&repetition);
        }
        self.repetitions.add(repetition);
        Ok(())
    }

    /// True if the next repetition counts as the last one did. To be asked once of each.
    pub(super) fn recurs(&mut self) -> bool {
        self.recurrence.as_mut().is_some_and(|recurrence| recurrence.is_before(self.l2.as_mut()))
    }

    /// The last repetition comes once more.
    pub(super) fn repeat(&mut self) {
        if let Some(repetition) = self.recurrence.as_ref().and_then(Recurrence::counted) {
            self.repetitions.add(repetition);
        }
    }

    /// All repetitions of a launch have ended, and were counted by so much execution.
    pub(super) fn launched(&mut self, executed: Executed<'_>, counted_by: &CountedBy) {
        let transfers = self.before.take().map(|taken| taken.until(self.plan, executed.memory));
        if !self.is_counted {
            self.transfers.push(transfers);
            return;
        }
        let drawn = self.drawn.take();
        let Some(Repeated { profile, ranges, evidence }) =
            mem::take(&mut self.repetitions).finish()
        else {
            return;
        };
        let mut buffers_sha256 = BTreeMap::new();
        let has_contents = counted_by.rung == Rung::Full;
        let arguments = match self.counting.extras.hashes && has_contents {
            true => self.plan.launches[executed.index].arguments.as_slice(),
            false => &[],
        };
        for index in buffer_arguments(arguments) {
            let name = &self.plan.buffers[index].name;
            let bytes = executed.memory.bytes(name).unwrap_or_default();
            buffers_sha256.insert(name.clone(), hexadecimal(&Sha256::digest(bytes)));
        }
        let machine_code = MachineFacts::of(self.plan, &profile.kernel);
        self.counted.push(Counted {
            profile,
            ranges,
            evidence,
            timing: executed.timing,
            ordered_because: executed.ordered_because,
            watched: executed.watched,
            machine_code,
            transfers: match executed.index.checked_sub(self.rehearsed) {
                Some(at) if self.rehearsed > 0 => self.transfers.get(at).copied().flatten(),
                _ => transfers,
            },
            buffers_sha256,
            counted_by: CountedBy { drawn, ..counted_by.clone() },
        });
    }
}

/// The L2 that the plan's first launch finds, if it is not empty.
fn found(plan: &Plan, device: &DeviceModel, memory: &DeviceMemory) -> Option<L2> {
    match plan.l2 {
        L2Contents::Warm => Some(warmed(plan, device, memory)),
        L2Contents::Overwritten => {
            let mut l2 = L2::new(device.l2_geometry());
            l2.overwrite();
            Some(l2)
        }
        L2Contents::Cold | L2Contents::Keep | L2Contents::Repeated => None,
    }
}

/// An L2 through which all buffers went, in their order: those without `init`, which a launch
/// before this one wrote or read, and then those that the host copied.
fn warmed(plan: &Plan, device: &DeviceModel, memory: &DeviceMemory) -> L2 {
    let mut l2 = L2::new(device.l2_geometry());
    let copied = |buffer: &&Buffer| buffer.init != Init::Unstated;
    let (copied, others): (Vec<_>, Vec<_>) = plan.buffers.iter().partition(copied);
    for buffer in others.into_iter().chain(copied) {
        if let Some(address) = memory.address(&buffer.name) {
            l2.copy_in(address, buffer.bytes());
        }
    }
    l2
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
