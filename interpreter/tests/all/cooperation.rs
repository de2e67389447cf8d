//! Blocks that wait for each other (`kernels/cooperation.cu`): all of them make progress, as on a
//! GPU that holds them all at once.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, NoObserver, Options, Program, Silent, run,
};
use gpucast_ptx_frontend::ScalarType;

/// The words of the buffer after a launch of `ctas` blocks.
fn launch(kernel: &str, ctas: u32, threads: u32, words: usize, scalar: u32) -> Vec<u32> {
    let text = include_str!("../kernels/cooperation.ptx");
    let module = gpucast_ptx_frontend::load(text).unwrap_or_else(|all| panic!("{}", all[0]));
    let program = Program::new(&module, text, kernel).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let address = memory.allocate("words", words as u64 * 4).unwrap();
    let launch = Launch {
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![
            Argument::Address(address),
            Argument::Scalar { ty: ScalarType::U32, bits: scalar.into() },
        ],
    };
    let options = Options { instruction_budget: 1 << 27, ..Options::default() };
    run(&program, &launch, &mut memory, &mut NoObserver, &options, &Silent)
        .unwrap_or_else(|error| panic!("{error}"));
    let words = memory.bytes("words").unwrap().chunks_exact(4);
    words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn the_grid_meets_at_its_barrier() {
    let (ctas, threads) = (12, 96);
    let count = ctas * threads;
    let expected: Vec<u32> = (0..count).map(|at| (at + 1000) % count).collect();
    assert_eq!(launch("rotate", ctas, threads, count as usize, 1000), expected);
}

#[test]
fn chains_end_in_either_direction() {
    let ctas = 60;
    let forward: Vec<u32> = (1..=ctas).collect();
    assert_eq!(launch("chain", ctas, 32, ctas as usize, 1), forward);
    let backward: Vec<u32> = (1..=ctas).rev().collect();
    assert_eq!(launch("chain", ctas, 32, ctas as usize, 0), backward);
}
