//! The plan of a shared sweep: everything that workers and the merge need to know.

use std::path::Path;
use std::sync::Arc;

use gpucast_interpreter::{Options, Schedule};
use gpucast_model::timing::UnknownTiming;
use gpucast_model::{AskedTiming, Gpu, Timing};
use serde::{Deserialize, Serialize};

use super::item::{self, Settings};
use crate::choice::count_on::CountOn;
use crate::choice::gpu_argument;
use crate::choice::model_choice::{ModelWords, Models};
use crate::failure::{Failure, Report};
use crate::input::packed;
use crate::run::assembler::Toolchain;
use crate::run::kernel::Kernel;
use crate::run::sources::Counts;
use crate::settings::{CacheChoice, ExecutionSettings, MachineChoice, MachineSettings, RungChoice};
use crate::store::sealed;
use crate::store::{Put, Store};
use crate::sweep::axis::{Axis, Value};
use crate::sweep::cases::{self, CaseSource, Group};
use crate::sweep::{Answers, Axes, Case, Cell, Point, check_size, number_of_points, points};

/// The name of the document's schema.
pub const PLAN_SCHEMA: &str = "gpucast.sweep-plan/1";

/// The sweep that is to be shared.
pub struct Request<'a> {
    /// The parameters that vary.
    pub axes: &'a Axes,
    /// Kernels in sizes.
    pub cases: &'a [Case],
    /// The GPUs.
    pub gpus: &'a [Gpu],
    /// The fields of GPUs that vary.
    pub fields: &'a [Axis],
    /// The models.
    pub models: &'a ModelWords,
    /// The GPUs whose counters are modelled.
    pub count_on: &'a CountOn,
    /// The way of measuring.
    pub timing: AskedTiming,
    /// Settings by which launches are executed and counted.
    pub counts: &'a Counts,
    /// NVIDIA's assembler, where the caller has one.
    pub toolchain: Option<&'a dyn Toolchain>,
}

/// A plan as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepPlan {
    schema: String,
    /// Version of the program, and of its counts. Both are in the names of items, too.
    program: String,
    counting_version: u32,
    /// Columns of the cases' sizes and parameters.
    columns: Vec<String>,
    cases: Vec<PlannedCase>,
    /// Each as the TOML of a GPU file.
    gpus: Vec<String>,
    fields: Vec<Field>,
    models: ModelWords,
    count_on: PlannedCountOn,
    timing: Option<String>,
    machine: PlannedMachine,
    execution: PlannedExecution,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PlannedCase {
    name: String,
    labels: Vec<Label>,
    /// The hash of the packed kernel, or why there is none.
    kernel: Result<String, String>,
    /// The way of measuring that the kernel's launch file names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timing: Option<String>,
}

