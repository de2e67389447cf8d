//! CTAs that differ, and SMs that have more of them than others.

use gpucast_simulation::code::{AccessKind, Class, Code, Control, Space};
use gpucast_simulation::launch::{CtaClass, CtaRun, CtaTrace, Launch, Request, WarpTrace};
use gpucast_simulation::parameters::Parameters;

use crate::machine::machine;
use crate::{looped, run};

/// A round of a loop with a load of four words that nobody waits for in the next seven rounds.
fn stream() -> Code {
    looped(|writer| {
        for barrier in 0..4 {
            let control = Control::after(1).signals(barrier).waits(1 << barrier);
            writer.access(Space::Global, AccessKind::Load, 16, control);
        }
    })
}

/// A round of a loop with some multiply-adds.
fn arithmetic() -> Code {
    looped(|writer| {
        for _ in 0..4 {
            writer.op("FFMA", Class::Fp32, Control::after(4));
        }
    })
}

/// CTAs of `warps` warps that stream from DRAM.
fn streaming(rounds: usize, warps: usize, ctas: u64) -> Launch {
    let trace = WarpTrace::of_loop(rounds, &[Request::global(0, 0, 16); 4]);
    Launch::of_equal_ctas(stream(), vec![trace; warps], ctas)
}

/// CTAs of two classes with so many rounds of arithmetic each, in order.
fn uneven(rounds: [usize; 2], order: &[CtaRun]) -> Launch {
    let class = |rounds| {
        let warps = vec![WarpTrace::of_loop(rounds, &[]); 4];
        CtaClass { samples: vec![CtaTrace { warps }], scale: 1.0 }
    };
    let order = order.iter().copied().filter(|run| run.ctas > 0).collect();
    let classes = rounds.map(class).to_vec();
    Launch { code: arithmetic(), classes, order, ..Launch::default() }
}

fn runs(runs: &[(u32, u64)]) -> Vec<CtaRun> {
    runs.iter().map(|&(class, ctas)| CtaRun { class, ctas }).collect()
}

fn clocks(machine: &Parameters, launch: &Launch, resident: u32) -> f64 {
    run(machine, launch, resident).clocks
}

#[test]
fn one_cta_more_than_sms_costs_a_stream_nothing_and_arithmetic_twice() {
    let machine = machine();
    let sms = u64::from(machine.sm_count);
    // The same bytes, whoever loads them.
    let time_of_work = |launch: &Launch| clocks(&machine, launch, 4) / launch.ctas() as f64;
    for ctas in [sms, 2 * sms, 4 * sms, 8 * sms] {
        let (even, odd) =
            (time_of_work(&streaming(150, 16, ctas)), time_of_work(&streaming(150, 16, ctas + 1)));
        let ratio = odd / even;
        let most = if ctas < 8 * sms { 1.15 } else { 1.1 };
        assert!((0.97..most).contains(&ratio), "{ctas}: {ratio}");
    }
    let compute = |ctas| clocks(&machine, &uneven([3000, 1], &runs(&[(0, ctas)])), 1);
    let ratio = compute(sms + 1) / compute(sms);
    assert!((ratio - 2.0).abs() < 0.1, "{ratio}");
}

#[test]
fn a_long_cta_takes_its_time_wherever_it_stands() {
    let machine = machine();
    let alone = clocks(&machine, &uneven([20, 4000], &runs(&[(1, 1)])), 8);
    for before in [0, 123, 333, 500, 637, 639] {
        let order = runs(&[(0, before), (1, 1), (0, 639 - before)]);
        let time = clocks(&machine, &uneven([20, 4000], &order), 8);
        assert!((0.98..1.1).contains(&(time / alone)), "{before}: {time} for {alone}");
    }
    // In a second wave it begins when the first one has ended.
    let last = clocks(&machine, &uneven([20, 4000], &runs(&[(0, 6400), (1, 1)])), 8);
    let others = clocks(&machine, &uneven([20, 4000], &runs(&[(0, 6400)])), 8);
    assert!((last / (alone + others) - 1.0).abs() < 0.1, "{last} for {alone} and {others}");
}

#[test]
fn idle_ctas_beside_working_ones_cost_their_start() {
    let machine = machine();
    let of = |order: &[(u32, u64)]| clocks(&machine, &uneven([0, 2000], &runs(order)), 8);
    let alone = of(&[(1, 32)]);
    for order in [&[(1, 32), (0, 32)][..], &[(0, 32), (1, 32)], &[(1, 16), (0, 32), (1, 16)]] {
        let time = of(order);
        assert!((0.98..1.1).contains(&(time / alone)), "{order:?}: {time} for {alone}");
    }
    // The GPU starts one CTA in so many clocks, idle ones included.
    let starts = 100_000.0 * machine.launch.cta_launch_interval;
    for order in [&[(1, 32), (0, 100_000)][..], &[(0, 100_000), (1, 32)]] {
        let time = of(order);
        assert!(time > 0.9 * starts && time < 1.3 * (starts + alone), "{order:?}: {time}");
    }
}

/// Numbers below `count` in an order that looks random.
fn shuffled(count: u64, mut seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).collect();
    for at in (1..count).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.swap(at as usize, ((seed >> 33) % (at + 1)) as usize);
    }
    numbers
}

#[test]
fn the_order_of_uneven_ctas_hardly_matters() {
    let machine = machine();
    // A third of all CTAs works: all at once, or many more than there are places for. Each is
    // bound by its latency.
    let code = looped(|writer| {
        writer.op("FFMA", Class::Fp32, Control::after(15));
        writer.op("FFMA", Class::Fp32, Control::after(15));
    });
    for (ctas, within) in [(600, 1.02), (6000, 1.2)] {
        let time = |seed: u64| {
            let working = |place: &u64| u32::from(*place < ctas / 3);
            let order: Vec<_> = shuffled(ctas, seed).iter().map(|at| (working(at), 1)).collect();
            let launch = Launch { code: code.clone(), ..uneven([5, 400], &runs(&order)) };
            clocks(&machine, &launch, 8)
        };
        let times = [1, 2, 3, 4].map(time);
        let least = times.into_iter().fold(f64::MAX, f64::min);
        let most = times.into_iter().fold(0.0, f64::max);
        assert!(most / least < within, "{ctas}: {times:?}");
    }
}

#[test]
fn more_bandwidth_never_takes_longer() {
    for (launch, resident) in [(streaming(60, 8, 1000), 4), (streaming(100, 16, 81), 4)] {
        let mut before = f64::INFINITY;
        for step in 0..40 {
            let mut machine = machine();
            machine.memory.dram_bandwidth *= 0.8 + 0.01 * f64::from(step);
            let time = clocks(&machine, &launch, resident);
            assert!(time < 1.003 * before, "{step}: {time} after {before}");
            before = before.min(time);
        }
    }
}
