//! The steps of one warp: each instruction that it executes, with the registers that it writes and
//! the addresses that its lanes access.
//!
//! The launch is executed in the order of its CTAs until the warp's CTA has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gpucast_counters::LaneAccess;
use gpucast_interpreter::program::StaticInstruction;
use gpucast_interpreter::{
    Access, CtaStart, DeviceMemory, Launch, Observer, Options, Program, Recorder, RegisterName,
    RegisterValues, Schedule, Step,
};
use gpucast_ptx_frontend::dataflow::Uses;
use gpucast_ptx_frontend::module::Location;
use gpucast_ptx_frontend::{Module, ScalarType};

use super::execute::{self, Executed, Loaded, Watch};
use super::supervisor::Supervisor;
use super::warp_way::{self, MOST_LANE_BYTES, Object, WarpChoice};
use crate::failure::{Failure, Report};
use crate::input::plan::Plan;

/// The most steps of a record.
pub const MOST_STEPS: u64 = 100_000;

/// An instruction that the warp executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpStep {
    /// Index into [`WarpSteps::instructions`].
    pub instruction: u32,
    /// The lanes on the way.
    pub lanes: u32,
    /// Those of them that the guard let execute it.
    pub executing: u32,
    /// The registers that it wrote, by their index in [`WarpSteps::registers`].
    pub writes: Vec<(u32, RegisterValues)>,
    /// Its accesses; one for each space that its lanes went to.
    pub accesses: Vec<LaneAccess>,
}

/// An instruction of the kernel or of a function that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepInstruction {
    /// Line of the PTX.
    pub line: u32,
    /// Place in the source.
    pub location: Option<Location>,
    /// The instruction as written.
    pub text: String,
}

/// A register that the warp wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRegister {
    /// The name as written; an element of a vector register has its letter.
    pub name: String,
    /// The declared type.
    pub ty: ScalarType,
}

/// The record of a warp.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarpSteps {
    /// The steps that were asked for.
    pub steps: Vec<WarpStep>,
    /// The number of all steps.
    pub all_steps: u64,
    /// The kernel's instructions.
    pub instructions: Vec<StepInstruction>,
    /// The registers that are written in some step.
    pub registers: Vec<StepRegister>,
    /// Buffers and shared variables.
    pub objects: Vec<Object>,
    /// False if the CTA did not get to its end.
    pub has_ended: bool,
    /// Why it did not.
    pub faults: Vec<Report>,
}

/// Records the steps of a warp of a launch. [`WarpChoice::execution`] has no meaning here.
///
/// # Errors
///
/// A launch, CTA or warp that does not exist, and more than [`MOST_STEPS`] steps. A fault of the
/// kernel, unless the warp has steps before it. [`Failure::Stopped`] if the supervisor says so.
pub fn record(
    plan: &Plan,
    loaded: &Loaded,
    choice: &WarpChoice,
    options: &Options,
    supervisor: &dyn Supervisor,
) -> Result<WarpSteps, Failure> {
    warp_way::check(plan, choice)?;
    if choice.steps.end.saturating_sub(choice.steps.start) > MOST_STEPS {
        return Err(Report::new(format!("a record has at most {MOST_STEPS} steps")).into());
    }
    let record = Arc::new(Record::default());
    let objects = Vec::new();
    let mut watch = Follow { loaded, choice, at: 0, repetition: 0, objects, record: &record };
    let until = UntilEnded { supervisor, record: &record };
    // Whatever the CTA reads of others: those before it have run.
    let options = &Options { schedule: Schedule::Ordered, ..*options };
    let mut memory = execute::memory(plan, loaded)?;
    let outcome = execute::execute(plan, loaded, &mut memory, options, &until, &mut watch);
    match (record.taken(), outcome) {
        (Some(steps), Err(Failure::Input(faults))) => Ok(WarpSteps { faults, ..steps }),
        (Some(steps), Ok(()) | Err(Failure::Stopped)) if steps.has_ended => Ok(steps),
        (_, Err(failure)) => Err(failure),
        (_, Ok(())) => Err(Report::new("the warp's CTA did not run").into()),
    }
}

