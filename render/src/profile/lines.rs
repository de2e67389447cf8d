//! The counts of each line of PTX or CUDA.

use std::collections::BTreeMap;

use gpucast_counters::attribution::{Attribution, PartCounts, Shares, SourceLine};
use gpucast_counters::table::Row;
use gpucast_forecast::Report;
use gpucast_forecast::input::cuda_source::{CudaFile, printable};
use gpucast_forecast::number;
use gpucast_forecast::run::counting::Counted;
use gpucast_forecast::run::execute::Loaded;
use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::module::Location;
use serde::Serialize;

use super::{SourceChoice, View};
use crate::table::{Align, aligned};

/// Lines without counts between two lines with some that are shown; of more, none are.
const MOST_BETWEEN: u32 = 6;

/// The source is not cut shorter than this, however narrow the terminal.
const LEAST_SOURCE: usize = 24;

/// The counts of a line, of all invocations.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    ptx_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptx: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda: Option<&'a str>,
    #[serde(flatten)]
    counts: PartCounts,
    /// Passes over the banks and over the constant cache.
    passes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict_degree: Option<f64>,
    shares: Shares,
}

impl<'a> Line<'a> {
    fn new(attribution: &Attribution, rows: &[&Row]) -> Self {
        let counts = attribution.part(rows.iter().copied());
        Self {
            ptx_line: None,
            ptx: None,
            cuda_file: None,
            cuda_line: None,
            cuda: None,
            passes: counts.shared_passes + counts.constant_passes,
            conflict_degree: counts.conflict_degree(),
            shares: attribution.shares(&counts),
            counts,
        }
    }

    /// Names the CUDA line.
    fn at(mut self, files: &'a BTreeMap<u32, CudaFile>, file: u32, line: u32) -> Self {
        let file = files.get(&file);
        self.cuda_file = file.map(|file| file.name.as_str());
        self.cuda_line = Some(line);
        self.cuda = file.and_then(|file| cuda_text(file, line));
        self
    }
}

fn cuda_text(file: &CudaFile, line: u32) -> Option<&str> {
    let at = (line as usize).checked_sub(1)?;
    file.lines.as_ref()?.get(at).map(String::as_str)
}

/// A line of the module without its indentation.
pub(super) fn ptx_text(loaded: &Loaded, line: u32) -> String {
    let index = (line as usize).checked_sub(1);
    let text = index.and_then(|index| loaded.source.text.lines().nth(index));
    // Compilers align operands with tabs.
    printable(&text.unwrap_or_default().trim().replace('\t', " "))
}

/// The CUDA line of an instruction, in the user's own source.
pub(super) fn location(module: &Module, row: &Row) -> Option<Location> {
    module.own_place(row.description.location?)
}

/// Returns true if lines are those of the CUDA source.
fn is_cuda(view: &View<'_>, counted: &Counted) -> bool {
    match view.source {
        SourceChoice::Ptx => false,
        SourceChoice::Cuda => true,
        // The kernel's own lines, not those of the headers that it uses, decide.
        SourceChoice::Auto => {
            let rows = counted.profile.table.rows.iter();
            let mut locations = rows.filter_map(|row| location(&view.loaded.module, row));
            locations.any(|location| {
                view.files.get(&location.file).is_some_and(|file| file.lines.is_some())
            })
        }
    }
}

pub(super) fn lines<'a>(view: &View<'a>, counted: &Counted) -> Vec<Line<'a>> {
    let profile = &counted.profile;
    let attribution = Attribution::new(&profile.table, profile.machine.as_ref());
    if is_cuda(view, counted) {
        let line = |(place, rows): (Option<SourceLine>, Vec<&Row>)| {
            let line = Line::new(&attribution, &rows);
            match place {
                Some(place) => line.at(view.files, place.file, place.line),
                None => line,
            }
        };
        let by_line = profile.table.by_source_line(&view.loaded.module);
        return by_line.into_iter().map(line).collect();
    }
    let texts: Vec<&str> = view.loaded.source.text.lines().collect();
    let line = |(at, rows): (u32, Vec<&Row>)| {
        let line = Line::new(&attribution, &rows);
        let line = match rows.first().and_then(|row| location(&view.loaded.module, row)) {
            Some(location) => line.at(view.files, location.file, location.line),
            None => line,
        };
        let text = (at as usize).checked_sub(1).and_then(|index| texts.get(index));
        let text = printable(&text.unwrap_or(&"").trim().replace('\t', " "));
        Line { ptx_line: Some(at), ptx: Some(text), cuda: None, ..line }
    };
    let by_line = profile.table.group_by(|row| Some(row.description.line));
    by_line.into_iter().map(line).collect()
}

