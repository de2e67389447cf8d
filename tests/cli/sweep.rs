//! `gpucast sweep`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::gpucast::{command, gpucast, inputs, is_nightly, json, outcome, stdout};

fn rows(arguments: &str) -> Vec<Value> {
    json(&format!("sweep {arguments} --format json"))["rows"].as_array().unwrap().clone()
}

fn time(row: &Value) -> f64 {
    row["time_ms"].as_f64().unwrap_or_else(|| panic!("no time: {row}"))
}

#[test]
fn a_grid_as_text() {
    insta::assert_snapshot!(
        "sweep-text",
        stdout(
            "sweep --from-metrics sgemm-metrics.toml --gpu gtx-480,gtx-960 \
             --set memory_bandwidth=0.5x..2x:0.5x --set sm_count=8,16 --model quantitative-roofline"
        )
    );
}

/// W_traf is 42,258,880 bytes: a memory-bound kernel takes as long as they take at each bandwidth,
/// and a compute-bound one as long as at any other.
#[test]
fn a_swept_field_has_the_effect_that_the_equations_give_it() {
    let rows = rows(
        "--from-metrics sgemm-metrics.toml --gpu gtx-480 --set memory_bandwidth=1..100GB/s:log9",
    );
    assert_eq!(rows.len(), 9);
    let unbound = time(&rows[8]);
    for row in &rows {
        let bandwidth = row["memory_bandwidth"].as_f64().unwrap();
        let traffic_ms = 42_258_880.0 / bandwidth / 1e6;
        assert!((time(row) / traffic_ms.max(unbound) - 1.0).abs() < 1e-9, "{row}");
    }
    assert_eq!((&rows[0]["bound"], &rows[8]["bound"]), (&"memory".into(), &"compute".into()));
}

/// Each size is executed with its own parameters: the operations of SAXPY are its length.
#[test]
fn a_launch_file_and_a_module_take_sizes_from_the_sweep() {
    let of_file = rows("saxpy-n.toml --gpu gtx-480 --vary n=256..4096:x2");
    let lengths: Vec<i64> = of_file.iter().map(|row| row["n"].as_i64().unwrap()).collect();
    assert_eq!(lengths, [256, 512, 1024, 2048, 4096]);
    let of_module = rows(
        "saxpy.ptx --kernel saxpy --grid ${ceil(n/256)} --block 256 --arg u32:${n} --arg f32:0.5 \
         --arg buf:f32[${n}]=uniform(-1,1,1) --arg buf:f32[${n}]=iota --gpu gtx-480 --vary n=256..4096:x2",
    );
    let times = |rows: &[Value]| rows.iter().map(time).collect::<Vec<_>>();
    assert_eq!(times(&of_file), times(&of_module));
    assert!(times(&of_file).is_sorted());
    // Outside of a sweep, parameters have their usual value or a given one.
    let predicted = |more: &str| {
        let result = json(&format!("predict saxpy-n.toml {more} --gpu gtx-480 --format json"));
        result["predictions"][0]["parameters"]["W_comp"].as_i64().unwrap()
    };
    assert_eq!((predicted(""), predicted("--param n=4096")), (2 * 1000, 2 * 4096));
}

/// The whole corpus on the whole library: every row has a time that is one, or says why it has
/// none.
#[test]
fn every_gpu_predicts_every_corpus_kernel_or_says_what_is_missing() {
    // One execution for each kernel is enough to try all models on all GPUs. In the gate these are
    // one of every second capability, and of every second vendor that has none.
    let list = json("gpus list --format json");
    let mut seen = BTreeSet::new();
    let all = list["gpus"].as_array().unwrap().iter();
    let chosen = all.filter(|gpu| {
        let kind = format!("{} {}", gpu["vendor"]["value"], gpu["compute_capability"]["value"]);
        is_nightly() || seen.insert(kind) && seen.len() % 2 == 1
    });
    let gpus: Vec<&str> = chosen.map(|gpu| gpu["name"].as_str().unwrap()).collect();
    assert!(gpus.len() >= 10, "{gpus:?}");
    let rows = rows(&format!(
        "all --size small --gpu {} --model all --machine rules --count-on gtx-480",
        gpus.join(",")
    ));
    let set = |column: &str| -> BTreeSet<String> {
        rows.iter().map(|row| row[column].as_str().unwrap().to_owned()).collect()
    };
    let kernels = set("kernel").len();
    assert!(kernels >= 19 && set("gpu").len() == gpus.len(), "{kernels} kernels");
    assert_eq!(rows.len() % (set("gpu").len() * set("model").len()), 0, "a combination is missing");
    for row in &rows {
        match row["time_ms"].as_f64() {
            Some(time) => {
                assert!(time.is_finite() && time > 0.0, "{row}");
                assert_eq!(row["error"], Value::Null, "{row}");
                assert!(row["bound"].is_string(), "{row}");
            }
            None => assert!(row["error"].as_str().is_some_and(|error| !error.is_empty()), "{row}"),
        }
    }
    // The default model knows every GPU of NVIDIA's in the library, unless it refuses the launch or
    // the kernel needs tensor cores.
    let is_refused = |row: &Value| {
        let has =
            |field: &str, what: &str| row[field].as_str().is_some_and(|text| text.contains(what));
        has("warning_codes", "unlaunchable") || has("error", "tensor_")
    };
    let lacking: Vec<&Value> = rows
        .iter()
        .filter(|row| row["model"] == "quantitative-roofline" && row["time_ms"].is_null())
        .filter(|row| !is_refused(row))
        .collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let of = |threads: &str| {
        let mut command = command(
            "sweep sgemm transpose --size small --gpu gtx-480,gtx-960 --model all --machine rules \
             --set sm_count=10..40:10 --set memory_bandwidth=0.5x,2x --format csv",
        );
        command.env("RAYON_NUM_THREADS", threads);
        outcome(command).stdout
    };
    assert_eq!(of("1"), of("3"));
}

