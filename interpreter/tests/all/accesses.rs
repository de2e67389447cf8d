//! Loads and stores with addresses of every pattern: what they move, and what the observer is
//! told. Some of them are made within the lane loop and others are not; nobody may notice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use std::collections::BTreeSet;

use gpucast_interpreter::{
    ALIKE_BYTES, Access, AccessKind, Argument, DeviceMemory, FaultKind, Further, FurtherAccess,
    Launch, Observer, Options, Pattern, Program, Recorder, RunError, Silent, run,
};
use gpucast_ptx_frontend::types::StateSpace;

use crate::common::{self, launch, module};

/// What a warp is told of an access: kind, lanes, pattern, and the addresses that count.
type Event = (AccessKind, u32, Pattern, Vec<u64>);

#[derive(Default)]
struct Events {
    accesses: Vec<Event>,
    guarded_lanes: Vec<u64>,
    bad_lanes: Vec<u32>,
    bytes: u32,
}

/// Records the accesses of the size under test.
#[derive(Default)]
struct Watch(Events);

impl Observer for Watch {
    type Recorder = Events;

    fn fresh(&self) -> Self {
        Self(Events { bytes: self.0.bytes, ..Events::default() })
    }

    fn recorder(&self, _program: &Program) -> Events {
        Events { bytes: self.0.bytes, ..Events::default() }
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut Events]) {
        self.0 = std::mem::take(recorders[0]);
    }
}

impl Recorder for Events {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, lanes: &[u64]) {
        self.guarded_lanes = lanes.to_vec();
    }

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn bad_access(&mut self, bad: &gpucast_interpreter::BadAccess<'_>) {
        self.bad_lanes.push(bad.lane);
    }

    fn access(&mut self, access: &Access<'_>) {
        let under_test = matches!(access.space, StateSpace::Shared | StateSpace::Global);
        if !under_test || access.bytes_per_lane != self.bytes {
            return;
        }
        let counts = |&lane: &usize| match access.pattern {
            Pattern::General => access.mask >> lane & 1 == 1,
            Pattern::Uniform | Pattern::Consecutive => lane == 0,
        };
        let addresses = (0..32).filter(counts).map(|lane| access.addresses[lane]).collect();
        self.accesses.push((access.kind, access.mask, access.pattern, addresses));
    }
}

/// A vector of `elements` registers of `bits` each.
#[derive(Clone, Copy, Debug)]
struct Shape {
    elements: u32,
    bits: u32,
}

impl Shape {
    fn bytes(self) -> u32 {
        self.elements * self.bits / 8
    }

    /// The type, and the registers of one prefix.
    fn operands(self, prefix: &str) -> (String, String) {
        let registers: Vec<_> = (0..self.elements).map(|i| format!("%{prefix}{i}")).collect();
        match self.elements {
            1 => (format!("u{}", self.bits), registers[0].clone()),
            n => (format!("v{n}.u{}", self.bits), format!("{{{}}}", registers.join(", "))),
        }
    }
}

