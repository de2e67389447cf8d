//! Launches that end in a fault, and what the observer is told.

use gpucast_interpreter::{
    Access, AccessKind, FaultKind, NoObserver, Observer, Program, Recorder, RunError,
};
use gpucast_ptx_frontend::types::StateSpace;

use crate::machine::try_launch;

fn kernel(body: &str) -> String {
    format!(
        ".version 8.7\n.target sm_120a\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %in, %out, %at; .reg .b32 %lane, %r<8>, %e, %s; .reg .f32 %d<8>, %z;\n\
         .reg .b16 %h<4>; .reg .pred %p; .shared .align 32 .b8 s[2048];\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n\
         mov.f32 %z, 0f00000000; mov.u32 %r0, 0; mov.u32 %s, s;\n\
         {body}\nret;\n}}\n"
    )
}

const MMA: &str = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3},\
                   {%r0, %r0}, {%r0}, {%z, %z, %z, %z};";

fn fault(body: &str, threads: u32) -> FaultKind {
    let text = kernel(body);
    match try_launch(&text, threads, &[0; 4096], 4096, &mut NoObserver) {
        Err(RunError::Fault(fault)) => {
            assert!(fault.instruction.is_some(), "{fault}");
            fault.kind
        }
        other => panic!("no fault but {:?}\n{text}", other.map(|_| ())),
    }
}

fn passes(body: &str, threads: u32) {
    let result = try_launch(&kernel(body), threads, &[0; 4096], 4096, &mut NoObserver);
    assert!(result.is_ok(), "{result:?}\n{body}");
}

#[test]
fn all_lanes_of_the_warp_must_be_there() {
    let partial = |lanes| FaultKind::PartialWarp { lanes };
    passes(MMA, 32);
    // The second warp has half its lanes.
    assert_eq!(fault(MMA, 48), partial(0xffff));
    // Lanes have exited.
    let exited = format!("setp.lt.u32 %p, %lane, 5; @%p ret;\n{MMA}");
    assert_eq!(fault(&exited, 32), partial(0xffff_ffe0));
    // The guard is false in some lanes, in all, in none.
    let guarded = |limit: u32| format!("setp.ge.u32 %p, %lane, {limit}; @%p {MMA}");
    assert_eq!(fault(&guarded(16), 32), partial(0xffff_0000));
    passes(&guarded(32), 32);
    passes(&guarded(0), 32);
    // Part of the warp branches around it and exits.
    let around = format!("setp.lt.u32 %p, %lane, 16; @%p bra L;\n{MMA}\nL:");
    assert_eq!(fault(&around, 32), partial(0xffff_0000));
    // Two instructions that look the same are not one.
    let two = format!("setp.lt.u32 %p, %lane, 16; @%p bra L;\n{MMA}\nbra M;\nL:\n{MMA}\nM:");
    assert!(matches!(fault(&two, 32), FaultKind::WarpDeadlock { .. }));
    // Lanes that come late are waited for.
    let late = format!(
        "setp.lt.u32 %p, %lane, 16; @%p bra L;\nadd.u32 %e, %lane, 1;\nbra M;\nL:\n\
         add.u32 %e, %lane, 2;\nM:\n{MMA}"
    );
    passes(&late, 32);
    for instruction in [
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%s];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%s], {%r0};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;",
        "wmma.load.c.sync.aligned.row.m16n16k16.f32 \
         {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, [%in];",
        "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%out], \
         {%z, %z, %z, %z, %z, %z, %z, %z};",
    ] {
        passes(instruction, 32);
        assert_eq!(fault(instruction, 31), partial(0x7fff_ffff));
    }
    let sentence = partial(0xffff).to_string();
    assert!(sentence.contains("only lanes 0x0000ffff of the warp"), "{sentence}");
}

