//! Atomics that meet: operations times the clocks of one, whoever asks for them.

use gpucast_simulation::code::{AccessKind, Code, Control, Space};
use gpucast_simulation::launch::{Beside, Launch, Request, Turn, WarpTrace};
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::states::State;
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{Combining, busiest_line};

use crate::machine::machine;
use crate::{looped, round, run};

/// A round of a loop with one atomic, which the next round waits for or not.
fn updates(kind: AccessKind) -> Code {
    looped(|writer| {
        let control = match kind {
            AccessKind::Atomic => Control::after(1).signals(0).waits(1),
            _ => Control::after(1),
        };
        writer.access(Space::Global, kind, 4, control);
    })
}

/// The turn at a line at which CTAs meet, and one at a line of each CTA.
const SHARED: Turn = Turn { line: 0, steps: 8, is_shared: true };
const OWN: Turn = Turn { is_shared: false, ..SHARED };

/// Requests of eight lanes to one address of each of `lines` lines in turn, `rounds` of them.
fn in_turn(rounds: usize, lines: u32) -> Vec<Request> {
    (0..rounds as u32)
        .map(|at| {
            let beside = Beside::Turns { first: at % lines, lines: 1 };
            Request { lanes: 8, serial: 8, ..Request::global(0, 1, 0) }.with(beside)
        })
        .collect()
}

/// CTAs of `warps` warps, each with `rounds` atomics at `lines` lines.
fn launch(
    kind: AccessKind,
    turn: Turn,
    lines: u32,
    warps: usize,
    rounds: usize,
    ctas: u64,
) -> Launch {
    let mut trace = WarpTrace::of_loop(rounds, &[]);
    trace.requests = vec![in_turn(rounds, lines)];
    let turns = (0..lines).map(|line| Turn { line, ..turn }).collect();
    Launch { turns, ..Launch::of_equal_ctas(updates(kind), vec![trace; warps], ctas) }
}

fn clocks(parameters: &Parameters, launch: &Launch) -> f64 {
    run(parameters, launch, 8).clocks
}

/// A machine on which nothing but the lines limits atomics.
fn unlimited(interval: f64) -> Parameters {
    let mut machine = machine();
    machine.memory.atomic_interval = interval;
    machine.memory.atomic_rate = 1e6;
    machine
}

