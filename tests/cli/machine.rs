//! Which back end counts machine instructions, and what happens where there is none.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::gpucast::{command, gpucast, outcome, stdout};

/// An assembler for tests: `GPUCAST_TEST_PTXAS`, or one on the search path.
pub(crate) fn ptxas() -> Option<PathBuf> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let on_path = || std::env::split_paths(&search).map(|folder| folder.join("ptxas"));
    let given = std::env::var_os("GPUCAST_TEST_PTXAS").map(PathBuf::from);
    let found = given.or_else(|| on_path().find(|path| path.is_file()));
    if found.is_none() {
        // Not an error: nothing of NVIDIA's is needed to build and to test.
        eprintln!("skipped: no ptxas on PATH or in GPUCAST_TEST_PTXAS");
    }
    found
}

#[test]
fn an_assembler_that_does_not_exist_is_wrong_usage() {
    let outcome = gpucast("profile vector-add --size small --ptxas /nonexistent/ptxas");
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("there is no such file"), "{}", outcome.stderr);
    for target in ["ampere", "sm_13", "sm_1"] {
        let outcome =
            gpucast(&format!("profile vector-add --size small --machine-target {target}"));
        assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    }
}

#[test]
fn a_program_that_is_no_assembler_is_said_to_be_none() {
    let outcome = gpucast("profile vector-add --size small --ptxas /bin/true");
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("is no ptxas that works"), "{}", outcome.stderr);
}

#[test]
fn without_an_assembler_nothing_else_changes() {
    let with = stdout("profile vector-add --size small --format json --machine rules");
    assert_eq!(with, stdout("profile vector-add --size small --format json"));
}

#[test]
fn machine_code_is_attributed_and_kept() {
    let Some(ptxas) = ptxas() else { return };
    let cache = tempfile::tempdir().unwrap();
    let run = |target: &str| {
        let mut command = command(&format!("profile sgemm --size small --machine-target {target}"));
        command.arg("--ptxas").arg(&ptxas).env("GPUCAST_CACHE", cache.path());
        outcome(command)
    };
    let first = run("sm_90");
    assert_eq!(first.status, 0, "{}", first.stderr);
    assert!(first.stdout.contains("machine instructions for sm_90 by ptxas"), "{}", first.stdout);
    assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 1);
    // From the cache the result is the same, and so it is after the entry was damaged.
    assert_eq!(run("sm_90").stdout, first.stdout);
    for entry in std::fs::read_dir(cache.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), b"damaged").unwrap();
    }
    assert_eq!(run("sm_90").stdout, first.stdout);
    let unknown = run("sm_20");
    assert_eq!(unknown.status, 1);
    assert!(unknown.stderr.contains("does not assemble for sm_20"), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("sm_90"), "{}", unknown.stderr);
}

/// An assembler that never ends is killed with the run, and nothing takes its place.
#[cfg(unix)]
#[test]
fn an_interrupt_reaches_a_running_assembler() {
    use std::io::BufRead as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let folder = tempfile::tempdir().unwrap();
    let (path, pid) = (folder.path().join("ptxas"), folder.path().join("pid"));
    // It introduces itself like ptxas; asked to assemble, it leaves its number and sleeps.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*--version*) echo 'Cuda compilation tools, release 12.9, \
         V12.9.86';;\n*--help*) echo \"'sm_80','sm_90'\";;\n*) echo $$ > {}; exec /bin/sleep 600;;\nesac\n",
        pid.display()
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    for choice in ["auto", "ptxas"] {
        let _ = std::fs::remove_file(&pid);
        let mut command = command(&format!(
            "profile vector-add --size small --machine-target sm_80 --machine {choice}"
        ));
        // Where the user does not insist, rules must not take its place now.
        match choice {
            "auto" => command.env("PATH", folder.path()),
            _ => command.arg("--ptxas").arg(&path),
        };
        command.env("GPUCAST_CACHE", folder.path().join("cache"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        let assembler = loop {
            let text = std::fs::read(&pid).unwrap_or_default();
            if let Some(Ok(line)) = text.lines().next()
                && text.ends_with(b"\n")
            {
                break line;
            }
            assert!(Instant::now() < until, "the assembler was not started");
            std::thread::sleep(Duration::from_millis(10));
        };
        let interrupted =
            Command::new("/bin/kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupted.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        let lives =
            Command::new("/bin/kill").args(["-0", &assembler]).stderr(Stdio::null()).status();
        assert!(!lives.unwrap().success(), "process {assembler} is still there");
    }
}

/// The bytes of every section with code.
fn code(cubin: &Path) -> Vec<(String, Vec<u8>)> {
    let data = std::fs::read(cubin).unwrap();
    let word = |at: usize, bytes: usize| {
        data[at..at + bytes].iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte))
    };
    // ELF64: the section table and the index of its names, then 64 bytes a section.
    let (table, count, names) = (word(0x28, 8), word(0x3c, 2), word(0x3e, 2));
    let place = |index: usize| {
        let at = table + 64 * index;
        (word(at, 4), word(at + 24, 8), word(at + 32, 8))
    };
    let name = |offset: usize| {
        let text = &data[place(names).1 + offset..];
        String::from_utf8_lossy(text.split(|&byte| byte == 0).next().unwrap()).into_owned()
    };
    (0..count)
        .map(place)
        .map(|(offset, start, size)| (name(offset), start, size))
        .filter(|(name, ..)| name.starts_with(".text."))
        .map(|(name, start, size)| (name, data[start..start + size].to_vec()))
        .collect()
}

#[test]
fn injected_lines_leave_the_machine_code_as_it_is() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().unwrap();
    for kernel in ["sgemm", "lmsor", "reduction", "histogram", "transpose"] {
        let path = format!("{}/corpus/kernels/{kernel}/sm_80.ptx", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let prepared = gpucast_machine::ptxas::prepare(&text).unwrap();
        let assembled = |name: &str, text: &str| {
            let source = folder.path().join(format!("{name}.ptx"));
            let cubin = source.with_extension("cubin");
            std::fs::write(&source, text).unwrap();
            let mut command = Command::new(&ptxas);
            command.args(["-arch", "sm_80"]).arg(&source).arg("-o").arg(&cubin);
            assert!(command.status().unwrap().success(), "{kernel}");
            code(&cubin)
        };
        let (plain, with_lines) = (assembled("plain", &text), assembled("lines", &prepared.text));
        assert!(!plain.is_empty());
        assert!(plain == with_lines, "{kernel} is translated in another way");
    }
}