#[test]
fn rows_must_lie_in_memory_and_be_aligned() {
    let load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%s+8];";
    assert_eq!(fault(load, 32), FaultKind::Misaligned { address: 8, bytes: 16 });
    let outside = "setp.eq.u32 %p, %lane, 9; @%p mov.u32 %s, 2048;\n\
                   stmatrix.sync.aligned.m8n8.x2.shared.b16 [%s], {%r0, %r0};";
    let expected = FaultKind::OutOfBounds {
        space: Some(StateSpace::Shared),
        address: 2048,
        bytes: 16,
        write: true,
        nearest: None,
        limit: Some(2048),
    };
    assert_eq!(fault(outside, 32), expected);
    // Lane 16 gives no address of a row with .x2.
    passes(&outside.replace("%lane, 9", "%lane, 16"), 32);
}

#[test]
fn wmma_addresses_and_strides_are_checked() {
    let load = |address: &str, rest: &str| {
        format!(
            "wmma.load.a.sync.aligned.row.m16n16k16.f16 \
             {{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}}, [{address}]{rest};"
        )
    };
    passes(&load("%in+16", ", 24"), 32);
    let misaligned = |kind| matches!(kind, FaultKind::Misaligned { bytes: 16, .. });
    assert!(misaligned(fault(&load("%in+8", ""), 32)));
    assert!(misaligned(fault(&load("%in", ", 20"), 32)));
    let outside = fault(&load("%in+3600", ""), 32);
    assert!(matches!(outside, FaultKind::OutOfBounds { .. }), "{outside}");
    let undefined = |kind, part: &str| match kind {
        FaultKind::UndefinedOperand { what, .. } => assert!(what.contains(part), "{what}"),
        other => panic!("{other}"),
    };
    let addresses = format!("mad.wide.u32 %in, %lane, 32, %in;\n{}", load("%in", ""));
    undefined(fault(&addresses, 32), "address");
    let strides = format!("add.u32 %e, %lane, 16;\n{}", load("%in", ", %e"));
    undefined(fault(&strides, 32), "stride");
}

#[test]
fn metadata_and_selectors_must_mean_something() {
    let sparse = |ordered: &str, ty: &str, shape: &str, metadata: u32, selector: u32| {
        format!(
            "mov.u32 %e, {metadata};\n\
             mma.sp{ordered}.sync.aligned.{shape}.row.col.f32.{ty}.{ty}.f32 {{%d0, %d1, %d2, %d3}},\
             {{%r0, %r0}}, {{%r0, %r0}}, {{%z, %z, %z, %z}}, %e, {selector};"
        )
    };
    let undefined = |body: &str, value: u64| match fault(body, 32) {
        FaultKind::UndefinedOperand { what, value: found } => {
            assert!(what.contains("metadata") && found == value, "{what} {found:#x}");
        }
        other => panic!("{other}"),
    };
    let ordered = "::ordered_metadata";
    passes(&sparse("", "f16", "m16n8k16", 0x4444_4444, 3), 32);
    // 1 and 0: only without an order.
    passes(&sparse("", "f16", "m16n8k16", 0x1111_1111, 3), 32);
    undefined(&sparse(ordered, "f16", "m16n8k16", 0x1111_1111, 3), 0x1111_1111);
    for same in [0x0000_0000, 0x4444_4445, 0xa444_4444, 0x44f4_4444] {
        undefined(&sparse("", "f16", "m16n8k16", same, 0), u64::from(same));
    }
    passes(&sparse("", "tf32", "m16n8k8", 0x4e4e_e4e4, 0), 32);
    undefined(&sparse("", "tf32", "m16n8k8", 0x4444_4448, 0), 0x4444_4448);

    let refusal = |body: &str| {
        let text = kernel(body);
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        Program::new(&module, &text, "k").unwrap().unsupported()[0].reason.clone()
    };
    let reason = refusal(&sparse("", "f16", "m16n8k16", 0, 4));
    assert_eq!(reason, "the sparsity selector of this form must be at most 3");

    let scaled = |byte: u32, thread_a: u32, thread_b: u32| {
        format!(
            "mov.u16 %h0, {byte}; mov.u16 %h1, {thread_a}; mov.u16 %h2, {thread_b};\n\
             mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32\
             .ue8m0 {{%d0, %d1, %d2, %d3}}, {{%r0, %r0, %r0, %r0}}, {{%r0, %r0}}, \
             {{%z, %z, %z, %z}}, %r0, {{%h0, %h1}}, %r0, {{0, %h2}};"
        )
    };
    passes(&scaled(2, 1, 3), 32);
    for (byte, a, b, what) in [(1, 0, 0, "scale_A"), (4, 0, 0, "scale_A"), (0, 2, 0, "scale_A")]
        .into_iter()
        .chain([(0, 0, 4, "scale_B")])
    {
        match fault(&scaled(byte, a, b), 32) {
            FaultKind::UndefinedOperand { what: found, .. } => assert!(found.contains(what)),
            other => panic!("{other}"),
        }
    }
}

