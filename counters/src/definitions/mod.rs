//! The metrics: one table, a file a topic.
//!
//! Computing a profile, reading profilers' files, writing files that look like theirs, and the page
//! `docs/metrics.md` all use it. Names are nvprof's; beside them stand Nsight Compute's names for
//! the same metric (NVIDIA, Nsight Compute CLI, "nvprof Transition Guide, Metric Comparison"). A
//! name of ours begins with `ptx_` if it counts PTX; otherwise it follows nvprof's manner.
//! Percentages are in percent, as nvprof prints them.
//!
//! Metrics of instructions count machine instructions if a back end of [`crate::machine`] has been
//! asked. Without one they count PTX instructions in their place, which is an estimate.

mod arithmetic;
mod caches;
mod control;
mod global_memory;
mod hardware;
mod instructions;
mod launch;
mod on_chip_memory;
mod page;
mod row;
mod simulated;
mod spaces;
mod textures;

use crate::metric::{Kind, Level, MetricValue, Metrics, Number};
use crate::totals::{Extent, Replay, Totals};

pub use page::page;

/// The unit of metrics whose value is a word, and no number.
pub const WORD: &str = "word";

/// A sum of Nsight Compute metrics, each with the factor that it counts with.
pub type Formula = &'static [(&'static str, f64)];

/// The basis of a figure, which decides how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The launch alone: its grid and its blocks.
    Launch,
    /// Execution alone: PTX instructions and their accesses.
    Execution,
    /// Arithmetic of the program, whichever instructions do it, and its accesses to local and
    /// shared memory: those of the PTX, exactly, unless machine code says that the assembler
    /// rearranged them or keeps their data in registers.
    Arithmetic,
    /// Instructions: the machine's if they are known, otherwise PTX in their place.
    Instructions,
    /// PTX branches in the place of the machine's, some of which are predicated away.
    Branches,
    /// The coalescing and bank models.
    AccessModel,
    /// The bank model, over the machine's accesses to shared memory if they are known, otherwise
    /// over those of the PTX.
    Banks,
    /// The replay of every request through the caches.
    CacheReplay,
    /// The limits of an SM: threads, warps, CTAs, shared memory, registers.
    Residency,
    /// The registers of a thread.
    Registers,
    /// CTAs that all take the same time, dealt out evenly.
    EvenRounds,
    /// The simulation of an SM of the GPU; computed for programs that are profiled, and read from
    /// profilers' files.
    Simulation,
    /// Time or events that only hardware has; read from profilers' files, never computed.
    Hardware,
}

impl Basis {
    /// The kind of the figures of a launch.
    #[must_use]
    pub fn kind(self, totals: &Totals<'_>) -> Kind {
        let machine = totals.machine.map(|machine| machine.kind);
        if totals.extent != Extent::Grid && self.is_counted() {
            return Kind::Estimated;
        }
        match self {
            Self::Launch => Kind::Exact,
            Self::Execution => Kind::Exact,
            Self::Arithmetic => machine.unwrap_or(Kind::Exact),
            Self::Instructions => machine.unwrap_or(Kind::Estimated),
            Self::AccessModel => Kind::Modelled,
            Self::Banks => machine.map_or(Kind::Modelled, |kind| kind.max(Kind::Modelled)),
            Self::Residency => match totals.launch.residency_is_known() {
                true => Kind::Modelled,
                false => Kind::Estimated,
            },
            Self::Registers => match totals.launch.residency_is_known() {
                true => Kind::Exact,
                false => Kind::Estimated,
            },
            Self::CacheReplay => match totals.replay {
                Replay::Part | Replay::Sampled { .. } => Kind::Estimated,
                Replay::Whole | Replay::None => Kind::Modelled,
            },
            Self::Branches | Self::EvenRounds => Kind::Estimated,
            Self::Simulation => Kind::Modelled,
            Self::Hardware => Kind::Measured,
        }
    }

    /// True if its figures are made of what CTAs do, and not of the launch and the GPU alone.
    #[must_use]
    pub fn is_counted(self) -> bool {
        match self {
            Self::Execution
            | Self::Arithmetic
            | Self::Instructions
            | Self::Branches
            | Self::AccessModel
            | Self::Banks
            | Self::CacheReplay => true,
            Self::Launch
            | Self::Residency
            | Self::Registers
            | Self::EvenRounds
            | Self::Simulation
            | Self::Hardware => false,
        }
    }

    /// The level of the instructions that the figures of a launch count.
    #[must_use]
    pub fn level(self, machine_is_known: bool) -> Level {
        match self {
            Self::Arithmetic | Self::Instructions | Self::Banks if machine_is_known => {
                Level::Machine
            }
            Self::Registers | Self::Simulation | Self::Hardware => Level::Machine,
            _ => Level::Ptx,
        }
    }
}

/// The kind of entry that nvprof has under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nvprof {
    /// A metric, with the words that stand beside it in nvprof's tables.
    Metric(&'static str),
    /// An event.
    Event,
    /// Nothing: the name is ours.
    Unknown,
}

