//! Launches of plans, whose buffers hold what the executor's do.

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::ElementType;
use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::input::plan::{Plan, PlannedArgument};
use gpucast_forecast::input::texture::{PlannedTexture, texture_of};
use gpucast_forecast::run::module;
use gpucast_measure::{DeviceError, Trials};
use gpucast_ptx_frontend::module::Formal;

use super::library::{Entry, Memory, Module};
use super::texture::{TexelFormat, Texture};
use super::{Gpu, Timing};

/// Bytes of a parameter that is passed as bits.
const MOST_BYTES: u64 = 8;

/// Dynamic shared memory that a kernel gets without asking for more.
const MOST_SHARED_BYTES: u32 = 48 << 10;

impl Gpu {
    /// Seconds of each trial of a plan's launch, between two events.
    ///
    /// # Errors
    ///
    /// Plans that are not one launch of pointers and numbers, and whatever the driver refuses.
    pub fn time_plan(&mut self, plan: &Plan, trials: Trials) -> Result<Vec<f64>, DeviceError> {
        let refused = |what: &str| DeviceError(format!("{}: {what}", plan.module.name));
        let [launch] = plan.launches.as_slice() else {
            return Err(refused("several launches have no one time"));
        };
        if launch.repeat != 1 {
            return Err(refused("repeated launches have no one time"));
        }
        if launch.cluster.is_some() {
            return Err(refused("clusters are not timed on a device"));
        }
        if plan.buffers.iter().any(|buffer| !buffer.pointers.is_empty()) {
            return Err(refused("buffers of pointers are not passed to a device"));
        }
        if launch.shared_bytes > MOST_SHARED_BYTES {
            return Err(refused(
                "more than 48 KiB of dynamic shared memory need leave of the driver",
            ));
        }
        let entry = Entry {
            name: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            parameters: parameters(plan, &launch.kernel)?,
        };
        let module = self.driver.load(&plan.module.text)?;
        self.fill_symbols(plan, &module)?;
        let launcher = module.launcher(entry)?;
        let memory: Vec<Memory<'_>> = plan
            .buffers
            .iter()
            .map(|buffer| {
                let memory = self.driver.allocate(buffer.bytes())?;
                memory.write(&contents(&buffer.init, buffer.ty, buffer.bytes(), plan)?)?;
                Ok(memory)
            })
            .collect::<Result<_, DeviceError>>()?;
        let textures = self.textures(plan, &memory)?;
        let bits = |argument: &PlannedArgument| match argument {
            _ if texture_of(plan, argument).is_some() => texture_of(plan, argument)
                .and_then(|index| textures.get(index))
                .map(|texture| texture.handle)
                .ok_or_else(|| refused("a handle leads to no texture")),
            PlannedArgument::Pointer(pointer) => memory
                .get(pointer.buffer)
                .map(|memory| memory.address + pointer.offset)
                .ok_or_else(|| refused("a pointer leads to no buffer")),
            PlannedArgument::Scalar { bits, .. } => Ok(*bits),
            PlannedArgument::Structure(_) => Err(refused("structures are not passed to a device")),
        };
        let arguments: Vec<u64> = launch.arguments.iter().map(bits).collect::<Result<_, _>>()?;
        // Without a flush, each trial finds what the one before it left.
        let is_cold = plan.l2 == L2Contents::Cold;
        self.timed(&Timing { launcher: &launcher, arguments, launches: 1, is_cold, trials })
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

/// The number of a kernel's parameters, each of which is passed as bits.
fn parameters(plan: &Plan, kernel: &str) -> Result<usize, DeviceError> {
    let refused = |what: String| DeviceError(format!("{}: {what}", plan.module.name));
    let loaded = module::load(plan).map_err(|reports| {
        let first = reports.first().map(ToString::to_string).unwrap_or_default();
        refused(first)
    })?;
    let function = loaded.module.functions.iter().find(|one| one.name == kernel);
    let function = function.ok_or_else(|| refused(format!("there is no kernel {kernel}")))?;
    let variables = &loaded.module.variables;
    // Parameters of kernels are variables; those in registers are of device functions.
    let is_passed = |one: &Formal| match one {
        Formal::Variable(id) => {
            variables.get(id.index()).is_some_and(|variable| variable.size_bytes <= MOST_BYTES)
        }
        Formal::Register(_) => false,
    };
    match function.params.iter().all(is_passed) {
        true => Ok(function.params.len()),
        false => Err(refused("structures are not passed to a device".to_owned())),
    }
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
