//! The compiled half of the Python package `gpucast`: the module `gpucast._gpucast`.
//!
//! ```text
//! gpucast (Python) ── adapters, arguments as bytes, results as objects, notebooks, pytest
//!      │
//! _gpucast ──┬── kernel, arguments    a plan, and the memory of arrays
//!            ├── forecast, profile, run, sweep, and a file for each other command
//!            ├── supervision          runs on threads of our own, without Python's lock
//!            ├── table                the Arrow C stream
//!            └── failure              failures as exceptions
//! ```
//!
//! Results cross the border as the documents that the command line writes. A number in Python is
//! therefore the number of the command line, to the last bit.
//!
//! `run` and `check` map blocks of arrays at their own addresses. `predict` and `profile` copy
//! them, because counts depend on addresses. Python's thread looks at signals every 20 ms, and the
//! pool belongs to a process, so a forked child gets its own.

mod advise;
mod arguments;
mod counts;
mod difference;
mod failure;
mod forecast;
mod gpus;
mod kernel;
mod nsight;
mod profile;
mod report;
mod run;
mod sensitivity;
mod settings;
mod supervision;
mod sweep;
mod table;
mod trace;
mod tune;

use pyo3::prelude::*;

/// Kernels of Python programs, executed and forecast. The package `gpucast` calls it.
#[pymodule]
fn _gpucast(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<kernel::Kernel>()?;
    module.add_class::<forecast::Forecast>()?;
    module.add_class::<profile::Profile>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<run::Findings>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(forecast::predict, module)?)?;
    module.add_function(wrap_pyfunction!(profile::profile, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::check, module)?)?;
    module.add_function(wrap_pyfunction!(run::compare, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace, module)?)?;
    module.add_function(wrap_pyfunction!(advise::advise, module)?)?;
    module.add_function(wrap_pyfunction!(sensitivity::sensitivity, module)?)?;
    module.add_function(wrap_pyfunction!(difference::diff, module)?)?;
    module.add_function(wrap_pyfunction!(tune::tune, module)?)?;
    module.add_function(wrap_pyfunction!(tune::ranked, module)?)?;
    module.add_function(wrap_pyfunction!(counts::counts, module)?)?;
    module.add_function(wrap_pyfunction!(counts::counts_at, module)?)?;
    module.add_function(wrap_pyfunction!(report::report, module)?)?;
    module.add_function(wrap_pyfunction!(nsight::nsight, module)?)?;
    module.add_function(wrap_pyfunction!(gpus::gpus, module)?)?;
    module.add_function(wrap_pyfunction!(gpus::capability, module)?)?;
    Ok(())
}
