//! Values at the edges: what the documentation of `semantics::matrix` promises.

use crate::machine::{launch, to_bytes, words};

/// D of `mma.m16n8k16` with `.f16` factors where A has `a` in its first elements of row 0, B has
/// `b` in the first elements of column 0, and C is `c` in row 0, column 0.
fn first_of_f16(single: bool, a: &[u16], b: &[u16], c: u32) -> u32 {
    let ty = if single { "f32" } else { "f16" };
    let registers = if single { "{%c0, %c1, %c1, %c1}" } else { "{%c0, %c1}" };
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %in, %out; .reg .b32 %lane, %a<4>, %b<2>, %c<4>;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n\
         mad.wide.u32 %in, %lane, 20, %in; mad.wide.u32 %out, %lane, 4, %out;\n\
         ld.global.u32 %a0, [%in]; ld.global.u32 %a2, [%in+4];\n\
         ld.global.u32 %b0, [%in+8]; ld.global.u32 %b1, [%in+12]; ld.global.u32 %c0, [%in+16];\n\
         mov.u32 %a1, 0; mov.u32 %a3, 0; mov.u32 %c1, 0;\n\
         mma.sync.aligned.m16n8k16.row.col.{ty}.f16.f16.{ty} {registers},\n\
         {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {registers};\n\
         st.global.u32 [%out], %c0; ret; }}\n"
    );
    let text = text.replacen("{%c0, %c1, %c1, %c1}", "{%c0, %c1, %c2, %c3}", 1);
    let at = |values: &[u16], k: usize| u32::from(values.get(k).copied().unwrap_or(0));
    let pair = |values: &[u16], k: usize| at(values, k) | at(values, k + 1) << 16;
    let mut input = vec![0; 32 * 5];
    for lane in 0..4 {
        let k = 2 * lane;
        input[5 * lane..][..4].copy_from_slice(&[
            pair(a, k),
            pair(a, k + 8),
            pair(b, k),
            pair(b, k + 8),
        ]);
    }
    input[4] = c;
    words(&launch(&text, &to_bytes(&input), 128))[0]
}

const ONE: u16 = 0x3c00;
const INFINITY: u16 = 0x7c00;
const GREATEST: u16 = 0x7bff;
const LEAST: u16 = 0x0001;

#[test]
fn nans_and_infinities() {
    let f32 = |a: &[u16], b: &[u16], c| first_of_f16(true, a, b, c);
    let f16 = |a: &[u16], b: &[u16], c| first_of_f16(false, a, b, c) & 0xffff;
    let (infinity, negative) = (f32::INFINITY.to_bits(), f32::NEG_INFINITY.to_bits());
    assert_eq!(f32(&[0xfe01], &[ONE], 0), 0x7fff_ffff, "a NaN factor, its payload dropped");
    assert_eq!(f32(&[ONE], &[ONE], 0xff80_0001), 0x7fff_ffff, "a NaN in C");
    assert_eq!(f32(&[INFINITY], &[0], 0), 0x7fff_ffff, "infinity times zero");
    assert_eq!(f32(&[INFINITY], &[ONE], negative), 0x7fff_ffff, "infinity less infinity");
    assert_eq!(f32(&[INFINITY], &[0xbc00], 0), negative);
    assert_eq!(f32(&[GREATEST], &[ONE], infinity), infinity);
    assert_eq!(f16(&[INFINITY], &[0], 0), 0x7fff);
    assert_eq!(f16(&[GREATEST, GREATEST], &[ONE, 0xbc00], 0), 0, "no overflow in between");
    assert_eq!(f16(&[GREATEST, GREATEST], &[ONE, ONE], 0), u32::from(INFINITY));
    // 65504 + 15.99 rounds down, and 65504 + 16 is halfway and rounds to even, which is infinity.
    assert_eq!(f16(&[GREATEST, 0x4bff], &[ONE, ONE], 0), u32::from(GREATEST));
    assert_eq!(f16(&[GREATEST, 0x4c00], &[ONE, ONE], 0), u32::from(INFINITY));
}

