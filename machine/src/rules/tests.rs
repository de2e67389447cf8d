//! Small kernels and the machine instructions that they must become.
//!
//! Expectations were read from what `ptxas` 12.9 makes of the same text for the targets named.

use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::machine::{MachineProfile, MachineRow};
use gpucast_counters::table::{BaseTable, Description, Row};
use gpucast_interpreter::Program;
use gpucast_ptx_frontend::isa::InstructionClass;

use super::{known_accesses, translate};
use crate::ptxas::meaning;

#[path = "../../../interpreter/tests/cases/mod.rs"]
mod cases;

/// A kernel with pointers `%rd1` (global, a parameter), `%r1` (the thread) and `%r2` (a parameter).
fn program(body: &str) -> Program {
    let text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n\
         .const .align 16 .b8 weights[64];\n\
         .visible .entry kernel(.param .u64 out, .param .u32 n)\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<30>; .reg .f32 %f<30>; .reg .b64 %rd<30>; .reg .f64 %fd<9>;\n\
         .shared .align 16 .b8 tile[4096];\n\
         ld.param.u64 %rd1, [out];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\n\
         {body}\nret;\n}}\n"
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    Program::new(&module, &text, "kernel").unwrap()
}

/// The profile of a kernel as [`program`] makes it, every instruction of which a warp executes
/// once.
fn profile(target: &str, body: &str) -> MachineProfile {
    let program = program(body);
    translate(target.parse::<Architecture>().unwrap(), &program, &ones(&program))
}

/// The counts of a program of which a warp executes every instruction once.
fn ones(program: &Program) -> BaseTable {
    let row = |(index, instruction)| Row {
        instruction: index,
        description: Description::of(instruction),
        warp_executions: 1,
        issued_lanes: 32,
        thread_executions: 32,
        branch: None,
        memory: Vec::new(),
        products: Vec::new(),
    };
    BaseTable { rows: (0..).zip(program.instructions()).map(row).collect() }
}

/// How many warp instructions of a mnemonic.
fn count(target: &str, body: &str, mnemonic: &str) -> u128 {
    let profile = profile(target, body);
    let rows = profile.rows.iter().filter(|row| row.mnemonic == mnemonic);
    rows.map(|row| row.warp_executions).sum()
}

fn total(target: &str, body: &str) -> u128 {
    profile(target, body).rows.iter().map(|row| row.warp_executions).sum()
}

const INDEX: &str = "mul.wide.s32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;";

#[test]
fn indexing_a_pointer_is_one_multiply_add_since_volta() {
    let body = format!("{INDEX} ld.global.f32 %f1, [%rd3]; st.global.f32 [%rd3+64], %f1;");
    // SHR, ISCADD.CC, IADD.X.
    assert_eq!(count("sm_50", &body, "ISCADD"), 3);
    // IMAD.MOV.U32 4, IMAD.WIDE besides MOV of the stack pointer.
    assert_eq!(count("sm_80", &body, "IMAD"), 2);
    assert_eq!(count("sm_80", &body, "MOV"), 1);
    // LDC.64 of the pointer, LDC of the stack's; the literal is part of the instruction.
    assert_eq!(count("sm_90", &body, "IMAD"), 1);
    assert_eq!(["MOV", "LDC"].map(|mnemonic| count("sm_90", &body, mnemonic)), [0, 2]);
    // IMAD.CC, IMAD.HI.X.
    assert_eq!(count("sm_20", &body, "IMAD"), 2);
}

#[test]
fn consecutive_aligned_words_of_shared_memory_are_loaded_at_once() {
    let loads = |base: &str, offsets: [i32; 4]| {
        let load = |(i, offset)| format!("ld.shared.f32 %f{i}, [{base}+{offset}];");
        let loads: String = (1..).zip(offsets).map(load).collect();
        format!(
            "shl.b32 %r3, %r1, 4; shl.b32 %r4, %r1, 2; {loads} add.f32 %f5, %f1, %f2; \
             add.f32 %f6, %f3, %f4; add.f32 %f7, %f5, %f6; st.global.f32 [%rd1], %f7;"
        )
    };
    assert_eq!(count("sm_50", &loads("%r3", [0, 4, 8, 12]), "LDS"), 1);
    assert_eq!(count("sm_50", &loads("%r3", [4, 8, 12, 16]), "LDS"), 2, "4 to 12, and 16");
    assert_eq!(count("sm_50", &loads("%r3", [0, 4, 24, 28]), "LDS"), 2, "of 64 bits");
    assert_eq!(count("sm_50", &loads("%r3", [4, 8, 16, 28]), "LDS"), 4, "no two fill a window");
    assert_eq!(count("sm_50", &loads("%r3", [0, 128, 256, 384]), "LDS"), 4);
    assert_eq!(count("sm_50", &loads("%r4", [0, 4, 8, 12]), "LDS"), 4, "not aligned");
    assert_eq!(count("sm_50", &loads("tile", [16, 20, 24, 28]), "LDS"), 1);
}

