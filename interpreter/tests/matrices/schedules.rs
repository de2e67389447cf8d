//! Pipelines of copies and products in the order in which published kernels issue them: one buffer
//! or several, one mbarrier for two purposes, warps with roles, pairs of CTAs. Every one runs with
//! all times at which asynchronous operations may end, against integers.

use gpucast_interpreter::{
    Argument, AsyncTiming, DeviceMemory, FaultKind, Launch, NoObserver, Options, Program, RunError,
    Silent, Summary, run,
};

use crate::machine::{Random, words};

/// Elements of a step along K.
const DEPTH: usize = 16;

/// The factors of a product, whose elements are small integers.
struct Product {
    rows: usize,
    columns: usize,
    steps: usize,
    a: Vec<i32>,
    b: Vec<i32>,
}

impl Product {
    fn new(rows: usize, columns: usize, steps: usize) -> Self {
        let random = &mut Random::new((rows + columns + steps) as u64);
        let mut matrix = |rows: usize| {
            let elements = rows * DEPTH * steps;
            (0..elements).map(|_| random.below(9) as i32 - 4).collect::<Vec<_>>()
        };
        Self { rows, columns, steps, a: matrix(rows), b: matrix(columns) }
    }

    /// One step of rows of a factor as they lie in shared memory without a swizzle: groups of eight
    /// rows of 16 bytes, then the next eight elements of all rows.
    fn tile(&self, factor: &[i32], rows: std::ops::Range<usize>, step: usize) -> Vec<u8> {
        let depth = DEPTH * self.steps;
        let mut bytes = vec![0; rows.len() * DEPTH * 2];
        for (at, row) in rows.clone().enumerate() {
            for k in 0..DEPTH {
                let value = half::f16::from_f32(factor[row * depth + step * DEPTH + k] as f32);
                let place = at * 16 + k / 8 * rows.len() * 16 + k % 8 * 2;
                bytes[place..place + 2].copy_from_slice(&value.to_bits().to_le_bytes());
            }
        }
        bytes
    }

    /// The tiles of A and B of every step that a CTA of several loads.
    fn tiles(&self, cta: usize, ctas: usize) -> Vec<u8> {
        let part = |all: usize| all / ctas * cta..all / ctas * (cta + 1);
        let step = |step| {
            let a = self.tile(&self.a, part(self.rows), step);
            [a, self.tile(&self.b, part(self.columns), step)].concat()
        };
        (0..self.steps).flat_map(step).collect()
    }

    /// The element of the product.
    fn element(&self, row: usize, column: usize) -> f32 {
        let depth = DEPTH * self.steps;
        let (a, b) = (&self.a[row * depth..][..depth], &self.b[column * depth..][..depth]);
        a.iter().zip(b).map(|(a, b)| a * b).sum::<i32>() as f32
    }
}

/// The low word of a descriptor's offsets of a tile of `rows` rows: leading and stride dimension.
fn offsets(rows: usize) -> u64 {
    (rows as u64) << 16 | 8 << 32
}

/// Runs a kernel of a cluster of CTAs on the tiles of each.
fn launch(
    text: &str,
    [threads, ctas]: [u32; 2],
    input: &[u8],
    words_out: usize,
    async_timing: AsyncTiming,
) -> Result<(Vec<u32>, Summary), RunError> {
    let module = gpucast_ptx_frontend::load(text)
        .unwrap_or_else(|problems| panic!("{}\n{text}", problems[0].message));
    let program = Program::new(&module, text, "k").unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let from = memory.allocate("in", input.len() as u64).unwrap();
    let to = memory.allocate("out", 4 * words_out as u64).unwrap();
    memory.bytes_mut("in").unwrap().copy_from_slice(input);
    let launch = Launch {
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        cluster: (ctas > 1).then_some([ctas, 1, 1]),
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(from), Argument::Address(to)],
    };
    let options = Options { async_timing, ..Options::default() };
    let summary = run(&program, &launch, &mut memory, &mut NoObserver, &options, &Silent)?;
    Ok((words(memory.bytes("out").unwrap()), summary))
}

const TIMES: [AsyncTiming; 7] = [
    AsyncTiming::Usual,
    AsyncTiming::Early,
    AsyncTiming::Late,
    AsyncTiming::Random(1),
    AsyncTiming::Random(2),
    AsyncTiming::Random(3),
    AsyncTiming::Random(4),
];

