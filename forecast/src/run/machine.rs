//! The choice of the back end that supplies a kernel's machine instructions. It depends on the
//! user's choice, on the installed assemblers, and on the architectures that each back end knows.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock};

use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::machine::{KnownAccesses, MachineProfile};
use gpucast_counters::table::BaseTable;
use gpucast_counters::trace::LaunchTrace;
use gpucast_counters::{ComputeCapability, DeviceModel, RegisterRange, ThreadRegisters};
use gpucast_interpreter::Program;
use gpucast_machine::ptxas::{self, Prepared};
use gpucast_machine::rules::{self, Compiled, RegisterDemand};
use gpucast_ptx_frontend::container::{Cubin, ParseTargetError, Target};
use gpucast_simulation::launch::Launch as SimulatedLaunch;

use crate::failure::{Failure, Report, SourceText};
use crate::run::assembler::{AssembleError, Assembler, Toolchain};
use crate::run::execute::Loaded;
use crate::run::supervisor::Supervisor;
use crate::settings::{MachineChoice, MachineSettings};
use crate::store::sealed;

/// The machine code of a plan's kernels, made ready before the first launch.
pub struct Machine {
    back_end: Chosen,
    /// The architecture whose instructions the rules estimate; none on capability 1.x.
    rules_for: Option<Architecture>,
    /// True if the assembled code is for the generation of the modelled GPU.
    is_of_the_gpu: bool,
    /// True if the user asked for the assembler, so that nothing may take its place.
    insists: bool,
    /// Registers of a thread that the user states.
    stated_registers: Option<u32>,
    /// Reason why the assembler that is installed is not used.
    pub note: Option<String>,
    /// Kernels for which the fallback note was already printed.
    given_up: Mutex<BTreeSet<String>>,
}

enum Chosen {
    Nothing,
    Rules {
        /// What each kernel says of its registers.
        demands: BTreeMap<String, Demand>,
    },
    Ptxas {
        version: String,
        prepared: Prepared,
        /// The cubin of each kernel.
        images: BTreeMap<String, Vec<u8>>,
    },
}

/// What decides the registers of a kernel by rules.
struct Demand {
    of_kernel: RegisterDemand,
    /// The live words of its machine code, once somebody asked.
    code_words: OnceLock<u32>,
}

impl Machine {
    /// No machine instructions at all.
    pub fn none() -> Self {
        Self {
            back_end: Chosen::Nothing,
            rules_for: None,
            is_of_the_gpu: false,
            insists: false,
            stated_registers: None,
            note: None,
            given_up: Mutex::default(),
        }
    }

    /// Names everything that machine instructions depend on but the kernel's text.
    pub(crate) fn identity(&self) -> String {
        let Self {
            back_end,
            rules_for,
            is_of_the_gpu,
            insists,
            stated_registers,
            note: _,
            given_up: _,
        } = self;
        let back_end = match back_end {
            Chosen::Nothing => "none".to_owned(),
            Chosen::Rules { .. } => "rules".to_owned(),
            Chosen::Ptxas { version, prepared: _, images } => {
                let hashes = images.iter().map(|(kernel, image)| (kernel, sealed::hash(image)));
                format!("ptxas {version} {:?}", hashes.collect::<Vec<_>>())
            }
        };
        format!("{back_end} {rules_for:?} {is_of_the_gpu} {insists} {stated_registers:?}")
    }

    /// True if nothing supplies machine instructions.
    pub fn is_none(&self) -> bool {
        matches!(self.back_end, Chosen::Nothing)
    }

