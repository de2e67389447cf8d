//! `tcgen05`: transfers, copies and products of tensor memory, against integers and the layouts
//! that the manual's figures and CUTLASS's CuTe layouts show. All values are small integers, or
//! multiples of a power of two, so that every sum is exact.
//!
//! Each kernel fills shared and tensor memory with given images, does one thing, and hands the
//! whole tensor memory back: what must not change is compared as well.

mod allocation;
mod compress;
mod counting;
mod narrow;
mod pair;
mod product;
mod shift;
mod sparse;
mod tables;
mod transfer;

use std::fmt::Write as _;

use gpucast_interpreter::{NoObserver, RunError};

use crate::machine::{Random, to_bytes, try_launch_cluster, words};

/// Bytes of shared memory that are filled.
const SHARED: usize = 56 << 10;
const LANES: usize = 128;
const COLUMNS: usize = 512;
/// Columns that a transfer of the image moves at once.
const STEP: usize = 32;

/// A kernel of four warps that executes `body` between filling both memories from `in` and handing
/// tensor memory back in `out`, followed by `%r`egisters that `body` stores at `%rest`. In `body`,
/// `%t` is the address of tensor memory, `%mine` that of the warp's quarter, and `%p` is true in
/// thread 0.
fn kernel(registers: &str, body: &str) -> String {
    kernel_of(1, registers, body)
}

/// As [`kernel`], for one CTA or a pair, of which `%p` is true in the first. Each CTA has images
/// of its own.
fn kernel_of(ctas: usize, registers: &str, body: &str) -> String {
    let together = match ctas {
        1 => "bar.sync 0;",
        _ => "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;",
    };
    let list = |name: &str| {
        let names: Vec<_> = (0..STEP).map(|at| format!("%{name}{at}")).collect();
        names.join(", ")
    };
    let image = list("i");
    let (mut fill, mut empty) = (String::new(), String::new());
    for first in (0..COLUMNS).step_by(STEP) {
        for at in 0..STEP {
            let offset = 4 * (first + at);
            writeln!(fill, "ld.global.b32 %i{at}, [%row + {offset}];").unwrap();
            writeln!(empty, "st.global.b32 [%outrow + {offset}], %i{at};").unwrap();
        }
        let transfer =
            format!("tcgen05.st.sync.aligned.32x32b.x32.b32 [%mine + {first}], {{{image}}};\n");
        fill += &transfer;
        let load =
            format!("tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{image}}}, [%mine + {first}];\n");
        let stores = empty.split_off(
            empty.len() - empty.lines().rev().take(STEP).map(|l| l.len() + 1).sum::<usize>(),
        );
        empty += &(load + "tcgen05.wait::ld.sync.aligned;\n" + &stores);
    }
    format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .u64 from, .param .u64 to) {{\n\
         .shared .align 1024 .b8 memory[{SHARED}]; .shared .align 8 .b64 barrier; .shared .b32 where;\n\
         .reg .b32 %i<{STEP}>, %rank, %t, %mine, %thread, %warp, %at, %word, %done; .reg .pred %p, %first, %more, %ok, %init;\n\
         .reg .b64 %in, %out, %row, %outrow, %rest, %wide, %place; .reg .u64 %base;\n{registers}\n\
         ld.param.u64 %in, [from]; ld.param.u64 %out, [to];\n\
         mov.u32 %thread, %tid.x; shr.u32 %warp, %thread, 5; setp.eq.u32 %init, %thread, 0; setp.eq.u32 %first, %warp, 0;\n\
         @%init mbarrier.init.shared.b64 [barrier], 1;\n\
         mov.u32 %rank, %cluster_ctarank; setp.eq.and.u32 %p, %rank, 0, %init;\n\
         mul.wide.u32 %wide, %rank, {image_and_shared}; add.u64 %in, %in, %wide;\n\
         mul.wide.u32 %wide, %rank, {image_bytes}; add.u64 %out, %out, %wide;\n\
         shl.b32 %at, %thread, 2;\n\
         copy:\n\
         cvt.u64.u32 %wide, %at; add.u64 %row, %in, %wide; ld.global.b32 %word, [%row];\n\
         mov.u64 %place, memory; add.u64 %place, %place, %wide; st.shared.b32 [%place], %word;\n\
         add.u32 %at, %at, 512; setp.lt.u32 %more, %at, {SHARED}; @%more bra copy;\n\
         @%first tcgen05.alloc.cta_group::{ctas}.sync.aligned.shared::cta.b32 [where], 512;\n\
         bar.sync 0;\n\
         ld.shared.b32 %t, [where]; shl.b32 %mine, %warp, 21; add.u32 %mine, %mine, %t;\n\
         mul.wide.u32 %wide, %thread, {row}; add.u64 %row, %in, %wide; add.u64 %row, %row, {SHARED};\n\
         add.u64 %outrow, %out, %wide; add.u64 %rest, %out, {image_bytes};\n\
         {fill}tcgen05.wait::st.sync.aligned;\n{together}\ntcgen05.fence::after_thread_sync;\n\
         {body}\n\
         tcgen05.fence::before_thread_sync;\n{together}\n{empty}\
         bar.sync 0;\n@%first tcgen05.dealloc.cta_group::{ctas}.sync.aligned.b32 %t, 512;\n\
         @%first tcgen05.relinquish_alloc_permit.cta_group::{ctas}.sync.aligned;\nret; }}\n",
        row = 4 * COLUMNS,
        image_bytes = 4 * LANES * COLUMNS,
        image_and_shared = 4 * LANES * COLUMNS + SHARED,
    )
}

