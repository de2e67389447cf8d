//! `gpucast ncu`: pages of a small program, and what scripts read of them.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::PathBuf;

use crate::exec::{compiled, programs, sources};
use crate::gpucast::{Outcome, command, gpucast, outcome};

/// Runs one of the test programs under `gpucast ncu`.
pub(crate) fn profiled(name: &str, program: &str, options: &str) -> Outcome {
    let path = programs(name);
    let mut gpucast = command(&format!("ncu --gpu a100 --machine rules {options}"));
    gpucast.args([path.as_os_str(), program.as_ref()]);
    gpucast.env("TEST_PTX", sources().join("kernels.ptx"));
    outcome(gpucast)
}

/// What is printed, with the numbers of processes and folders left out.
fn settled(outcome: &Outcome) -> String {
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let is_process = |line: &str| line.contains(" process ");
    let lines = outcome.stdout.lines().map(|line| match line.strip_prefix('[') {
        Some(rest) => format!("[PID{}", &rest[rest.find(']').unwrap_or(0)..]),
        None if is_process(line) => line.split(" process ").next().unwrap_or("").to_owned(),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Fields of a file of CSV, by a reader that is not ours.
fn table(text: &str) -> Vec<Vec<String>> {
    let start = text.find("\"ID\"").or_else(|| text.find("\"Process ID\"")).unwrap();
    let reader =
        csv::ReaderBuilder::new().has_headers(false).from_reader(&text.as_bytes()[start..]);
    let fields = |record: csv::StringRecord| record.iter().map(str::to_owned).collect();
    reader.into_records().map(|record| fields(record.unwrap())).collect()
}

#[test]
fn the_full_set_prints_the_profiler_s_sections() {
    let ran = profiled("ncu-full", "heat", "--set full --launch-skip 3 --launch-count 1");
    insta::assert_snapshot!("ncu-full", settled(&ran));
    insta::assert_snapshot!("ncu-full-notes", ran.stderr);
}

#[test]
fn details_have_tables_on_request() {
    let options = "--section WarpStateStats --section MemoryWorkloadAnalysis_Tables \
                   --section ComputeWorkloadAnalysis --print-details all -c 1";
    insta::assert_snapshot!("ncu-all-details", settled(&profiled("ncu-details", "heat", options)));
}

#[test]
fn scripts_find_their_columns() {
    let metrics = "--metrics smsp__inst_executed.sum,dram__bytes_read.sum,no__such_metric.sum";
    let ran = profiled("ncu-csv", "heat", &format!("--csv {metrics} -k stencil -c 2"));
    let rows = table(&ran.stdout);
    let header = "ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Block Size,\
                  Grid Size,Device,CC,Section Name,Metric Name,Metric Unit,Metric Value";
    assert_eq!(rows[0].join(","), header);
    assert_eq!(rows.len(), 1 + 2 * 3);
    let cells = |row: &[String]| {
        [&row[0], &row[4], &row[7], &row[10], &row[12], &row[14]].map(String::clone)
    };
    let [id, kernel, block, cc, name, value] = cells(&rows[1]);
    assert_eq!([id, kernel, block, cc], ["0", "stencil", "(16, 16, 1)", "8.0"]);
    assert_eq!(
        (name.as_str(), rows[1][11].as_str()),
        ("smsp__inst_executed.sum", "Command line profiler metrics")
    );
    assert!(value.parse::<u64>().unwrap() > 1000, "{value}");
    assert_eq!(rows[3][14], "n/a");
    assert!(
        ran.stderr.contains("n/a, as they do not follow from counts: no__such_metric.sum"),
        "{}",
        ran.stderr
    );
    // The wide form: names, units, then a row for each launch.
    let ran = profiled("ncu-csv", "heat", &format!("--csv --page raw {metrics} -c 2"));
    let wide = table(&ran.stdout);
    assert_eq!(wide.len(), 2 + 2);
    assert_eq!(
        wide[0][11..],
        ["dram__bytes_read.sum", "no__such_metric.sum", "smsp__inst_executed.sum"]
    );
    assert_eq!(wide[1][11..], ["byte", "", "inst"]);
    assert_eq!(wide[2][13], rows[1][14]);
    assert_eq!(wide[2][12], "n/a");
}

#[test]
fn launches_of_a_kernel_are_summed_up() {
    let options = "--csv --print-summary per-kernel --section InstructionStats";
    let rows = table(&profiled("ncu-summary", "heat", options).stdout);
    let column = |name: &str| rows[0].iter().position(|title| title == name).unwrap();
    let [launches, metric] = ["Invocations", "Metric Name"].map(column);
    let [least, most, mean] = ["Minimum", "Maximum", "Average"].map(column);
    let executed = rows.iter().find(|row| row[metric] == "Executed Instructions").unwrap();
    assert_eq!(executed[launches], "40");
    let [least, most, mean] = [least, most, mean].map(|at| executed[at].parse::<f64>().unwrap());
    assert!(least <= mean && mean <= most && least > 0.0);
}

#[test]
fn a_report_shows_the_same_as_the_run() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ncu-report/kept");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = path.with_extension("ncu-rep");
    let _ = fs::remove_file(&file);
    let export = format!("--set detailed -c 2 -o {}", path.display());
    let ran = profiled("ncu-report", "heat", &export);
    assert!(
        ran.stdout.ends_with(&format!("==PROF== Report: {}\n", file.display())),
        "{}",
        ran.stdout
    );
    // A report that is there stays.
    let again = profiled("ncu-report", "heat", &export);
    assert_eq!(again.status, 1);
    assert!(again.stderr.contains("--force-overwrite"), "{}", again.stderr);
    let direct = profiled("ncu-report", "heat", &format!("{export} -f --page details"));
    let shown = gpucast(&format!("ncu --import {}", path.display()));
    let page = &settled(&direct)[settled(&direct).find("[PID]").unwrap()..];
    let of_report = settled(&shown);
    let (page, report) = (page.lines().skip(1), of_report.lines().skip(1));
    let of_page: Vec<&str> = page.filter(|line| !line.starts_with("==PROF==")).collect();
    assert_eq!(of_page, report.collect::<Vec<_>>());
    let written: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written["schema"], "gpucast.ncu/1");
    // One of NVIDIA's is no JSON.
    fs::write(&file, b"NVR\0\x01").unwrap();
    let closed = gpucast(&format!("ncu --import {}", file.display()));
    assert_eq!(closed.status, 1);
    assert!(closed.stderr.contains("--page raw"), "{}", closed.stderr);
}

#[test]
fn options_are_answered() {
    let program = compiled("ncu-ends", "int main(void) { return 7; }", &[]);
    let path = program.display().to_string();
    for (options, status, expected) in [
        ("--nvtx-include a/b", 2, "ranges of NVTX are not followed"),
        ("--section Speed", 2, "there is no section `Speed`"),
        ("--set all", 2, "the sets are basic, detailed, full, roofline"),
        ("--launch-cont 1", 2, "--launch-count"),
        ("--kernel-name regex:(", 1, "no regular expression"),
        ("--kernel-id gemm", 1, "context:stream"),
        ("--print-summary per-nvtx", 2, "per-kernel and per-gpu"),
        ("--nvtx", 7, "note: --nvtx: ranges"),
        ("--replay-mode kernel --apply-rules no --csv", 7, "launched no kernel"),
        ("--metrics breakdown:sm__throughput", 7, "breakdown: is left out"),
    ] {
        let ran = gpucast(&format!("ncu --gpu a100 {options} {path}"));
        assert_eq!(ran.status, status, "{options}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{options}: {}", ran.stderr);
    }
    let ran = gpucast("ncu --gpu a100");
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("no program is named"), "{}", ran.stderr);
    let nothing = profiled("ncu-nothing", "heat", "-k regex:^no_kernel$");
    assert!(nothing.stdout.contains("==WARNING== No kernels were profiled."), "{}", nothing.stdout);
    assert!(nothing.stdout.contains("1. stencil"), "{}", nothing.stdout);
}

#[test]
fn lists_name_what_there_is() {
    insta::assert_snapshot!("ncu-sections", gpucast("ncu --list-sections").stdout);
    insta::assert_snapshot!("ncu-sets", gpucast("ncu --list-sets").stdout);
    let metrics = gpucast("ncu --query-metrics").stdout;
    let line = metrics.lines().find(|line| line.starts_with("sm__cycles_active.avg ")).unwrap();
    assert!(line.contains(" cycle "), "{line}");
    assert!(gpucast("ncu --version").stdout.contains("in the place of NVIDIA Nsight Compute"));
}

/// Scripts call the profiler by its name.
#[test]
fn a_folder_of_libraries_has_a_program_of_the_profiler_s_name() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(gpucast(&format!("libraries {}", folder.path().display())).status, 0);
    let mut ncu = std::process::Command::new(folder.path().join("ncu"));
    let ran = outcome({
        ncu.arg("--list-sets");
        ncu
    });
    assert_eq!((ran.status, ran.stdout), (0, gpucast("ncu --list-sets").stdout));
}
