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
use gpucast_lab::{Checked, Checking, Submission, Task, tasks};
use gpucast_model::GpuLibrary;
use rayon::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks")
}

/// Checks PTX of a task, which needs no compiler.
fn checked(task: &Task, ptx: &str, launch: Option<&str>) -> Checked {
    let folder = folder().join(&task.name);
    let submission = Submission {
        name: ptx.to_owned(),
        kernel: folder.join(ptx),
        launch: launch.map(|launch| folder.join(launch)),
        task: None,
    };
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/lab.md");
    if std::env::var_os("GPUCAST_UPDATE").is_some() {
        fs::write(&path, page).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert!(committed == page, "docs/evidence/lab.md is not what this run gives: GPUCAST_UPDATE=1");
}

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
