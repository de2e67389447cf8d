//! The interval model on code written by hand: intervals counted on paper, and the limits of one
//! warp and of many.

use gpucast_simulation::code::{AccessKind, Action, Class, Code, Control, Space};
use gpucast_simulation::launch::{Launch, Request, WarpTrace};
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::states::State;
use gpucast_simulation::walk::QueueUses;
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{Limits, simulate};

use super::demand::Machine;
use super::intervals::{CodeCache, Interval, Walked};
use super::representative::{Point, representative};
use super::waves::{predict, step_through_roles};
use crate::gpu::GpuLibrary;

/// An H100 that starts at once.
fn machine() -> Parameters {
    let library = GpuLibrary::builtin().expect("the library is readable");
    let gpu = library.get("h100-sxm").expect("it has an H100");
    let mut machine = gpu.sm_parameters().expect("all is known of it");
    machine.launch.launch_start = 0.0;
    machine.launch.launch_end = 0.0;
    machine.launch.warp_launch_interval = 0.0;
    machine
}

/// Code with one block in a loop.
fn looped(write: impl Fn(&mut Writer)) -> Code {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(4)).end_block();
    write(&mut writer);
    writer.end_block().exit();
    writer.finish()
}

/// A launch of one CTA on each of `sms` SMs.
fn launch(code: &Code, warps: usize, rounds: usize, requests: &[Request], ctas: u64) -> Launch {
    let trace = WarpTrace::of_loop(rounds, requests);
    Launch::of_equal_ctas(code.clone(), vec![trace; warps], ctas)
}

/// Clocks of a round of a loop by the warps of one CTA, which has its SM for itself.
fn round(code: &Code, warps: usize, requests: &[Request], ctas: u64) -> f64 {
    let machine = machine();
    let clocks =
        |rounds| predict(&launch(code, warps, rounds, requests, ctas), 1, &machine).stack.total();
    (clocks(300) - clocks(100)) / 200.0
}

#[test]
fn a_dependence_ends_an_interval() {
    let machine = machine();
    let latency = machine.load_store.shared_latency;
    let mut writer = Writer::default();
    writer
        .op("IADD3", Class::Integer, Control::after(5))
        .op("IADD3", Class::Integer, Control::after(2))
        .access(Space::Shared, AccessKind::Load, 4, Control::after(1).signals(0))
        .op("MOV", Class::Fp32, Control::after(1))
        .op("FFMA", Class::Fp32, Control::after(5).waits(1))
        .exit();
    let code = writer.finish();
    let warp = WarpTrace {
        path: vec![0],
        requests: vec![vec![Request::shared(1)]],
        ..WarpTrace::default()
    };
    let uses = QueueUses::of(&code);
    let of_machine = Machine { parameters: &machine, dram_writes_per_store: 0.0 };
    let walked = Walked { code: &code, uses: &uses, machine: of_machine, warps_of_cta: 1 };
    let mut intervals = Vec::new();
    let alone = walked.alone(&warp, CodeCache::Warm, |interval| intervals.push(interval));
    let interval = |issue, stall, cause| Interval { issue, stall, cause };
    // Issues at 0, 5, 7, 8, then 7 + the latency of shared memory, and 5 clocks later.
    let expected = [
        interval(1.0, 4.0, State::Wait),
        interval(1.0, 1.0, State::Wait),
        interval(2.0, latency - 2.0, State::ShortScoreboard),
        interval(1.0, 4.0, State::Wait),
        interval(1.0, 0.0, State::Tail),
    ];
    assert_eq!(intervals, expected);
    assert_eq!(alone.intervals, 5);
    assert!((alone.whole().clocks() - (6.0 + 4.0 + 1.0 + latency - 2.0 + 4.0)).abs() < 1e-9);
}

#[test]
fn barriers_divide_a_warp_into_phases() {
    let machine = machine();
    let mut writer = Writer::default();
    writer
        .op("FFMA", Class::Fp32, Control::after(4))
        .push("BAR", Class::Branch, Action::CtaBarrier { queue: None }, Control::after(1))
        .op("FFMA", Class::Fp32, Control::after(4))
        .exit();
    let code = writer.finish();
    let uses = QueueUses::of(&code);
    let of_machine = Machine { parameters: &machine, dram_writes_per_store: 0.0 };
    let walked = Walked { code: &code, uses: &uses, machine: of_machine, warps_of_cta: 1 };
    let warp = WarpTrace { path: vec![0], ..WarpTrace::default() };
    let phases = walked.alone(&warp, CodeCache::Warm, |_| {}).phases;
    let instructions: Vec<f64> = phases.iter().map(|phase| phase.demand.instructions).collect();
    assert_eq!(instructions, [2.0, 2.0]);
    let barrier = phases[0].stalls.of(State::Barrier);
    assert!((barrier - (machine.synchronisation.barrier_latency - 1.0)).abs() < 1e-9, "{barrier}");
}

/// A load that the next round waits for.
fn chain() -> Code {
    looped(|writer| {
        let control = Control::after(1).signals(0).waits(1);
        writer.access(Space::Global, AccessKind::Load, 4, control);
    })
}

