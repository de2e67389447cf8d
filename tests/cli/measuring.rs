//! `gpucast bench --device`: a GPU is measured. In the closed loop it is a simulated one.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use serde_json::Value;

use crate::gpucast::{gpucast, is_nightly};
use crate::management::{self, Tells};

/// The program itself, as what `exec` runs.
const OWN: &str = env!("CARGO_BIN_EXE_gpucast");

#[test]
fn the_closed_loop_recovers_what_a_gpu_file_says() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inputs/made-up.toml");
    // The figures of the file, and those of its base, the H100.
    let given = [
        ("sp_clock", 1300.0),
        ("launch_overhead", 3.4),
        ("cta_launch_interval", 15.0),
        ("shared_latency", 27.0),
        ("l1_latency", 45.0),
        ("l2_latency", 270.0),
        ("l2_far_latency", 212.0),
        ("memory_queue", 4.0),
        ("special_rate", 32.0),
        ("shared_bytes_rate", 128.0),
        ("barrier_latency", 41.0),
        ("mbarrier_latency", 36.0),
        ("tensor_latency", 20.0),
        ("tensor_queue", 6.0),
        ("constant_latency", 29.0),
        ("shared_atomic_interval", 2.0),
        // Eight words of 32 banks have a bank in common.
        ("shared_stride_8", 8.0),
    ];
    // These take as long as all others together.
    let slow = ["special_rate", "tensor_latency", "constant_latency"];
    let given: Vec<_> =
        given.into_iter().filter(|(field, _)| is_nightly() || !slow.contains(field)).collect();
    let fields = given.iter().map(|(field, _)| *field).collect::<Vec<_>>().join(",");
    let ran = gpucast(&format!(
        "exec --gpu {file} {OWN} bench --compare {file} --only {fields} --trials 1 --warm-up 1 \
         --format csv"
    ));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let rows: Vec<&str> = ran.stdout.lines().skip(1).collect();
    assert_eq!(rows.len(), given.len(), "{}", ran.stdout);
    for (row, (field, given)) in rows.into_iter().zip(given) {
        assert!(row.starts_with(&format!("{field},")), "{row}");
        let measured = figure(row);
        assert!((measured / given - 1.0).abs() < 0.03, "{field}: {measured} for {given}");
    }
}

/// A chase walks through lines of both halves of the L2, and loads of one line meet one half.
#[test]
fn latencies_of_an_l2_with_a_far_half_are_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("far-half.toml");
    let text = "name = \"far-half\"\nbase = \"h100-sxm\"\nl2_far_latency = 90\n\
                l2_latency = 206\natomic_latency = 37\natomic_interval = 3\ntexture_latency = 173\n";
    std::fs::write(&file, text).unwrap();
    let file = file.display();
    let ran = gpucast(&format!(
        "exec --gpu {file} {OWN} bench --compare {file} \
         --only l2_latency,l2_far_latency,atomic_latency,atomic_interval,texture_latency --trials 1 --warm-up 1 --format csv"
    ));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let measured: Vec<f64> = ran.stdout.lines().skip(1).map(figure).collect();
    for (measured, given) in measured.iter().zip([206.0, 90.0, 37.0, 3.0, 173.0]) {
        assert!((measured / given - 1.0).abs() < 1e-4, "{}", ran.stdout);
    }
    assert_eq!(measured.len(), 5, "{}", ran.stdout);
}

/// Figures that no GPU of the library has, so that nothing but the kernels can tell them.
#[test]
fn rates_and_queues_are_recovered() {
    is_recovered(
        "titan-v",
        &[
            ("texture_interval", 9.0),
            ("stored_sectors", 384.0),
            ("l2_request_rate", 0.2),
            ("special_register_latency", 31.0),
        ],
        0.08,
    );
}

/// As `rates_and_queues_are_recovered`. These kernels fill a whole GPU for many rounds.
#[test]
#[ignore = "takes a minute"]
fn rates_and_queues_of_a_full_gpu_are_recovered() {
    is_recovered(
        "titan-v",
        &[
            ("branch_interval", 3.0),
            ("read_queueing_linear", 0.3),
            // A use that is 1 % off makes it 4 % off.
            ("read_queueing_hyperbolic", 0.05),
            ("half_written_queueing_linear", 0.4),
        ],
        0.08,
    );
}

