//! The source page: each PTX instruction of a launch with its counts and stalls.

use std::fmt::Write as _;

use gpucast_forecast::nsight::{InstructionLine, REASONS};

use super::form::PageForm;
use super::report::ProfileReport;
use super::tables::{Column, csv, draw};

/// The columns before those of stall reasons.
const COLUMNS: [Column; 7] = [
    Column { title: "#", least: 4, is_left: false },
    Column { title: "Line", least: 4, is_left: false },
    Column { title: "Source", least: 20, is_left: true },
    Column { title: SAMPLES, least: 20, is_left: false },
    Column { title: "Instructions Executed", least: 21, is_left: false },
    Column { title: "Thread Instructions Executed", least: 28, is_left: false },
    Column { title: "Predicated-On Thread Instructions Executed", least: 42, is_left: false },
];

/// Here clocks of simulated warps stand for samples.
const SAMPLES: &str = "Warp Stall Sampling (All Samples)";

/// The page of a report.
pub(super) fn source(report: &ProfileReport, form: &PageForm) -> String {
    let mut text = String::new();
    for (id, action) in report.actions.iter().enumerate() {
        let lines = report.profile(action).lines();
        if form.csv {
            let kernel = report.profile(action).kernel(form.kernel_names);
            text.push_str(&csv(["Kernel Name", &kernel, "ID", &id.to_string()]));
            let reasons = REASONS.map(|reason| format!("stall_{reason}"));
            let titles = COLUMNS.iter().map(|column| column.title.to_owned());
            text.push_str(&csv(titles.chain(reasons)));
            for line in lines {
                let stalls = REASONS.map(|reason| rounded(line.stalls.get(reason)));
                text.push_str(&csv(cells(line).into_iter().chain(stalls)));
            }
            continue;
        }
        text.push_str(&report.title(action, form.kernel_names));
        let rows: Vec<Vec<String>> = lines.iter().map(cells).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", draw(&COLUMNS, &rows));
    }
    text
}

fn rounded(clocks: Option<&f64>) -> String {
    format!("{:.0}", clocks.copied().unwrap_or(0.0))
}

fn cells(line: &InstructionLine) -> Vec<String> {
    vec![
        line.instruction.to_string(),
        line.line.map_or(String::new(), |line| line.to_string()),
        line.text.clone(),
        rounded(Some(&line.clocks())),
        line.inst_executed.to_string(),
        line.thread_inst_executed.to_string(),
        line.thread_inst_executed_true.to_string(),
    ]
}
