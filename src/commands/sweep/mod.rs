//! `gpucast sweep`: predictions over grids of kernels, sizes, GPUs, fields of GPUs and models.

mod grid;
mod shared;
mod submit;

use std::path::PathBuf;

use gpucast_forecast::number;
use gpucast_forecast::sweep::{self, CountingByFormulas, Grid};
use gpucast_render::sweep::{TableFormat, without_parquet};

use crate::cli::shared_sweep::SharedSweep;
use crate::cli::{CountingChoice, Sweep};
use crate::failure::{Failure, Report};
use crate::output::rows::{self, RowFile};
use crate::output::{Terminal, diagnostic};
use grid::Parts;

pub(crate) fn run(arguments: Sweep) -> Result<(), Failure> {
    match arguments.shared {
        None => alone(&arguments),
        Some(SharedSweep::Plan(plan)) => shared::plan(&plan),
        Some(SharedSweep::Work(work)) => shared::work(work),
        Some(SharedSweep::Status(status)) => shared::status(&status),
        Some(SharedSweep::Merge(merge)) => shared::merge(merge),
        Some(SharedSweep::Submit(submit)) => submit::run(submit),
    }
}

/// The whole sweep in this process.
fn alone(arguments: &Sweep) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let parts = Parts::of(&arguments.grid)?;
    let answers = parts.answers();
    let Parts { axes, cases, families, gpus, fields, count_on, counts, timing, .. } = &parts;
    let format = format(arguments.format, arguments.output.as_ref())?;
    let points = sweep::points(gpus, fields);
    let grid = Grid { axes, cases, points: &points, answers, count_on };
    let earlier = match (&arguments.output, arguments.resume) {
        (Some(path), true) if format == TableFormat::Csv => {
            Some(rows::earlier(path, &grid.columns(), cases)?)
        }
        (_, true) => {
            let report = Report::new("only a sweep that writes CSV can be continued");
            return Err(Failure::Usage(report.hint("name a file: --output sweep.csv")));
        }
        (_, false) => None,
    };
    let mut rows = RowFile::open(arguments.output.clone(), format, grid.columns())?;
    let first = earlier.map_or(Ok(0), |earlier| rows.resume(earlier))?;
    let terminal = Terminal::without_notes(&arguments.grid.execution)?;
    let counting = sweep::Counting { counts, timing: *timing, supervisor: &terminal };
    let outcome = match arguments.grid.execution.counting {
        CountingChoice::Formulas => {
            let by_formulas = CountingByFormulas::new(counting, families, &diagnostic::note);
            let outcome = grid.run(first, &by_formulas, &mut rows);
            if let Some(report) = by_formulas.report() {
                diagnostic::note(&report);
            }
            outcome
        }
        _ => grid.run(first, &counting, &mut rows),
    };
    let (has_times, taken) = (rows.has_times(), rows.len());
    match outcome {
        Ok(()) => rows.finish()?,
        Err(failure) => {
            if taken > 0 {
                rows.finish()?;
                diagnostic::note(&stopped(arguments, format, taken));
            } else {
                rows.discard();
            }
            return Err(failure.into());
        }
    }
    // Each row has said why it has no time.
    if has_times { Ok(()) } else { Err(Failure::Said) }
}

/// Describes the output of a sweep that did not end.
fn stopped(arguments: &Sweep, format: TableFormat, rows: usize) -> String {
    let resume = match (&arguments.output, format) {
        (Some(_), TableFormat::Csv) => "; the same command with --resume continues",
        _ => "",
    };
    let plural = if rows == 1 { "" } else { "s" };
    format!("the sweep was stopped after {} row{plural}{resume}", number::count(rows as u64))
}

/// The form of a table: the one that is asked for, or that of the file's name.
fn format(
    asked: Option<TableFormat>,
    output: Option<&PathBuf>,
) -> Result<TableFormat, gpucast_forecast::Failure> {
    let by_name = output.and_then(|path| TableFormat::of_file(path));
    let format = asked.or(by_name).unwrap_or(TableFormat::Text);
    if format == TableFormat::Parquet && output.is_none() {
        let report = Report::new("Parquet is not for a terminal");
        let report = report.hint("name a file: --output sweep.parquet");
        return Err(gpucast_forecast::Failure::Usage(report));
    }
    if format == TableFormat::Parquet && cfg!(not(feature = "parquet")) {
        return Err(without_parquet());
    }
    Ok(format)
}
