//! `gpucast bench --device`: a GPU is measured. In the closed loop it is a simulated one.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::gpucast::gpucast;

/// The program itself, as what `exec` runs.
const OWN: &str = env!("CARGO_BIN_EXE_gpucast");

#[test]
fn the_closed_loop_recovers_what_a_gpu_file_says() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inputs/made-up.toml");
    // The figures of the file. Half of the far latency of its base, the H100, adds to the L2.
    let given = [
        ("launch_overhead", 3.4),
        ("shared_latency", 27.0),
        ("l1_latency", 45.0),
        ("l2_latency", 270.0 + 106.0),
        ("special_rate", 32.0),
        ("shared_bytes_rate", 128.0),
        ("barrier_latency", 41.0),
    ];
    let fields = given.map(|(field, _)| field).join(",");
    let ran = gpucast(&format!(
        "exec --gpu {file} {OWN} bench --compare {file} --only {fields} --trials 1 --warm-up 1 \
         --format csv"
    ));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let rows: Vec<Vec<&str>> =
        ran.stdout.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), given.len(), "{}", ran.stdout);
    for (row, (field, given)) in rows.iter().zip(given) {
        assert_eq!(row[0], field);
        let measured: f64 = row[3].parse().unwrap();
        assert!((measured / given - 1.0).abs() < 0.03, "{field}: {measured} for {given}");
    }
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
        ("bench sgemm --device 0", "cannot be used with"),
        ("bench --device 0 --format json", "--compare"),
        ("bench --device 0 --only speed", "`speed` is not measured"),
    ] {
        let ran = gpucast(arguments);
        assert_eq!(ran.status, 2, "{arguments}");
        assert!(ran.stderr.contains(expected), "{arguments}: {}", ran.stderr);
    }
}
