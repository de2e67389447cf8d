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

use crate::common::{Shape, words};

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

/// Words before the counts of tiles, the first of which is the counter.
const TILES_FROM: usize = 8;

/// A persistent kernel in which the first thread asks for the block's next tile, and shared memory
/// tells the others. `work` is done with the tile in `%r1`, the block in `%r2`.
fn persistent(tiles: u32, work: &str) -> String {
    format!(
        ".shared .b32 next;
        mov.u32 %r2, %ctaid.x;
        setp.ne.u32 %q, %tid, 0;
        ask:
        @%q bra told;
        atom.global.add.u32 %r0, [%out], 1;
        st.shared.u32 [next], %r0;
        told:
        bar.sync 0;
        ld.shared.u32 %r1, [next];
        bar.sync 0;
        setp.ge.u32 %p, %r1, {tiles};
        @%p bra done;
        @%q bra ask;
        mad.wide.u32 %d0, %r2, 4, %out;
        @!%q red.global.add.u32 [%d0+32], 1;
        {work}
        bra ask;
        done: ret;"
    )
}

#[test]
fn blocks_that_take_tiles_by_an_atomic_share_them() {
    let (ctas, each) = (24, 5);
    let taken = words(&persistent(ctas * each, ""), &Shape::new(ctas, 64, 32));
    assert_eq!(taken[0], ctas * each + ctas, "each block is told once that none is left");
    assert_eq!(taken[TILES_FROM..][..ctas as usize], [each; 24]);
}

#[test]
fn warps_that_take_tiles_by_an_atomic_share_them() {
    // The first lane asks, and the others hear it from their warp.
    let body = "
        mov.u32 %r2, %ctaid.x; shr.u32 %r3, %tid, 5; mad.lo.u32 %r2, %r2, 2, %r3;
        mad.wide.u32 %d0, %r2, 4, %out;
        and.b32 %r4, %tid, 31;
        setp.ne.u32 %q, %r4, 0;
        ask:
        @!%q atom.global.inc.u32 %r0, [%out], 100000;
        shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;
        setp.ge.u32 %p, %r1, 72;
        @%p ret;
        @!%q red.global.add.u32 [%d0+32], 1;
        bra ask;";
    let taken = words(body, &Shape::new(12, 64, 32));
    assert_eq!(taken[TILES_FROM..], [3; 24]);
}

#[test]
fn a_block_with_a_heavy_tile_takes_few_others() {
    // The first tile takes as many clocks as hundreds of others.
    let heavy = "
        setp.ne.u32 %p, %r1, 0;
        @%p bra ask;
        mov.u32 %r5, 0;
        again:
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p, %r5, 4000;
        @%p bra again;";
    let (ctas, tiles) = (8, 50);
    let taken = words(&persistent(tiles, heavy), &Shape::new(ctas, 64, 16));
    // A block asks before it gives way, so it may have one tile more than its share.
    let (with_heavy, others) = (taken[TILES_FROM], &taken[TILES_FROM + 1..]);
    assert!(with_heavy <= 2 && others.iter().all(|&tiles| tiles >= 6), "{taken:?}");
    assert_eq!(with_heavy + others.iter().sum::<u32>(), tiles);
}

#[test]
fn blocks_wait_for_tiles_that_others_have_taken() {
    // As a fix-up of Stream-K: who has an even tile waits for the flag of the next one.
    let wait = "
        mad.wide.u32 %d1, %r1, 4, %out;
        and.b32 %r3, %r1, 1;
        setp.eq.u32 %p, %r3, 0;
        @%p bra wait;
        st.volatile.global.u32 [%d1+64], 1;
        bra ask;
        wait:
        ld.volatile.global.u32 %r4, [%d1+68];
        setp.eq.u32 %p, %r4, 0;
        @%p bra wait;";
    let mut shape = Shape::new(4, 64, 32);
    shape.options.instruction_budget = 1 << 24;
    let taken = words(&persistent(12, wait), &shape);
    assert_eq!(taken[TILES_FROM..][..4].iter().sum::<u32>(), 12);
    assert_eq!(taken[16..][..12], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
}