/// Stores to shared memory or loads from it, at offsets of an aligned base. `uses` says what is
/// done with the value `#` of each load.
fn accesses(mnemonic: &str, each: &[(&str, i32)], uses: &str) -> String {
    let mut body = ".reg .b16 %h<40>; shl.b32 %r3, %r1, 4;\n".to_owned();
    let is_load = mnemonic == "LDS";
    for at in 0..32 {
        body += &format!("ld.global.u16 %h{at}, [%rd1+{}];\n", 4 * at);
    }
    let mut register = 0;
    for (kind, offset) in each {
        let elements = kind.strip_prefix(".v").map_or(1, |rest| rest[..1].parse().unwrap());
        let letter = if kind.ends_with("32") { 'r' } else { 'h' };
        let first = register + 4;
        let names: Vec<String> =
            (first..first + elements).map(|at| format!("%{letter}{at}")).collect();
        register += elements;
        let values = match elements {
            1 => names[0].clone(),
            _ => format!("{{{}}}", names.join(", ")),
        };
        body += &match is_load {
            true => format!("ld.shared{kind} {values}, [%r3+{offset}];\n"),
            false => format!("st.shared{kind} [%r3+{offset}], {values};\n"),
        };
        for (name, at) in names.iter().zip(first..).filter(|_| is_load) {
            body += &match letter {
                'r' => format!("st.global.u32 [%rd1+{}], {name};\n", 4 * at),
                _ => uses.replace('#', name).replace("@at", &(4 * at).to_string()),
            };
        }
    }
    body
}

/// Stores a half-word as it is.
const STORED: &str = "st.global.u16 [%rd1+@at], #;\n";

/// What `ptxas` 12.9 makes of the same text for sm_80 and sm_90.
#[test]
fn half_words_and_vectors_of_them_are_merged() {
    let count = |mnemonic: &str, kind: &str, offsets: &[i32]| {
        let each: Vec<(&str, i32)> = offsets.iter().map(|&offset| (kind, offset)).collect();
        let body = accesses(mnemonic, &each, STORED);
        let counts = ["sm_80", "sm_90"].map(|target| count(target, &body, mnemonic));
        assert_eq!(counts[0], counts[1]);
        counts[0]
    };
    let eight: Vec<i32> = (0..8).map(|at| 2 * at).collect();
    let sixteen: Vec<i32> = (0..16).collect();
    // Kind, offsets, stores, loads.
    let cases: [(&str, &[i32], u128, u128); 25] = [
        (".u16", &[0, 2], 1, 1),
        (".u16", &[2, 4], 2, 2),
        (".u16", &[0, 2, 4], 2, 1),
        (".u16", &[0, 2, 4, 6], 1, 1),
        (".u16", &eight, 2, 2),
        (".u16", &[2, 4, 6], 2, 1),
        (".u16", &[6, 4, 2, 0], 1, 1),
        (".u16", &[0, 4], 2, 2),
        (".u16", &[0, 2, 8, 10], 2, 2),
        (".u16", &[4, 6, 8, 10], 2, 2),
        (".u16", &[0, 2, 4, 6, 8, 10], 2, 2),
        (".u16", &[2, 4, 6, 8], 3, 2),
        (".u8", &[0, 1], 2, 2),
        (".u8", &[0, 1, 2, 3], 4, 4),
        (".u8", &sixteen, 16, 16),
        (".v2.u8", &[0, 2], 1, 2),
        (".v2.u8", &[0, 2, 4, 6], 1, 4),
        (".v2.u8", &[2, 4], 2, 2),
        (".v4.u8", &[0, 4], 1, 1),
        (".v4.u8", &[0, 4, 8], 2, 1),
        (".v2.u16", &[0, 4, 8, 12], 1, 1),
        (".v2.u16", &[4, 8], 2, 2),
        (".v2.u16", &[4, 8, 12], 2, 1),
        (".v4.u16", &[0, 8], 1, 1),
        (".v4.u16", &[8, 16], 2, 2),
    ];
    for (kind, offsets, stores, loads) in cases {
        assert_eq!(count("STS", kind, offsets), stores, "stores of {kind} at {offsets:?}");
        assert_eq!(count("LDS", kind, offsets), loads, "loads of {kind} at {offsets:?}");
    }
}

/// Stores follow their first one, which is the narrowest; loads do not mind.
#[test]
fn accesses_of_several_widths_are_merged() {
    let count = |mnemonic: &str, each: &[(&str, i32)]| {
        count("sm_80", &accesses(mnemonic, each, STORED), mnemonic)
    };
    let (word, two, halves) = (".u32", ".v2.u32", ".v4.u16");
    for (each, stores, loads) in [
        ([(word, 0), (word, 4), (two, 8)].as_slice(), 1, 1),
        (&[(word, 8), (word, 12), (two, 0)], 1, 1),
        (&[(word, 4), (two, 8)], 2, 1),
        (&[(two, 0), (word, 8)], 2, 1),
        (&[(halves, 0), (two, 8)], 1, 1),
        (&[(".v2.u16", 0), (word, 4), (".v2.u16", 8), (word, 12)], 1, 1),
        (&[(".u16", 0), (".u16", 2), (word, 4)], 2, 2),
        (&[(word, 0), (".u16", 4), (".u16", 6)], 2, 2),
        (&[(".v2.u8", 0), (".u16", 2)], 1, 2),
        // Stores to one place stay in their order.
        (&[(two, 0), (word, 4)], 2, 1),
        (&[(two, 0), (word, 4), (two, 8)], 3, 1),
    ] {
        assert_eq!(count("STS", each), stores, "stores {each:?}");
        assert_eq!(count("LDS", each), loads, "loads {each:?}");
    }
}

