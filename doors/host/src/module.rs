//! Modules that the program loads: from an image to kernels that run and variables with addresses.
//!
//! Everything is done when it is first needed: the PTX is parsed at the first use of a name,
//! variables get their memory then, and a kernel is lowered at its first launch. Libraries register
//! thousands of kernels of which a program uses few.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gpucast_counters::DeviceModel;
use gpucast_counters::occupancy::CtaShape;
use gpucast_forecast::Failure;
use gpucast_forecast::failure::SourceText;
use gpucast_forecast::input::kernel_name;
use gpucast_forecast::run::execute::{self, Loaded};
use gpucast_forecast::run::machine::Machine;
use gpucast_interpreter::program::{LowerError, Parameter};
use gpucast_interpreter::{ModuleInstance, Program as KernelProgram};
use gpucast_ptx_frontend::container::{self, Contents, SelectError, Target};
use gpucast_ptx_frontend::module::VariableId;
use gpucast_ptx_frontend::types::StateSpace;

use crate::block::{BlockKind, BlockRange};
use crate::request::FunctionId;
use crate::{Device, Error, linking};

/// A module, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleId(pub usize);

/// The bytes that a module is made of.
#[derive(Clone, Copy, Debug)]
pub enum Image<'a> {
    /// Bytes that live as long as the program; they are looked at when they are needed.
    Static(&'static [u8]),
    /// Bytes that are looked at now.
    Given(&'a [u8]),
    /// The images of several translation units, which are linked now. Those without PTX are left
    /// out if another one has some.
    Units(&'a [&'static [u8]]),
}

/// Static shared memory of a CTA that needs no attribute (CUDA programming guide).
const PORTABLE_SHARED_BYTES: u64 = 48 << 10;

/// What a program can ask of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionFacts {
    /// Static shared memory in bytes.
    pub shared_bytes: u64,
    /// Constant memory of the module in bytes.
    pub constant_bytes: u64,
    /// Local memory of a thread in bytes.
    pub local_bytes: u64,
    /// Threads of the largest CTA.
    pub max_threads: u32,
    /// Registers of a thread; 0 where no machine code says it.
    pub registers: u32,
    /// The PTX's target, ten times the compute capability.
    pub target: u32,
    /// The most dynamic shared memory of a launch in bytes.
    pub max_dynamic_shared_bytes: u64,
}

/// A kernel that is ready to run.
pub(crate) struct Kernel {
    pub(crate) program: KernelProgram,
    pub(crate) machine: Machine,
    /// True if its counts are the same whatever memory holds.
    pub(crate) ignores_contents: bool,
    /// What counts its large launches ([`stand_in`]), once one was to be counted.
    pub(crate) stand_in: OnceLock<Option<KernelProgram>>,
    /// The name that people read.
    pub(crate) name: String,
}

/// A function as the program knows it.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: ModuleId,
    pub(crate) name: String,
    /// Bytes of dynamic shared memory that the program asked for, where it did.
    pub(crate) dynamic_shared_bytes: Option<u64>,
}

/// A module of the program.
pub(crate) enum Module {
    /// Nobody has used it.
    Pending(&'static [u8]),
    /// In device memory.
    Ready(Box<Ready>),
    /// It cannot be used; the user was told why.
    Broken(Error),
}

pub(crate) struct Ready {
    pub(crate) loaded: Loaded,
    pub(crate) instance: ModuleInstance,
    pub(crate) kernels: HashMap<String, Arc<Kernel>>,
}

impl Device {
    /// Takes up a module.
    ///
    /// # Errors
    ///
    /// Of an image that is given, everything that is wrong with it; of a static one, nothing yet.
    pub fn load(&mut self, image: Image<'_>) -> Result<ModuleId, Error> {
        self.usable()?;
        let module = match image {
            Image::Static(bytes) => Module::Pending(bytes),
            Image::Given(bytes) => Module::Ready(Box::new(self.read(bytes)?)),
            Image::Units(units) => Module::Ready(Box::new(self.linked(units)?)),
        };
        self.modules.push(module);
        Ok(ModuleId(self.modules.len() - 1))
    }

    /// Frees a module's variables. Its functions cannot be launched any more.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if it does not exist any more.
    pub fn unload(&mut self, id: ModuleId) -> Result<(), Error> {
        let module = self.modules.get_mut(id.0).ok_or(Error::InvalidHandle)?;
        match std::mem::replace(module, Module::Broken(Error::InvalidHandle)) {
            Module::Broken(error) => Err(error),
            Module::Pending(_) => Ok(()),
            Module::Ready(ready) => {
                for range in ready.instance.unload(&mut self.memory) {
                    let kind = BlockKind::Variable;
                    let (address, bytes) = (range.address, range.bytes);
                    self.remove_block(BlockRange { address, bytes, kind });
                    self.bindings.forget(address, &mut self.memory.textures);
                    self.arena.release(address, bytes);
                }
                Ok(())
            }
        }
    }

