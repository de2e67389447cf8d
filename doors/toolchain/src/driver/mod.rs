//! A GPU behind NVIDIA's driver, as a device that measurements run on.

mod library;
mod nvml;
mod planned;
mod texture;

pub use planned::{Left, PlanTimes};

use gpucast_collection::language::{Array, ArrayMemory, Contents, Kernel, Parameter, Type};
use gpucast_collection::{Target, ptx};
use gpucast_measure::conditions::State;
use gpucast_measure::{ComputeCapability, Device, DeviceError, Facts, Job, Trials, flush};

use library::{Attribute, Driver, Entry, Memory};
use nvml::{Nvml, PciPlace};
use texture::{TexelFormat, Texture};

/// A GPU.
pub struct Gpu {
    driver: Driver,
    facts: Facts,
    target: Target,
    /// What tells its clocks, or the reason why nothing does.
    nvml: Result<Nvml, DeviceError>,
}

/// The word that fills inputs: 1 as a single number, and an ordinary double number if doubled.
const FILL: u32 = 0x3F80_0000;

/// Bytes of a buffer's address, and of a texture's handle.
const POINTER_BYTES: usize = 8;

/// Reads of what flushes the L2. An L2 may hold lines that were hit against data that is read once.
const FLUSHES: u32 = 4;

impl Gpu {
    /// Opens the GPU of a number.
    ///
    /// # Errors
    ///
    /// If there is no driver, or no such GPU.
    pub fn open(number: u32) -> Result<Self, DeviceError> {
        let driver = Driver::open(number)?;
        let attribute = |name| driver.attribute(name);
        let facts = Facts {
            name: driver.name()?,
            driver_version: driver.version()?,
            compute_capability: ComputeCapability {
                major: attribute(Attribute::Major)?,
                minor: attribute(Attribute::Minor)?,
            },
            sm_count: attribute(Attribute::MultiprocessorCount)?.into(),
            max_blocks_per_sm: attribute(Attribute::MaxBlocksPerMultiprocessor)?.into(),
            clock_mhz: f64::from(attribute(Attribute::ClockRate)?) / 1e3,
            memory_clock_mhz: f64::from(attribute(Attribute::MemoryClockRate)?) / 1e3,
            memory_bus_bits: attribute(Attribute::MemoryBusWidth)?.into(),
            l2_bytes: attribute(Attribute::L2CacheSize)?.into(),
            memory_bytes: driver.memory_bytes()?,
        };
        let target = Target::from(facts.compute_capability);
        let place = PciPlace {
            domain: attribute(Attribute::PciDomain)?,
            bus: attribute(Attribute::PciBus)?,
            device: attribute(Attribute::PciDevice)?,
        };
        Ok(Self { driver, facts, target, nvml: Nvml::open(place) })
    }

    /// The reason why nothing tells its clocks, as a sentence without a full stop; `None` if they
    /// are told.
    #[must_use]
    pub fn without_clocks(&self) -> Option<&DeviceError> {
        self.nvml.as_ref().err()
    }

    /// Device memory for each parameter of a kernel, in order.
    fn arguments(
        &self,
        kernel: &Kernel,
        pointers: Option<u64>,
    ) -> Result<Vec<Argument<'_>>, DeviceError> {
        // Constant memory begins as zeros.
        let is_filled = |array: &Array| matches!(&array.place, ArrayMemory::Constant(contents) if *contents != Contents::Zero);
        if kernel.arrays.iter().any(is_filled) {
            return Err(DeviceError(format!("{} fills constant memory", kernel.name)));
        }
        let argument = |parameter: &Parameter| match parameter {
            Parameter::Buffer(array) => Ok(Argument::Buffer(self.filled(array, pointers)?)),
            Parameter::Texture { texels, .. } => {
                let format = texel_format(texels.ty).ok_or_else(|| {
                    DeviceError(format!("{} has texels of another type", kernel.name))
                })?;
                let memory = self.filled(texels, None)?;
                let texture = self.driver.texture(&memory, memory.bytes(), format)?;
                Ok(Argument::Texture { texture, _texels: memory })
            }
            Parameter::Scalar { .. } => {
                Err(DeviceError(format!("{} has a parameter that is a number", kernel.name)))
            }
        };
        kernel.parameters.iter().map(argument).collect()
    }

    fn filled(&self, array: &Array, pointers: Option<u64>) -> Result<Memory<'_>, DeviceError> {
        let bytes = array.len * array.ty.bytes();
        let memory = self.driver.allocate(bytes)?;
        match (&array.place, pointers) {
            (ArrayMemory::Input(_), Some(stride)) if array.ty == Type::U64 => {
                memory.write(&addresses(memory.address, bytes, stride))?;
            }
            (ArrayMemory::Input(Contents::Chain(distance)), _) if array.ty.bytes() == 4 => {
                let word = |index: u64| ((index + distance) % array.len) as u32;
                let words: Vec<u8> =
                    (0..array.len).flat_map(|index| word(index).to_ne_bytes()).collect();
                memory.write(&words)?;
            }
            (ArrayMemory::Input(Contents::Uniform(_)), _) => memory.fill(FILL)?,
            _ => memory.fill(0)?,
        }
        Ok(memory)
    }
}