/// Each thread stores registers at its place of the table and loads from there what the last one
/// left; threads with an odd number may take no part.
fn kernel(space: &str, shape: Shape, places: &[u32; 32], guarded: bool) -> String {
    let (Shape { elements, bits }, bytes) = (shape, shape.bytes());
    let (ty, values) = shape.operands("v");
    let (_, results) = shape.operands("w");
    let guard = if guarded { "@%even " } else { "" };
    let places: Vec<_> = places.iter().map(u32::to_string).collect();
    let (area, at) = match space {
        "shared" => (
            ".shared .align 16 .b8 area[4096];",
            "mov.u32 %base, area; add.u32 %base, %base, %place;".to_owned(),
        ),
        _ => ("", "cvt.u64.u32 %wide, %place; add.u64 %wide, %out, %wide;".to_owned()),
    };
    let base = if space == "shared" { "%base" } else { "%wide" };
    let set: String = (0..elements)
        .map(|i| {
            format!(
                "mad.lo.u32 %value, %tid, 100, {i}; cvt.u{bits}.u32 %v{i}, %value; \
                 mov.u{bits} %w{i}, 7;\n"
            )
        })
        .collect();
    let give: String = (0..elements)
        .map(|i| format!("cvt.u32.u{bits} %value, %w{i}; st.global.b8 [%slot+{i}], %value;\n"))
        .collect();
    module(&format!(
        ".const .align 4 .b32 places[32] = {{{}}};\n\
         .visible .entry k(.param .u64 out) {{\n\
         .reg .b32 %tid, %base, %place, %value; .reg .b64 %out, %wide, %slot; .reg .pred %even;\n\
         .reg .b{bits} %v<4>, %w<4>;\n{area}\n\
         ld.param.u64 %out, [out]; mov.u32 %tid, %tid.x;\n\
         mad.wide.u32 %slot, %tid, 4, %out; add.u64 %slot, %slot, 8192;\n\
         and.b32 %value, %tid, 1; setp.eq.u32 %even, %value, 0;\n\
         mov.u32 %base, places; mad.lo.u32 %base, %tid, 4, %base; ld.const.b32 %place, [%base];\n\
         mul.lo.u32 %place, %place, {bytes}; {at}\n{set}\
         {guard}st.{space}.{ty} [{base}], {values};\n\
         bar.sync 0;\n\
         {guard}ld.{space}.{ty} {results}, [{base}];\n{give}ret;\n}}\n",
        places.join(", ")
    ))
}

/// Run it with `threads` threads: the events and the bytes that each thread gave.
fn outcome(
    text: &str,
    shape: Shape,
    threads: u32,
    options: &Options,
) -> Result<(Events, Vec<[u8; 4]>, u64), RunError> {
    let module = gpucast_ptx_frontend::load(text)
        .unwrap_or_else(|problems| panic!("{:?}\n{text}", problems[0].message));
    let program = Program::new(&module, text, "k").unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 8192 + 40 * 4 * 32).unwrap();
    let launch = Launch {
        grid: [1; 3],
        block: [threads, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(out)],
    };
    let mut watch = Watch(Events { bytes: shape.bytes(), ..Events::default() });
    run(&program, &launch, &mut memory, &mut watch, options, &Silent)?;
    let given = memory.bytes("out").unwrap()[8192..].chunks_exact(4);
    Ok((watch.0, given.map(|slot| slot.try_into().unwrap()).collect(), out))
}

/// What element `element` of thread `tid` holds, as a byte.
fn value(tid: usize, element: usize) -> u8 {
    (tid * 100 + element) as u8
}

const SHAPES: [Shape; 6] = [
    Shape { elements: 1, bits: 32 },
    Shape { elements: 1, bits: 64 },
    Shape { elements: 2, bits: 32 },
    Shape { elements: 4, bits: 32 },
    Shape { elements: 2, bits: 64 },
    Shape { elements: 1, bits: 16 },
];

fn patterns() -> Vec<[u32; 32]> {
    let mut broken: [u32; 32] = std::array::from_fn(|lane| lane as u32 + 3);
    broken[9] = 60;
    let mut nearly_uniform = [5; 32];
    nearly_uniform[31] = 6;
    let place = |f: fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
    vec![
        [5; 32],
        nearly_uniform,
        place(|lane| lane + 2),
        broken,
        place(|lane| 31 - lane),
        place(|lane| 3 * lane),
        place(|lane| lane / 2),
        place(|lane| lane % 16),
        place(|lane| lane * 37 % 101),
    ]
}

