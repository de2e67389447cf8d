//! Calls of every kind, against plain Rust: `kernels/calls.cu`, as compiled by nvcc, and PTX by
//! hand for what compilers do not write.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use std::sync::Mutex;

use gpucast_interpreter::{
    Argument, DeviceMemory, FaultKind, Host, Launch, NoObserver, Options, Program, RunError, run,
};
use gpucast_ptx_frontend::ScalarType;

use crate::common::{Shape, launch, module};

const CALLS: &str = include_str!("../kernels/calls.ptx");

/// Keeps what kernels print.
#[derive(Default)]
struct Paper(Mutex<Vec<u8>>);

impl Host for Paper {
    fn print(&self, text: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(text);
    }
}

/// What came of a launch of 2 CTAs: the words of the buffer, and what was printed.
fn compiled(
    kernel: &str,
    threads: u32,
    contents: &[u32],
    scalars: &[i32],
    options: Options,
) -> (Result<Vec<u32>, RunError>, String) {
    let module = gpucast_ptx_frontend::load(CALLS).unwrap();
    let program = Program::new(&module, CALLS, kernel).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = DeviceMemory::new();
    let mut arguments = Vec::new();
    if !contents.is_empty() {
        let address = memory.allocate("buffer", contents.len() as u64 * 4).unwrap();
        let bytes: Vec<u8> = contents.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.bytes_mut("buffer").unwrap().copy_from_slice(&bytes);
        arguments.push(Argument::Address(address));
    }
    for &scalar in scalars {
        arguments.push(Argument::Scalar { ty: ScalarType::U32, bits: u64::from(scalar as u32) });
    }
    let launch = Launch {
        grid: [2, 1, 1],
        block: [threads, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments,
    };
    let paper = Paper::default();
    let result = run(&program, &launch, &mut memory, &mut NoObserver, &options, &paper);
    let words = memory.bytes("buffer").unwrap_or_default().chunks_exact(4);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let printed = String::from_utf8(paper.0.into_inner().unwrap()).unwrap();
    (result.map(|_| words), printed)
}

fn values(kernel: &str) -> Vec<u32> {
    compiled(kernel, 48, &[0; 96], &[], Options::default()).0.unwrap_or_else(|e| panic!("{e}"))
}

fn fault(result: Result<Vec<u32>, RunError>) -> (FaultKind, Option<[u32; 3]>) {
    match result {
        Err(RunError::Fault(fault)) => (fault.kind, fault.thread),
        other => panic!("no fault: {other:?}"),
    }
}

#[test]
fn recursion_twice_in_an_expression() {
    fn fibonacci(n: u32) -> u32 {
        if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
    }
    let expected: Vec<u32> = (0..96).map(|i| fibonacci(i % 14)).collect();
    assert_eq!(values("fibonacci_numbers"), expected);
}

#[test]
fn recursion_nested_in_its_own_argument() {
    fn ackermann(m: u32, n: u32) -> u32 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    let expected: Vec<u32> = (0..96).map(|i| ackermann(i % 3, i % 7)).collect();
    assert_eq!(values("ackermann_values"), expected);
}

#[test]
fn activations_have_local_arrays_of_their_own() {
    let steps = |n: u32| {
        let (mut n, mut steps, mut before) = (n, 0, 0);
        while n != 1 {
            before = n;
            n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
            steps += 1;
        }
        // The last activation adds what the one before it holds.
        steps + before
    };
    let expected: Vec<u32> = (0..96).map(|i| steps(i + 1)).collect();
    assert_eq!(values("collatz_steps"), expected);
}

#[test]
fn quicksort_of_many_lists_at_once() {
    let count = 57;
    let mut random = 1u64;
    let list: Vec<u32> = (0..96 * count)
        .map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 40) as u32
        })
        .collect();
    let (sorted, _) = compiled("sort", 48, &list, &[count], Options::default());
    let mut expected = list;
    expected.chunks_mut(count as usize).for_each(<[u32]>::sort_unstable);
    assert_eq!(sorted.unwrap(), expected);
}

