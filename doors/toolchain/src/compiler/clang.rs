//! Clang on a machine that has none of NVIDIA's headers: gpucast's own stand in.
//!
//! Clang compiles CUDA by itself, but its headers begin with those of a CUDA installation. Where
//! there is none, `clang/cuda.h` declares what kernels of lessons and most small programs use.

use std::io;
use std::path::{Path, PathBuf};

use gpucast_ptx_frontend::container::Target;

use crate::installed;

/// The declarations.
const CUDA: &str = include_str!("clang/cuda.h");
/// The name of their file.
const NAME: &str = "gpucast-cuda.h";

/// Headers that CUDA source includes, whose words are among the declarations.
const INCLUDED: [&str; 7] = [
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cuda.h",
    "device_launch_parameters.h",
    "vector_types.h",
    "vector_functions.h",
    "math_constants.h",
];

/// Assertions of device code. The host's own would call its functions.
const ASSERT: &str = "#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \\
    ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, 1))
#endif
";

/// Clang's words about a name, or a form of it, that no header declares.
const MISSES: [&str; 7] = [
    "undeclared identifier",
    "unknown type name",
    "no type named",
    "no member named",
    "no matching function",
    "call to deleted function",
    "file not found",
];

/// What a source that needs more than our headers can do.
const MORE: &str = "CUDA's own headers are not found, and gpucast's are for the words of lessons; \
                    `pip install nvidia-cuda-nvrtc-cu12` brings a compiler with all of them";

/// The headers that clang reads.
pub(super) enum Headers {
    /// Those that the user's options name.
    Named,
    /// Those of this CUDA installation.
    Installed(PathBuf),
    /// Ours.
    Own,
}

impl Headers {
    /// Those that there are for a run with these options.
    pub(super) fn found(extra: &[String]) -> Self {
        if extra.iter().any(|word| word.starts_with("--cuda-path")) {
            return Self::Named;
        }
        let installed = installed::cuda_installations().into_iter().find(|path| is_whole(path));
        installed.map_or(Self::Own, Self::Installed)
    }

    /// The options by which clang finds them. Ours are written below `folder`.
    pub(super) fn options(&self, folder: &Path, target: Target) -> io::Result<Vec<String>> {
        match self {
            Self::Named => Ok(Vec::new()),
            Self::Installed(path) => Ok(vec![format!("--cuda-path={}", path.display())]),
            Self::Own => own(folder, target),
        }
    }

    /// What a source can do that clang has refused with this message: only missing names are the
    /// headers' fault.
    pub(super) fn hint(&self, message: &str) -> Option<String> {
        let is_missing = || MISSES.iter().any(|words| message.contains(words));
        (matches!(self, Self::Own) && is_missing()).then(|| MORE.to_owned())
    }
}

fn own(folder: &Path, target: Target) -> io::Result<Vec<String>> {
    let declarations = written(folder)?;
    let isa = format!("+ptx{}", isa(target));
    let words = ["-nocudainc", "-nocudalib", "-include"].map(str::to_owned);
    let included = folder.join("include");
    let rest = [declarations.display().to_string(), format!("-I{}", included.display())];
    let isa = ["-Xclang", "-target-feature", "-Xclang", &isa].map(str::to_owned);
    Ok(words.into_iter().chain(rest).chain(isa).collect())
}

/// True for an installation that clang can use: headers, and NVIDIA's functions of mathematics.
fn is_whole(installation: &Path) -> bool {
    installation.join("include/cuda.h").is_file() && installation.join("nvvm/libdevice").is_dir()
}

/// Writes the headers, and returns the path of the declarations.
fn written(folder: &Path) -> io::Result<PathBuf> {
    let included = folder.join("include");
    std::fs::create_dir_all(&included)?;
    let declarations = folder.join(NAME);
    std::fs::write(&declarations, CUDA)?;
    for name in INCLUDED {
        std::fs::write(included.join(name), "#pragma once\n")?;
    }
    for name in ["assert.h", "cassert"] {
        std::fs::write(included.join(name), ASSERT)?;
    }
    Ok(declarations)
}

/// The first version of PTX that has an architecture, and shuffles that name their lanes.
fn isa(target: Target) -> u32 {
    match target.sm {
        ..75 => 60,
        75..80 => 63,
        80..86 => 70,
        86..89 => 71,
        89..100 => 78,
        100..120 => 86,
        _ => 87,
    }
}
