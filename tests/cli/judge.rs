//! `gpucast judge`: what it says of candidates, and its exit status.

use std::fs;
#[cfg(unix)]
use std::path::Path;

use scraper::{Html, Selector};
use serde_json::json;

use crate::gpucast::{gpucast, inputs};

const REFERENCE: &str = "--reference judge/saxpy.toml";

#[track_caller]
fn judged(candidate: &str, status: i32) -> String {
    let outcome = gpucast(&format!("judge {candidate} {REFERENCE}"));
    assert_eq!(outcome.status, status, "{}", outcome.transcript());
    outcome.transcript()
}

#[test]
fn results_that_differ_at_an_odd_size_are_shown_with_the_size() {
    insta::assert_snapshot!(judged("judge/whole-warps.ptx", 10));
}

#[test]
fn findings_that_the_reference_does_not_have_are_shown_with_their_lines() {
    insta::assert_snapshot!(judged("judge/past-the-end.ptx", 11));
}

#[test]
fn a_candidate_that_does_not_parse_is_wrong() {
    insta::assert_snapshot!(judged("broken/several.ptx", 10));
}

#[test]
fn a_page_shows_the_fault_in_its_code_and_escapes_what_it_quotes() {
    let folder = tempfile::tempdir().unwrap();
    let page = |run: &str, status: i32| {
        let path = folder.path().join("judgement.html");
        let outcome = gpucast(&format!("judge {run} -o '{}'", path.display()));
        assert_eq!(outcome.status, status, "{}", outcome.transcript());
        Html::parse_document(&fs::read_to_string(path).unwrap())
    };
    let texts = |page: &Html, of: &str| -> Vec<String> {
        let selector = Selector::parse(of).unwrap();
        page.select(&selector).map(|one| one.text().collect()).collect()
    };
    let unsafe_one = page(&format!("judge/past-the-end.ptx {REFERENCE}"), 11);
    assert!(unsafe_one.errors.is_empty(), "{:?}", unsafe_one.errors);
    assert_eq!(
        texts(&unsafe_one, "h1"),
        ["unsafe: judge/past-the-end.ptx against judge/saxpy.toml"]
    );
    let source = fs::read_to_string(inputs().join("judge/past-the-end.ptx")).unwrap();
    // Its CUDA file is not there, so the PTX is shown.
    let told = texts(&unsafe_one, "section caption").remove(0);
    let line: usize = told.strip_prefix("Around judge/past-the-end.ptx:").unwrap().parse().unwrap();
    let shown = texts(&unsafe_one, "tr.heat-4 code").remove(0);
    assert_eq!(Some(shown.as_str()), source.lines().nth(line - 1));
    // Both times, the work of both sides, and the runs.
    let faster = "transpose-padded.toml --reference transpose.toml --gpu gtx-480 --machine rules";
    let faster = page(faster, 13);
    let headings = texts(&faster, "h2");
    for part in ["Time on gtx-480", "Work against the reference’s", "What was tried", "Limits"] {
        assert!(headings.iter().any(|heading| heading == part), "{part}: {headings:?}");
    }
    // What a candidate says is text, not a part of the page.
    let wrong = folder.path().join("<b>bold.ptx");
    fs::write(&wrong, ".version 7.8\n.target sm_80\n<script>alert(1)</script>\n").unwrap();
    let wrong = page(&format!("'{}' {REFERENCE}", wrong.display()), 10);
    assert_eq!((texts(&wrong, "b").len(), texts(&wrong, "script").len()), (0, 1));
    assert!(texts(&wrong, "td.code code").iter().any(|line| line.contains("<script>")));
}

#[test]
fn a_file_that_is_not_there_is_no_verdict() {
    for (run, says) in [
        ("judge absent.ptx --reference judge/saxpy.toml", "cannot read absent.ptx"),
        ("judge saxpy.ptx --reference absent.toml", "cannot read absent.toml"),
        ("judge transpose.toml --reference judge/saxpy.toml", "no buffer in common"),
        ("judge saxpy.ptx --reference judge/saxpy.toml --result z", "no buffer `z`"),
        ("judge saxpy.toml --reference judge/saxpy.toml", "1000 elements of f32 for the candidate"),
        ("judge talk.ptx --reference judge/saxpy.toml", "its launch gives 4"),
    ] {
        let outcome = gpucast(run);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{run}");
        assert!(outcome.stderr.contains(says), "{run}: {}", outcome.stderr);
    }
}