#[test]
fn virtual_functions_of_objects_on_the_device_heap() {
    let area = |i: u32| if i.is_multiple_of(3) { 2.0 * i as f32 } else { (i * i) as f32 };
    let expected: Vec<u32> = (0..96).map(|i| area(i).to_bits()).collect();
    assert_eq!(values("shapes"), expected);
}

#[test]
fn tables_in_global_and_constant_memory() {
    let operation = |i: i32| {
        let first = [i + 7, i - 7, i * 7][i as usize % 3];
        (first + [i * 5, i - 5][i as usize & 1]) as u32
    };
    let expected: Vec<u32> = (0..96).map(operation).collect();
    assert_eq!(values("through_tables"), expected);
}

#[test]
fn printf_prints_in_order_of_ctas_and_lanes() {
    let (result, printed) = compiled("speak", 2, &[], &[2], Options::default());
    assert_eq!(result, Ok(vec![]));
    insta::assert_snapshot!(printed, @r"
    0 of them:  0.000, 0, a,   100%
    1 of them:  0.125, 1099511627776, b,    99%
    2 of them:  0.250, 2199023255552, c,    98%
    done
    ");
}

#[test]
fn an_assertion_that_fails_says_where() {
    let (result, _) = compiled("insist", 48, &[], &[50], Options::default());
    let (kind, thread) = fault(result);
    let FaultKind::Assertion { message, line, function, .. } = kind else { panic!("{kind}") };
    assert_eq!((message.as_str(), function.as_str()), ("i < limit", "void insist(int)"));
    let text = include_str!("../kernels/calls.cu").lines().nth(line as usize - 1).unwrap();
    assert!(text.contains("assert(i < limit);"));
    assert_eq!(thread, Some([2, 0, 0]));
    assert_eq!(compiled("insist", 48, &[], &[96], Options::default()).0, Ok(vec![]));
}

#[test]
fn the_device_heap_hands_out_what_it_has() {
    let allocate = |heap_bytes| {
        let options = Options { heap_bytes, ..Options::default() };
        compiled("allocate", 48, &[0; 96], &[100], options).0.unwrap()
    };
    assert_eq!(allocate(8 << 20), [0; 96]);
    // 4 rounds without memory for most threads, and no harm done.
    let scarce = allocate(1 << 10);
    assert!(scarce.contains(&4_000_000) && scarce.iter().all(|wrong| wrong % 1_000_000 == 0));
}

#[test]
fn a_stack_that_is_too_small_is_told() {
    let options = Options { stack_bytes: 256, ..Options::default() };
    let (kind, _) = fault(compiled("collatz_steps", 48, &[0; 96], &[], options).0);
    assert!(matches!(kind, FaultKind::StackOverflow { bytes, limit } if bytes > limit), "{kind}");
}

/// A kernel that writes one word for each thread to `out`, after other functions.
fn kernel(functions: &str, body: &str) -> String {
    module(&format!(
        "{functions}\n.visible .entry k(.param .u64 out) {{\n\
         .reg .b32 %tid, %r<16>; .reg .b64 %out, %at, %d<8>; .reg .pred %p, %q;\n\
         ld.param.u64 %out, [out];\nmov.u32 %tid, %tid.x;\n\
         mad.wide.u32 %at, %tid, 4, %out;\n{body}\nst.global.b32 [%at], %r0;\nret;\n}}\n"
    ))
}

fn words(functions: &str, body: &str) -> Vec<u32> {
    let text = kernel(functions, body);
    launch(&text, &Shape::new(1, 40, 40)).unwrap_or_else(|error| panic!("{error}\n{text}")).0
}

fn kernel_fault(functions: &str, body: &str) -> FaultKind {
    match launch(&kernel(functions, body), &Shape::new(1, 40, 40)) {
        Err(RunError::Fault(fault)) => fault.kind,
        other => panic!("no fault: {other:?}"),
    }
}

const DOUBLE_AND_SQUARE: &str = "
    .func (.reg .b32 r) double(.reg .b32 a) { add.u32 r, a, a; ret; }
    .func (.reg .b32 r) square(.reg .b32 a) { mul.lo.u32 r, a, a; ret; }";

#[test]
fn register_parameters_through_pointers() {
    let result = words(
        DOUBLE_AND_SQUARE,
        "and.b32 %r1, %tid, 1; setp.eq.u32 %p, %r1, 0;
         mov.u64 %d0, double; @%p mov.u64 %d0, square;
         P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
         call (%r0), %d0, (%tid), P;",
    );
    let expected: Vec<u32> = (0..40).map(|i| if i % 2 == 0 { i * i } else { 2 * i }).collect();
    assert_eq!(result, expected);
}

#[test]
fn lists_and_tables_of_targets() {
    let expected: Vec<u32> = (0..40).map(|i| if i < 20 { i * i } else { 2 * i }).collect();
    let select = "setp.lt.u32 %p, %tid, 20; mov.u64 %d0, double; @%p mov.u64 %d0, square;";
    let list = "T: .calltargets double, square; call (%r0), %d0, (%tid), T;";
    assert_eq!(words(DOUBLE_AND_SQUARE, &format!("{select} {list}")), expected);
    let functions = format!("{DOUBLE_AND_SQUARE} .global .u64 table[2] = {{ double, square }};");
    let table = "setp.lt.u32 %p, %tid, 20; selp.u32 %r1, 8, 0, %p; cvt.u64.u32 %d1, %r1;
         mov.u64 %d2, table; add.u64 %d2, %d2, %d1; ld.global.u64 %d0, [%d2];
         call (%r0), %d0, (%tid), table;";
    assert_eq!(words(&functions, table), expected);
}

#[test]
fn guarded_calls_leave_other_lanes_alone() {
    let recursive = "
        .func (.param .b32 r) sum(.param .b32 n) {
            .reg .b32 %n, %m, %s; .reg .pred %p;
            ld.param.b32 %n, [n];
            setp.ne.u32 %p, %n, 0;
            mov.u32 %s, 0;
            { .param .b32 a; .param .b32 b;
              sub.u32 %m, %n, 1;
              st.param.b32 [a], %m;
              @%p call (b), sum, (a);
              @%p ld.param.b32 %s, [b];
            }
            add.u32 %s, %s, %n;
            st.param.b32 [r], %s;
            ret;
        }";
    let body = "mov.u32 %r0, 1000; setp.gt.u32 %p, %tid, 9;
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %tid;
          @%p call (b), sum, (a); @%p ld.param.b32 %r0, [b]; }";
    let expected = |i: u32| if i > 9 { i * (i + 1) / 2 } else { 1000 };
    assert_eq!(words(recursive, body), (0..40).map(expected).collect::<Vec<_>>());
    let indirect = "mov.u32 %r0, 7; setp.gt.u32 %p, %tid, 9; mov.u64 %d0, square;
        P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
        @!%p call (%r0), %d0, (%tid), P;";
    let expected = |i: u32| if i > 9 { 7 } else { i * i };
    assert_eq!(words(DOUBLE_AND_SQUARE, indirect), (0..40).map(expected).collect::<Vec<_>>());
}