    /// The module, made ready if it is not.
    fn ready(&mut self, id: ModuleId) -> Result<&mut Ready, Error> {
        if let Some(&Module::Pending(bytes)) = self.modules.get(id.0) {
            let module = match self.read(bytes) {
                Ok(ready) => Module::Ready(Box::new(ready)),
                Err(error) => Module::Broken(error),
            };
            self.modules[id.0] = module;
        }
        match self.modules.get_mut(id.0) {
            Some(Module::Ready(ready)) => Ok(ready),
            Some(&mut Module::Broken(error)) => Err(error),
            Some(Module::Pending(_)) | None => Err(Error::InvalidHandle),
        }
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Ready, Error> {
        match self.ptx(bytes) {
            Ok(source) => {
                let completed = linking::completed(&source.text);
                match completed.map_err(|error| self.unlinked(&error))? {
                    Some(text) => self.read_source(SourceText::new(source.name, text)),
                    None => self.read_source(source),
                }
            }
            Err(refusal) => Err(self.refused(&refusal)),
        }
    }

    /// Several translation units as one module.
    fn linked(&mut self, units: &[&[u8]]) -> Result<Ready, Error> {
        let (mut texts, mut without) = (Vec::new(), None);
        for unit in units {
            match self.ptx(unit) {
                Ok(source) => texts.push(source.text.to_string()),
                Err(refusal) => drop(without.get_or_insert(refusal)),
            }
        }
        if let Some(refusal) = without.filter(|_| texts.is_empty()) {
            return Err(self.refused(&refusal));
        }
        let linked = linking::link(&texts).map_err(|error| self.unlinked(&error))?;
        self.read_source(SourceText::new("linked.ptx".to_owned(), linked))
    }

    fn unlinked(&self, error: &linking::LinkError) -> Error {
        self.program.note(&format!("the program's modules cannot be linked: {error}"));
        Error::InvalidPtx
    }

    fn refused(&self, refusal: &Refusal) -> Error {
        self.program.note(&refusal.message);
        refusal.error
    }

    fn read_source(&mut self, source: SourceText) -> Result<Ready, Error> {
        let loaded = match execute::load(&source) {
            Ok(loaded) => loaded,
            Err(reports) => {
                reports.iter().for_each(|report| self.program.note(&report.to_string()));
                return Err(Error::InvalidPtx);
            }
        };
        if loaded.module.address_bits != 64 {
            self.program.note("a module has addresses of 32 bits; compile it for 64 (`nvcc -m64`)");
            return Err(Error::InvalidPtx);
        }
        let instance = match ModuleInstance::load(&loaded.module, &mut self.memory) {
            Ok(instance) => instance,
            Err(error) => {
                self.program.note(&format!("{}: {error}", loaded.source.name));
                return Err(Error::OutOfMemory);
            }
        };
        for (index, variable) in loaded.module.variables.iter().enumerate() {
            if let Some(address) = instance.address(VariableId(index as u32)) {
                let kind = BlockKind::Variable;
                self.add_block(BlockRange { address, bytes: variable.size_bytes, kind });
            }
        }
        Ok(Ready { loaded, instance, kernels: HashMap::new() })
    }

    /// The PTX of an image that runs on the modelled GPU.
    fn ptx(&self, bytes: &[u8]) -> Result<SourceText, Refusal> {
        let damaged = |error: &dyn std::fmt::Display| Refusal {
            error: Error::InvalidImage,
            message: format!("a module cannot be read: {error}"),
        };
        let contents = container::open(bytes).map_err(|error| damaged(&error))?;
        let target = Target::from(self.properties.capability());
        let selection =
            container::best_ptx(&contents, Some(target)).map_err(|error| match error {
                SelectError::Container(error) => damaged(&error),
                error => without_ptx(&contents, &error),
            })?;
        let text = selection.entry.ptx_text().map_err(|error| damaged(&error))?;
        let name = selection.entry.name.clone().unwrap_or_else(|| "module.ptx".to_owned());
        Ok(SourceText::new(name, text))
    }

    /// A function of a module by its name in the PTX. Nothing is checked yet.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if the module does not exist.
    pub fn register(&mut self, module: ModuleId, name: &str) -> Result<FunctionId, Error> {
        if module.0 >= self.modules.len() {
            return Err(Error::InvalidHandle);
        }
        self.functions.push(Function { module, name: name.to_owned(), dynamic_shared_bytes: None });
        Ok(FunctionId(self.functions.len() - 1))
    }

    /// A function of a module that has it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the module has no such kernel.
    pub fn function(&mut self, module: ModuleId, name: &str) -> Result<FunctionId, Error> {
        let ready = self.ready(module)?;
        let known = KernelProgram::kernels(&ready.loaded.module).any(|kernel| kernel == name);
        if !known {
            return Err(Error::NotFound);
        }
        let of_module = |one: &Function| one.module == module && one.name == name;
        match self.functions.iter().position(of_module) {
            Some(at) => Ok(FunctionId(at)),
            None => self.register(module, name),
        }
    }

    /// The names of a module's kernels.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the module.
    pub fn function_names(&mut self, module: ModuleId) -> Result<Vec<String>, Error> {
        let ready = self.ready(module)?;
        Ok(KernelProgram::kernels(&ready.loaded.module).map(str::to_owned).collect())
    }

    /// The place of a module's variable in global or constant memory.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the module has none of this name, and everything that is wrong with
    /// the module.
    pub fn variable(&mut self, module: ModuleId, name: &str) -> Result<BlockRange, Error> {
        let ready = self.ready(module)?;
        let mut variables = ready.loaded.module.variables.iter().enumerate();
        let found = variables.find(|(_, one)| one.name == name && one.function.is_none());
        let (index, variable) = found.ok_or(Error::NotFound)?;
        let address = ready.instance.address(VariableId(index as u32)).ok_or(Error::NotFound)?;
        Ok(BlockRange { address, bytes: variable.size_bytes, kind: BlockKind::Variable })
    }

    pub(crate) fn function_of(&self, id: FunctionId) -> Result<&Function, Error> {
        self.functions.get(id.0).ok_or(Error::InvalidFunction)
    }

    /// The kernel of a function, ready to run.
    pub(crate) fn kernel(&mut self, id: FunctionId) -> Result<Arc<Kernel>, Error> {
        let Function { module, name, .. } = self.function_of(id)?;
        let (module, name) = (*module, name.clone());
        let program = Arc::clone(&self.program);
        let capability = self.counting.device.capability;
        let settings = self.counting.machine.clone();
        let ready = self.ready(module)?;
        if let Some(kernel) = ready.kernels.get(&name) {
            return Ok(Arc::clone(kernel));
        }
        let loaded = &ready.loaded;
        let lowered = KernelProgram::new(&loaded.module, &loaded.source.text, &name);
        let lowered = lowered.map_err(|error| {
            program.note(&format!("{}: {error}", loaded.source.name));
            match error {
                LowerError::NoSuchKernel { .. } => Error::InvalidFunction,
                LowerError::Unsupported { .. } => Error::NotSupported,
            }
        })?;
        let lowered = lowered.in_instance(&ready.instance);
        let names = std::iter::once(name.as_str());
        let machine = Machine::new(&settings, loaded, capability, names, program.toolchain());
        let machine = machine.map_err(|failure: Failure| {
            program.note(&failure.to_string());
            Error::Unknown
        })?;
        if let Some(note) = &machine.note {
            program.note(note);
        }
        let readable = kernel_name::readable(&name);
        let ignores_contents = lowered.counts_ignore_contents(&loaded.module);
        let stand_in = OnceLock::new();
        let kernel =
            Kernel { program: lowered, machine, ignores_contents, stand_in, name: readable };
        let kernel = Arc::new(kernel);
        ready.kernels.insert(name, Arc::clone(&kernel));
        Ok(kernel)
    }

    /// The text and module of a function, for messages.
    pub(crate) fn loaded(&self, id: FunctionId) -> Option<&Loaded> {
        loaded_of(&self.modules, &self.functions, id)
    }

    /// The parameters of a kernel, in order.
    ///
    /// # Errors
    ///
    /// Everything that keeps the kernel from running.
    pub fn parameters(&mut self, id: FunctionId) -> Result<Vec<Parameter>, Error> {
        Ok(self.kernel(id)?.program.parameters().to_vec())
    }

    /// The facts of a kernel that a program may ask for.
    ///
    /// # Errors
    ///
    /// Everything that keeps the kernel from running.
    pub fn facts(&mut self, id: FunctionId) -> Result<FunctionFacts, Error> {
        let kernel = self.kernel(id)?;
        let of_space = |space| {
            let variables =
                kernel.program.variables().iter().filter(move |variable| variable.space == space);
            variables.map(|variable| variable.offset + variable.bytes).max().unwrap_or(0)
        };
        let constant_bytes = self.loaded(id).map_or(0, |loaded| {
            let all = loaded.module.variables.iter();
            all.filter(|variable| variable.space == StateSpace::Const)
                .map(|variable| variable.size_bytes)
                .sum()
        });
        Ok(FunctionFacts {
            shared_bytes: kernel.program.static_shared_bytes(),
            constant_bytes,
            local_bytes: of_space(StateSpace::Local),
            max_threads: self.max_threads(&kernel),
            registers: self.registers(&kernel),
            target: kernel.program.target_sm(),
            max_dynamic_shared_bytes: self.most_dynamic_shared_bytes(id, &kernel)?,
        })
    }

    /// Threads of the largest CTA that the registers of an SM suffice for, in whole warps.
    fn max_threads(&self, kernel: &Kernel) -> u32 {
        let most = self.properties.max_threads_per_block();
        let fits = |&warps: &u32| self.fits(kernel, u64::from(32 * warps), 0);
        (1..=most / 32).rev().find(fits).map_or(most, |warps| 32 * warps)
    }

    /// Returns true if an SM holds a CTA of the kernel. Registers that nobody knows fit.
    pub(crate) fn fits(&self, kernel: &Kernel, threads: u64, dynamic_shared_bytes: u64) -> bool {
        let shape = cta_shape(self.properties.model(), kernel, threads, dynamic_shared_bytes);
        self.properties.model().occupancy(shape).ctas_per_sm > 0
    }

    /// Registers of a thread; 0 where nothing says it.
    fn registers(&self, kernel: &Kernel) -> u32 {
        let registers = kernel.machine.thread_registers(&kernel.program, self.properties.model());
        registers.map_or(0, |registers| registers.count)
    }

    /// The most dynamic shared memory that a launch may have.
    pub(crate) fn most_dynamic_shared_bytes(
        &self,
        id: FunctionId,
        kernel: &Kernel,
    ) -> Result<u64, Error> {
        let portable = PORTABLE_SHARED_BYTES.saturating_sub(kernel.program.static_shared_bytes());
        Ok(self.function_of(id)?.dynamic_shared_bytes.unwrap_or(0).max(portable))
    }

    /// Lets a kernel have more dynamic shared memory.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if the modelled GPU has not so much.
    pub fn allow_dynamic_shared(&mut self, id: FunctionId, bytes: u64) -> Result<(), Error> {
        let kernel = self.kernel(id)?;
        let all = bytes.saturating_add(kernel.program.static_shared_bytes());
        if all > self.properties.max_shared_bytes_per_block() {
            return Err(Error::InvalidValue);
        }
        let function = self.functions.get_mut(id.0).ok_or(Error::InvalidFunction)?;
        function.dynamic_shared_bytes = Some(bytes);
        Ok(())
    }

    /// CTAs of a kernel that an SM of the modelled GPU runs at the same time.
    ///
    /// # Errors
    ///
    /// Everything that keeps the kernel from running.
    pub fn ctas_per_sm(
        &mut self,
        id: FunctionId,
        threads: u64,
        dynamic_shared_bytes: u64,
    ) -> Result<u32, Error> {
        let kernel = self.kernel(id)?;
        let shape = cta_shape(self.properties.model(), &kernel, threads, dynamic_shared_bytes);
        Ok(self.properties.model().occupancy(shape).ctas_per_sm)
    }
}

/// The text and module of a function among these.
pub(crate) fn loaded_of<'a>(
    modules: &'a [Module],
    functions: &[Function],
    id: FunctionId,
) -> Option<&'a Loaded> {
    match modules.get(functions.get(id.0)?.module.0)? {
        Module::Ready(ready) => Some(&ready.loaded),
        Module::Pending(_) | Module::Broken(_) => None,
    }
}

