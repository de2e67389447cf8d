//! Workers that other programs start, as docs/cluster.md shows. Tests of programs that are
//! not installed say so and do nothing.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output};

use crate::shared_sweep::Sweep;

const GRID: &str = "transpose histogram --size small --gpu gtx-480,h100-sxm --machine rules";

/// The store that the page names.
const STORE: &str = "/scratch/me/sweep";

/// The block of the page that follows a heading and is of a language, for the store of a sweep.
fn example(heading: &str, language: &str, sweep: &Sweep) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cluster.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, part) = page.split_once(heading).expect("the page has the heading");
    let (_, block) = part.split_once(&format!("```{language}\n")).expect("a block follows");
    let (block, _) = block.split_once("```").expect("the block ends");
    assert!(block.contains(STORE), "{block}");
    block.replace(STORE, &sweep.path("store").display().to_string())
}

/// The user's path with this program before all others.
fn path() -> OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_gpucast")).parent().unwrap().to_owned();
    let users = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([own].into_iter().chain(std::env::split_paths(&users))).unwrap()
}

fn succeeded(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn is_there(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn gnu_parallel_starts_workers() {
    if !is_there(Command::new("parallel").arg("--minversion").arg("20150101")) {
        eprintln!("skipped: GNU parallel is not installed");
        return;
    }
    let sweep = Sweep::new();
    sweep.succeeds(&format!("plan {GRID}"));
    let script = example("### GNU parallel", "sh", &sweep);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).env("PATH", path()).env("HOME", sweep.path("home"));
    succeeded(&shell.output().unwrap());
    assert_eq!(sweep.objects("counts").len(), 4);
    sweep.assert_merged(GRID, "csv");
}

/// The Python of `GPUCAST_PYTHON`, or `python3`.
#[test]
fn dask_starts_workers() {
    let python = std::env::var("GPUCAST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !is_there(Command::new(&python).args(["-c", "import dask.distributed"])) {
        eprintln!("skipped: {python} has no package dask.distributed");
        return;
    }
    let sweep = Sweep::new();
    sweep.succeeds(&format!("plan {GRID}"));
    // A cluster of this machine alone takes the place of the user's.
    let script = example("### GNU parallel", "python", &sweep);
    let (head, work) = script.split_once("client = Client(").expect("the example has a client");
    let (_, work) = work.split_once('\n').unwrap();
    let script = format!(
        "{head}if __name__ == '__main__':\n    client = Client(n_workers=2, threads_per_worker=1, \
         dashboard_address=None)\n{}",
        work.lines().map(|line| format!("    {line}\n")).collect::<String>()
    );
    let file = sweep.path("workers.py");
    std::fs::write(&file, script).unwrap();
    let output = Command::new(&python).arg(&file).env("PATH", path()).output().unwrap();
    succeeded(&output);
    assert_eq!(sweep.objects("counts").len(), 4);
    sweep.assert_merged(GRID, "csv");
}