#[test]
fn subnormals_are_kept() {
    // The least .f16 is 2^-24, its square 2^-48.
    let square = first_of_f16(true, &[LEAST], &[LEAST], 0);
    assert_eq!(f32::from_bits(square), 2f32.powi(-48));
    assert_eq!(first_of_f16(true, &[], &[], 1), 1, "the least .f32 through C");
    assert_eq!(first_of_f16(false, &[LEAST], &[ONE], 2), 3);
    // Sixteen times 2^-49 are not lost one by one: the sum is rounded once.
    let halves = [LEAST; 16];
    assert_eq!(first_of_f16(false, &halves, &[0x2c00; 16], 1), 2, "1 + 16/16 units");
    assert_eq!(first_of_f16(false, &halves[..8], &[0x2c00; 8], 1), 2, "ties to even");
    assert_eq!(first_of_f16(false, &halves[..8], &[0x2c00; 8], 2), 2, "ties to even");
}

#[test]
fn sums_are_rounded_once() {
    // 2^24 + 1 + 1 in .f32: rounding after each sum would lose both.
    let c = 16_777_216f32.to_bits();
    assert_eq!(first_of_f16(true, &[ONE, ONE], &[ONE, ONE], c), 16_777_218f32.to_bits());
    // Cancellation leaves the small term, which 65504 + 2^-24 in .f32 would lose.
    let small = first_of_f16(true, &[GREATEST, LEAST, GREATEST], &[ONE, ONE, 0xbc00], 0);
    assert_eq!(f32::from_bits(small), 2f32.powi(-24));
}

#[test]
fn tf32_ignores_the_lower_bits() {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .visible .entry k(.param .u64 in, .param .u64 out) {\n\
        .reg .b64 %in, %out; .reg .b32 %lane, %a, %b, %z; .reg .f32 %d<4>;\n\
        ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n\
        mad.wide.u32 %out, %lane, 4, %out; ld.global.u32 %a, [%in]; ld.global.u32 %b, [%in+4];\n\
        mov.u32 %z, 0;\n\
        mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%d0, %d1, %d2, %d3}, {%a, %a}, {%b},\n\
        {0f00000000, 0f00000000, 0f00000000, 0f00000000};\n\
        st.global.f32 [%out], %d0; ret; }\n";
    let product =
        |a: f32, b: f32| words(&launch(text, &to_bytes(&[a.to_bits(), b.to_bits()]), 128))[0];
    let one_and_more = f32::from_bits(0x3f80_1fff);
    assert_eq!(product(one_and_more, 1.0), 4f32.to_bits());
    assert_eq!(product(1.0, one_and_more), 4f32.to_bits());
    // A NaN whose payload is in the ignored bits only is an infinity.
    assert_eq!(product(f32::from_bits(0x7f80_0001), 1.0), f32::INFINITY.to_bits());
}

/// D's first element of `mma.m16n8k32` on bytes, with all of A, B and C the same.
fn bytes(ty: &str, saturate: &str, a: u8, b: u8, c: i32) -> i32 {
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %in, %out; .reg .b32 %lane, %a, %b, %c, %d<4>;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n\
         mad.wide.u32 %out, %lane, 4, %out; ld.global.u32 %a, [%in];\n\
         ld.global.u32 %b, [%in+4]; ld.global.u32 %c, [%in+8];\n\
         mma.sync.aligned.m16n8k32.row.col{saturate}.s32.{ty}.s32 {{%d0, %d1, %d2, %d3}},\n\
         {{%a, %a, %a, %a}}, {{%b, %b}}, {{%c, %c, %c, %c}};\n\
         st.global.u32 [%out], %d3; ret; }}\n"
    );
    let word = |byte: u8| u32::from_le_bytes([byte; 4]);
    words(&launch(&text, &to_bytes(&[word(a), word(b), c.cast_unsigned()]), 128))[0].cast_signed()
}

