//! Each task is solved by its solution, and not by its start code. What they measure is a page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail as tests do")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{
    CacheChoice, ExecutionSettings, LaunchOptions, MachineChoice, MachineSettings,
};
use gpucast_forecast::{Alone, number};
use gpucast_interpreter::Options;
use gpucast_lab::check::ALL_POINTS;
use gpucast_lab::hand_out::in_words;
use gpucast_lab::task::files;
use gpucast_lab::{Checked, Checking, Submission, Task, hand_out, python, tasks};
use gpucast_model::GpuLibrary;
use rayon::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks")
}

/// Checks PTX of a task, which needs no compiler.
fn checked(task: &Task, ptx: &str, launch: Option<&str>) -> Checked {
    let folder = folder().join(&task.name);
    check(task, folder.join(ptx), launch.map(|launch| folder.join(launch)))
}

/// Checks a kernel in Python with its PTX, as a check leaves both.
fn checked_in_python(task: &Task, source: &str, ptx: &str) -> Checked {
    let work = tempfile::tempdir().unwrap();
    let kernel = work.path().join(files::PYTHON);
    fs::copy(folder().join(&task.name).join(source), &kernel).unwrap();
    let ptx = fs::read_to_string(folder().join(&task.name).join(ptx)).unwrap();
    python::keep(&kernel, &ptx).unwrap();
    // Where the solution has a launch of its own, a student's file has its arguments for Numba.
    let is_solution = source == "solution.py";
    let own = task.solution.launch.as_ref().filter(|_| is_solution).map(|own| {
        let path = work.path().join(files::LAUNCH);
        let mut task = task.clone();
        task.launch.clone_from(own);
        hand_out::to_student_in_python(&task, &work.path().join("other")).unwrap();
        fs::copy(work.path().join("other").join(files::LAUNCH), &path).unwrap();
        path
    });
    check(task, kernel, own)
}

fn check(task: &Task, kernel: PathBuf, launch: Option<PathBuf>) -> Checked {
    let submission = Submission { name: "test".to_owned(), kernel, launch, task: None };
    let gpu = GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap();
    let execution = ExecutionSettings { caches: CacheChoice::Auto, ..ExecutionSettings::default() };
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let counts = Counts { machine, execution, ..Counts::default() };
    let checking = Checking {
        task,
        gpu: &gpu,
        launch: &LaunchOptions::default(),
        counts,
        options: Options::default(),
        supervisor: &Alone,
    };
    checking.check(&submission).unwrap()
}

#[test]
fn solutions_are_done_and_start_code_is_not() {
    let mut page = "# Tasks for classes\n\n\
                    The test `tasks` of `gpucast-lab` writes this page. Each task's start code and solution are \
                    checked as\nsubmissions, on an H100 SXM by the rules' machine code.\n\n\
                    | task | start code is right | target | start | solution |\n|---|--:|---|--:|--:|\n"
        .to_owned();
    let names: Vec<&str> = tasks::names().collect();
    let found: Vec<String> = names.par_iter().map(|name| rows_of_task(name)).collect();
    page += &found.concat();
    page += "\n## In Python\n\nThe same with the kernels of Numba, beside the solution as Numba compiles it.\n\n\
             | task | start code is right | points of start code | points of the solution |\n|---|--:|--:|--:|\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/lab.md");
    let committed = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let is_set = |variable| std::env::var_os(variable).is_some();
    let does_update = is_set("GPUCAST_UPDATE");
    let takes_all = does_update || is_set("GPUCAST_NIGHTLY");
    let kept = |name: &str| {
        let (_, section) = committed.split_once("\n## In Python\n").unwrap_or_default();
        let row = section.lines().find(|line| line.starts_with(&format!("| {name} |")));
        format!("{}\n", row.unwrap_or_default())
    };
    let row = |name: &&str| match takes_all || IN_PYTHON_IN_THE_GATE.contains(name) {
        true => row_in_python(name),
        false => kept(name),
    };
    let found: Vec<String> = names.par_iter().map(row).collect();
    page += &found.concat();
    if does_update {
        fs::write(&path, page).unwrap();
        return;
    }
    assert!(committed == page, "docs/evidence/lab.md is not what this run gives: GPUCAST_UPDATE=1");
}

/// Tasks whose kernels in Python the gate checks, too: with functions, shuffles, atomics.
const IN_PYTHON_IN_THE_GATE: [&str; 3] = ["08-divergence", "11-scan", "12-histogram"];

/// The rows of a task, whose solution must be done and whose start code must not.
fn rows_of_task(name: &str) -> String {
    let task = tasks::find(name).unwrap().unwrap();
    let own_launch = task.solution.launch.as_ref().map(|_| files::SOLUTION_LAUNCH);
    let solution = checked(&task, files::REFERENCE, own_launch);
    assert!(solution.notes.is_empty(), "{name}: {:?}", solution.notes);
    assert!(solution.is_done() && solution.points() == ALL_POINTS, "{name}");
    let start = checked(&task, "start.ptx", Some(files::LAUNCH));
    assert!(start.notes.is_empty(), "{name}: {:?}", start.notes);
    assert!(!start.is_done() && start.points() < ALL_POINTS, "{name}");
    rows(&task, &start, &solution)
}

/// The same of a task's kernels in Python.
fn row_in_python(name: &str) -> String {
    let task = tasks::find(name).unwrap().unwrap();
    if task.start_in_python.is_none() {
        return format!("| {name} | – | – | – |\n");
    }
    let solution = checked_in_python(&task, "solution.py", files::REFERENCE_OF_NUMBA);
    assert!(solution.notes.is_empty(), "{name}: {:?}", solution.notes);
    assert!(solution.is_done() && solution.points() == ALL_POINTS, "{name}");
    let start = checked_in_python(&task, files::START_IN_PYTHON, "start-numba.ptx");
    assert!(!start.is_done() && start.points() < ALL_POINTS, "{name}");
    let (right, sizes) = (start.right(), start.sizes);
    format!("| {name} | {right} of {sizes} | {} | {} |\n", start.points(), solution.points())
}

fn rows(task: &Task, start: &Checked, solution: &Checked) -> String {
    let value = |of: &Checked, at: usize| {
        let targets = of.targets.as_ref();
        targets.and_then(|all| all[at].value).map_or_else(|| "–".to_owned(), number::whole_or_real)
    };
    let right = format!("{} of {}", start.right(), start.sizes);
    let name = &task.name;
    if task.targets.is_empty() {
        return format!("| {name} | {right} | right results | – | – |\n");
    }
    let mut text = String::new();
    for (at, target) in task.targets.iter().enumerate() {
        let (start, solution) = (value(start, at), value(solution, at));
        let words = in_words(target, task.language);
        let _ = writeln!(text, "| {name} | {right} | {words} | {start} | {solution} |");
    }
    text
}
