//! NVRTC, NVIDIA's library that compiles CUDA at run time. It is loaded when CUDA source is to be
//! compiled, and needs neither a GPU nor a driver.

#![allow(
    unsafe_code,
    reason = "a C library that is found at run time can only be called through its symbols"
)]

use std::ffi::{CString, c_char, c_int};
use std::path::Path;

use gpucast_ptx_frontend::container::Target;

use super::headers::HEADERS;
use crate::foreign::{self, Handle, Library, Text, terminated};

/// The kind of handles: `nvrtcProgram`.
enum Program {}

/// `NVRTC_ERROR_COMPILATION`: errors in the source, which are none of the library.
const COMPILATION: c_int = 6;
/// `NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID`: an instance of a template that does not exist. It comes
/// with no complaint.
const NAME_NOT_VALID: c_int = 10;

/// A function's number other than 0, and what the library says of it.
#[derive(Debug)]
struct Complaint {
    result: c_int,
    text: String,
}

impl From<String> for Complaint {
    fn from(text: String) -> Self {
        Self { result: 0, text }
    }
}

impl From<Complaint> for String {
    fn from(complaint: Complaint) -> Self {
        complaint.text
    }
}

// Each function returns an `nvrtcResult`, 0 for success. They exist since CUDA 11.2.
// <https://docs.nvidia.com/cuda/nvrtc/index.html>
foreign::functions! {
    Nvrtc, Complaint;
    safe {
        get_version = "nvrtcVersion"(major: &mut c_int, minor: &mut c_int);
        count_targets = "nvrtcGetNumSupportedArchs"(count: &mut c_int);
        add_instance = "nvrtcAddNameExpression"(program: Handle<Program>, name: Text<'_>);
        get_log_size = "nvrtcGetProgramLogSize"(program: Handle<Program>, bytes: &mut usize);
        get_ptx_size = "nvrtcGetPTXSize"(program: Handle<Program>, bytes: &mut usize);
        destroy = "nvrtcDestroyProgram"(program: &mut Handle<Program>);
    }
    unsafe {
        /// Writes as many numbers as `nvrtcGetNumSupportedArchs` says.
        get_targets = "nvrtcGetSupportedArchs"(targets: *mut c_int);
        /// Makes a program of a source with `count` headers and their names.
        create = "nvrtcCreateProgram"(
            program: &mut Handle<Program>,
            source: Text<'_>,
            name: Text<'_>,
            count: c_int,
            headers: *const Text<'_>,
            names: *const Text<'_>
        );
        /// Compiles with `count` options.
        compile_with =
            "nvrtcCompileProgram"(program: Handle<Program>, count: c_int, options: *const Text<'_>);
        /// Writes as many bytes as `nvrtcGetProgramLogSize` says.
        get_log = "nvrtcGetProgramLog"(program: Handle<Program>, text: *mut c_char);
        /// Writes as many bytes as `nvrtcGetPTXSize` says.
        get_ptx = "nvrtcGetPTX"(program: Handle<Program>, text: *mut c_char);
    }
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
    program: Handle<Program>,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        let _ = self.nvrtc.destroy(&mut self.program);
    }
}

/// A text of a program.
#[derive(Clone, Copy)]
enum Output {
    Log,
    Ptx,
}

impl Nvrtc {
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        Ok(Self { library: Library::load(path)? })
    }

    fn library(&self) -> &Library {
        &self.library
    }

    fn lacks(what: String) -> Complaint {
        what.into()
    }

    fn check(&self, _: &str, result: c_int) -> Result<(), Complaint> {
        if result == 0 {
            return Ok(());
        }
        type ErrorString = extern "C" fn(c_int) -> *const c_char;
        // SAFETY: the type is that of the documentation.
        let name = unsafe { self.library.function::<ErrorString>("nvrtcGetErrorString") }?;
        // SAFETY: the library returns constant texts that end in zero.
        let text = unsafe { foreign::constant_text(name(result)) };
        Err(Complaint { result, text: text.unwrap_or_else(|| format!("error {result}")) })
    }

    pub(super) fn version(&self) -> Result<(i32, i32), String> {
        let (mut major, mut minor) = (0, 0);
        self.get_version(&mut major, &mut minor)?;
        Ok((major, minor))
    }

    /// The architectures that it compiles for, in ascending order.
    pub(super) fn targets(&self) -> Result<Vec<Target>, String> {
        let mut count = 0;
        self.count_targets(&mut count)?;
        let mut values: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        if values.is_empty() {
            return Ok(Vec::new());
        }
        // SAFETY: the library writes as many numbers as it said there are.
        unsafe { self.get_targets(values.as_mut_ptr())? };
        let mut targets: Vec<Target> =
            values.iter().filter_map(|sm| format!("sm_{sm}").parse().ok()).collect();
        targets.sort();
        Ok(targets)
    }

    pub(super) fn compile(&self, unit: &Unit<'_>) -> Result<Outcome, String> {
        let all = |texts: &[String]| {
            texts.iter().map(|text| terminated(text)).collect::<Result<Vec<_>, _>>()
        };
        let source = terminated(&unit.text)?;
        let name = terminated(unit.name)?;
        let options = all(&unit.options)?;
        let instances = all(&unit.instances)?;
        // The first header of a name counts.
        let built_in = HEADERS.iter().map(|header| (header.name, header.text));
        let own = unit.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let headers: Vec<(&str, &str)> = own.chain(built_in).collect();
        let texts =
            headers.iter().map(|(_, text)| terminated(text)).collect::<Result<Vec<_>, _>>()?;
        let names =
            headers.iter().map(|(name, _)| terminated(name)).collect::<Result<Vec<_>, _>>()?;
        let (texts, names) = (pointers(&texts), pointers(&names));
        let mut program = Handle::NONE;
        let count = headers.len() as c_int;
        let (texts, names) = (texts.as_ptr(), names.as_ptr());
        // SAFETY: the call copies the texts; the two lists have as many entries as it is told.
        unsafe {
            self.create(&mut program, (&source).into(), (&name).into(), count, texts, names)?;
        }
        let owned = Owned { nvrtc: self, program };
        for instance in &instances {
            self.add_instance(program, instance.into())?;
        }
        let options = pointers(&options);
        // SAFETY: the options are as many as the library is told.
        let done = unsafe { self.compile_with(program, options.len() as c_int, options.as_ptr()) };
        let log = owned.text(Output::Log)?;
        match done {
            Err(Complaint { result: COMPILATION | NAME_NOT_VALID, .. }) => {
                return Ok(Outcome { ptx: None, log });
            }
            Err(Complaint { text, .. }) => return Err(format!("{text} {log}").trim().to_owned()),
            Ok(()) => {}
        }
        Ok(Outcome { ptx: Some(owned.text(Output::Ptx)?), log })
    }
}

impl Owned<'_> {
    /// A text of the program.
    fn text(&self, output: Output) -> Result<String, String> {
        let mut bytes = 0;
        match output {
            Output::Log => self.nvrtc.get_log_size(self.program, &mut bytes)?,
            Output::Ptx => self.nvrtc.get_ptx_size(self.program, &mut bytes)?,
        }
        let mut buffer = vec![0_u8; bytes];
        if bytes > 0 {
            let text = buffer.as_mut_ptr().cast();
            // SAFETY: the buffer has the size that the library asked for, its final zero included.
            unsafe {
                match output {
                    Output::Log => self.nvrtc.get_log(self.program, text)?,
                    Output::Ptx => self.nvrtc.get_ptx(self.program, text)?,
                }
            }
        }
        while buffer.last() == Some(&0) {
            buffer.pop();
        }
        Ok(String::from_utf8_lossy(&buffer).into_owned())
    }
}

/// The texts as the library takes them.
fn pointers(texts: &[CString]) -> Vec<Text<'_>> {
    texts.iter().map(Text::from).collect()
}