/// What is known of the warp, for everybody who hears of it.
#[derive(Debug, Default)]
struct Record(Mutex<Option<WarpSteps>>);

impl Record {
    fn change<T>(&self, change: impl FnOnce(&mut Option<WarpSteps>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn has_ended(&self) -> bool {
        self.change(|steps| steps.as_ref().is_some_and(|steps| steps.has_ended))
    }

    /// The record, if the warp has begun.
    fn taken(&self) -> Option<WarpSteps> {
        self.change(Option::take).filter(|steps| steps.all_steps > 0 || steps.has_ended)
    }
}

/// Ends the run once the CTA has ended.
struct UntilEnded<'a> {
    supervisor: &'a dyn Supervisor,
    record: &'a Record,
}

impl Supervisor for UntilEnded<'_> {
    fn should_stop(&self) -> bool {
        self.record.has_ended() || self.supervisor.should_stop()
    }
}

struct Follow<'a> {
    loaded: &'a Loaded,
    choice: &'a WarpChoice,
    /// The launch that is running, and its repetition.
    at: usize,
    repetition: u32,
    /// The buffers of the launch.
    objects: Vec<Object>,
    record: &'a Arc<Record>,
}

impl Watch for Follow<'_> {
    type Observer = Listener;

    fn launching(&mut self, index: usize, memory: &DeviceMemory) {
        (self.at, self.repetition) = (index, 0);
        self.objects = warp_way::buffers(memory).collect();
    }

    fn notes_hazards(&self) -> bool {
        false
    }

    fn begin(&mut self, program: &Program, _launch: &Launch) -> Listener {
        if self.at != self.choice.launch || self.repetition > 0 {
            return Listener { following: None };
        }
        let mut objects = std::mem::take(&mut self.objects);
        objects.extend(warp_way::shared_variables(program));
        let instructions = program.instructions();
        let steps = WarpSteps {
            instructions: instructions.iter().map(|one| self.instruction(one)).collect(),
            objects,
            ..WarpSteps::default()
        };
        self.record.change(|record| *record = Some(steps));
        let results = instructions.iter().map(|one| results(&self.loaded.module, one));
        let following = Following {
            choice: self.choice.clone(),
            results: results.collect(),
            record: Arc::clone(self.record),
        };
        Listener { following: Some(Arc::new(following)) }
    }

    fn end(
        &mut self,
        _observer: Listener,
        _program: &Program,
        _memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        self.repetition += 1;
        Ok(())
    }

    fn launched(&mut self, _executed: Executed<'_>) {}
}

impl Follow<'_> {
    fn instruction(&self, one: &StaticInstruction) -> StepInstruction {
        let StaticInstruction { instruction, line, .. } = one;
        let text = self.loaded.source.text.get(instruction.span.range()).unwrap_or_default();
        let words: Vec<&str> = text.trim_end_matches(';').split_whitespace().collect();
        StepInstruction { line: *line, location: instruction.location, text: words.join(" ") }
    }
}

/// A register that an instruction writes.
#[derive(Clone, Debug)]
struct Written {
    name: RegisterName,
    register: StepRegister,
}

/// The registers that an instruction writes, vector registers element by element.
fn results(module: &Module, one: &StaticInstruction) -> Vec<Written> {
    let uses = Uses::of(&one.instruction);
    let function = &module.functions[one.function.index()];
    let mut all = Vec::new();
    for register in uses.written.into_iter().chain(uses.partly_written) {
        let declared = &function.registers[register.index()];
        for element in 0..declared.vector.max(1) {
            let letter = ["", ".x", ".y", ".z", ".w"];
            let letter = if declared.vector > 1 { letter[usize::from(element) + 1] } else { "" };
            all.push(Written {
                name: RegisterName { function: one.function, register, element },
                register: StepRegister {
                    name: format!("{}{letter}", declared.name),
                    ty: declared.ty,
                },
            });
        }
    }
    all
}

/// What every recorder knows of the warp that is meant.
struct Following {
    choice: WarpChoice,
    /// The registers that each instruction writes.
    results: Vec<Vec<Written>>,
    record: Arc<Record>,
}

