//! Files of `--export` and `--import`.

use std::path::{Path, PathBuf};

use gpucast_forecast::input::bounded;
use gpucast_render::ncu::ProfileReport;

use super::with_ending;
use crate::cli::ncu::Ncu;
use crate::failure::{Failure, Report};
use crate::output::Output;

/// No report is longer.
const MOST_BYTES: u64 = 1 << 30;

/// Reads a report.
pub(super) fn read(path: &Path) -> Result<ProfileReport, Report> {
    let path = if path.exists() { path.to_owned() } else { with_ending(path) };
    let bytes =
        bounded::read(&path, MOST_BYTES).map_err(|error| Report::file("read", &path, &error))?;
    ProfileReport::read(&bytes, &path.display().to_string())
}

/// Writes the report of `--export`, and returns where it is.
pub(super) fn write(report: &ProfileReport, arguments: &Ncu) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = &arguments.export else { return Ok(None) };
    let path = with_ending(&named(path));
    if path.is_file() && !arguments.force_overwrite {
        let report = Report::new(format!("{} is there already", path.display()));
        return Err(report.hint("--force-overwrite replaces it").into());
    }
    Output::open(Some(path.clone()))?.write_bytes(report.document()?.as_bytes())?;
    Ok(Some(path))
}

/// The name with what its words stand for: `%i` a number that makes it new, `%p` the number of
/// this process, `%h` the host, `%q{NAME}` a variable of the environment.
fn named(path: &Path) -> PathBuf {
    let Some(text) = path.to_str().filter(|text| text.contains('%')) else {
        return path.to_owned();
    };
    let mut name = text.replace("%p", &std::process::id().to_string()).replace("%h", "localhost");
    while let Some((before, rest)) = name.split_once("%q{")
        && let Some((variable, after)) = rest.split_once('}')
    {
        let value = std::env::var(variable).unwrap_or_default();
        name = format!("{before}{value}{after}");
    }
    if !name.contains("%i") {
        return name.into();
    }
    let numbered = |number: u32| PathBuf::from(name.replace("%i", &number.to_string()));
    let is_new = |path: &PathBuf| !with_ending(path).exists();
    (0..u32::MAX).map(numbered).find(is_new).unwrap_or_else(|| path.to_owned())
}
