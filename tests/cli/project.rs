//! `gpucast.toml`: defaults, names of GPUs and kernels, and what is wrong with them.

use std::fs;
use std::path::Path;

use crate::gpucast::{Outcome, command, inputs, outcome};

fn run_in(folder: &Path, arguments: &str) -> Outcome {
    let mut program = command(arguments);
    program.current_dir(folder);
    outcome(program)
}

fn project(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gpucast.toml"), text).unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    fs::copy(inputs().join("saxpy.ptx"), folder.path().join("saxpy.ptx")).unwrap();
    folder
}

#[test]
fn kernels_and_defaults_of_a_project_are_found_from_below() {
    let folder = project(
        "[defaults]\ngpu = \"a100\"\nmachine = \"rules\"\nmodel = \"quantitative-roofline\"\n\
         [kernels.scale]\nsource = \"saxpy.ptx\"\nkernel = \"saxpy\"\ngrid = [4]\nblock = [256]\n\
         args = [\"u32:1000\", \"f32:2\", \"buf:f32[1000]=iota\", \"buf:f32[1000]\"]\n",
    );
    let deep = folder.path().join("deep");
    let told = run_in(&deep, "predict scale");
    assert_eq!((told.status, told.stderr.as_str()), (0, ""));
    assert!(told.stdout.contains("a100-sxm-80gb"), "{}", told.stdout);
    // The command line goes before the project.
    let told = run_in(&deep, "predict scale --gpu gtx-660");
    assert!(told.stdout.contains("gtx-660"), "{}", told.stdout);
    let help = run_in(&deep, "predict --help");
    assert!(help.stdout.contains("[default: a100]"), "{}", help.stdout);
    let without = run_in(&deep, "predict scale --no-project --gpu a100");
    assert_eq!(without.status, 1);
    let near = run_in(&deep, "run scal");
    assert!(near.stderr.contains("`scale`"), "{}", near.stderr);
}

#[test]
fn faults_of_a_project_are_shown_with_their_place() {
    for (text, message, place) in [
        ("[defaults]\ngpus = \"a100\"\n", "no command has an option --gpus", "gpucast.toml:2:1"),
        ("[kernels.k]\nsourse = \"k.ptx\"\n", "there is no key `sourse`", "gpucast.toml:2:1"),
        ("[defaults]\nmachine = \"rule\"\n", "`rule` is no value of --machine", "gpucast.toml:2:1"),
        ("gpu = [\n", "", "gpucast.toml:"),
    ] {
        let folder = project(text);
        let told = run_in(folder.path(), "gpus list");
        assert_eq!(told.status, 1, "{text}");
        assert!(told.stderr.contains(message), "{}", told.stderr);
        assert!(told.stderr.contains(place), "{}", told.stderr);
        // Help and the way round work all the same.
        assert_eq!(run_in(folder.path(), "predict --help").status, 0);
        assert_eq!(run_in(folder.path(), "gpus list --no-project").status, 0);
    }
}
