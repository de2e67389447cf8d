//! Profiles as text, JSON and CSV: metrics of each launch, or counts of each PTX line.

use std::collections::BTreeMap;

use gpucast_counters::definitions::definition;
use gpucast_counters::table::Row;
use gpucast_counters::{MetricValue, Metrics, Number, PROFILE_SCHEMA};
use serde::Serialize;

use super::number;
use super::table::{Align, aligned};
use crate::cli::{By, Format, MetricNames};
use crate::counting::Counted;
use crate::execute::{Loaded, Timing};
use crate::failure::Failure;
use crate::inspection::MachineFacts;

/// What is shown of the launches.
pub(crate) struct View<'a> {
    pub(crate) counted: &'a [Counted],
    /// The module, to quote its lines.
    pub(crate) loaded: &'a Loaded,
    pub(crate) names: MetricNames,
    pub(crate) timing: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    launches: Vec<LaunchView<'a>>,
}

#[derive(Serialize)]
struct LaunchView<'a> {
    kernel: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    invocations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordered_because: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine_code: Option<&'a MachineFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<BTreeMap<&'a str, MetricValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<Line<'a>>>,
    buffers_sha256: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timing: Option<Timing>,
}

/// The counts of a PTX line, of all invocations.
#[derive(Serialize)]
struct Line<'a> {
    ptx_line: u32,
    ptx: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda_line: Option<u32>,
    warp_executions: u64,
    thread_executions: u64,
    requests: u64,
    requested_bytes: u64,
    sectors: u64,
    transactions: u64,
    passes: u64,
    dram_read_sectors: u64,
}

/// The launches in the form asked for.
pub(crate) fn document(view: &View<'_>, by: By, format: Format) -> Result<String, Failure> {
    match (format, by) {
        (Format::Json, _) => {
            let launches = view.counted.iter().map(|counted| launch(view, counted, by)).collect();
            super::json::document(&Document { schema: PROFILE_SCHEMA, launches })
        }
        (Format::Csv, By::Launch) => metrics_as_csv(view),
        (Format::Csv, By::Line) => lines_as_csv(view),
        (Format::Text, _) => Ok(text(view, by)),
    }
}

fn launch<'a>(view: &View<'a>, counted: &'a Counted, by: By) -> LaunchView<'a> {
    let profile = &counted.profile;
    LaunchView {
        kernel: &profile.kernel,
        grid: profile.grid,
        block: profile.block,
        invocations: profile.invocations,
        ordered_because: counted.ordered_because.as_deref(),
        machine_code: counted.machine_code.as_ref(),
        metrics: (by == By::Launch).then(|| chosen(&profile.metrics, view.names)),
        lines: (by == By::Line).then(|| lines(counted, view.loaded)),
        buffers_sha256: &counted.buffers_sha256,
        timing: view.timing.then_some(counted.timing),
    }
}

/// The metrics that were asked for, under the names that were asked for.
fn chosen<'a>(metrics: &'a Metrics, names: MetricNames) -> BTreeMap<&'a str, MetricValue> {
    let row = |(name, value): (&'a String, &MetricValue)| match names {
        MetricNames::All => Some((name.as_str(), *value)),
        MetricNames::Ncu => definition(name)?.nsight.map(|nsight| (nsight, *value)),
        MetricNames::Nvprof => has_nvprof(name).then_some((name.as_str(), *value)),
    };
    metrics.iter().filter_map(row).collect()
}

/// Whether nvprof itself knows the name; the definitions say which are ours.
fn has_nvprof(name: &str) -> bool {
    let ours = ["ptx_", "global_load_sectors", "global_store_sectors"];
    !ours.iter().any(|prefix| name.starts_with(prefix))
}

fn lines<'a>(counted: &Counted, loaded: &'a Loaded) -> Vec<Line<'a>> {
    let texts: Vec<&str> = loaded.source.text.lines().collect();
    let groups = counted.profile.table.group_by(|row| Some(row.description.line));
    let line = |(ptx_line, rows): (u32, Vec<&Row>)| {
        let location = rows.first().and_then(|row| row.description.location);
        let file = location.and_then(|location| {
            let mut files = loaded.module.files.iter();
            files.find(|(index, _)| *index == location.file).map(|(_, name)| name.as_str())
        });
        let sum = |field: fn(&Row) -> u64| rows.iter().map(|row| field(row)).sum();
        Line {
            ptx_line,
            // Compilers align operands with tabs.
            ptx: line_text(&texts, ptx_line).replace('\t', " "),
            cuda_file: file,
            cuda_line: location.map(|location| location.line),
            warp_executions: sum(|row| row.warp_executions),
            thread_executions: sum(|row| row.thread_executions),
            requests: sum(|row| row.memory.iter().map(|counts| counts.requests).sum()),
            requested_bytes: sum(|row| row.memory.iter().map(|c| c.requested_bytes).sum()),
            sectors: sum(|row| row.memory.iter().map(|counts| counts.sectors).sum()),
            transactions: sum(|row| row.memory.iter().map(|counts| counts.transactions).sum()),
            passes: sum(|row| row.memory.iter().map(|counts| counts.passes).sum()),
            dram_read_sectors: sum(|row| row.memory.iter().map(|c| c.dram_read_sectors).sum()),
        }
    };
    groups.into_iter().map(line).collect()
}

