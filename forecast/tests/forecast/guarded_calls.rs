//! Lanes that skip a guarded call go on together with those that made it.
//!
//! Compilers branch around a call, and the branch reconverges behind it. A guard on the call itself
//! must therefore count the same requests, on every rung.

use gpucast_forecast::settings::{CacheChoice, RungChoice};
use gpucast_forecast::{Kernel, LaunchOptions};

use crate::common::launch_file;
use crate::rungs::counted_on;

const WARPS: u64 = 64 * 4;

/// What a warp counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OfWarp {
    instructions: u64,
    requests: u64,
    sectors: u64,
}

/// A kernel whose even lanes make `call`, between seven instructions and four others. `%p0` is true
/// in even lanes, `%r4` is the index of the thread in the grid, `%d0` is the buffer.
fn kernel(functions: &str, call: &str) -> Kernel {
    let ptx = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{functions}\n\
         .visible .entry k(.param .u64 from) {{\n\
         .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .pred %p<4>;\n\
         ld.param.u64 %d0, [from]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n\
         mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n\
         and.b32 %r5, %r3, 1; setp.eq.u32 %p0, %r5, 0;\n{call}\n\
         mul.wide.u32 %d1, %r4, 4; add.u64 %d2, %d0, %d1; ld.global.b32 %r7, [%d2];\nret; }}\n"
    );
    let launch = "[buffers.from]\ntype = \"u32\"\nlen = 8192\n[[launch]]\nkernel = \"k\"\n\
                  grid = [64, 1, 1]\nblock = [128, 1, 1]\nargs = [\"from\"]\n";
    launch_file(&ptx, launch, &LaunchOptions::default()).unwrap()
}

/// Insists that a warp counts this on every rung.
fn insist(kernel: &Kernel, expected: OfWarp) {
    for rung in [RungChoice::Full, RungChoice::Slice, RungChoice::Classes] {
        let counted = &counted_on("a100-sxm-40gb", kernel, rung, CacheChoice::Full).unwrap()[0];
        let count = |name: &str| {
            let value = counted.profile.metrics[name].value.as_f64() as u64;
            assert_eq!(value % WARPS, 0, "{name} of whole warps");
            value / WARPS
        };
        let found = OfWarp {
            instructions: count("ptx_inst_executed"),
            requests: count("global_load_requests"),
            sectors: count("global_load_sectors"),
        };
        assert_eq!(found, expected, "{rung:?}");
    }
}

/// Insists on what a warp counts; `more` instructions are those of branches around the calls.
fn alike(functions: &str, call: &str, expected: OfWarp, more: u64) {
    insist(&kernel(functions, call), expected);
    let mut label = 0;
    let mut around = |text: &str| {
        let mut parts = text.split("@%p0 call");
        let mut written = parts.next().unwrap().to_owned();
        for part in parts {
            let (call, behind) = part.split_once(';').unwrap();
            label += 1;
            written += &format!("@!%p0 bra L{label}; call{call}; L{label}: {behind}");
        }
        written
    };
    let (functions, call) = (around(functions), around(call));
    let expected = OfWarp { instructions: expected.instructions + more, ..expected };
    insist(&kernel(&functions, &call), expected);
}

const TWICE: &str = ".func (.reg .b32 r) twice(.reg .b32 a) { shl.b32 r, a, 1; ret; }";

#[test]
fn a_function_with_fixed_places() {
    // 7 instructions, a copy, the call, 2 of the function, 4 behind it.
    let expected = OfWarp { instructions: 7 + 1 + 1 + 2 + 4, requests: 1, sectors: 4 };
    alike(TWICE, "mov.u32 %r6, %r4; @%p0 call (%r6), twice, (%r4);", expected, 1);
}

#[test]
fn a_function_whose_parameters_are_variables() {
    let function = ".func (.param .b32 r) twice(.param .b32 a) {
        .reg .b32 %x; ld.param.b32 %x, [a]; shl.b32 %x, %x, 1; st.param.b32 [r], %x; ret; }";
    let call = "mov.u32 %r6, %r4; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r4;
        @%p0 call (b), twice, (a);
        @%p0 ld.param.b32 %r6, [b]; }";
    // A copy, the argument, the call, the result; 4 of the function.
    let expected = OfWarp { instructions: 7 + 4 + 4 + 4, requests: 1, sectors: 4 };
    alike(function, call, expected, 1);
}