#[test]
fn atomics_of_all_warps_and_sms_follow_each_other_at_a_line() {
    for kind in [AccessKind::Reduction, AccessKind::Atomic] {
        for interval in [1.0, 4.0] {
            for ctas in [1, 60, 80, 250, 4000] {
                let machine = unlimited(interval);
                let launch = launch(kind, SHARED, 1, 4, 20, ctas);
                // Each CTA has four warps, each of these 20 requests, each of these eight lanes.
                let expected = (ctas * 4 * 20 * 8) as f64 * interval;
                let found = clocks(&machine, &launch);
                // A start, an end and the way to the L2 and back come on top.
                let beside = found - expected;
                let most = if kind == AccessKind::Atomic { 0.05 * expected } else { 0.0 };
                let alone = 21.0 * (machine.memory.l2_latency + 60.0) + 6000.0;
                assert!(
                    (0.0..=alone + most).contains(&beside),
                    "{kind:?} {ctas}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn clocks_behind_the_last_warp_wait_for_the_line() {
    // No warp waits for a reduction. The warps end early, and the line works on for them.
    let machine = unlimited(1.0);
    for ctas in [80, 4000] {
        let launch = launch(AccessKind::Reduction, SHARED, 1, 4, 20, ctas);
        let outcome = run(&machine, &launch, 8);
        let work = (ctas * 4 * 20 * 8) as f64;
        let queued = outcome.slots.of(State::L2Queue);
        assert!((0.8 * work..=work).contains(&queued), "{ctas} CTAs: {queued} of {work}");
        assert!(outcome.slots.of(State::Tail) < 2000.0, "{ctas} CTAs: {:?}", outcome.slots);
        assert!((outcome.slots.total() / outcome.clocks - 1.0).abs() < 1e-6);
    }
}

#[test]
fn lines_are_changed_side_by_side() {
    let machine = unlimited(1.0);
    let of = |lines| clocks(&machine, &launch(AccessKind::Reduction, SHARED, lines, 4, 64, 4000));
    let work = f64::from(4000 * 4 * 64 * 8);
    for lines in [1, 2, 8, 16] {
        let expected = work / f64::from(lines);
        let error = of(lines) / expected - 1.0;
        assert!((0.0..0.08).contains(&error), "{lines} lines: {error:+.4}");
    }
}

#[test]
fn lines_of_a_cta_are_waited_for_by_its_own_warps_alone() {
    // 16 warps of one CTA; a second SM's CTA has its own line.
    let machine = unlimited(1.0);
    let of = |turn, ctas| {
        let of =
            |rounds| clocks(&machine, &launch(AccessKind::Reduction, turn, 1, 16, rounds, ctas));
        (of(300) - of(100)) / 200.0
    };
    assert!((of(OWN, 1) - 16.0 * 8.0).abs() < 0.1, "{}", of(OWN, 1));
    assert!((of(OWN, 80) - 16.0 * 8.0).abs() < 0.1, "{}", of(OWN, 80));
    assert!((of(SHARED, 80) - 80.0 * 16.0 * 8.0).abs() < 0.1, "{}", of(SHARED, 80));
}

#[test]
fn atomics_that_do_not_meet_take_the_clocks_that_they_took() {
    let machine = machine();
    for kind in [AccessKind::Reduction, AccessKind::Atomic] {
        for ctas in [1, 80, 500] {
            // One warp a CTA, whose requests go to lines of its own.
            let apart = launch(kind, Turn { steps: 1, ..OWN }, 64, 1, 64, ctas);
            let none = Launch { turns: Vec::new(), ..apart.clone() };
            assert_eq!(clocks(&machine, &apart).to_bits(), clocks(&machine, &none).to_bits());
        }
    }
}

#[test]
fn the_busiest_line_is_that_of_most_steps_over_all_ctas() {
    let launch = launch(AccessKind::Reduction, SHARED, 3, 2, 7, 10);
    // Of seven requests of each warp three go to line 0.
    assert!((busiest_line(&launch) - f64::from(10 * 2 * 3 * 8)).abs() < 1e-9);
    let own = Launch { turns: vec![OWN; 3], ..launch };
    assert!(busiest_line(&own).abs() < 1e-9);
}

#[test]
fn warps_that_add_up_first_take_one_turn() {
    let code = looped(|writer: &mut Writer| {
        writer.access(Space::Global, AccessKind::Reduction, 4, Control::after(1));
    });
    let combined = |combining: Option<Combining>, lanes, serial| {
        let beside = Beside::Turns { first: 0, lines: 1 };
        let request = Request { lanes, serial, ..Request::global(0, 1, 0) }.with(beside);
        let trace = WarpTrace::of_loop(3, &[request]);
        let launch = Launch::of_equal_ctas(code.clone(), vec![trace], 1);
        let turns = vec![Turn { steps: serial, ..SHARED }];
        let queues = combining.map(|combining| (0, combining)).into_iter().collect();
        let launch = Launch { turns, ..launch }.with_combined_atomics(&queues);
        let request = launch.classes[0].samples[0].warps[0].requests[0][2];
        (request.serial, launch.turns_of(&request)[0].steps)
    };
    assert_eq!(combined(Some(Combining::Elected), 32, 32), (1, 1));
    assert_eq!(combined(Some(Combining::Elected), 20, 20), (1, 1));
    assert_eq!(combined(Some(Combining::WholeWarp), 32, 32), (1, 1));
    // A part of the warp, and lanes at other addresses.
    assert_eq!(combined(Some(Combining::WholeWarp), 20, 20), (20, 20));
    assert_eq!(combined(Some(Combining::Elected), 32, 16), (16, 16));
    assert_eq!(combined(None, 32, 32), (32, 32));
    // An instruction that counts lanes needs no more for a half of them at each of two addresses.
    assert_eq!(combined(Some(Combining::Counted), 32, 16), (1, 1));
}

#[test]
fn atomics_of_all_warps_follow_each_other_at_a_word_of_shared_memory() {
    let machine = machine();
    let code = looped(|writer| {
        let control = Control::after(1).signals(0).waits(1);
        writer.access(Space::Shared, AccessKind::Atomic, 4, control);
    });
    let each = machine.load_store.shared_atomic_interval;
    for (warps, lanes) in [(16, 32), (32, 8), (64, 4)] {
        let request = Request { lanes, serial: lanes, ..Request::shared(1) };
        let clocks = round(&machine, &code, warps, &[request]);
        let expected = warps as f64 * f64::from(lanes) * each;
        assert!((clocks / expected - 1.0).abs() < 0.01, "{warps} warps: {clocks} {expected}");
    }
}