#[test]
fn a_candidate_may_have_a_shape_of_its_own() {
    let shape = "--grid '${ceil(n/96)}' --block 96";
    let outcome = gpucast(&format!("judge saxpy.ptx {REFERENCE} {shape} --format json"));
    assert_eq!(outcome.status, 13, "{}", outcome.transcript());
    let value: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let cases = value["cases"].as_array().unwrap();
    assert!(cases.iter().all(|case| case["agrees"] == true), "{value}");
    let sizes = cases.iter().map(|case| case["size"].as_str().unwrap());
    let mut sizes: Vec<&str> = sizes.collect();
    sizes.dedup();
    assert_eq!(sizes, ["n=1024", "n=1025", "n=1023", "n=7", "n=509", "n=1"]);
}

#[test]
fn two_modules_share_the_arguments_of_the_command_line() {
    let launch = "--grid '${ceil(n/256)}' --block 256 --param n=1000 --arg 'u32:${n}' --arg f32:0.5 \
                  --arg 'buf:f32[${n}]=uniform(-1,1,1)' --arg 'buf:f32[${n}]=uniform(-1,1,2)'";
    let run = |candidate: &str| {
        gpucast(&format!("judge {candidate} --reference saxpy.ptx {launch} --format json"))
    };
    assert_eq!(run("saxpy.ptx").status, 13);
    assert_eq!(run("judge/whole-warps.ptx").status, 10);
}

#[test]
fn a_wider_tolerance_accepts_what_a_narrow_one_refuses() {
    let run = |tolerance: &str| {
        gpucast(&format!("judge judge/whole-warps.ptx {REFERENCE} {tolerance} --format json"))
    };
    assert_eq!(run("").status, 10);
    assert_eq!(run("--rtol 0 --atol 100").status, 13);
}

/// SAXPY whose threads take a ticket each, of which there are as many as elements.
const TICKETS: &str = "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry tickets(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y, .param .u64 t)
{
    .reg .pred %p;
    .reg .f32 %a, %x, %y;
    .reg .b32 %i, %n, %c, %w;
    .reg .b64 %px, %py, %pt;
    mov.u32 %c, %ctaid.x;
    mov.u32 %w, %ntid.x;
    mov.u32 %i, %tid.x;
    mad.lo.u32 %i, %c, %w, %i;
    ld.param.u32 %n, [n];
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    ld.param.f32 %a, [a];
    ld.param.u64 %px, [x];
    ld.param.u64 %py, [y];
    ld.param.u64 %pt, [t];
    atom.global.add.u32 %i, [%pt], 1;
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    mad.wide.u32 %px, %i, 4, %px;
    mad.wide.u32 %py, %i, 4, %py;
    ld.global.f32 %x, [%px];
    ld.global.f32 %y, [%py];
    fma.rn.f32 %y, %a, %x, %y;
    st.global.f32 [%py], %y;
    ret;
}
";

/// The host fills the candidate's own buffers before each run if its launch says so. What nobody
/// fills keeps what the last run left.
#[test]
fn own_buffers_are_filled_before_each_run_if_the_launch_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tickets.ptx"), TICKETS).unwrap();
    let reference = std::fs::read_to_string(crate::gpucast::inputs().join("judge/saxpy.toml"));
    let launch = reference
        .unwrap()
        .replace("../saxpy.ptx", "tickets.ptx")
        .replace("kernel = \"saxpy\"", "kernel = \"tickets\"")
        .replace("\"x\", \"y\"]", "\"x\", \"y\", \"t\"]");
    for (init, status) in [("init = \"zero\"", 13), ("", 10)] {
        let own = format!("{launch}\n[buffers.t]\ntype = \"u32\"\nlen = 1\n{init}\n");
        let file = folder.path().join("tickets.toml");
        std::fs::write(&file, own).unwrap();
        let outcome = gpucast(&format!("judge {} {REFERENCE}", file.display()));
        assert_eq!(outcome.status, status, "{}", outcome.transcript());
    }
}

