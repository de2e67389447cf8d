//! The way of one warp through a launch: the blocks that it enters, and its accesses lane by lane.
//!
//! Where a slice of the launch tells, the warp's cluster is executed by itself. Otherwise
//! everything is, since another CTA may have written what this one reads.

use std::collections::HashMap;
use std::ops::Range;

use gpucast_counters::LaneAccess;
use gpucast_interpreter::program::{Block, PlacedVariable, StaticInstruction};
use gpucast_interpreter::{
    Access, CtaStart, DeviceMemory, Host, Launch, Observer, Options, Program, Recorder, RunError,
    Summary, run_cluster,
};
use gpucast_ptx_frontend::module::Location;
use gpucast_ptx_frontend::types::StateSpace;

use super::execute::{self, Executed, Loaded, Watch};
use super::sliced::{self, NotSliced, SharedMemory};
use super::supervisor::Supervisor;
use crate::failure::{Failure, Report};
use crate::input::plan::{Plan, PlannedLaunch};

/// A lane that moves more makes a bulk copy, which has no lanes beside it.
pub(super) const MOST_LANE_BYTES: u32 = 128;

/// The warp that is meant, and the part of its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpChoice {
    /// The launch's place in the plan.
    pub launch: usize,
    /// The CTA's place in the grid.
    pub cta: [u32; 3],
    /// The warp's index in its CTA.
    pub warp: u32,
    /// Of each instruction, the execution whose access is kept; the first one is 0.
    pub execution: u64,
    /// The steps that are kept.
    pub steps: Range<u64>,
}

/// A block that the warp entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index into [`Way::blocks`].
    pub block: u32,
    /// The lanes on the way.
    pub lanes: u32,
}

/// Consecutive instructions of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayBlock {
    /// Number of instructions.
    pub instructions: u32,
    /// Line of the PTX.
    pub line: u32,
    /// Place in the source of the first instruction that has one.
    pub location: Option<Location>,
}

/// A named range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Global or shared memory.
    pub space: StateSpace,
    /// The name of the buffer, or of the variable as written.
    pub name: String,
    /// Address of its first byte.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// An instruction that accesses memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSite {
    /// Line of the PTX.
    pub line: u32,
    /// Place in the source.
    pub location: Option<Location>,
    /// The instruction as written.
    pub text: String,
}

/// The way of a warp.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The steps that were asked for.
    pub steps: Vec<Step>,
    /// The number of all steps.
    pub all_steps: u64,
    /// Thread slots of all steps, and those with a lane on the way: instructions times lanes.
    pub slots: LaneSlots,
    /// Accesses, in the order of their instructions.
    pub accesses: Vec<LaneAccess>,
    /// The instruction of each access.
    pub sites: Vec<AccessSite>,
    /// The kernel's blocks.
    pub blocks: Vec<WayBlock>,
    /// Buffers and shared variables.
    pub objects: Vec<Object>,
    /// False if the warp's CTA did not get to its end.
    pub has_ended: bool,
}

impl Way {
    /// The accesses to a space by instructions of a line of the source, or by all. Where the source
    /// is not known, lines are those of the PTX.
    ///
    /// # Errors
    ///
    /// If there is none, with the lines that have one.
    pub fn accesses_to(&self, space: StateSpace, line: Option<u32>) -> Result<Vec<usize>, Report> {
        let line_of = |site: &AccessSite| site.location.map_or(site.line, |place| place.line);
        let lines = || self.sites.iter().map(line_of);
        let of_space: Vec<(usize, u32)> = (self.accesses.iter().zip(lines()).enumerate())
            .filter(|(_, (access, _))| access.space == space)
            .map(|(at, (_, line))| (at, line))
            .collect();
        let is_meant = |of: u32| line.is_none_or(|line| line == of);
        let chosen: Vec<usize> =
            of_space.iter().filter(|&&(_, of)| is_meant(of)).map(|&(at, _)| at).collect();
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let space = if space == StateSpace::Shared { "shared" } else { "global" };
        let place = line.map_or_else(String::new, |line| format!(" in line {line}"));
        let message = format!("the warp has no such access to {space} memory{place}");
        let mut others: Vec<u32> = of_space.into_iter().map(|(_, line)| line).collect();
        others.sort_unstable();
        others.dedup();
        let others: Vec<String> = others.iter().map(ToString::to_string).collect();
        let hint = match others.as_slice() {
            [] => "--cta, --warp and --execution choose others".to_owned(),
            lines => format!("lines with one: {}", lines.join(", ")),
        };
        Err(Report::new(message).hint(hint))
    }
}