    /// Chooses a back end and, if it is the assembler, assembles `kernels`. The architecture is
    /// that of `gpu`, whose counters are modelled, as far as the PTX and the back end allow.
    ///
    /// By default, falls back to the built-in rules if no assembler is found. If one is found but
    /// fails, it also leaves a note.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if the user asked for an assembler that does not work or that refuses the
    /// text; [`Failure::Stopped`] if the run was stopped while it worked.
    pub fn new<'k>(
        options: &MachineSettings,
        loaded: &Loaded,
        gpu: ComputeCapability,
        kernels: impl Iterator<Item = &'k str> + Clone,
        toolchain: Option<&dyn Toolchain>,
    ) -> Result<Self, Failure> {
        let ptx = ptx_target(loaded);
        let rules_for = architecture(options, ptx, gpu);
        let new = |back_end, note| Self {
            back_end,
            rules_for,
            is_of_the_gpu: false,
            insists: false,
            stated_registers: options.registers,
            note,
            given_up: Mutex::default(),
        };
        let named = kernels.clone();
        let rules = |note| {
            let demand = |kernel: &str| {
                let of_kernel = RegisterDemand::new(&loaded.module, kernel)?;
                Some((kernel.to_owned(), Demand { of_kernel, code_words: OnceLock::new() }))
            };
            let names: BTreeSet<&str> = named.collect();
            new(Chosen::Rules { demands: names.into_iter().filter_map(demand).collect() }, note)
        };
        let ptx = match options.machine_target {
            // Code for one architecture alone goes nowhere else.
            None if ptx.suffix.is_none() => Target::new(ptx.sm.max(gpu.sm())),
            _ => ptx,
        };
        let insists = options.ptxas.is_some() || options.machine == MachineChoice::Ptxas;
        match options.machine {
            MachineChoice::None => Ok(new(Chosen::Nothing, None)),
            MachineChoice::Rules => Ok(rules(None)),
            MachineChoice::Auto | MachineChoice::Ptxas => {
                let (toolchain, assembler, target) = match find(options, ptx, toolchain) {
                    Ok(found) => found,
                    Err(report) if insists => return Err(report.into()),
                    Err(_) => return Ok(rules(broken(options, ptx, toolchain))),
                };
                let broken = broken(options, ptx, Some(toolchain));
                match assembled(assembler, target, loaded, kernels, toolchain) {
                    Ok(back_end) => {
                        let is_of_the_gpu = target.capability().major == gpu.major;
                        Ok(Self { is_of_the_gpu, insists, ..new(back_end, broken) })
                    }
                    Err(Unassembled::Stopped) => Err(Failure::Stopped),
                    Err(Unassembled::Refused(report)) if insists => Err(report.into()),
                    Err(Unassembled::Refused(report)) => Ok(rules(Some(by_rules(&report.message)))),
                }
            }
        }
    }

    /// Registers of a thread of a kernel on the modelled GPU. Those of another generation's code
    /// are an estimate, and so are those that follow from live values where nothing assembles.
    pub fn thread_registers(
        &self,
        program: &Program,
        device: &DeviceModel,
    ) -> Option<ThreadRegisters> {
        let kernel = program.kernel();
        let stated = self.stated_registers;
        let plainly = |count| ThreadRegisters { count, estimated: None, spilled: 0 };
        match &self.back_end {
            Chosen::Nothing => stated.map(plainly),
            Chosen::Rules { demands } => {
                let (Some(target), Some(demand)) = (self.rules_for, demands.get(kernel)) else {
                    return stated.map(plainly);
                };
                let words = || Compiled::new(target, program, &BaseTable::default()).live_words();
                let words = *demand.code_words.get_or_init(words);
                Some(match stated {
                    Some(count) => demand.of_kernel.with(count, words),
                    None => demand.of_kernel.on(device, words),
                })
            }
            Chosen::Ptxas { images, .. } => {
                let of_code = || {
                    let facts = Cubin::parse(images.get(kernel)?).ok()?;
                    let count = facts.kernel(kernel)?.registers;
                    let range = RegisterRange { least: count, most: count };
                    let estimated = (!self.is_of_the_gpu).then_some(range);
                    Some(ThreadRegisters { estimated, ..plainly(count) })
                };
                stated.map(plainly).or_else(of_code)
            }
        }
    }

    /// The accesses of machine code of `program`, as far as they are known before a launch.
    pub fn known_accesses(&self, program: &Program) -> KnownAccesses {
        let by_rules = |target| rules::known_accesses(target, program);
        match &self.back_end {
            Chosen::Nothing => KnownAccesses::default(),
            Chosen::Rules { .. } => self.rules_for.map(by_rules).unwrap_or_default(),
            // Machine code that cannot be read is told of when its instructions are counted.
            Chosen::Ptxas { prepared, images, .. } => images
                .get(program.kernel())
                .and_then(|image| ptxas::known_accesses(image, prepared, program).ok())
                .unwrap_or_default(),
        }
    }

    /// The machine code of a launch, by the counts of its execution.
    pub fn code<'a>(
        &'a self,
        program: &'a Program,
        table: &'a BaseTable,
        supervisor: &'a dyn Supervisor,
    ) -> LaunchCode<'a> {
        LaunchCode { machine: self, program, table, supervisor, by_rules: OnceCell::new() }
    }

    /// Says once of a kernel why its machine code is not used: its launches fail alike.
    fn give_up(&self, kernel: &str, supervisor: &dyn Supervisor, why: &str) {
        if self.given_up.lock().is_ok_and(|mut said| said.insert(kernel.to_owned())) {
            supervisor.note(why);
        }
    }
}

