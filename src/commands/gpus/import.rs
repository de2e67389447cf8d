//! `gpucast gpus import`.

use gpucast_forecast::choice::gpu_argument::range_of;
use gpucast_forecast::input::module_text;
use gpucast_model::gpu::import::{self, ImportError, ImportProblem, Imported};

use crate::cli::{Import, ImportFormat};
use crate::failure::{Failure, Report, SourceText};
use crate::output::Output;

pub(super) fn run(arguments: Import) -> Result<(), Failure> {
    let mut merged: Option<Imported> = None;
    for path in &arguments.files {
        let source = module_text::read_text(path)?;
        let origin = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let options = import::Options {
            format: arguments.format.map(format),
            name: arguments.name.clone(),
            device: arguments.device,
            origin: origin.unwrap_or_default(),
        };
        let refused = |error: ImportError| report(&source, &error);
        let imported = import::read(&source.text, &options).map_err(refused)?;
        merged = Some(match merged {
            None => imported,
            Some(before) => before.merge(imported).map_err(refused)?,
        });
    }
    // The parser asks for one file at least.
    let Some(Imported { gpu, notes, .. }) = merged else { return Ok(()) };
    let gpu = if arguments.complete { gpu.completed() } else { gpu };
    let notes: String = notes.iter().map(|note| format!("# Note: {note}.\n")).collect();
    Output::open(arguments.output)?.write(&format!("{notes}{}", gpu.to_toml(true)))
}

fn format(format: ImportFormat) -> import::Format {
    match format {
        ImportFormat::Mixbench => import::Format::Mixbench,
        ImportFormat::Gpumembench => import::Format::Gpumembench,
        ImportFormat::Ert => import::Format::Ert,
        ImportFormat::DeviceQuery => import::Format::DeviceQuery,
    }
}

fn report(source: &SourceText, error: &ImportError) -> Report {
    let report = source.report(range_of(source, error.position), error.problem.to_string());
    match &error.problem {
        ImportProblem::Nameless => report.hint("add --name"),
        ImportProblem::UnknownFormat => report.hint("if it is one of them, say which by --format"),
        _ => report,
    }
}
