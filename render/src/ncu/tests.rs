use std::collections::BTreeSet;

use gpucast_forecast::nsight;
use gpucast_host::collection::{KernelNames, LaunchMetrics};
use gpucast_model::Gpu;

use super::*;

/// Metrics of sections for which GPUs' files lack a number: clocks of the L2, channels of memory.
const NOT_KNOWN: [&str; 3] =
    ["dram__cycles_elapsed.sum", "lts__cycles_active.avg", "lts__cycles_elapsed.sum"];

/// A typing error in a section would print `n/a` for ever.
#[test]
fn sections_show_metrics_that_there_are() {
    let names: BTreeSet<String> = nsight::names().into_iter().collect();
    for section in SECTIONS {
        for metric in section.metrics() {
            let stands_in = metric == "smsp__inst_executed_op_branch.sum";
            let is_known = names.contains(metric) || NOT_KNOWN.contains(&metric) || stands_in;
            assert!(is_known, "{}: {metric}", section.identifier);
        }
        assert!(section_of_either_name(section), "{}", section.identifier);
    }
}

fn section_of_either_name(expected: &Section) -> bool {
    let found = [expected.identifier, expected.name].map(section);
    found.iter().all(|found| found.is_some_and(|section| section.identifier == expected.identifier))
}

#[test]
fn sets_have_sections_that_there_are() {
    for set in SETS {
        assert!(
            set.sections.iter().all(|section_name| section(section_name).is_some()),
            "{}",
            set.name
        );
    }
    let full = &set("full").unwrap().sections;
    assert_eq!(full.len(), SECTIONS.len(), "the full set has all sections");
    assert!(OTHERS.iter().all(|name| section(name).is_none()));
}

fn report() -> ProfileReport {
    let gpu = Gpu::named("bare", "Bare");
    let metrics = ["sm__inst_executed.sum".to_owned(), "no__such.sum".to_owned()];
    let mut report = ProfileReport::new(vec!["./p".to_owned()], &gpu, Vec::new(), metrics.to_vec());
    let symbol = "_ZN2ns4gemmIfEEvPf";
    report.profiles = [7_u64, 1_000_000].map(|count| profile(symbol, count)).to_vec();
    report.actions = [0, 1].map(action).to_vec();
    report
}

fn profile(symbol: &str, count: u64) -> LaunchMetrics {
    let figure = serde_json::json!({ "value": count, "unit": "inst", "kind": "exact" });
    let figure = serde_json::from_value(figure).unwrap();
    let metrics = [("sm__inst_executed.sum", Some(figure)), ("no__such.sum", None)];
    let metrics = metrics.map(|(name, figure)| (name.to_owned(), figure));
    LaunchMetrics {
        names: KernelNames::of(symbol),
        metrics: metrics.into_iter().collect(),
        lines: Vec::new(),
    }
}

fn action(profile: usize) -> Action {
    let program = "/a folder/p \"q\"".to_owned();
    Action { process: 9, program, stream: 7, grid: [2, 1, 1], block: [64, 1, 1], profile }
}

#[test]
fn a_report_survives_its_file() {
    let report = report();
    let document = report.document().unwrap();
    assert_eq!(ProfileReport::read(document.as_bytes(), "r").unwrap(), report);
    assert_eq!(report.unknown(), ["no__such.sum"]);
    for (text, expected) in [
        ("NVR\0", "no report of gpucast"),
        ("{", "damaged"),
        (&document.replace("ncu/1", "ncu/2"), "ncu/2"),
        (&document.replace("\"profile\": 1", "\"profile\": 2"), "a launch has no metrics"),
    ] {
        let error = ProfileReport::read(text.as_bytes(), "r").unwrap_err();
        assert!(error.message.contains(expected), "{}", error.message);
    }
}

#[test]
fn fields_of_csv_keep_quotes_and_commas() {
    let form = PageForm { csv: true, ..PageForm::default() };
    let text = page(&report(), &form);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(&rows[0][2], "p \"q\"");
    assert_eq!(&rows[0][4], "gemm");
    assert_eq!((&rows[2][0], &rows[2][14], &rows[3][14]), ("1", "1000000", "n/a"));
    let form = PageForm { kernel_names: gpucast_host::collection::NameBase::Demangled, ..form };
    assert!(page(&report(), &form).contains("\"void ns::gemm<float>(float*)\""));
}

#[test]
fn a_summary_has_extremes_and_the_mean() {
    let form = PageForm::default();
    let text = summary(&report(), Summary::Kernel, &form);
    let line = text.lines().find(|line| line.contains("sm__inst_executed.sum")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells, ["sm__inst_executed.sum", "inst", "7", "1000000", "500003.50"]);
    assert!(text.contains("Invocations 2"), "{text}");
    let line = text.lines().find(|line| line.contains("no__such.sum")).unwrap();
    assert_eq!(line.split_whitespace().skip(1).collect::<Vec<_>>(), ["n/a", "n/a", "n/a"]);
}

#[test]
fn an_instruction_that_nobody_waits_for_has_no_samples() {
    let mut report = report();
    let text = "ret;".to_owned();
    report.profiles[0].lines = vec![nsight::InstructionLine { text, ..Default::default() }];
    let form = PageForm { page: Page::Source, csv: true, ..PageForm::default() };
    let text = page(&report, &form);
    assert!(text.contains("\"ret;\",\"0\",\"0\",\"0\",\"0\""), "{text}");
}