/// A load extends its half-word where a user wants that, and is merged with no other then.
#[test]
fn half_words_that_a_load_extends_are_loaded_alone() {
    let count = |kind: &str, user: &str| {
        let uses = format!("{{ .reg .f32 %g; .reg .b16 %u; .reg .b32 %v; {user}; }}\n");
        count("sm_80", &accesses("LDS", &[(kind, 0), (kind, 2)], &uses), "LDS")
    };
    let half = "fma.rn.f16 %u, #, #, #; st.global.u16 [%rd1+@at], %u";
    let float = "cvt.f32.f16 %g, #; st.global.f32 [%rd1+@at], %g";
    let sum = "add.u16 %u, #, 3; st.global.u16 [%rd1+@at], %u";
    let zeros = "cvt.u32.u16 %v, #; st.global.u32 [%rd1+@at], %v";
    let sign = "cvt.s32.s16 %v, #; st.global.u32 [%rd1+@at], %v";
    let from_integer = "cvt.rn.f32.u16 %g, #; st.global.f32 [%rd1+@at], %g";
    for (kind, user, loads) in [
        (".u16", half, 1),
        (".u16", float, 1),
        (".u16", from_integer, 1),
        (".u16", sum, 2),
        (".u16", zeros, 2),
        (".u16", sign, 1),
        (".s16", half, 1),
        (".s16", sum, 2),
        (".s16", zeros, 1),
        (".s16", sign, 2),
    ] {
        assert_eq!(count(kind, user), loads, "{kind}: {user}");
    }
}

/// `PRMT R4, R4, 0x5410, R5; STS [R2], R4`, and `LDS R2, [R2]; PRMT R3, R2, 0x7632, R3`.
#[test]
fn half_words_that_share_a_register_are_packed_and_unpacked() {
    let half = ".u16";
    let prmt = |mnemonic: &str, each: &[(&str, i32)]| {
        count("sm_80", &accesses(mnemonic, each, STORED), "PRMT")
    };
    for (number, words) in [(2, 1), (4, 2), (8, 4)] {
        let each: Vec<(&str, i32)> = (0..number).map(|at| (half, 2 * at)).collect();
        assert_eq!(prmt("STS", &each), words);
        assert_eq!(prmt("LDS", &each), words);
    }
    assert_eq!(prmt("LDS", &[(half, 2), (half, 4), (half, 6)]), 2);
    assert_eq!(prmt("STS", &[(half, 2), (half, 4)]), 0);
}

#[test]
fn a_store_between_keeps_loads_apart() {
    let body = "shl.b32 %r3, %r1, 4; ld.shared.f32 %f1, [%r3]; st.shared.f32 [%r3+64], %f1; \
                ld.shared.f32 %f2, [%r3+4]; add.f32 %f3, %f1, %f2; st.global.f32 [%rd1], %f3;";
    assert_eq!(count("sm_80", body, "LDS"), 2);
}

#[test]
fn loads_of_global_memory_stay_as_they_are() {
    let body = "ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; add.f32 %f3, %f1, %f2; \
                st.global.f32 [%rd1], %f3;";
    assert_eq!(count("sm_80", body, "LDG"), 2);
}

#[test]
fn constants_at_stated_addresses_are_operands() {
    let sum = |load: &str| {
        format!(
            "ld.global.f32 %f1, [%rd1];\n{load}\nfma.rn.f32 %f3, %f1, %f2, %f1;\n\
             st.global.f32 [%rd1], %f3;"
        )
    };
    // `FFMA R3, R0, c[0x3][0x8], R0`: no load of the constant.
    let stated = sum("ld.const.f32 %f2, [weights+8];");
    // `LDC R3, c[0x3][R3]`: the thread chooses.
    let chosen =
        sum("mov.u64 %rd2, weights;\nmul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd2, %rd2, %rd3;\n\
         ld.const.f32 %f2, [%rd2];");
    for target in ["sm_50", "sm_61", "sm_80", "sm_90"] {
        // Since Hopper the stack pointer and the parameter are loaded by `LDC`, too.
        let others = if target == "sm_90" { 2 } else { 0 };
        assert_eq!(count(target, &stated, "LDC"), others, "{target}");
        assert_eq!(count(target, &stated, "FFMA"), 1, "{target}");
        assert_eq!(count(target, &chosen, "LDC"), others + 1, "{target}");
    }
}

/// `FSETP.GEU P0, |R0|, 1.1754e-38; @!P0 FMUL R0, R0, 16777216; MUFU.RSQ R2, R0; @!P0 FMUL R2, R2,
/// 4096`: the products are issued, and no thread executes them unless its number is a subnormal.
#[test]
fn scalings_of_subnormals_are_issued_and_executed_by_no_thread() {
    let body = "ld.global.f32 %f1, [%rd1];\nrsqrt.approx.f32 %f2, %f1;\nst.global.f32 [%rd1], %f2;";
    for target in ["sm_50", "sm_80"] {
        let profile = profile(target, body);
        let products = || profile.rows.iter().filter(|row| &*row.mnemonic == "FMUL");
        assert_eq!(products().map(|row| row.warp_executions).sum::<u128>(), 2, "{target}");
        assert_eq!(products().map(|row| row.issued_lanes).sum::<u128>(), 64, "{target}");
        assert_eq!(products().map(|row| row.thread_executions).sum::<u128>(), 0, "{target}");
    }
    // The quotient's own product is executed.
    let quotient =
        "ld.global.f32 %f1, [%rd1];\ndiv.full.f32 %f2, %f1, %f1;\nst.global.f32 [%rd1], %f2;";
    let profile = profile("sm_80", quotient);
    let executed = profile.rows.iter().filter(|row| &*row.mnemonic == "FMUL");
    assert_eq!(executed.map(|row| row.thread_executions).sum::<u128>(), 32);
}

