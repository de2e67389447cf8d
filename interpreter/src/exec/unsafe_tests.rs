//! Small kernels that take every way through the engine's unsafe code, for tools that look for
//! undefined behaviour while they run (`interpreter/tools/sanitize`). Here only their results are
//! checked.

use super::*;
use crate::{Argument, NoObserver, Silent};

/// Words of the buffer that kernels work on.
const WORDS: usize = 256;

/// The buffer after `body` has run with `ctas` CTAs of 40 threads on two CPU threads, in parallel.
fn words(ctas: u32, body: &str) -> Vec<u32> {
    let text = format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n\
         .func (.reg .b32 r) twice(.reg .b32 a) {{ add.u32 r, a, a; ret; }}\n\
         .visible .entry k(.param .u64 out) {{\n\
         .reg .b32 %tid, %cta, %r<8>; .reg .b64 %out, %at, %d<8>; .reg .pred %p;\n\
         .shared .align 16 .b32 sh[64]; .local .align 16 .b32 lo[4];\n\
         ld.param.u64 %out, [out]; mov.u32 %tid, %tid.x; mov.u32 %cta, %ctaid.x;\n\
         mad.wide.u32 %at, %tid, 4, %out;\n{body}\nret; }}\n"
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, "k").unwrap();
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 4 * WORDS as u64).unwrap();
    let launch = Launch {
        grid: [ctas, 1, 1],
        block: [40, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(out)],
    };
    let options = Options { schedule: Schedule::Parallel, ..Options::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| run(&program, &launch, &mut memory, &mut NoObserver, &options, &Silent))
        .unwrap();
    let words = memory.bytes("out").unwrap().as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

#[test]
fn every_width_and_pattern_of_loads_and_stores() {
    let body = "st.global.u32 [%at], %tid; ld.global.u32 %r0, [%at]; st.global.u32 [%at+160], %r0;\n\
                ld.global.u32 %r1, [%out+8]; mul.wide.u32 %d0, %tid, 8; add.u64 %d1, %out, %d0;\n\
                cvt.u64.u32 %d2, %r1; st.global.u64 [%d1+320], %d2; ld.global.u64 %d3, [%d1+320];\n\
                @%p st.global.u32 [%out+1020], %r1; ld.global.v2.u32 {%r2, %r3}, [%d1+320];\n\
                st.global.v2.u32 [%d1+320], {%r2, %r1};\n\
                ld.global.u8 %r4, [%at]; st.global.u8 [%at+1], %r4; st.u16 [%at+2], %r4;\n\
                st.local.u32 [lo+4], %r4; ld.local.u32 %r5, [lo+4];\n\
                mov.u64 %d4, lo; cvta.local.u64 %d4, %d4; ld.u32 %r6, [%d4+4];";
    let words = words(1, body);
    assert_eq!(words[3], 3 | 3 << 8 | 3 << 16);
    assert_eq!(words[40..45], [0, 1, 2, 3, 4]);
    assert_eq!(words[80..84], [2, 2, 2, 2]);
}

#[test]
fn shared_memory_barriers_calls_and_copies() {
    let body = "and.b32 %r0, %tid, 31; shl.b32 %r0, %r0, 2; mov.u32 %r1, sh; add.u32 %r1, %r1, %r0;\n\
                st.shared.u32 [%r1], %tid; bar.sync 0; ld.shared.u32 %r2, [sh+12];\n\
                call (%r3), twice, (%r2); st.global.u32 [%at], %r3; bar.sync 0;\n\
                cp.async.ca.shared.global [sh+16], [%out], 16; cp.async.wait_all; bar.sync 0;\n\
                ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [sh+16];\n\
                add.u32 %r4, %r4, %r7; st.global.u32 [%at+256], %r4;";
    let words = words(1, body);
    assert_eq!(words[0], words[64] - words[0]);
    assert_eq!(words[1], words[0]);
}

#[test]
fn ctas_that_race_are_no_race_of_the_host() {
    // All CTAs write, read and update the same words, by different instructions.
    let body = "st.global.u32 [%at], %cta; ld.global.u32 %r0, [%at]; red.global.add.u32 [%at], 1;\n\
                ld.global.u32 %r1, [%out+512]; st.global.u32 [%out+512], %cta;\n\
                xor.b32 %r2, %tid, 5; mad.wide.u32 %d0, %r2, 4, %out;\n\
                st.global.u32 [%d0+640], %r0; ld.global.u32 %r3, [%d0+640];\n\
                cp.async.ca.shared.global [sh], [%out+640], 4; cp.async.wait_all;";
    let words = words(6, body);
    // At most the last CTA's number and one for each of the others.
    assert!(words[..40].iter().all(|&word| word <= 5 + 6));
    assert!(words[128] < 6);
}

#[test]
fn wide_atomics_beside_plain_accesses() {
    let body = ".reg .b128 %q<3>; mov.b64 %d0, 5; mov.b128 %q0, {%d0, %d0};\n\
                ld.global.b128 %q2, [%out+16]; atom.global.exch.b128 %q1, [%out+16], %q0;\n\
                st.global.b128 [%out+16], %q0;";
    let words = words(4, body);
    assert_eq!(words[4..8], [5, 0, 5, 0]);
}
