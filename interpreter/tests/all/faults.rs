//! Every way to fail: what is said, and where.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use gpucast_interpreter::{
    Argument, DeviceMemory, Fault, FaultKind, Launch, LaunchError, LowerError, NoObserver, Options,
    Program, RunError, Silent, run,
};
use gpucast_ptx_frontend::ScalarType;
use gpucast_ptx_frontend::source::LineIndex;

use crate::common::{Shape, kernel, launch, module};

/// The fault of a launch, its sentence, and the text of the line that it blames.
fn fault(body: &str, shape: &Shape) -> (Fault, String, String) {
    let text = if body.starts_with(".version") { body.to_owned() } else { kernel(body) };
    match launch(&text, shape) {
        Err(RunError::Fault(fault)) => {
            let site = fault.instruction.as_ref().expect("an instruction to blame");
            let line = LineIndex::new(&text).line(site.span.start);
            let line = text.lines().nth(line as usize - 1).unwrap().trim().to_owned();
            let sentence = fault.to_string();
            (*fault, sentence, line)
        }
        other => panic!("no fault but {other:?}\n{text}"),
    }
}

/// A body that fails in one CTA of 64 threads: the sentence and the line.
fn check(body: &str, sentence: &str, line: &str) {
    let (_, said, blamed) = fault(body, &Shape::new(1, 64, 16));
    assert_eq!(said, sentence);
    assert_eq!(blamed, line);
}

#[test]
fn accesses_outside_of_buffers_name_the_nearest_one() {
    check(
        "mov.u32 %r0, 1;\nst.global.u32 [%at], %r0;\nret;",
        "out-of-bounds store of 4 bytes at global address 0x700000040, 0 bytes past the end of \
         buffer out (64 bytes) (kernel k, CTA 0,0,0, thread 16,0,0)",
        "st.global.u32 [%at], %r0;",
    );
    check(
        "ld.global.u64 %d0, [%out+-8];\nret;",
        "out-of-bounds load of 8 bytes at global address 0x6fffffff8, 8 bytes before the start of \
         buffer out (64 bytes) (kernel k, CTA 0,0,0, thread 0,0,0)",
        "ld.global.u64 %d0, [%out+-8];",
    );
    check(
        "mov.u64 %d0, 16;\nld.u8 %r0, [%d0];\nret;",
        "out-of-bounds load of 1 bytes at global address 0x10, which belongs to no buffer (kernel k, CTA 0,0,0, thread 0,0,0)",
        "ld.u8 %r0, [%d0];",
    );
    check(
        "atom.global.add.u32 %r0, [%out+0x7fffffff0], 1;\nret;",
        "out-of-bounds store of 4 bytes at global address 0xefffffff0, which belongs to no \
         buffer (kernel k, CTA 0,0,0, thread 0,0,0)",
        "atom.global.add.u32 %r0, [%out+0x7fffffff0], 1;",
    );
}

#[test]
fn accesses_outside_of_the_other_spaces_tell_their_size() {
    for (space, name, bytes) in [("shared", "shared", 8), ("local", "local", 16)] {
        let body = format!(
            ".{space} .align 4 .b32 box[2];\nsetp.eq.u32 %p, %tid, 37;\nmov.u32 %r0, box;\n\
             @%p ld.{space}.u32 %r1, [%r0+16];\nret;"
        );
        check(
            &body,
            &format!(
                "out-of-bounds load of 4 bytes at {name} address 0x10; {bytes} bytes are \
                 allocated (kernel k, CTA 0,0,0, thread 37,0,0)"
            ),
            &format!("@%p ld.{space}.u32 %r1, [%r0+16];"),
        );
    }
    check(
        "mov.u64 %d0, out;\nld.param.u64 %d1, [%d0+8];\nret;",
        "out-of-bounds load of 8 bytes at parameter address 0x8; 8 bytes are allocated (kernel k, \
         CTA 0,0,0, thread 0,0,0)",
        "ld.param.u64 %d1, [%d0+8];",
    );
    let text = kernel("mov.u64 %d0, fixed;\nld.const.u32 %r1, [%d0+4];\nret;")
        .replace(".visible", ".const .u32 fixed = 1;\n.visible");
    let (fault, said, _) = fault(&text, &Shape::new(1, 1, 1));
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { limit: Some(4), .. }));
    assert!(said.starts_with("out-of-bounds load of 4 bytes at constant address 0x4"), "{said}");
}

