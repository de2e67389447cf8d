//! How long a kernel takes to be made ready to count: `cargo bench -p gpucast-interpreter slicing`.
//!
//! Each kernel is the largest of its module. The modules are outputs of compilers, nvcc's and
//! Triton's; the front end's bench says how long they take to be read.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use divan::{Bencher, black_box};
use gpucast_interpreter::{Buffers, Program, Slicer};
use gpucast_ptx_frontend::{Module, load};

fn main() {
    divan::main();
}

/// Texts by their place in the repository.
const TEXTS: [(&str, &str); 5] = [
    ("sgemm", include_str!("../../corpus/kernels/sgemm/sm_80.ptx")),
    ("triton-matmul", include_str!("../tests/kernels/triton/matmul_e4m3_sm_100.ptx")),
    ("mixbench", include_str!("../../corpus/kernels/mixbench/sm_80.ptx")),
    ("coulomb-sum-3d", include_str!("../../corpus/spaces/coulomb-sum-3d/sm_75.ptx")),
    ("shmem-swap", include_str!("../../corpus/kernels/shmem-swap/sm_80.ptx")),
];

const NAMES: [&str; 5] = [TEXTS[0].0, TEXTS[1].0, TEXTS[2].0, TEXTS[3].0, TEXTS[4].0];

/// A module and its largest kernel.
struct Kernel {
    text: &'static str,
    module: Module,
    program: Program,
}

impl Kernel {
    fn of(name: &str) -> Self {
        let text = TEXTS.iter().find(|text| text.0 == name).unwrap().1;
        let module = load(text).unwrap();
        let programs = Program::kernels(&module);
        let programs = programs.map(|kernel| Program::new(&module, text, kernel).unwrap());
        let program = programs.max_by_key(|program| program.instructions().len()).unwrap();
        Self { text, module, program }
    }
}

/// The whole kernel as a program.
#[divan::bench(args = NAMES)]
fn lowering(bencher: Bencher<'_, '_>, name: &str) {
    let Kernel { text, module, program } = Kernel::of(name);
    bencher.bench_local(|| Program::new(black_box(&module), text, program.kernel()).unwrap());
}

/// What its counts depend on, where each pointer leads to a buffer of its own.
#[divan::bench(args = NAMES)]
fn slicing(bencher: Bencher<'_, '_>, name: &str) {
    let Kernel { module, program, .. } = Kernel::of(name);
    bencher.bench_local(|| {
        let slicer = Slicer::new(black_box(&module), &program);
        slicer.slice(&slicer.distinct(), &Buffers::default())
    });
}

/// The slice as a program, and the same for CTAs that stand for others.
#[divan::bench(args = NAMES)]
fn slice_lowering(bencher: Bencher<'_, '_>, name: &str) {
    let Kernel { text, module, program } = Kernel::of(name);
    let slicer = Slicer::new(&module, &program);
    let slice = slicer.slice(&slicer.distinct(), &Buffers::default());
    bencher.bench_local(|| {
        let part = program.sliced(black_box(&module), text, &slice).unwrap();
        let followed = program.sliced(&module, text, &slice).unwrap().followed();
        (part, followed)
    });
}