/// The descriptor of a product in tensor memory tells formats that have rates of their own.
#[test]
fn tensor_memory_is_recovered() {
    let given = [
        ("tensor_rate", 3000.0),
        ("tensor_fp8_rate", 6000.0),
        ("tensor_queue", 9.0),
        ("tensor_memory_read_rate", 300.0),
        ("tensor_pair_latency", 50.0),
        // Measured as their brothers above.
        ("tensor_half_rate", 3500.0),
        ("tensor_fp4_rate", 7000.0),
        ("tensor_scaled_fp4_rate", 12_000.0),
        ("tensor_memory_write_rate", 200.0),
    ];
    is_recovered("b200", if is_nightly() { &given } else { &given[..5] }, 0.03);
}

/// A GPU with these figures in place of its base's is measured, and each comes out again.
fn is_recovered(base: &str, given: &[(&str, f64)], tolerance: f64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.toml");
    let fields: Vec<String> =
        given.iter().map(|(field, value)| format!("{field} = {value}\n")).collect();
    let text = format!("name = \"other\"\nbase = \"{base}\"\n{}", fields.concat());
    std::fs::write(&file, text).unwrap();
    let file = file.display();
    let names: Vec<&str> = given.iter().map(|(field, _)| *field).collect();
    let ran = gpucast(&format!(
        "exec --gpu {file} {OWN} bench --compare {file} --only {} --trials 1 --warm-up 1 --format csv",
        names.join(",")
    ));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let rows: Vec<&str> = ran.stdout.lines().skip(1).collect();
    assert_eq!(rows.len(), given.len(), "{}", ran.stdout);
    for (field, value) in given {
        let row = rows.iter().find(|row| row.starts_with(&format!("{field},"))).unwrap();
        let measured = figure(row);
        assert!((measured / value - 1.0).abs() < tolerance, "{field}: {measured} for {value}");
    }
}

/// Machine code carries its stall counts, which follow the compute capability.
#[test]
fn a_file_that_contradicts_machine_code_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slow.toml");
    std::fs::write(&file, "name = \"slow\"\nbase = \"h100-sxm\"\narithmetic_latency = 7\n")
        .unwrap();
    let says = |compared: &str| {
        let ran = gpucast(&format!(
            "exec --gpu titan-v {OWN} bench --compare {compared} --only arithmetic_latency \
             --trials 1 --warm-up 0"
        ));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stdout
    };
    let text = says(&file.display().to_string());
    assert!(text.contains("arithmetic_latency of slow is 7, but machine code"), "{text}");
    assert!(!says("h100-sxm").contains("machine code of its"));
}

/// Streams are larger than the L2 and no power of two of bytes, and no block reads what another one
/// does.
#[test]
#[ignore = "takes a quarter of a minute"]
fn the_bandwidth_of_device_memory_is_recovered() {
    let ran = gpucast(&format!(
        "exec --gpu h100-sxm {OWN} bench --compare h100-sxm --only dram_efficiency --trials 1 \
         --warm-up 1 --format csv"
    ));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let measured = ran.stdout.lines().nth(1).map(figure).unwrap();
    assert!((measured / 92.5 - 1.0).abs() < 0.03, "{}", ran.stdout);
}

/// The measured figure of a row of `bench --compare --format csv`.
fn figure(row: &str) -> f64 {
    row.split(',').nth(3).unwrap().parse().unwrap()
}

/// The parameters of a document, by field.
fn parameters(document: &Value) -> Vec<(&str, f64)> {
    let parameters = document["parameters"].as_array().unwrap();
    let figure = |one: &'_ Value| one["measured"].as_f64().unwrap();
    parameters
        .iter()
        .map(|parameter| (parameter["field"].as_str().unwrap(), figure(parameter)))
        .collect()
}

