//! `tcgen05.alloc`, `.dealloc` and `.relinquish_alloc_permit`, and what warps may reach.

use gpucast_interpreter::{FaultKind, NoObserver, RunError};

use crate::machine::{try_launch, words};

/// Two warps that share a place for addresses, `%w` is a warp's index; `body` works with `%a` and
/// `%b`, and hands `%r` back, a word from each thread.
fn text(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .u64 from, .param .u64 to) {{\n\
         .shared .align 8 .b32 where[4];\n\
         .reg .b32 %thread, %w, %a, %b, %c, %r; .reg .pred %zero, %one; .reg .b64 %out, %wide;\n\
         ld.param.u64 %out, [to]; mov.u32 %thread, %tid.x; shr.u32 %w, %thread, 5;\n\
         setp.eq.u32 %zero, %w, 0; setp.eq.u32 %one, %w, 1; mov.b32 %r, 0;\n\
         {body}\n\
         mul.wide.u32 %wide, %thread, 4; add.u64 %out, %out, %wide; st.global.b32 [%out], %r;\nret; }}\n"
    )
}

const ALLOC: &str = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32";
const DEALLOC: &str = "tcgen05.dealloc.cta_group::1.sync.aligned.b32";

fn run(body: &str) -> Result<Vec<u32>, RunError> {
    let output = try_launch(&text(body), 64, &[], 256, &mut NoObserver)?;
    Ok(words(&output))
}

