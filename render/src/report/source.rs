//! The annotated source of the report.

use std::collections::BTreeMap;

use gpucast_forecast::number;
use gpucast_forecast::run::counting::Counted;
use gpucast_model::Bound;

use crate::profile::{Line, SourceChoice, View, abridged, chain, lines_of};

/// The sources of a kernel with the cost of each line.
pub(super) struct Sources {
    /// The quantity that the first column has shares of.
    pub(super) share_of: &'static str,
    /// CUDA, then PTX; CUDA is missing if its lines are not known.
    pub(super) listings: Vec<Listing>,
}

/// A source.
pub(super) struct Listing {
    pub(super) language: &'static str,
    /// Names of the counts.
    pub(super) titles: Vec<&'static str>,
    /// The title that words stand below.
    pub(super) words: &'static str,
    /// Title of the last column of PTX; empty if there is no machine code.
    pub(super) machine: &'static str,
    pub(super) rows: Vec<Row>,
}

/// A line, or the name of a file above its lines.
pub(super) struct Row {
    /// The line's number; empty for lines that stand for several, and for names of files.
    pub(super) line: String,
    /// The text.
    pub(super) text: String,
    /// The share of the kernel, in percent; empty if nothing was counted.
    pub(super) share: String,
    /// From 0, cold, to 4.
    pub(super) heat: u8,
    /// What the line wastes: `4.0× sectors`.
    pub(super) excess: String,
    /// The counts, in the order of [`Listing::titles`], each with true if it is words.
    pub(super) cells: Vec<(String, bool)>,
    /// The CUDA line of PTX.
    pub(super) cuda_line: String,
    /// The machine instructions of PTX.
    pub(super) machine: String,
    /// The states that warps wait in, in words.
    pub(super) stalls: String,
    /// The inlined calls below the line, with their counts.
    pub(super) chains: Vec<String>,
    /// True if nothing was counted for it.
    pub(super) idle: bool,
    /// True for the name of a file.
    pub(super) is_file: bool,
}

/// A count of a line: its title, and its value if there is one.
type Count = (&'static str, fn(&Line<'_>) -> Option<String>);

fn some(count: impl Into<u128>) -> Option<String> {
    let count = count.into();
    (count != 0).then(|| number::count(count))
}

/// The column that holds words instead of numbers.
const WORDS: &str = "waits for";

const COUNTS: [Count; 9] = [
    ("warps", |line| some(line.counts.warp_executions)),
    ("lanes", |line| line.counts.mean_threads().map(|mean| format!("{mean:.1}"))),
    ("diverge", |line| some(line.counts.divergent_branches)),
    ("sectors", |line| some(line.counts.sectors)),
    ("ideal sectors", |line| some(line.counts.ideal_sectors)),
    ("shared passes", |line| some(line.counts.shared_passes)),
    ("ideal passes", |line| some(line.counts.shared_conflict_free)),
    ("DRAM reads", |line| line.counts.dram_read_sectors.and_then(some)),
    (WORDS, |line| line.main_stall().map(|stall| stall.words.to_owned())),
];

/// Lines without counts between two lines with some that are shown; of more, none are.
const MOST_BETWEEN: u32 = 12;

/// The share of a line of what bounds the kernel.
fn share(line: &Line<'_>, bound: Option<Bound>) -> Option<f64> {
    let shares = &line.shares;
    line.share_time.or(match bound {
        Some(Bound::Memory) => shares.dram_reads.or(shares.sectors),
        Some(Bound::L1 | Bound::L2) => shares.sectors,
        Some(Bound::Shared) => shares.shared,
        Some(Bound::Compute | Bound::Overhead) | None => shares.instructions,
    })
}

/// The sources of a launch that a resource bounds.
pub(super) fn sources(view: &View<'_>, counted: &Counted, bound: Option<Bound>) -> Sources {
    let cuda = lines_of(view, counted, SourceChoice::Cuda);
    let ptx = lines_of(view, counted, SourceChoice::Ptx);
    let has_time = ptx.iter().any(|line| line.share_time.is_some());
    let share_of = match bound {
        _ if has_time => "time of warps",
        Some(Bound::Memory) => "reads of device memory",
        Some(Bound::L1 | Bound::L2) => "sectors",
        Some(Bound::Shared) => "passes of shared memory",
        Some(Bound::Compute | Bound::Overhead) | None => "instructions",
    };
    let mut listings = Vec::new();
    if view.source != SourceChoice::Ptx && cuda.iter().any(|line| line.cuda_line.is_some()) {
        listings.push(listing(view, "CUDA", &cuda, bound));
    }
    listings.push(listing(view, "PTX", &ptx, bound));
    Sources { share_of, listings }
}

