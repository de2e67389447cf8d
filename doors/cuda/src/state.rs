//! The one device of the process, and what programs have registered for it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gpucast_host::report::ProcessReport;
use gpucast_host::{BlockRange, Device, Error, FunctionId, Image, ModuleId, Settings};

use crate::notices::{self, ThisProcess};
use crate::texture::TextureReference;

static STATE: Mutex<State> = Mutex::new(State::new());

/// The interface by which the program began to use CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// By none yet.
    Not,
    /// By `cuInit`.
    ByDriver,
    /// By the runtime, which initialises the driver and makes a context for each thread.
    ByRuntime,
}

static BEGUN: AtomicU8 = AtomicU8::new(Begun::Not as u8);

/// The interface that the program has begun with.
pub(crate) fn begun() -> Begun {
    match BEGUN.load(Ordering::Relaxed) {
        by if by == Begun::ByRuntime as u8 => Begun::ByRuntime,
        by if by == Begun::ByDriver as u8 => Begun::ByDriver,
        _ => Begun::Not,
    }
}

/// The program begins by an interface. One that has used the runtime stays with it.
pub(crate) fn begin(by: Begun) {
    BEGUN.fetch_max(by as u8, Ordering::Relaxed);
}

/// True if a timeline has the program's calls. Nobody knows before there is a device.
static TOLD: OnceLock<bool> = OnceLock::new();

thread_local! {
    /// The call that this thread is in, while there is no device.
    static FIRST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes a call of an interface, and tells the timeline of it if there is one.
pub(crate) fn told<T>(name: &str, call: impl FnOnce() -> T) -> T {
    // A timeline without a call is no reason to fail one.
    match TOLD.get() {
        Some(false) => return call(),
        Some(true) => {
            let _ = on_device(|device| {
                device.call_begins(name);
                Ok(())
            });
        }
        // The call that makes the device begins with it.
        None => FIRST.set(Some(name.to_owned())),
    }
    let result = call();
    FIRST.take();
    if TOLD.get() == Some(&true) {
        let _ = on_device(|device| {
            device.call_ends();
            Ok(())
        });
    }
    result
}

/// A fatbin that a program registers before `main`.
struct Registered {
    /// The fatbins of its translation units: one, unless units are linked when it is used.
    units: Vec<&'static [u8]>,
    module: Option<ModuleId>,
}

/// A variable or function of a registered fatbin.
#[derive(Clone)]
struct Named {
    /// Index of the fatbin.
    image: usize,
    name: String,
}

/// Everything behind both interfaces.
pub(crate) struct State {
    device: Option<Result<Box<Device>, Error>>,
    /// The process that made the device. Its children by `fork` cannot use it, as with CUDA.
    process: u32,
    images: Vec<Registered>,
    /// By the address of the host's function.
    functions: Option<HashMap<u64, (Named, Option<FunctionId>)>>,
    /// By the address of the host's variable.
    variables: Option<HashMap<u64, Named>>,
    /// Texture and surface variables, by the address of their structures on the host. True where
    /// whole numbers are read as fractions.
    textures: Option<HashMap<u64, (Named, bool)>>,
    /// How the driver's texture references are read, by the addresses of their variables.
    pub(crate) references: BTreeMap<u64, TextureReference>,
    /// Managed variables whose pointers have no value yet: the pointer's address, and the name.
    managed: Vec<(u64, Named)>,
    /// The kernel of each PTX text that was run by itself.
    texts: Option<HashMap<String, FunctionId>>,
    /// The last report that was written before the end.
    meanwhile: Option<Meanwhile>,
}

/// A report that was written while the program ran.
#[derive(Clone, Copy)]
struct Meanwhile {
    at: Instant,
    /// Duration of writing it.
    took: Duration,
}

impl Meanwhile {
    /// The least time between two, in durations of writing one and at all.
    const PAUSES: u32 = 20;
    const PAUSE: Duration = Duration::from_secs(1);

    fn is_due(self) -> bool {
        self.at.elapsed() >= Self::PAUSE.max(Self::PAUSES * self.took)
    }
}

/// Runs a call on the device; one thread at a time.
pub(crate) fn with<T>(call: impl FnOnce(&mut State) -> Result<T, Error>) -> Result<T, Error> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        state.report_meanwhile();
        call(&mut state)
    }));
    outcome.unwrap_or_else(|_| {
        notices::once("an internal error ended a call; please report it");
        Err(Error::Unknown)
    })
}

