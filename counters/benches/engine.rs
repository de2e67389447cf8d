//! Thread-instructions per second of five kernels on one thread and on two, with and without an
//! observer: `cargo bench -p gpucast-counters --bench engine`.
//!
//! `alone` has no observer; `counted` has one without caches, `cached` one with them. The last
//! bench is the peak that `fma` is to be held against: the same operations in a compiled loop.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]
#![allow(unsafe_code, reason = "the peak is measured with instructions that the CPU is asked for")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use gpucast_counters::{Counter, DeviceModel};
use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, NoObserver, Observer, Options, Program, Silent, Summary, run,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

fn main() {
    divan::main();
}

/// A launch of a kernel of the corpus, or of the loop below.
struct Kernel {
    text: String,
    name: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    /// Bytes of each buffer, in the order of the parameters.
    buffers: &'static [(usize, u64)],
    scalars: &'static [(usize, u32)],
}

/// The parts of a launch that stay from run to run.
struct Prepared {
    program: Program,
    launch: Launch,
    memory: DeviceMemory,
}

const KERNELS: [&str; 5] = ["fma", "sgemm", "stencil", "reduction", "saxpy"];

/// 32 multiply-adds in 8 chains, again and again.
fn fma_loop() -> String {
    let chains: String =
        (0..32).map(|at| format!("    fma.rn.f32 %x{0}, %x{0}, %a, %b;\n", at % 8)).collect();
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n    \
         .reg .b32 %i;\n    .reg .f32 %x<8>, %a, %b;\n    .reg .pred %p;\n    \
         mov.f32 %a, 0f3F000000;\n    mov.f32 %b, 0f3F800000;\n    mov.u32 %i, 0;\nLOOP:\n\
         {chains}    add.u32 %i, %i, 1;\n    setp.lt.u32 %p, %i, 100;\n    @%p bra LOOP;\n    \
         ret;\n}}\n"
    )
}

impl Kernel {
    fn of(name: &str) -> Self {
        let (text, name): (String, _) = match name {
            "fma" => (fma_loop(), "k"),
            "sgemm" => {
                (include_str!("../../corpus/kernels/sgemm-16/sm_80.ptx").to_owned(), "sgemm_16")
            }
            "stencil" => (
                include_str!("../../corpus/kernels/stencil-7pt/sm_80.ptx").to_owned(),
                "stencil_7pt",
            ),
            "reduction" => (
                include_str!("../../corpus/kernels/reduction-steps/sm_80.ptx").to_owned(),
                "sum_sequential",
            ),
            _ => (include_str!("../../tests/inputs/saxpy.ptx").to_owned(), "saxpy"),
        };
        let kernel =
            |grid, block, buffers, scalars| Self { text, name, grid, block, buffers, scalars };
        match name {
            "k" => kernel([128, 1, 1], [256, 1, 1], &[], &[]),
            "sgemm_16" => {
                const BYTES: u64 = 4 * 256 * 256;
                kernel([16, 16, 1], [16, 16, 1], &[(0, BYTES), (1, BYTES), (2, BYTES)], &[(3, 256)])
            }
            "stencil_7pt" => {
                const BYTES: u64 = 8 * 68 * 66 * 66;
                kernel([2, 16, 1], [32, 4, 1], &[(0, BYTES), (1, BYTES)], &[(2, 64)])
            }
            "sum_sequential" => {
                kernel([1024, 1, 1], [256, 1, 1], &[(0, 4 << 18), (1, 4 << 10)], &[])
            }
            _ => {
                let buffers = &[(2, 4 << 19), (3, 4 << 19)];
                kernel([2048, 1, 1], [256, 1, 1], buffers, &[(0, 1 << 19), (1, 0x4000_0000)])
            }
        }
    }

    fn prepare(&self) -> Prepared {
        let module = gpucast_ptx_frontend::load(&self.text).unwrap();
        let program = Program::new(&module, &self.text, self.name).unwrap();
        let mut memory = DeviceMemory::new();
        let mut arguments = vec![Argument::Address(0); program.parameters().len()];
        for &(at, bytes) in self.buffers {
            let name = &program.parameters()[at].name;
            arguments[at] = Argument::Address(memory.allocate(name, bytes).unwrap());
        }
        for &(at, value) in self.scalars {
            arguments[at] = Argument::Bytes(value.to_le_bytes().to_vec());
        }
        let (grid, block) = (self.grid, self.block);
        let launch = Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments };
        Prepared { program, launch, memory }
    }
}