#[test]
fn misaligned_accesses_and_stores_to_constants_are_refused() {
    check(
        "mov.u32 %r0, 1;\nst.global.v2.u32 [%out+4], {%r0, %r0};\nret;",
        "misaligned access: address 0x700000004 is not a multiple of 8 bytes (kernel k, CTA \
         0,0,0, thread 0,0,0)",
        "st.global.v2.u32 [%out+4], {%r0, %r0};",
    );
    let text = kernel("cvta.const.u64 %d0, fixed;\nst.u32 [%d0], %tid;\nret;")
        .replace(".visible", ".const .u32 fixed = 1;\n.visible");
    let (_, said, line) = fault(&text, &Shape::new(1, 1, 1));
    assert!(said.starts_with("store to read-only constant memory at address 0x0"), "{said}");
    assert_eq!(line, "st.u32 [%d0], %tid;");
}

#[test]
fn an_endless_loop_uses_up_the_budget() {
    let mut shape = Shape::new(2, 32, 1);
    shape.options.instruction_budget = 100_000;
    let (fault, said, line) = fault("LOOP:\nbra LOOP;", &shape);
    assert_eq!(fault.kind, FaultKind::BudgetExhausted { budget: 100_000 });
    assert!(said.contains("budget of 100000 warp instructions"), "{said}");
    assert_eq!((fault.cta, line.as_str()), ([0, 0, 0], "bra LOOP;"));
}

#[test]
fn waits_that_nothing_ends_are_deadlocks() {
    check(
        "setp.lt.u32 %p, %tid, 32;\n@%p bra A;\nbar.sync 1;\nret;\nA:\nbar.sync 2;\nret;",
        "deadlock at a barrier: 32 threads wait at barrier 2 for 64 (kernel k, CTA 0,0,0, thread \
         0,0,0)",
        "bar.sync 2;",
    );
    check(
        "setp.lt.u32 %p, %tid, 8;\n@%p bra A;\nbar.sync 0;\nret;\nA:\nbar.sync 0;\nret;",
        "divergent barrier: threads of one warp wait at different barrier instructions (kernel k, \
         CTA 0,0,0, thread 0,0,0)",
        "bar.sync 0;",
    );
    let (fault, said, _) = fault(
        "setp.lt.u32 %p, %tid, 8;\n@%p bra A;\nshfl.sync.idx.b32 %r0, %r0, 0, 31, -1;\nret;\n\
         A:\nbar.sync 0;\nshfl.sync.idx.b32 %r0, %r0, 0, 31, -1;\nret;",
        &Shape::new(1, 32, 1),
    );
    assert!(
        matches!(fault.kind, FaultKind::WarpDeadlock { .. } | FaultKind::BarrierDeadlock { .. }),
        "{said}"
    );
}

#[test]
fn traps_bad_barriers_and_bad_targets_name_the_thread() {
    check(
        "setp.eq.u32 %p, %tid, 40;\n@%p trap;\nret;",
        "the kernel executed trap (kernel k, CTA 0,0,0, thread 40,0,0)",
        "@%p trap;",
    );
    check(
        "setp.eq.u32 %p, %tid, 40;\nadd.u32 %r0, %tid, 15;\n@%p barrier.sync %r0;\nret;",
        "there is no barrier 55: a CTA has barriers 0 to 15 (kernel k, CTA 0,0,0, thread 40,0,0)",
        "@%p barrier.sync %r0;",
    );
    check(
        "mov.u32 %r0, 16;\nbar.arrive %r0, 64;\nret;",
        "there is no barrier 16: a CTA has barriers 0 to 15 (kernel k, CTA 0,0,0, thread 0,0,0)",
        "bar.arrive %r0, 64;",
    );
    check(
        "T: .branchtargets A, A;\nand.b32 %r0, %tid, 3;\nbrx.idx %r0, T;\nA:\nret;",
        "indirect branch to 0x2, which is not a valid target (kernel k, CTA 0,0,0, thread 2,0,0)",
        "brx.idx %r0, T;",
    );
}

