//! CUDA compilers: finds one, runs it, and leads its complaints back to the user's source.
//!
//! ```text
//! find ──► attempts ──► nvrtc (a library, loaded when needed) ──┐
//!     └──► program (nvcc, clang)  ──────────────────────────────┼──► PTX, or log ──► reports
//! command (what a user wrote) ──────────────────────────────────┘
//! numba (kernels in Python) ──► PTX
//! ```
//!
//! NVRTC comes first: it is one Python package, needs no host compiler, and compiles a kernel in
//! less than a second. It knows device code alone, so source with host code goes to nvcc where it
//! is. Where it is not, NVRTC gets the source without its host code, and clang what NVRTC refuses.

mod attempts;
mod clang;
mod command;
mod find;
mod headers;
mod log;
mod numba;
mod nvrtc;
mod options;
mod program;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use gpucast_forecast::compiler::{Compiled, Compiler, CudaOptions};
use gpucast_forecast::{Report, SourceText};

use crate::Stop;
use find::{Dialect, Found};

pub use command::CommandLine;
pub use numba::PythonKernel;

/// Which compiler is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// NVIDIA's library for compiling at run time.
    Nvrtc,
    /// NVIDIA's compiler driver.
    Nvcc,
    /// The compiler of LLVM.
    Clang,
    /// This file.
    Path(PathBuf),
}

impl From<&str> for Choice {
    fn from(text: &str) -> Self {
        match text {
            "nvrtc" => Self::Nvrtc,
            "nvcc" => Self::Nvcc,
            "clang" | "clang++" => Self::Clang,
            path => Self::Path(path.into()),
        }
    }
}

/// The name of a file as an argument of a program. A file may be named like an option,
/// `-fplugin=x.cu`, or like a list of options, `@x.cu`; behind `./` it is neither.
fn path_argument(name: &str) -> Cow<'_, str> {
    match name.starts_with(['-', '@']) {
        true => Cow::Owned(format!("./{name}")),
        false => Cow::Borrowed(name),
    }
}

/// The compilers that are installed on this system.
#[derive(Debug)]
pub struct Installed {
    choice: Option<Choice>,
    packages: Vec<PathBuf>,
    stop: Stop,
}

impl Installed {
    /// The compiler of a choice, or the first that is found.
    ///
    /// Programs end when `stop` is asked. NVRTC, a library, cannot be stopped.
    #[must_use]
    pub fn new(choice: Option<Choice>, stop: Stop) -> Self {
        Self { choice, packages: Vec::new(), stop }
    }

    /// The same with folders of Python packages that are looked through first.
    #[must_use]
    pub fn with_packages(self, packages: Vec<PathBuf>) -> Self {
        Self { packages, ..self }
    }
}

/// A compiler that is installed on this system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// What it is: `NVRTC`, `nvcc` or `clang`.
    pub name: &'static str,
    /// Its library or program.
    pub path: PathBuf,
}

impl Installed {
    /// The compilers that are there, one of each kind, in the order in which plain source is given
    /// to them. No program is run but Python, which is asked for its folders.
    #[must_use]
    pub fn present(&self) -> Vec<Present> {
        let present = |found| match found {
            Found::Library(path) => Present { name: "NVRTC", path },
            Found::Program { path, dialect: Dialect::Nvcc } => Present { name: "nvcc", path },
            Found::Program { path, dialect: Dialect::Clang } => Present { name: "clang", path },
        };
        find::all(&self.search()).into_iter().map(present).collect()
    }

    /// The folders of CUDA's headers.
    #[must_use]
    pub fn headers(&self) -> Vec<PathBuf> {
        find::all_headers(&self.search())
    }

    fn search(&self) -> Search<'_> {
        Search { packages: &self.packages, stop: &self.stop }
    }
}

/// True for a program without a loader of libraries, such as the static one of releases.
const IS_STATIC: bool = cfg!(all(target_env = "musl", target_feature = "crt-static"));