/// A cell; numbers are texts, so that they come back to the last bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Label {
    Empty,
    Text(String),
    Number(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Field {
    name: String,
    values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlannedCountOn {
    Fitting,
    Target,
    /// The TOML of a GPU file.
    One(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PlannedMachine {
    machine: MachineChoice,
    target: Option<String>,
    registers: Option<u32>,
    /// The versions of the assemblers that the planning machine has, in the order in which they
    /// are tried; none if no assembler is asked for. Where they are is each machine's own affair:
    /// a store is written by many, and no worker runs a program that a store names.
    assemblers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PlannedExecution {
    instruction_budget: u64,
    heap_bytes: u64,
    stack_bytes: u32,
    schedule: PlannedSchedule,
    /// Plans of sweeps with all caches do not name it.
    #[serde(default, skip_serializing_if = "is_default")]
    caches: CacheChoice,
    /// Plans of sweeps without samples name neither.
    #[serde(default, skip_serializing_if = "is_default")]
    counting: RungChoice,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ctas: Option<u64>,
}

fn is_default<T: Default + PartialEq>(choice: &T) -> bool {
    *choice == T::default()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlannedSchedule {
    Automatic,
    Ordered,
    Parallel,
}

/// The folder of plans in a store.
const PLANS: &str = "plans";
/// The folder of packed kernels, by their hashes.
const KERNELS: &str = "kernels";

/// The objects that belong to a plan.
pub(super) fn kernel_object(hash: &str) -> String {
    format!("{KERNELS}/{hash}")
}

impl SweepPlan {
    /// Plans a sweep and stores its kernels.
    ///
    /// # Errors
    ///
    /// What cannot be shared: counts of files, a time limit; and errors of the store.
    pub fn new(request: &Request<'_>, store: &dyn Store) -> Result<Self, Failure> {
        let usage = |message: &str, hint: &str| {
            Err(Failure::Usage(Report::new(message.to_owned()).hint(hint)))
        };
        let options = &request.counts.execution.options;
        if options.deadline.is_some() {
            return usage(
                "a shared sweep has no time limit: what it gives up would depend on the machine",
                "limit the instructions with --budget, or the workers with `work --max-seconds`",
            );
        }
        if request.counts.execution.counting == RungChoice::Formulas {
            return usage(
                "a shared sweep counts each case alone, and formulas are found in sizes that no case has",
                "`gpucast sweep --counting formulas` takes milliseconds for a size on one computer",
            );
        }
        let mut cases = Vec::new();
        for case in request.cases {
            let mut timing = None;
            let kernel = match &case.source {
                Err(reason) => Err(reason.clone()),
                Ok(CaseSource::Metrics { .. }) => {
                    return usage(
                        "counts of files need no workers",
                        "`gpucast sweep --from-metrics` predicts from them",
                    );
                }
                Ok(CaseSource::Execution { input, launch, place: _ }) => {
                    let plan = Kernel::open(input, launch).map_err(Failure::from);
                    let bytes = plan.and_then(|kernel| {
                        timing = kernel.plan().timing.map(|timing| timing.name().to_owned());
                        packed::pack(kernel.plan()).map_err(Failure::from)
                    });
                    match bytes {
                        Ok(bytes) => Ok(store_kernel(store, &bytes)?),
                        Err(failure) => Err(failure.in_one_line()?),
                    }
                }
            };
            let labels = case.labels.iter().map(Label::of).collect();
            cases.push(PlannedCase { name: case.name.to_string(), labels, kernel, timing });
        }
        let field = |axis: &Axis| Field {
            name: axis.name.clone(),
            values: axis.values.iter().map(|value: &Value| value.text.clone()).collect(),
        };
        let machine = &request.counts.machine;
        Ok(Self {
            schema: PLAN_SCHEMA.to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            counting_version: item::COUNTING_VERSION,
            columns: request.axes.of_cases.clone(),
            cases,
            gpus: request.gpus.iter().map(to_toml).collect::<Result<_, _>>()?,
            fields: request.fields.iter().map(field).collect(),
            models: request.models.clone(),
            count_on: match request.count_on {
                CountOn::Fitting { .. } => PlannedCountOn::Fitting,
                CountOn::Target => PlannedCountOn::Target,
                CountOn::One(gpu) => PlannedCountOn::One(to_toml(gpu)?),
            },
            timing: request.timing.name().map(str::to_owned),
            machine: PlannedMachine {
                machine: machine.machine,
                target: machine.machine_target.map(|target| target.to_string()),
                registers: machine.registers,
                assemblers: assemblers(machine, request.toolchain),
            },
            execution: PlannedExecution {
                instruction_budget: options.instruction_budget,
                heap_bytes: options.heap_bytes,
                stack_bytes: options.stack_bytes,
                schedule: PlannedSchedule::of(options.schedule),
                caches: request.counts.execution.caches,
                counting: request.counts.execution.counting,
                ctas: request.counts.execution.ctas,
            },
        })
    }

    /// Stores the plan under a name. Storing the same plan again is no error.
    ///
    /// # Errors
    ///
    /// If there is another plan of this name and it is not to be replaced, or the store fails.
    pub fn save(&self, store: &dyn Store, name: &str, replace: bool) -> Result<(), Failure> {
        let object = object(name)?;
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| Report::new(format!("the plan cannot be stored: {error}")))?;
        bytes.push(b'\n');
        if replace {
            return Ok(store.put(&object, &bytes)?);
        }
        let is_other = store.put_new(&object, &bytes)? == Put::Present
            && store.get(&object)?.is_none_or(|there| there != bytes);
        if is_other {
            let message = format!("{} has another plan named `{name}`", store.place());
            let hint = "take another name with --plan, or replace it with --replace; what is \
                        executed stays";
            return Err(Report::new(message).hint(hint).into());
        }
        Ok(())
    }

    /// Reads the plan of a name.
    ///
    /// # Errors
    ///
    /// If there is none, it is of another version of the program, or the store fails.
    pub fn load(store: &dyn Store, name: &str) -> Result<Self, Failure> {
        let Some(bytes) = store.get(&object(name)?)? else {
            let names = store.list(PLANS)?;
            let names: Vec<&str> =
                names.iter().filter_map(|file| file.strip_suffix(".json")).collect();
            let report = Report::new(format!("{} has no plan named `{name}`", store.place()));
            let hint = match names[..] {
                [] => "`gpucast sweep plan` makes one".to_owned(),
                _ => format!("it has {}; choose with --plan", names.join(", ")),
            };
            return Err(report.hint(hint).into());
        };
        let unreadable = |reason: String| {
            Report::new(format!("the plan {name} of {} cannot be read: {reason}", store.place()))
        };
        let plan: Self =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
        if plan.schema != PLAN_SCHEMA {
            return Err(unreadable(format!("its schema is {}", plan.schema)).into());
        }
        let here = (env!("CARGO_PKG_VERSION"), item::COUNTING_VERSION);
        if (plan.program.as_str(), plan.counting_version) != here {
            let message = format!(
                "the plan {name} is of gpucast {} with counts of version {}, and this is {} with \
                 {}",
                plan.program, plan.counting_version, here.0, here.1
            );
            let hint = "take the same program on all machines, or plan the sweep anew";
            return Err(Report::new(message).hint(hint).into());
        }
        Ok(plan)
    }

    /// Makes the grid of the plan.
    ///
    /// # Errors
    ///
    /// If a plan that somebody edited makes no sense.
    pub fn open(&self) -> Result<Opened, Failure> {
        let gpus = self.gpus.iter().map(|text| from_toml(text)).collect::<Result<Vec<_>, _>>()?;
        let fields: Vec<String> = self
            .fields
            .iter()
            .map(|field| format!("{}={}", field.name, field.values.join(",")))
            .collect();
        let fields = Axis::read_all("--set", &fields).map_err(Failure::from)?;
        let models = Models::of_words(&self.models)?;
        let count_on = match &self.count_on {
            PlannedCountOn::Fitting => CountOn::read(&gpu_argument::library()?, None)?,
            PlannedCountOn::Target => CountOn::Target,
            PlannedCountOn::One(text) => CountOn::One(from_toml(text)?.into()),
        };
        let unknown = |error: UnknownTiming| Report::new(format!("the plan: {error}"));
        let timing = self.timing.as_deref().map(str::parse::<AskedTiming>).transpose();
        let timing = timing.map_err(unknown)?.unwrap_or_default();
        let case = |case: &PlannedCase| {
            let of_file = case.timing.as_deref().map(str::parse::<Timing>).transpose();
            let timing = timing.over(of_file.map_err(unknown)?);
            Ok::<_, Report>(Case {
                name: Arc::from(case.name.as_str()),
                labels: case.labels.iter().map(Label::cell).collect(),
                source: case.kernel.clone().map(|kernel| Planned { kernel, timing }),
            })
        };
        let axes = Axes {
            of_cases: self.columns.clone(),
            of_gpus: fields.iter().map(|axis| axis.name.clone()).collect(),
        };
        let number = number_of_points(gpus.len(), &fields).unwrap_or(usize::MAX);
        check_size(self.cases.len().max(1), number, models.number())?;
        let points = points(&gpus, &fields);
        let groups = cases::groups(&points, &count_on, &Answers::Times(&models));
        let target = self.machine.target.as_deref().map(|name| name.parse());
        let machine_target =
            target.transpose().map_err(|error| Report::new(format!("the plan: {error}")))?;
        Ok(Opened {
            axes,
            cases: self.cases.iter().map(case).collect::<Result<_, _>>()?,
            points,
            models,
            count_on,
            groups,
            counts: Counts {
                machine: MachineSettings {
                    machine: self.machine.machine,
                    machine_target,
                    ptxas: None,
                    registers: self.machine.registers,
                },
                execution: ExecutionSettings {
                    options: Options {
                        instruction_budget: self.execution.instruction_budget,
                        heap_bytes: self.execution.heap_bytes,
                        stack_bytes: self.execution.stack_bytes,
                        schedule: self.execution.schedule.schedule(),
                        ..Options::default()
                    },
                    caches: self.execution.caches,
                    counting: self.execution.counting,
                    ctas: self.execution.ctas,
                    ..ExecutionSettings::default()
                },
                ..Counts::default()
            },
            assemblers: self.machine.assemblers.clone(),
            settings: {
                let PlannedMachine { machine, target, registers, assemblers } = &self.machine;
                let execution = &self.execution;
                Settings(format!(
                    "{machine:?} {target:?} {registers:?} {assemblers:?}\n{execution:?}"
                ))
            },
        })
    }
}

/// The kernel of a planned case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The hash of its packed form.
    pub(super) kernel: String,
    /// The way of measuring.
    pub(super) timing: Option<Timing>,
}

/// A plan whose grid is made.
pub struct Opened {
    /// The parameters that vary.
    pub axes: Axes,
    /// Kernels in sizes.
    pub cases: Vec<Case<Planned>>,
    /// GPUs with changed fields.
    pub points: Vec<Point>,
    /// The models.
    pub models: Models,
    /// The GPUs whose counters are modelled.
    pub count_on: CountOn,
    /// Points with the same counts.
    pub(super) groups: Vec<Group>,
    pub(super) counts: Counts,
    assemblers: Vec<String>,
    pub(super) settings: Settings,
}

/// An execution of a plan.
pub(super) struct Item<'a> {
    /// Its names: the one that it is stored under, and those of executions that serve as well.
    pub(super) names: Vec<String>,
    /// The hash of its kernel.
    pub(super) kernel: &'a str,
    /// The GPUs that it is counted for.
    pub(super) group: &'a Group,
}

impl Opened {
    /// The names of the table's columns.
    pub fn columns(&self) -> Vec<String> {
        self.axes.columns(&Answers::Times(&self.models))
    }

    /// The executions, each once, in the order of the table.
    pub(super) fn items(&self) -> Vec<Item<'_>> {
        let mut known = std::collections::BTreeSet::new();
        let mut items = Vec::new();
        for case in &self.cases {
            for group in &self.groups {
                let Some(item) = self.item(case, group) else { continue };
                if known.insert(item.names[0].clone()) {
                    items.push(item);
                }
            }
        }
        items
    }

    /// The execution of a case for a group; none if it cannot be executed at all.
    pub(super) fn item<'a>(
        &'a self,
        case: &'a Case<Planned>,
        group: &'a Group,
    ) -> Option<Item<'a>> {
        let Planned { kernel, timing: _ } = case.source.as_ref().ok()?;
        let device = group.device.as_ref()?;
        let names = item::names(kernel, device, group.needs, &self.settings);
        Some(Item { names, kernel, group })
    }

    /// Settings by which this machine executes items, with an assembler that its user names.
    pub(super) fn counts_with(&self, ptxas: Option<&Path>) -> Counts {
        let mut counts = self.counts.clone();
        counts.machine.ptxas = ptxas.map(Path::to_owned);
        counts
    }

    /// Checks that this machine makes the machine code that was planned with.
    ///
    /// # Errors
    ///
    /// If its assemblers are of other versions.
    pub(super) fn check_assemblers(
        &self,
        machine: &MachineSettings,
        toolchain: Option<&dyn Toolchain>,
    ) -> Result<(), Report> {
        let here = assemblers(machine, toolchain);
        if here == self.assemblers {
            return Ok(());
        }
        let words = |versions: &[String]| match versions {
            [] => "no ptxas".to_owned(),
            versions => format!("ptxas {}", versions.join(", ")),
        };
        let planned = words(&self.assemblers);
        let message = format!("the sweep was planned with {planned}, and here is {}", words(&here));
        Err(Report::new(message).hint(
            "install the same versions on all machines, name one by `work --ptxas`, or plan with \
             --machine rules, which needs none",
        ))
    }
}

