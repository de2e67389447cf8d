//! `--gpu`: library names and GPU files.

use std::path::{Path, PathBuf};

use gpucast_counters::DeviceModel;
use gpucast_model::gpu::{Clock, PowerLimit};
use gpucast_model::{CountingError, Gpu, GpuError, GpuLibrary};

use super::foreign_gpu;
use crate::failure::{Report, SourceText};
use crate::input::module_text;

pub use crate::input::module_text::range_of;

/// The built-in library.
pub fn library() -> Result<GpuLibrary, Report> {
    GpuLibrary::builtin().map_err(|error| Report::new(format!("the GPU library: {error}")))
}

/// Returns a GPU by its name or by the path of a TOML file, with every figure that follows from the
/// file's.
pub fn find(library: &GpuLibrary, argument: &str) -> Result<Gpu, Report> {
    if is_path(argument) {
        return Ok(read(library, Path::new(argument), &mut Vec::new())?.completed());
    }
    library.get(argument).map_err(|unknown| no_gpu(argument, &unknown.suggestions))
}

/// A complaint about words that mean no GPU: of another maker's, or with the names that resemble
/// them.
pub fn no_gpu(words: &str, similar: &[String]) -> Report {
    if let Some(maker) = foreign_gpu::maker(words) {
        return Report::new(format!("{words} is not a CUDA GPU: {maker} makes it")).hint(
            "gpucast executes PTX, which only NVIDIA's GPUs run; `gpucast gpus list` shows them",
        );
    }
    let hint = if similar.is_empty() {
        "`gpucast gpus list` shows the known ones; a path to a TOML file works, too".to_owned()
    } else {
        let names: Vec<String> = similar.iter().map(|name| format!("`{name}`")).collect();
        format!("did you mean {}?", names.join(" or "))
    };
    Report::new(format!("there is no GPU named `{words}`")).hint(hint)
}

/// A GPU with changes of `--set`.
pub fn changed(gpu: &Gpu, changes: &[(String, String)]) -> Result<Gpu, Report> {
    let changes: Vec<(&str, &str)> =
        changes.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect();
    gpu.with_overrides(&changes).map_err(|error| Report::new(error.to_string()))
}

/// A GPU with its SMs at another clock, if one is asked for.
pub fn at_clock(gpu: Gpu, clock: Option<Clock>) -> Result<Gpu, Report> {
    let Some(clock) = clock else { return Ok(gpu) };
    gpu.at_clock(clock).map_err(|error| Report::new(error.to_string()))
}

/// The clock that GPUs run at, and the limit of their power.
#[derive(Clone, Copy, Debug, Default)]
pub struct Running {
    /// The clock of the SMs, if it is another one than the file's.
    pub clock: Option<Clock>,
    /// The limit of the power, if one decides the clock of each kernel.
    pub power_limit: Option<PowerLimit>,
}

impl Running {
    /// A GPU that runs so.
    pub fn of(self, gpu: Gpu) -> Result<Gpu, Report> {
        let gpu = at_clock(gpu, self.clock)?;
        let Some(limit) = self.power_limit else { return Ok(gpu) };
        if let Some(field) = gpu.lacks_for_power() {
            let lack = format!("there is no power model of {}: it has no `{field}`", gpu.name);
            return Err(Report::new(lack).hint(
                "a GPU file of your own may give it; `--clock` predicts at a clock that you know",
            ));
        }
        gpu.under_power_limit(limit).map_err(|error| Report::new(error.to_string()))
    }
}

/// [`find_all`], with each GPU at a clock and under a limit of its power, if they are asked for.
pub fn find_all_running(
    library: &GpuLibrary,
    arguments: &[String],
    running: Running,
) -> Result<Vec<Gpu>, Report> {
    find_all(library, arguments)?.into_iter().map(|gpu| running.of(gpu)).collect()
}

fn is_path(argument: &str) -> bool {
    argument.ends_with(".toml") || argument.contains(['/', '\\'])
}

/// Reads a GPU file and the files that it builds on, which stand in `under_way` while they are
/// read.
fn read(library: &GpuLibrary, path: &Path, under_way: &mut Vec<PathBuf>) -> Result<Gpu, Report> {
    let source = module_text::read_text(path)?;
    // A path that could be read can be made canonical, unless it is gone by now.
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if under_way.contains(&canonical) {
        return Err(Report::new(format!("{} builds on itself", path.display())));
    }
    under_way.push(canonical);
    let gpu = Gpu::from_toml_with(&source.text, &mut |base| {
        if !is_path(base) {
            return library.as_written(base).cloned().map_err(|unknown| unknown.to_string());
        }
        let beside = path.parent().unwrap_or(Path::new("")).join(base);
        read(library, &beside, under_way).map_err(|report| match &report.anchor {
            Some(anchor) => format!("{}: {}", anchor.source.name, report.message),
            None => report.message,
        })
    });
    under_way.pop();
    gpu.map_err(|error| in_file(&source, &error))
}

/// The GPUs of a list of names and files, each once; `all` stands for the library.
pub fn find_all(library: &GpuLibrary, arguments: &[String]) -> Result<Vec<Gpu>, Report> {
    const ALL: &str = "all";
    let mut gpus: Vec<Gpu> = Vec::new();
    let mut add = |gpu: Gpu| {
        if !gpus.contains(&gpu) {
            gpus.push(gpu);
        }
    };
    for argument in arguments {
        match argument.as_str() {
            ALL => library.iter().map(Gpu::completed).for_each(&mut add),
            name => add(find(library, name)?),
        }
    }
    Ok(gpus)
}

/// The GPU as the counters need it.
pub fn device_model(gpu: &Gpu) -> Result<DeviceModel, Report> {
    gpu.device_model().map_err(|error| {
        let report = Report::new(format!("cannot count as on the {}: {error}", gpu.name));
        match error {
            CountingError::Missing { field } => {
                report.hint(format!("add `{field}` to the GPU's file, or take another GPU"))
            }
            CountingError::Impossible { .. } | CountingError::UnknownCapability { .. } => report,
        }
    })
}

fn in_file(source: &SourceText, error: &GpuError) -> Report {
    let range = range_of(source, error.position);
    source.report(range, error.problem.to_string()).maybe_hint(error.hint())
}
