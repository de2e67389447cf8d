//! What a kernel uses and needs, against a text whose every figure can be counted by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail loudly")]

use gpucast_ptx_frontend::isa::{Since, Target};
use gpucast_ptx_frontend::module::FunctionId;
use gpucast_ptx_frontend::usage::{Cause, Usage};
use gpucast_ptx_frontend::{Module, load};

fn module(text: &str) -> Module {
    load(&format!(".version 8.8\n.target sm_100a\n.address_size 64\n{text}")).unwrap()
}

fn id(module: &Module, name: &str) -> FunctionId {
    let index = module.functions.iter().position(|function| function.name == name).unwrap();
    FunctionId(index as u32)
}

fn names(module: &Module, ids: &[FunctionId]) -> Vec<String> {
    ids.iter().map(|id| module.functions[id.index()].name.clone()).collect()
}

const TEXT: &str = "
.extern .func vprintf(.param .b64 a, .param .b64 b);
.shared .align 4 .b8 never_named[4096];
.shared .align 4 .b8 tile[100];
.extern .shared .align 16 .b8 dynamic[];
.const .align 4 .u32 table[8];
.global .align 8 .u64 inner = 7;
.global .align 8 .u64 outer = inner;
.func unused() { .reg .b32 %u<9>; ret; }
.func leaf(.reg .b32 a) { .local .b8 scratch[24]; .reg .b16 %h<3>; st.local.u8 [scratch], 0; ret; }
.func helper() { .reg .b32 %r<2>; mov.b32 %r1, 1; call leaf, (%r1); ret; }
.entry k(.param .u64 p)
{
    .reg .b32 %r<4>;
    .reg .v4 .f32 %v;
    .reg .b64 %d<3>;
    .reg .pred %p;
    mov.u64 %d1, tile;
    ld.const.u32 %r1, [table+4];
    ld.global.u64 %d2, [outer];
    st.shared.u32 [dynamic], %r1;
    @%p add.s32 %r2, %r1, 1;
    call helper;
    ret;
}
";

#[test]
fn everything_reached_is_counted_and_nothing_else() {
    let module = module(TEXT);
    let usage = Usage::of(&module, id(&module, "k"));
    assert_eq!(names(&module, &usage.functions), ["k", "helper", "leaf"]);
    assert_eq!((usage.externals.len(), usage.indirect_calls), (0, 0));
    let mnemonics: Vec<_> = usage.mnemonics.iter().map(|(name, count)| (*name, *count)).collect();
    assert_eq!(mnemonics, [("add", 1), ("call", 2), ("ld", 2), ("mov", 2), ("ret", 3), ("st", 2)]);
    assert_eq!(usage.instructions(), 12);
    let registers: Vec<_> = usage.registers.iter().map(|(ty, count)| (*ty, *count)).collect();
    // %r1 and %r2 of the kernel, %r1 of helper, a of leaf; %h1 and %u1 are never named.
    assert_eq!(registers, [("b32", 4), ("b64", 2), ("f32", 4), ("pred", 1)]);
    let memory = usage.memory;
    assert_eq!((memory.shared, memory.dynamic_shared), (100, true));
    assert_eq!((memory.local, memory.constant, memory.global), (24, 32, 16));
}

#[test]
fn an_indirect_call_reaches_every_function_whose_address_is_taken() {
    let module = module(
        ".extern .func elsewhere();
        .func taken() { ret; }
        .func in_a_table() { ret; }
        .func neither() { ret; }
        .global .u64 functions[] = { in_a_table };
        .entry k() { .reg .b64 %d; C: .callprototype _ _; mov.u64 %d, taken; call %d, C;
            call elsewhere; ret; }",
    );
    let usage = Usage::of(&module, id(&module, "k"));
    assert_eq!(names(&module, &usage.functions), ["k", "taken", "in_a_table"]);
    assert_eq!(names(&module, &usage.externals), ["elsewhere"]);
    assert_eq!(usage.indirect_calls, 1);
}

/// Version, target, and what is to blame for either.
fn needs(code: &str) -> ((u8, u8), Target, String, String) {
    let text = format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n.entry k() {{ .reg .b32 %r<9>; \
         .reg .b64 %d<9>; .reg .pred %p; {code} ret; }}"
    );
    let module = load(&text).unwrap();
    let needs = Usage::of(&module, FunctionId(0)).needs;
    let cause = |cause: &Cause| match cause {
        Cause::Nothing => String::new(),
        Cause::Instruction(_, span) => text[span.range()].to_owned(),
        Cause::Directive(name) => (*name).to_owned(),
    };
    let (isa, target) = (cause(&needs.isa_because), cause(&needs.target_because));
    (needs.since.isa, needs.since.target, isa, target)
}

#[test]
fn the_youngest_thing_is_to_blame() {
    let plain = |sm| Target { sm, specific: false };
    let size = ".address_size 64".to_owned();
    assert_eq!(needs(""), ((2, 3), plain(10), size.clone(), String::new()));
    let popc = "popc.b32 %r1, %r2;";
    assert_eq!(needs(popc), ((2, 3), plain(20), size, popc.to_owned()));
    let shuffle = "shfl.sync.up.b32 %r1, %r2, 0, 0, -1;".to_owned();
    let all = format!("{popc} {shuffle} {shuffle}");
    assert_eq!(needs(&all), ((6, 0), plain(30), shuffle.clone(), shuffle));
    // A modifier, a special register, a wide vector.
    let cluster = "ld.shared::cluster.u32 %r1, [%r2];".to_owned();
    assert_eq!(needs(&cluster), ((7, 8), plain(90), cluster.clone(), cluster));
    let rank = "mov.u32 %r1, %cluster_ctarank;".to_owned();
    assert_eq!(needs(&rank), ((7, 8), plain(90), rank.clone(), rank));
    let wide = "ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1];".to_owned();
    assert_eq!(needs(&wide), ((8, 8), plain(100), wide.clone(), wide));
    let specific = "tcgen05.wait::ld.sync.aligned;".to_owned();
    let target = Target { sm: 100, specific: true };
    assert_eq!(needs(&specific), ((8, 6), target, specific.clone(), specific));
}

#[test]
fn versions_are_met_by_later_ones() {
    let module = module(".entry k() { .reg .b32 %r; mov.u32 %r, %nclusterid.x; ret; }");
    let needs = Usage::of(&module, FunctionId(0)).needs;
    assert_eq!(needs.since, Since::new((7, 8), 90));
    let target = |sm| Target { sm, specific: false };
    assert!(needs.met_by((7, 8), target(90)) && needs.met_by((9, 0), target(120)));
    assert!(!needs.met_by((7, 7), target(90)) && !needs.met_by((7, 8), target(80)));
}
