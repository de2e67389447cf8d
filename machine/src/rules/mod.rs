//! The back end `rules`: machine instructions from passes and tables of our own.
//!
//! ```text
//! PTX ─► graph ─► passes ─► guarded branches ─► selection ─► emission ─┬─► rows
//!        def-use  copies, constants,           tables by    places     │   × executions
//!                 narrowing, sharing,          family                  └─► schedule
//!                 addresses, merging,                                      order, stalls,
//!                 contraction, logic                                       barriers
//! ```
//!
//! No registers are assigned; their number is estimated from live values. The rows are the number
//! and kind of the machine instructions that a compiler makes of each PTX instruction, times that
//! one's executions. The schedule is the same instructions as code that a simulation can run. The
//! rules follow the general habits of compilers and the abilities of each generation's machine
//! code; each rule names its source.
//! `docs/evidence/machine-rules.md` measures the distance from `ptxas`.

mod branches;
mod code_place;
mod emit;
mod family;
mod flow;
mod graph;
mod guards;
mod packing;
mod passes;
mod pipes;
mod registers;
mod rows;
mod schedule;
mod select;
#[cfg(test)]
mod tests;
mod uniform;

use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::machine::{BackEnd, KnownAccesses, MachineProfile, SharedWidth};
use gpucast_counters::metric::Kind;
use gpucast_counters::table::BaseTable;
use gpucast_counters::trace::LaunchTrace;
use gpucast_interpreter::Program;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::launch::Launch;

use emit::Emission;
use family::{Family, Generation};
use flow::Dominators;
use graph::{Graph, Op};
use passes::MergedAccess;

pub use registers::RegisterDemand;

/// PTX for this target and later ones is written for lanes that go on independently of each other.
const INDEPENDENT_LANES: u32 = 70;

/// The code of a launch by rules: its program behind all passes, and its machine instructions.
pub struct Compiled<'p> {
    target: Architecture,
    program: &'p Program,
    table: &'p BaseTable,
    graph: Graph<'p>,
    merged: Vec<MergedAccess>,
    emission: Emission,
}

impl<'p> Compiled<'p> {
    /// Translates `program` for `target`. Its executions, which are in `table`, decide which blocks
    /// are worth what.
    #[must_use]
    pub fn new(target: Architecture, program: &'p Program, table: &'p BaseTable) -> Self {
        let family = Family::of(target).family();
        let mut graph = Graph::new(program, table);
        let merged = passes::run(&mut graph, family, may_unroll(program));
        let dominators = Dominators::new(&graph);
        guards::guard_short_branches(&mut graph, family, &dominators);
        let dominators = Dominators::new(&graph);
        let lanes_are_independent = program.target_sm() >= INDEPENDENT_LANES;
        let emission = Emission::new(&graph, family, &dominators, &merged, lanes_are_independent);
        Self { target, program, table, graph, merged, emission }
    }

    /// The machine instructions of the launch.
    ///
    /// It has no registers per thread: nothing assigns them, and [`RegisterDemand`] estimates them.
    #[must_use]
    pub fn profile(&self) -> MachineProfile {
        let generation = Family::of(self.target);
        let family = generation.family();
        let rows = rows::rows(&self.graph, &self.emission, self.table);
        let mut notes = vec![format!(
            "machine instructions follow from rules for {}, not from an assembler",
            family.name
        )];
        if matches!(generation, Generation::Unknown { .. }) {
            notes.push(format!(
                "no rules are known for {}; those for {} stand in for them",
                self.target, family.name
            ));
        }
        if family.since < 50 {
            notes.push(
                "the rules for Fermi and Kepler come from documentation; no assembler was compared"
                    .to_owned(),
            );
        }
        MachineProfile {
            back_end: BackEnd::Rules,
            kind: Kind::Estimated,
            target: self.target.to_string(),
            registers_per_thread: None,
            rows,
            notes,
        }
    }

    /// The most words of 32 bits that live values of the code take at the same time.
    #[must_use]
    pub fn live_words(&self) -> u32 {
        schedule::live_words(self)
    }

    /// The launch, ready to be simulated, with the recorded CTAs of `trace`.
    ///
    /// Its code has the instructions that [`profile`](Self::profile) counts. Executions of a
    /// guarded access in which no lane takes part have a request of no lanes where the walk knows
    /// which these are. For a class without recorded CTAs, those of the class with the closest
    /// number of instructions stand in. The launch has no classes if nothing was recorded.
    #[must_use]
    pub fn schedule(&self, trace: &LaunchTrace) -> Launch {
        schedule::schedule(self, trace)
    }
}

/// The machine instructions of a launch of `program` on `target`, whose counts are in `table`.
#[must_use]
pub fn translate(target: Architecture, program: &Program, table: &BaseTable) -> MachineProfile {
    Compiled::new(target, program, table).profile()
}

/// A launch of `program` on `target`, ready to be simulated, with the counts of `table` and the
/// recorded CTAs of `trace`; see [`Compiled::schedule`].
#[must_use]
pub fn schedule(
    target: Architecture,
    program: &Program,
    table: &BaseTable,
    trace: &LaunchTrace,
) -> Launch {
    Compiled::new(target, program, table).schedule(trace)
}

/// Returns true if a program leaves it to the assembler to unroll loops.
fn may_unroll(program: &Program) -> bool {
    !program.pragmas().iter().any(|pragma| pragma.contains("nounroll"))
}

/// The accesses of the code that the rules make of `program` on `target`, as far as they are known
/// before a launch.
#[must_use]
pub fn known_accesses(target: Architecture, program: &Program) -> KnownAccesses {
    // These passes look at the code alone.
    let mut graph = Graph::new(program, &BaseTable::default());
    let merged =
        passes::find_accesses(&mut graph, Family::of(target).family(), may_unroll(program));
    let width =
        |access: MergedAccess| SharedWidth { instruction: access.leader, bytes: access.bytes };
    KnownAccesses {
        local_in_registers: local_in_registers(&graph),
        shared_widths: merged.into_iter().map(width).collect(),
    }
}

/// The instructions that access local memory and whose data are in registers, as indices into
/// [`Program::instructions`].
fn local_in_registers(graph: &Graph<'_>) -> Vec<u32> {
    let is_in_registers = |op: &Op<'_>| {
        let is_local = op.memory.is_some_and(|memory| memory.space == Some(StateSpace::Local));
        is_local && (!op.is_live() || op.choice.is_some())
    };
    let ops = (0..).zip(&graph.ops);
    ops.filter(|(_, op)| is_in_registers(op)).map(|(index, _)| index).collect()
}