/// A product by each of `times`, whose elements are at `place` in the output, must be right, and
/// its threads must execute as many instructions.
fn check(
    text: &str,
    product: &Product,
    threads_and_ctas: [u32; 2],
    times: &[AsyncTiming],
    place: impl Fn(usize, usize) -> usize,
) {
    let ctas = threads_and_ctas[1] as usize;
    let input: Vec<u8> = (0..ctas).flat_map(|cta| product.tiles(cta, ctas)).collect();
    let mut first = None;
    for &timing in times {
        let words_out = product.rows * product.columns;
        let launched = launch(text, threads_and_ctas, &input, words_out, timing);
        let (output, summary) =
            launched.unwrap_or_else(|error| panic!("{timing:?}: {error}\n{text}"));
        for row in 0..product.rows {
            for column in 0..product.columns {
                let got = f32::from_bits(output[place(row, column)]);
                let wanted = product.element(row, column);
                assert!(got == wanted, "{timing:?}: D[{row}][{column}] is {got}, not {wanted}");
            }
        }
        // Lanes that wait apart issue apart, so that warps differ where threads do not.
        let instructions = summary.issued_lanes;
        assert_eq!(*first.get_or_insert(instructions), instructions, "{timing:?}");
    }
}

/// A copy out of shared memory reads until its group is waited for. Who overwrites the tile before
/// then stores what was written, at the latest that is shown by `late`.
#[test]
fn a_tile_that_is_overwritten_before_its_copy_has_read_it_is_shown_by_late_copies() {
    let text = |copy: &str, before: &str, after: &str| {
        format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .shared .align 16 .b32 tile[32]; .reg .b32 %t, %at, %v; .reg .b64 %out; .reg .pred %p;\n\
             ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 0;\n\
             shl.b32 %at, %t, 2; mov.u32 %v, tile; add.u32 %at, %at, %v;\n\
             add.u32 %v, %t, 1; st.shared.u32 [%at], %v; bar.sync 0;\n\
             @!%p {copy} [%out], [tile], 128;\n\
             @!%p cp.async.bulk.commit_group;\n{before}\nbar.sync 0;\n\
             add.u32 %v, %t, 1001; st.shared.u32 [%at], %v; bar.sync 0;\n{after}\nret;\n}}\n"
        )
    };
    let plain = "cp.async.bulk.global.shared::cta.bulk_group";
    let sum = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32";
    let read = "@!%p cp.async.bulk.wait_group.read 0;";
    let older = "@!%p cp.async.bulk.wait_group.read 1;";
    let (old, new): (Vec<u32>, Vec<u32>) = ((1..33).collect(), (1001..1033).collect());
    for copy in [plain, sum] {
        for timing in TIMES {
            let out = |before, after| {
                launch(&text(copy, before, after), [32, 1], &[0], 32, timing).unwrap().0
            };
            assert_eq!(out(read, ""), old, "{timing:?}: the wait comes first");
            let too_early = out("", read);
            let expected = match timing {
                AsyncTiming::Usual | AsyncTiming::Early => vec![old.clone()],
                AsyncTiming::Late => vec![new.clone()],
                AsyncTiming::Random(_) => vec![old.clone(), new.clone()],
            };
            assert!(expected.contains(&too_early), "{timing:?}: {too_early:?}");
            // Nobody waits for the one group that there is.
            assert!(expected.contains(&out(older, "")), "{timing:?}");
            assert!(expected.contains(&out("", "")), "{timing:?}: what is left at the end");
        }
    }
}

/// A wait for the phase of parity `phase` of the mbarrier at `object`.
fn wait(label: &str, object: &str, phase: &str) -> String {
    format!(
        "{label}: mbarrier.try_wait.parity.shared::cta.b64 %ok, [{object}], {phase};\n\
         @!%ok bra {label};\n"
    )
}

const REGISTERS: &str = ".reg .b32 %t, %tile, %i, %q, %phase, %bar, %other, %warp, %tm, %mine, %rank, %x, %idesc;\n\
     .reg .b64 %in, %out, %da, %db, %state, %wide; .reg .f32 %d<32>;\n\
     .reg .pred %first, %ok, %more, %adds, %mover, %issuer;\n\
     ld.param.u64 %in, [from]; ld.param.u64 %out, [to]; mov.u32 %t, %tid.x; shr.u32 %warp, %t, 5;\n\
     setp.eq.u32 %first, %t, 0;\n";