#[test]
fn a_call_within_a_call() {
    let functions = format!(
        "{TWICE}
        .func (.reg .b32 r) outer(.reg .b64 from, .reg .b32 a, .reg .b32 tid) {{
        .reg .b32 %x, %y; .reg .b64 %d<3>; .reg .pred %p0;
        and.b32 %x, tid, 2; setp.eq.u32 %p0, %x, 0; mov.u32 r, a;
        @%p0 call (r), twice, (a);
        mul.wide.u32 %d1, a, 4; add.u64 %d2, from, %d1; ld.global.b32 %y, [%d2]; ret; }}"
    );
    let call = "mov.u32 %r6, %r4; @%p0 call (%r6), outer, (%d0, %r4, %r3);";
    // 8 of the outer function and 2 of the inner one. Even lanes load from all 4 sectors there.
    let expected = OfWarp { instructions: 7 + 2 + 8 + 2 + 4, requests: 2, sectors: 8 };
    alike(&functions, call, expected, 2);
}

#[test]
fn a_function_that_calls_itself() {
    let function = ".func (.param .b32 r) sum(.param .b64 from, .param .b32 i, .param .b32 n) {
        .reg .b32 %i, %n, %m, %s, %y; .reg .b64 %d<3>; .reg .pred %p0;
        ld.param.b64 %d0, [from]; ld.param.b32 %i, [i]; ld.param.b32 %n, [n];
        setp.ne.u32 %p0, %n, 0; sub.u32 %m, %n, 1; mov.u32 %s, 0;
        { .param .b64 a; .param .b32 b; .param .b32 c; .param .b32 e;
          st.param.b64 [a], %d0; st.param.b32 [b], %i; st.param.b32 [c], %m;
          @%p0 call (e), sum, (a, b, c);
          @%p0 ld.param.b32 %s, [e]; }
        mul.wide.u32 %d1, %i, 4; add.u64 %d2, %d0, %d1; ld.global.b32 %y, [%d2];
        st.param.b32 [r], %s; ret; }";
    let call = "and.b32 %r8, %r3, 3; { .param .b64 a; .param .b32 b; .param .b32 c; .param .b32 e;
        st.param.b64 [a], %d0; st.param.b32 [b], %r4; st.param.b32 [c], %r8;
        @%p0 call (e), sum, (a, b, c);
        @%p0 ld.param.b32 %r6, [e]; }";
    // Lanes 0, 4, … have n = 0 and lanes 2, 6, … have n = 2: the function runs at depths 1 to 3,
    // each time for lanes of all 4 sectors.
    let expected = OfWarp { instructions: 7 + 6 + 3 * 16 + 4, requests: 4, sectors: 16 };
    // Four branches; the last one goes around the call for all lanes.
    alike(function, call, expected, 4 - 1);
}

#[test]
fn functions_that_are_called_through_pointers() {
    let functions =
        format!("{TWICE}\n.func (.reg .b32 r) thrice(.reg .b32 a) {{ mul.lo.u32 r, a, 3; ret; }}");
    let call = "mov.u64 %d5, twice; and.b32 %r8, %r3, 2; setp.eq.u32 %p1, %r8, 0;
        @%p1 mov.u64 %d5, thrice;
        P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
        mov.u32 %r6, %r4;
        @%p0 call (%r6), %d5, (%r4), P;";
    // Half of the even lanes go to either function.
    let expected = OfWarp { instructions: 7 + 6 + 2 + 2 + 4, requests: 1, sectors: 4 };
    alike(&functions, call, expected, 1);
}

/// Results that are fetched behind one call are there before the next one.
#[test]
fn several_calls_in_a_row() {
    let call = "mov.u32 %r6, %r4; @%p0 call (%r6), twice, (%r4); setp.ne.u32 %p0, %r5, 0;
        @%p0 call (%r6), twice, (%r6);";
    let expected = OfWarp { instructions: 7 + 4 + 2 * 2 + 4, requests: 1, sectors: 4 };
    alike(TWICE, call, expected, 2);
}
