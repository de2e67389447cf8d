//! What a recording says of a simulation.

use gpucast_simulation::code::{AccessKind, Action, Class, Code, Control, Space};
use gpucast_simulation::launch::{Beside, Launch, Request, WarpTrace};
use gpucast_simulation::recording::{Issue, Recording};
use gpucast_simulation::states::{Clocks, State};
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{Limits, Outcome, Resource, record, simulate};

use crate::looped;
use crate::machine::machine;

/// A round that loads from DRAM and from shared memory, computes, stores and meets at a barrier.
fn mixed() -> Code {
    looped(|writer| {
        let load = Control::after(2).signals(0);
        writer.access(Space::Global, AccessKind::Load, 4, load);
        writer.op("FFMA", Class::Fp32, Control::after(4).waits(1));
        writer.access(Space::Shared, AccessKind::Load, 4, Control::after(1).signals(1));
        writer.op("MUFU", Class::Special, Control::after(1).signals(2).waits(2));
        writer.op("FADD", Class::Fp32, Control::after(5).waits(4));
        writer.access(Space::Global, AccessKind::Store, 4, Control::after(1));
        writer.push("BAR", Class::Branch, Action::CtaBarrier { queue: None }, Control::after(1));
    })
}

fn mixed_launch() -> Launch {
    let requests = [Request::global(0, 3, 1), Request::shared(3), Request::global(0, 4, 0)];
    let warps = vec![WarpTrace::of_loop(6, &requests); 5];
    // More CTAs than places, and not as many on each SM; all of them are simulated.
    let launch = Launch::of_equal_ctas(mixed(), warps, 80 * 4 + 30);
    // No server binds the launch as a whole.
    Launch { dram_writes_per_store: 0.0, ..launch }
}

fn recorded(launch: &Launch, resident: u32) -> (Outcome, Vec<Recording>) {
    let (outcome, recordings) = record(launch, resident, &machine(), Limits::default());
    // Who watches changes nothing.
    assert_eq!(outcome, simulate(launch, resident, &machine(), Limits::default()));
    (outcome, recordings)
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-6 * one.abs().max(1.0)
}

#[track_caller]
fn assert_equal_clocks(one: &[f64; State::COUNT], other: &Clocks) {
    for state in State::ALL {
        let (one, other) = (one[state as usize], other.of(state));
        assert!(close(one, other), "{}: {one} and {other}", state.name());
    }
}

#[test]
fn clocks_of_warps_and_slots_add_up_to_those_of_the_simulation() {
    let launch = mixed_launch();
    let (outcome, recordings) = recorded(&launch, 2);
    assert!(recordings.len() > 1, "SMs with five CTAs, and with four");
    assert!(close(recordings.iter().map(|recording| recording.alike).sum(), 80.0));
    let issues: usize = recordings.iter().map(|recording| recording.issues.len()).sum();
    assert_eq!(issues as u64, outcome.instructions);
    let longest = &recordings[0];
    let mut by_instruction = vec![[0.0; State::COUNT]; launch.code.instructions.len()];
    for (at, issue) in longest.issues.iter().enumerate() {
        let of_instruction = &mut by_instruction[issue.instruction as usize];
        of_instruction[State::Selected as usize] += 1.0;
        for wait in longest.waits_of(at) {
            assert!(wait.until <= issue.clock as f64 + 1e-9);
            of_instruction[wait.state as usize] += wait.until - wait.from;
        }
    }
    for (recorded, simulated) in by_instruction.iter().zip(&outcome.by_instruction) {
        assert_equal_clocks(recorded, simulated);
    }
    let mut slots = [0.0; State::COUNT];
    for of_sub_core in &longest.slots {
        let mut until = 0.0;
        for slot in of_sub_core {
            assert!(close(slot.from, until), "a gap at {until}");
            slots[slot.state as usize] += (slot.until - slot.from) / longest.slots.len() as f64;
            until = slot.until;
        }
        // The clock of the last issue is counted as a slot.
        assert!((until - outcome.clocks).abs() <= 1.0, "{until} of {}", outcome.clocks);
    }
    for state in State::ALL {
        let (recorded, simulated) = (slots[state as usize], outcome.slots.of(state));
        assert!((recorded - simulated).abs() <= 1.0, "{}: {recorded}, {simulated}", state.name());
    }
}