/// A one-based line without its indentation.
fn line_text<'a>(texts: &[&'a str], line: u32) -> &'a str {
    let index = (line as usize).checked_sub(1);
    index.and_then(|index| texts.get(index)).map_or("", |text| text.trim())
}

fn extent([x, y, z]: [u32; 3]) -> String {
    format!("{x} x {y} x {z}")
}

fn metrics_as_csv(view: &View<'_>) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for (index, counted) in view.counted.iter().enumerate() {
        let profile = &counted.profile;
        for (name, metric) in chosen(&profile.metrics, view.names) {
            let value = match metric.value {
                Number::Count(count) => count.to_string(),
                Number::Real(real) => real.to_string(),
            };
            rows.push(vec![
                index.to_string(),
                profile.kernel.clone(),
                extent(profile.grid),
                extent(profile.block),
                profile.invocations.to_string(),
                name.to_owned(),
                value,
                metric.unit.to_owned(),
                super::metric::kind(&metric),
            ]);
        }
    }
    let header =
        ["launch", "kernel", "grid", "block", "invocations", "metric", "value", "unit", "kind"];
    super::csv::document(&header, &rows)
}

/// A column of the counts by line: its name and its value.
type LineCount = (&'static str, fn(&Line<'_>) -> u64);

const LINE_COUNTS: [LineCount; 8] = [
    ("warp_executions", |line| line.warp_executions),
    ("thread_executions", |line| line.thread_executions),
    ("requests", |line| line.requests),
    ("requested_bytes", |line| line.requested_bytes),
    ("sectors", |line| line.sectors),
    ("transactions", |line| line.transactions),
    ("passes", |line| line.passes),
    ("dram_read_sectors", |line| line.dram_read_sectors),
];

fn lines_as_csv(view: &View<'_>) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for (index, counted) in view.counted.iter().enumerate() {
        for line in lines(counted, view.loaded) {
            let mut row = vec![
                index.to_string(),
                counted.profile.kernel.clone(),
                line.ptx_line.to_string(),
                line.ptx.clone(),
                line.cuda_file.unwrap_or_default().to_owned(),
                line.cuda_line.map_or_else(String::new, |line| line.to_string()),
            ];
            row.extend(LINE_COUNTS.iter().map(|(_, count)| count(&line).to_string()));
            rows.push(row);
        }
    }
    let mut header = vec!["launch", "kernel", "ptx_line", "ptx", "cuda_file", "cuda_line"];
    header.extend(LINE_COUNTS.iter().map(|(name, _)| name));
    super::csv::document(&header, &rows)
}

fn text(view: &View<'_>, by: By) -> String {
    let mut text = String::new();
    for counted in view.counted {
        if !text.is_empty() {
            text.push('\n');
        }
        let profile = &counted.profile;
        text += &format!(
            "{}: {} blocks of {} threads",
            profile.kernel,
            extent(profile.grid),
            extent(profile.block)
        );
        if profile.invocations > 1 {
            let means = if by == By::Launch { "means of" } else { "totals of" };
            text += &format!(", {means} {} invocations", number::count(profile.invocations));
        }
        text.push('\n');
        if let Some(why) = &counted.ordered_because {
            text += &format!("blocks ran one after the other: {why}\n");
        }
        if let Some(facts) = &counted.machine_code {
            text += &format!("{facts}\n");
        }
        if view.timing {
            text += &format!("executed in {}\n", counted.timing);
        }
        text.push('\n');
        text += &match by {
            By::Launch => super::metric::table(chosen(&profile.metrics, view.names)),
            By::Line => line_table(&lines(counted, view.loaded)),
        };
    }
    text
}

/// Executions, sectors and DRAM reads beside each line of PTX.
fn line_table(lines: &[Line<'_>]) -> String {
    let header = ["line", "warps", "threads", "sectors", "DRAM reads", "CUDA", "PTX"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let blank = |count| if count == 0 { String::new() } else { number::count(count) };
    for line in lines {
        rows.push(vec![
            line.ptx_line.to_string(),
            number::count(line.warp_executions),
            number::count(line.thread_executions),
            blank(line.sectors),
            blank(line.dram_read_sectors),
            line.cuda_line.map_or_else(String::new, |line| line.to_string()),
            line.ptx.clone(),
        ]);
    }
    use Align::{Left, Right};
    aligned(0, &[Right, Right, Right, Right, Right, Right, Left], &rows)
}