#[test]
fn raw_data_give_the_figures_again() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inputs/made-up.toml");
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("raw.json");
    let ran = gpucast(&format!(
        "exec --gpu {file} {OWN} bench --device 0 --only shared_latency,tensor_int4_rate \
         --trials 3 --warm-up 1 --format json --raw {}",
        raw.display()
    ));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    let raw: Value = serde_json::from_str(&std::fs::read_to_string(raw).unwrap()).unwrap();
    assert_eq!(raw["parameters"], shown["parameters"]);
    // Tensor cores of capability 9.0 have no four-bit integers.
    assert_eq!(shown["left_out"][0]["field"], "tensor_int4_rate");
    let runs: Vec<&Value> = raw["runs"].as_array().unwrap().iter().collect();
    let own: Vec<&Value> =
        runs.into_iter().filter(|run| run["field"] == "shared_latency").collect();
    let mean = |run: &Value| {
        let seconds: Vec<f64> =
            run["seconds"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
        assert_eq!(seconds.len(), 3);
        seconds.iter().sum::<f64>() / 3.0
    };
    let work = |run: &Value| run["work"].as_f64().unwrap();
    let [smaller, larger] = own[..] else { panic!("{own:?}") };
    let seconds = (mean(larger) - mean(smaller)) / (work(larger) - work(smaller));
    let clocks = seconds * raw["device"]["clock_mhz"].as_f64().unwrap() * 1e6;
    let (field, measured) = parameters(&shown)[0];
    assert_eq!(field, "shared_latency");
    assert!((clocks / measured - 1.0).abs() < 1e-9, "{clocks} and {measured}");
}

/// Seconds of the samples of `calibrate cost --measure TAGS` by what `--on` names.
///
/// The simulated driver translates PTX by rules and adds nothing to launches, so both do here.
fn samples(gpu: &str, tags: &str, l2: &str, on: &str) -> Vec<f64> {
    let is_device = on.starts_with("device");
    let exec = ["exec", "--timing", "kernel", "--machine", "rules", "--gpu", gpu, OWN];
    let calibrate = ["calibrate", "cost", "--measure", tags, "--on", on, "--l2", l2];
    let model = ["--model", "p_group*f_thread_groups", "--machine", "rules", "--format", "json"];
    let trials = ["--trials", "1", "--warm-up", "1"];
    let output = std::process::Command::new(OWN)
        .args(if is_device { &exec[..] } else { &[] })
        .args([&calibrate[..], &model, &trials].concat())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let samples = document["cost"]["samples"].as_array().unwrap();
    samples.iter().map(|sample| sample["measured"].as_f64().unwrap()).collect()
}

/// A flush leaves the L2 full and the model begins with an empty one. Where the line that was not
/// used for longest gives way, a kernel cannot tell both apart.
#[test]
fn a_device_times_kernels_as_the_model_does_that_stands_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let check = |base: &str, tags: &str, l2: &str, number: usize| {
        let file = folder.path().join(format!("lru-{base}.toml"));
        let text = format!("name = \"lru\"\nbase = \"{base}\"\nl2_replacement = \"lru\"\n");
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let by_model = samples(&file, tags, l2, &format!("sm-simulation:{file}"));
        let by_device = samples(&file, tags, l2, "device:0");
        assert_eq!((by_model.len(), by_device.len()), (number, number), "{tags}");
        for (model, device) in by_model.iter().zip(&by_device) {
            // Events tell a time in single precision, as milliseconds since the first launch.
            assert!((device / model - 1.0).abs() < 1e-4, "{tags}: {by_model:?}, {by_device:?}");
        }
    };
    let arithmetic =
        "compute_throughput operation:madd dtype:float32 lsize_0:256 ngroups:96 m:512,1024";
    check("titan-v", arithmetic, "cold", 2);
    // Two matrices of 1 MiB fit the L2 of 4.5 MiB, those of 4 MiB do not.
    let transposes = "transpose dtype:float32 lsize:32 padded:False n:512,1024";
    check("titan-v", transposes, "cold", 4);
    // A trial finds what the one before it left, as the host's copies leave it in the model.
    check("h100-sxm", "transpose dtype:float32 lsize:32 n:512", "warm", 3);
    // The texture is bound to the buffer of its texels.
    check("titan-v", "texture_pattern chains:8 ngroups:1 m:128,256", "cold", 2);
}

/// Runs kernels on the device of `exec`, and returns the status, the output and the errors.
fn kernels_on_a_device(kernels: &str, options: &str) -> (i32, String, String) {
    let ran = gpucast(&format!(
        "exec --gpu titan-v {OWN} bench {kernels} --device 0 --trials 2 --warm-up 0 {options}"
    ));
    (ran.status, ran.stdout, ran.stderr)
}

