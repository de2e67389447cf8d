//! NVRTC, NVIDIA's library that compiles CUDA at run time. It is loaded when CUDA source is to be
//! compiled, and needs neither a GPU nor a driver.

#![allow(
    unsafe_code,
    reason = "a C library that is found at run time can only be called through its symbols"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use gpucast_ptx_frontend::container::Target;
use libloading::{Library, Symbol};

use super::headers::HEADERS;

/// `nvrtcProgram`.
type Program = *mut c_void;

/// The library's functions; each returns an `nvrtcResult`, 0 for success.
/// <https://docs.nvidia.com/cuda/nvrtc/index.html>
mod signature {
    use super::{Program, c_char, c_int};

    pub(super) type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    pub(super) type Number = unsafe extern "C" fn(*mut c_int) -> c_int;
    pub(super) type Create = unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int;
    pub(super) type AddName = unsafe extern "C" fn(Program, *const c_char) -> c_int;
    pub(super) type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
    pub(super) type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
    pub(super) type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
    pub(super) type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
    pub(super) type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;
}

/// A text with everything that NVRTC needs to compile it.
pub(super) struct Unit<'a> {
    /// The source's name, for complaints.
    pub(super) name: &'a str,
    pub(super) text: String,
    /// Names and texts of headers, which go before those of folders.
    pub(super) headers: Vec<(String, String)>,
    pub(super) options: Vec<String>,
    /// Instances of templates.
    pub(super) instances: Vec<String>,
}

/// The product of a compilation.
pub(super) struct Outcome {
    /// The PTX, unless there are errors.
    pub(super) ptx: Option<String>,
    /// Errors and warnings.
    pub(super) log: String,
}

/// The loaded library.
pub(super) struct Nvrtc {
    library: Library,
}

/// A program of the library, which ends with this value.
struct Owned<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        if let Ok(destroy) = self.nvrtc.symbol::<signature::Destroy>("nvrtcDestroyProgram") {
            // SAFETY: the program was made by this library and is destroyed once.
            let _ = unsafe { destroy(&raw mut self.program) };
        }
    }
}

