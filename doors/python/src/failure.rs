//! Failures as Python's exceptions.

use gpucast_forecast::{Failure, Report};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The module that defines the exceptions, so that users see their source and `help` works.
const MODULE: &str = "gpucast._errors";

/// Turns a failure into the exception that a user catches.
pub(crate) fn raised(py: Python<'_>, failure: Failure) -> PyErr {
    match failure {
        Failure::Input(reports) => error(py, reports),
        Failure::Usage(report) => wrong_argument(py, report),
        Failure::Explained => error(py, vec![Report::new("the kernel came to a fault")]),
        Failure::Stopped => PyKeyboardInterrupt::new_err(()),
    }
}

/// `gpucast.Error` of some reports.
pub(crate) fn error(py: Python<'_>, reports: Vec<Report>) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    made(py, &CLASS, "Error", reports)
}

/// `gpucast.ArgumentError`, which is a `ValueError`. Reports speak of options of the command line;
/// here they are arguments of functions.
pub(crate) fn wrong_argument(py: Python<'_>, mut report: Report) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    report.message = in_python(&report.message);
    report.hint = report.hint.as_deref().map(in_python);
    report.facts = report.facts.iter().map(|fact| in_python(fact)).collect();
    made(py, &CLASS, "ArgumentError", vec![report])
}

fn made(
    py: Python<'_>,
    class: &'static PyOnceLock<Py<PyType>>,
    name: &str,
    reports: Vec<Report>,
) -> PyErr {
    let places: Vec<Option<(String, usize, usize)>> = reports.iter().map(place).collect();
    let text = Failure::Input(reports.clone()).to_string();
    let messages: Vec<String> = reports.iter().map(|report| report.message.clone()).collect();
    let hint = reports.into_iter().find_map(|report| report.hint);
    let exception = class
        .import(py, MODULE, name)
        .and_then(|class| class.call1((text, messages, hint, places)));
    match exception {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// File, line and column of a report.
fn place(report: &Report) -> Option<(String, usize, usize)> {
    let anchor = report.anchor.as_ref()?;
    let (line, column) = anchor.position();
    Some((anchor.source.name.to_string(), line, column))
}

/// `--shared-bytes 4` as `shared_bytes= 4`.
fn in_python(text: &str) -> String {
    let mut parts = text.split("--");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
        let end = part.find(|c: char| !is_name(c)).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        if name.is_empty() {
            result += "--";
        } else {
            // The first argument of a function is called kernel already.
            result += &if name == "kernel" { "name".to_owned() } else { name.replace('-', "_") };
            result.push('=');
        }
        result += rest;
    }
    result
}