fn module(target: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target {target}\n.address_size 64\n\
         .visible .entry k(.param .u64 from, .param .u64 to) {{\n{REGISTERS}{body}\nret; }}\n"
    )
}

/// Bytes of a step of a warpgroup's product of 64 by 8: A, then B.
const OF_A: usize = 64 * DEPTH * 2;
const OF_BOTH: usize = OF_A + 8 * DEPTH * 2;

/// Sets `%da` and `%db` to the descriptors of the tile at `%tile`.
fn descriptors(rows: usize, columns: usize, version: u64) -> String {
    let (a, b) = (offsets(rows) | version, offsets(columns) | version);
    let bytes_of_a = rows * DEPTH * 2;
    format!(
        "and.b32 %x, %tile, 0x3ffff; shr.u32 %x, %x, 4; cvt.u64.u32 %da, %x; or.b64 %da, %da, {a};\n\
         add.u32 %x, %tile, {bytes_of_a}; and.b32 %x, %x, 0x3ffff; shr.u32 %x, %x, 4;\n\
         cvt.u64.u32 %db, %x; or.b64 %db, %db, {b};\n"
    )
}

const MULTIPLY: &str = "wgmma.fence.sync.aligned;\n\
     wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %da, %db, 1, 1, 1, 0, 0;\n\
     wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";

const ZERO: &str =
    "mov.f32 %d0, 0f00000000; mov.f32 %d1, %d0; mov.f32 %d2, %d0; mov.f32 %d3, %d0;\n";

/// The place of an element of a warpgroup's product whose threads store four elements each.
fn of_warpgroup(row: usize, column: usize) -> usize {
    let thread = row / 16 * 32 + row % 8 * 4 + column / 2;
    4 * thread + row / 8 % 2 * 2 + column % 2
}

/// One buffer, which the first thread has filled anew as soon as its own warp's product is done.
fn one_buffer(steps: usize) -> String {
    let descriptors = descriptors(64, 8, 0);
    module(
        "sm_90a",
        &format!(
            ".shared .align 128 .b8 tile[{OF_BOTH}]; .shared .align 8 .b64 bar;\n\
             @%first mbarrier.init.shared::cta.b64 [bar], 128;\n\
             bar.sync 0; mov.u32 %tile, tile; {descriptors}{ZERO}mov.u32 %i, 0;\n\
             next: @!%first bra others;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], {OF_BOTH}, [bar];\n\
             mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar], {OF_BOTH}; bra together;\n\
             others: mbarrier.arrive.shared::cta.b64 %state, [bar];\n\
             together: mbarrier.try_wait.shared::cta.b64 %ok, [bar], %state; @!%ok bra together;\n\
             {MULTIPLY}add.u64 %in, %in, {OF_BOTH}; add.u32 %i, %i, 1;\n\
             setp.lt.u32 %more, %i, {steps}; @%more bra next;\n\
             mad.wide.u32 %out, %t, 16, %out; st.global.v4.f32 [%out], {{%d0, %d1, %d2, %d3}};"
        ),
    )
}

#[test]
fn a_warpgroup_finishes_a_product_before_any_warp_has_its_tile_overwritten() {
    for steps in [1, 2, 5] {
        check(&one_buffer(steps), &Product::new(64, 8, steps), [128, 1], &TIMES, of_warpgroup);
    }
}