#[test]
fn expected_values_judge_where_there_is_no_reference() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("y.npy");
    let file = file.display();
    let param = "--param n=1000";
    let ran = gpucast(&format!("run judge/saxpy.toml {param} --dump y={file}"));
    assert_eq!(ran.status, 0, "{}", ran.transcript());
    let judged = |candidate: &str, options: &str| {
        let outcome = gpucast(&format!("judge {candidate} --expect y={file} {options}"));
        (outcome.status, outcome.transcript())
    };
    let (right, told) = judged("judge/saxpy.toml", param);
    assert_eq!(right, 13, "{told}");
    assert!(told.contains("expected values are of the given ones"), "{told}");
    // The values are of another slope.
    let launch = "--grid 4 --block 256 --arg u32:1000 --arg f32:0.25 \
                  --arg 'buf:f32[1000]=uniform(-1,1,1)' --arg 'buf:f32[1000]=uniform(-1,1,2)'";
    let (wrong, told) = judged("saxpy.ptx", launch);
    assert_eq!(wrong, 1, "its buffers are arg0 and arg1: {told}");
    let file = format!("judge saxpy.ptx --expect arg3={file} {launch}");
    assert_eq!(gpucast(&file).status, 10, "{}", gpucast(&file).transcript());
    assert_eq!(gpucast(&file.replace("f32:0.25", "f32:0.5")).status, 13);
    // With a reference, both judge.
    let both = file.replace("judge saxpy.ptx", "judge saxpy.ptx --reference saxpy.ptx");
    assert_eq!(gpucast(&both).status, 10, "{}", gpucast(&both).transcript());
}

const ON: &str = "--param n=65536 --seeds 1 --given-size-only --gpu h100-sxm --machine rules";

#[test]
fn a_grid_of_one_warp_is_slower_and_the_whole_grid_is_faster() {
    let slower = format!("judge judge/few.ptx {REFERENCE} --grid 1 --block 32 {ON}");
    let told = gpucast(&slower).transcript();
    // The ends of intervals change with each kernel that is measured.
    let (before, rest) = told.split_once("\nTime on h100-sxm\n").unwrap();
    let (times, behind) = rest.split_once("\nWork").unwrap();
    assert!(times.contains(": slower."), "{times}");
    insta::assert_snapshot!(format!("{before}\n…\nWork{behind}"));
    let faster = format!("judge saxpy.ptx --reference judge/few.toml {ON} --format json");
    let faster = format!("{faster} --grid '${{ceil(n/256)}}' --block 256");
    let outcome = gpucast(&faster);
    assert_eq!(outcome.status, 0, "{}", outcome.transcript());
    let value: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&value["verdict"], &value["confidence"]), (&json!("faster"), &json!(0.9)));
    let interval = value["times"]["speed_up_interval"].as_array().unwrap();
    let [low, high] = [&interval[0], &interval[1]].map(|end| end.as_f64().unwrap());
    assert!(1.0 < low && low < high, "{interval:?}");
}

#[test]
fn the_same_kernel_is_neither_faster_nor_slower() {
    let outcome = gpucast(&format!("judge saxpy.ptx {REFERENCE} {ON} --format json"));
    assert_eq!(outcome.status, 13, "{}", outcome.transcript());
    let value: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(value["times"]["speed_up"], 1.0);
    assert_eq!(value.get("confidence"), None);
    assert_eq!(value["work"]["skipped"], json!([]));
}

#[test]
fn a_launch_that_the_gpu_refuses_is_wrong() {
    let shape = "--grid 1 --block 32 --shared-bytes 60000";
    let on = ON.replace("h100-sxm", "gtx-960");
    let outcome = gpucast(&format!("judge judge/few.ptx {REFERENCE} {shape} {on}"));
    assert_eq!(outcome.status, 10, "{}", outcome.transcript());
    assert!(outcome.stdout.contains("cannot-launch"), "{}", outcome.transcript());
}

/// A compiler that does `compiling` in a shell, and otherwise writes the PTX of a kernel that is
/// right.
#[cfg(unix)]
fn compiler(folder: &Path, compiling: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;

    let ptx = gpucast_path("saxpy.ptx");
    let program = folder.join("nvcc");
    let script = format!(
        "#!/bin/sh\nPATH=/usr/bin:/bin\ncase \"$1\" in\n\
         --version) echo 'fake compiler, release 12.9, V12.9.1'; exit 0;;\n\
         --list-gpu-arch) echo compute_80; exit 0;;\nesac\n\
         {compiling}\n\
         while [ $# -gt 0 ]; do if [ \"$1\" = -o ]; then out=$2; fi; shift; done\n\
         cat {ptx} > \"$out\"\n"
    );
    // A file that is still open for writing cannot be executed, by a process forked in between.
    let beside = folder.join("beside");
    fs::write(&beside, script).unwrap();
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&beside, &program).unwrap();
    fs::write(folder.join("fast.cu"), "// compiled by a script").unwrap();
    program.display().to_string()
}

