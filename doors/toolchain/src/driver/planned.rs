//! Launches of plans, whose buffers hold what the executor's do.

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::ElementType;
use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::input::plan::{LoadCaching, Plan, PlannedArgument, Pointer};
use gpucast_forecast::input::texture::PlannedTexture;
use gpucast_forecast::run::module;
use gpucast_measure::{DeviceError, Trials};
use gpucast_ptx_frontend::module::{Formal, Module as SemanticModule};

use super::library::{CacheOption, Entry, Launcher, Memory, Module};
use super::texture::{TexelFormat, Texture};
use super::{Gpu, POINTER_BYTES, Timing};

/// Bytes and alignment of a tensor map.
const TENSOR_MAP: (u64, u32) = (128, 64);

/// What a plan left in its buffers after all its launches, in the order of the buffers.
pub type Left = Vec<Vec<u8>>;

/// Seconds of a plan's launches between two events, trial by trial, by what went before.
#[derive(Clone, Debug, Default)]
pub struct PlanTimes {
    /// The buffers were filled anew, and the L2 was flushed.
    pub cold: Vec<f64>,
    /// The buffers were filled anew.
    pub warm: Vec<f64>,
    /// The same launches over and over, per time: each finds what the one before left.
    pub in_a_row: Vec<f64>,
}

/// Executions of a plan between one pair of events, where they follow each other.
const IN_A_ROW: u32 = 20;

/// A plan whose modules and buffers are on the device.
struct Ready<'a> {
    launchers: Vec<(Launcher<'a>, Vec<Vec<u8>>, u32)>,
    memory: &'a [Memory<'a>],
    /// What the memory holds before the first launch.
    pristine: &'a [Memory<'a>],
}

impl Ready<'_> {
    fn fill(&self) -> Result<(), DeviceError> {
        self.memory.iter().zip(self.pristine).try_for_each(|(memory, from)| memory.copy_from(from))
    }

    fn launch(&self) -> Result<(), DeviceError> {
        self.launchers.iter().try_for_each(|(launcher, arguments, repeat)| {
            (0..*repeat).try_for_each(|_| launcher.launch(arguments))
        })
    }
}

impl Gpu {
    /// Seconds of each trial of a plan's launch, between two events.
    ///
    /// # Errors
    ///
    /// Plans that are not one launch, and whatever the driver refuses.
    pub fn time_plan(&mut self, plan: &Plan, trials: Trials) -> Result<Vec<f64>, DeviceError> {
        let refused = |what: &str| DeviceError(format!("{}: {what}", plan.module.name));
        let [launch] = plan.launches.as_slice() else {
            return Err(refused("several launches have no one time"));
        };
        if launch.repeat != 1 {
            return Err(refused("repeated launches have no one time"));
        }
        // Without a flush, each trial finds what the one before it left.
        let is_cold = plan.l2 == L2Contents::Cold;
        self.with(plan, |ready| {
            ready.fill()?;
            let work = || ready.launch();
            self.timed(&Timing { before: &|| Ok(()), work: &work, is_cold, trials })
        })
    }

    /// Executes a plan's launches once, and returns what they left. Then times them.
    ///
    /// A profiler that does not watch from the start sees the first execution alone
    /// (`ncu --profile-from-start off`).
    ///
    /// # Errors
    ///
    /// Tensor maps, textures that are not linear memory, and whatever the driver refuses.
    pub fn measure_plan(
        &mut self,
        plan: &Plan,
        trials: Trials,
    ) -> Result<(Left, PlanTimes), DeviceError> {
        self.with(plan, |ready| {
            ready.fill()?;
            self.driver.synchronise()?;
            self.driver.start_profiler()?;
            ready.launch()?;
            self.driver.synchronise()?;
            self.driver.stop_profiler()?;
            let left = ready.memory.iter().map(Memory::read).collect::<Result<_, _>>()?;
            let fill = || ready.fill();
            let work = || ready.launch();
            let timing = |is_cold| Timing { before: &fill, work: &work, is_cold, trials };
            let (cold, warm) = (self.timed(&timing(true))?, self.timed(&timing(false))?);
            let row = || (0..IN_A_ROW).try_for_each(|_| ready.launch());
            let timing = Timing { before: &fill, work: &row, is_cold: false, trials };
            let in_a_row = self.timed(&timing)?;
            let each = in_a_row.into_iter().map(|seconds| seconds / f64::from(IN_A_ROW));
            Ok((left, PlanTimes { cold, warm, in_a_row: each.collect() }))
        })
    }