/// Addresses of elements `stride` bytes ahead, round and round, of memory at `address`.
fn addresses(address: u64, bytes: u64, stride: u64) -> Vec<u8> {
    (0..bytes / 8)
        .flat_map(|index| (address + (index * 8 + stride) % bytes).to_ne_bytes())
        .collect()
}

/// A kernel of the collection, whose parameters are buffers.
fn entry(kernel: &Kernel) -> Entry {
    Entry {
        name: kernel.name.clone(),
        grid: kernel.grid,
        block: kernel.block,
        cluster: None,
        shared_bytes: 0,
        parameters: vec![POINTER_BYTES; kernel.parameters.len()],
    }
}

/// Work that is timed, trial by trial.
struct Timing<'a> {
    /// Prepares a trial, in time that does not count.
    before: &'a dyn Fn() -> Result<(), DeviceError>,
    /// Launches what counts.
    work: &'a dyn Fn() -> Result<(), DeviceError>,
    /// True if no cache of the device may hold the data when the first one begins.
    is_cold: bool,
    trials: Trials,
}

/// What a parameter of a kernel stands for.
enum Argument<'a> {
    Buffer(Memory<'a>),
    /// The texture ends before its texels.
    Texture {
        texture: Texture<'a>,
        _texels: Memory<'a>,
    },
}

impl Argument<'_> {
    /// The bytes that are passed.
    fn bytes(&self) -> Vec<u8> {
        let bits = match self {
            Self::Buffer(memory) => memory.address,
            Self::Texture { texture, .. } => texture.handle,
        };
        bits.to_ne_bytes().to_vec()
    }
}

fn bytes_of(arguments: &[Argument<'_>]) -> Vec<Vec<u8>> {
    arguments.iter().map(Argument::bytes).collect()
}

/// The format of texels that are words.
const fn texel_format(ty: Type) -> Option<TexelFormat> {
    match ty {
        Type::U32 => Some(TexelFormat::Unsigned),
        Type::S32 => Some(TexelFormat::Signed),
        Type::F32 => Some(TexelFormat::Single),
        _ => None,
    }
}

impl Gpu {
    /// Seconds of each trial, between two events.
    fn timed(&self, timing: &Timing<'_>) -> Result<Vec<f64>, DeviceError> {
        let Timing { before, work, is_cold, trials } = *timing;
        let flush = is_cold.then(|| flush(self.facts.l2_bytes));
        let flush_module =
            flush.as_ref().map(|flush| self.driver.load(&ptx::module(flush, self.target), None));
        let flush_module = flush_module.transpose()?;
        let flusher = match flush_module.as_ref().zip(flush.as_ref()) {
            Some((module, flush)) => {
                Some((module.launcher(entry(flush))?, self.arguments(flush, None)?))
            }
            None => None,
        };
        let (start, end) = (self.driver.event()?, self.driver.event()?);
        let mut times = Vec::new();
        for trial in 0..trials.warm_up + trials.timed {
            before()?;
            if let Some((flusher, memory)) = &flusher {
                let arguments = bytes_of(memory);
                (0..FLUSHES).try_for_each(|_| flusher.launch(&arguments))?;
            }
            start.record()?;
            work()?;
            end.record()?;
            end.wait()?;
            if trial >= trials.warm_up {
                times.push(end.seconds_since(&start)?);
            }
        }
        self.driver.synchronise()?;
        Ok(times)
    }
}

impl Device for Gpu {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn time(&mut self, job: &Job) -> Result<Vec<f64>, DeviceError> {
        let &Job { ref kernel, pointers, is_cold, launches, warm_up, trials } = job;
        let fits = kernel.check_target(self.target);
        fits.map_err(|reason| DeviceError(format!("{}: {reason}", kernel.name)))?;
        let module = self.driver.load(&ptx::module(kernel, self.target), None)?;
        let launcher = module.launcher(entry(kernel))?;
        let memory = self.arguments(kernel, pointers)?;
        let arguments = bytes_of(&memory);
        let trials = Trials { warm_up, timed: trials };
        let work = || (0..launches).try_for_each(|_| launcher.launch(&arguments));
        self.timed(&Timing { before: &|| Ok(()), work: &work, is_cold, trials })
    }

    fn state(&self) -> Option<State> {
        self.nvml.as_ref().ok().map(Nvml::state)
    }
}