/// Instructions times lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneSlots {
    /// With a lane on the way.
    pub used: u64,
    /// All 32 of each instruction.
    pub all: u64,
}

/// Follows a warp of a launch.
///
/// # Errors
///
/// A launch, CTA or warp that does not exist; a fault of the kernel.
pub fn follow(
    plan: &Plan,
    loaded: &Loaded,
    choice: &WarpChoice,
    options: &Options,
    supervisor: &dyn Supervisor,
) -> Result<Way, Failure> {
    check(plan, choice)?;
    let programs = execute::programs(plan, loaded)?;
    let mut watch =
        Follow { plan, loaded, choice, is_sliced: true, at: 0, repetition: 0, way: None };
    match sliced::slice(plan, loaded, &programs, options, None, SharedMemory::Together) {
        Ok(sliced) => {
            let mut memory = sliced.memory;
            let programs = sliced.programs;
            execute::launch(plan, loaded, programs, &mut memory, options, supervisor, &mut watch)?;
        }
        Err(NotSliced::Because(_)) => {
            watch.is_sliced = false;
            let mut memory = execute::memory(plan, loaded)?;
            execute::launch(plan, loaded, programs, &mut memory, options, supervisor, &mut watch)?;
        }
        Err(NotSliced::Failed(report)) => return Err(report.into()),
    }
    Ok(watch.way.unwrap_or_default())
}

/// Refuses a warp that no CTA of the launch has.
pub(super) fn check(plan: &Plan, choice: &WarpChoice) -> Result<(), Report> {
    let number = choice.launch + 1;
    let Some(planned) = plan.launches.get(choice.launch) else {
        return Err(Report::new(format!("there is no launch {number}")));
    };
    let [x, y, z] = planned.grid;
    if choice.cta.iter().zip(planned.grid).any(|(&place, extent)| place >= extent) {
        let [cx, cy, cz] = choice.cta;
        let message = format!("block {cx},{cy},{cz} lies outside the grid of {x} x {y} x {z}");
        return Err(Report::new(message).hint("blocks are counted from 0,0,0"));
    }
    let threads: u64 = planned.block.iter().map(|&extent| u64::from(extent)).product();
    let warps = threads.div_ceil(32);
    if u64::from(choice.warp) >= warps {
        let message = format!("a block has {warps} warps, and there is no warp {}", choice.warp);
        return Err(Report::new(message).hint("warps are counted from 0"));
    }
    Ok(())
}

/// The place of a CTA's cluster in the order of clusters; without clusters each CTA is one.
fn cluster_of(planned: &PlannedLaunch, program: &Program, cta: [u32; 3]) -> u64 {
    let extents = program.cluster_extents(planned.cluster);
    let [x, y, z] = [0, 1, 2].map(|axis| u64::from(cta[axis] / extents[axis].max(1)));
    let [width, height] = [0, 1].map(|axis| u64::from(planned.grid[axis] / extents[axis].max(1)));
    x + width * (y + height * z)
}

struct Follow<'a> {
    plan: &'a Plan,
    loaded: &'a Loaded,
    choice: &'a WarpChoice,
    is_sliced: bool,
    /// The launch that is running, and its repetition.
    at: usize,
    repetition: u32,
    way: Option<Way>,
}