#[test]
fn integers_wrap_or_saturate_at_the_end() {
    let most = 32 * 255 * 255;
    assert_eq!(bytes("u8.u8", "", 255, 255, 0), most);
    assert_eq!(bytes("u8.u8", "", 255, 255, i32::MAX), i32::MAX.wrapping_add(most));
    assert_eq!(bytes("u8.u8", ".satfinite", 255, 255, i32::MAX - most + 1), i32::MAX);
    assert_eq!(bytes("u8.u8", ".satfinite", 255, 255, i32::MAX - most), i32::MAX);
    assert_eq!(bytes("u8.u8", ".satfinite", 255, 255, i32::MAX - most - 1), i32::MAX - 1);
    assert_eq!(bytes("s8.s8", "", 0x80, 0x80, 0), 32 * 128 * 128);
    assert_eq!(bytes("s8.u8", "", 0x80, 255, 0), -32 * 128 * 255);
    assert_eq!(bytes("u8.s8", "", 255, 0x80, 0), -32 * 128 * 255);
    assert_eq!(bytes("s8.u8", ".satfinite", 0x80, 255, i32::MIN), i32::MIN);
    assert_eq!(bytes("s8.u8", "", 0x80, 255, i32::MIN), i32::MIN.wrapping_sub(32 * 128 * 255));
}

