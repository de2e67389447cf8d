//! `gpucast check`: parses and validates, shows the kernels' needs, and names instructions that
//! cannot be executed.

use std::path::Path;

use gpucast_forecast::input::container;
use gpucast_forecast::input::cuda_module::{self, Code};
use gpucast_forecast::input::module_text::{self, ModuleFile};
use gpucast_forecast::inspection::{self, File, Wanted};
use gpucast_forecast::{self as forecast, LaunchOptions};
use gpucast_render::{TextOrJson, check, json};
use serde::Serialize;

use crate::cli::Check;
use crate::failure::{Failure, Report};
use crate::output::{Output, diagnostic};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    files: &'a [File],
}

pub(crate) fn run(arguments: &Check) -> Result<(), Failure> {
    let wanted = Wanted { kernels: arguments.kernel.as_deref(), slices: arguments.slice };
    let options = LaunchOptions { cuda: (&arguments.cuda).into(), ..LaunchOptions::default() };
    let mut files: Vec<File> = Vec::new();
    for path in &arguments.files {
        files.extend(inspect(path, &options, wanted)?);
    }
    let fine = files.iter().all(File::is_fine);
    let mut output = Output::open(arguments.output.clone())?;
    match arguments.format {
        TextOrJson::Text => {
            let form = check::Form::for_files(&files, wanted.kernels.is_some() || wanted.slices);
            for (index, file) in files.iter().enumerate() {
                output.write(&check::text(file, form, index == 0))?;
                diagnostic::print(&file.reports);
            }
        }
        TextOrJson::Json => {
            let document = Document { schema: "gpucast.check/1", files: &files };
            output.write(&json::document(&document)?)?;
        }
    }
    if fine { Ok(()) } else { Err(Failure::Said) }
}

/// A file, or each PTX of a container.
fn inspect(path: &Path, options: &LaunchOptions, wanted: Wanted<'_>) -> Result<Vec<File>, Failure> {
    let name = path.display().to_string();
    let mut files = Vec::new();
    let read = module_text::read(path).map_err(forecast::Failure::from);
    let outcome = match read.and_then(|contents| cuda_module::code(contents, options)) {
        Ok(Code { file: ModuleFile::Text(text), .. }) => {
            files.extend(inspection::text(text.name.to_string(), &text, &[], wanted));
            Ok(())
        }
        Ok(Code { file: ModuleFile::Container { bytes, .. }, .. }) => {
            container::for_each_item(&name, &bytes, |item| {
                files.extend(inspection::item(item, wanted));
            })
            .map_err(|report| vec![report])
        }
        Err(forecast::Failure::Input(reports)) => Err(reports),
        Err(other) => return Err(other.into()),
    };
    match (outcome, wanted.kernels) {
        (Err(reports), _) => {
            let mut reports = reports.into_iter();
            if let Some(first) = reports.next() {
                let mut file = File::broken(name, first);
                reports.for_each(|report| file.refuse(report));
                files.push(file);
            }
        }
        (Ok(()), Some(wanted)) if files.is_empty() => {
            let report = Report::new(format!("{name} has no kernel that `{wanted}` could mean"))
                .hint("`gpucast check` without --kernel lists the kernels of a file");
            files.push(File::broken(name, report));
        }
        (Ok(()), _) => {}
    }
    Ok(files)
}
