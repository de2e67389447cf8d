//! The stages of each launch: the work of its CTAs between two barriers.

use std::collections::BTreeMap;

use gpucast_counters::operation::class_metric;
use gpucast_counters::stages::{CLASSES, MOST_STAGES, Stage, StageMemory, Stages};
use gpucast_forecast::Report;
use gpucast_forecast::number;
use gpucast_forecast::run::counting::Counted;
use serde::Serialize;

use super::{Rows, View};
use crate::table::{Align, aligned};

/// One stage, of all CTAs and invocations.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StageView {
    stage: usize,
    ctas: u128,
    warps: u128,
    active_warps: u128,
    mean_active_warps: f64,
    warp_instructions: BTreeMap<&'static str, u128>,
    thread_instructions: BTreeMap<&'static str, u128>,
    multiply_adds: u128,
    shared: MemoryView,
    global: MemoryView,
    local: MemoryView,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct MemoryView {
    requests: u128,
    requested_bytes: u128,
    sectors: u128,
    transactions: u128,
    passes: u128,
    conflict_free: u128,
}

impl From<StageMemory> for MemoryView {
    fn from(memory: StageMemory) -> Self {
        let StageMemory { requests, requested_bytes, sectors, transactions, passes, conflict_free } =
            memory;
        Self { requests, requested_bytes, sectors, transactions, passes, conflict_free }
    }
}

impl StageView {
    fn of((index, stage): (usize, &Stage)) -> Self {
        let class = |&class| (class_metric(class), stage.class(class));
        Self {
            stage: index,
            ctas: stage.ctas,
            warps: stage.warps,
            active_warps: stage.active_warps,
            mean_active_warps: stage.mean_active_warps(),
            warp_instructions: CLASSES
                .iter()
                .map(class)
                .map(|(name, count)| (name, count.warps))
                .collect(),
            thread_instructions: CLASSES
                .iter()
                .map(class)
                .map(|(name, count)| (name, count.threads))
                .collect(),
            multiply_adds: stage.multiply_adds,
            shared: stage.shared.into(),
            global: stage.global.into(),
            local: stage.local.into(),
        }
    }
}

fn views(counted: &Counted) -> Vec<StageView> {
    let stages = counted.evidence.stages.iter().flat_map(|stages| stages.stages.iter().enumerate());
    stages.map(StageView::of).collect()
}

pub(super) fn rows<'a>(counted: &Counted) -> Rows<'a> {
    let merged_stages = counted.evidence.stages.as_ref().map_or(0, |stages| stages.merged);
    Rows::Stages { stages: views(counted), merged_stages }
}

pub(super) fn csv(view: &View<'_>) -> Result<String, Report> {
    let mut rows = Vec::new();
    for (index, counted) in view.counted.iter().enumerate() {
        for stage in views(counted) {
            let mut row = vec![index.to_string(), counted.profile.kernel.clone()];
            let counts = [stage.ctas, stage.warps, stage.active_warps];
            row.push(stage.stage.to_string());
            row.extend(counts.map(|count| count.to_string()));
            row.extend(CLASSES.iter().map(|&class| {
                let count = stage.warp_instructions.get(class_metric(class));
                count.copied().unwrap_or_default().to_string()
            }));
            let MemoryView { requests, passes, conflict_free, .. } = stage.shared;
            let global = stage.global;
            row.extend(
                [
                    stage.multiply_adds,
                    requests,
                    passes,
                    conflict_free,
                    global.requests,
                    global.transactions,
                    global.sectors,
                    stage.local.sectors,
                ]
                .map(|count| count.to_string()),
            );
            rows.push(row);
        }
    }
    let mut header = vec!["launch", "kernel", "stage", "ctas", "warps", "active_warps"];
    header.extend(CLASSES.iter().map(|&class| class_metric(class)));
    header.extend([
        "multiply_adds",
        "shared_requests",
        "shared_passes",
        "shared_conflict_free",
        "global_requests",
        "global_transactions",
        "global_sectors",
        "local_sectors",
    ]);
    crate::csv::document(&header, &rows)
}

/// A column of the text: its title and its value.
type Column = (&'static str, fn(&Stage) -> Option<f64>);

fn some(count: u128) -> Option<f64> {
    Some(count as f64)
}

fn class(stage: &Stage, at: usize) -> Option<f64> {
    CLASSES.get(at).map(|&class| stage.class(class).warps as f64)
}

const COLUMNS: [Column; 20] = [
    ("blocks", |stage| some(stage.ctas)),
    ("active warps", |stage| Some(stage.mean_active_warps())),
    ("instr.", |stage| some(stage.instructions().warps)),
    ("fp16", |stage| class(stage, 0)),
    ("fp32", |stage| class(stage, 1)),
    ("fp64", |stage| class(stage, 2)),
    ("mul-add", |stage| some(stage.multiply_adds)),
    ("integer", |stage| class(stage, 3)),
    ("convert", |stage| class(stage, 4)),
    ("ld/st", |stage| class(stage, 5)),
    ("control", |stage| class(stage, 6)),
    ("exchange", |stage| class(stage, 7)),
    ("texture", |stage| class(stage, 8)),
    ("tensor", |stage| class(stage, 9)),
    ("other", |stage| class(stage, 10)),
    ("shared", |stage| some(stage.shared.passes)),
    ("degree", |stage| {
        let free = stage.shared.conflict_free;
        (free != 0).then(|| stage.shared.passes as f64 / free as f64)
    }),
    ("global", |stage| some(stage.global.transactions)),
    ("sectors", |stage| some(stage.global.sectors)),
    ("local", |stage| some(stage.local.sectors)),
];

/// A line for each stage; columns in which there is nothing are left out.
pub(super) fn text(counted: &Counted) -> String {
    let none = Stages::default();
    let stages = counted.evidence.stages.as_deref().unwrap_or(&none);
    let is_used = |(_, value): &&Column| {
        stages.stages.iter().any(|stage| value(stage).is_some_and(|value| value != 0.0))
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(is_used).collect();
    let title = |(title, _): &&Column| (*title).to_owned();
    let mut rows =
        vec![std::iter::once("stage".to_owned()).chain(columns.iter().map(title)).collect()];
    for (index, stage) in stages.stages.iter().enumerate() {
        let mut row = vec![index.to_string()];
        row.extend(columns.iter().map(|(title, value)| match (value(stage), *title) {
            (None | Some(0.0), _) => String::new(),
            (Some(value), "active warps" | "degree") => format!("{value:.2}"),
            (Some(value), _) => number::count(value as u128),
        }));
        rows.push(row);
    }
    let mut text = aligned(0, &vec![Align::Right; columns.len() + 1], &rows);
    text.push_str(
        "\nstages are cut where all threads of a block wait; instructions are warps', of PTX; \
         active warps are a block's mean\n",
    );
    if stages.merged > 0 {
        text += &format!(
            "stage {} has the {} stages beyond it, too\n",
            MOST_STAGES - 1,
            number::count(stages.merged)
        );
    }
    text
}