/// A warpgroup that copies and one that multiplies, with a ring of `slots` tiles. One thread says
/// that a tile is free again.
fn ring(slots: usize, steps: usize) -> String {
    let descriptors = descriptors(64, 8, 0);
    let advance = format!(
        "add.u32 %i, %i, 1; add.u32 %q, %q, 1; setp.eq.u32 %ok, %q, {slots};\n\
         @%ok mov.u32 %q, 0; @%ok xor.b32 %phase, %phase, 1; setp.lt.u32 %more, %i, {steps};\n"
    );
    let place = format!(
        "mov.u32 %bar, full; mad.lo.u32 %bar, %q, 8, %bar; add.u32 %other, %bar, {};\n\
         mov.u32 %tile, tiles; mad.lo.u32 %tile, %q, {OF_BOTH}, %tile;\n",
        8 * slots
    );
    let (empty, full) = (wait("EMPTY", "%other", "%phase"), wait("FULL", "%bar", "%phase"));
    let init: String = (0..2 * slots)
        .map(|at| format!("@%first mbarrier.init.shared::cta.b64 [full + {}], 1;\n", 8 * at))
        .collect();
    module(
        "sm_90a",
        &format!(
            ".shared .align 128 .b8 tiles[{}]; .shared .align 8 .b64 full[{}];\n{init}bar.sync 0;\n\
             mov.u32 %i, 0; mov.u32 %q, 0; setp.ge.u32 %mover, %t, 128; @%mover bra MULTIPLY;\n\
             mov.u32 %phase, 1; @!%first ret;\n\
             COPY: {place}{empty}mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {OF_BOTH};\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%in], {OF_BOTH}, [%bar];\n\
             add.u64 %in, %in, {OF_BOTH};\n{advance}@%more bra COPY; ret;\n\
             MULTIPLY: mov.u32 %phase, 0; setp.eq.u32 %first, %t, 128;\n{ZERO}\
             TAKE: {place}{full}{descriptors}{MULTIPLY}@%first mbarrier.arrive.shared::cta.b64 _, [%other];\n\
             {advance}@%more bra TAKE;\n\
             sub.u32 %t, %t, 128; mad.wide.u32 %out, %t, 16, %out;\n\
             st.global.v4.f32 [%out], {{%d0, %d1, %d2, %d3}};",
            slots * OF_BOTH,
            2 * slots
        ),
    )
}

#[test]
fn a_ring_of_tiles_between_warpgroups_gives_each_tile_back_once() {
    for (slots, steps) in [(1, 4), (2, 5), (3, 7), (4, 3)] {
        check(&ring(slots, steps), &Product::new(64, 8, steps), [256, 1], &TIMES, of_warpgroup);
    }
}

#[test]
fn a_warp_that_never_comes_to_its_warpgroup_is_named() {
    let text = module(
        "sm_90a",
        "setp.lt.u32 %more, %t, 96; @%more bra IN; ret;\nIN: wgmma.fence.sync.aligned;",
    );
    match launch(&text, [128, 1], &[0], 1, AsyncTiming::Usual) {
        Err(RunError::Fault(fault)) => {
            assert_eq!(fault.kind, FaultKind::WarpgroupDeadlock { here: 3, live: 3 });
        }
        other => panic!("no fault but {other:?}"),
    }
}

/// Bytes of a step of a product by the tensor cores of one CTA, of 128 by 16.
const CORE_BYTES: usize = (128 + 16) * DEPTH * 2;
/// Bits of a descriptor for tensor memory that say its version.
const VERSION: u64 = 1 << 46;

/// Stores the 16 or 32 elements of each thread's row.
fn store_rows(columns: usize) -> String {
    let list: Vec<_> = (0..columns).map(|at| format!("%d{at}")).collect();
    let stores: String =
        (0..columns).map(|at| format!("st.global.f32 [%out + {}], %d{at};\n", 4 * at)).collect();
    format!(
        "tcgen05.fence::after_thread_sync; shl.b32 %mine, %warp, 21; add.u32 %mine, %mine, %tm;\n\
         shl.b32 %x, %rank, 23; add.u32 %mine, %mine, %x;\n\
         tcgen05.ld.sync.aligned.32x32b.x{columns}.b32 {{{}}}, [%mine]; tcgen05.wait::ld.sync.aligned;\n\
         mad.lo.u32 %t, %rank, 128, %t; mad.wide.u32 %out, %t, {}, %out;\n{stores}",
        list.join(", "),
        4 * columns
    )
}

fn allocate(ctas: usize) -> [String; 2] {
    let group = format!("cta_group::{ctas}.sync.aligned");
    [
        format!(
            "setp.eq.u32 %ok, %warp, 0; @%ok tcgen05.alloc.{group}.shared::cta.b32 [where], 32;\n\
             bar.sync 0; ld.shared.b32 %tm, [where];\n"
        ),
        format!(
            "bar.sync 0; setp.eq.u32 %ok, %warp, 0; @%ok tcgen05.dealloc.{group}.b32 %tm, 32;\n"
        ),
    ]
}