#[cfg(unix)]
fn gpucast_path(name: &str) -> String {
    crate::gpucast::inputs().join(name).display().to_string()
}

#[cfg(unix)]
fn compiled(compiling: &str, options: &str) -> crate::gpucast::Outcome {
    let folder = tempfile::tempdir().unwrap();
    let compiler = compiler(folder.path(), compiling);
    let cuda = folder.path().join("fast.cu");
    let cuda = cuda.display();
    gpucast(&format!("judge {cuda} {REFERENCE} --cuda-compiler {compiler} {options}"))
}

#[cfg(unix)]
#[test]
fn a_compiler_that_does_not_end_is_ended_at_the_limit() {
    assert_eq!(compiled("", "").status, 13);
    let outcome = compiled("sleep 60", "--time-limit 1");
    assert_eq!(outcome.status, 10, "{}", outcome.transcript());
    assert!(outcome.stdout.contains("past-limit"), "{}", outcome.transcript());
}

/// Where the system holds files back, a candidate reads none but its own and its toolchain's, and
/// writes none but in its folder. It does not read the environment of the program, either.
#[cfg(target_os = "linux")]
#[test]
fn a_candidate_reaches_no_files_but_those_that_it_needs() {
    let elsewhere = tempfile::tempdir().unwrap();
    let secret = elsewhere.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let held = gpucast(&format!("judge saxpy.ptx {REFERENCE} --format json"));
    let held: serde_json::Value = serde_json::from_str(&held.stdout).unwrap();
    if held["confinement"]["holds_files"] == false {
        let told = gpucast(&format!("judge saxpy.ptx {REFERENCE}")).stdout;
        assert!(told.contains("Not held back on this system: files"), "{told}");
        return;
    }
    let secret = secret.display();
    // The script goes on only where it may not read and not write.
    let tries = format!(
        "cat {secret} >/dev/null 2>&1 && exit 1; (echo 1 > {secret}2) 2>/dev/null && exit 1; \
         cat /proc/$PPID/environ >/dev/null 2>&1 && exit 1"
    );
    let outcome = compiled(&tries, "");
    assert_eq!(outcome.status, 13, "{}", outcome.transcript());
}

/// `ptxas` loads the 4 of an address by a multiply-add of half precision.
#[test]
fn constants_in_machine_code_are_no_operations() {
    let Some(ptxas) = crate::machine::ptxas() else { return };
    let ptxas = ptxas.display();
    let options = format!("{REFERENCE} --gpu a100 --ptxas '{ptxas}' --format json");
    let judged = gpucast(&format!("judge saxpy.ptx {options}"));
    let judgement: serde_json::Value = serde_json::from_str(&judged.stdout).unwrap();
    let operations = judgement["work"]["operations"].as_array().unwrap();
    let names: Vec<&str> = operations.iter().map(|one| one["metric"].as_str().unwrap()).collect();
    assert_eq!(names, ["flop_count_sp"], "{}", judged.transcript());
}

#[cfg(unix)]
#[test]
fn memory_beyond_the_limit_is_told_as_such() {
    let outcome = gpucast(&format!("judge saxpy.ptx {REFERENCE} --memory-limit 4KiB"));
    assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{}", outcome.transcript());
    assert!(outcome.stderr.contains("memory"), "{}", outcome.stderr);
}

/// A project that says a judgement is confined already would have it run as it is.
#[test]
fn a_project_cannot_say_that_a_judgement_is_confined() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[defaults.judge]\nconfined = \".\"\n";
    std::fs::write(folder.path().join("gpucast.toml"), text).unwrap();
    let mut judge = crate::gpucast::command("judge a.ptx --reference b.toml");
    judge.current_dir(folder.path());
    let refused = crate::gpucast::outcome(judge);
    assert_eq!(refused.status, 1, "{}", refused.transcript());
    assert!(refused.stderr.contains("has no option --confined"), "{}", refused.stderr);
}
