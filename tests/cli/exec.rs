//! `gpucast exec`: programs that run, and programs that are refused. `doors/cuda/tests` has the
//! kernels.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::gpucast::{command, gpucast, outcome};

/// Compiles a C program into the tests' own folder.
pub(crate) fn compiled(name: &str, text: &str, options: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec");
    fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&source, text).unwrap();
    let compiled = Command::new("cc").arg("-o").arg(&program).arg(&source).args(options).output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// The programs of `doors/cuda/tests`, linked with our own runtime, in a folder of libraries.
pub(crate) fn programs(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-libraries"));
    fs::create_dir_all(&folder).unwrap();
    gpucast_cuda::facade::write(&folder, Path::new("libgpucast_cuda.so")).unwrap();
    let text = format!("#include \"{}\"\n", sources().join("programs.cu").display());
    let link = format!("-L{}", folder.display());
    let undefined = "-Wl,--allow-shlib-undefined";
    compiled(name, &text, &["-x", "c", &link, "-l:libcudart.so.13", undefined, "-lm"])
}

/// The folder of those programs and of their kernels.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("doors/cuda/tests/programs")
}

/// A program with device code, as far as its sections show.
const WITH_DEVICE_CODE: &str = "
    __attribute__((section(\".nv_fatbin\"), used)) static char code[64] = {0};
    int main(void) { return 0; }";

#[test]
fn a_program_runs_and_its_launches_are_told() {
    let program = programs("heat");
    let report = program.with_extension("json");
    let mut gpucast = command(&format!("exec --gpu gtx-480 --report {}", report.display()));
    gpucast.args(["--".as_ref(), program.as_os_str(), "heat".as_ref()]);
    gpucast.env("TEST_PTX", sources().join("kernels.ptx"));
    let ran = outcome(gpucast);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.ends_with("\nright with 13\n"), "{}", ran.stdout);
    insta::assert_snapshot!("exec-heat", ran.stderr);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report["schema"], "gpucast.program/1");
    assert_eq!(report["processes"][0]["launches"].as_array().unwrap().len(), 40);
}

/// Taichi, Halide and others open the driver by the name without a version.
#[test]
fn libraries_are_found_without_their_version() {
    let text = "#include <dlfcn.h>
        int main(void)
        {
            void *driver = dlopen(\"libcuda.so\", RTLD_NOW);
            void *runtime = dlopen(\"libcudart.so\", RTLD_NOW);
            return !driver || !dlsym(driver, \"cuInit\") || !runtime || !dlsym(runtime, \"cudaMalloc\");
        }";
    let program = compiled("opens", text, &["-ldl"]);
    let ran = gpucast(&format!("exec {}", program.display()));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

/// A program's own clock runs as the emulation does. One that asks events has predicted times.
#[test]
fn a_program_that_reads_this_computers_clock_is_told_so() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec-clocks");
    fs::create_dir_all(&folder).unwrap();
    gpucast_cuda::facade::write(&folder, Path::new("libgpucast_cuda.so")).unwrap();
    let link = format!("-L{}", folder.display());
    let options = [link.as_str(), "-l:libcudart.so.13", "-Wl,--allow-shlib-undefined"];
    let told = |name: &str, call: &str| {
        let text = format!(
            "#include <time.h>
            int cudaMalloc(void **, size_t), cudaMemcpy(void *, const void *, size_t, int);
            int cudaEventElapsedTime(float *, void *, void *);
            int main(void)
            {{
                struct timespec now;
                void *memory;
                {call};
                return cudaMalloc(&memory, 4) + cudaMemcpy(memory, &now, 4, 1);
            }}"
        );
        let program = compiled(name, &text, &options);
        let ran = gpucast(&format!("exec {}", program.display()));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stderr.contains("reads this computer's clock (clock_gettime)")
    };
    assert!(told("reads-clock", "clock_gettime(CLOCK_MONOTONIC, &now)"));
    assert!(!told("reads-none", "now.tv_sec = 0"));
    let asks = "clock_gettime(CLOCK_MONOTONIC, &now); cudaEventElapsedTime(0, 0, 0)";
    assert!(!told("asks-events", asks));
}

/// A signal to `gpucast` alone ends the program, too.
#[test]
fn the_program_ends_with_gpucast() {
    let text = "#include <stdio.h>
        #include <unistd.h>
        int main(void) { puts(\"runs\"); fflush(stdout); for (;;) pause(); }";
    let program = compiled("waits", text, &[]);
    let mut gpucast = command(&format!("exec {}", program.display()));
    let mut gpucast = gpucast.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(gpucast.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    // As `timeout` does: once to the program, once to its group.
    let pid = gpucast.id().to_string();
    let asked = Command::new("kill").args([&pid, &pid]).status().unwrap();
    assert!(asked.success());
    // The pipe ends when nobody holds it any more.
    assert_eq!(said.read_line(&mut String::new()).unwrap(), 0);
    let ended = gpucast.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(128 + 15));
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(told.contains("note: signal 15 ended the program"), "{told}");
}

/// One that does not care for signals is ended by force.
#[test]
fn a_program_that_ignores_signals_ends_with_gpucast() {
    let text = "#include <signal.h>
        #include <stdio.h>
        #include <unistd.h>
        int main(void)
        {
            signal(SIGTERM, SIG_IGN);
            puts(\"runs\");
            fflush(stdout);
            for (;;) pause();
        }";
    let program = compiled("ignores", text, &[]);
    let mut gpucast = command(&format!("exec {}", program.display()));
    let mut gpucast = gpucast.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(gpucast.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    let asked = Command::new("kill").arg(gpucast.id().to_string()).status().unwrap();
    assert!(asked.success());
    assert_eq!(said.read_line(&mut String::new()).unwrap(), 0);
    let status = gpucast.wait().unwrap().code();
    // On a loaded machine the end by force comes with that of `gpucast` itself.
    assert!([Some(128 + 9), Some(130)].contains(&status), "{status:?}");
}

/// A program that looks at no error ends well. Its launch did not.
#[test]
fn a_fault_is_told_by_the_status() {
    let program = programs("faults");
    for (on_fault, name) in [("stop", "fault"), ("report", "passed_fault")] {
        let mut gpucast = command(&format!("exec --on-fault {on_fault}"));
        gpucast.args(["--".as_ref(), program.as_os_str(), name.as_ref()]);
        gpucast.env("TEST_PTX", sources().join("kernels.ptx"));
        let ran = outcome(gpucast);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, "right with 13\n"), "{}", ran.stderr);
        assert!(ran.stderr.contains("fault in out_of_bounds: "), "{}", ran.stderr);
    }
}

#[test]
fn the_status_is_the_program_s() {
    let program = compiled("ends", "int main(void) { return 7; }", &[]);
    let ran = gpucast(&format!("exec {}", program.display()));
    assert_eq!((ran.status, ran.stdout.as_str()), (7, ""));
    assert!(ran.stderr.starts_with("note: the program launched no kernel"), "{}", ran.stderr);
    let killed = "#include <signal.h>\nint main(void) { return raise(SIGKILL); }";
    let program = compiled("killed", killed, &[]);
    let ran = gpucast(&format!("exec {}", program.display()));
    assert_eq!((ran.status, ran.stdout.as_str()), (128 + 9, ""));
    assert!(ran.stderr.starts_with("note: signal 9 ended the program"), "{}", ran.stderr);
}

/// Even without a word of the program's, there is a report of what it did.
#[test]
fn a_killed_program_has_a_report() {
    let program = programs("ends-early");
    let mut gpucast = command("exec");
    gpucast.args(["--".as_ref(), program.as_os_str(), "killed".as_ref()]);
    gpucast.env("TEST_PTX", sources().join("kernels.ptx"));
    let ran = outcome(gpucast);
    assert_eq!(ran.status, 128 + 9, "{}", ran.stderr);
    let row = ran.stderr.lines().find(|line| line.contains("out_of_bounds")).unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some("2"), "{}", ran.stderr);
    assert!(ran.stderr.contains("note: signal 9 ended the program: "), "{}", ran.stderr);
}

#[test]
fn a_program_with_the_runtime_inside_is_refused() {
    let program = compiled("inside", WITH_DEVICE_CODE, &[]);
    let ran = gpucast(&format!("exec {}", program.display()));
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("has CUDA's runtime inside"), "{}", ran.stderr);
    assert!(ran.stderr.contains("-cudart shared"), "{}", ran.stderr);
}

#[test]
fn wrong_settings_and_programs_are_told_before_anything_runs() {
    for (arguments, status, expected) in [
        ("exec --gpu h1000 true", 1, "there is no GPU named `h1000`"),
        ("exec --timing never true", 2, "there is no way of measuring named `never`"),
        ("exec --check everything true", 2, "there is no check `everything`"),
        ("exec --link 0 true", 2, "above 0"),
        ("exec --model all true", 2, "one model"),
        ("exec --report table.xls true", 2, "no known form"),
        ("exec no-such-program", 1, "no program `no-such-program`"),
        ("exec ./no-such-program", 1, "cannot run ./no-such-program"),
        ("exec", 2, "required"),
    ] {
        let ran = gpucast(arguments);
        assert_eq!(ran.status, status, "{arguments}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments}: {}", ran.stderr);
    }
}

/// Runs a program of `doors/cuda/tests` for a timeline and a report.
fn traced(program: &str, name: &str, options: &str) -> (Vec<u8>, serde_json::Value, String) {
    let path = programs(&format!("traced-{program}"));
    let folder = tempfile::tempdir().unwrap();
    let (trace, report) = (folder.path().join(name), folder.path().join("report.json"));
    let files = format!("--trace {} --report {}", trace.display(), report.display());
    let mut gpucast = command(&format!("exec --gpu gtx-480 --link 8 {options} {files}"));
    gpucast.args(["--".as_ref(), path.as_os_str(), program.as_ref()]);
    gpucast.env("TEST_PTX", sources().join("kernels.ptx"));
    let ran = outcome(gpucast);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let report = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    (fs::read(trace).unwrap(), report, ran.stderr)
}

/// Slices of a category.
fn slices(events: &[serde_json::Value], category: &str) -> Vec<serde_json::Value> {
    let is_meant = |event: &&serde_json::Value| event["ph"] == "X" && event["cat"] == category;
    events.iter().filter(is_meant).cloned().collect()
}

#[test]
fn a_timeline_of_a_program_has_the_launches_and_copies_of_its_report() {
    let (file, report, _) = traced("streams", "t.json", "");
    let document: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    let process = &report["processes"][0];
    assert!(process.get("timeline").is_none(), "the report is of launches");
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    // Each launch of the report is a slice of its time, in microseconds to the nanosecond.
    let launches = process["launches"].as_array().unwrap();
    let kernels = slices(events, "kernel");
    assert_eq!(kernels.len(), launches.len());
    for (slice, launch) in kernels.iter().zip(launches) {
        assert_eq!(slice["name"], launch["kernel"]);
        let start = (number(&slice["ts"]) - 1e3 * number(&launch["start_ms"])).abs();
        let time = (number(&slice["dur"]) - 1e3 * number(&launch["time_ms"])).abs();
        assert!(start <= 0.001 && time <= 0.002, "{slice} is {launch}");
    }
    let copies = process["copies"].as_array().unwrap();
    let all = |of: &str| -> f64 { copies.iter().map(|copy| number(&copy[of])).sum() };
    let copied = slices(events, "copy");
    assert_eq!(copied.len() as f64, all("count"));
    let bytes: f64 = copied.iter().map(|slice| number(&slice["args"]["bytes"])).sum();
    assert_eq!(bytes, all("bytes"));
    // A track is one engine's work for a stream, and nothing on it overlaps.
    let names = events.iter().filter(|event| event["name"] == "thread_name");
    let names: Vec<&str> = names.map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"host") && names.len() >= 5, "{names:?}");
    let mut ends: std::collections::BTreeMap<i64, f64> = std::collections::BTreeMap::new();
    for slice in ["call", "kernel", "copy", "fill"].iter().flat_map(|kind| slices(events, kind)) {
        let (from, time) = (number(&slice["ts"]), number(&slice["dur"]));
        let end = ends.entry(slice["tid"].as_i64().unwrap()).or_default();
        assert!(from >= *end - 0.001, "{slice} begins before {end}");
        *end = end.max(from + time);
    }
    // The last track ends where the report says that the program's work does.
    let last = ends.values().copied().fold(0.0, f64::max);
    assert!((last - 1e3 * number(&process["end_ms"])).abs() < 0.01, "{last}");
    // An arrow leads to each operation from its call, which did not begin after it.
    let calls = slices(events, "call");
    let has = |name: &str| calls.iter().any(|call| call["name"] == name);
    assert!(has("cudaLaunchKernel") && has("cudaMemcpyAsync"), "{calls:?}");
    assert!(calls.iter().any(|call| number(&call["dur"]) > 0.0), "nothing waits");
    // The first of them has made the device.
    assert_eq!(calls.iter().filter(|call| call["name"] == "cudaMalloc").count(), 3);
    let ends_of = |kind: &str| -> std::collections::BTreeMap<i64, f64> {
        let all = events.iter().filter(|event| event["ph"] == kind);
        all.map(|event| (event["id"].as_i64().unwrap(), number(&event["ts"]))).collect()
    };
    let (from, to) = (ends_of("s"), ends_of("f"));
    assert_eq!(from.len(), kernels.len() + copied.len() + slices(events, "fill").len());
    assert!(to.iter().all(|(id, at)| from[id] <= *at));
}

#[test]
fn a_timeline_that_is_too_long_ends_and_says_so() {
    let (file, _, said) = traced("heat", "t.pftrace", "--trace-limit 3kB");
    assert!((3000..4000).contains(&file.len()), "{}", file.len());
    assert!(said.contains("note: the timeline has ") && said.contains(" no room for "), "{said}");
    let (whole, _, said) = traced("heat", "t.pftrace", "");
    assert!(whole.len() > file.len() && !said.contains("no room"), "{said}");
    assert!(whole.windows(16).any(|bytes| bytes == b"cudaLaunchKernel"));
    // Nothing has a time there.
    for option in ["--mode run", "--check all"] {
        let refused = gpucast(&format!("exec --trace t.pftrace {option} ./program"));
        assert_eq!(refused.status, 2, "{}", refused.stderr);
    }
}