/// One buffer, and one mbarrier that the copy and the commit of the product tell in turns. Warps 1
/// to 3 only wait for it.
fn one_mbarrier(steps: usize) -> String {
    let [allocate, free] = allocate(1);
    let (descriptors, store) = (descriptors(128, 16, VERSION), store_rows(16));
    let idesc = 1 << 4 | (16 >> 3) << 17 | (128 >> 4) << 24;
    let (copied, multiplied) = (wait("COPIED", "bar", "%phase"), wait("DONE", "bar", "%phase"));
    module(
        "sm_100a",
        &format!(
            ".shared .align 128 .b8 tile[{CORE_BYTES}]; .shared .align 8 .b64 bar; .shared .b32 where;\n\
             @%first mbarrier.init.shared::cta.b64 [bar], 1; mov.u32 %rank, 0; mov.b32 %idesc, {idesc};\n\
             {allocate}mov.u32 %tile, tile; {descriptors}mov.u32 %i, 0; mov.u32 %phase, 0;\n\
             NEXT: @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], {CORE_BYTES}, [bar];\n\
             @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {CORE_BYTES};\n\
             {copied}xor.b32 %phase, %phase, 1; setp.ne.u32 %adds, %i, 0;\n\
             @%first tcgen05.mma.cta_group::1.kind::f16 [%tm], %da, %db, %idesc, %adds;\n\
             @%first tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n\
             {multiplied}xor.b32 %phase, %phase, 1;\n\
             add.u64 %in, %in, {CORE_BYTES}; add.u32 %i, %i, 1;\n\
             setp.lt.u32 %more, %i, {steps}; @%more bra NEXT;\n{store}{free}"
        ),
    )
}

#[test]
fn warps_that_only_wait_see_every_phase_of_an_mbarrier() {
    // If copies end at once, warps that come late miss a phase, as they could on a GPU.
    let times: Vec<_> = TIMES.into_iter().filter(|&time| time != AsyncTiming::Early).collect();
    for steps in [1, 2, 3, 6] {
        let product = Product::new(128, 16, steps);
        let place = |row: usize, column: usize| 16 * row + column;
        check(&one_mbarrier(steps), &product, [128, 1], &times, place);
    }
    let product = Product::new(128, 16, 3);
    let early = launch(&one_mbarrier(3), [128, 1], &product.tiles(0, 1), 2048, AsyncTiming::Early);
    match early {
        Err(RunError::Fault(fault)) => {
            let said = fault.to_string();
            assert!(
                matches!(fault.kind, FaultKind::MbarrierDeadlock { passed: 2.., .. }),
                "{said}"
            );
        }
        other => panic!("no fault but {other:?}"),
    }
}

/// The output of a product of one step by a kernel, with each time at which it may end.
fn outputs(text: &str, product: &Product) -> Vec<(AsyncTiming, Vec<f32>)> {
    let times = [AsyncTiming::Usual, AsyncTiming::Late];
    let output = |timing| {
        let launched = launch(text, [128, 1], &product.tiles(0, 1), 2048, timing);
        let (words, _) = launched.unwrap_or_else(|error| panic!("{timing:?}: {error}\n{text}"));
        (timing, words.into_iter().map(f32::from_bits).collect())
    };
    times.map(output).into()
}

/// Threads that read tensor memory without a wait for the mbarrier of the commit see the product
/// if it is done at once. If it ends late, they see what was there before: nothing.
#[test]
fn a_product_that_nobody_waits_for_is_seen_at_once_and_not_late() {
    let product = Product::new(128, 16, 1);
    let all: Vec<f32> = (0..2048).map(|place| product.element(place / 16, place % 16)).collect();
    let waits = one_mbarrier(1);
    let forgot = waits.replace(&wait("DONE", "bar", "%phase"), "");
    assert_ne!(waits, forgot);
    for (timing, output) in outputs(&waits, &product) {
        assert_eq!(output, all, "{timing:?}");
    }
    for (timing, output) in outputs(&forgot, &product) {
        let expected = if timing == AsyncTiming::Late { vec![0.0; 2048] } else { all.clone() };
        assert_eq!(output, expected, "{timing:?}");
    }
}