#[test]
fn one_warp_takes_the_latencies_of_its_chain() {
    let machine = machine();
    for (request, latency) in [
        (Request::global(4, 0, 0), machine.load_store.l1_latency),
        (Request::global(0, 4, 0), machine.memory.l2_latency + machine.memory.l2_far_latency / 2.0),
        (Request::global(0, 0, 4), machine.memory.memory_latency),
    ] {
        let clocks = round(&chain(), 1, &[request], 1);
        assert!((clocks / latency - 1.0).abs() < 0.01, "{clocks} for {latency}");
    }
}

#[test]
fn many_warps_take_the_clocks_of_the_busiest_pipe() {
    let code = looped(|writer| {
        for _ in 0..16 {
            writer.op("FFMA", Class::Fp32, Control::after(4));
        }
    });
    // 64 warps in four sub-cores; an H100 issues one instruction a clock and starts one there.
    let clocks = round(&code, 64, &[], 1);
    assert!((clocks / (16.0 * 16.0) - 1.0).abs() < 0.02, "{clocks}");
    // Special functions: 16 lanes of an SM take two clocks of a warp's eight in each sub-core.
    let code = looped(|writer| {
        writer.op("MUFU", Class::Special, Control::after(1));
    });
    let interval = machine().units[Class::Special as usize].interval;
    let clocks = round(&code, 64, &[], 1);
    assert!((clocks / (16.0 * interval) - 1.0).abs() < 0.02, "{clocks}");
}

/// Between both limits a warp is delayed by others with the probability that it would issue.
#[test]
fn other_warps_are_in_the_way_with_the_probability_of_an_issue() {
    let code = looped(|writer| {
        writer.op("FFMA", Class::Fp32, Control::after(10));
    });
    // Alone 1 of 10 clocks. 12 warps: 3 in a sub-core, so 10 + 0.1 · 2. What surrounds the loop
    // issues a little less often.
    let clocks = round(&code, 12, &[], 1);
    assert!((clocks - 10.2).abs() < 0.01, "{clocks}");
    // 40 warps: ten in a sub-core, which fill it but for collisions: 10 + 0.1 · 9.
    let clocks = round(&code, 40, &[], 1);
    assert!((clocks - 10.9).abs() < 0.05, "{clocks}");
}

#[test]
fn streams_take_the_bandwidth_of_dram() {
    let machine = machine();
    let code = looped(|writer| {
        let control = Control::after(1).signals(0).waits(1);
        writer.access(Space::Global, AccessKind::Load, 16, control);
    });
    let request = Request::global(0, 0, 16);
    let sms = u64::from(machine.sm_count);
    let clocks = round(&code, 64, &[request], sms);
    let bytes = 64.0 * 512.0 * sms as f64;
    let efficiency = machine.memory.efficiency(0.0);
    let rate = machine.memory.dram_bandwidth * efficiency / (machine.sp_clock * 1e6);
    assert!((clocks / (bytes / rate) - 1.0).abs() < 0.01, "{clocks} for {}", bytes / rate);
}

#[test]
fn waves_follow_each_other() {
    let machine = machine();
    let code = chain();
    let of = |ctas: u64| {
        let request = Request::global(4, 0, 0);
        predict(&launch(&code, 4, 400, &[request], ctas), 2, &machine).stack.total()
    };
    let sms = u64::from(machine.sm_count);
    let (one, two, three) = (of(2 * sms), of(4 * sms), of(6 * sms));
    assert!(((three - two) / (two - one) - 1.0).abs() < 0.01, "{one} {two} {three}");
    // A further CTA begins another wave.
    assert!(of(2 * sms + 1) > 1.9 * one, "{} {one}", of(2 * sms + 1));
}

/// The simulation and the intervals agree where neither overlap nor contention is in doubt.
#[test]
fn the_limits_are_those_of_the_simulation() {
    let machine = machine();
    let work = looped(|writer| {
        for _ in 0..8 {
            writer.op("FFMA", Class::Fp32, Control::after(4));
        }
    });
    for (code, warps) in [(chain(), 1), (work.clone(), 1), (work, 64)] {
        let launch = launch(&code, warps, 500, &[Request::global(4, 0, 0)], 1);
        let simulated = simulate(&launch, 1, &machine, Limits::default()).clocks;
        let intervals = predict(&launch, 1, &machine).stack.total();
        assert!((intervals / simulated - 1.0).abs() < 0.05, "{intervals} for {simulated}");
    }
}

#[test]
fn the_representative_is_one_of_the_many() {
    let point = |instructions, clocks| Point { instructions, clocks };
    // Two long warps, three short ones, of which the second is in the middle.
    let points = [
        point(1000.0, 9000.0),
        point(98.0, 200.0),
        point(100.0, 200.0),
        point(102.0, 200.0),
        point(1010.0, 9000.0),
    ];
    assert_eq!(representative(&points), 2);
    assert_eq!(representative(&[]), 0);
    assert_eq!(representative(&points[..1]), 0);
}

#[test]
fn warps_of_all_roles_are_walked_equally_often() {
    for warps in 1..=64_usize {
        for least in [0, 1, 2, 3, 4, 6, 35] {
            let step = step_through_roles(least, warps);
            assert!(step >= least.max(1));
            let mut met = vec![0; warps];
            (0..warps).for_each(|at| met[at * step % warps] += 1);
            assert!(met.iter().all(|&times| times == 1), "{warps} warps, step {step}");
        }
    }
}