/// A count beside each line: its name and its value.
type LineCount = (&'static str, fn(&Line<'_>) -> String);

const LINE_COUNTS: [LineCount; 22] = [
    ("instructions", |line| line.counts.instructions.to_string()),
    ("warp_executions", |line| line.counts.warp_executions.to_string()),
    ("issued_lanes", |line| line.counts.issued_lanes.to_string()),
    ("thread_executions", |line| line.counts.thread_executions.to_string()),
    ("machine_warp_executions", |line| {
        line.counts.machine_warp_executions.map_or_else(String::new, |count| count.to_string())
    }),
    ("branches", |line| line.counts.branches.to_string()),
    ("divergent_branches", |line| line.counts.divergent_branches.to_string()),
    ("requests", |line| line.counts.requests.to_string()),
    ("requested_bytes", |line| line.counts.requested_bytes.to_string()),
    ("sectors", |line| line.counts.sectors.to_string()),
    ("transactions", |line| line.counts.transactions.to_string()),
    ("passes", |line| line.passes.to_string()),
    ("shared_requests", |line| line.counts.shared_requests.to_string()),
    ("shared_passes", |line| line.counts.shared_passes.to_string()),
    ("shared_conflict_free", |line| line.counts.shared_conflict_free.to_string()),
    ("constant_passes", |line| line.counts.constant_passes.to_string()),
    ("dram_read_sectors", |line| line.counts.dram_read_sectors.to_string()),
    ("conflict_degree", |line| plain(line.conflict_degree)),
    ("share_instructions", |line| plain(line.shares.instructions)),
    ("share_shared", |line| plain(line.shares.shared)),
    ("share_sectors", |line| plain(line.shares.sectors)),
    ("share_dram_reads", |line| plain(line.shares.dram_reads)),
];

fn plain(real: Option<f64>) -> String {
    real.map_or_else(String::new, |real| real.to_string())
}

pub(super) fn csv(view: &View<'_>) -> Result<String, Report> {
    let text = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    let mut rows = Vec::new();
    for (index, counted) in view.counted.iter().enumerate() {
        for line in lines(view, counted) {
            let mut row = vec![
                index.to_string(),
                counted.profile.kernel.clone(),
                text(line.ptx_line),
                line.ptx.clone().unwrap_or_default(),
                line.cuda_file.unwrap_or_default().to_owned(),
                text(line.cuda_line),
                line.cuda.unwrap_or_default().trim().to_owned(),
            ];
            row.extend(LINE_COUNTS.iter().map(|(_, count)| count(&line)));
            rows.push(row);
        }
    }
    let mut header = vec!["launch", "kernel", "ptx_line", "ptx", "cuda_file", "cuda_line", "cuda"];
    header.extend(LINE_COUNTS.iter().map(|(name, _)| name));
    crate::csv::document(&header, &rows)
}

/// A column of the listing: its title, and its value if there is one.
type Column = (&'static str, fn(&Line<'_>) -> Option<String>);

fn some(count: u64) -> Option<String> {
    (count != 0).then(|| number::count(count))
}

fn percent(share: Option<f64>) -> Option<String> {
    share.filter(|&share| share != 0.0).map(|share| format!("{:.1}", 100.0 * share))
}

const COLUMNS: [Column; 14] = [
    ("warps", |line| Some(number::count(line.counts.warp_executions))),
    ("lanes", |line| line.counts.mean_threads().map(|mean| format!("{mean:.1}"))),
    ("machine", |line| line.counts.machine_warp_executions.map(number::count)),
    ("diverge", |line| some(line.counts.divergent_branches)),
    ("shared", |line| some(line.counts.shared_passes)),
    ("degree", |line| line.conflict_degree.map(|degree| format!("{degree:.2}"))),
    ("const", |line| some(line.counts.constant_passes)),
    ("transact.", |line| some(line.counts.transactions)),
    ("sectors", |line| some(line.counts.sectors)),
    ("DRAM rd", |line| some(line.counts.dram_read_sectors)),
    ("instr %", |line| percent(line.shares.instructions)),
    ("shared %", |line| percent(line.shares.shared)),
    ("L2 %", |line| percent(line.shares.sectors)),
    ("DRAM %", |line| percent(line.shares.dram_reads)),
];

/// Counts beside each line, with a legend.
pub(super) fn text(view: &View<'_>, counted: &Counted) -> String {
    let mut rows = table(view, counted);
    let columns = rows.first().map_or(1, Vec::len);
    let mut aligns = vec![Align::Right; columns - 1];
    aligns.push(Align::Left);
    cut_sources(&mut rows, view.width);
    let mut text = aligned(0, &aligns, &rows);
    text.push('\n');
    text.push_str(&legend(counted));
    text
}

