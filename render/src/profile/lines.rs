//! The counts of each line of PTX or CUDA.

use std::collections::BTreeMap;

use gpucast_counters::attribution::{Attribution, PartCounts, Shares, SourceLine};
use gpucast_counters::machine::BackEnd;
use gpucast_counters::table::Row;
use gpucast_forecast::Report;
use gpucast_forecast::input::cuda_source::{CudaFile, printable};
use gpucast_forecast::input::kernel_name;
use gpucast_forecast::number;
use gpucast_forecast::run::counting::Counted;
use gpucast_forecast::run::execute::Loaded;
use gpucast_model::sm_simulation::{self, State};
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
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ptx_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ptx: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cuda_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cuda_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cuda: Option<&'a str>,
    #[serde(flatten)]
    pub(crate) counts: PartCounts,
    /// Passes over the banks and over the constant cache.
    passes: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conflict_degree: Option<f64>,
    pub(crate) shares: Shares,
    /// The share of the warps' time that the line takes, by the simulation of an SM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) share_time: Option<f64>,
    /// The states that warps spend this time in, longest first, as shares of the warps' time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) stalls: Vec<Stall>,
    /// The machine instructions that stand for the line, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) machine_code: Vec<&'a str>,
    /// The counts of the line by inlined calls, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) inlined: Vec<InlinedPart>,
}

/// The time that warps spend in a state.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Stall {
    /// Nsight Compute's name of the state, or ours.
    pub(crate) state: &'static str,
    /// The state in words.
    #[serde(skip)]
    pub(crate) words: &'static str,
    /// The share of the warps' time.
    pub(crate) share: f64,
}

/// The part of a line's counts that comes out of one chain of inlined calls.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct InlinedPart {
    /// The places from the innermost one to the line's own, which is left out.
    pub(crate) frames: Vec<InlinedFrame>,
    /// The counts.
    pub(crate) counts: PartCounts,
}

/// A place in an inlined function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct InlinedFrame {
    /// The function, if the module names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) function: Option<String>,
    /// The file.
    pub(crate) file: String,
    /// The line.
    pub(crate) line: u32,
}

impl InlinedFrame {
    /// `load_matrix_sync at mma.hpp:91`.
    pub(crate) fn words(&self) -> String {
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        match &self.function {
            Some(function) => format!("{} at {file}:{}", short(function), self.line),
            None => format!("{file}:{}", self.line),
        }
    }
}

/// A function's name without its parameters, template arguments and namespaces.
fn short(function: &str) -> String {
    let name = kernel_name::readable(function);
    // The result's type stands before the name of a template's instance.
    let last = kernel_name::bare(&name).rsplit(' ').next().unwrap_or_default();
    if last.is_empty() { name } else { last.to_owned() }
}