/// The machine code of one launch.
pub struct LaunchCode<'a> {
    machine: &'a Machine,
    program: &'a Program,
    table: &'a BaseTable,
    supervisor: &'a dyn Supervisor,
    /// Made when it is first needed; none where no rules are known.
    by_rules: OnceCell<Option<Compiled<'a>>>,
}

impl LaunchCode<'_> {
    fn by_rules(&self) -> Option<&Compiled<'_>> {
        let compiled = |target| Compiled::new(target, self.program, self.table);
        self.by_rules.get_or_init(|| self.machine.rules_for.map(compiled)).as_ref()
    }

    /// The recorded CTAs of the launch on machine code with its schedule; `None` without a back end
    /// for the kernel.
    pub fn schedule(&self, trace: &LaunchTrace) -> Option<SimulatedLaunch> {
        let by_rules = || Some(self.by_rules()?.schedule(trace));
        match &self.machine.back_end {
            Chosen::Nothing => None,
            Chosen::Rules { .. } => by_rules(),
            Chosen::Ptxas { prepared, images, .. } => {
                let image = images.get(self.program.kernel())?;
                match ptxas::schedule(image, prepared, self.program, self.table, trace) {
                    Ok(launch) => Some(launch),
                    Err(error) => {
                        let why = format!("the schedule follows rules: {error}");
                        self.machine.give_up(self.program.kernel(), self.supervisor, &why);
                        by_rules()
                    }
                }
            }
        }
    }

    /// The machine instructions of the launch; `None` without a back end for the kernel.
    ///
    /// # Errors
    ///
    /// If the user insists on an assembler whose code cannot be read.
    pub fn profile(&self) -> Result<Option<MachineProfile>, Report> {
        let by_rules = || Some(self.by_rules()?.profile());
        match &self.machine.back_end {
            Chosen::Nothing => Ok(None),
            Chosen::Rules { .. } => Ok(by_rules()),
            Chosen::Ptxas { version, prepared, images } => {
                let Some(image) = images.get(self.program.kernel()) else { return Ok(None) };
                match ptxas::attribute(image, version, prepared, self.program, self.table) {
                    Ok(profile) => Ok(Some(profile)),
                    Err(error) if self.machine.insists => Err(Report::new(error.to_string())
                        .hint("--machine rules estimates machine instructions without it")),
                    Err(error) => {
                        let why = self::by_rules(&error);
                        self.machine.give_up(self.program.kernel(), self.supervisor, &why);
                        Ok(by_rules())
                    }
                }
            }
        }
    }
}

/// The oldest target that compilers still write PTX for: it stands for older GPUs, too.
const OLDEST_WRITTEN: u32 = 35;

/// The architecture whose machine instructions the rules estimate; none on capability 1.x.
fn architecture(
    options: &MachineSettings,
    ptx: Target,
    gpu: ComputeCapability,
) -> Option<Architecture> {
    let capability = match options.machine_target {
        Some(target) => target.capability(),
        None if ptx.sm <= OLDEST_WRITTEN => gpu,
        None => ptx.capability().max(gpu),
    };
    Architecture::of_capability(capability)
}

/// Says that the rules take the place of an assembler that is there.
fn by_rules(why: &dyn std::fmt::Display) -> String {
    format!("machine instructions are estimated by rules: {why}")
}

/// The architecture that the PTX was written for.
fn ptx_target(loaded: &Loaded) -> Target {
    let name = loaded.module.target.split(',').next().unwrap_or_default().trim();
    name.parse().unwrap_or(Target::new(loaded.module.target_sm))
}

/// Reason why there is no machine code of a module.
enum Unassembled {
    /// The run was stopped.
    Stopped,
    /// The assembler does not take the text, or does not work.
    Refused(Report),
}

