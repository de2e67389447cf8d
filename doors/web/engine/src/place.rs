//! The texts of a request as files of a folder that lasts as long as its answer takes.

use std::path::{Path, PathBuf};

use gpucast_forecast::input::toml_report::toml_report;
use gpucast_forecast::settings::LaunchOptions;
use gpucast_forecast::{Failure, Report, SourceText};
use tempfile::TempDir;

use crate::request::{Kernel, Named};

/// The launch file's name.
const LAUNCH: &str = "launch.toml";
/// The folder of CUDA sources that modules name.
const SOURCES: &str = "sources";

/// A kernel of a request, ready to be opened.
pub(crate) struct Place {
    folder: Option<TempDir>,
    /// What the forecast opens.
    pub(crate) input: String,
    /// With which size and parameters.
    pub(crate) launch: LaunchOptions,
}

impl Place {
    /// Writes a kernel's texts.
    ///
    /// # Errors
    ///
    /// A request that names no kernel or two, parameters that are no numbers, and a launch file
    /// that cannot be read.
    pub(crate) fn of(kernel: &Kernel) -> Result<Self, Failure> {
        let params = kernel.params.iter().map(|text| parameter(text));
        let param = params.collect::<Result<Vec<_>, Failure>>()?;
        let launch =
            LaunchOptions { param, size: kernel.size.map(Into::into), ..LaunchOptions::default() };
        match (&kernel.corpus, &kernel.source) {
            (Some(name), None) => {
                if gpucast_corpus::find(name).is_none() {
                    let report = Report::new(format!("the corpus has no kernel `{name}`"));
                    return Err(Failure::Usage(report));
                }
                Ok(Self { folder: None, input: name.clone(), launch })
            }
            (None, Some(source)) => {
                let folder = folder()?;
                let input = written(folder.path(), source, kernel)?;
                Ok(Self { input: input.display().to_string(), folder: Some(folder), launch })
            }
            _ => Err(Failure::Usage(Report::new("give either `corpus` or `source`"))),
        }
    }

    /// The folder of CUDA sources, if there are any.
    pub(crate) fn sources(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.path().join(SOURCES)).filter(|folder| folder.is_dir())
    }
}

/// A folder of its own.
pub(crate) fn folder() -> Result<TempDir, Report> {
    let made = tempfile::Builder::new().prefix("gpucast-page-").tempdir();
    made.map_err(|error| Report::new(format!("there is no place for files: {error}")))
}

/// `n=4096`.
fn parameter(text: &str) -> Result<(String, f64), Failure> {
    let number = |(name, value): (&str, &str)| Some((name.to_owned(), value.parse().ok()?));
    text.split_once('=')
        .and_then(number)
        .ok_or_else(|| Failure::Usage(Report::new(format!("`{text}` is no NAME=NUMBER"))))
}

fn written(folder: &Path, source: &str, kernel: &Kernel) -> Result<PathBuf, Failure> {
    if let Some(cuda) = &kernel.cuda {
        write_cuda(folder, cuda)?;
    }
    let Some(launch) = &kernel.launch else {
        let name = if source.contains(".version") { "kernel.ptx" } else { "kernel.cu" };
        return Ok(write(&folder.join(name), source)?);
    };
    let module = module_of(&SourceText::new(LAUNCH, launch.as_str()))?;
    write(&folder.join(module), source)?;
    Ok(write(&folder.join(LAUNCH), launch)?)
}

/// The name of the module in a launch file.
fn module_of(launch: &SourceText) -> Result<String, Report> {
    let table: toml::Table =
        toml::from_str(&launch.text).map_err(|error| toml_report(launch, &error))?;
    let name = table.get("module").and_then(toml::Value::as_str).unwrap_or_default();
    match is_file_name(name) {
        true => Ok(name.to_owned()),
        false => Err(Report::new(format!("{LAUNCH}: `module` names no file beside it"))
            .hint("write module = \"kernel.ptx\"")),
    }
}

/// Writes a CUDA source where modules find it.
pub(crate) fn write_cuda(folder: &Path, cuda: &Named) -> Result<(), Report> {
    if !is_file_name(&cuda.name) {
        return Err(Report::new(format!("`{}` is no name of a file", cuda.name)));
    }
    let sources = folder.join(SOURCES);
    std::fs::create_dir_all(&sources).map_err(|error| Report::file("write", &sources, &error))?;
    write(&sources.join(&cuda.name), &cuda.text)?;
    Ok(())
}

fn is_file_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.is_empty() && !name.starts_with('.') && name != LAUNCH && name.chars().all(is_letter)
}

/// Writes a text and returns the place.
pub(crate) fn write(path: &Path, text: &str) -> Result<PathBuf, Report> {
    std::fs::write(path, text).map_err(|error| Report::file("write", path, &error))?;
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(launch: &str) -> Result<Place, Failure> {
        let kernel = Kernel {
            source: Some(".version 8.0".to_owned()),
            launch: Some(launch.to_owned()),
            ..Kernel::default()
        };
        Place::of(&kernel)
    }

    #[test]
    fn a_launch_file_names_no_file_elsewhere() {
        assert!(of("module = \"kernel.cu\"").is_ok());
        for module in ["../x.ptx", "/etc/x", "", ".x", "launch.toml", "a/b.ptx"] {
            assert!(of(&format!("module = {module:?}")).is_err(), "{module}");
        }
        assert!(of("module = 3").is_err());
        assert!(of("module = ").is_err());
    }

    #[test]
    fn parameters_are_numbers_with_names() {
        assert_eq!(parameter("n=4096").unwrap(), ("n".to_owned(), 4096.0));
        for wrong in ["n", "n=", "n=x", ""] {
            assert!(parameter(wrong).is_err(), "{wrong}");
        }
    }
}
