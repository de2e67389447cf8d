//! `gpucast doctor`: which tools of this computer are used, and what each adds.

use std::path::{Path, PathBuf};

use gpucast_forecast::run::assembler::Toolchain as _;
use gpucast_toolchain::{assembler, compiler, driver};

use super::exec;
use crate::failure::Failure;
use crate::output::Output;
use crate::{interrupt, project, trust};

/// A tool, or a place where something is kept.
struct Finding {
    name: &'static str,
    /// Where it is, with its version where it says one; or why it is not used.
    found: Result<String, String>,
    /// What is possible with it.
    adds: &'static str,
    /// How to get it.
    remedy: &'static str,
}

pub(crate) fn run() -> Result<(), Failure> {
    let compilers = compiler::Installed::new(None, interrupt::stop());
    let present = compilers.present();
    let of_name = |name: &str| {
        let found = present.iter().find(|compiler| compiler.name == name);
        found.map(|compiler| shown(&compiler.path)).ok_or_else(|| "not found".to_owned())
    };
    let findings = [
        Finding {
            name: "ptxas",
            found: first_assembler(),
            adds: "counts and times from machine code instead of rules that estimate it",
            remedy: "pip install nvidia-cuda-nvcc-cu12",
        },
        Finding {
            name: "NVRTC",
            found: of_name("NVRTC"),
            adds: "CUDA source as a kernel: gpucast predict my.cu",
            remedy: "pip install nvidia-cuda-nvrtc-cu12",
        },
        Finding {
            name: "CUDA headers",
            found: compilers
                .headers()
                .first()
                .map(|folder| shown(folder))
                .ok_or("not found".into()),
            adds: "what CUDA source includes: cuda_fp16.h, cooperative_groups.h and others",
            remedy: "pip install nvidia-cuda-runtime-cu12",
        },
        Finding {
            name: "nvcc",
            found: of_name("nvcc"),
            adds: "CUDA source with host code in it, compiled as it stands",
            remedy: "install the CUDA toolkit; NVRTC suffices for most files",
        },
        Finding {
            name: "clang",
            found: of_name("clang"),
            adds: "CUDA source without a package of NVIDIA: --cuda-compiler clang",
            remedy: "install clang",
        },
        Finding {
            name: "exec",
            found: exec::find_library().map(|path| shown(&path)).map_err(|report| report.message),
            adds: "whole CUDA programs: gpucast exec ./program",
            remedy: "a release has it; in a checkout: cargo build --release -p gpucast-cuda",
        },
        Finding {
            name: "GPU",
            found: gpu(),
            adds: "measuring it: gpucast bench --device 0",
            remedy: "none is needed for anything else",
        },
    ];
    let mut text = format!("gpucast {}\n", env!("GPUCAST_VERSION"));
    for finding in &findings {
        text.push_str(&finding.lines());
    }
    text.push_str(&kept());
    Output::open(None)?.write(&text)
}

impl Finding {
    fn lines(&self) -> String {
        let Self { name, found, adds, remedy } = self;
        match found {
            Ok(place) => format!("\n  found    {name:14}{place}\n{:25}{adds}\n", ""),
            Err(reason) => {
                format!("\n  missing  {name:14}{reason}\n{:25}{adds}\n{:25}{remedy}\n", "", "")
            }
        }
    }
}

/// The first assembler that answers, or why none does.
fn first_assembler() -> Result<String, String> {
    let installed = assembler::Installed::new(interrupt::stop());
    let mut reason = "not found".to_owned();
    for path in installed.candidates() {
        match installed.probe(&path) {
            Ok(assembler) => {
                let newest = assembler.targets.last();
                let upto = newest.map(|target| format!(", up to {target}")).unwrap_or_default();
                return Ok(format!("{} (version {}{upto})", shown(&path), assembler.version));
            }
            Err(error) => reason = format!("{} is none: {error}", shown(&path)),
        }
    }
    Err(reason)
}

fn gpu() -> Result<String, String> {
    let gpu = driver::Gpu::open(0).map_err(|error| error.to_string())?;
    Ok(gpucast_measure::Device::facts(&gpu).name.clone())
}

/// What is kept from run to run, and what speaks for this folder.
fn kept() -> String {
    let place = |path: Option<PathBuf>| path.map_or("none".to_owned(), |path| shown(&path));
    let cache = assembler::cache::folder();
    let size = cache.as_deref().map(bytes_below).unwrap_or_default();
    let megabytes = size.div_ceil(1_000_000);
    format!(
        "\n  cache    {} ({megabytes} MB; GPUCAST_CACHE names another, and it may be removed)\n  \
         project  {}\n  trust    {}\n",
        place(cache),
        place(project::locate()),
        place(trust::folder()),
    )
}

/// Bytes of the files below a folder. Links are not followed; what cannot be read counts as none.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let size = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |facts| facts.len()),
        _ => 0,
    };
    entries.map(size).sum()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