/// Options for files that name CUDA source and have no place for options.
#[must_use]
pub fn plain_cuda(stop: Stop) -> CudaOptions {
    let compiler = std::sync::Arc::new(Installed::new(None, stop));
    CudaOptions { compiler: Some(compiler), ..CudaOptions::default() }
}

impl Compiler for Installed {
    fn compile(&self, source: &SourceText, options: &CudaOptions) -> Result<Compiled, Vec<Report>> {
        let has_host_code = has_host_code(&source.text);
        let search = self.search();
        let found = find::compiler(self.choice.as_ref(), has_host_code, &search);
        let Some(found) = found else { return Err(vec![nothing(source, self.choice.as_ref())]) };
        let job = Job { source, options, has_host_code, search };
        let compile = |found: &Found| match found {
            Found::Library(path) => attempts::compile(path, &job),
            Found::Program { path, dialect } => program::compile(path, *dialect, &job),
        };
        let compiled = compile(&found);
        let may_read_more =
            self.choice.is_none() && has_host_code && matches!(found, Found::Library(_));
        match compiled {
            Err(reports) if may_read_more => {
                let other = find::after_nvrtc(&job.search).and_then(|clang| compile(&clang).ok());
                other.ok_or(reports)
            }
            compiled => compiled,
        }
    }
}

/// Where compilers are looked for, and how long.
struct Search<'a> {
    /// Folders of Python packages that the caller knows.
    packages: &'a [PathBuf],
    stop: &'a Stop,
}

/// The work of a compiler.
struct Job<'a> {
    source: &'a SourceText,
    options: &'a CudaOptions,
    /// True if the source seems to hold code for the CPU, too.
    has_host_code: bool,
    search: Search<'a>,
}

impl Job<'_> {
    /// The folders where headers are looked for: the source's own, then those of `--include`.
    fn include_folders(&self) -> Vec<PathBuf> {
        let own = match Path::new(&*self.source.name).parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        std::iter::once(own).chain(self.options.includes.iter().cloned()).collect()
    }

    /// Everything that a failed compiler said, or one report if it said nothing that is
    /// understood.
    fn refusal(&self, compiler: &str, text: &str) -> Vec<Report> {
        let mut reports = log::errors(text, self.source);
        if reports.is_empty() {
            let said = text.lines().map(str::trim).find(|line| !line.is_empty());
            let said = said.unwrap_or("it failed without a message");
            let message = format!("{compiler} does not compile {}: {said}", self.source.name);
            reports.push(Report::new(message));
        }
        reports
    }
}

/// Returns true if a text launches kernels or has a main program.
fn has_host_code(text: &str) -> bool {
    text.contains("<<<") || text.contains("int main(")
}

/// A complaint about a missing compiler, with the shortest way to one.
fn nothing(source: &SourceText, choice: Option<&Choice>) -> Report {
    let message = match choice {
        None => format!("{} is CUDA source, and no compiler for it is found", source.name),
        Some(Choice::Nvrtc) => "NVRTC is not found".to_owned(),
        Some(Choice::Nvcc) => "nvcc is not found".to_owned(),
        Some(Choice::Clang) => "clang is not found".to_owned(),
        Some(Choice::Path(path)) => format!("there is no compiler {}", path.display()),
    };
    Report::new(message).hint(if IS_STATIC {
        "this gpucast is static and cannot load NVRTC: put nvcc or clang on the path, or take the \
         wheel or the other archive of the release"
    } else {
        "`pip install nvidia-cuda-nvrtc-cu12` suffices, in an active environment or for the user; \
         an nvcc or clang on the path does, too, or a CUDA installation that CUDA_HOME names"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_name_or_a_path() {
        assert_eq!(Choice::from("nvrtc"), Choice::Nvrtc);
        assert_eq!(Choice::from("clang++"), Choice::Clang);
        assert_eq!(Choice::from("/opt/nvcc"), Choice::Path("/opt/nvcc".into()));
    }

    #[test]
    fn host_code_is_seen() {
        assert!(has_host_code("k<<<1, 2>>>();"));
        assert!(has_host_code("int main() {}"));
        assert!(!has_host_code("__global__ void k(int n) { if (n << 3 < 5) return; }"));
    }
}