/// Listens to the warp that is meant; to none in other launches.
struct Listener {
    following: Option<Arc<Following>>,
}

impl Observer for Listener {
    type Recorder = StepRecorder;

    const WANTS_STEPS: bool = true;

    fn recorder(&self, _program: &Program) -> StepRecorder {
        StepRecorder { following: self.following.clone(), ..StepRecorder::default() }
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut StepRecorder]) {
        recorders.iter_mut().for_each(|recorder| recorder.is_chosen = false);
    }

    fn collect_failed(&mut self, _first_cta: u64, recorders: &mut [&mut StepRecorder]) {
        recorders.iter_mut().for_each(|recorder| recorder.hand_over(false));
    }

    fn fresh(&self) -> Self {
        Self { following: self.following.clone() }
    }
}

/// Records one CTA, if it is the one that is meant.
#[derive(Default)]
struct StepRecorder {
    following: Option<Arc<Following>>,
    is_chosen: bool,
    steps: Vec<WarpStep>,
    all_steps: u64,
    /// The registers so far, and the place of each in them.
    registers: Vec<StepRegister>,
    places: HashMap<RegisterName, u32>,
    /// The last instruction, whose results are in no step yet.
    open: Option<u32>,
}

impl StepRecorder {
    /// The choice, if this event is about the warp that is meant.
    fn following(&self, warp: u32) -> Option<Arc<Following>> {
        let following = self.following.as_ref().filter(|_| self.is_chosen)?;
        (following.choice.warp == warp).then(|| Arc::clone(following))
    }

    /// Adds what the last step has written, as the next one finds it.
    fn close(&mut self, following: &Following, step: &Step<'_>) {
        let Some(instruction) = self.open.take() else { return };
        let Some(last) = self.steps.last_mut() else { return };
        for Written { name, register } in &following.results[instruction as usize] {
            let Some(values) = (step.registers)(*name) else { continue };
            let registers = &mut self.registers;
            let place = *self.places.entry(*name).or_insert_with(|| {
                registers.push(register.clone());
                registers.len() as u32 - 1
            });
            last.writes.push((place, values));
        }
    }

    /// Leaves the steps to the record.
    fn hand_over(&mut self, has_ended: bool) {
        let Some(following) = self.following.clone().filter(|_| self.is_chosen) else { return };
        self.is_chosen = false;
        let (steps, registers) =
            (std::mem::take(&mut self.steps), std::mem::take(&mut self.registers));
        let all_steps = self.all_steps;
        following.record.change(|record| {
            if let Some(record) = record {
                (record.steps, record.registers) = (steps, registers);
                (record.all_steps, record.has_ended) = (all_steps, has_ended);
            }
        });
    }
}

impl Recorder for StepRecorder {
    fn start(&mut self, start: &CtaStart) {
        let is_chosen = |following: &Arc<Following>| following.choice.cta == start.ctaid;
        *self = Self {
            is_chosen: self.following.as_ref().is_some_and(is_chosen),
            following: self.following.take(),
            ..Self::default()
        };
    }

    fn step(&mut self, step: &Step<'_>) {
        let Some(following) = self.following(step.warp) else { return };
        self.close(&following, step);
        let is_kept = following.choice.steps.contains(&self.all_steps);
        self.all_steps += 1;
        if is_kept {
            let Step { instruction, lanes, executing, .. } = *step;
            let (writes, accesses) = (Vec::new(), Vec::new());
            self.steps.push(WarpStep { instruction, lanes, executing, writes, accesses });
            self.open = Some(instruction);
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        if access.continues || access.bytes_per_lane > MOST_LANE_BYTES {
            return;
        }
        let is_open = self.open == Some(access.instruction);
        if is_open && self.following(access.warp).is_some() {
            let last = self.steps.last_mut();
            last.into_iter().for_each(|step| step.accesses.push(LaneAccess::new(access, 0)));
        }
    }

    fn guarded_lanes(&mut self, _lanes: &[u64]) {
        self.hand_over(true);
    }

    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}
}