#[test]
fn accesses_of_any_pattern_move_what_they_say_and_are_reported_as_they_are() {
    for (space, shape, threads, guarded, places) in SHAPES
        .into_iter()
        .flat_map(|shape| ["shared", "global"].map(|space| (space, shape)))
        .flat_map(|(space, shape)| [32, 20].map(|threads| (space, shape, threads)))
        .flat_map(|(space, shape, threads)| [true, false].map(|g| (space, shape, threads, g)))
        .flat_map(|(space, shape, threads, guarded)| {
            patterns().into_iter().map(move |places| (space, shape, threads, guarded, places))
        })
    {
        let context = format!("{space} {shape:?} {threads} threads {guarded} {places:?}");
        let text = kernel(space, shape, &places, guarded);
        let (events, given, out) = outcome(&text, shape, threads, &Options::default()).unwrap();

        let active: Vec<usize> =
            (0..threads as usize).filter(|lane| !guarded || lane % 2 == 0).collect();
        let mask = active.iter().fold(0, |mask, lane| mask | 1_u32 << lane);
        for lane in 0..threads as usize {
            let last = active.iter().rev().find(|&&other| places[other] == places[lane]);
            let loads = active.contains(&lane);
            for element in 0..shape.elements as usize {
                let wanted = if loads { value(*last.unwrap(), element) } else { 7 };
                assert_eq!(given[lane][element], wanted, "lane {lane}, {context}");
            }
        }

        let steps: Vec<_> = places.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        let pattern = match mask == !0 {
            true if steps.iter().all(|&step| step == 0) => Pattern::Uniform,
            true if steps.iter().all(|&step| step == 1) => Pattern::Consecutive,
            _ => Pattern::General,
        };
        let area = if space == "global" { out } else { 0 };
        let address = |lane: &usize| area + u64::from(places[*lane] * shape.bytes());
        let addresses: Vec<u64> = match pattern {
            Pattern::General => active.iter().map(address).collect(),
            Pattern::Uniform | Pattern::Consecutive => vec![address(&0)],
        };
        let wanted = [AccessKind::Store, AccessKind::Load]
            .map(|kind| (kind, mask, pattern, addresses.clone()));
        assert_eq!(events.accesses, wanted, "{context}");
        let lanes = active.len() as u64;
        let guards = if guarded { vec![lanes, lanes] } else { Vec::new() };
        assert_eq!(events.guarded_lanes, guards, "{context}");
    }
}

#[test]
fn a_lane_out_of_bounds_is_found_and_lanes_that_are_left_out_are_counted_once() {
    for (space, guarded, shape) in SHAPES
        .into_iter()
        .flat_map(|shape| [("shared", shape), ("global", shape)])
        .flat_map(|(space, shape)| [(space, true, shape), (space, false, shape)])
    {
        // Beyond both areas, but before the shared memory of other CTAs.
        const BEYOND: u32 = 60_000;
        let mut places: [u32; 32] = std::array::from_fn(|lane| lane as u32);
        places[9] = BEYOND;
        places[20] = BEYOND;
        let context = format!("{space} {guarded} {shape:?}");
        let text = kernel(space, shape, &places, guarded);
        let first = if guarded { 20 } else { 9 };
        let Err(RunError::Fault(fault)) = outcome(&text, shape, 32, &Options::default()) else {
            panic!("no fault: {context}");
        };
        assert!(matches!(fault.kind, FaultKind::OutOfBounds { write: true, .. }), "{context}");
        assert_eq!(fault.thread, Some([first, 0, 0]), "{context}");

        let options = Options { skip_bad_accesses: true, ..Options::default() };
        let (events, given, _) = outcome(&text, shape, 32, &options).unwrap();
        let bad: Vec<u32> = if guarded { vec![20, 20] } else { vec![9, 20, 9, 20] };
        assert_eq!(events.bad_lanes, bad, "{context}");
        for lane in 0..32 {
            let wanted = match lane {
                _ if guarded && lane % 2 == 1 => 7,
                _ if bad.contains(&(lane as u32)) => 0,
                _ => value(lane, 0),
            };
            assert_eq!(given[lane][0], wanted, "lane {lane}: {context}");
        }
        let lanes = if guarded { vec![16, 16] } else { Vec::new() };
        assert_eq!(events.guarded_lanes, lanes, "{context}");
    }
}

