//! A GPU behind NVIDIA's driver, as a device that measurements run on.

mod library;

use gpucast_collection::language::{Array, Contents, Kernel, Parameter, Place, Type};
use gpucast_collection::{MatchCondition, Request, Target};
use gpucast_measure::{Device, DeviceError, Facts, Job};

use library::{Attribute, Driver, Launcher, Memory};

/// A GPU.
pub struct Gpu {
    driver: Driver,
    facts: Facts,
    target: Target,
}

/// The word that fills inputs: 1 as a single number, and an ordinary double number if doubled.
const FILL: u32 = 0x3F80_0000;

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
        let attribute = |one| driver.attribute(one);
        let facts = Facts {
            name: driver.name()?,
            driver_version: driver.version()?,
            major: attribute(Attribute::Major)?,
            minor: attribute(Attribute::Minor)?,
            sm_count: attribute(Attribute::MultiprocessorCount)?.into(),
            max_blocks_per_sm: attribute(Attribute::MaxBlocksPerMultiprocessor)?.into(),
            clock_mhz: f64::from(attribute(Attribute::ClockRate)?) / 1e3,
            memory_clock_mhz: f64::from(attribute(Attribute::MemoryClockRate)?) / 1e3,
            memory_bus_bits: attribute(Attribute::MemoryBusWidth)?.into(),
            l2_bytes: attribute(Attribute::L2CacheSize)?.into(),
            memory_bytes: driver.memory_bytes()?,
        };
        let target = Target::new(facts.major * 10 + facts.minor);
        Ok(Self { driver, facts, target })
    }

    /// The kernel that reads twice the L2, so that nothing else stays in it.
    fn flush(&self) -> Result<Kernel, DeviceError> {
        let bytes = (2 * self.facts.l2_bytes).next_multiple_of(1 << 20).max(1 << 20);
        let elements = bytes / 4;
        let tags = format!("membench access:read dtype:float32 lsize_0:256 nelements:{elements}");
        let words: Vec<&str> = tags.split(' ').collect();
        let choices = Request::parse(&words, MatchCondition::Superset)
            .and_then(|request| request.choices())
            .map_err(|error| DeviceError(error.to_string()))?;
        let first =
            choices.first().ok_or_else(|| DeviceError(format!("{tags} choose no kernel")))?;
        first.kernel(self.target).map_err(|error| DeviceError(error.to_string()))
    }

    /// Device memory for each parameter of a kernel, in order.
    fn arguments(
        &self,
        kernel: &Kernel,
        pointers: Option<u64>,
    ) -> Result<Vec<Memory<'_>>, DeviceError> {
        if kernel.arrays.iter().any(|array| matches!(array.place, Place::Constant(_))) {
            return Err(DeviceError(format!("{} fills constant memory", kernel.name)));
        }
        let argument = |parameter: &Parameter| match parameter {
            Parameter::Buffer(array) => self.filled(array, pointers),
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
            (Place::Input(_), Some(stride)) if array.ty == Type::U64 => {
                memory.write(&addresses(memory.address, bytes, stride))?;
            }
            (Place::Input(Contents::Chain(distance)), _) if array.ty.bytes() == 4 => {
                let word = |index: u64| ((index + distance) % array.len) as u32;
                let words: Vec<u8> =
                    (0..array.len).flat_map(|index| word(index).to_ne_bytes()).collect();
                memory.write(&words)?;
            }
            (Place::Input(Contents::Uniform(_)), _) => memory.fill(FILL)?,
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

fn launch(launcher: &Launcher<'_>, memory: &[Memory<'_>]) -> Result<(), DeviceError> {
    let addresses: Vec<u64> = memory.iter().map(|one| one.address).collect();
    launcher.launch(&addresses)
}

impl Device for Gpu {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn time(&mut self, job: &Job) -> Result<Vec<f64>, DeviceError> {
        let Job { kernel, pointers, is_cold, launches, warm_up, trials } = job;
        if self.target.sm < kernel.oldest_target {
            let needed = kernel.oldest_target;
            return Err(DeviceError(format!("{} needs sm_{needed}", kernel.name)));
        }
        let module = self.driver.load(kernel, self.target)?;
        let launcher = module.launcher()?;
        let memory = self.arguments(kernel, *pointers)?;
        let flush = self.flush()?;
        let flush_module = self.driver.load(&flush, self.target)?;
        let flusher = flush_module.launcher()?;
        let flushed = if *is_cold { self.arguments(&flush, None)? } else { Vec::new() };
        let (start, end) = (self.driver.event()?, self.driver.event()?);
        let mut times = Vec::new();
        for trial in 0..warm_up + trials {
            if *is_cold {
                for _ in 0..FLUSHES {
                    launch(&flusher, &flushed)?;
                }
            }
            start.record()?;
            for _ in 0..*launches {
                launch(&launcher, &memory)?;
            }
            end.record()?;
            end.wait()?;
            if trial >= *warm_up {
                times.push(end.seconds_since(&start)?);
            }
        }
        self.driver.synchronise()?;
        Ok(times)
    }
}
