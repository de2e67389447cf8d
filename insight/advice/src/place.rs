//! Lines of the user's source, and what falls on them.

use std::collections::BTreeMap;

use gpucast_counters::attribution::SourceLine;
use gpucast_counters::table::Row;
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::run::execute::Loaded;
use serde::Serialize;

/// A line, and its share of what a rule counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineShare {
    /// The file, as the module names it.
    pub file: String,
    /// One-based line.
    pub line: u32,
    /// The line itself, without indentation, if the file was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The part of the quantity that falls on it, as a fraction.
    pub share: f64,
}

/// Lines below this share of a quantity are not named.
const LEAST_SHARE: f64 = 0.1;
/// More lines are not named.
const MOST_PLACES: usize = 3;

/// Where rows stand in the user's source.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// The CUDA files of the module.
    pub files: &'a BTreeMap<u32, CudaFile>,
    /// The module.
    pub loaded: &'a Loaded,
}

/// A line of the user's own CUDA source, or of the module where no `.loc` names one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Cuda(SourceLine),
    Ptx { line: u32 },
}

impl Places<'_> {
    /// The lines that most of a quantity falls on, largest first. `weight` gives a row's part.
    #[must_use]
    pub fn ranked<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r Row>,
        weight: impl Fn(&Row) -> f64,
    ) -> Vec<LineShare> {
        let mut by_line: BTreeMap<Key, f64> = BTreeMap::new();
        let mut whole = 0.0;
        for row in rows {
            let weight = weight(row);
            if weight > 0.0 {
                *by_line.entry(self.key(row)).or_default() += weight;
                whole += weight;
            }
        }
        let mut lines: Vec<(Key, f64)> = by_line.into_iter().collect();
        lines.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        lines
            .into_iter()
            .filter(|(_, weight)| *weight >= LEAST_SHARE * whole)
            .take(MOST_PLACES)
            .map(|(key, weight)| self.place(key, weight / whole))
            .collect()
    }

    /// The line that a row belongs to: that of the call, if a library's code was inlined.
    fn key(&self, row: &Row) -> Key {
        match SourceLine::of(&self.loaded.module, row) {
            Some(line) => Key::Cuda(line),
            None => Key::Ptx { line: row.description.line },
        }
    }

    fn place(&self, key: Key, share: f64) -> LineShare {
        match key {
            Key::Cuda(SourceLine { file, line }) => {
                let file = self.files.get(&file);
                let lines = file.and_then(|file| file.lines.as_ref());
                let text = lines.and_then(|lines| nth(line, lines.iter().map(String::as_str)));
                let file = file.map_or_else(String::new, |file| file.name.clone());
                LineShare { file, line, text, share }
            }
            Key::Ptx { line } => {
                let text = nth(line, self.loaded.source.text.lines());
                LineShare { file: self.loaded.source.name.to_string(), line, text, share }
            }
        }
    }
}

/// A line without indentation, if it is there and not empty.
fn nth<'t>(line: u32, mut lines: impl Iterator<Item = &'t str>) -> Option<String> {
    let text = lines.nth((line as usize).checked_sub(1)?)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
