//! The conditional branches of each launch, and how their threads went.

use gpucast_counters::table::Row;
use gpucast_forecast::Report;
use gpucast_forecast::number;
use gpucast_forecast::run::counting::Counted;
use serde::Serialize;

use super::View;
use super::lines::{location, ptx_text};
use crate::table::{Align, aligned};

/// A branch that some warp came to, in all invocations.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Branch {
    ptx_line: u32,
    ptx: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cuda_line: Option<u32>,
    /// Times that a warp came to it.
    executions: u128,
    /// Lanes that came to it.
    lanes: u128,
    /// Lanes that branched.
    taken_lanes: u128,
    /// Executions of which some lanes branched and others did not.
    divergent: u128,
}

impl Branch {
    /// Executions whose lanes all went the same way, in percent.
    fn efficiency(&self) -> f64 {
        let uniform = self.executions.saturating_sub(self.divergent);
        100.0 * uniform as f64 / self.executions.max(1) as f64
    }

    fn taken(&self) -> f64 {
        100.0 * self.taken_lanes as f64 / self.lanes.max(1) as f64
    }
}

pub(super) fn branches(view: &View<'_>, counted: &Counted) -> Vec<Branch> {
    let branch = |row: &Row| {
        let counts = row.branch?;
        let location = location(&view.loaded.module, row);
        let file = location.and_then(|location| view.files.get(&location.file));
        Some(Branch {
            ptx_line: row.description.line,
            ptx: ptx_text(view.loaded, row.description.line),
            cuda_file: file.map(|file| file.name.clone()),
            cuda_line: location.map(|location| location.line),
            executions: row.warp_executions,
            lanes: row.issued_lanes,
            taken_lanes: counts.taken_lanes,
            divergent: counts.divergent,
        })
    };
    let mut branches: Vec<Branch> = counted.profile.table.rows.iter().filter_map(branch).collect();
    branches.sort_by_key(|branch| branch.ptx_line);
    branches
}

pub(super) fn csv(view: &View<'_>) -> Result<String, Report> {
    let mut rows = Vec::new();
    for (index, counted) in view.counted.iter().enumerate() {
        for branch in branches(view, counted) {
            rows.push(vec![
                index.to_string(),
                counted.profile.kernel.clone(),
                branch.ptx_line.to_string(),
                branch.ptx.clone(),
                branch.cuda_file.clone().unwrap_or_default(),
                branch.cuda_line.map_or_else(String::new, |line| line.to_string()),
                branch.executions.to_string(),
                branch.lanes.to_string(),
                branch.taken_lanes.to_string(),
                branch.divergent.to_string(),
            ]);
        }
    }
    let header = [
        "launch",
        "kernel",
        "ptx_line",
        "ptx",
        "cuda_file",
        "cuda_line",
        "executions",
        "lanes",
        "taken_lanes",
        "divergent",
    ];
    crate::csv::document(&header, &rows)
}

pub(super) fn text(view: &View<'_>, counted: &Counted) -> String {
    let branches = branches(view, counted);
    if branches.is_empty() {
        return "no conditional branch was executed\n".to_owned();
    }
    let header = ["line", "warps", "lanes", "taken %", "divergent", "uniform %", "CUDA", "PTX"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for branch in &branches {
        rows.push(vec![
            branch.ptx_line.to_string(),
            number::count(branch.executions),
            number::count(branch.lanes),
            format!("{:.1}", branch.taken()),
            number::count(branch.divergent),
            format!("{:.1}", branch.efficiency()),
            branch.cuda_line.map_or_else(String::new, |line| line.to_string()),
            branch.ptx.clone(),
        ]);
    }
    use Align::{Left, Right};
    aligned(0, &[Right, Right, Right, Right, Right, Right, Right, Left], &rows)
}