impl Follow<'_> {
    /// Returns true while the launch that is meant runs for the first time.
    fn is_here(&self) -> bool {
        self.at == self.choice.launch && self.repetition == 0
    }
}

impl Watch for Follow<'_> {
    type Observer = Listener;

    fn launching(&mut self, index: usize, _memory: &DeviceMemory) {
        (self.at, self.repetition) = (index, 0);
    }

    fn is_sliced(&self) -> bool {
        self.is_sliced
    }

    fn notes_hazards(&self) -> bool {
        false
    }

    fn begin(&mut self, _program: &Program, _launch: &Launch) -> Listener {
        let choice = self.is_here().then(|| self.choice.clone());
        Listener { choice, heard: None }
    }

    fn without_executing(
        &mut self,
        observer: &mut Listener,
        program: &Program,
        launch: &Launch,
        memory: &mut DeviceMemory,
        options: &Options,
        _host: &dyn Host,
    ) -> Result<Option<Result<Summary, RunError>>, Failure> {
        if self.way.is_some() {
            return Ok(Some(Ok(Summary::default())));
        }
        if !self.is_sliced || !self.is_here() {
            return Ok(None);
        }
        let planned = &self.plan.launches[self.at];
        let cluster = cluster_of(planned, program, self.choice.cta);
        match run_cluster(program, launch, cluster, memory, observer, options) {
            Ok(Ok(true)) => Ok(Some(Ok(Summary::default()))),
            // The whole launch says what is wrong with the cluster.
            Ok(Ok(false) | Err(_)) => Ok(None),
            Err(error) => Ok(Some(Err(error))),
        }
    }

    fn end(
        &mut self,
        observer: Listener,
        program: &Program,
        memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        self.repetition += 1;
        if let Some(heard) = observer.heard {
            self.way = Some(heard.into_way(self.loaded, program, memory));
        }
        Ok(())
    }

    fn launched(&mut self, _executed: Executed<'_>) {}
}

/// Listens to the warp that is meant; to none in launches before it.
struct Listener {
    choice: Option<WarpChoice>,
    heard: Option<Heard>,
}

/// The events of a warp.
#[derive(Clone, Debug, Default)]
struct Heard {
    steps: Vec<Step>,
    all_steps: u64,
    slots: LaneSlots,
    accesses: Vec<LaneAccess>,
    has_ended: bool,
}

/// Records one CTA, if it is the one that is meant.
struct WarpRecorder {
    choice: Option<WarpChoice>,
    /// Instructions of each block.
    lengths: Vec<u32>,
    is_chosen: bool,
    heard: Heard,
    /// Of each instruction: executions so far, and the clock of the last one.
    executions: HashMap<u32, (u64, u64)>,
}

impl Listener {
    fn take(&mut self, recorders: &mut [&mut WarpRecorder], has_ended: bool) {
        for recorder in recorders {
            if recorder.is_chosen {
                let heard = std::mem::take(&mut recorder.heard);
                self.heard = Some(Heard { has_ended, ..heard });
            }
            recorder.is_chosen = false;
        }
    }
}

impl Observer for Listener {
    type Recorder = WarpRecorder;

    fn recorder(&self, program: &Program) -> WarpRecorder {
        let lengths = program.blocks().iter().map(|block| block.instruction_count).collect();
        WarpRecorder {
            choice: self.choice.clone(),
            lengths,
            is_chosen: false,
            heard: Heard::default(),
            executions: HashMap::new(),
        }
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut WarpRecorder]) {
        self.take(recorders, true);
    }

    fn collect_failed(&mut self, _first_cta: u64, recorders: &mut [&mut WarpRecorder]) {
        self.take(recorders, false);
    }

    fn fresh(&self) -> Self {
        Self { choice: self.choice.clone(), heard: None }
    }
}