#[test]
fn mutual_recursion_in_a_loop_that_begins_the_function() {
    // The first block of each function is the target of a branch back.
    let functions = "
        .func (.reg .b32 r) odd(.reg .b32 n);
        .func (.reg .b32 r) even(.reg .b32 n) {
            .reg .pred %p; .reg .b32 %m;
            AGAIN: setp.eq.u32 %p, n, 0; @%p bra ZERO;
            setp.gt.u32 %p, n, 20; @%p sub.u32 n, n, 2; @%p bra AGAIN;
            sub.u32 %m, n, 1; call (r), odd, (%m); ret;
            ZERO: mov.u32 r, 1; ret;
        }
        .func (.reg .b32 r) odd(.reg .b32 n) {
            .reg .pred %p; .reg .b32 %m;
            setp.eq.u32 %p, n, 0; @%p bra ZERO;
            sub.u32 %m, n, 1; call (r), even, (%m); ret;
            ZERO: mov.u32 r, 0; ret;
        }";
    let expected: Vec<u32> = (0..40).map(|i| u32::from(i % 2 == 0)).collect();
    assert_eq!(words(functions, "call (%r0), even, (%tid);"), expected);
}

#[test]
fn alloca_gives_each_call_its_own_memory_back() {
    let functions = "
        .func (.reg .b32 r) fill(.reg .b32 n) {
            .reg .b64 %a, %b, %w; .reg .b32 %x;
            cvt.u64.u32 %w, n; add.u64 %w, %w, 4;
            alloca.u64 %a, %w, 16; alloca.u64 %b, %w;
            st.local.b32 [%a], n; st.local.b32 [%b], 5;
            ld.local.b32 %x, [%a]; and.b64 %a, %a, 15; cvt.u32.u64 r, %a;
            add.u32 r, r, %x; ld.local.b32 %x, [%b]; add.u32 r, r, %x; ret;
        }";
    // Ten thousand calls that keep their memory would need more than there is.
    let body = "mov.u32 %r2, 0;
        LOOP: call (%r0), fill, (%tid); add.u32 %r2, %r2, 1;
        setp.lt.u32 %p, %r2, 10000; @%p bra LOOP;";
    assert_eq!(words(functions, body), (0..40).map(|i| i + 5).collect::<Vec<_>>());
}