impl<'a> Line<'a> {
    fn new(of: &Launch<'a, '_>, rows: &[&Row]) -> Self {
        let attribution = &of.attribution;
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
            share_time: None,
            stalls: Vec::new(),
            machine_code: of.machine_code(rows),
            inlined: Vec::new(),
            counts,
        }
        .with_time(of.simulation, rows)
    }

    /// Adds the time that a simulation gives the line.
    fn with_time(mut self, simulation: Option<&sm_simulation::Analysis>, rows: &[&Row]) -> Self {
        let Some(simulation) = simulation else { return self };
        let clocks = simulation.clocks_of(rows.iter().map(|row| row.instruction));
        let all = simulation.warp_clocks().max(f64::MIN_POSITIVE);
        self.share_time = Some(clocks.total() / all);
        let stalls = State::ALL.into_iter().map(|state| Stall {
            state: state.name(),
            words: state.text(),
            share: clocks.of(state) / all,
        });
        self.stalls = stalls.filter(|stall| stall.share > 0.0).collect();
        self.stalls.sort_by(|a, b| b.share.total_cmp(&a.share));
        self
    }

    /// The state that most of the line's time is spent in, apart from issuing.
    pub(crate) fn main_stall(&self) -> Option<&Stall> {
        self.stalls.iter().find(|stall| stall.state != State::Selected.name())
    }

    /// The requests that cost more than they need, by the worst kind: `4.0× sectors`.
    pub(crate) fn excess(&self) -> Option<String> {
        let ratio = |actual: u128, ideal: u128| {
            (ideal != 0).then(|| actual as f64 / ideal as f64).filter(|&ratio| ratio >= 1.05)
        };
        let sectors = ratio(self.counts.sectors, self.counts.ideal_sectors);
        let passes = ratio(self.counts.shared_passes, self.counts.shared_conflict_free);
        match (sectors, passes) {
            (Some(sectors), passes) if passes.is_none_or(|passes| sectors >= passes) => {
                Some(format!("{sectors:.1}× sectors"))
            }
            (_, Some(passes)) => Some(format!("{passes:.1}× passes")),
            (_, None) => None,
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
pub(crate) fn ptx_text(loaded: &Loaded, line: u32) -> String {
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

/// The data of a launch that its lines share.
struct Launch<'a, 'b> {
    attribution: Attribution,
    simulation: Option<&'b sm_simulation::Analysis>,
    /// The mnemonics that stand for each PTX instruction.
    machine_code: BTreeMap<u32, Vec<&'a str>>,
}

impl<'a, 'b> Launch<'a, 'b> {
    fn new(counted: &'a Counted, simulation: Option<&'b sm_simulation::Analysis>) -> Self {
        let profile = &counted.profile;
        let mut machine_code = BTreeMap::<u32, Vec<&str>>::new();
        let machine = profile.machine.as_ref();
        // Rules estimate how many instructions there are; an assembler says which.
        let assembled = machine.filter(|machine| matches!(machine.back_end, BackEnd::Ptxas { .. }));
        for row in assembled.iter().flat_map(|machine| &machine.rows) {
            if let Some(instruction) = row.instruction {
                machine_code.entry(instruction).or_default().push(&row.mnemonic);
            }
        }
        Self { attribution: Attribution::new(&profile.table, machine), simulation, machine_code }
    }

    fn machine_code(&self, rows: &[&Row]) -> Vec<&'a str> {
        let of_row = |row: &&Row| self.machine_code.get(&row.instruction);
        rows.iter().filter_map(of_row).flatten().copied().collect()
    }
}

/// The counts of a line by the chains of inlined calls that they come out of; nothing if all of
/// them are the line's own.
fn inlined(view: &View<'_>, launch: &Launch<'_, '_>, rows: &[&Row]) -> Vec<InlinedPart> {
    let module = &view.loaded.module;
    let mut parts: Vec<(Vec<InlinedFrame>, Vec<&Row>)> = Vec::new();
    for row in rows {
        let Some(location) = row.description.location else { continue };
        let Some(own) = module.own_place(location) else { continue };
        let frames = module.frames(location).take_while(|frame| frame.location != own);
        let frames: Vec<InlinedFrame> = frames
            .map(|frame| InlinedFrame {
                function: frame.function.map(str::to_owned),
                file: module.file_name(frame.location.file).unwrap_or("?").to_owned(),
                line: frame.location.line,
            })
            .collect();
        match parts.iter_mut().find(|(known, _)| *known == frames) {
            Some((_, rows)) => rows.push(row),
            None => parts.push((frames, vec![row])),
        }
    }
    parts.retain(|(frames, _)| !frames.is_empty());
    let part = |(frames, rows): (Vec<InlinedFrame>, Vec<&Row>)| InlinedPart {
        frames,
        counts: launch.attribution.part(rows),
    };
    parts.into_iter().map(part).collect()
}

/// The lines that the view is of.
pub(crate) fn lines<'a>(view: &View<'a>, counted: &'a Counted) -> Vec<Line<'a>> {
    let choice = if is_cuda(view, counted) { SourceChoice::Cuda } else { SourceChoice::Ptx };
    lines_of(view, counted, choice)
}

/// The lines of CUDA, or of PTX.
pub(crate) fn lines_of<'a>(
    view: &View<'a>,
    counted: &'a Counted,
    source: SourceChoice,
) -> Vec<Line<'a>> {
    let profile = &counted.profile;
    let launch = Launch::new(counted, view.simulation_of(counted));
    if source == SourceChoice::Cuda {
        let line = |(place, rows): (Option<SourceLine>, Vec<&Row>)| {
            let line = Line::new(&launch, &rows);
            let line = Line { inlined: inlined(view, &launch, &rows), ..line };
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
        let line = Line::new(&launch, &rows);
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

const LINE_COUNTS: [LineCount; 27] = [
    ("instructions", |line| line.counts.instructions.to_string()),
    ("warp_executions", |line| line.counts.warp_executions.to_string()),
    ("issued_lanes", |line| line.counts.issued_lanes.to_string()),
    ("thread_executions", |line| line.counts.thread_executions.to_string()),
    ("machine_warp_executions", |line| {
        line.counts.machine_warp_executions.map_or_else(String::new, |count| count.to_string())
    }),
    ("spills", |line| line.counts.spills.to_string()),
    ("branches", |line| line.counts.branches.to_string()),
    ("divergent_branches", |line| line.counts.divergent_branches.to_string()),
    ("requests", |line| line.counts.requests.to_string()),
    ("requested_bytes", |line| line.counts.requested_bytes.to_string()),
    ("sectors", |line| line.counts.sectors.to_string()),
    ("ideal_sectors", |line| line.counts.ideal_sectors.to_string()),
    ("transactions", |line| line.counts.transactions.to_string()),
    ("passes", |line| line.passes.to_string()),
    ("shared_requests", |line| line.counts.shared_requests.to_string()),
    ("shared_passes", |line| line.counts.shared_passes.to_string()),
    ("shared_conflict_free", |line| line.counts.shared_conflict_free.to_string()),
    ("constant_passes", |line| line.counts.constant_passes.to_string()),
    ("dram_read_sectors", |line| {
        line.counts.dram_read_sectors.map_or_else(String::new, |count| count.to_string())
    }),
    ("conflict_degree", |line| plain(line.conflict_degree)),
    ("share_instructions", |line| plain(line.shares.instructions)),
    ("share_shared", |line| plain(line.shares.shared)),
    ("share_sectors", |line| plain(line.shares.sectors)),
    ("share_dram_reads", |line| plain(line.shares.dram_reads)),
    ("share_time", |line| plain(line.share_time)),
    ("stall", |line| line.main_stall().map_or_else(String::new, |stall| stall.state.to_owned())),
    ("machine_code", |line| line.machine_code.join(" ")),
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

fn some(count: impl Into<u128>) -> Option<String> {
    let count = count.into();
    (count != 0).then(|| number::count(count))
}

fn percent(share: Option<f64>) -> Option<String> {
    share.filter(|&share| share != 0.0).map(|share| format!("{:.1}", 100.0 * share))
}

const COLUMNS: [Column; 18] = [
    ("time %", |line| percent(line.share_time)),
    ("warps", |line| Some(number::count(line.counts.warp_executions))),
    ("lanes", |line| line.counts.mean_threads().map(|mean| format!("{mean:.1}"))),
    ("machine", |line| line.counts.machine_warp_executions.map(number::count)),
    ("spills", |line| some(line.counts.spills)),
    ("diverge", |line| some(line.counts.divergent_branches)),
    ("shared", |line| some(line.counts.shared_passes)),
    ("(ideal)", |line| some(line.counts.shared_conflict_free)),
    ("const", |line| some(line.counts.constant_passes)),
    ("transact.", |line| some(line.counts.transactions)),
    ("sectors", |line| some(line.counts.sectors)),
    ("(ideal)", |line| some(line.counts.ideal_sectors)),
    ("DRAM rd", |line| line.counts.dram_read_sectors.and_then(some)),
    ("instr %", |line| percent(line.shares.instructions)),
    ("shared %", |line| percent(line.shares.shared)),
    ("L2 %", |line| percent(line.shares.sectors)),
    ("DRAM %", |line| percent(line.shares.dram_reads)),
    ("stall", |line| line.main_stall().map(|stall| stall.state.to_owned())),
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
    text.push_str(&legend(counted, view.simulation_of(counted).is_some()));
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
    let has_machine_code = of_ptx && lines.iter().any(|line| !line.machine_code.is_empty());
    if of_ptx {
        header.push("CUDA".to_owned());
    }
    if has_machine_code {
        header.push("machine code".to_owned());
    }
    header.push(if of_ptx { "PTX" } else { "CUDA" }.to_owned());
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
            Some(ptx) => {
                row.push(line.cuda_line.map_or_else(String::new, |line| line.to_string()));
                if has_machine_code {
                    row.push(abridged(&line.machine_code));
                }
                row.push(ptx.clone());
            }
            None => row.push(line.cuda.unwrap_or_default().to_owned()),
        }
        rows.push(row);
        if view.inlined {
            rows.extend(line.inlined.iter().map(|part| inlined_row(part, &columns)));
        }
    }
    rows
}

/// Mnemonics with their numbers: `IMAD ×2, LDG`.
pub(crate) fn abridged(mnemonics: &[&str]) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for &mnemonic in mnemonics {
        match counted.iter_mut().find(|(known, _)| *known == mnemonic) {
            Some((_, times)) => *times += 1,
            None => counted.push((mnemonic, 1)),
        }
    }
    let words = counted.into_iter().map(|(mnemonic, times)| match times {
        1 => mnemonic.to_owned(),
        several => format!("{mnemonic} ×{several}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The counts of a chain of inlined calls, below the line that they are part of.
fn inlined_row(part: &InlinedPart, columns: &[&Column]) -> Vec<String> {
    let counts = part.counts;
    let line =
        Line { counts, passes: counts.shared_passes + counts.constant_passes, ..Line::default() };
    let mut row = vec![String::new()];
    row.extend(columns.iter().map(|(_, value)| value(&line).unwrap_or_default()));
    row.push(format!("    in {}", chain(&part.frames)));
    row
}

/// The frames of a chain, the outermost first: `wmma.h:5 > mma.hpp:91`.
pub(crate) fn chain(frames: &[InlinedFrame]) -> String {
    frames.iter().rev().map(InlinedFrame::words).collect::<Vec<_>>().join(" > ")
}

/// The lines of the file between two lines with counts, if they are few.
fn between(
    view: &View<'_>,
    from: Option<(&str, u32)>,
    to: Option<(&str, u32)>,
    columns: usize,
) -> Vec<Vec<String>> {
    let (Some((file, from)), Some((same, to))) = (from, to) else { return Vec::new() };
    let found = view.files.values().find(|value| value.name == file && value.lines.is_some());
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
pub(super) fn legend(counted: &Counted, with_time: bool) -> String {
    let profile = &counted.profile;
    let mut text = String::from(
        "lanes: mean threads of an executed instruction; (ideal): the same requests without bank \
         conflicts,\nand with lanes that access consecutive bytes; %: shares of the launch's \
         instructions, shared-memory\npasses, sectors and DRAM reads; library code that was inlined \
         belongs to the line that calls it\n",
    );
    if with_time {
        text.push_str(
            "time %: share of the warps' time in the simulated SM; stall: what most of it is spent \
             on\n",
        );
    }
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