/// The counts of a point are those of its own caches, and each has its GPU's default model.
#[test]
fn points_of_a_sweep_have_their_own_counts_and_default_models() {
    let rows = rows(
        "transpose --size small --machine rules --gpu gtx-660,gtx-960 --set l2_size=0.25x,1x \
         --set memory_bandwidth=0.5x,1x",
    );
    let model = |row: &Value| row["model"].as_str().unwrap().to_owned();
    assert_eq!(rows.len(), 8);
    assert!(rows[..4].iter().all(|row| model(row) == "quantitative-roofline"));
    assert!(rows[4..].iter().all(|row| model(row) == "sm-simulation"));
    let combinations = ["gtx-660", "gtx-960"].into_iter().flat_map(|gpu| {
        let sizes = ["0.25x", "1x"].into_iter();
        sizes.flat_map(move |size| ["0.5x", "1x"].map(|bandwidth| (gpu, size, bandwidth)))
    });
    for ((gpu, size, bandwidth), row) in combinations.zip(&rows) {
        let alone = json(&format!(
            "sweep transpose --size small --machine rules --gpu {gpu} --set l2_size={size} \
             --set memory_bandwidth={bandwidth} --format json"
        ));
        assert_eq!(time(&alone["rows"][0]), time(row), "{gpu} {size} {bandwidth}");
    }
}

/// The whole library would have each kernel executed for every GPU.
#[test]
fn a_sweep_of_the_library_executes_a_kernel_once_unless_models_are_named() {
    let rows = rows("vector-add --size small --machine rules --gpu all");
    assert!(rows.len() >= 45, "{}", rows.len());
    assert!(rows.iter().all(|row| row["model"] == "quantitative-roofline"));
}

/// A point that cannot be is a row, in its place.
#[test]
fn points_that_fail_are_rows() {
    let csv = stdout(
        "sweep --from-metrics sgemm-metrics.toml --gpu gtx-480 --set sm_count=1,1.5,2 --format csv",
    );
    insta::assert_snapshot!("sweep-failing-point", csv);
    let rows = rows("saxpy-n.toml --gpu gtx-480 --vary n=0,256");
    assert!(rows[0]["time_ms"].is_null() && rows[0]["error"].is_string(), "{}", rows[0]);
    time(&rows[1]);
    // Nothing but failures is none.
    let failed = gpucast("sweep saxpy-n.toml --gpu gtx-480 --vary n=0 --format csv");
    assert_eq!(failed.status, 1);
    assert_eq!(failed.stdout.lines().count(), 2, "{}", failed.stdout);
}

#[test]
fn a_file_gets_the_form_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        let arguments =
            "sweep --from-metrics sgemm-metrics.toml --gpu gtx-480 --set sm_count=1..9:1";
        let mut command = command(arguments);
        command.arg("--output").arg(&path);
        assert_eq!(outcome(command).status, 0);
        std::fs::read(path).unwrap()
    };
    assert!(write("sweep.csv").starts_with(b"kernel,function,launch,gpu,sm_count,model,time_ms"));
    assert!(write("sweep.json").starts_with(b"{\n  \"schema\": \"gpucast.sweep/1\""));
    if cfg!(feature = "parquet") {
        let parquet = write("sweep.parquet");
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
        assert_eq!(parquet, write("again.parquet"));
    } else {
        let refused = gpucast("sweep sgemm --gpu gtx-480 --output sweep.parquet");
        assert_eq!(refused.status, 2);
        assert!(refused.stderr.contains("--features parquet"), "{}", refused.stderr);
    }
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    assert!(inputs().exists());
    for (name, arguments) in [
        ("field", "sgemm --gpu gtx-480 --set memory_bandwith=1..2:1"),
        ("axis", "sgemm --gpu gtx-480 --set sm_count=1..x:1"),
        ("twice", "sgemm --gpu gtx-480 --set sm_count=1 --set sm_count=2"),
        ("corpus-parameter", "sgemm --gpu gtx-480 --vary n=1..2:1"),
        (
            "unused-parameter",
            "saxpy.ptx --kernel saxpy --grid 1 --block 1 --gpu gtx-480 --vary n=1",
        ),
        ("too-many", "sgemm --gpu all --set sm_count=1..1000:1 --set l2_slices=1..1000:1"),
        ("parquet", "sgemm --gpu gtx-480 --format parquet"),
        ("metrics-size", "--from-metrics sgemm-metrics.toml --size small --gpu gtx-480"),
    ] {
        let outcome = gpucast(&format!("sweep {arguments}"));
        assert_eq!(outcome.status, 2, "{name}: {}", outcome.stderr);
        insta::assert_snapshot!(format!("sweep-wrong-{name}"), outcome.stderr);
    }
}