#[test]
fn calls_that_cannot_be_are_faults() {
    let prototype = "P: .callprototype (.reg .b32 _) _ (.reg .b32 _);";
    let call = format!("{prototype} call (%r0), %d0, (%tid), P;");
    let bad = kernel_fault(DOUBLE_AND_SQUARE, &format!("mov.u64 %d0, 1234; {call}"));
    assert_eq!(bad, FaultKind::BadTarget { what: "call", value: 1234 });
    let other = format!("{DOUBLE_AND_SQUARE} .func (.reg .b64 r) wide(.reg .b64 a) {{ ret; }}");
    let bad = kernel_fault(&other, &format!("mov.u64 %d0, wide; {call}"));
    assert!(matches!(bad, FaultKind::CallMismatch { .. }), "{bad}");
    let endless = ".func f() { call f; ret; }";
    let bad = kernel_fault(endless, "call f;");
    assert!(matches!(bad, FaultKind::CallDepth { .. }), "{bad}");
    let load = kernel_fault(DOUBLE_AND_SQUARE, "mov.u64 %d0, square; ld.u32 %r0, [%d0];");
    assert!(matches!(load, FaultKind::OutOfBounds { .. }), "{load}");
    let free = ".extern .func free(.param .b64 p);";
    let body = "{ .param .b64 a; st.param.b64 [a], %out; call free, (a); }";
    assert!(matches!(kernel_fault(free, body), FaultKind::BadFree { .. }));
}