/// The versions of the assemblers that would be tried.
fn assemblers(machine: &MachineSettings, toolchain: Option<&dyn Toolchain>) -> Vec<String> {
    let Some(toolchain) = toolchain else { return Vec::new() };
    let candidates = match (machine.machine, &machine.ptxas) {
        (MachineChoice::Rules | MachineChoice::None, _) => return Vec::new(),
        (_, Some(path)) => vec![path.clone()],
        (_, None) => toolchain.candidates(),
    };
    let mut versions: Vec<String> = Vec::new();
    for path in candidates {
        if let Ok(assembler) = toolchain.probe(&path)
            && !versions.contains(&assembler.version)
        {
            versions.push(assembler.version);
        }
    }
    versions
}

fn store_kernel(store: &dyn Store, packed: &[u8]) -> Result<String, Failure> {
    let hash = sealed::hash(packed);
    let object = kernel_object(&hash);
    let bytes = sealed::seal(&object, packed);
    let is_damaged = store.put_new(&object, &bytes)? == Put::Present
        && store.get(&object)?.is_none_or(|there| there != bytes);
    if is_damaged {
        store.put(&object, &bytes)?;
    }
    Ok(hash)
}

/// The object of a plan.
fn object(name: &str) -> Result<String, Failure> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_word) {
        let report = Report::new(format!("`{name}` cannot be a plan's name"));
        return Err(Failure::Usage(report.hint("take letters, digits, -, _ and .")));
    }
    Ok(format!("{PLANS}/{name}.json"))
}