fn assembled<'k>(
    assembler: Assembler,
    target: Target,
    loaded: &Loaded,
    kernels: impl Iterator<Item = &'k str>,
    toolchain: &dyn Toolchain,
) -> Result<Chosen, Unassembled> {
    let prepared = ptxas::prepare(&loaded.source.text).map_err(|diagnostics| {
        let mut diagnostics = diagnostics.into_iter();
        Unassembled::Refused(match diagnostics.next() {
            Some(first) => loaded.source.report(first.span.range(), first.message),
            None => Report::new("the text cannot be prepared for ptxas"),
        })
    })?;
    let mut images = BTreeMap::new();
    for kernel in kernels {
        if !images.contains_key(kernel) {
            let image =
                toolchain.assemble(&assembler, target, kernel, &prepared).map_err(|error| {
                    match error {
                        AssembleError::Stopped => Unassembled::Stopped,
                        error => Unassembled::Refused(refused(&error, &loaded.source)),
                    }
                })?;
            images.insert(kernel.to_owned(), image);
        }
    }
    Ok(Chosen::Ptxas { version: assembler.version, prepared, images })
}

/// The first assembler that knows the architecture, and the architecture.
fn find<'t>(
    options: &MachineSettings,
    ptx: Target,
    toolchain: Option<&'t dyn Toolchain>,
) -> Result<(&'t dyn Toolchain, Assembler, Target), Report> {
    let Some(toolchain) = toolchain else {
        return Err(Report::new("there is nothing that could run ptxas"));
    };
    if let Some(path) = &options.ptxas {
        let assembler = toolchain.probe(path).map_err(|reason| {
            Report::new(format!("{} is no ptxas that works: {reason}", path.display()))
        })?;
        let target = target(&assembler, options, ptx);
        return target.map(|target| (toolchain, assembler.clone(), target)).ok_or_else(|| {
            let wanted = options.machine_target.unwrap_or(ptx);
            Report::new(format!("{assembler} does not assemble for {wanted}"))
                .hint(known(&assembler))
        });
    }
    let mut others: Vec<Assembler> = Vec::new();
    for path in toolchain.candidates() {
        let Ok(assembler) = toolchain.probe(&path) else { continue };
        match target(&assembler, options, ptx) {
            Some(target) => return Ok((toolchain, assembler, target)),
            None => others.push(assembler),
        }
    }
    let wanted = options.machine_target.unwrap_or(ptx);
    Err(match others.first() {
        Some(assembler) => Report::new(format!("no ptxas that was found assembles for {wanted}"))
            .hint(format!("{assembler}: {}", known(assembler))),
        None => Report::new("no ptxas was found").hint(
            "`pip install nvidia-cuda-nvcc-cu12` brings one, CUDA does too; or give --ptxas PATH",
        ),
    })
}

/// Says of the first program that is named like an assembler and does not work why it is passed by.
fn broken(
    options: &MachineSettings,
    ptx: Target,
    toolchain: Option<&dyn Toolchain>,
) -> Option<String> {
    let toolchain = toolchain.filter(|_| options.ptxas.is_none())?;
    for path in toolchain.candidates() {
        match toolchain.probe(&path) {
            Ok(assembler) if target(&assembler, options, ptx).is_some() => return None,
            Ok(_) => {}
            Err(reason) => return Some(format!("{} is not used: {reason}", path.display())),
        }
    }
    None
}

fn target(assembler: &Assembler, options: &MachineSettings, ptx: Target) -> Option<Target> {
    match options.machine_target {
        Some(target) => assembler.targets.contains(&target).then_some(target),
        None => assembler.target_for(ptx),
    }
}

/// Lists the architectures that an assembler knows.
fn known(assembler: &Assembler) -> String {
    let names: Vec<String> = assembler.targets.iter().map(Target::to_string).collect();
    format!("it knows {}", names.join(", "))
}

fn refused(error: &AssembleError, source: &SourceText) -> Report {
    let report = Report::new(error.to_string());
    let AssembleError::Refused { line: Some(line), .. } = error else { return report };
    let lines: Vec<&str> = source.text.split_inclusive('\n').collect();
    let index = (*line as usize).saturating_sub(1).min(lines.len().saturating_sub(1));
    let start: usize = lines.iter().take(index).map(|line| line.len()).sum();
    let end = start + lines.get(index).map_or(0, |line| line.trim_end().len());
    source.report(start..end, error.to_string())
}

/// Reads an architecture such as `sm_50`.
///
/// # Errors
///
/// If it is none, or one of which no machine code is known.
pub fn read_target(text: &str) -> Result<Target, String> {
    let target: Target = text.parse().map_err(|error: ParseTargetError| error.to_string())?;
    match Architecture::of_capability(target.capability()) {
        Some(_) => Ok(target),
        None => Err(format!("machine code is known from {} on", Architecture::OLDEST)),
    }
}
