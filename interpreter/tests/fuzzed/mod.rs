//! What must hold for any kernel at all. The fuzz target of `tests/fuzz/` and a short deterministic
//! run of the tests share these functions.

#![allow(dead_code, reason = "each fuzz target uses one function")]
#![allow(clippy::expect_used, reason = "what cannot be is for the fuzzer to tell")]

use gpucast_interpreter::{Argument, DeviceMemory, Launch, NoObserver, Options, Program, run};
use gpucast_ptx_frontend::load;

/// An instruction on 32 bits, and what it computes by a definition of its own.
type Operation = (&'static str, fn(u32, u32, u32) -> u32);

/// Operations whose lanes are compared one by one.
const OPERATIONS: &[Operation] = &[
    ("add.u32 %d, %a, %b", |a, b, _| (u64::from(a) + u64::from(b)) as u32),
    ("sub.s32 %d, %a, %b", |a, b, _| (i64::from(a as i32) - i64::from(b as i32)) as u32),
    ("mul.lo.u32 %d, %a, %b", |a, b, _| (u64::from(a) * u64::from(b)) as u32),
    ("mul.hi.u32 %d, %a, %b", |a, b, _| ((u64::from(a) * u64::from(b)) >> 32) as u32),
    ("mul.hi.s32 %d, %a, %b", |a, b, _| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
    ("mad.lo.u32 %d, %a, %b, %c", |a, b, c| (u64::from(a) * u64::from(b) + u64::from(c)) as u32),
    ("sad.u32 %d, %a, %b, %c", |a, b, c| (u64::from(a.abs_diff(b)) + u64::from(c)) as u32),
    ("and.b32 %d, %a, %b", |a, b, _| a & b),
    ("xor.b32 %d, %a, %b", |a, b, _| a ^ b),
    ("not.b32 %d, %a", |a, _, _| !a),
    ("lop3.b32 %d, %a, %b, %c, 0xca", |a, b, c| a & b | !a & c),
    // Amounts beyond the width leave nothing, or the sign.
    ("shl.b32 %d, %a, %b", |a, b, _| if b > 31 { 0 } else { a << b }),
    ("shr.u32 %d, %a, %b", |a, b, _| if b > 31 { 0 } else { a >> b }),
    ("shr.s32 %d, %a, %b", |a, b, _| ((a as i32) >> b.min(31)) as u32),
    ("shf.l.wrap.b32 %d, %a, %b, %c", |a, b, c| {
        let both = u64::from(b) << 32 | u64::from(a);
        (both << (c & 31) >> 32) as u32
    }),
    ("min.s32 %d, %a, %b", |a, b, _| if (a as i32) < b as i32 { a } else { b }),
    ("max.u32 %d, %a, %b", |a, b, _| if a > b { a } else { b }),
    ("popc.b32 %d, %a", |a, _, _| (0..32).map(|bit| a >> bit & 1).sum()),
    ("clz.b32 %d, %a", |a, _, _| (0..32).take_while(|bit| a << bit >> 31 == 0).count() as u32),
    ("brev.b32 %d, %a", |a, _, _| (0..32).fold(0, |to, bit| to << 1 | a >> bit & 1)),
    ("bfe.u32 %d, %a, 5, 11", |a, _, _| a >> 5 & 0x7ff),
    ("bfi.b32 %d, %a, %b, 5, 11", |a, b, _| b & !(0x7ff << 5) | (a & 0x7ff) << 5),
    ("slct.u32.s32 %d, %a, %b, %c", |a, b, c| if c >> 31 == 0 { a } else { b }),
];

/// How some lanes are kept from an operation.
const WAYS: [&str; 3] = [
    "@%q OPERATION;",
    "@!%q bra BEHIND;\nOPERATION;\nBEHIND:",
    "@%q bra THERE;\nbra BEHIND;\nTHERE: OPERATION;\nBEHIND:",
];

/// The first bytes choose an operation, a way and the lanes; the rest are operands. Lanes that
/// execute the operation hold its result, and the others what they held before.
pub(crate) fn lanes(data: &[u8]) {
    let [operation, way, a, b, c, d, operands @ ..] = data else { return };
    if operands.is_empty() {
        return;
    }
    let (operation, compute) = OPERATIONS[usize::from(*operation) % OPERATIONS.len()];
    let way = WAYS[usize::from(*way) % WAYS.len()].replace("OPERATION", operation);
    let mask = u32::from_le_bytes([*a, *b, *c, *d]);
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u32 mask) {{\n\
         .reg .b32 %a, %b, %c, %d, %t, %m; .reg .b64 %at, %base; .reg .pred %q;\n\
         ld.param.u64 %base, [data]; ld.param.u32 %m, [mask]; mov.u32 %t, %tid.x;\n\
         mad.wide.u32 %at, %t, 16, %base;\n\
         ld.global.u32 %a, [%at]; ld.global.u32 %b, [%at+4]; ld.global.u32 %c, [%at+8];\n\
         ld.global.u32 %d, [%at+12];\n\
         shr.u32 %m, %m, %t; and.b32 %m, %m, 1; setp.ne.u32 %q, %m, 0;\n\
         {way}\nst.global.u32 [%at+12], %d; ret; }}\n"
    );
    let module = load(&text).expect("the kernel is sound");
    let program = Program::new(&module, &text, "k").expect("every operation can be executed");
    let mut memory = DeviceMemory::new();
    let address = memory.allocate("data", 32 * 16).expect("memory for 512 bytes");
    let before: Vec<u8> = operands.iter().copied().cycle().take(32 * 16).collect();
    if let Some(bytes) = memory.bytes_mut("data") {
        bytes.copy_from_slice(&before);
    }
    let launch = Launch {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(address), Argument::Bytes(mask.to_le_bytes().to_vec())],
    };
    let (options, silent) = (Options::default(), gpucast_interpreter::Silent);
    run(&program, &launch, &mut memory, &mut NoObserver, &options, &silent)
        .expect("nothing can go wrong");
    let after = memory.bytes("data").unwrap_or_default();
    for lane in 0..32 {
        let word = |bytes: &[u8], at: usize| {
            let at = 16 * lane + 4 * at;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| word(&before, at));
        let wanted = if mask >> lane & 1 != 0 { compute(a, b, c) } else { d };
        let got = word(after, 3);
        assert_eq!(got, wanted, "{way} of {a:#x}, {b:#x}, {c:#x} in lane {lane} of {mask:#x}");
    }
}

