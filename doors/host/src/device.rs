//! A GPU that is not there, with everything that a program has made on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_counters::DeviceModel;
use gpucast_counters::hierarchy::L2;
use gpucast_forecast::Failure;
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::{Chosen, Models};
use gpucast_forecast::failure::Report;
use gpucast_forecast::run::assembler::Toolchain;
use gpucast_forecast::run::hazards::Hazards;
use gpucast_forecast::settings::MachineSettings;
use gpucast_interpreter::{DeviceMemory, Options};
use gpucast_model::Gpu;
use gpucast_model::gpu::NoClock;

use crate::Error;
use crate::arena::Arena;
use crate::array::Array;
use crate::binding::Bindings;
use crate::block::BlockRange;
use crate::checking::Checking;
use crate::clock::Clock;
use crate::contents::Contents;
use crate::effects::Effects;
use crate::graph::Graphs;
use crate::mipmap::Mipmap;
use crate::module::{Function, Module};
use crate::profiler::Profiler;
use crate::properties::Properties;
use crate::record::Record;
use crate::repeats::Repeats;
use crate::report::ProcessReport;
use crate::settings::Settings;
use crate::workers;

/// The program around the device, and its user.
pub trait Program: Send + Sync {
    /// A kernel prints: the program's standard output has it.
    fn print(&self, text: &[u8]);

    /// A sentence for the user that the program does not print itself.
    fn note(&self, text: &str);

    /// The assemblers that are there, if there are any.
    fn toolchain(&self) -> Option<&dyn Toolchain> {
        None
    }
}

/// How launches are counted and predicted.
pub(crate) struct CountingChoice {
    /// The GPU whose counters are modelled, and its form for the counters.
    pub(crate) gpu: Gpu,
    pub(crate) device: DeviceModel,
    pub(crate) chosen: Chosen,
    pub(crate) timing: Option<gpucast_model::Timing>,
    /// What says which machine instructions there are.
    pub(crate) machine: MachineSettings,
}

/// A device of the modelled GPU's kind.
pub struct Device {
    pub(crate) settings: Settings,
    pub(crate) program: Arc<dyn Program>,
    pub(crate) properties: Properties,
    pub(crate) counting: CountingChoice,
    pub(crate) arena: Arena,
    pub(crate) memory: DeviceMemory,
    /// Everything that is allocated, by address.
    pub(crate) blocks: BTreeMap<u64, BlockRange>,
    /// What it holds, as far as that was looked at.
    pub(crate) contents: Contents,
    /// Bytes of it that take memory of the GPU.
    pub(crate) device_bytes: u64,
    /// Number of allocations so far.
    pub(crate) allocations: u64,
    /// The most memory of this machine that a launch may take; none after buffers have changed.
    pub(crate) memory_limit: Option<u64>,
    /// Arrays by their numbers; none where one was freed.
    pub(crate) arrays: Vec<Option<Array>>,
    /// Mipmapped arrays by their numbers; none where one was freed.
    pub(crate) mipmaps: Vec<Option<Mipmap>>,
    /// What texture and surface variables stand for.
    pub(crate) bindings: Bindings,
    pub(crate) modules: Vec<Module>,
    pub(crate) functions: Vec<Function>,
    pub(crate) clock: Clock,
    pub(crate) graphs: Graphs,
    pub(crate) record: Record,
    pub(crate) checking: Checking,
    /// Kinds of launches that were looked at for hazards.
    pub(crate) hazards: Hazards,
    /// The L2 as the last counted launch left it.
    pub(crate) l2: Option<L2>,
    /// What counted launches led to.
    pub(crate) repeats: Repeats,
    /// What executed launches made of memory.
    pub(crate) effects: Effects,
    /// Who asks for metrics of launches, if somebody does.
    pub(crate) profiler: Option<Profiler>,
    pub(crate) heap_bytes: u64,
    pub(crate) stack_bytes: u32,
    /// The fault of a kernel, after which nothing works any more.
    pub(crate) fault: Option<Error>,
}

