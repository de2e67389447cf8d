//! Instructions and lines in words.

use std::collections::BTreeMap;

use gpucast_counters::attribution::SourceLine;
use gpucast_counters::table::Row;
use gpucast_forecast::input::cuda_source::printable;

use super::View;
use crate::profile::ptx_text;

/// A machine instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    /// Its name.
    pub(super) mnemonic: String,
    /// The PTX that it stands for; empty if it stands for none.
    pub(super) ptx: String,
    /// The line that it is of, in [`Labels::lines`].
    pub(super) line: Option<u32>,
    /// `LDG saxpy.cu:6`.
    pub(super) place: String,
}

/// The words for a launch's machine code.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    instructions: Vec<Label>,
    /// Lines with their texts: `saxpy.cu:6  y[i] = a * x[i] + y[i];`.
    lines: Vec<String>,
}

/// A line of the user's CUDA, or of the module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Cuda(SourceLine),
    Ptx(u32),
}

impl Labels {
    pub(super) fn new(view: &View<'_>) -> Self {
        let rows = view.counted.profile.table.rows.iter().map(|row| (row.instruction, row));
        let rows: BTreeMap<u32, &Row> = rows.collect();
        let mut numbers: BTreeMap<Line, u32> = BTreeMap::new();
        let mut labels = Self::default();
        for instruction in &view.recorded.launch.code.instructions {
            let mnemonic = instruction.mnemonic.to_string();
            let Some(row) = instruction.ptx.and_then(|ptx| rows.get(&ptx)) else {
                // The assembler's own, such as the padding of loops.
                let place = mnemonic.clone();
                labels.instructions.push(Label { mnemonic, place, ..Label::default() });
                continue;
            };
            let at = SourceLine::of(&view.loaded.module, row);
            let key = at.map_or(Line::Ptx(row.description.line), Line::Cuda);
            let name = name(view, key);
            let number = *numbers.entry(key).or_insert_with(|| {
                let text = text(view, key);
                labels.lines.push(if text.is_empty() {
                    name.clone()
                } else {
                    format!("{name}  {text}")
                });
                labels.lines.len() as u32 - 1
            });
            let place = format!("{mnemonic} {name}");
            let ptx = ptx_text(view.loaded, row.description.line);
            labels.instructions.push(Label { mnemonic, ptx, line: Some(number), place });
        }
        labels
    }

    /// The words for an instruction of the machine code.
    pub(super) fn of(&self, instruction: u32) -> Option<&Label> {
        self.instructions.get(instruction as usize)
    }

    /// A line with its text.
    pub(super) fn line(&self, number: u32) -> &str {
        self.lines.get(number as usize).map_or("", String::as_str)
    }
}

/// `saxpy.cu:6`.
fn name(view: &View<'_>, line: Line) -> String {
    let short = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    match line {
        Line::Cuda(SourceLine { file, line }) => {
            let file = view.files.get(&file).map(|file| short(&file.name));
            format!("{}:{line}", file.as_deref().unwrap_or("?"))
        }
        Line::Ptx(line) => format!("{}:{line}", short(&view.loaded.source.name)),
    }
}

fn text(view: &View<'_>, line: Line) -> String {
    match line {
        Line::Cuda(SourceLine { file, line }) => {
            let lines = view.files.get(&file).and_then(|file| file.lines.as_ref());
            let text = lines.and_then(|lines| lines.get((line as usize).checked_sub(1)?));
            printable(text.map_or("", |text| text.trim()))
        }
        Line::Ptx(line) => ptx_text(view.loaded, line),
    }
}