impl WarpRecorder {
    /// The choice, if this event is about the warp that is meant.
    fn chosen(&self, warp: u32) -> Option<&WarpChoice> {
        self.choice.as_ref().filter(|choice| self.is_chosen && choice.warp == warp)
    }
}

impl Recorder for WarpRecorder {
    fn start(&mut self, start: &CtaStart) {
        self.is_chosen = self.choice.as_ref().is_some_and(|choice| choice.cta == start.ctaid);
        self.heard = Heard::default();
        self.executions.clear();
    }

    fn block(&mut self, warp: u32, block: u32, mask: u32) {
        let all_steps = self.heard.all_steps;
        let Some(is_kept) = self.chosen(warp).map(|choice| choice.steps.contains(&all_steps))
        else {
            return;
        };
        let instructions = self.lengths.get(block as usize).copied().map_or(0, u64::from);
        let Heard { steps, all_steps, slots, .. } = &mut self.heard;
        *all_steps += 1;
        slots.used += instructions * u64::from(mask.count_ones());
        slots.all += instructions * 32;
        if is_kept {
            steps.push(Step { block, lanes: mask });
        }
    }

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        let Some(wanted) = self.chosen(access.warp).map(|choice| choice.execution) else { return };
        if access.continues || access.bytes_per_lane > MOST_LANE_BYTES {
            return;
        }
        // Lanes that go to several spaces in one execution are told of space by space.
        let (executions, last) = self.executions.entry(access.instruction).or_default();
        if *executions == 0 || *last != access.time {
            *executions += 1;
        }
        *last = access.time;
        let execution = *executions - 1;
        if execution == wanted {
            self.heard.accesses.push(LaneAccess::new(access, execution));
        }
    }
}

impl Heard {
    fn into_way(self, loaded: &Loaded, program: &Program, memory: &DeviceMemory) -> Way {
        let Self { steps, all_steps, slots, mut accesses, has_ended } = self;
        accesses.sort_by_key(|access| access.instruction);
        let instructions = program.instructions();
        let sites = accesses.iter().map(|access| {
            let StaticInstruction { instruction, line, .. } =
                &instructions[access.instruction as usize];
            let text = loaded.source.text.get(instruction.span.range()).unwrap_or_default();
            let text = text.trim_end_matches(';').trim_end().to_owned();
            AccessSite { line: *line, location: instruction.location, text }
        });
        Way {
            sites: sites.collect(),
            blocks: program.blocks().iter().map(|block| way_block(block, instructions)).collect(),
            objects: objects(program, memory),
            steps,
            all_steps,
            slots,
            accesses,
            has_ended,
        }
    }
}

fn way_block(block: &Block, instructions: &[StaticInstruction]) -> WayBlock {
    let first = block.first_instruction as usize;
    let own = instructions.get(first..first + block.instruction_count as usize).unwrap_or_default();
    WayBlock {
        instructions: block.instruction_count,
        line: own.first().map_or(0, |own| own.line),
        location: own.iter().find_map(|instruction| instruction.instruction.location),
    }
}

/// Buffers, and variables in shared memory.
fn objects(program: &Program, memory: &DeviceMemory) -> Vec<Object> {
    buffers(memory).chain(shared_variables(program)).collect()
}

pub(super) fn buffers(memory: &DeviceMemory) -> impl Iterator<Item = Object> + '_ {
    memory.buffers().map(|(name, address, bytes)| Object {
        space: StateSpace::Global,
        name: name.to_owned(),
        address,
        bytes,
    })
}

pub(super) fn shared_variables(program: &Program) -> impl Iterator<Item = Object> + '_ {
    let shared = program.variables().iter().filter(|variable| variable.space == StateSpace::Shared);
    shared.map(|one: &PlacedVariable| Object {
        space: StateSpace::Shared,
        name: one.name.clone(),
        address: one.offset,
        bytes: one.bytes,
    })
}