/// [`with`], for calls that need the device.
pub(crate) fn on_device<T>(call: impl FnOnce(&mut Device) -> Result<T, Error>) -> Result<T, Error> {
    with(|state| call(state.device()?))
}

impl State {
    const fn new() -> Self {
        Self {
            device: None,
            process: 0,
            images: Vec::new(),
            functions: None,
            variables: None,
            textures: None,
            references: BTreeMap::new(),
            managed: Vec::new(),
            texts: None,
            meanwhile: None,
        }
    }

    /// Writes a report now and then: a signal may end the program, and what it has done is told
    /// then.
    fn report_meanwhile(&mut self) {
        let Some(Ok(device)) = &self.device else { return };
        let Some(folder) = &device.settings().report_folder else { return };
        let begins = Instant::now();
        let last = *self.meanwhile.get_or_insert(Meanwhile { at: begins, took: Duration::ZERO });
        if !last.is_due() {
            return;
        }
        let report = device.report();
        if !report.is_empty() && self.process == report.pid {
            write(&report, folder);
        }
        self.meanwhile = Some(Meanwhile { at: Instant::now(), took: begins.elapsed() });
    }

    /// The number of a kernel's fault, which lasts; 0 if there was none.
    pub(crate) fn fault(&self) -> i32 {
        match &self.device {
            Some(Ok(device)) => device.usable().map_or_else(Error::code, |()| 0),
            Some(Err(_)) | None => 0,
        }
    }

    /// The device, made when it is first needed.
    pub(crate) fn device(&mut self) -> Result<&mut Device, Error> {
        let device = self.device.get_or_insert_with(|| {
            self.process = std::process::id();
            let device = Settings::of_environment().and_then(|settings| {
                let is_told = settings.keep_timeline;
                let mut device = Device::new(settings, Arc::new(ThisProcess::new()))?;
                let first = FIRST.take().filter(|_| is_told);
                first.iter().for_each(|name| device.call_begins(name));
                // There is one device, so this is the first time.
                let _ = TOLD.set(is_told);
                Ok(device)
            });
            crate::abi::at_exit(report_at_exit);
            device.map(Box::new).map_err(|report| {
                notices::once(&report.to_string());
                Error::NotInitialized
            })
        });
        match device {
            Ok(_) if self.process != std::process::id() => Err(Error::NotInitialized),
            Ok(device) => Ok(device),
            Err(error) => Err(*error),
        }
    }

    /// Takes up a fatbin and returns its number.
    pub(crate) fn register_image(&mut self, units: Vec<&'static [u8]>) -> usize {
        self.images.push(Registered { units, module: None });
        self.images.len() - 1
    }

    pub(crate) fn register_function(&mut self, image: usize, host: u64, name: &str) {
        let named = Named { image, name: name.to_owned() };
        self.functions.get_or_insert_default().insert(host, (named, None));
    }

    pub(crate) fn register_variable(&mut self, image: usize, host: u64, name: &str) {
        let named = Named { image, name: name.to_owned() };
        self.variables.get_or_insert_default().insert(host, named);
    }

    pub(crate) fn register_texture(
        &mut self,
        image: usize,
        host: u64,
        name: &str,
        fractions: bool,
    ) {
        let named = Named { image, name: name.to_owned() };
        self.textures.get_or_insert_default().insert(host, (named, fractions));
    }

    pub(crate) fn register_managed(&mut self, image: usize, pointer: u64, name: &str) {
        self.managed.push((pointer, Named { image, name: name.to_owned() }));
    }

    /// Forgets a fatbin with its functions and variables.
    pub(crate) fn unregister(&mut self, image: usize) {
        if let Some(functions) = &mut self.functions {
            functions.retain(|_, (named, _)| named.image != image);
        }
        if let Some(variables) = &mut self.variables {
            variables.retain(|_, named| named.image != image);
        }
        if let Some(textures) = &mut self.textures {
            textures.retain(|_, (named, _)| named.image != image);
        }
        self.managed.retain(|(_, named)| named.image != image);
        let module = self.images.get_mut(image).and_then(|images| images.module.take());
        if let (Some(module), Ok(device)) = (module, self.device()) {
            // The program ends, or unloads the library: nobody hears of errors.
            let _ = device.unload(module);
        }
    }