    /// Brings a plan onto the device for as long as `body` works with it.
    fn with<T>(
        &self,
        plan: &Plan,
        body: impl FnOnce(&Ready<'_>) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let keeps = plan.load_caching.map(|caching| match caching {
            LoadCaching::Ca => CacheOption::All,
            LoadCaching::Cg => CacheOption::L2,
        });
        let module = self.driver.load(&plan.module.text, keeps)?;
        self.fill_symbols(plan, &module)?;
        let allocated = || {
            let buffers = plan.buffers.iter();
            // The driver allocates no memory without bytes.
            buffers.map(|buffer| self.driver.allocate(buffer.bytes().max(1)))
        };
        let memory: Vec<Memory<'_>> = allocated().collect::<Result<_, _>>()?;
        let pristine: Vec<Memory<'_>> = allocated().collect::<Result<_, _>>()?;
        let address = |pointer: Pointer| {
            let memory = memory.get(pointer.buffer);
            memory.map_or(0, |memory| memory.address + pointer.offset)
        };
        for (buffer, memory) in plan.buffers.iter().zip(&pristine) {
            let mut bytes = contents(&buffer.init, buffer.ty, buffer.bytes(), plan)?;
            for &(at, pointer) in &buffer.pointers {
                if let Some(place) = bytes.get_mut(at..at + POINTER_BYTES) {
                    place.copy_from_slice(&address(pointer).to_le_bytes());
                }
            }
            memory.write(&bytes)?;
        }
        let textures = self.textures(plan, &memory)?;
        let bytes = |argument: &PlannedArgument| match argument {
            _ if plan.texture_of(argument).is_some() => plan
                .texture_of(argument)
                .and_then(|index| textures.get(index))
                .map(|texture| texture.handle.to_le_bytes().to_vec())
                .ok_or_else(|| refused(plan, "a handle leads to no texture")),
            PlannedArgument::Pointer(pointer) => Ok(address(*pointer).to_le_bytes().to_vec()),
            PlannedArgument::Scalar { bits, .. } => Ok(bits.to_le_bytes().to_vec()),
            PlannedArgument::Structure(structure) => Ok(structure.with_addresses(address)),
        };
        let loaded = module::load(plan).map_err(|reports| {
            let first = reports.first().map(ToString::to_string).unwrap_or_default();
            refused(plan, &first)
        })?;
        let mut launchers = Vec::new();
        for launch in &plan.launches {
            let parameters = parameters(plan, &loaded.module, &launch.kernel)?;
            let mut arguments: Vec<Vec<u8>> =
                launch.arguments.iter().map(bytes).collect::<Result<_, _>>()?;
            // A structure may end in padding.
            for (argument, &size) in arguments.iter_mut().zip(&parameters) {
                argument.resize(argument.len().max(size), 0);
            }
            let entry = Entry {
                name: launch.kernel.clone(),
                grid: launch.grid,
                block: launch.block,
                cluster: launch.cluster,
                shared_bytes: launch.shared_bytes,
                parameters,
            };
            launchers.push((module.launcher(entry)?, arguments, launch.repeat));
        }
        body(&Ready { launchers, memory: &memory, pristine: &pristine })
    }

    /// The textures of a plan, in their order. `memory` holds its buffers.
    fn textures<'a>(
        &'a self,
        plan: &Plan,
        memory: &[Memory<'a>],
    ) -> Result<Vec<Texture<'a>>, DeviceError> {
        let bound = |planned: &PlannedTexture| {
            let refused = |what: &str| DeviceError(format!("texture {}: {what}", planned.name));
            if !planned.is_argument {
                return Err(refused("only handles that a launch passes are bound on a device"));
            }
            let format = planned.linear_texels().and_then(texel_format).ok_or_else(|| {
                refused("only words of linear memory are bound on a device, one to a texel")
            })?;
            let texels = memory.get(planned.buffer);
            let texels = texels.ok_or_else(|| refused("there is no buffer of its texels"))?;
            self.driver.texture(texels, planned.texel_bytes(), format)
        };
        plan.textures.iter().map(bound).collect()
    }

    /// Writes the values of a plan's variables.
    fn fill_symbols(&self, plan: &Plan, module: &Module<'_>) -> Result<(), DeviceError> {
        for symbol in &plan.symbols {
            let memory = module.variable(&symbol.name)?;
            let bytes = match symbol.len {
                Some(len) => len as u64 * symbol.ty.bytes() as u64,
                None => memory.bytes(),
            };
            memory.write(&contents(&symbol.init, symbol.ty, bytes, plan)?)?;
        }
        Ok(())
    }
}

/// First contents, as the executor has them.
fn contents(init: &Init, ty: ElementType, bytes: u64, plan: &Plan) -> Result<Vec<u8>, DeviceError> {
    let mut contents = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
    init.fill(ty, &mut contents, &plan.folder).map_err(|error| DeviceError(error.to_string()))?;
    Ok(contents)
}

/// Bytes of each parameter of a kernel.
fn parameters(
    plan: &Plan,
    module: &SemanticModule,
    kernel: &str,
) -> Result<Vec<usize>, DeviceError> {
    let function = module.functions.iter().find(|function| function.name == kernel);
    let none = || refused(plan, &format!("there is no kernel {kernel}"));
    let size = |formal: &Formal| {
        // Parameters of kernels are variables; those in registers are of device functions.
        let Formal::Variable(id) = formal else {
            return Err(refused(plan, "a parameter is a register"));
        };
        let variable = module.variables.get(id.index());
        let variable = variable.ok_or_else(|| refused(plan, "a parameter is no variable"))?;
        if (variable.size_bytes, variable.align) == TENSOR_MAP {
            return Err(refused(plan, "tensor maps are not passed to a device"));
        }
        usize::try_from(variable.size_bytes).map_err(|_| refused(plan, "a parameter is too large"))
    };
    function.ok_or_else(none)?.params.iter().map(size).collect()
}

fn refused(plan: &Plan, what: &str) -> DeviceError {
    DeviceError(format!("{}: {what}", plan.module.name))
}

/// The format of texels that are words.
const fn texel_format(ty: ElementType) -> Option<TexelFormat> {
    match ty {
        ElementType::U32 => Some(TexelFormat::Unsigned),
        ElementType::S32 => Some(TexelFormat::Signed),
        ElementType::F32 => Some(TexelFormat::Single),
        _ => None,
    }
}