/// The fault that a kernel ends in.
fn fault(body: &str) -> FaultKind {
    match run(body) {
        Err(RunError::Fault(fault)) => fault.kind,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn columns_are_given_out_from_the_first_free_ones() {
    let body = format!(
        "@%one bra rest;\n{ALLOC} [where], 128;\n{ALLOC} [where + 4], 32;\n{ALLOC} [where + 8], 256;\n\
         ld.shared.b32 %a, [where]; ld.shared.b32 %b, [where + 4]; ld.shared.b32 %c, [where + 8];\n\
         {DEALLOC} %a, 128;\n{ALLOC} [where], 64;\nld.shared.b32 %a, [where];\n\
         mad.lo.u32 %r, %b, 1000, %c; mad.lo.u32 %r, %r, 1000, %a;\n\
         {DEALLOC} %a, 64;\n{DEALLOC} %b, 32;\n{DEALLOC} %c, 256;\nrest:"
    );
    assert_eq!(run(&body).unwrap()[0], 128_160_000);
}

/// The second warp waits for the columns that the first one frees behind a barrier.
#[test]
fn an_allocation_waits_until_columns_are_free() {
    let body = format!(
        "@%zero {ALLOC} [where], 512;\nbar.sync 0;\n@%zero bra first;\n\
         {ALLOC} [where + 4], 32;\nld.shared.b32 %b, [where + 4]; add.u32 %r, %b, 7;\n{DEALLOC} %b, 32;\n\
         bra done;\nfirst:\nld.shared.b32 %a, [where];\n{DEALLOC} %a, 512;\ndone:"
    );
    let output = run(&body).unwrap();
    assert_eq!((output[0], output[32]), (0, 7));
}

#[test]
fn misuse_is_a_fault() {
    let alone = |body: &str| format!("@%one bra rest;\n{body}\nrest:");
    for columns in [0, 16, 48, 1024] {
        let kind = fault(&alone(&format!("{ALLOC} [where], {columns};")));
        assert!(matches!(kind, FaultKind::BadOperand { .. }), "{columns}: {kind}");
    }
    let left = fault(&alone(&format!("{ALLOC} [where], 64;")));
    assert_eq!(left, FaultKind::TensorMemoryLeft { columns: 64 });
    let twice = format!("{ALLOC} [where], 512;\n{ALLOC} [where], 32;");
    assert_eq!(fault(&alone(&twice)), FaultKind::TensorMemoryDeadlock);
    let permit =
        format!("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n{ALLOC} [where], 32;");
    assert_eq!(fault(&alone(&permit)), FaultKind::TensorMemoryPermit);
    let freed = fault(&alone(&format!("mov.b32 %a, 32;\n{DEALLOC} %a, 32;")));
    assert!(matches!(freed, FaultKind::BadOperand { .. }), "{freed}");
}

#[test]
fn a_warp_reaches_allocated_columns_of_its_own_quarter() {
    let load = |address: &str| {
        format!(
            "@%zero {ALLOC} [where], 32;\nbar.sync 0;\nld.shared.b32 %a, [where];\n\
             shl.b32 %b, %w, 21; add.u32 %b, %b, %a;\n\
             tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r}}, [{address}];\ntcgen05.wait::ld.sync.aligned;\n\
             bar.sync 0;\n@%zero {DEALLOC} %a, 32;"
        )
    };
    assert_eq!(run(&load("%b + 31")).unwrap(), vec![0; 64]);
    // The bits above the 128 lanes hold the CTA's rank in a pair. A load does not read them.
    assert_eq!(run(&load("%b + 0x800000")).unwrap(), vec![0; 64]);
    let beyond = FaultKind::TensorMemoryBounds { lane: 0, column: 32 };
    assert_eq!(fault(&load("%b + 32")), beyond);
    // The second warp at the first one's lanes.
    assert!(matches!(fault(&load("%a")), FaultKind::BadOperand { .. }));
}

/// Text of a kernel for a target with exclusive allocations.
fn exclusive(target: &str, body: &str) -> String {
    text(body).replace(".version 8.8\n.target sm_100a", &format!(".version 9.4\n.target {target}"))
}

fn run_exclusive(target: &str, body: &str) -> Result<Vec<u32>, RunError> {
    let output = try_launch(&exclusive(target, body), 64, &[], 256, &mut NoObserver)?;
    Ok(words(&output))
}

const ALLOC_ALONE: &str = "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32";
const DEALLOC_ALONE: &str = "tcgen05.dealloc.exclusive.cta_group::1.sync.aligned.b32";

/// An exclusive allocation waits until no other is left, and the next one until it is freed. Its
/// last columns are those beyond 512.
#[test]
fn an_exclusive_allocation_is_alone() {
    let body = format!(
        "@%zero {ALLOC} [where], 64;\nbar.sync 0;\n@%zero bra first;\n\
         {ALLOC_ALONE} [where + 4], 576;\nld.shared.b32 %b, [where + 4];\nst.shared.b32 [where + 8], 1;\n\
         add.u32 %c, %b, 2097727; mov.b32 %r, 1234;\n\
         tcgen05.st.sync.aligned.32x32b.x1.b32 [%c], {{%r}};\ntcgen05.wait::st.sync.aligned;\nmov.b32 %r, 0;\n\
         tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r}}, [%c];\ntcgen05.wait::ld.sync.aligned;\n\
         {DEALLOC_ALONE} %b, 576;\nbra done;\nfirst:\n\
         ld.shared.b32 %a, [where];\n{DEALLOC} %a, 64;\n\
         poll:\nld.volatile.shared.b32 %c, [where + 8];\nsetp.ne.u32 %zero, %c, 1;\n@%zero bra poll;\n\
         {ALLOC} [where], 32;\nld.shared.b32 %a, [where];\nadd.u32 %r, %a, 5;\n{DEALLOC} %a, 32;\ndone:"
    );
    let output = run_exclusive("sm_107a", &body).unwrap();
    assert_eq!((output[0], output[32]), (5, 1234));
}

#[test]
fn misuse_of_exclusive_allocations_is_a_fault() {
    let fault = |target, body: &str| {
        let body = format!("@%one bra rest;\n{body}\nrest:");
        match run_exclusive(target, &body) {
            Err(RunError::Fault(fault)) => fault.kind,
            other => panic!("{body}: {other:?}"),
        }
    };
    let of = |columns: u32| format!("mov.b32 %a, {columns};\n{ALLOC_ALONE} [where], %a;");
    for (target, columns) in [("sm_107a", 608), ("sm_107a", 48), ("sm_100a", 544), ("sm_103a", 0)] {
        let kind = fault(target, &of(columns));
        assert!(matches!(kind, FaultKind::BadOperand { .. }), "{target}, {columns}: {kind}");
    }
    let taken =
        |rest: &str| format!("{ALLOC_ALONE} [where], 96;\nld.shared.b32 %a, [where];\n{rest}");
    assert_eq!(fault("sm_100a", &taken("")), FaultKind::TensorMemoryLeft { columns: 96 });
    let again = taken(&format!("{ALLOC} [where], 32;"));
    assert_eq!(fault("sm_100a", &again), FaultKind::TensorMemoryDeadlock);
    // It is freed as it was allocated.
    let freed = taken(&format!("mov.b32 %b, 96;\n{DEALLOC} %a, %b;"));
    assert!(matches!(fault("sm_107a", &freed), FaultKind::BadOperand { .. }));
}