/// What a CTA of a kernel takes of an SM.
fn cta_shape(
    device: &DeviceModel,
    kernel: &Kernel,
    threads: u64,
    dynamic_shared_bytes: u64,
) -> CtaShape {
    let registers = kernel.machine.thread_registers(&kernel.program, device);
    CtaShape {
        threads,
        shared_bytes: kernel.program.static_shared_bytes().saturating_add(dynamic_shared_bytes),
        registers_per_thread: registers
            .map(|registers| device.registers_of_thread(registers, threads)),
    }
}

/// Reason why an image is of no use.
struct Refusal {
    error: Error,
    message: String,
}

/// What to do about an image without PTX.
fn without_ptx(contents: &Contents<'_>, error: &SelectError) -> Refusal {
    let targets: Vec<String> = contents
        .cubins()
        .filter_map(|entry| entry.target.map(|target| target.to_string()))
        .collect();
    let message = match targets.as_slice() {
        [] => format!("a module has no PTX: {error}"),
        targets => format!(
            "a module has machine code alone ({}), and gpucast executes PTX. Compile it with PTX \
             (`nvcc -gencode arch=compute_80,code=compute_80`). PyTorch's and cuBLAS's own kernels \
             come without: write them in Triton, Numba or CUDA",
            targets.join(", ")
        ),
    };
    Refusal { error: Error::NoImageForDevice, message }
}