/// Every lane's place comes from a table, round by round: the same distances again at other places,
/// and others in between.
#[test]
fn distances_that_come_back_move_and_tell_what_others_do() {
    const ROUNDS: usize = 40;
    let patterns = patterns();
    // Rounds of one pattern in a row, and then two in turns.
    let place = |round: usize, lane: usize| {
        let pattern = if round < 24 { round / 4 + 3 } else { round % 2 + 6 };
        patterns[pattern % patterns.len()][lane] + (round as u32 * 5) % 60
    };
    for (space, shape) in SHAPES
        .into_iter()
        .flat_map(|shape| ["shared", "global"].map(|space| (space, shape)))
        .filter(|(_, shape)| shape.bytes() >= 4)
    {
        let context = format!("{space} {shape:?}");
        let Shape { elements, bits } = shape;
        let (ty, values) = shape.operands("v");
        let (_, results) = shape.operands("w");
        let bytes = shape.bytes();
        let (area, base) = match space {
            "shared" => (".shared .align 16 .b8 area[4096];", "mov.u32 %base, area;"),
            _ => ("", "mov.u32 %base, 0;"),
        };
        let at = match space {
            "shared" => "add.u32 %at, %base, %place;",
            _ => "cvt.u64.u32 %wide, %place; add.u64 %wide, %out, %wide;",
        };
        let address = if space == "shared" { "%at" } else { "%wide" };
        let set: String = (0..elements)
            .map(|i| {
                format!(
                    "mad.lo.u32 %value, %round, 32, %tid; mad.lo.u32 %value, %value, 4, {i}; \
                     cvt.u{bits}.u32 %v{i}, %value;\n"
                )
            })
            .collect();
        let give: String = (0..elements)
            .map(|i| format!("cvt.u32.u{bits} %value, %w{i}; st.global.b8 [%slot+{i}], %value;\n"))
            .collect();
        let table: Vec<_> = (0..ROUNDS * 32)
            .map(|index| (place(index / 32, index % 32) * bytes).to_string())
            .collect();
        let text = module(&format!(
            ".const .align 4 .b32 places[{}] = {{{}}};\n\
             .visible .entry k(.param .u64 out) {{\n\
             .reg .b32 %tid, %base, %at, %place, %value, %round, %entry; .reg .b64 %out, %wide, \
             %slot; .reg .pred %p;\n.reg .b{bits} %v<4>, %w<4>;\n{area}\n\
             ld.param.u64 %out, [out]; mov.u32 %tid, %tid.x; {base}\n\
             mad.wide.u32 %slot, %tid, 4, %out; add.u64 %slot, %slot, 8192;\n\
             mov.u32 %entry, places; mad.lo.u32 %entry, %tid, 4, %entry; mov.u32 %round, 0;\n\
             LOOP:\nld.const.b32 %place, [%entry]; {at}\n{set}\
             st.{space}.{ty} [{address}], {values};\nbar.sync 0;\n\
             ld.{space}.{ty} {results}, [{address}];\n{give}\
             add.u64 %slot, %slot, 128; add.u32 %entry, %entry, 128; add.u32 %round, %round, 1;\n\
             setp.lt.u32 %p, %round, {ROUNDS};\n@%p bra LOOP;\nret;\n}}\n",
            ROUNDS * 32,
            table.join(", ")
        ));
        let (events, given, out) = outcome(&text, shape, 32, &Options::default()).unwrap();
        let (accesses, others): (Vec<_>, Vec<_>) = events
            .accesses
            .into_iter()
            .filter(|(_, _, _, addresses)| space == "shared" || addresses[0] < out + 8192)
            .partition(|(_, mask, _, _)| *mask == !0);
        assert_eq!(others, [], "{context}");
        assert_eq!(accesses.len(), 2 * ROUNDS, "{context}");
        let area = if space == "global" { out } else { 0 };
        for round in 0..ROUNDS {
            let places: Vec<u32> = (0..32).map(|lane| place(round, lane)).collect();
            for (_, _, pattern, addresses) in &accesses[2 * round..2 * round + 2] {
                let told = if *pattern == Pattern::General { 32 } else { 1 };
                let wanted: Vec<u64> =
                    places[..told].iter().map(|&place| area + u64::from(place * bytes)).collect();
                assert_eq!(*addresses, wanted, "round {round}: {context}");
            }
            for lane in 0..32 {
                let last = (0..32).rev().find(|&other| places[other] == places[lane]).unwrap();
                for element in 0..elements as usize {
                    let wanted = (4 * (32 * round + last) + element) as u8;
                    let found = given[32 * round + lane][element];
                    assert_eq!(found, wanted, "round {round}, lane {lane}: {context}");
                }
            }
        }
    }
}