/// The function that computes a metric. It returns `None` if the metric is not defined, such as a
/// ratio of nothing.
pub type Compute = fn(&Totals<'_>) -> Option<Number>;

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// nvprof's name, or ours.
    pub name: &'static str,
    /// The kind of entry that nvprof has under the name.
    pub nvprof: Nvprof,
    /// Nsight Compute's metrics that mean the same, each of these formulas on its own.
    pub nsight: &'static [Formula],
    /// Nsight Compute's metrics that take its place in files that lack those of
    /// [`Definition::nsight`], although they count something else here or there.
    pub nsight_stands_in: &'static [Formula],
    /// The unit, singular.
    pub unit: &'static str,
    /// The basis of its figures.
    pub basis: Basis,
    /// The vendor's meaning, and the way it is computed here if that differs.
    pub meaning: &'static str,
    /// The value; `None` if counts alone do not give it.
    pub compute: Option<Compute>,
}

impl Definition {
    /// The same metric, which files of Nsight Compute may give by these formulas, too.
    const fn read_as(mut self, formulas: &'static [Formula]) -> Self {
        self.nsight_stands_in = formulas;
        self
    }

    /// Nsight Compute's names for this metric alone, each with the factor that it counts with here.
    pub fn nsight_names(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.nsight.iter().filter_map(|formula| match formula {
            [term] => Some(*term),
            _ => None,
        })
    }

    /// The formulas over Nsight Compute's metrics in the order in which a reader tries them.
    pub fn read_from(&self) -> impl Iterator<Item = Formula> {
        self.nsight.iter().chain(self.nsight_stands_in).copied()
    }
}

/// Metrics that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// A title.
    pub title: &'static str,
    /// An introduction that holds for all of the metrics.
    pub introduction: &'static str,
    /// The metrics.
    pub definitions: &'static [Definition],
}

/// Every metric, by topic.
pub const TOPICS: &[Topic] = &[
    instructions::TOPIC,
    spaces::TOPIC,
    arithmetic::TOPIC,
    control::TOPIC,
    global_memory::TOPIC,
    on_chip_memory::TOPIC,
    textures::TOPIC,
    caches::TOPIC,
    launch::TOPIC,
    simulated::TOPIC,
    hardware::TOPIC,
];

/// Every metric.
pub fn definitions() -> impl Iterator<Item = &'static Definition> {
    TOPICS.iter().flat_map(|topic| topic.definitions)
}

/// The metric that goes by nvprof's name, or by ours.
#[must_use]
pub fn definition(name: &str) -> Option<&'static Definition> {
    definitions().find(|definition| definition.name == name)
}

/// The name of a metric, or an array of the names of some.
///
/// ```
/// # use gpucast_counters::metric;
/// assert_eq!(metric!["inst_executed", "gld_efficiency"], ["inst_executed", "gld_efficiency"]);
/// ```
///
/// A name that has no row does not compile:
///
/// ```compile_fail
/// # use gpucast_counters::metric;
/// let name = metric!("inst_exectued");
/// ```
#[macro_export]
macro_rules! metric {
    ($name:literal) => {
        const { $crate::definitions::known($name) }
    };
    ($($name:literal),+ $(,)?) => {
        [$($crate::metric!($name)),+]
    };
}

/// The name itself, for [`metric!`](crate::metric!).
///
/// # Panics
///
/// If no metric has the name. In a constant, as the macro makes one, that is an error of the
/// compiler.
#[doc(hidden)]
#[must_use]
#[expect(clippy::panic, reason = "the macro asks in constants alone")]
pub const fn known(name: &'static str) -> &'static str {
    let mut topic = 0;
    while topic < TOPICS.len() {
        let definitions = TOPICS[topic].definitions;
        let mut row = 0;
        while row < definitions.len() {
            if is_same(definitions[row].name.as_bytes(), name.as_bytes()) {
                return name;
            }
            row += 1;
        }
        topic += 1;
    }
    panic!("no metric has this name")
}

/// Equality, for constants.
const fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The metric that means the same as Nsight Compute's `name`, and the factor that the latter counts
/// with.
#[must_use]
pub fn nsight_definition(name: &str) -> Option<(&'static Definition, f64)> {
    definitions().find_map(|definition| {
        let (_, worth) = definition.nsight_names().find(|&(own, _)| own == name)?;
        Some((definition, worth))
    })
}

/// Returns true if any metric is read from this metric of Nsight Compute's.
#[must_use]
pub fn is_nsight_name(name: &str) -> bool {
    let mut terms = definitions().flat_map(Definition::read_from).flatten();
    terms.any(|&(known, _)| known == name)
}

/// Every metric that `totals` define.
#[must_use]
pub fn metrics(totals: &Totals<'_>) -> Metrics {
    definitions().filter_map(|definition| figure(definition, totals)).collect()
}

/// Those metrics of `totals` that would count machine instructions if they were known.
#[must_use]
pub fn instruction_metrics(totals: &Totals<'_>) -> Metrics {
    definitions()
        .filter(|definition| definition.basis.level(true) != definition.basis.level(false))
        .filter_map(|definition| figure(definition, totals))
        .collect()
}

fn figure(definition: &Definition, totals: &Totals<'_>) -> Option<(String, MetricValue)> {
    if definition.basis == Basis::CacheReplay && totals.replay == Replay::None {
        return None;
    }
    let value = (definition.compute?)(totals)?;
    let kind = definition.basis.kind(totals);
    Some((definition.name.to_owned(), MetricValue { value, unit: definition.unit, kind }))
}

#[cfg(test)]
mod tests;