#[test]
fn floating_point_wmma_saturates_to_finite_numbers() {
    // 0 * infinity in the last column of A, and sums of 16 times 65504 elsewhere.
    let text = |ty: &str, registers: usize, satfinite: &str| {
        let names = |name: &str, count: usize| {
            let names: Vec<_> = (0..count).map(|i| format!("%{name}{i}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let (a, d) = (names("a", 8), names("d", registers));
        let b = format!("{{{}}}", ["%b"; 8].join(", "));
        format!(
            ".version 6.0\n.target sm_70\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .reg .b64 %in, %out; .reg .b32 %a<8>, %b, %d<8>;\n\
             ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n\
             wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a}, [%in];\n\
             mov.u32 %b, 0x7c007c00;\n\
             wmma.load.c.sync.aligned.row.m16n16k16.global.{ty} {d}, [%in+512];\n\
             wmma.mma.sync.aligned.row.col.m16n16k16.{ty}.{ty}{satfinite} {d}, {a}, {b}, {d};\n\
             wmma.store.d.sync.aligned.row.m16n16k16.global.{ty} [%out], {d}; ret; }}\n"
        )
    };
    let mut input = vec![0u8; 512 + 1024];
    // Row 0 has a zero, which an infinity makes a NaN; rows 1 and 2 have none.
    for row in 1..16 {
        for column in 0..16 {
            let value: u16 = if row % 2 == 1 { 0x3c00 } else { 0xbc00 };
            input[32 * row + 2 * column..][..2].copy_from_slice(&value.to_le_bytes());
        }
    }
    let rows = |ty, registers, satfinite, bytes: usize| -> Vec<u32> {
        let result = launch(&text(ty, registers, satfinite), &input, 256 * bytes);
        (0..3).map(|row| words(&result[16 * bytes * row..])[0]).collect()
    };
    let (infinity, negative) = (f32::INFINITY.to_bits(), f32::NEG_INFINITY.to_bits());
    assert_eq!(rows("f32", 8, "", 4), [0x7fff_ffff, infinity, negative]);
    assert_eq!(rows("f32", 8, ".satfinite", 4), [0, f32::MAX.to_bits(), f32::MIN.to_bits()]);
    assert_eq!(rows("f16", 4, "", 2), [0x7fff_7fff, 0x7c00_7c00, 0xfc00_fc00]);
    assert_eq!(rows("f16", 4, ".satfinite", 2), [0, 0x7bff_7bff, 0xfbff_fbff]);
}

#[test]
fn what_is_not_stored_of_a_sparse_matrix_takes_no_part() {
    // All of B is infinite, all stored elements of A are 1: zeros would make NaNs.
    let text = ".version 8.5\n.target sm_80\n.address_size 64\n\
        .visible .entry k(.param .u64 in, .param .u64 out) {\n\
        .reg .b64 %out; .reg .b32 %lane, %a, %b, %e; .reg .f32 %d<4>, %z;\n\
        ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x; mad.wide.u32 %out, %lane, 4, %out;\n\
        mov.u32 %a, 0x3c003c00; mov.u32 %b, 0x7c007c00; mov.u32 %e, 0x44444444; mov.f32 %z, 0f0;\n\
        mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n\
        {%d0, %d1, %d2, %d3}, {%a, %a}, {%b, %b}, {%z, %z, %z, %z}, %e, 0x0;\n\
        st.global.f32 [%out], %d0; ret; }\n";
    let text = text.replace("0f0;", "0f00000000;");
    assert_eq!(words(&launch(&text, &[], 128)), [f32::INFINITY.to_bits(); 32]);
}

#[test]
fn the_second_copy_of_a_wmma_fragment_holds_the_same() {
    for (role, layout) in [("a", "row"), ("a", "col"), ("b", "row"), ("b", "col")] {
        let text = format!(
            ".version 6.0\n.target sm_70\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .reg .b64 %in, %out; .reg .b32 %r<8>, %lane;\n\
             ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n\
             mad.wide.u32 %out, %lane, 16, %out;\n\
             wmma.load.{role}.sync.aligned.{layout}.m16n16k16.f16\n\
             {{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}}, [%in];\n\
             xor.b32 %r0, %r0, %r4; xor.b32 %r1, %r1, %r5;\n\
             xor.b32 %r2, %r2, %r6; xor.b32 %r3, %r3, %r7;\n\
             st.global.v4.u32 [%out], {{%r0, %r1, %r2, %r3}}; ret; }}\n"
        );
        let input: Vec<u8> = (0..512).map(|i| (i * 7 + i / 256) as u8).collect();
        assert_eq!(words(&launch(&text, &input, 512)), [0; 128]);
    }
}

/// D's first element of `mma.m8n8k4` with `.f64` factors `a` and `b` at k = 0 and zeros elsewhere.
fn double(rounding: &str, a: f64, b: f64, c: f64) -> f64 {
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %in, %out; .reg .b32 %lane, %k; .reg .f64 %a, %b, %c, %d<2>; .reg .pred %p;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n\
         mad.wide.u32 %out, %lane, 8, %out; and.b32 %k, %lane, 3;\n\
         setp.eq.u32 %p, %k, 0; mov.f64 %a, 0d0000000000000000;\n\
         @%p ld.global.f64 %a, [%in]; ld.global.f64 %b, [%in+8]; ld.global.f64 %c, [%in+16];\n\
         mma.sync.aligned.m8n8k4.row.col{rounding}.f64.f64.f64.f64 {{%d0, %d1}}, {{%a}}, {{%b}},\n\
         {{%c, %c}};\n\
         st.global.f64 [%out], %d1; ret; }}\n"
    );
    let input: Vec<u8> = [a, b, c].iter().flat_map(|value| value.to_le_bytes()).collect();
    f64::from_le_bytes(launch(&text, &input, 256)[..8].try_into().unwrap())
}

#[test]
fn a_double_product_is_a_chain_of_fused_multiply_adds() {
    // (1 + e)(1 - e) = 1 - e^2, which differs from 1 only before it is rounded.
    let e = 2f64.powi(-30);
    for rounding in ["", ".rn", ".rz", ".rm", ".rp"] {
        assert_eq!(double(rounding, 1.0 + e, 1.0 - e, -1.0), -e * e, "{rounding}");
    }
    let tiny = e * e;
    let (above, below) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON / 2.0);
    for (rounding, plus, minus) in [
        ("", 1.0, 1.0),
        (".rn", 1.0, 1.0),
        (".rz", 1.0, below),
        (".rm", 1.0, below),
        (".rp", above, 1.0),
    ] {
        assert_eq!(double(rounding, tiny, 1.0, 1.0), plus, "{rounding}");
        assert_eq!(double(rounding, -tiny, 1.0, 1.0), minus, "{rounding}");
    }
}