/// One kind of accesses of a CTA: the first, what is needed of the others, and what was told.
struct Kind {
    /// Instruction, kind, and the first lane's place.
    of: (u32, AccessKind, u64),
    needs: Further,
    firsts: Vec<u64>,
    number: u64,
    latest: u64,
}

/// Adds up what it hears of accesses, and asks for as little as it is told to.
#[derive(Default)]
struct Sums {
    needs: Option<Further>,
    kinds: Vec<Kind>,
    /// Every access with its time that was told one by one.
    each: Vec<((u32, AccessKind, u64), u64, u64)>,
    has_ended: bool,
}

impl Sums {
    fn of(access: &Access<'_>) -> (u32, AccessKind, u64) {
        (access.instruction, access.kind, access.addresses[0] % ALIKE_BYTES)
    }
}

impl Observer for Sums {
    type Recorder = Self;

    fn fresh(&self) -> Self {
        Self { needs: self.needs, ..Self::default() }
    }

    fn recorder(&self, _program: &Program) -> Self {
        self.fresh()
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut Self]) {
        *self = std::mem::take(recorders[0]);
    }
}

impl Recorder for Sums {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {
        self.has_ended = true;
    }

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        if access.mask == !0 {
            self.each.push((Self::of(access), access.addresses[0], access.time));
        }
    }

    fn first_access(&mut self, slot: u32, access: &Access<'_>) -> Further {
        self.access(access);
        assert_eq!((slot as usize, access.mask), (self.kinds.len(), !0));
        let needs = self.needs.unwrap();
        let (of, firsts) = (Self::of(access), Vec::new());
        self.kinds.push(Kind { of, needs, firsts, number: 0, latest: 0 });
        needs
    }

    fn further_address(&mut self, slot: u32, access: FurtherAccess) {
        let kind = &mut self.kinds[slot as usize];
        assert_eq!((kind.needs, access.first % ALIKE_BYTES), (Further::Address, kind.of.2));
        kind.firsts.push(access.first);
        self.each.push((kind.of, access.first, access.time));
    }

    fn further_accesses(&mut self, slot: u32, count: u64, latest: u64) {
        assert!(!self.has_ended);
        let kind = &mut self.kinds[slot as usize];
        assert_ne!(kind.needs, Further::Each);
        kind.number += count;
        kind.latest = kind.latest.max(latest);
    }
}

