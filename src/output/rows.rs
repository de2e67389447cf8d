//! Writes rows of a sweep to a file. Rows are written as they come where the format allows it, so
//! that a stopped sweep keeps its rows.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use gpucast_forecast::sweep::{Case, Cell, Earlier, Rows, Table};
use gpucast_render::sweep::{self, TableFormat};

use super::Output;
use crate::failure::{Failure, Report};

/// The destination of rows.
pub(crate) struct RowFile {
    format: TableFormat,
    /// All columns; the rows that are not written yet.
    table: Table,
    destination: Destination,
    /// Rows that were taken, those of a resumed file among them.
    taken: usize,
    /// True if a row has a time.
    any_time: bool,
}

enum Destination {
    /// The standard output, or a file that is no regular one.
    Stream(Output),
    /// A file beside the one that is asked for, which takes its name when it is complete.
    Partial { file: File, partial: PathBuf, path: PathBuf },
}

/// The name of the file that rows go to until it is complete.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Begins the file of rows anew, and holds it as long as it is open. Another sweep that writes the
/// same table would take the file away under this one.
fn begin(partial: &Path) -> Result<File, Failure> {
    let cannot = |error: std::io::Error| Report::file("write", partial, &error);
    let others = || {
        let report = Report::new(format!("another sweep writes {}", partial.display()));
        report.hint("wait for its end, or give this one another --output")
    };
    if fs::symlink_metadata(partial).is_ok_and(|facts| facts.is_file()) {
        let old = File::options().write(true).open(partial).map_err(cannot)?;
        if let Err(TryLockError::WouldBlock) = old.try_lock() {
            return Err(others().into());
        }
    }
    // A link of this name is not followed: its file is nobody's to write.
    match fs::remove_file(partial) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot(error).into()),
        _ => {}
    }
    let file = File::create_new(partial).map_err(cannot)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(others().into()),
        // Where files cannot be locked, sweeps do without.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

impl RowFile {
    /// Opens the destination, before anything is executed.
    pub(crate) fn open(
        path: Option<PathBuf>,
        format: TableFormat,
        columns: Vec<String>,
    ) -> Result<Self, Failure> {
        let destination = match path {
            Some(path) if path.metadata().map_or(true, |it| it.is_file()) => {
                let partial = partial(&path);
                let file = begin(&partial)?;
                Destination::Partial { file, partial, path }
            }
            path => Destination::Stream(Output::open(path)?),
        };
        let table = Table { columns, rows: Vec::new() };
        Ok(Self { format, table, destination, taken: 0, any_time: false })
    }

    /// Takes over the rows of a stopped sweep of the same `cases`; returns the number of their
    /// cases.
    pub(crate) fn resume(&mut self, earlier: Earlier) -> Result<usize, Failure> {
        // Without rows there would be a header, and another one with the first row.
        if !earlier.rows.is_empty() {
            self.add(earlier.rows)?;
        }
        Ok(earlier.cases)
    }

    /// Returns true if any row has a time.
    pub(crate) fn has_times(&self) -> bool {
        self.any_time
    }

    /// Rows that were taken so far.
    pub(crate) fn len(&self) -> usize {
        self.taken
    }

    fn add(&mut self, rows: Vec<Vec<Cell>>) -> Result<(), Failure> {
        let error = self.table.column("error");
        let has_time = |row: &Vec<Cell>| error.is_some_and(|at| row[at] == Cell::Empty);
        self.any_time |= rows.iter().any(has_time);
        let first = self.taken == 0;
        self.taken += rows.len();
        match self.format {
            // For people and for data frames the whole table is looked at.
            TableFormat::Text | TableFormat::Parquet => self.table.rows.extend(rows),
            TableFormat::Csv | TableFormat::Json => {
                let part = Table { columns: self.table.columns.clone(), rows };
                let bytes = match self.format {
                    TableFormat::Csv => sweep::csv_part(&part, first)?,
                    _ => sweep::json_part(&part, first)?,
                };
                self.write(&bytes)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.destination {
            Destination::Stream(output) => output.write_bytes(bytes),
            Destination::Partial { file, partial, .. } => file
                .write_all(bytes)
                .and_then(|()| file.flush())
                .map_err(|error| Report::file("write", partial, &error).into()),
        }
    }

    /// Completes the file with the rows that there are.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        match self.format {
            TableFormat::Text | TableFormat::Parquet => {
                let bytes = sweep::document(&self.table, self.format)?;
                self.write(&bytes)?;
            }
            TableFormat::Csv => {}
            TableFormat::Json => {
                let end = sweep::json_end(self.taken == 0);
                self.write(end.as_bytes())?;
            }
        }
        if let Destination::Partial { file, partial, path } = &mut self.destination {
            // The old file goes only when the new one has arrived.
            file.sync_all()
                .and_then(|()| fs::rename(&*partial, &*path))
                .map_err(|error| Report::file("write", path, &error))?;
        }
        Ok(())
    }

    /// Leaves no file behind: there is nothing to keep.
    pub(crate) fn discard(self) {
        if let Destination::Partial { partial, .. } = &self.destination {
            // A file that cannot be removed stays; it is empty.
            let _ = fs::remove_file(partial);
        }
    }
}

impl Rows for RowFile {
    fn take(&mut self, rows: Vec<Vec<Cell>>) -> Result<(), gpucast_forecast::Failure> {
        self.add(rows).map_err(|failure| match failure {
            Failure::Input(reports) => reports.into(),
            Failure::Usage(report) => gpucast_forecast::Failure::Usage(report),
            Failure::Unlaunched(module) => gpucast_forecast::Failure::Usage(module.report()),
            // Whoever reads our output went away: nothing more is wanted.
            Failure::BrokenPipe | Failure::Stopped => gpucast_forecast::Failure::Stopped,
            Failure::Said | Failure::Exit(_) => gpucast_forecast::Failure::Explained,
        })
    }
}

/// The rows that a stopped sweep has left; none if there is no file yet.
///
/// # Errors
///
/// If the file is of another sweep.
pub(crate) fn earlier(path: &Path, columns: &[String], cases: &[Case]) -> Result<Earlier, Failure> {
    // A sweep that could not end in order left the partial one.
    let has_header = |text: &String| text.contains('\n');
    let cut = fs::read_to_string(partial(path)).ok().filter(has_header);
    let is_cut = cut.is_some();
    let Some(text) = cut.or_else(|| fs::read_to_string(path).ok()) else {
        return Ok(Earlier::default());
    };
    let name = path.display().to_string();
    Earlier::read(&name, &text, is_cut, columns, cases).map_err(Failure::Usage)
}