/// Longer texts take longer and find nothing else.
const LONGEST_TEXT: usize = 32 << 10;
/// Kernels of one text that are executed.
const MOST_KERNELS: usize = 4;
/// Module variables above this size are not allocated.
const MOST_BYTES: u64 = 1 << 20;
/// Bytes of each buffer that a parameter may point to.
const BUFFER_BYTES: u64 = 4096;

/// Lowering refuses or executes; execution ends in a result or a fault.
pub(crate) fn execute(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(&data[..data.len().min(LONGEST_TEXT)]) else { return };
    let Ok(module) = load(text) else { return };
    if module.variables.iter().any(|variable| variable.size_bytes > MOST_BYTES) {
        return;
    }
    for kernel in Program::kernels(&module).take(MOST_KERNELS) {
        let Ok(program) = Program::new(&module, text, kernel) else { continue };
        let mut memory = DeviceMemory::new();
        let mut arguments = Vec::new();
        for (index, parameter) in program.parameters().iter().take(64).enumerate() {
            arguments.push(if parameter.bytes == 8 && !parameter.is_array {
                let name = format!("buffer {index}");
                let address = memory.allocate(&name, BUFFER_BYTES).unwrap_or_default();
                let bytes = memory.bytes_mut(&name).unwrap_or_default();
                for (at, byte) in bytes.iter_mut().enumerate() {
                    *byte = (at * (index + 3)) as u8;
                }
                Argument::Bytes(address.to_le_bytes().to_vec())
            } else {
                Argument::Bytes(vec![index as u8 + 1; parameter.bytes as usize])
            });
        }
        let launch = Launch {
            grid: [2, 1, 1],
            block: [40, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 256,
            arguments,
        };
        let options = Options { instruction_budget: 4000, ..Options::default() };
        let outcome = run(
            &program,
            &launch,
            &mut memory,
            &mut NoObserver,
            &options,
            &gpucast_interpreter::Silent,
        );
        // Faults are results; their texts must not panic either.
        if let Err(error) = outcome {
            let _ = error.to_string();
        }
    }
}
