//! How long the rules take for a kernel: `cargo bench -p gpucast-machine`.
//!
//! Each kernel is the largest of its module. It has not been executed, so the rules see a table
//! without executions; all passes run as they do for one with them.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use divan::{Bencher, black_box};
use gpucast_counters::ComputeCapability;
use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::{Counter, DeviceModel};
use gpucast_interpreter::{Launch, Program};
use gpucast_machine::rules;
use gpucast_ptx_frontend::load;

fn main() {
    divan::main();
}

/// Texts by their place in the repository.
const TEXTS: [(&str, &str); 4] = [
    ("sgemm", include_str!("../../corpus/kernels/sgemm/sm_80.ptx")),
    ("triton-matmul", include_str!("../../interpreter/tests/kernels/triton/matmul_sm_80.ptx")),
    ("mixbench", include_str!("../../corpus/kernels/mixbench/sm_80.ptx")),
    ("shmem-swap", include_str!("../../corpus/kernels/shmem-swap/sm_80.ptx")),
];

const NAMES: [&str; 4] = [TEXTS[0].0, TEXTS[1].0, TEXTS[2].0, TEXTS[3].0];

/// Machine instructions of an A100.
#[divan::bench(args = NAMES)]
fn machine_instructions(bencher: Bencher<'_, '_>, name: &str) {
    let text = TEXTS.iter().find(|text| text.0 == name).unwrap().1;
    let module = load(text).unwrap();
    let programs = Program::kernels(&module);
    let programs = programs.map(|kernel| Program::new(&module, text, kernel).unwrap());
    let program = programs.max_by_key(|program| program.instructions().len()).unwrap();
    let launch = Launch {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: Vec::new(),
    };
    let counter = Counter::new(&program, &launch, 0, DeviceModel::GTX_480);
    let table = counter.finish().0.table;
    let target = Architecture::of_capability(ComputeCapability::new(8, 0)).unwrap();
    bencher.bench_local(|| rules::translate(target, black_box(&program), &table));
}