impl Nvrtc {
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: the file is NVRTC by its name and place; its initialisers are those of a C++
        // runtime and rely on nothing here.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        Ok(Self { library })
    }

    /// A function of the library. The caller says its type.
    fn symbol<T>(&self, name: &str) -> Result<Symbol<'_, T>, String> {
        // SAFETY: every `T` is a type of `signature`, named for the function that NVIDIA's
        // documentation declares so since CUDA 11.2.
        unsafe { self.library.get(name.as_bytes()) }.map_err(|error| error.to_string())
    }

    pub(super) fn version(&self) -> Result<(i32, i32), String> {
        let version = self.symbol::<signature::Version>("nvrtcVersion")?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are valid for the call.
        self.check(unsafe { version(&raw mut major, &raw mut minor) })?;
        Ok((major, minor))
    }

    /// The architectures that it compiles for, in ascending order.
    pub(super) fn targets(&self) -> Result<Vec<Target>, String> {
        let number = self.symbol::<signature::Number>("nvrtcGetNumSupportedArchs")?;
        let list = self.symbol::<signature::Number>("nvrtcGetSupportedArchs")?;
        let mut count: c_int = 0;
        // SAFETY: the pointer is valid for the call.
        self.check(unsafe { number(&raw mut count) })?;
        let mut values: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        if values.is_empty() {
            return Ok(Vec::new());
        }
        // SAFETY: the library writes as many numbers as it said there are.
        self.check(unsafe { list(values.as_mut_ptr()) })?;
        let mut targets: Vec<Target> =
            values.iter().filter_map(|sm| format!("sm_{sm}").parse().ok()).collect();
        targets.sort();
        Ok(targets)
    }

    pub(super) fn compile(&self, unit: &Unit<'_>) -> Result<Outcome, String> {
        let terminated = |text: &str| CString::new(text).map_err(|_| "a text holds a zero byte");
        let all = |texts: &[String]| {
            texts.iter().map(|text| terminated(text)).collect::<Result<Vec<_>, _>>()
        };
        let source = terminated(&unit.text)?;
        let name = terminated(unit.name)?;
        let options = all(&unit.options)?;
        let instances = all(&unit.instances)?;
        // The first header of a name counts.
        let built_in = HEADERS.iter().map(|one| (one.name, one.text));
        let own = unit.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let headers: Vec<(&str, &str)> = own.chain(built_in).collect();
        let texts =
            headers.iter().map(|(_, text)| terminated(text)).collect::<Result<Vec<_>, _>>()?;
        let names =
            headers.iter().map(|(name, _)| terminated(name)).collect::<Result<Vec<_>, _>>()?;
        let pointers =
            |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let (texts, names) = (pointers(&texts), pointers(&names));
        let create = self.symbol::<signature::Create>("nvrtcCreateProgram")?;
        let mut program: Program = ptr::null_mut();
        // SAFETY: all texts end in zero and outlive the call, which copies them; the two lists have
        // as many entries as it is told.
        self.check(unsafe {
            create(
                &raw mut program,
                source.as_ptr(),
                name.as_ptr(),
                headers.len() as c_int,
                texts.as_ptr(),
                names.as_ptr(),
            )
        })?;
        let owned = Owned { nvrtc: self, program };
        let add = self.symbol::<signature::AddName>("nvrtcAddNameExpression")?;
        for instance in &instances {
            // SAFETY: the program lives, and the text ends in zero; the call copies it.
            self.check(unsafe { add(owned.program, instance.as_ptr()) })?;
        }
        let options = pointers(&options);
        let compile = self.symbol::<signature::Compile>("nvrtcCompileProgram")?;
        // SAFETY: the program lives, and the options are as many as it is told.
        let result = unsafe { compile(owned.program, options.len() as c_int, options.as_ptr()) };
        let log = self.text(&owned, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?;
        // Errors in the source are no errors of the library.
        const COMPILATION: c_int = 6;
        // An instance of a template that does not exist comes with no complaint.
        const NAME_NOT_VALID: c_int = 10;
        if matches!(result, COMPILATION | NAME_NOT_VALID) {
            return Ok(Outcome { ptx: None, log });
        }
        self.check(result).map_err(|error| format!("{error} {log}").trim().to_owned())?;
        let ptx = self.text(&owned, "nvrtcGetPTXSize", "nvrtcGetPTX")?;
        Ok(Outcome { ptx: Some(ptx), log })
    }

    /// A text of a program, by the function for its size and the one for the text.
    fn text(&self, owned: &Owned, size: &str, text: &str) -> Result<String, String> {
        let size = self.symbol::<signature::Size>(size)?;
        let get = self.symbol::<signature::Text>(text)?;
        let mut bytes: usize = 0;
        // SAFETY: the program lives, and the pointer is valid for the call.
        self.check(unsafe { size(owned.program, &raw mut bytes) })?;
        let mut buffer = vec![0_u8; bytes];
        if bytes > 0 {
            // SAFETY: the buffer has the size that the library asked for, its final zero included.
            self.check(unsafe { get(owned.program, buffer.as_mut_ptr().cast::<c_char>()) })?;
        }
        while buffer.last() == Some(&0) {
            buffer.pop();
        }
        Ok(String::from_utf8_lossy(&buffer).into_owned())
    }

    fn check(&self, result: c_int) -> Result<(), String> {
        if result == 0 {
            return Ok(());
        }
        let name = self.symbol::<signature::ErrorString>("nvrtcGetErrorString")?;
        // SAFETY: the library returns a constant text for every number.
        let text = unsafe { CStr::from_ptr(name(result)) };
        Err(text.to_string_lossy().into_owned())
    }
}
