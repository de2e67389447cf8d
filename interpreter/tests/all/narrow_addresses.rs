//! Modules with 32-bit addresses: pointers of every space, of functions, and to the device runtime.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use std::sync::Mutex;

use gpucast_interpreter::{
    Argument, DeviceMemory, Host, Launch, LaunchError, NoObserver, Options, Program, RunError, run,
};

const TEXT: &str = r"
.version 6.0
.target sm_30
.address_size 32

.extern .func (.param .b32 result) vprintf(.param .b32 format, .param .b32 values);
.extern .func (.param .b32 result) malloc(.param .b32 bytes);
.extern .func free(.param .b32 memory);

.global .align 1 .b8 format[10] = {37, 100, 32, 37, 115, 32, 37, 112, 10, 0};
.global .align 1 .b8 word[3] = {111, 107, 0};
.func (.reg .b32 r) double(.reg .b32 a) { add.u32 r, a, a; ret; }
.func (.reg .b32 r) square(.reg .b32 a) { mul.lo.u32 r, a, a; ret; }
.const .u32 table[2] = {double, square};
.global .u32 behind = generic(word);

.entry k(.param .u32 out)
{
    .reg .b32 %tid, %at, %r<12>; .reg .pred %p;
    .shared .b32 tile[64];
    .local .align 8 .b8 list[16];
    ld.param.u32 %at, [out];
    mov.u32 %tid, %tid.x;
    mad.lo.u32 %at, %tid, 4, %at;

    // A generic address of shared memory.
    mov.u32 %r0, tile;
    cvta.shared.u32 %r0, %r0;
    mad.lo.u32 %r0, %tid, 4, %r0;
    st.u32 [%r0], %tid;
    isspacep.shared %p, %r0;
    selp.u32 %r1, 1000, 0, %p;
    cvta.to.shared.u32 %r0, %r0;
    ld.shared.u32 %r2, [%r0];

    // A function from a table.
    and.b32 %r3, %tid, 1;
    mov.u32 %r4, table;
    mad.lo.u32 %r4, %r3, 4, %r4;
    ld.const.u32 %r4, [%r4];
    P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
    call (%r5), %r4, (%r2), P;

    // A block of the device heap.
    { .param .b32 bytes; .param .b32 memory;
      st.param.b32 [bytes], 8;
      call (memory), malloc, (bytes);
      ld.param.b32 %r6, [memory]; }
    st.u32 [%r6+4], %r5;
    ld.global.u32 %r7, [%r6+4];
    { .param .b32 memory;
      st.param.b32 [memory], %r6;
      call free, (memory); }

    // A line of text from thread 2.
    setp.ne.u32 %p, %tid, 2;
    @%p bra STORE;
    mov.u32 %r8, word;
    st.local.u32 [list], %tid;
    st.local.u32 [list+4], %r8;
    ld.global.u32 %r8, [behind];
    mov.u32 %r9, word;
    sub.u32 %r8, %r8, %r9;
    st.local.u32 [list+8], %r8;
    mov.u32 %r8, list;
    cvta.local.u32 %r8, %r8;
    { .param .b32 text; .param .b32 values; .param .b32 result;
      mov.u32 %r9, format;
      st.param.b32 [text], %r9;
      st.param.b32 [values], %r8;
      call (result), vprintf, (text, values); }
STORE:
    add.u32 %r7, %r7, %r1;
    st.global.u32 [%at], %r7;
    ret;
}
";

#[derive(Default)]
struct Paper(Mutex<Vec<u8>>);

impl Host for Paper {
    fn print(&self, text: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(text);
    }
}

fn program() -> Program {
    let module = gpucast_ptx_frontend::load(TEXT).unwrap_or_else(|all| panic!("{all:?}"));
    Program::new(&module, TEXT, "k").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_kind_of_pointer_has_32_bits() {
    let program = program();
    let mut memory = DeviceMemory::with_address_bits(program.address_bits());
    let out = memory.allocate("out", 160).unwrap();
    let launch = Launch {
        grid: [1; 3],
        block: [40, 1, 1],
        dynamic_shared_bytes: 0,
        cluster: None,
        arguments: vec![Argument::Address(out)],
    };
    let paper = Paper::default();
    run(&program, &launch, &mut memory, &mut NoObserver, &Options::default(), &paper)
        .unwrap_or_else(|error| panic!("{error}"));
    let words = memory.bytes("out").unwrap().chunks_exact(4);
    let words: Vec<u32> = words.map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
    let expected = (0..40).map(|i| 1000 + if i % 2 == 0 { 2 * i } else { i * i });
    assert_eq!(words, expected.collect::<Vec<u32>>());
    assert_eq!(paper.0.into_inner().unwrap(), b"2 ok (nil)\n");
}

#[test]
fn an_address_that_does_not_fit_is_refused() {
    let program = program();
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 160).unwrap();
    let launch = Launch {
        grid: [1; 3],
        block: [40, 1, 1],
        dynamic_shared_bytes: 0,
        cluster: None,
        arguments: vec![Argument::Address(out)],
    };
    let result = run(
        &program,
        &launch,
        &mut memory,
        &mut NoObserver,
        &Options::default(),
        &Paper::default(),
    );
    assert!(
        matches!(result, Err(RunError::Launch(LaunchError::ArgumentType { .. }))),
        "{result:?}"
    );
}