/// A kernel for the targets of PTX ISA 9.4, which have more kinds of products.
fn of_newest_target(text: &str) -> String {
    let text = text.replace(".version 8.8\n.target sm_100a", ".version 9.4\n.target sm_107f");
    assert!(text.contains("sm_107f"));
    text
}

/// Commits what thread 0 has issued, and waits for it.
const COMMIT: &str = "@%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [barrier];\n\
     wait:\nmbarrier.try_wait.parity.shared.b64 %ok, [barrier], 0;\n@!%ok bra wait;\n";

/// Contents of both memories.
struct Images {
    shared: Vec<u8>,
    /// Lane by lane.
    tensor: Vec<u32>,
}

impl Images {
    fn random(random: &mut Random) -> Self {
        let shared = (0..SHARED).map(|_| random.next() as u8).collect();
        Self { shared, tensor: (0..LANES * COLUMNS).map(|_| random.next() as u32).collect() }
    }

    /// The kernel's input.
    fn bytes(&self) -> Vec<u8> {
        [self.shared.clone(), to_bytes(&self.tensor)].concat()
    }

    fn cell(&mut self, lane: usize, column: usize) -> &mut u32 {
        &mut self.tensor[lane * COLUMNS + column]
    }

    /// Tensor memory and further words after the kernel.
    fn run(&self, text: &str, further: usize) -> Result<(Vec<u32>, Vec<u32>), RunError> {
        let bytes = 4 * (LANES * COLUMNS + further);
        let launch = [128, 1];
        let output = try_launch_cluster(text, launch, &self.bytes(), bytes, &mut NoObserver)?;
        let output = words(&output);
        Ok((output[..LANES * COLUMNS].to_vec(), output[LANES * COLUMNS..].to_vec()))
    }
}

fn assert_same(name: &str, found: &[u32], expected: &[u32]) {
    let wrong = found.iter().zip(expected).position(|(a, b)| a != b);
    if let Some(at) = wrong {
        let (lane, column) = (at / COLUMNS, at % COLUMNS);
        let (found, expected) = (found[at], expected[at]);
        panic!("{name}: lane {lane}, column {column} is {found:#x}, not {expected:#x}");
    }
}

/// The descriptor of `wgmma` as one of `tcgen05`: the swizzle has three bits, and bit 46 is set.
fn descriptor(of_wgmma: u64) -> u64 {
    let swizzle = [0, 2, 4, 6][(of_wgmma >> 62) as usize];
    of_wgmma & !(3 << 62) | 1 << 46 | swizzle << 61
}

fn encode(d: u32, value: i64) -> u32 {
    match d {
        0 => half::f16::from_f64(value as f64).to_bits().into(),
        1 => (value as f32).to_bits(),
        _ => value as u32,
    }
}