/// A product reads its factors until it ends. Who overwrites an element before then gets that one
/// multiplied: here the first two of A's first row, by 64 each.
#[test]
fn a_factor_that_is_overwritten_before_its_product_has_read_it_is_shown_by_late_products() {
    let product = Product::new(128, 16, 1);
    let done = wait("DONE", "bar", "%phase");
    let overwrites = "@%first mov.b32 %x, 0x54005400; @%first st.shared.b32 [tile], %x;\n";
    let early = one_mbarrier(1).replace(&done, &format!("{overwrites}{done}"));
    let late = one_mbarrier(1).replace(&done, &format!("{done}{overwrites}"));
    let expected = |a: [i32; 2]| -> Vec<f32> {
        let more = |column: usize| {
            let b = &product.b[column * DEPTH..];
            let before = &product.a;
            ((a[0] - before[0]) * b[0] + (a[1] - before[1]) * b[1]) as f32
        };
        let all = (0..2048).map(|place| (place / 16, place % 16));
        all.map(|(row, column)| {
            product.element(row, column) + if row == 0 { more(column) } else { 0.0 }
        })
        .collect()
    };
    let (right, wrong) = (expected([product.a[0], product.a[1]]), expected([64, 64]));
    assert_ne!(right, wrong);
    for (timing, output) in outputs(&early, &product) {
        let expected = if timing == AsyncTiming::Late { &wrong } else { &right };
        assert_eq!(&output, expected, "{timing:?}");
    }
    for (timing, output) in outputs(&late, &product) {
        assert_eq!(output, right, "{timing:?}");
    }
}

/// A copy of A to tensor memory, the product that reads it there, and a shift behind both end in
/// the order in which their thread issues them. Nothing waits between them.
#[test]
fn operations_of_tensor_cores_end_in_order() {
    let from_shared = "tcgen05.mma.cta_group::1.kind::f16 [%tm], %da, %db, %idesc, %adds;";
    let from_tensor = "tcgen05.cp.cta_group::1.128x256b [%x], %da;\n\
         @%first tcgen05.mma.cta_group::1.kind::f16 [%tm], [%x], %db, %idesc, %adds;";
    for steps in [1, 3] {
        let product = Product::new(128, 16, steps);
        let text = one_mbarrier(steps);
        let text = text.replace(
            &format!("@%first {from_shared}"),
            &format!("add.u32 %x, %tm, 16;\n@%first {from_tensor}"),
        );
        assert!(text.contains(from_tensor));
        let place = |row: usize, column: usize| 16 * row + column;
        let times: Vec<_> = TIMES.into_iter().filter(|&time| time != AsyncTiming::Early).collect();
        check(&text, &product, [128, 1], &times, place);
    }
    // Columns 0 to 7 of the first 32 lanes move up by one; the last one keeps its own.
    let product = Product::new(128, 16, 1);
    let commit = "@%first tcgen05.commit";
    let text = one_mbarrier(1)
        .replace(commit, &format!("@%first tcgen05.shift.cta_group::1.down [%tm];\n{commit}"));
    let moved = |place: usize| {
        let (row, column) = (place / 16, place % 16);
        let from = if column < 8 && row < 31 { row + 1 } else { row };
        product.element(from, column)
    };
    let expected: Vec<f32> = (0..2048).map(moved).collect();
    for (timing, output) in outputs(&text, &product) {
        assert_eq!(output, expected, "{timing:?}");
    }
}

/// Two warps that issue 850 MB of copies before they wait for any: 31 copies of 32 KiB for each of
/// many mbarriers. Those that end late are held, but no more than some megabytes of them.
#[test]
fn copies_that_end_late_are_held_up_to_a_limit() {
    let text = module(
        "sm_90",
        "and.b32 %x, %t, 31; setp.ne.u32 %ok, %x, 0; @%ok bra DONE;\n\
         mov.u32 %bar, bars; mad.lo.u32 %bar, %warp, 3360, %bar; mov.u32 %other, %bar;\n\
         mov.u32 %i, 0;\n\
         NEXT: mbarrier.init.shared::cta.b64 [%bar], 1;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 1015808; mov.u32 %q, 0;\n\
         COPY: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 32768, [%bar];\n\
         add.u32 %q, %q, 1; setp.lt.u32 %more, %q, 31; @%more bra COPY;\n\
         add.u32 %bar, %bar, 8; add.u32 %i, %i, 1; setp.lt.u32 %more, %i, 420; @%more bra NEXT;\n\
         WAIT: mbarrier.try_wait.parity.shared::cta.b64 %ok, [%other], 0; @!%ok bra WAIT;\n\
         add.u32 %other, %other, 8; setp.lt.u32 %more, %other, %bar; @%more bra WAIT;\n\
         ld.shared.u32 %x, [tile + 32764]; mad.wide.u32 %out, %warp, 4, %out; st.global.u32 [%out], %x;\n\
         DONE:",
    );
    let text = text.replace(
        ".reg .b32 %t,",
        ".shared .align 128 .b8 tile[32768]; .shared .align 8 .b64 bars[840]; .reg .b32 %t,",
    );
    let input: Vec<u8> = (0..32768_u32).map(|at| (at / 4 % 251) as u8).collect();
    let before = most_resident();
    for timing in [AsyncTiming::Late, AsyncTiming::Random(1)] {
        let (output, _) = launch(&text, [64, 1], &input, 2, timing).unwrap();
        let last = u32::from_le_bytes(input[32764..].try_into().unwrap());
        assert_eq!(output, [last; 2], "{timing:?}");
    }
    if let (Some(before), Some(after)) = (before, most_resident()) {
        assert!(after - before < 256 << 10, "{} KiB more", after - before);
    }
}