#[test]
fn what_nobody_reads_is_not_there() {
    let body = "mul.lo.s32 %r3, %r1, %r2; add.s32 %r4, %r3, 5; div.u32 %r5, %r4, %r2;";
    assert_eq!(total("sm_50", body), total("sm_50", ""));
}

#[test]
fn shared_addresses_have_32_bits_and_literals_move_into_offsets() {
    let body = "mul.wide.s32 %rd2, %r1, 4; mov.u64 %rd3, tile; add.s64 %rd4, %rd3, %rd2; \
                mov.f32 %f1, 0f3F800000; st.shared.f32 [%rd4+8], %f1;";
    // SHL, MOV32I, STS besides MOV R1, S2R and EXIT.
    assert_eq!(total("sm_50", body), 6);
    // S2R, MOV and LEA for the window, LEA for the sum, MOV and STS.
    assert_eq!(total("sm_90", body), 9);
}

#[test]
fn products_by_literals_depend_on_the_multiplier() {
    let by = |factor: u32| format!("mul.lo.s32 %r3, %r1, {factor}; st.global.u32 [%rd1], %r3;");
    assert_eq!(count("sm_50", &by(8), "SHL"), 1);
    assert_eq!(count("sm_50", &by(12_345), "XMAD"), 2);
    // A literal of more than 16 bits is moved first.
    assert_eq!(["XMAD", "MOV"].map(|name| count("sm_50", &by(123_456), name)), [3, 4]);
    // One more than where nothing but the pointer is moved.
    let moves = count("sm_70", "st.global.u32 [%rd1], %r1;", "IMAD");
    assert_eq!(count("sm_70", &by(12_345), "IMAD"), moves + 1);
    let general = "mad.lo.s32 %r3, %r1, %r2, %r1; st.global.u32 [%rd1], %r3;";
    assert_eq!(count("sm_50", general, "XMAD"), 3);
    assert_eq!(count("sm_35", general, "IMAD"), 1);
}

#[test]
fn sums_of_products_are_contracted_unless_a_rounding_is_written() {
    let plain = "mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, %f1; st.global.f32 [%rd1], %f3;";
    let load = "ld.global.f32 %f1, [%rd1+64];";
    assert_eq!(count("sm_80", &format!("{load}{plain}"), "FFMA"), 1);
    let rounded = plain.replace("mul.f32", "mul.rn.f32").replace("add.f32", "add.rn.f32");
    assert_eq!(count("sm_80", &format!("{load}{rounded}"), "FFMA"), 0);
    let shared = format!("{load}{plain} st.global.f32 [%rd1+4], %f2;");
    assert_eq!(count("sm_80", &shared, "FMUL"), 1, "the product is stored, too");
}

#[test]
fn matrix_products_are_tensor_instructions_whatever_their_elements() {
    let product = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, \
                   {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4}; \
                   st.global.f32 [%rd1], %f1;";
    let rows = profile("sm_80", product).rows;
    let product = rows.iter().find(|row| row.mnemonic == "HMMA").unwrap();
    assert_eq!(product.class, InstructionClass::Tensor);
    assert!(product.flops.is_none() && product.warp_executions > 0);
}

#[test]
fn logic_of_three_inputs_is_one_instruction_since_maxwell() {
    let body = "and.b32 %r3, %r1, %r2; xor.b32 %r4, %r3, 77; st.global.u32 [%rd1], %r4;";
    assert_eq!(count("sm_35", body, "LOP"), 2);
    assert_eq!(count("sm_50", body, "LOP3"), 1);
}

#[test]
fn short_branches_become_guards_and_long_ones_converge() {
    let skip = |times: usize| {
        let body = "add.f32 %f1, %f1, %f1;".repeat(times);
        format!(
            "ld.global.f32 %f1, [%rd1]; setp.gt.s32 %p1, %r1, 5; @%p1 bra L; {body}\
             st.shared.f32 [tile], %f1;\nL: st.global.f32 [%rd1], %f1;"
        )
    };
    assert_eq!(count("sm_80", &skip(2), "BRA"), 0);
    for (mnemonic, target) in
        [("BSSY", "sm_80"), ("BSYNC", "sm_80"), ("SSY", "sm_50"), ("SYNC", "sm_50")]
    {
        assert_eq!(count(target, &skip(40), mnemonic), 1);
        assert_eq!(count(target, &skip(2), mnemonic), 0);
    }
    assert_eq!(count("sm_20", &skip(40), "SYNC"), 0, "Fermi's is a suffix");
}

#[test]
fn the_longest_guarded_blocks_are_those_of_ptxas() {
    let skip = |load: &str, funnels: usize, store: &str| {
        let body = "shf.l.wrap.b32 %r4, %r4, %r2, %r1;".repeat(funnels);
        format!(
            "{INDEX} shl.b32 %r3, %r1, 2; setp.gt.s32 %p1, %r1, 5; @%p1 bra L; {load} {body} {store}\n\
             L: st.global.u32 [%rd1], %r1;"
        )
    };
    // A parameter that Hopper loads first.
    let limits = [("sm_50", 5), ("sm_61", 5), ("sm_70", 6), ("sm_80", 6), ("sm_90", 5)];
    for (target, most) in limits {
        let of =
            |funnels| skip("ld.shared.u32 %r4, [%r3];", funnels, "st.global.u32 [%rd3+64], %r4;");
        assert_eq!(count(target, &of(most), "BRA"), 0, "{target}");
        assert_eq!(count(target, &of(most + 1), "BRA"), 1, "{target}");
        // Long enough to have a load under way, and not for ever: 17 and 20 were tried.
        let of =
            |funnels| skip("ld.global.u32 %r4, [%rd3+64];", funnels, "st.shared.u32 [%r3], %r4;");
        assert_eq!(count(target, &of(17), "BRA"), 0, "{target}");
        assert_eq!(count(target, &of(20), "BRA"), 1, "{target}");
    }
}