#[test]
fn kernels_run_on_a_device_and_leave_what_their_launch_files_expect() {
    let kernels = "sgemm histogram --size small --arch sm_35";
    let (status, output, errors) = kernels_on_a_device(kernels, "--format json");
    assert_eq!(status, 0, "{errors}");
    let document: Value = serde_json::from_str(&output).unwrap();
    let kernels = document["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 2);
    for kernel in kernels {
        let results = kernel["results"].as_array().unwrap();
        assert!(!results.is_empty() && results.iter().all(|result| result["agrees"] == true));
        let times = kernel["times"].as_array().unwrap();
        let names: Vec<_> = times.iter().map(|time| time["protocol"].as_str().unwrap()).collect();
        assert_eq!(names, ["cold", "warm", "in_a_row"]);
        assert!(times.iter().all(|time| time["median_s"].as_f64().unwrap() > 0.0), "{kernel}");
    }
}

/// Structures, pointers in buffers and clusters reach the device as the executor has them.
#[test]
fn what_a_launch_file_passes_reaches_the_device() {
    for (file, gpu) in [("pointers.toml", "titan-v"), ("cluster.toml", "h100-sxm")] {
        let ran = gpucast(&format!(
            "exec --gpu {gpu} {OWN} bench device/{file} --device 0 --trials 1 --warm-up 0"
        ));
        assert_eq!(ran.status, 0, "{file}: {}", ran.stderr);
        assert!(ran.stdout.contains("right"), "{file}: {}", ran.stdout);
    }
}

#[test]
fn measured_kernels_are_what_compare_reads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("times.csv");
    let options = format!("--unchecked --format csv --compare titan-v -o {}", file.display());
    let (status, _, errors) = kernels_on_a_device("vector-add --size small", &options);
    assert_eq!(status, 0, "{errors}");
    let ran = gpucast(&format!("compare {} --format json", file.display()));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("vector-add"), "{}", ran.stdout);
}

#[test]
fn a_wrong_result_on_a_device_is_an_error() {
    let (status, output, errors) = kernels_on_a_device("wrong-expectation.toml", "");
    assert_eq!(status, 1, "{output}");
    assert!(output.contains("wrong") && errors.contains("differ"), "{output}{errors}");
}

#[test]
fn without_a_gpu_one_sentence_says_so() {
    // No machine has this many.
    let ran = gpucast("bench --device 4096");
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with("error: there is no GPU"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn wrong_options_are_told_before_anything_is_measured() {
    for (arguments, expected) in [
        ("bench", "<KERNEL>"),
        ("bench sgemm --unchecked --only sp_clock --device 0", "cannot be used with"),
        ("calibrate cost --measure empty_knl --on device:x --model p_x*f_thread_groups", "`x`"),
        ("bench --device 0 --only speed", "`speed` is not measured"),
    ] {
        let ran = gpucast(arguments);
        assert_eq!(ran.status, 2, "{arguments}");
        assert!(ran.stderr.contains(expected), "{arguments}: {}", ran.stderr);
    }
}

#[test]
fn clocks_are_read_around_each_figure_and_a_change_is_a_warning() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inputs/made-up.toml");
    let check = |step: u32, warnings: &[&str]| {
        let folder = management::library(step, Tells::AllButPower);
        let raw = folder.path().join("raw.json");
        let output = std::process::Command::new(OWN)
            .env("LD_LIBRARY_PATH", folder.path())
            .args(["exec", "--gpu", file, OWN, "bench", "--device", "0"])
            .args(["--only", "sp_clock,shared_latency", "--trials", "1", "--warm-up", "0", "--raw"])
            .arg(&raw)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        let found: Vec<&str> =
            errors.lines().filter(|line| line.starts_with("warning: the clock")).collect();
        assert_eq!(found, warnings, "{errors}");
        assert!(!errors.contains("clocks are not read"), "{errors}");
        let raw: Value = serde_json::from_str(&std::fs::read_to_string(&raw).unwrap()).unwrap();
        let fields: Vec<_> = raw["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|condition| &condition["field"])
            .collect();
        assert_eq!(fields, ["sp_clock", "shared_latency"]);
        for (place, state) in ["before", "after"].into_iter().enumerate() {
            let expected = serde_json::json!({
                "sm_clock_mhz": 1980.0 - (place as f64) * f64::from(step),
                "memory_clock_mhz": 2619.0,
                "throttle_reasons": ["software-power-cap"],
                "temperature_celsius": 51.0,
                "power_watts": null,
            });
            assert_eq!(raw["conditions"][0][state], expected);
        }
    };
    check(0, &[]);
    // Two steps from the second state to the fourth: 0.8 %, then 2 %.
    check(8, &[]);
    check(
        20,
        &[
            "warning: the clock of the SMs changed between 1920 and 1960 MHz during the measurement \
           (software-power-cap); `nvidia-smi -lgc` locks it",
        ],
    );
}