/// The most KiB that the process has had in memory so far, where the system says it.
fn most_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A warp that copies, one that multiplies, and all four that store, with a ring of tiles that
/// commits give back.
fn roles(slots: usize, steps: usize) -> String {
    let [allocate, free] = allocate(1);
    let (descriptors, store) = (descriptors(128, 16, VERSION), store_rows(16));
    let idesc = 1 << 4 | (16 >> 3) << 17 | (128 >> 4) << 24;
    let advance = format!(
        "add.u32 %i, %i, 1; add.u32 %q, %q, 1; setp.eq.u32 %ok, %q, {slots};\n\
         @%ok mov.u32 %q, 0; @%ok xor.b32 %phase, %phase, 1; setp.lt.u32 %more, %i, {steps};\n"
    );
    let place = format!(
        "mov.u32 %bar, full; mad.lo.u32 %bar, %q, 8, %bar; add.u32 %other, %bar, {};\n\
         mov.u32 %tile, tiles; mad.lo.u32 %tile, %q, {CORE_BYTES}, %tile;\n",
        8 * slots
    );
    let init: String = (0..2 * slots + 1)
        .map(|at| format!("@%first mbarrier.init.shared::cta.b64 [full + {}], 1;\n", 8 * at))
        .collect();
    let done = format!("full + {}", 16 * slots);
    let (empty, full) = (wait("EMPTY", "%other", "%phase"), wait("FULL", "%bar", "%phase"));
    let all = wait("ALL", &done, "0");
    module(
        "sm_100a",
        &format!(
            ".shared .align 128 .b8 tiles[{}]; .shared .align 8 .b64 full[{}]; .shared .b32 where;\n\
             {init}mov.u32 %rank, 0; mov.b32 %idesc, {idesc};\n{allocate}mov.u32 %i, 0; mov.u32 %q, 0;\n\
             setp.eq.u32 %mover, %t, 32; setp.eq.u32 %issuer, %t, 64;\n\
             @%mover bra COPY_ALL; @%issuer bra MULTIPLY_ALL; bra STORE;\n\
             COPY_ALL: mov.u32 %phase, 1;\n\
             COPY: {place}{empty}mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {CORE_BYTES};\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%in], {CORE_BYTES}, [%bar];\n\
             add.u64 %in, %in, {CORE_BYTES};\n{advance}@%more bra COPY; bra STORE;\n\
             MULTIPLY_ALL: mov.u32 %phase, 0;\n\
             TAKE: {place}{full}{descriptors}setp.ne.u32 %adds, %i, 0;\n\
             tcgen05.mma.cta_group::1.kind::f16 [%tm], %da, %db, %idesc, %adds;\n\
             tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%other];\n\
             {advance}@%more bra TAKE;\n\
             tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{done}];\n\
             STORE: {all}bar.warp.sync 0xffffffff;\n{store}{free}",
            slots * CORE_BYTES,
            2 * slots + 1
        ),
    )
}

#[test]
fn warps_with_roles_hand_tiles_round() {
    for (slots, steps) in [(1, 3), (2, 5), (3, 4), (7, 2)] {
        let product = Product::new(128, 16, steps);
        let place = |row: usize, column: usize| 16 * row + column;
        check(&roles(slots, steps), &product, [128, 1], &TIMES, place);
    }
}