/// `ptxas` refuses these calls: "Type of argument does not match formal parameter".
#[test]
fn variables_of_other_sizes_are_not_passed() {
    let takes =
        ".func f(.param .align 4 .b8 pair[28]) { .reg .b32 x; ld.param.b32 x, [pair]; ret; }";
    let gives =
        ".func (.param .b64 d) f() { .reg .b64 x; mov.u64 x, 1; st.param.b64 [d], x; ret; }";
    let own = "{ .param .align 4 .b8 own[8]; .param .b32 word;";
    let pointer = "mov.u64 %d0, f;";
    for (function, call, reason) in [
        (takes, "call f, (own);", "`own` of 8 bytes, where the function has 28"),
        (
            takes,
            "P: .callprototype _ (.param .align 4 .b8 _[28]); call %d0, (own), P;",
            "`own` of 8 bytes, where the function has 28",
        ),
        (takes, "call f, (word, word);", "2 arguments, the function has 1"),
        (gives, "call (word), f;", "`word` of 4 bytes, where the function has 8"),
    ] {
        let text = kernel(function, &format!("{own} {pointer} {call} }} mov.u32 %r0, 0;"));
        let module = gpucast_ptx_frontend::load(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let program = Program::new(&module, &text, "k").unwrap();
        assert_eq!(program.unsupported()[0].reason, format!("the call passes {reason}"), "{call}");
    }
}

#[test]
fn functions_of_other_modules_are_named() {
    let text = kernel(
        ".extern .func (.reg .b32 r) elsewhere(.reg .b32 a);",
        "call (%r0), elsewhere, (%tid);",
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, "k").unwrap();
    let reason = "elsewhere is declared here but defined in another module";
    assert_eq!(program.unsupported()[0].reason, reason);
}

#[test]
fn printing_without_end_is_stopped() {
    let functions = "
        .extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
        .global .align 1 .b8 wide[9] = {37, 54, 53, 48, 48, 48, 100, 10, 0};";
    let body = ".local .align 8 .b8 values[8]; mov.u64 %d1, wide; cvta.global.u64 %d1, %d1;
        st.local.u32 [values], %tid; mov.u64 %d2, values; cvta.local.u64 %d2, %d2;
        LOOP: { .param .b64 text; .param .b64 list; .param .b32 result;
        st.param.b64 [text], %d1; st.param.b64 [list], %d2;
        call (result), vprintf, (text, list); }
        bra LOOP;";
    let fault = kernel_fault(functions, body);
    assert!(matches!(fault, FaultKind::TooMuchPrinted { .. }), "{fault}");
}

/// Each of 700 CTAs prints its number, and CTAs 444 and 600 fail after that: whichever threads ran
/// them, the text is that of the CTAs up to the first that failed, in their order.
#[test]
fn many_ctas_print_in_their_order_up_to_the_one_that_fails() {
    let text = module(
        ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
         .global .align 1 .b8 line[4] = {37, 100, 10, 0};
         .visible .entry k() {
         .reg .b32 %cta; .reg .b64 %d<3>; .reg .pred %p, %q;
         .local .align 8 .b8 values[8]; mov.u64 %d1, line; cvta.global.u64 %d1, %d1;
         mov.u32 %cta, %ctaid.x; st.local.u32 [values], %cta;
         mov.u64 %d2, values; cvta.local.u64 %d2, %d2;
         { .param .b64 text; .param .b64 list; .param .b32 result;
         st.param.b64 [text], %d1; st.param.b64 [list], %d2;
         call (result), vprintf, (text, list); }
         setp.eq.u32 %p, %cta, 444; setp.eq.u32 %q, %cta, 600; or.pred %p, %p, %q;
         @%p trap;\nret;\n}\n",
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, "k").unwrap();
    let expected: String = (0..=444).map(|cta| format!("{cta}\n")).collect();
    for threads in [1, 2, 5] {
        let launch = Launch {
            grid: [700, 1, 1],
            block: [1, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: Vec::new(),
        };
        let (paper, options) = (Paper::default(), Options::default());
        let mut memory = DeviceMemory::new();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let result =
            pool.install(|| run(&program, &launch, &mut memory, &mut NoObserver, &options, &paper));
        let RunError::Fault(fault) = result.unwrap_err() else { panic!("no fault") };
        assert_eq!((fault.kind, fault.cta), (FaultKind::Trap, [444, 0, 0]));
        assert_eq!(String::from_utf8(paper.0.into_inner().unwrap()).unwrap(), expected);
    }
}

/// A swap of two elements, and a mix of a vector with scalars.
const VECTORS: &str = ".func (.reg .v2 .u32 r) swap (.reg .v2 .u32 a) {\n\
     mov.u32 r.x, a.y;\nmov.u32 r.y, a.x;\nret;\n}\n\
     .func (.reg .u32 s) mix (.reg .v4 .f32 a, .reg .u32 k) {\n\
     .reg .f32 t;\n.reg .u32 q;\nfma.rn.f32 t, a.y, 10.0, a.x;\nfma.rn.f32 t, a.z, 100.0, t;\n\
     fma.rn.f32 t, a.w, 1000.0, t;\ncvt.rzi.u32.f32 q, t;\nadd.u32 s, q, k;\nret;\n}\n";

#[test]
fn every_element_of_a_vector_parameter_arrives() {
    let body = ".reg .v2 .u32 v, w;\n.reg .v4 .f32 f;\n.reg .u32 s;\n\
         mov.u32 v.x, 11;\nmov.u32 v.y, 22;\ncall (w), swap, (v);\n\
         st.global.u32 [%out], w.x;\nst.global.u32 [%out+4], w.y;\n\
         mov.f32 f.x, 1.0;\nmov.f32 f.y, 2.0;\nmov.f32 f.z, 3.0;\nmov.f32 f.w, 4.0;\n\
         call (s), mix, (f, 50000);\nst.global.u32 [%out+8], s;\nret;";
    assert_eq!(words(VECTORS, body)[..3], [22, 11, 54321]);
}

#[test]
fn every_element_of_a_vector_parameter_arrives_through_a_pointer() {
    let body = ".reg .v2 .u32 v, w;\n.reg .u64 f;\n\
         P: .callprototype (.reg .v2 .u32 _) _ (.reg .v2 .u32 _);\n\
         mov.u32 v.x, 11;\nmov.u32 v.y, 22;\nmov.u64 f, swap;\ncall (w), f, (v), P;\n\
         st.global.u32 [%out], w.x;\nst.global.u32 [%out+4], w.y;\nret;";
    assert_eq!(words(VECTORS, body)[..2], [22, 11]);
}

#[test]
fn registers_of_128_bits_are_parameters_and_results() {
    let functions = ".func (.reg .b128 r) same (.reg .b128 a) {\nmov.b128 r, a;\nret;\n}\n";
    let body = ".reg .b128 q;\n.reg .b64 l, h;\nmov.b128 q, {0x100000002, 0x300000004};\n\
         call (q), same, (q);\nmov.b128 {l, h}, q;\n\
         st.global.b64 [%out], l;\nst.global.b64 [%out+8], h;\nret;";
    assert_eq!(words(functions, body)[..4], [2, 1, 4, 3]);
}

#[test]
fn a_kernel_has_those_shared_arrays_of_its_module_that_it_or_its_functions_name() {
    let text = module(
        ".shared .align 4 .b8 of_function[1000];\n.shared .align 4 .b8 of_kernel[120000];\n\
         .shared .align 4 .b8 of_nobody[230000];\n\
         .func f() {\n.reg .b32 r;\nld.shared.u32 r, [of_function];\nret;\n}\n\
         .visible .entry none() {\n.shared .align 4 .b8 own[40];\nret;\n}\n\
         .visible .entry direct() {\n.reg .b32 r;\nmov.u32 r, of_kernel;\nret;\n}\n\
         .visible .entry through() {\ncall f;\nret;\n}\n",
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    // As `ptxas -v` says.
    for (kernel, bytes) in [("none", 40), ("direct", 120_000), ("through", 1000)] {
        let program = Program::new(&module, &text, kernel).unwrap();
        assert_eq!(program.static_shared_bytes(), bytes, "{kernel}");
    }
}
