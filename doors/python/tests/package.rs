//! The tests of the Python package, run by the Python of this machine with its standard library.
//!
//! Cargo builds the compiled module; nothing is installed. Tests that need NumPy or other packages
//! skip themselves where those are absent, and say so.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::prediction::predict;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{MachineChoice, MachineSettings, Size};
use gpucast_forecast::{Alone, Argument, Kernel, LaunchOptions};
use gpucast_model::GpuLibrary;
use gpucast_render::Format;
use gpucast_render::prediction::document;

/// The package as it would be installed: a link to the Python files, and the compiled module.
fn installed(folder: &Path) {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("gpucast");
    let package = folder.join("gpucast");
    fs::create_dir(&package).unwrap();
    for entry in fs::read_dir(&own).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if name != "__pycache__" && path.extension().is_none_or(|ending| ending != "so") {
            std::os::unix::fs::symlink(&path, package.join(name)).unwrap();
        }
    }
    std::os::unix::fs::symlink(module(), package.join("_gpucast.abi3.so")).unwrap();
}

/// The compiled module, which Cargo puts beside the tests or above them.
fn module() -> PathBuf {
    let name = if cfg!(target_os = "macos") { "lib_gpucast.dylib" } else { "lib_gpucast.so" };
    let own = std::env::current_exe().unwrap();
    let mut folders = own.ancestors().skip(1).take(2);
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file())).unwrap()
}

/// The Python of `GPUCAST_PYTHON`, or `python3`.
fn python() -> String {
    std::env::var("GPUCAST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// The path of programs, with those of this build first: a page calls one, as the wheel brings it.
fn programs() -> OsString {
    let own = std::env::current_exe().unwrap();
    let built = own.ancestors().nth(2).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(built.into_iter().chain(std::env::split_paths(&path))).unwrap()
}

/// Python with the package.
fn command(folder: &Path) -> Command {
    let mut command = Command::new(python());
    command.env("PATH", programs());
    // The folder of this crate has the package without its compiled module.
    command.current_dir(folder);
    command.arg("-B").env("PYTHONPATH", folder).env("GPUCAST_CACHE", folder.join("cache"));
    command
}

/// The document that `gpucast predict --format json --machine rules` writes.
fn predicted(kernel: &Kernel, gpus: &str) -> String {
    let library = GpuLibrary::builtin().unwrap();
    let gpus = gpus.split(',').map(|name| library.get(name).unwrap()).collect();
    let models = Models::read(&[], &[]).unwrap();
    let mut kernels = Vec::new();
    for group in CountOn::read(&library, None).unwrap().groups(gpus, &models).unwrap() {
        let machine = MachineSettings { machine: MachineChoice::Rules, ..Default::default() };
        let counts = Counts { machine, needs: group.needs, ..Counts::default() };
        for source in kernel.count_with(&group.counting_gpu, &counts, &Alone).unwrap() {
            kernels.push(predict(&models, &source, &group.gpus, None, &[]).unwrap());
        }
    }
    document(&kernels, &[], Format::Json).unwrap()
}

#[test]
fn numbers_are_those_of_the_library_to_the_last_bit() {
    let folder = tempfile::tempdir().unwrap();
    installed(folder.path());
    let arguments = ["u32:4096", "f32:2.0", "buf:f32[4096]=iota", "buf:f32[4096]=constant(1)"];
    let saxpy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/inputs/saxpy.ptx");
    let launch = LaunchOptions {
        kernel: Some("saxpy".to_owned()),
        grid: Some([16, 1, 1]),
        block: Some([256, 1, 1]),
        arg: arguments.map(Argument::notation).to_vec(),
        ..LaunchOptions::default()
    };
    let small = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
    for (kernel, gpus, call) in [
        (
            Kernel::open(&saxpy.display().to_string(), &launch).unwrap(),
            "h100-sxm,gtx-660",
            "sys.argv[1], 4096, 2.0, array('f', range(4096)), array('f', [1] * 4096), grid=16, \
             block=256, name='saxpy'",
        ),
        (Kernel::open("sgemm", &small).unwrap(), "gtx-480,gtx-960,a100", "'sgemm', size='small'"),
    ] {
        let program = format!(
            "import gpucast, sys\nfrom array import array\n\
             made = gpucast.predict({call}, gpu='{gpus}', machine='rules')\n\
             sys.stdout.write(made._made.json())"
        );
        let output = command(folder.path()).args(["-c", &program]).arg(&saxpy).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), predicted(&kernel, gpus));
    }
}

#[test]
fn the_tests_in_python_pass() {
    let folder = tempfile::tempdir().unwrap();
    installed(folder.path());
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let arguments = ["-m", "unittest", "discover", "-v", "-s"];
    let output = command(folder.path()).args(arguments).arg(&tests).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // What was skipped is part of the result.
    eprintln!("{said}");
    assert!(output.status.success(), "{}\n{said}", String::from_utf8_lossy(&output.stdout));
    assert!(!said.contains("Ran 0 tests"), "{said}");
}
