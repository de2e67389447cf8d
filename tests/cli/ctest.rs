//! The example of tests by ctest, where the environment of the test has CMake and nvcc.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const EXAMPLE: [&str; 3] = ["CMakeLists.txt", "sums.cu", "sums_test.cu"];

/// The path of programs with ours before them; `None` without CMake or nvcc, and says so.
fn path() -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    for needed in ["cmake", "ctest", "nvcc"] {
        if !std::env::split_paths(&path).any(|folder| folder.join(needed).is_file()) {
            eprintln!("skipped: there is no {needed} on PATH");
            return None;
        }
    }
    let own = Path::new(env!("CARGO_BIN_EXE_gpucast")).parent().unwrap();
    Some(format!("{}:{path}", own.display()))
}

/// A copy of the example, with what a reader types.
struct Project {
    folder: tempfile::TempDir,
    path: String,
}

impl Project {
    fn new() -> Option<Self> {
        let own = Self { path: path()?, folder: tempfile::tempdir().unwrap() };
        let example = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/testing");
        for file in EXAMPLE {
            fs::copy(example.join(file), own.folder.path().join(file)).unwrap();
        }
        own.done("gpucast libraries stand-ins");
        let text = fs::read_to_string(example.join("CMakeLists.txt")).unwrap();
        let emulator = "-DCMAKE_CROSSCOMPILING_EMULATOR=gpucast;exec;--check;all;--";
        assert!(text.contains(emulator), "{text}");
        let folder = own.folder.path().display();
        let link = format!("-DCMAKE_EXE_LINKER_FLAGS=-L{folder}/stand-ins");
        own.done(&format!("cmake -B build {link} {emulator}"));
        Some(own)
    }

    fn run(&self, words: &str) -> Output {
        let mut words = words.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.args(words).current_dir(self.folder.path()).env("PATH", &self.path);
        command.output().unwrap()
    }

    fn done(&self, words: &str) -> String {
        let output = self.run(words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}\n{text}\n{errors}");
        text
    }
}

/// A finding fails the test whose program does not notice it.
#[test]
fn ctest_runs_programs_under_the_checks() {
    let Some(project) = Project::new() else { return };
    project.done("cmake --build build");
    let passed = project.done("ctest --test-dir build --output-on-failure");
    assert!(passed.contains("100% tests passed out of 5"), "{passed}");

    let source = project.folder.path().join("sums.cu");
    let text = fs::read_to_string(&source).unwrap();
    let (right, wrong) = ("i < n ? x[i] : 0.0f", "i <= n ? x[i] : 0.0f");
    assert!(text.contains(right), "{text}");
    fs::write(&source, text.replace(right, wrong)).unwrap();
    project.done("cmake --build build");
    let failed = project.run("ctest --test-dir build --output-on-failure");
    let text = String::from_utf8_lossy(&failed.stdout);
    assert!(!failed.status.success(), "{text}");
    // Where the last block is full, nobody reads the number behind the last one.
    assert!(text.contains("20% tests passed, 4 tests failed out of 5"), "{text}");
    assert!(text.contains("sums.cu:8:"), "{text}");
    assert!(text.contains("block_sums: out-of-bounds at CUDA source"), "{text}");
}