/// Counts beside each line under a header, the source last; columns in which there is nothing are
/// left out.
pub(super) fn table(view: &View<'_>, counted: &Counted) -> Vec<Vec<String>> {
    let lines = lines(view, counted);
    let is_used =
        |(_, value): &&Column| lines.iter().any(|line| value(line).is_some_and(|v| v != "0"));
    let columns: Vec<&Column> = COLUMNS.iter().filter(is_used).collect();
    let of_ptx = lines.iter().any(|line| line.ptx_line.is_some());
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut header = vec!["line".to_owned()];
    header.extend(columns.iter().map(|(title, _)| (*title).to_owned()));
    header.extend(if of_ptx {
        vec!["CUDA".to_owned(), "PTX".to_owned()]
    } else {
        vec!["CUDA".to_owned()]
    });
    let several_files =
        lines.iter().filter_map(|line| line.cuda_file).collect::<std::collections::BTreeSet<_>>();
    rows.push(header);
    let mut previous: Option<(&str, u32)> = None;
    // The file whose name was written last; instructions without a line have none.
    let mut named: Option<Option<&str>> = None;
    for line in &lines {
        let place = line.cuda_file.zip(line.cuda_line);
        if !of_ptx {
            let is_new = named.replace(line.cuda_file) != Some(line.cuda_file);
            if is_new && (several_files.len() > 1 || line.cuda.is_none()) {
                let file = line.cuda_file.unwrap_or("without a line of CUDA");
                rows.push(blank(columns.len(), "", format!("-- {file}")));
            }
            rows.extend(between(view, previous, place, columns.len()));
            previous = place;
        }
        let mut row = vec![
            line.ptx_line.or(line.cuda_line).map_or_else(String::new, |line| line.to_string()),
        ];
        row.extend(columns.iter().map(|(_, value)| value(line).unwrap_or_default()));
        match &line.ptx {
            Some(ptx) => row.extend([
                line.cuda_line.map_or_else(String::new, |line| line.to_string()),
                ptx.clone(),
            ]),
            None => row.push(line.cuda.unwrap_or_default().to_owned()),
        }
        rows.push(row);
    }
    rows
}

/// The lines of the file between two lines with counts, if they are few.
fn between(
    view: &View<'_>,
    from: Option<(&str, u32)>,
    to: Option<(&str, u32)>,
    columns: usize,
) -> Vec<Vec<String>> {
    let (Some((file, from)), Some((same, to))) = (from, to) else { return Vec::new() };
    let found = view.files.values().find(|one| one.name == file && one.lines.is_some());
    let Some(text) = found.filter(|_| file == same) else { return Vec::new() };
    if to.saturating_sub(from) > MOST_BETWEEN + 1 {
        return vec![blank(columns, "…", String::new())];
    }
    (from + 1..to)
        .map(|line| {
            let source = cuda_text(text, line).unwrap_or_default();
            blank(columns, &line.to_string(), source.to_owned())
        })
        .collect()
}

/// A row without counts.
fn blank(columns: usize, line: &str, source: String) -> Vec<String> {
    let mut row = vec![line.to_owned()];
    row.extend(std::iter::repeat_n(String::new(), columns));
    row.push(source);
    row
}

/// Cuts the last cells so that lines fit the terminal.
fn cut_sources(rows: &mut [Vec<String>], width: Option<usize>) {
    let Some(width) = width else { return };
    let longest = |column: usize, rows: &[Vec<String>]| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let last = rows.iter().map(Vec::len).max().unwrap_or(1) - 1;
    let before: usize = (0..last).map(|column| longest(column, rows).unwrap_or(0) + 2).sum();
    let room = width.saturating_sub(before).max(LEAST_SOURCE);
    for cell in rows.iter_mut().filter_map(|row| row.get_mut(last)) {
        if cell.chars().count() > room {
            *cell = cell.chars().take(room - 1).chain(['…']).collect();
        }
    }
}

/// Explains the columns, and names the counts that could not be attributed.
pub(super) fn legend(counted: &Counted) -> String {
    let profile = &counted.profile;
    let mut text = String::from(
        "lanes: mean threads of an executed instruction; degree: passes over those without bank \
         conflicts;\nlast columns: share of the launch's instructions, shared-memory passes, \
         sectors and DRAM reads\n",
    );
    if let Some(machine) = &profile.machine {
        let attribution = Attribution::new(&profile.table, Some(machine));
        if let Some(rest @ 1..) = attribution.machine_unattributed {
            text += &format!(
                "{} executions of machine instructions stand for no PTX instruction\n",
                number::count(rest)
            );
        }
    }
    text
}