#[test]
fn branches_that_no_lane_decides_need_no_convergence() {
    let long = "add.f32 %f1, %f1, %f1;".repeat(40);
    let body = format!(
        "ld.global.f32 %f1, [%rd1]; setp.gt.s32 %p1, %r2, 5; @%p1 bra L; {long}\n\
         L: st.global.f32 [%rd1], %f1;"
    );
    assert_eq!(count("sm_80", &body, "BSSY"), 0);
    assert_eq!(count("sm_80", &body, "BRA"), 1);
}

#[test]
fn a_guarded_exit_is_one_instruction() {
    let body = "setp.gt.s32 %p1, %r1, 5; @%p1 bra L; st.global.u32 [%rd1], %r1;\nL:";
    let profile = profile("sm_80", body);
    let exits = profile.rows.iter().filter(|row| row.mnemonic == "EXIT").count();
    assert_eq!(exits, 2);
    assert!(profile.rows.iter().all(|row| row.mnemonic != "BSSY"));
}

#[test]
fn comparisons_take_one_more_predicate() {
    let body = "setp.gt.s32 %p1, %r1, 5; setp.lt.s32 %p2, %r2, 7; or.pred %p3, %p1, %p2; \
                selp.b32 %r3, 1, 2, %p3; st.global.u32 [%rd1], %r3;";
    assert_eq!(count("sm_80", body, "ISETP"), 2);
    assert_eq!(count("sm_80", body, "PLOP3"), 0);
}

#[test]
fn copies_in_a_circle_come_to_an_end() {
    let body = "mov.u32 %r3, %r4; mov.u32 %r4, %r3; st.global.u32 [%rd1], %r3;\n\
                mov.u32 %r5, %r5; st.global.u32 [%rd1], %r5;";
    assert_eq!(count("sm_80", body, "STG"), 2);
}

#[test]
fn notes_say_what_was_not_compared() {
    assert_eq!(profile("sm_20", "").notes.len(), 2);
    assert_eq!(profile("sm_50", "").notes.len(), 1);
}

#[test]
fn halves_of_64_bits_that_are_zero_or_unread_take_no_instruction() {
    let body = "mul.wide.u32 %rd2, %r1, %r2; shr.u64 %rd3, %rd2, 33; xor.b64 %rd4, %rd3, %rd2; \
                st.global.u64 [%rd1], %rd4;";
    // SHF.R.U32.HI and one LOP3: the high half of the shifted number is zero.
    assert_eq!(["SHF", "LOP3"].map(|name| count("sm_80", body, name)), [1, 1]);
    let low = "mul.wide.u32 %rd2, %r1, %r2; shr.u64 %rd3, %rd2, 18; cvt.u32.u64 %r3, %rd3; \
               st.global.u32 [%rd1], %r3;";
    // SHF.R.U64.
    assert_eq!(count("sm_80", low, "SHF"), 1);
}

#[test]
fn signs_are_operand_modifiers_and_shifts_to_the_right_are_added_at_once() {
    let signs = "ld.global.f32 %f1, [%rd1+64]; abs.f32 %f2, %f1; neg.f32 %f3, %f2; \
                 fma.rn.f32 %f4, %f3, %f1, %f2; st.global.f32 [%rd1], %f4;";
    assert_eq!(["FADD", "FFMA"].map(|name| count("sm_80", signs, name)), [0, 1]);
    let shift = "shr.s32 %r3, %r1, 2; add.s32 %r4, %r3, %r2; st.global.u32 [%rd1], %r4;";
    assert_eq!(["SHF", "SHR", "LEA"].map(|name| count("sm_80", shift, name)), [0, 0, 1]);
}

/// `div.rn.f32` has 9 single-precision instructions on Fermi, of which 8 are multiply-adds, and
/// `rcp.rn.f32` 3 and 2 (instruction counts of a GTX 480: Konstantinidis 2017, table 5.16).
#[test]
fn quotients_and_reciprocals_of_fermi_are_sequences_of_their_own() {
    let counts = |target: &str, operation: &str| {
        let body = format!(
            "ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; {operation} \
             st.global.f32 [%rd1], %f3;"
        );
        let rows = profile(target, &body).rows;
        let fp32: u128 = rows
            .iter()
            .filter(|row| row.class == InstructionClass::Fp32)
            .map(|row| row.warp_executions)
            .sum();
        (fp32, count(target, &body, "FFMA"))
    };
    assert_eq!(counts("sm_20", "div.rn.f32 %f3, %f1, %f2;"), (9, 8));
    assert_eq!(counts("sm_20", "rcp.rn.f32 %f3, %f1;"), (3, 2));
    // FCHK, MUFU and five FFMA by `ptxas` 11.8 and 12.9; MUFU, FADD and two FFMA.
    for target in ["sm_35", "sm_50", "sm_80"] {
        assert_eq!(counts(target, "div.rn.f32 %f3, %f1, %f2;"), (7, 5), "{target}");
        assert_eq!(counts(target, "rcp.rn.f32 %f3, %f1;"), (4, 2), "{target}");
    }
}

