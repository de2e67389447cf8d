//! Bytes of PTX per second, from text to tree and to module: `cargo bench -p gpucast-ptx-frontend`.
//!
//! The texts are outputs of compilers: nvcc's for a kernel and for modules of 27 and 42 kernels,
//! and Triton's.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use gpucast_ptx_frontend::{ControlFlowGraph, load, parse};

fn main() {
    divan::main();
}

/// Texts by their place in the repository.
const TEXTS: [(&str, &str); 4] = [
    ("sgemm", include_str!("../../corpus/kernels/sgemm/sm_80.ptx")),
    (
        "triton-matmul",
        include_str!("../../interpreter/tests/kernels/triton/matmul_e4m3_sm_100.ptx"),
    ),
    ("mixbench", include_str!("../../corpus/kernels/mixbench/sm_80.ptx")),
    ("coulomb-sum-3d", include_str!("../../corpus/spaces/coulomb-sum-3d/sm_75.ptx")),
];

const NAMES: [&str; 4] = [TEXTS[0].0, TEXTS[1].0, TEXTS[2].0, TEXTS[3].0];

fn text(name: &str) -> &'static str {
    TEXTS.iter().find(|text| text.0 == name).unwrap().1
}

/// To a tree.
#[divan::bench(args = NAMES)]
fn tree(bencher: Bencher<'_, '_>, name: &str) {
    let text = text(name);
    bencher.counter(BytesCount::of_str(text)).bench_local(|| {
        let (file, diagnostics) = parse(black_box(text));
        assert!(diagnostics.is_empty());
        black_box(file);
    });
}

/// To a module that is resolved and checked.
#[divan::bench(args = NAMES)]
fn module(bencher: Bencher<'_, '_>, name: &str) {
    let text = text(name);
    bencher.counter(BytesCount::of_str(text)).bench_local(|| load(black_box(text)).unwrap());
}

/// The control-flow graphs of all functions of a module.
#[divan::bench(args = NAMES)]
fn graphs(bencher: Bencher<'_, '_>, name: &str) {
    let text = text(name);
    let module = load(text).unwrap();
    bencher.counter(BytesCount::of_str(text)).bench_local(|| {
        for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
            black_box(ControlFlowGraph::new(black_box(body)).unwrap());
        }
    });
}
