//! `gpucast check`: parses and validates, shows the kernels' needs, and names instructions that
//! cannot be executed.

use std::path::Path;

use gpucast_forecast::input::container;
use gpucast_forecast::input::module_text::{self, ModuleFile};
use gpucast_forecast::inspection::{self, File};
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
    let wanted = arguments.kernel.as_deref();
    let files: Vec<File> = arguments.files.iter().flat_map(|path| inspect(path, wanted)).collect();
    let fine = files.iter().all(File::is_fine);
    let mut output = Output::open(None)?;
    match arguments.format {
        TextOrJson::Text => {
            let form = check::Form::for_files(&files, wanted.is_some());
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
fn inspect(path: &Path, wanted: Option<&str>) -> Vec<File> {
    let name = path.display().to_string();
    let mut files = Vec::new();
    let outcome = match module_text::read(path) {
        Err(report) => Err(report),
        Ok(ModuleFile::Text(text)) => {
            files.extend(inspection::text(name.clone(), &text, &[], wanted));
            Ok(())
        }
        Ok(ModuleFile::Container { bytes, .. }) => {
            container::for_each_item(&name, &bytes, |item| {
                files.extend(inspection::item(item, wanted));
            })
        }
    };
    match (outcome, wanted) {
        (Err(report), _) => files.push(File::broken(name, report)),
        (Ok(()), Some(wanted)) if files.is_empty() => {
            let report = Report::new(format!("{name} has no kernel that `{wanted}` could mean"))
                .hint("`gpucast check` without --kernel lists the kernels of a file");
            files.push(File::broken(name, report));
        }
        (Ok(()), _) => {}
    }
    files
}