/// `SEL` until Pascal, `FSEL` since Volta (`ptxas` 11.8 for sm_35, 12.9 for the others).
#[test]
fn selections_of_floats_are_floating_point_instructions_since_volta() {
    let body = "ld.global.f32 %f1, [%rd1]; setp.gt.s32 %p1, %r1, 5; \
                selp.f32 %f2, %f1, 0f3F800000, %p1; st.global.f32 [%rd1], %f2;";
    for (target, expected) in [("sm_20", 0), ("sm_35", 0), ("sm_50", 0), ("sm_61", 0), ("sm_70", 1)]
    {
        let rows = profile(target, body).rows;
        let fp32 = rows.iter().filter(|row| row.class == InstructionClass::Fp32);
        assert_eq!(fp32.map(|row| row.warp_executions).sum::<u128>(), expected, "{target}");
    }
}

/// Lengths and names by `ptxas` 11.8 (sm_35) and 12.9.
#[test]
fn video_instructions_are_what_the_assembler_makes_of_them() {
    let store = "st.global.u32 [%rd1], %r3;";
    let mnemonics = |target: &str, operation: &str| -> Vec<(String, u128)> {
        let with = profile(target, &format!("{operation} {store}")).rows;
        let without = profile(target, "add.u32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3;").rows;
        let of = |rows: &[MachineRow], name: &str| -> u128 {
            rows.iter().filter(|row| row.mnemonic == name).map(|row| row.warp_executions).sum()
        };
        ["VADD", "VMAD", "PRMT", "IADD", "IADD3", "IMAD", "LOP3", "IMNMX", "VABSDIFF4"]
            .iter()
            .map(|name| ((*name).to_owned(), of(&with, name).saturating_sub(of(&without, name))))
            .filter(|(_, count)| *count > 0)
            .collect()
    };
    let named = |names: &[(&str, u128)]| -> Vec<(String, u128)> {
        names.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    let add = "vadd.u32.u32.u32 %r3, %r1, %r2;";
    assert_eq!(mnemonics("sm_35", add), named(&[("VADD", 1)]));
    assert_eq!(mnemonics("sm_50", add), named(&[("VADD", 1)]));
    assert_eq!(mnemonics("sm_80", add), named(&[("PRMT", 2), ("IADD3", 1)]));
    let product = "vmad.u32.u32.u32 %r3, %r1, %r2, %r1;";
    assert_eq!(mnemonics("sm_50", product), named(&[("VMAD", 1)]));
    assert_eq!(mnemonics("sm_80", product), named(&[("PRMT", 2), ("IMAD", 1)]));
    let bytes = "vmin4.u32.u32.u32 %r3, %r1, %r2, %r1;";
    assert_eq!(mnemonics("sm_50", bytes), named(&[("PRMT", 15), ("IMNMX", 4)]));
    let differences = "vabsdiff4.u32.u32.u32 %r3, %r1, %r2, %r1;";
    for target in ["sm_35", "sm_50", "sm_80"] {
        assert_eq!(mnemonics(target, differences), named(&[("VABSDIFF4", 1)]), "{target}");
    }
}

/// The place and the length of a field are parts of the instructions, if both are literals
/// (`ptxas` 12.9, sm_50, sm_75 and sm_90).
#[test]
fn literal_places_of_fields_need_no_moves() {
    let stored = |operation: &str| format!("{operation} st.global.u32 [%rd1], %r3;");
    let moves = |target: &str, operation: &str| count(target, &stored(operation), "MOV");
    for target in ["sm_50", "sm_70", "sm_90"] {
        let none = moves(target, "add.u32 %r3, %r1, %r2;");
        assert_eq!(moves(target, "bfe.u32 %r3, %r1, 8, 7;"), none, "{target}");
        assert_eq!(moves(target, "bfi.b32 %r3, %r1, %r2, 8, 7;"), none, "{target}");
    }
}

/// The number of the warp may change. Each block reads it, and each use since Hopper. It is a field
/// of a word: `BFE` takes it until Pascal, `SHF` and `SGXT` since Volta (`ptxas` 12.9).
#[test]
fn numbers_of_warps_are_read_anew() {
    let once = "mov.u32 %r3, %warpid; st.global.u32 [%rd1], %r3;";
    let twice = "mov.u32 %r3, %warpid; mov.u32 %r4, %warpid; add.u32 %r5, %r3, %r4; \
                 st.global.u32 [%rd1], %r5;";
    let in_two_blocks = "mov.u32 %r3, %warpid; setp.eq.u32 %p1, %r3, 127; @%p1 bra OUT; \
                         mov.u32 %r4, %warpid; st.global.u32 [%rd1], %r4; OUT:";
    let none = "st.global.u32 [%rd1], %r2;";
    for (target, reads, fields) in [
        ("sm_50", [1, 1, 2], &["BFE"][..]),
        ("sm_70", [1, 1, 2], &["SHF", "SGXT"]),
        ("sm_80", [1, 1, 2], &["SHF", "SGXT"]),
        ("sm_90", [1, 2, 2], &["SHF", "SGXT"]),
    ] {
        for (body, expected) in [once, twice, in_two_blocks].into_iter().zip(reads) {
            for name in fields.iter().chain(&["S2R"]) {
                let found = count(target, body, name) - count(target, none, name);
                assert_eq!(found, expected, "{target}: {name} of {body}");
            }
        }
    }
}

#[test]
fn dead_instructions_of_any_kind_cost_nothing() {
    for operation in [
        "vadd.u32.u32.u32 %r3, %r1, %r2;",
        "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;",
        "vote.sync.ballot.b32 %r3, %p1, -1;",
        "mad24.lo.u32 %r3, %r1, %r2, %r1;",
        "addc.u32 %r3, %r1, %r2;",
    ] {
        assert_eq!(total("sm_80", operation), total("sm_80", ""), "{operation}");
    }
    // The carry is read, though not the sum.
    let chain = "sub.cc.u32 %r3, %r1, %r2; subc.u32 %r4, 0, 0; st.global.u32 [%rd1], %r4;";
    assert_eq!(count("sm_80", chain, "IADD"), 2);
}

/// `ptxas` 12.9, sm_50 and sm_80: what it computes itself, and what it does not.
#[test]
fn operations_on_literals_are_computed() {
    let of = |target: &str, operation: &str, mnemonics: &[&str]| -> u128 {
        let body = format!("{operation} st.global.f32 [%rd1], %f3;");
        mnemonics.iter().map(|mnemonic| count(target, &body, mnemonic)).sum()
    };
    for target in ["sm_50", "sm_80"] {
        let conversion = "mov.u32 %r3, 5; cvt.rn.f32.s32 %f3, %r3;";
        assert_eq!(of(target, conversion, &["I2F"]), 0, "{target}");
        let power = "mov.u32 %r3, 5; cvt.rn.f32.s32 %f1, %r3; ex2.approx.f32 %f2, %f1; \
                     mul.f32 %f3, %f2, %f2;";
        assert_eq!(of(target, power, &["I2F", "MUFU", "FMUL"]), 0, "{target}");
        let kept = "mov.f32 %f1, 0f40A00000; fma.rn.f32 %f3, %f1, %f1, %f1;";
        assert_eq!(of(target, kept, &["FFMA"]), 1, "{target}");
        let doubled = "mov.u32 %r3, 5; cvt.rn.f64.s32 %fd1, %r3; cvt.rn.f32.f64 %f3, %fd1;";
        assert!(of(target, doubled, &["I2F", "F2F"]) > 0, "{target}");
    }
}

/// A local array whose addresses are all stated is in registers (`ptxas` 12.9, sm_50 to sm_90).
#[test]
fn local_arrays_with_known_indices_are_registers() {
    let array = |last: &str| {
        format!(
            "{{ .local .align 16 .b8 array[64]; .reg .b64 %a<4>;\n\
             mov.u64 %a1, array; add.u64 %a2, %a1, 16; ld.global.f32 %f1, [%rd1];\n\
             st.local.f32 [%a1+4], %f1; st.local.f32 [%a2], %f1; ld.local.f32 %f2, [%a1+4];\n\
             ld.local.f32 %f3, [%a2]; add.f32 %f4, %f2, %f3; {last}\n\
             st.global.f32 [%rd1], %f4; }}"
        )
    };
    let accesses = |target: &str, last: &str| {
        let accesses = profile(target, &array(last)).local_accesses();
        accesses.values().map(|value| value.loads + value.stores).sum::<u128>()
    };
    // Before anything has run.
    let known_before = |target: &str, last: &str| {
        known_accesses(target.parse().unwrap(), &program(&array(last))).local_in_registers
    };
    for target in ["sm_20", "sm_50", "sm_80", "sm_90"] {
        assert_eq!(accesses(target, ""), 0, "{target}");
        assert_eq!(known_before(target, "").len(), 4, "{target}");
        // Somebody else could read it.
        let escapes = "cvta.local.u64 %a3, %a1; st.global.u64 [%rd1+64], %a3;";
        assert_eq!(accesses(target, escapes), 4, "{target}");
        assert!(known_before(target, escapes).is_empty(), "{target}");
    }
    // A thread chooses one of five words: five comparisons.
    let chosen = "mul.wide.u32 %a3, %r1, 4; add.u64 %rd9, %a1, %a3; ld.local.f32 %f4, [%rd9];";
    for target in ["sm_50", "sm_80", "sm_90"] {
        assert_eq!(accesses(target, chosen), 0, "{target}");
        assert_eq!(known_before(target, chosen).len(), 5, "{target}");
        let compared = count(target, &array(chosen), "ISETP");
        assert_eq!(compared, 5, "{target}");
    }
}

/// `ptxas -v` 12.9 for sm_75 and sm_90 said which arrays of these loops have a stack frame.
#[test]
fn a_loop_chooses_among_registers_if_it_is_long_enough_for_the_comparisons() {
    let array = |words: u32, width: usize, further: usize, pragma: &str| {
        let vector = if width == 1 { String::new() } else { format!(".v{width}") };
        let registers: Vec<_> = (0..width).map(|word| format!("%w{word}")).collect();
        let values =
            if width == 1 { registers[0].clone() } else { format!("{{{}}}", registers.join(", ")) };
        let products: String = registers
            .iter()
            .map(|register| format!("fma.rn.f32 {register}, {register}, %f1, %f2;\n"))
            .collect();
        let rest = "ex2.approx.f32 %f1, %f1;\n".repeat(further);
        format!(
            "{{ .local .align 16 .b8 array[{bytes}]; .reg .b64 %a<4>; .reg .f32 %w<4>; .reg .b32 %c<2>;\n\
             mov.u64 %a1, array; mov.u64 %a2, %a1; mov.u32 %c1, 0;\n\
             st.local.f32 [%a1+{last}], %f1;\n\
             again:\n{pragma}\
             ld.local{vector}.f32 {values}, [%a2];\n{products}{rest}\
             st.local{vector}.f32 [%a2], {values};\n\
             add.s32 %c1, %c1, 1; add.s64 %a2, %a2, {step}; setp.ne.s32 %p1, %c1, {trips};\n\
             @%p1 bra again;\n\
             ld.local.f32 %f4, [%a1+4]; st.global.f32 [%rd1], %f4; }}",
            bytes = 4 * words,
            last = 4 * words - 4,
            step = 4 * width,
            trips = words as usize / width,
        )
    };
    let accesses = |body: &str| -> u128 {
        let accesses = profile("sm_75", body).local_accesses();
        accesses.values().map(|value| value.loads + value.stores).sum()
    };
    // Words, words of an access, instructions beside the accesses and their products.
    for (words, width, further, in_registers) in [
        (4, 1, 0, false),
        (8, 2, 0, true),
        (12, 2, 0, false),
        (16, 4, 0, true),
        (24, 4, 0, false),
        (5, 1, 4, true),
        (8, 1, 4, false),
        (8, 1, 14, true),
        (48, 4, 57, true),
        (64, 4, 57, false),
    ] {
        let body = array(words, width, further, ".pragma \"nounroll\";\n");
        assert_eq!(accesses(&body) == 0, in_registers, "{words} {width} {further}");
        if in_registers {
            let places = u128::from(words) / width as u128;
            // One more comparison ends the loop.
            assert_eq!(count("sm_75", &body, "ISETP"), places + 1, "{words} {width}");
        }
    }
    // Without the pragma the loop is unrolled completely, whichever way it counts.
    for (words, width, further) in [(4, 1, 0), (24, 4, 0), (8, 1, 14), (32, 1, 0)] {
        let body = array(words, width, further, "");
        assert_eq!(accesses(&body), 0, "{words} {width}");
        let trips = words as usize / width;
        let down = body
            .replace("mov.u32 %c1, 0", &format!("mov.u32 %c1, {trips}"))
            .replace("add.s32 %c1, %c1, 1", "sub.s32 %c1, %c1, 1")
            .replace(&format!("setp.ne.s32 %p1, %c1, {trips}"), "setp.ne.s32 %p1, %c1, 0");
        assert_ne!(down, body);
        assert_eq!(accesses(&down), 0, "{words} {width}");
        let up_to = body.replace("setp.ne.s32", "setp.lt.s32");
        assert_eq!(accesses(&up_to), 0, "{words} {width}");
        assert_eq!(count("sm_75", &body, "MUFU"), further as u128);
    }
    // Nobody knows the rounds of these loops, and they are too short for comparisons.
    for end in ["setp.ne.s32 %p1, %c1, %r1", "setp.ne.s64 %p1, %q1, 4294967300"] {
        let body = array(8, 1, 0, "")
            .replace("setp.ne.s32 %p1, %c1, 8", end)
            .replace(".reg .b32 %c<2>;", ".reg .b32 %c<2>; .reg .b64 %q<2>; mov.u64 %q1, 0;")
            .replace("add.s32 %c1, %c1, 1;", "add.s32 %c1, %c1, 1; add.s64 %q1, %q1, 1;");
        assert!(accesses(&body) > 0, "{end}");
    }
}

/// Every name that a rule gives, over a kernel for each row of the instruction table.
#[test]
fn machine_instructions_of_rules_are_instructions_of_machines() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../interpreter/tests/instructions");
    let mut unknown = std::collections::BTreeSet::new();
    let mut modules = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = cases::expanded(&std::fs::read_to_string(&path).unwrap());
        let Ok(module) = gpucast_ptx_frontend::load(&text) else { continue };
        for kernel in Program::kernels(&module) {
            let Ok(program) = Program::new(&module, &text, kernel) else { continue };
            modules += 1;
            let table = ones(&program);
            for target in ["sm_20", "sm_35", "sm_50", "sm_70", "sm_80", "sm_90", "sm_120"] {
                let rows = translate(target.parse().unwrap(), &program, &table).rows;
                let names = rows.into_iter().map(|row| row.mnemonic.into_owned());
                unknown.extend(names.filter(|name| meaning(name).is_none()));
            }
        }
    }
    assert!(modules > 100, "{modules}");
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// A target that no row names gets the closest rules and a sentence that says so.
#[test]
fn unknown_targets_are_said_to_be_unknown() {
    let notes = profile("sm_130", "").notes;
    assert!(notes.iter().any(|note| note.contains("no rules are known for sm_130")), "{notes:?}");
    assert!(!profile("sm_121", "").notes.iter().any(|note| note.contains("no rules are known")));
}

/// The names in the table of facts are what the rules write.
#[test]
fn names_of_mnemonics_are_those_of_machine_instructions() {
    for &opcode in gpucast_ptx_frontend::isa::Opcode::ALL {
        let name = gpucast_ptx_frontend::isa::opcode_facts(opcode).machine;
        assert!(meaning(name).is_some(), "{opcode} {name}");
    }
}