#[test]
fn the_waits_of_a_warp_and_its_issues_leave_no_clock_out() {
    let (_, recordings) = recorded(&mixed_launch(), 2);
    for recording in &recordings {
        let mut last = vec![None; recording.warps.len()];
        for (at, &Issue { clock, warp, .. }) in recording.issues.iter().enumerate() {
            let started = recording.warps[warp as usize].started as f64;
            let mut until = last[warp as usize].map_or(started, |clock: u64| clock as f64 + 1.0);
            for wait in recording.waits_of(at) {
                assert!(close(wait.from, until), "{} at {until}", wait.state.name());
                until = wait.until;
            }
            // A warp issues in the clock from which it may.
            assert!(close(clock as f64, until) || last[warp as usize].is_none());
            last[warp as usize] = Some(clock);
        }
    }
}

/// An instruction that waits, and the one that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    producer: Option<u32>,
    consumer: u32,
}

/// The instructions that wait in a state.
fn pairs(recording: &Recording, state: State) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (at, issue) in recording.issues.iter().enumerate() {
        for wait in recording.waits_of(at).iter().filter(|wait| wait.state == state) {
            let producer = wait.producer.map(|producer| recording.issues[producer as usize]);
            assert!(producer.is_none_or(|producer| producer.clock < issue.clock));
            let producer = producer.map(|producer| producer.instruction);
            pairs.push(Pair { producer, consumer: issue.instruction });
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[test]
fn a_dependency_names_the_instruction_that_it_waits_for() {
    let launch = mixed_launch();
    let (_, recordings) = recorded(&launch, 2);
    let named = |name: &str, nth: usize| {
        let all = launch.code.instructions.iter().zip(0..);
        all.filter(|(one, _)| one.mnemonic == name).map(|(_, at)| at).nth(nth).unwrap()
    };
    let pair = |producer, consumer| Pair { producer: Some(producer), consumer };
    let (load, of_shared) = (named("ACCESS", 0), named("ACCESS", 1));
    let (special, bar) = (named("MUFU", 0), named("BAR", 0));
    let of = |state| pairs(&recordings[0], state);
    assert_eq!(of(State::DramLatency), [pair(load, named("FFMA", 0))]);
    let short = [pair(of_shared, special), pair(special, named("FADD", 0))];
    assert_eq!(of(State::ShortScoreboard), short);
    // A barrier is waited for by whatever comes next: a round, or the end.
    assert_eq!(of(State::Barrier), [pair(bar, load), pair(bar, named("EXIT", 0))]);
}

#[test]
fn a_barrier_waits_for_the_last_warp_that_arrives() {
    let code = looped(|writer| {
        writer.push("BAR", Class::Branch, Action::CtaBarrier { queue: None }, Control::after(1));
    });
    // The second warp comes to its only barrier at the clock at which the first does, and has
    // seven more instructions before it.
    let late = WarpTrace { path: [vec![0; 8], vec![1, 2]].concat(), ..WarpTrace::default() };
    let launch = Launch::of_equal_ctas(code, vec![WarpTrace::of_loop(1, &[]), late], 1);
    let (_, recordings) = recorded(&launch, 1);
    let recording = &recordings[0];
    let waits = (0..recording.issues.len()).flat_map(|at| recording.waits_of(at));
    let producers: Vec<u32> = waits
        .filter(|wait| wait.state == State::Barrier)
        .map(|wait| recording.issues[wait.producer.unwrap() as usize].warp)
        .collect();
    assert_eq!(producers, [1, 1]);
}

#[test]
fn a_phase_of_an_mbarrier_waits_for_the_copy_that_ends_it() {
    let mut writer = Writer::default();
    writer.access(Space::Global, AccessKind::BulkCopy, 128, Control::after(2));
    let queue = writer.queue();
    writer.push("TRYWAIT", Class::Other, Action::AwaitPhase { queue }, Control::after(2)).exit();
    let phase = |request: Request| vec![request.with(Beside::Phase(0))];
    let warp = WarpTrace {
        path: vec![0],
        requests: vec![phase(Request::global(0, 0, 4)), phase(Request::global(0, 0, 0))],
        left_out_instructions: 0,
    };
    let launch = Launch::of_equal_ctas(writer.finish(), vec![warp], 1);
    let (_, recordings) = recorded(&launch, 1);
    let recording = &recordings[0];
    let waits = recording.waits_of(2);
    let copied = waits.iter().find(|wait| wait.state == State::Copies).expect("it waits");
    assert_eq!(copied.producer, Some(0));
    assert!(copied.until - copied.from > 400.0, "{copied:?}");
}

#[test]
fn the_critical_path_goes_through_the_loads_that_wait_for_each_other() {
    let code = looped(|writer| {
        let control = Control::after(1).signals(0).waits(1);
        writer.access(Space::Global, AccessKind::Load, 4, control);
    });
    let rounds = 20;
    let chain = WarpTrace::of_loop(rounds, &[Request::global(0, 0, 4)]);
    // Other warps do less, and nobody waits for them.
    let short = WarpTrace::of_loop(2, &[Request::global(4, 0, 0)]);
    let launch = Launch::of_equal_ctas(code, vec![short.clone(), chain, short], 1);
    let (outcome, recordings) = recorded(&launch, 1);
    let recording = &recordings[0];
    let path = recording.critical_path();
    let mut until = 0.0;
    for step in &path {
        assert!(close(step.from, until) && step.until > step.from);
        until = step.until;
    }
    assert!(close(until, outcome.clocks));
    let of_loads: f64 = path
        .iter()
        .filter(|step| matches!(step.state, State::DramLatency | State::DramQueue))
        .map(|step| step.until - step.from)
        .sum();
    let latency = machine().memory.memory_latency;
    // The last load is waited for by nobody.
    let least = (rounds - 1) as f64 * latency;
    assert!(of_loads >= least && of_loads > 0.9 * until, "{of_loads} of {until}, {least}");
}

#[test]
fn a_new_cta_follows_the_one_whose_place_it_takes() {
    let launch = mixed_launch();
    let (outcome, recordings) = recorded(&launch, 2);
    let path = recordings[0].critical_path();
    let ctas: Vec<u32> = path
        .iter()
        .filter_map(|step| step.issue)
        .map(|issue| {
            let warp = recordings[0].issues[issue as usize].warp;
            recordings[0].warps[warp as usize].cta
        })
        .collect();
    assert!(ctas.contains(&4) && (ctas.contains(&2) || ctas.contains(&3)), "{ctas:?}");
    assert!(close(path.last().unwrap().until, outcome.clocks));
}

#[test]
fn resources_work_as_long_as_they_are_asked_for() {
    let launch = mixed_launch();
    let (_, recordings) = recorded(&launch, 2);
    let recording = &recordings[0];
    let machine = machine();
    let of = |class: Class, resource| {
        let is_of =
            |issue: &&Issue| launch.code.instructions[issue.instruction as usize].class == class;
        let issues = recording.issues.iter().filter(is_of).count() as f64;
        let interval = machine.units[class as usize].interval;
        let Some(usage) = recording.usage_of(resource) else { panic!("a use of {resource:?}") };
        (issues * interval, usage.total())
    };
    let unit = |class: Class| Resource::Unit(machine.units[class as usize].unit.unwrap());
    for class in [Class::Special, Class::Fp32] {
        let (asked, worked) = of(class, unit(class));
        assert!(asked > 0.0 && close(asked, worked), "{class:?}: {asked} and {worked}");
    }
    for resource in [Resource::L2, Resource::Dram, Resource::DataPath, Resource::Misses] {
        assert!(recording.usage_of(resource).unwrap().is_used(), "{resource:?}");
    }
    assert!(!recording.usage_of(Resource::TensorCore).unwrap().is_used());
}