/// A GPU as text from which the same GPU comes back.
fn to_toml(gpu: &Gpu) -> Result<String, Report> {
    let texts = [gpu.to_toml(false), gpu.to_toml(true)];
    let is_same = |text: &String| from_toml(text).is_ok_and(|read| read == *gpu);
    texts
        .into_iter()
        .find(is_same)
        .ok_or_else(|| Report::new(format!("the {} cannot be written to a plan", gpu.name)))
}

fn from_toml(text: &str) -> Result<Gpu, Report> {
    let gpu = Gpu::from_toml(text);
    let gpu = gpu.map_err(|error| Report::new(format!("a GPU of the plan: {}", error.problem)))?;
    Ok(gpu.completed())
}

impl Label {
    fn of(cell: &Cell) -> Self {
        match cell {
            Cell::Empty => Self::Empty,
            Cell::Text(text) => Self::Text(text.to_string()),
            Cell::Real(real) => Self::Number(real.to_string()),
        }
    }

    fn cell(&self) -> Cell {
        match self {
            Self::Empty => Cell::Empty,
            Self::Text(text) => Cell::text(text),
            Self::Number(text) => Cell::from(text.parse::<f64>().ok()),
        }
    }
}

impl PlannedSchedule {
    fn of(schedule: Schedule) -> Self {
        match schedule {
            Schedule::Automatic => Self::Automatic,
            Schedule::Ordered => Self::Ordered,
            Schedule::Parallel => Self::Parallel,
        }
    }

    fn schedule(self) -> Schedule {
        match self {
            Self::Automatic => Schedule::Automatic,
            Self::Ordered => Schedule::Ordered,
            Self::Parallel => Schedule::Parallel,
        }
    }
}