/// A loop of loads and stores at many places, some of which are alike: what is told of all of them
/// together is what is told of each.
#[test]
fn accesses_that_are_told_together_are_those_that_are_told_one_by_one() {
    let text = module(
        ".visible .entry k(.param .u64 out) {\n\
         .reg .b32 %tid, %at, %step, %v<4>, %round; .reg .b64 %out, %wide; .reg .pred %p, %q;\n\
         .shared .align 16 .b8 area[8192];\n\
         ld.param.u64 %out, [out]; mov.u32 %tid, %tid.x; mov.u32 %round, 0; mov.u32 %step, 4;\n\
         LOOP:\nmad.lo.u32 %at, %tid, %step, %round; and.b32 %at, %at, 0xffc;\n\
         cvt.u64.u32 %wide, %at; add.u64 %wide, %wide, %out;\n\
         mov.u32 %v0, area; add.u32 %at, %at, %v0;\n\
         st.shared.u32 [%at], %tid; ld.shared.u32 %v1, [%at]; ld.shared.u32 %v2, [%at+128];\n\
         ld.global.u32 %v1, [%wide]; ld.global.u32 %v2, [%wide+4]; bar.sync 0;\n\
         add.u32 %at, %at, 64; ld.shared.v2.u32 {%v1, %v2}, [area+16];\n\
         ld.shared.u32 %v2, [%at]; setp.lt.u32 %q, %tid, 40; @%q st.global.u32 [%wide], %v2;\n\
         add.u32 %round, %round, 4; and.b32 %v3, %round, 64; setp.ne.u32 %p, %v3, 0;\n\
         selp.u32 %step, 8, 4, %p; setp.lt.u32 %p, %round, 600;\n@%p bra LOOP;\nret;\n}\n",
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, "k").unwrap();
    let mut told = [Further::Each, Further::Address, Further::Number].map(|needs| {
        let mut memory = DeviceMemory::new();
        let out = memory.allocate("out", 8192).unwrap();
        let launch = Launch {
            grid: [1; 3],
            block: [96, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![Argument::Address(out)],
        };
        let mut sums = Sums { needs: Some(needs), ..Sums::default() };
        run(&program, &launch, &mut memory, &mut sums, &Options::default(), &Silent).unwrap();
        sums
    });
    let [each, address, number] = &mut told;
    // Seven accesses of each warp, and one of the first alone.
    assert_eq!(each.each.len(), (7 * 3 + 1) * 150);
    // By addresses all of them are told, and in order.
    assert_eq!(address.each, each.each);
    let further: u64 = address.kinds.iter().map(|kind| kind.number).sum();
    assert_eq!(further as usize, address.kinds.iter().map(|kind| kind.firsts.len()).sum());
    assert!(further > 1000, "{further}");
    for all in [address, number] {
        let instructions: BTreeSet<_> = all.each.iter().map(|(of, ..)| of.0).collect();
        for instruction in instructions {
            let mut latest = 0;
            for place in (0..ALIKE_BYTES).step_by(4) {
                let is_here = |of: (u32, AccessKind, u64)| (of.0, of.2) == (instruction, place);
                let each = each.each.iter().filter(|(of, ..)| is_here(*of));
                let told = all.each.iter().filter(|(of, ..)| is_here(*of));
                let kinds = all.kinds.iter().filter(|kind| is_here(kind.of) && kind.number > 0);
                let by_number = kinds.clone().filter(|kind| kind.needs == Further::Number);
                let by_number: u64 = by_number.map(|kind| kind.number).sum();
                let context = format!("instruction {instruction}, place {place}");
                assert_eq!(
                    told.clone().count() as u64 + by_number,
                    each.count() as u64,
                    "{context}"
                );
                latest = told
                    .map(|told| told.2)
                    .chain(kinds.map(|kind| kind.latest))
                    .fold(latest, u64::max);
            }
            let of_each = each.each.iter().filter(|(of, ..)| of.0 == instruction);
            assert_eq!(Some(latest), of_each.map(|told| told.2).max(), "instruction {instruction}");
        }
    }
}

/// Distances change from CTA to CTA, and each needs a slot of its own: 3000 CTAs of a launch need
/// more than a recorder has. Sums stay those of records of single CTAs.
#[test]
fn slots_are_given_anew_where_distances_always_change() {
    let body = "mov.u32 %r0, %ctaid.x; rem.u32 %r1, %r0, 61; add.u32 %r1, %r1, 1;\n\
        mul.lo.u32 %r1, %r1, %tid; mad.wide.u32 %at, %r1, 4, %out;\n\
        ld.global.u32 %r2, [%at]; ld.global.u32 %r3, [%at+128]; ld.global.u32 %r3, [%at+256];\n\
        ret;";
    let shape = common::Shape::new(3000, 64, 64 * 62 + 64);
    let (_, totals, _) = launch(&common::kernel(body), &shape).unwrap();
    assert_eq!(totals.accesses, 3000 * 2 * 3);
}
