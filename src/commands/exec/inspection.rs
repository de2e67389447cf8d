//! A look at the program before it runs: what would fail later is said now, with the way round.

use std::path::{Path, PathBuf};

use goblin::elf::Elf;
use gpucast_forecast::input::bounded;
use gpucast_ptx_frontend::container::{self, SelectError};

use crate::failure::Report;

/// The section in which nvcc puts device code.
const DEVICE_CODE: &str = ".nv_fatbin";

/// The section in which nvcc puts the device code of `-rdc=true`.
const TO_BE_LINKED: &str = "__nv_relfatbin";

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
    /// The function by which it reads the computer's clock, if it does so and asks no events.
    host_clock: Option<&'static str>,
}

/// Functions that tell the time of the computer finely enough to time kernels.
const CLOCKS: [&str; 6] = [
    "clock_gettime",
    "gettimeofday",
    "clock",
    "omp_get_wtime",
    "_ZNSt6chrono3_V212steady_clock3nowEv",
    "_ZNSt6chrono3_V212system_clock3nowEv",
];

impl Facts {
    /// What to say of a program that times itself by the computer's clock.
    pub(super) fn host_clock_note(&self) -> Option<String> {
        let clock = self.host_clock?;
        Some(format!(
            "the program reads this computer's clock ({clock}): times that it prints are those of \
             the emulation. The table has the predicted times; cudaEventElapsedTime would give \
             them to the program"
        ))
    }

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
    let found =
        std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|it| it.is_file());
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
    let bytes = bounded::read(path, MOST_BYTES).unwrap_or_default();
    let Ok(elf) = Elf::parse(&bytes) else { return Ok(Facts::default()) };
    let headers = || elf.section_headers.iter();
    let sections = || headers().filter_map(|header| elf.shdr_strtab.get_at(header.sh_name));
    if !sections().any(|name| name == DEVICE_CODE) {
        return Ok(Facts { host_clock: host_clock(&elf), ..Facts::default() });
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
    // What is linked when the program begins stands in a section of its own.
    if !sections().any(|name| name == TO_BE_LINKED)
        && let Ok(contents) = container::open(&bytes)
        && let Err(error @ SelectError::NoPtx { .. }) = container::best_ptx(&contents, None)
    {
        let text = error.to_string();
        let (message, hint) = text.split_once(". ").unwrap_or((&text, ""));
        let report = Report::new(format!("{}: {message}", path.display()));
        return Err(if hint.is_empty() { report } else { report.hint(hint) });
    }
    let has_own_path = !elf.rpaths.is_empty() && elf.runpaths.is_empty();
    let preload = has_own_path.then(|| (*runtime).to_owned());
    Ok(Facts { preload, has_device_code: true, host_clock: host_clock(&elf) })
}

/// The clock that a client of CUDA reads, unless it asks events for times.
fn host_clock(elf: &Elf<'_>) -> Option<&'static str> {
    let imports = || {
        let symbols = elf.dynsyms.iter().filter(|symbol| symbol.is_import());
        symbols.filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name))
    };
    let asks_events = imports().any(|name| name.contains("EventElapsedTime"));
    let is_client = imports().any(|name| name.starts_with("cu"));
    let clock = CLOCKS.into_iter().find(|clock| imports().any(|name| name == *clock));
    clock.filter(|_| is_client && !asks_events)
}