fn listing(
    view: &View<'_>,
    language: &'static str,
    lines: &[Line<'_>],
    bound: Option<Bound>,
) -> Listing {
    let is_used = |(_, value): &&Count| lines.iter().any(|line| value(line).is_some());
    let counts: Vec<&Count> = COUNTS.iter().filter(is_used).collect();
    let has_machine_code = lines.iter().any(|line| !line.machine_code.is_empty());
    let mut rows = Vec::new();
    let mut file: Option<Option<&str>> = None;
    let mut last: Option<(&str, u32)> = None;
    for line in lines {
        if language == "CUDA" {
            if file.replace(line.cuda_file) != Some(line.cuda_file) {
                let name = line.cuda_file.unwrap_or("Without a line of CUDA");
                rows.push(Row { text: name.to_owned(), is_file: true, ..blank() });
                last = None;
            }
            if let (Some(name), Some(number)) = (line.cuda_file, line.cuda_line) {
                rows.extend(between(view, last.filter(|(file, _)| *file == name), number));
                last = Some((name, number));
            }
        }
        rows.push(row(line, language, &counts, bound));
    }
    Listing {
        language,
        titles: counts.iter().map(|(title, _)| *title).collect(),
        words: WORDS,
        machine: if language == "PTX" && has_machine_code { "machine code" } else { "" },
        rows,
    }
}

fn row(line: &Line<'_>, language: &str, counts: &[&Count], bound: Option<Bound>) -> Row {
    let share = share(line, bound);
    let heat = match share.unwrap_or(0.0) {
        share if share >= 0.3 => 4,
        share if share >= 0.15 => 3,
        share if share >= 0.05 => 2,
        share if share >= 0.01 => 1,
        _ => 0,
    };
    let stalls = line
        .stalls
        .iter()
        .take(4)
        .map(|stall| format!("{} {:.1} %", stall.words, 100.0 * stall.share));
    let chains = line.inlined.iter().map(|part| {
        let counts = &part.counts;
        let mut words =
            vec![format!("{} warp instructions", number::count(counts.warp_executions))];
        for (count, name) in [(counts.sectors, "sectors"), (counts.shared_passes, "shared passes")]
        {
            words.extend(some(count).map(|count| format!("{count} {name}")));
        }
        format!("{}: {}", chain(&part.frames), words.join(", "))
    });
    let number = if language == "PTX" { line.ptx_line } else { line.cuda_line };
    Row {
        line: number.map_or_else(String::new, |line| line.to_string()),
        text: match &line.ptx {
            Some(ptx) => ptx.clone(),
            None => line.cuda.unwrap_or_default().to_owned(),
        },
        share: share.map_or_else(String::new, |share| format!("{:.1}", 100.0 * share)),
        heat,
        excess: line.excess().unwrap_or_default(),
        cells: counts
            .iter()
            .map(|(title, value)| (value(line).unwrap_or_default(), *title == WORDS))
            .collect(),
        cuda_line: match language {
            "PTX" => line.cuda_line.map_or_else(String::new, |line| line.to_string()),
            _ => String::new(),
        },
        machine: abridged(&line.machine_code),
        stalls: stalls.collect::<Vec<_>>().join(", "),
        chains: chains.collect(),
        idle: false,
        is_file: false,
    }
}

/// A row without counts.
fn blank() -> Row {
    Row {
        line: String::new(),
        text: String::new(),
        share: String::new(),
        heat: 0,
        excess: String::new(),
        cells: Vec::new(),
        cuda_line: String::new(),
        machine: String::new(),
        stalls: String::new(),
        chains: Vec::new(),
        idle: true,
        is_file: false,
    }
}

/// The lines of the file between two lines with counts, if they are few.
fn between(view: &View<'_>, from: Option<(&str, u32)>, to: u32) -> Vec<Row> {
    let Some((name, from)) = from else { return Vec::new() };
    let files: &BTreeMap<_, _> = view.files;
    let Some(text) = files.values().find(|file| file.name == name).and_then(|f| f.lines.as_ref())
    else {
        return Vec::new();
    };
    if to.saturating_sub(from) > MOST_BETWEEN + 1 {
        return vec![Row { text: "…".to_owned(), ..blank() }];
    }
    let line = |number: u32| Row {
        line: number.to_string(),
        text: text.get(number as usize - 1).cloned().unwrap_or_default(),
        ..blank()
    };
    (from + 1..to).map(line).collect()
}