impl Device {
    /// A device without memory and modules.
    ///
    /// # Errors
    ///
    /// If a setting names a GPU, model, way of measuring or check that does not exist. Also if the
    /// GPU cannot be counted on, or addresses cannot be reserved.
    pub fn new(settings: Settings, program: Arc<dyn Program>) -> Result<Self, Report> {
        let library = gpu_argument::library()?;
        let clock = settings.clock.as_deref().map(str::parse).transpose();
        let clock = clock.map_err(|error: NoClock| Report::new(error.to_string()))?;
        let gpu = gpu_argument::at_clock(gpu_argument::find(&library, &settings.gpu)?, clock)?;
        let chosen = Models::read(settings.model.as_slice(), &[]);
        let chosen = chosen.map_err(|failure| match failure {
            Failure::Usage(report) => report,
            other => Report::new(other.to_string()),
        })?;
        let [chosen] = chosen.of(&gpu)[..] else {
            return Err(Report::new("a program's times are those of one model"));
        };
        let count_on = CountOn::read(&library, settings.count_on.as_deref())?;
        let counting_gpu = count_on.of(&gpu, &[chosen]).clone();
        let timing = settings.timing.as_deref().map(str::parse::<gpucast_model::Timing>);
        let timing = timing.transpose().map_err(|error| Report::new(error.to_string()))?;
        let arena = Arena::reserve().map_err(|_| {
            Report::new("no range of addresses is left for device memory")
                .hint("raise the limit of the process's addresses (`ulimit -v`)")
        })?;
        let options = Options::default();
        workers::set_up();
        Ok(Self {
            hazards: Hazards::default(),
            checking: Checking::new(settings.check.as_deref())?,
            record: Record::new(settings.list_launches, settings.keep_timeline),
            properties: Properties::new(gpu)?,
            counting: CountingChoice {
                device: gpu_argument::device_model(&counting_gpu)?,
                gpu: counting_gpu,
                chosen,
                timing,
                machine: settings.machine()?,
            },
            memory: new_memory(&arena),
            profiler: settings.profiler.clone().map(Profiler::new).transpose()?,
            settings,
            program,
            arena,
            blocks: BTreeMap::new(),
            contents: Contents::default(),
            device_bytes: 0,
            allocations: 0,
            memory_limit: None,
            arrays: Vec::new(),
            mipmaps: Vec::new(),
            bindings: Bindings::default(),
            modules: Vec::new(),
            functions: Vec::new(),
            clock: Clock::default(),
            graphs: Graphs::default(),
            l2: None,
            repeats: Repeats::default(),
            effects: Effects::default(),
            heap_bytes: options.heap_bytes,
            stack_bytes: options.stack_bytes,
            fault: None,
        })
    }

    /// The facts that a program may ask for.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Streams and events.
    pub fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// The program begins or ends the range of its launches that are to be profiled.
    pub fn set_profiled(&mut self, is_on: bool) {
        if let Some(profiler) = &mut self.profiler {
            profiler.set_on(is_on);
        }
    }

    /// Bytes of the heap from which kernels allocate.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.heap_bytes
    }

    /// Changes the heap's size; after the first kernel that uses it, without effect.
    pub fn set_heap_bytes(&mut self, bytes: u64) {
        self.heap_bytes = bytes;
    }

    /// Bytes of a thread's stack.
    #[must_use]
    pub fn stack_bytes(&self) -> u32 {
        self.stack_bytes
    }

    /// Changes the size of a thread's stack.
    pub fn set_stack_bytes(&mut self, bytes: u32) {
        self.stack_bytes = bytes;
    }

    /// The state after earlier launches.
    ///
    /// # Errors
    ///
    /// The error of a kernel's fault.
    pub fn usable(&self) -> Result<(), Error> {
        self.fault.map_or(Ok(()), Err)
    }

    /// The report of everything so far.
    #[must_use]
    pub fn report(&self) -> ProcessReport {
        let checked = self.checking.is_on().then(|| self.checking.findings());
        let (gpu, end_ms) = (self.properties.gpu(), self.clock.end_ms());
        let profiles = self.profiler.as_ref().map_or(Vec::new(), Profiler::profiles);
        self.record.report(&self.settings, &self.counting, gpu, end_ms, checked, profiles)
    }

    /// A call of this thread begins, for the timeline.
    pub fn call_begins(&mut self, name: &str) {
        if let Some(timeline) = &mut self.record.timeline {
            timeline.begin(name, self.clock.host_ms());
        }
    }

    /// The call of this thread ends.
    pub fn call_ends(&mut self) {
        if let Some(timeline) = &mut self.record.timeline {
            timeline.end(self.clock.host_ms());
        }
    }

    /// The settings that it was made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

#[allow(unsafe_code, reason = "the arena's bytes become device memory")]
fn new_memory(arena: &Arena) -> DeviceMemory {
    // SAFETY: the arena was just mapped, readable, writable and zero, and is never unmapped. Only
    // the program uses its addresses besides.
    unsafe { DeviceMemory::in_arena(arena.start, arena.bytes) }
}
