//! Every kernel of the corpus at full size, or at a part of a very large one: `gpucast run`
//! compares its results with a reference.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::num::NonZero;
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

/// Run the program; it must succeed.
fn gpucast(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_gpucast")).args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gpucast {arguments:?} failed:\n{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// More than 25 billion thread instructions each: a minute on one core.
const SLOW: [&str; 2] = ["matmul-prefetch", "matmul-direct"];

/// A part of the size of kernels whose full sizes are many times that work.
const PARTS: [(&str, &str); 4] = [
    ("product-", "m=1024 n=1024 k=1024"),
    ("attention-decode", "batch=2"),
    ("attention-", "batch=1 sequence=1024 heads=2"),
    ("silu-and-multiply", "rows=512"),
];

/// `run` fails, and with it `gpucast`, if an expectation does not hold.
fn check_reference(kernel: &str) {
    let part = PARTS.iter().find(|(prefix, _)| kernel.starts_with(prefix));
    let part = part.into_iter().flat_map(|(_, part)| part.split(' '));
    let params: Vec<&str> = part.flat_map(|value| ["--param", value]).collect();
    let report = gpucast(&[&["run", kernel], params.as_slice()].concat());
    assert!(report.contains("agree with the reference"), "{kernel} checks nothing:\n{report}");
}

#[test]
fn every_corpus_kernel_computes_what_its_reference_says_at_full_size() {
    let list: Value =
        serde_json::from_str(&gpucast(&["corpus", "list", "--format", "json"])).unwrap();
    let entries = list["kernels"].as_array().unwrap();
    assert!(entries.len() >= 134, "the corpus has shrunk to {} entries", entries.len());
    // In the gate every sixth one.
    let step = if std::env::var_os("GPUCAST_NIGHTLY").is_some() { 1 } else { 6 };
    let names = entries.iter().step_by(step).map(|entry| entry["name"].as_str().unwrap());
    let names = Mutex::new(names.filter(|name| !SLOW.contains(name)));
    // References are computed by one thread, so that several kernels fill the cores.
    let next = || names.lock().unwrap().next();
    let worker = || std::iter::from_fn(next).for_each(check_reference);
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(worker);
        }
    });
}

#[test]
#[ignore = "takes minutes"]
fn the_slow_corpus_kernels_compute_what_their_reference_says_at_full_size() {
    SLOW.into_iter().for_each(check_reference);
}
