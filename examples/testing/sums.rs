//! Tests of `sums.cu` on a computer without a GPU: `cargo test --test kernel-tests`.

use gpucast_test::{Argument, Buffers, KernelTest, MachineChoice, kernel_test};

const THREADS: usize = 256;

/// The sum of each block's numbers, on the CPU.
fn block_sums(buffers: &mut Buffers) {
    let x = buffers.get::<f32>("arg0");
    let sums: Vec<f32> = x.chunks(THREADS).map(|block| block.iter().sum()).collect();
    buffers.set("arg1", &sums);
}

#[kernel_test(
    "examples/testing/sums.ptx",
    grid = 63,
    block = 256,
    argument = Argument::f32_buffer(16_000).uniform(-1.0, 1.0, 7),
    argument = Argument::f32_buffer(63),
    argument = 16_000_i32,
    checks = "memory, race, init, sync",
    gpu = "h100-sxm, rtx-4090",
    machine = MachineChoice::Rules,
    limit = "global_load_sectors_per_request <= 4.1",
    limit = "shared_conflict_degree <= 1.05",
    limit = "time <= 10us"
)]
fn sums_are_right_and_loads_are_coalesced(buffers: &mut Buffers) {
    block_sums(buffers);
}

/// Without the attribute a test can be made in a loop.
#[test]
fn sums_are_right_at_odd_sizes() {
    for n in [1_usize, 255, 256, 257, 1000] {
        let blocks = n.div_ceil(THREADS);
        KernelTest::new("examples/testing/sums.ptx")
            .grid(blocks as u32)
            .block(THREADS as u32)
            .argument(Argument::f32_buffer(n).uniform(-1.0, 1.0, 7))
            .argument(Argument::f32_buffer(blocks))
            .argument(n as i32)
            .expect(block_sums)
            .run();
    }
}