/// Runs a sweep into `file` and returns the exit status, the complaints and what the file has then.
fn sweep_into(file: &std::path::Path, more: &str) -> (i32, String, Option<String>) {
    let mut command =
        command(&format!("sweep saxpy-n.toml --gpu gtx-480,gtx-660 --vary n=256..2048:x2 {more}"));
    command.arg("-o").arg(file);
    let outcome = outcome(command);
    (outcome.status, outcome.stderr, std::fs::read_to_string(file).ok())
}

#[test]
fn a_stopped_sweep_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (status, _, whole) = sweep_into(&file("whole.csv"), "");
    let whole = whole.unwrap();
    assert_eq!((status, whole.lines().count()), (0, 9));
    // A sweep that was killed leaves a file whose last rows may be missing or cut off.
    for left in [0, 30, whole.len() / 2, whole.len() - 5] {
        std::fs::write(file("part.csv.partial"), &whole[..left]).unwrap();
        let (status, stderr, resumed) = sweep_into(&file("part.csv"), "--resume");
        assert_eq!((status, resumed.as_deref()), (0, Some(whole.as_str())), "{left}: {stderr}");
        assert!(!file("part.csv.partial").exists());
    }
    // One that ended in order has whole kernels.
    let lines: Vec<&str> = whole.lines().take(5).collect();
    std::fs::write(file("part.csv"), format!("{}\n", lines.join("\n"))).unwrap();
    assert_eq!(sweep_into(&file("part.csv"), "--resume").2, Some(whole));
    // Rows of other sizes are not taken for these.
    let (status, stderr, _) = sweep_into(&file("part.csv"), "--resume --set sm_count=8");
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.contains("is of another sweep"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_keeps_the_rows_that_it_has() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let folder = tempfile::tempdir().unwrap();
    let (file, partial) =
        (folder.path().join("sweep.csv"), folder.path().join("sweep.csv.partial"));
    std::fs::write(&file, "an older result\n").unwrap();
    let endless = folder.path().join("endless.toml");
    let ptx = inputs().join("broken/endless.ptx");
    std::fs::write(
        &endless,
        format!(
            "module = {ptx:?}\n[buffers.x]\ntype = \"f32\"\nlen = 1000\n[[launch]]\n\
             kernel = \"saxpy\"\ngrid = [4, 1, 1]\nblock = [256, 1, 1]\n\
             args = [{{ u32 = 5000 }}, {{ f32 = 0.5 }}, \"x\", \"x\"]\n"
        ),
    )
    .unwrap();
    let mut command = command("sweep saxpy.toml");
    command.arg(&endless).args(["--gpu", "gtx-480", "-o"]).arg(&file);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    // The first kernel's row is there; the second one never ends.
    while std::fs::read_to_string(&partial).map_or(true, |text| text.lines().count() < 2) {
        assert!(started.elapsed() < Duration::from_secs(60), "no row arrives");
        std::thread::sleep(Duration::from_millis(10));
    }
    let interrupted = Command::new("/bin/kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("the sweep was stopped after 1 row"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    assert!(!partial.exists());
}

#[test]
fn counts_without_caches_name_the_option_in_their_rows() {
    let outcome = gpucast(
        "sweep sgemm --size small --gpu gtx-480 --model all --machine rules --caches none \
         --format json",
    );
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let rows = document["rows"].as_array().unwrap();
    let errors: Vec<&str> = rows.iter().filter_map(|row| row["error"].as_str()).collect();
    insta::assert_snapshot!(errors.join("\n"));
}

/// A link in the place of unfinished rows is not followed, and a sweep does not take another one's.
#[cfg(unix)]
#[test]
fn unfinished_rows_are_nobody_elses_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("victim"), "old").unwrap();
    std::os::unix::fs::symlink("victim", path("table.csv.partial")).unwrap();
    let sweep = format!(
        "sweep saxpy.toml --gpu gtx-480 --machine rules -o '{}'",
        path("table.csv").display()
    );
    assert_eq!(gpucast(&sweep).status, 0);
    assert_eq!(fs::read_to_string(path("victim")).unwrap(), "old");
    let table = fs::read(path("table.csv")).unwrap();
    let held = fs::File::create(path("table.csv.partial")).unwrap();
    held.lock().unwrap();
    let refused = gpucast(&sweep);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("another sweep writes"), "{}", refused.stderr);
    drop(held);
    assert_eq!(gpucast(&sweep).status, 0);
    assert_eq!(fs::read(path("table.csv")).unwrap(), table);
}
