//! A look at the program before it runs: what would fail later is said now, with the way round.

use std::path::{Path, PathBuf};

use goblin::elf::Elf;
use gpucast_ptx_frontend::container::{self, SelectError};

use crate::failure::Report;

/// The section in which nvcc puts device code.
const DEVICE_CODE: &str = ".nv_fatbin";

/// The beginning of the names of CUDA's shared runtime.
const RUNTIME: &str = "libcudart.so";

/// Files larger than this are not looked into.
const MOST_BYTES: u64 = 1 << 30;

/// What is known of a program before it runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The runtime to load before everything else, because the program names a folder of its own.
    pub(super) preload: Option<String>,
    /// True if it was built with device code.
    has_device_code: bool,
}

impl Facts {
    /// What to say of a program that made no call.
    pub(super) fn without_calls(&self) -> String {
        let advice = if self.has_device_code {
            "it ended before, or it loads CUDA in another way"
        } else {
            "a program that links CUDA's runtime statically inside a library, as CuPy, Warp and \
             cuBLAS do, cannot use another one"
        };
        format!("the program launched no kernel and copied nothing; {advice}")
    }
}

/// The path of a program that is named as on a command line.
pub(super) fn find(name: &str) -> Result<PathBuf, Report> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return match path.metadata() {
            Ok(_) => Ok(path),
            Err(error) => Err(Report::file("run", &path, &error)),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|one| one.join(name)).find(|it| it.is_file());
    found.ok_or_else(|| {
        let report = Report::new(format!("there is no program `{name}` on the path"));
        match Path::new(name).is_file() {
            true => report.hint(format!("write ./{name}")),
            false => report,
        }
    })
}

/// Looks into a program. Scripts and programs without device code are not looked at further.
///
/// # Errors
///
/// If the program carries CUDA's runtime inside, or device code without PTX.
pub(super) fn inspect(path: &Path) -> Result<Facts, Report> {
    let is_large = path.metadata().map_or(true, |file| file.len() > MOST_BYTES);
    let bytes = if is_large { Vec::new() } else { std::fs::read(path).unwrap_or_default() };
    let Ok(elf) = Elf::parse(&bytes) else { return Ok(Facts::default()) };
    let names = elf.section_headers.iter().filter_map(|one| elf.shdr_strtab.get_at(one.sh_name));
    if !names.into_iter().any(|name| name == DEVICE_CODE) {
        return Ok(Facts::default());
    }
    let runtime = elf.libraries.iter().find(|name| name.starts_with(RUNTIME));
    let Some(runtime) = runtime else {
        let message = format!("{} has CUDA's runtime inside", path.display());
        return Err(Report::new(message).hint(
            "link the shared one: `nvcc -cudart shared`, or CMAKE_CUDA_RUNTIME_LIBRARY=Shared, or \
             `-L FOLDER` after `gpucast libraries FOLDER`; NVIDIA's own runtime works with \
             NVIDIA's driver only",
        ));
    };
    if let Ok(contents) = container::open(&bytes)
        && let Err(error @ SelectError::NoPtx { .. }) = container::best_ptx(&contents, None)
    {
        let text = error.to_string();
        let (message, hint) = text.split_once(". ").unwrap_or((&text, ""));
        let report = Report::new(format!("{}: {message}", path.display()));
        return Err(if hint.is_empty() { report } else { report.hint(hint) });
    }
    let has_own_path = !elf.rpaths.is_empty() && elf.runpaths.is_empty();
    Ok(Facts { preload: has_own_path.then(|| (*runtime).to_owned()), has_device_code: true })
}