/// A pair of CTAs, each of which copies its half of A and B. The second tells the first, whose
/// mbarrier it finds by one bit of the address, and the first multiplies for both.
fn pair(steps: usize) -> String {
    let [allocate, free] = allocate(2);
    let (descriptors, store) = (descriptors(128, 16, VERSION), store_rows(32));
    let idesc = 1 << 4 | (32 >> 3) << 17 | (256 >> 4) << 24;
    let meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
    let copied = wait("COPIED", "full", "%phase");
    let (both, done) = (wait("BOTH", "both", "%phase"), wait("DONE", "done", "%phase"));
    let bytes = CORE_BYTES * steps;
    module(
        "sm_100a",
        &format!(
            ".shared .align 128 .b8 tile[{CORE_BYTES}]; .shared .align 8 .b64 full; .shared .align 8 .b64 both;\n\
             .shared .align 8 .b64 done; .shared .b32 where;\n\
             @%first mbarrier.init.shared::cta.b64 [full], 1; @%first mbarrier.init.shared::cta.b64 [both], 2;\n\
             @%first mbarrier.init.shared::cta.b64 [done], 1; mov.u32 %rank, %cluster_ctarank;\n\
             mov.b32 %idesc, {idesc};\n{meet}{allocate}mul.wide.u32 %wide, %rank, {bytes}; add.u64 %in, %in, %wide;\n\
             mov.u32 %tile, tile; {descriptors}mov.u32 %i, 0; mov.u32 %phase, 0;\n\
             setp.eq.and.u32 %issuer, %rank, 0, %first; mov.u32 %bar, both; and.b32 %other, %bar, 0xfeffffff;\n\
             NEXT: @!%first bra WAIT;\n\
             mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {CORE_BYTES};\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%in], {CORE_BYTES}, [full];\n\
             {copied}mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%other];\n\
             @!%issuer bra WAIT;\n{both}setp.ne.u32 %adds, %i, 0;\n\
             tcgen05.mma.cta_group::2.kind::f16 [%tm], %da, %db, %idesc, %adds;\n\
             tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [done], 3;\n\
             WAIT: {done}bar.warp.sync 0xffffffff; xor.b32 %phase, %phase, 1;\n\
             add.u64 %in, %in, {CORE_BYTES}; add.u32 %i, %i, 1;\n\
             setp.lt.u32 %more, %i, {steps}; @%more bra NEXT;\n{store}{meet}{free}"
        ),
    )
}

#[test]
fn a_pair_finds_the_mbarrier_of_its_first_cta_by_one_bit() {
    for steps in [1, 2, 5] {
        let product = Product::new(256, 32, steps);
        check(&pair(steps), &product, [128, 2], &TIMES, |row, column| 32 * row + column);
    }
}

#[test]
fn an_arrival_at_an_mbarrier_of_a_cta_that_has_exited_is_lost() {
    let text = module(
        "sm_90a",
        ".shared .align 8 .b64 bar; mov.u32 %rank, %cluster_ctarank;\n\
         mbarrier.init.shared::cta.b64 [bar], 1;\n\
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n\
         setp.eq.u32 %ok, %rank, 1; @%ok ret; mov.u32 %i, 0;\n\
         LONG: add.u32 %i, %i, 1; setp.lt.u32 %more, %i, 100000; @%more bra LONG;\n\
         mov.u32 %x, 1; mapa.shared::cluster.u32 %other, bar, %x;\n\
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%other];\n\
         st.global.u32 [%out], %i;",
    );
    let (output, _) = launch(&text, [32, 2], &[0], 1, AsyncTiming::Usual).unwrap();
    assert_eq!(output, [100_000]);
}

#[test]
fn a_copy_that_nobody_waits_for_is_seen_late_and_not_early() {
    // The thread reads the tile's first word without having waited for the mbarrier.
    let text = module(
        "sm_90a",
        ".shared .align 128 .b8 tile[16]; .shared .align 8 .b64 bar;\n\
         mbarrier.init.shared::cta.b64 [bar], 1; mov.u32 %x, 7; st.shared.u32 [tile], %x;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 16, [bar];\n\
         ld.shared.u32 %i, [tile];\n\
         WAIT: mbarrier.try_wait.parity.shared::cta.b64 %ok, [bar], 0; @!%ok bra WAIT;\n\
         ld.shared.u32 %q, [tile]; st.global.v2.u32 [%out], {%i, %q};",
    );
    let input = [9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (timing, read) in [(AsyncTiming::Usual, 9), (AsyncTiming::Early, 9), (AsyncTiming::Late, 7)]
    {
        let (output, _) = launch(&text, [1, 1], &input, 2, timing).unwrap();
        assert_eq!(output, [read, 9], "{timing:?}");
    }
}