    /// The module of a fatbin.
    fn module(&mut self, image: usize) -> Result<ModuleId, Error> {
        let registered = self.images.get(image).ok_or(Error::InvalidHandle)?;
        if let Some(module) = registered.module {
            return Ok(module);
        }
        let units = registered.units.clone();
        let image_of_units = match *units.as_slice() {
            [only] => Image::Static(only),
            _ => Image::Units(&units),
        };
        let module = self.device()?.load(image_of_units)?;
        self.images[image].module = Some(module);
        Ok(module)
    }

    /// The function behind a host's function.
    pub(crate) fn function(&mut self, host: u64) -> Result<FunctionId, Error> {
        let functions = self.functions.get_or_insert_default();
        let (named, known) = functions.get(&host).ok_or(Error::InvalidFunction)?;
        if let Some(function) = known {
            return Ok(*function);
        }
        let named = named.clone();
        let module = self.module(named.image)?;
        let function = self.device()?.register(module, &named.name)?;
        self.functions.get_or_insert_default().insert(host, (named, Some(function)));
        Ok(function)
    }

    /// The host's function that stands for a function.
    pub(crate) fn host_function(&self, function: FunctionId) -> Result<u64, Error> {
        let mut all = self.functions.iter().flatten();
        let found = all.find(|(_, (_, known))| *known == Some(function));
        found.map(|(&host, _)| host).ok_or(Error::InvalidFunction)
    }

    /// The first kernel of a PTX text, which is read when it is first asked for.
    pub(crate) fn kernel_of_text(&mut self, text: &str) -> Result<FunctionId, Error> {
        if let Some(function) = self.texts.get_or_insert_default().get(text) {
            return Ok(*function);
        }
        let device = self.device()?;
        let module = device.load(Image::Given(text.as_bytes()))?;
        let names = device.function_names(module)?;
        let function = device.function(module, names.first().ok_or(Error::NotFound)?)?;
        self.texts.get_or_insert_default().insert(text.to_owned(), function);
        Ok(function)
    }

    /// The place of the variable behind a host's variable.
    pub(crate) fn variable(&mut self, host: u64) -> Result<BlockRange, Error> {
        let variables = self.variables.get_or_insert_default();
        let named = variables.get(&host).cloned().ok_or(Error::InvalidSymbol)?;
        let module = self.module(named.image)?;
        let found = self.device()?.variable(module, &named.name);
        found.map_err(|error| if error == Error::NotFound { Error::InvalidSymbol } else { error })
    }

    /// The place of the texture or surface variable behind a structure of the host, and whether
    /// whole numbers are read as fractions.
    pub(crate) fn texture(&mut self, host: u64) -> Result<(BlockRange, bool), Error> {
        let textures = self.textures.get_or_insert_default();
        let (named, fractions) = textures.get(&host).cloned().ok_or(Error::InvalidTexture)?;
        let module = self.module(named.image)?;
        Ok((self.device()?.variable(module, &named.name)?, fractions))
    }

    /// Gives the pointers of managed variables their values.
    pub(crate) fn place_managed(&mut self) -> Result<(), Error> {
        for (pointer, named) in std::mem::take(&mut self.managed) {
            let module = self.module(named.image)?;
            let place = self.device()?.variable(module, &named.name)?;
            crate::abi::set_pointer(pointer, place.address);
            // Copies by symbol name the pointer as well as the variable.
            self.variables.get_or_insert_default().insert(pointer, named);
        }
        Ok(())
    }
}

/// The program ends.
extern "C" fn report_at_exit() {
    report(true);
}

/// Writes the report of this process: into the folder that `gpucast exec` gave, or at the `end` to
/// the standard error. The last of several calls leaves the whole report.
pub(crate) fn report(end: bool) {
    let written = with(|state| {
        let Some(Ok(device)) = &state.device else { return Ok(()) };
        let report = device.report();
        if report.is_empty() || state.process != report.pid {
            return Ok(());
        }
        match &device.settings().report_folder {
            None if end => notices::print(&report.text()),
            None => {}
            Some(folder) => write(&report, folder),
        }
        Ok(())
    });
    // Errors were told; the program ends in any case.
    let _ = written;
}

/// Writes a report in place of an earlier one of the process. Whoever reads the folder finds a
/// whole one, whenever the process ends.
fn write(report: &ProcessReport, folder: &Path) {
    let (path, part) = (folder.join(format!("{}.json", report.pid)), folder.join("part"));
    let part = part.with_extension(report.pid.to_string());
    let text = serde_json::to_string(report).unwrap_or_default();
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &path));
    if let Err(error) = written {
        notices::once(&format!("cannot write {}: {error}", path.display()));
    }
}