impl Prepared {
    fn run<O: Observer>(&mut self, observer: &mut O) -> Summary {
        let Self { program, launch, memory } = self;
        run(program, launch, memory, observer, &Options::default(), &Silent).unwrap()
    }

    fn counter(&self) -> Counter {
        let device = DeviceModel::GTX_480;
        let bytes = self.program.static_shared_bytes();
        Counter::new(&self.program, &self.launch, bytes, device)
    }
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn bench(
    bencher: Bencher<'_, '_>,
    kernel: &str,
    threads: usize,
    run: impl Fn(&mut Prepared) -> Summary + Sync,
) {
    let mut prepared = Kernel::of(kernel).prepare();
    let pool = pool(threads);
    let mut once = || pool.install(|| run(&mut prepared));
    let lanes = once().issued_lanes;
    bencher.counter(ItemsCount::new(lanes as u64)).bench_local(once);
}

#[divan::bench(args = KERNELS, consts = [1, 2], max_time = 1)]
fn alone<const THREADS: usize>(bencher: Bencher<'_, '_>, kernel: &str) {
    bench(bencher, kernel, THREADS, |prepared| prepared.run(&mut NoObserver));
}

#[divan::bench(args = KERNELS, consts = [1, 2], max_time = 1)]
fn counted<const THREADS: usize>(bencher: Bencher<'_, '_>, kernel: &str) {
    bench(bencher, kernel, THREADS, |prepared| {
        let mut counter = prepared.counter().without_caches();
        let summary = prepared.run(&mut counter);
        black_box(counter.finish());
        summary
    });
}

#[divan::bench(args = KERNELS, consts = [1, 2], max_time = 1)]
fn cached<const THREADS: usize>(bencher: Bencher<'_, '_>, kernel: &str) {
    bench(bencher, kernel, THREADS, |prepared| {
        let mut counter = prepared.counter();
        let summary = prepared.run(&mut counter);
        black_box(counter.finish());
        summary
    });
}

/// The multiply-adds that vectors of the CPU do in a second: twelve chains of `f32` each, enough
/// to hide the latency of two units. Items are lanes.
#[cfg(target_arch = "x86_64")]
#[divan::bench(max_time = 1)]
fn vector_peak(bencher: Bencher<'_, '_>) {
    const CHAINS: usize = 12;
    const ROUNDS: u32 = 10_000;
    #[target_feature(enable = "avx512f")]
    fn widest() -> [std::arch::x86_64::__m512; CHAINS] {
        use std::arch::x86_64::{_mm512_fmadd_ps, _mm512_set1_ps};
        let (a, b) = (_mm512_set1_ps(black_box(0.5)), _mm512_set1_ps(black_box(1.0)));
        let mut chains = [b; CHAINS];
        for _ in 0..ROUNDS {
            for chain in &mut chains {
                *chain = _mm512_fmadd_ps(*chain, a, b);
            }
        }
        chains
    }
    #[target_feature(enable = "avx,fma")]
    fn wide() -> [std::arch::x86_64::__m256; CHAINS] {
        use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps};
        let (a, b) = (_mm256_set1_ps(black_box(0.5)), _mm256_set1_ps(black_box(1.0)));
        let mut chains = [b; CHAINS];
        for _ in 0..ROUNDS {
            for chain in &mut chains {
                *chain = _mm256_fmadd_ps(*chain, a, b);
            }
        }
        chains
    }
    let items = |lanes: usize| ItemsCount::new(lanes * CHAINS * ROUNDS as usize);
    if std::is_x86_feature_detected!("avx512f") {
        // SAFETY: the CPU has the instructions.
        bencher.counter(items(16)).bench_local(|| black_box(unsafe { widest() }));
    } else if std::is_x86_feature_detected!("avx") && std::is_x86_feature_detected!("fma") {
        // SAFETY: the CPU has the instructions.
        bencher.counter(items(8)).bench_local(|| black_box(unsafe { wide() }));
    }
}