/// Every access: space, kind, bytes of a lane, lanes, and the addresses of those.
type Seen = Vec<(StateSpace, AccessKind, u32, u32, Vec<u64>)>;

#[derive(Default)]
struct Accesses(Seen);

struct AccessRecorder(Seen);

impl Observer for Accesses {
    type Recorder = AccessRecorder;

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn recorder(&self, _program: &Program) -> AccessRecorder {
        AccessRecorder(Vec::new())
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut AccessRecorder]) {
        for recorder in recorders {
            self.0.append(&mut recorder.0);
        }
    }
}

impl Recorder for AccessRecorder {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        use gpucast_interpreter::Pattern;
        let bytes = u64::from(access.bytes_per_lane);
        let address = |lane: u32| match access.pattern {
            Pattern::Uniform => access.addresses[0],
            Pattern::Consecutive => access.addresses[0] + bytes * u64::from(lane),
            Pattern::General => access.addresses[lane as usize],
        };
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 != 0);
        self.0.push((
            access.space,
            access.kind,
            access.bytes_per_lane,
            access.mask,
            lanes.map(address).collect(),
        ));
    }
}

fn accesses(body: &str) -> Seen {
    let mut seen = Accesses::default();
    try_launch(&kernel(body), 32, &[0; 4096], 4096, &mut seen).unwrap();
    seen.0
}

#[test]
fn the_observer_sees_rows_and_fragments() {
    let shared = StateSpace::Shared;
    let seen = accesses(
        "mul.lo.u32 %e, %lane, 48; add.u32 %s, %s, %e;\n\
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%s];\n\
         stmatrix.sync.aligned.m8n8.x2.shared.b16 [%s], {%r1, %r2};",
    );
    let addresses: Vec<u64> = (0..32).map(|lane| 48 * lane).collect();
    assert_eq!(seen[0], (shared, AccessKind::Load, 16, u32::MAX, addresses.clone()));
    assert_eq!(seen[1], (shared, AccessKind::Store, 16, 0xffff, addresses[..16].to_vec()));
    assert_eq!(seen.len(), 2);

    // The eight registers of an .f32 accumulator: all 256 elements once, 4 bytes each.
    let seen = accesses(
        "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 \
         {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, [%s], 20;",
    );
    assert_eq!(seen.len(), 8);
    let mut addresses: Vec<u64> = seen.iter().flat_map(|access| access.4.clone()).collect();
    addresses.sort_unstable();
    let expected = (0..16).flat_map(|row| (0..16).map(move |column| 80 * row + 4 * column));
    assert_eq!(addresses, expected.collect::<Vec<u64>>());
    assert!(
        seen.iter().all(|access| (access.0, access.1, access.2) == (shared, AccessKind::Load, 4))
    );

    // A row-major A of halves: pairs, each once although the fragment holds it twice; column-major:
    // one by one.
    for (layout, bytes, count) in [("row", 4, 4), ("col", 2, 8)] {
        let seen = accesses(&format!(
            "wmma.load.a.sync.aligned.{layout}.m16n16k16.shared.f16 \
             {{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}}, [%s];"
        ));
        assert_eq!(seen.len(), count);
        let mut addresses: Vec<u64> = seen.iter().flat_map(|access| access.4.clone()).collect();
        addresses.sort_unstable();
        assert_eq!(addresses, (0..512).step_by(bytes).collect::<Vec<u64>>());
    }

    // Generic addresses are resolved.
    let seen = accesses(
        "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%out], {%z, %z, %z, %z, %z, %z, %z, %z};",
    );
    assert_eq!(seen.len(), 8);
    assert!(seen.iter().all(|a| (a.0, a.1) == (StateSpace::Global, AccessKind::Store)));
}