#[test]
fn the_first_cta_that_fails_is_reported() {
    let body = "mov.u32 %r0, %ctaid.x;\nsetp.ge.u32 %p, %r0, 5;\n@%p trap;\nret;";
    let (fault, ..) = fault(body, &Shape::new(40, 32, 1));
    assert_eq!(fault.cta, [5, 0, 0]);
}

/// What a launch of a kernel with these parameters and directives says.
fn refused(header: &str, launch: impl FnOnce(&mut Launch)) -> LaunchError {
    let text = module(&format!(".visible .entry k({header} {{ ret; }}"));
    let loaded = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&loaded, &text, "k").unwrap();
    let mut memory = DeviceMemory::new();
    let mut request = Launch {
        grid: [1; 3],
        block: [32, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: Vec::new(),
    };
    launch(&mut request);
    let options = Options::default();
    match run(&program, &request, &mut memory, &mut NoObserver, &options, &Silent) {
        Err(RunError::Launch(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn impossible_launches_are_refused_with_a_reason() {
    let check = |error: LaunchError, text: &str| assert_eq!(error.to_string(), text);
    check(
        refused(".param .u64 a, .param .u32 n)", |_| {}),
        "the kernel takes 2 arguments (a, n), but 0 were given",
    );
    let scalar = |ty, bits| Argument::Scalar { ty, bits };
    check(
        refused(".param .f32 x)", |l| l.arguments = vec![scalar(ScalarType::S32, 1)]),
        "argument 1 is a scalar of type s32, but parameter x is .f32",
    );
    check(
        refused(".param .f32 x)", |l| l.arguments = vec![Argument::Address(0)]),
        "argument 1 is a buffer, but parameter x is .f32",
    );
    check(
        refused(".param .align 4 .b8 s[12])", |l| l.arguments = vec![Argument::Bytes(vec![0; 8])]),
        "argument 1 is 8 bytes, but parameter s is a structure of 12 bytes",
    );
    check(
        refused(")", |l| l.block = [64, 32, 1]),
        "a block of 64 x 32 x 1 has 2048 threads; at most 1024 are possible",
    );
    check(refused(")", |l| l.block = [1, 1, 65]), "block size 65 in z is not between 1 and 64");
    check(refused(")", |l| l.grid = [0, 1, 1]), "grid size 0 in x is not between 1 and 2147483647");
    check(
        refused(")", |l| l.grid = [u32::MAX; 3]),
        "grid size 4294967295 in x is not between 1 and 2147483647",
    );
    check(
        refused(").reqntid 16, 2, 1", |l| l.block = [32, 1, 1]),
        "the kernel requires blocks of 16 x 2 x 1 threads (.reqntid), not 32 x 1 x 1",
    );
    check(
        refused(").maxntid 16", |l| l.block = [32, 1, 1]),
        "a block of 32 x 1 x 1 has 32 threads; at most 16 are possible",
    );
    check(
        refused(")", |l| l.dynamic_shared_bytes = 1 << 20),
        "a block uses 1048576 bytes of shared memory; at most 232448 are possible",
    );
    check(
        refused(")", |l| l.dynamic_shared_bytes = u32::MAX),
        "a block uses 4294967295 bytes of shared memory; at most 232448 are possible",
    );
}

/// Lowering of kernel `k` fails with a sentence that contains `reason`.
fn not_lowered(text: &str, reason: &str) {
    let text = module(text);
    let Ok(loaded) = gpucast_ptx_frontend::load(&text) else { return };
    match Program::new(&loaded, &text, "k") {
        Err(error) => assert!(error.to_string().contains(reason), "{error}"),
        Ok(_) => panic!("lowered: {text}"),
    }
}

/// Kernel `k` is lowered, but for one instruction, at which a launch stops because of `reason`.
fn stops_where(text: &str, reason: &str) {
    let text = module(text);
    let Ok(loaded) = gpucast_ptx_frontend::load(&text) else { return };
    let program = Program::new(&loaded, &text, "k").unwrap();
    let reasons: Vec<String> = program
        .unsupported()
        .iter()
        .map(|construct| format!("{} {}", construct.what, construct.reason))
        .collect();
    assert!(matches!(&reasons[..], [only] if only.contains(reason)), "{reasons:?}");
}

#[test]
fn oversized_and_unknown_things_are_refused_before_anything_is_allocated() {
    for bytes in ["1000000", "0xffffffffff"] {
        for space in ["local", "const"] {
            let text = if space == "local" {
                format!(".visible .entry k() {{ .local .b8 x[{bytes}]; ret; }}")
            } else {
                format!(".const .b8 x[{bytes}];\n.visible .entry k() {{ ret; }}")
            };
            not_lowered(&text, "at most");
        }
    }
    not_lowered(".visible .entry k(.param .b8 x[100000]) { ret; }", "at most");
    stops_where(
        ".visible .entry k(.param .u64 a) { .reg .b64 %d; ld.param.u64 %d, [a+-8]; ret; }",
        "offset -8 is outside the 8 bytes of parameters",
    );
    not_lowered(".visible .entry other() { ret; }", "there is no kernel named k");
    stops_where(
        ".visible .entry k() { .reg .b32 %r; add.u8x4 %r, %r, %r; ret; }",
        "add.u8x4 is not executed yet",
    );
    let text = module(".visible .entry k() { .shared .b8 x[0xffffffffff]; ret; }");
    if let Ok(loaded) = gpucast_ptx_frontend::load(&text) {
        let program = Program::new(&loaded, &text, "k").unwrap();
        let request = Launch {
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: None,
            dynamic_shared_bytes: u32::MAX,
            arguments: Vec::new(),
        };
        let outcome = run(
            &program,
            &request,
            &mut DeviceMemory::new(),
            &mut NoObserver,
            &Options::default(),
            &Silent,
        );
        assert!(matches!(outcome, Err(RunError::Launch(LaunchError::SharedMemory { .. }))));
    }
    let text = module(".global .b8 x[0xffffffffffff];\n.visible .entry k() { ret; }");
    if let Ok(loaded) = gpucast_ptx_frontend::load(&text) {
        let _: Result<_, LowerError> = Program::new(&loaded, &text, "k").map(|_| ());
    }
}

#[test]
fn division_by_zero_and_overflow_do_not_panic() {
    let body = "mov.u32 %r0, 0; mov.u32 %r1, 0x80000000; mov.u32 %r2, -1;\n\
         div.u32 %r3, %r1, %r0; rem.u32 %r3, %r1, %r0; div.s32 %r3, %r1, %r2;\n\
         rem.s32 %r3, %r1, %r2; abs.s32 %r3, %r1; mad24.hi.sat.s32 %r3, %r1, %r2, %r1;\n\
         mov.u64 %d0, 0; mov.u64 %d1, 0x8000000000000000; mov.u64 %d2, -1;\n\
         div.s64 %d3, %d1, %d0; rem.s64 %d3, %d1, %d2; div.s64 %d3, %d1, %d2; sad.s64 %d3, %d1, %d2, %d1;\n\
         ret;";
    launch(&kernel(body), &Shape::new(1, 32, 1)).unwrap();
}
