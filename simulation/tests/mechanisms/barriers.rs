//! Barriers of a CTA.

use gpucast_simulation::code::{Action, Class, Control};
use gpucast_simulation::launch::{Beside, Launch, Request, WarpTrace};
use gpucast_simulation::states::State;
use gpucast_simulation::writer::Writer;

use crate::machine::machine;
use crate::run;

#[test]
fn a_barrier_waits_for_the_last_warp() {
    let machine = machine();
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(1)).end_block();
    writer.op("FFMA", Class::Fp32, Control::after(15)).end_block();
    writer.push("BAR", Class::Other, Action::CtaBarrier { queue: None }, Control::after(1)).exit();
    let code = writer.finish();
    let warp = |rounds: usize| {
        let mut path = vec![0];
        path.extend(vec![1; rounds]);
        path.push(2);
        WarpTrace { path, ..WarpTrace::default() }
    };
    let clocks = |late: usize| {
        let warps = vec![warp(1), warp(1), warp(late), warp(1)];
        run(&machine, &Launch::of_equal_ctas(code.clone(), warps, 1), 1)
    };
    let (short, long) = (clocks(1), clocks(101));
    let difference = long.clocks - short.clocks;
    assert!((difference - 1500.0).abs() < 20.0, "{difference}");
    // Three of four sub-cores wait for it.
    let waited = long.slots.of(State::Barrier) / long.clocks;
    assert!((0.6..0.8).contains(&waited), "{waited}");
}

#[test]
fn warps_that_leave_or_only_arrive_open_a_barrier_when_they_do() {
    let machine = machine();
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(1)).end_block();
    writer.op("FFMA", Class::Fp32, Control::after(15)).end_block();
    writer
        .push("BAR", Class::Other, Action::CtaBarrier { queue: None }, Control::after(1))
        .end_block();
    writer
        .push("BAR", Class::Other, Action::CtaArrive { queue: None }, Control::after(1))
        .end_block();
    writer.exit();
    let code = writer.finish();
    let clocks = |late: &[u32]| {
        let warp = |path: Vec<u32>| WarpTrace { path, ..WarpTrace::default() };
        let warps = vec![warp(vec![0, 2, 4]), warp([&[0], late].concat())];
        let outcome = run(&machine, &Launch::of_equal_ctas(code.clone(), warps, 1), 1);
        assert_eq!(outcome.abandoned_barriers, 0);
        outcome.clocks
    };
    let work = |after: &[u32]| [&[1; 100], after].concat();
    let both = clocks(&work(&[2, 4]));
    // Without a barrier of its own, and with one that it does not wait at.
    assert!((clocks(&work(&[4])) - both).abs() < 40.0);
    assert!((clocks(&work(&[3, 4])) - both).abs() < 40.0);
    // A path that ends at the barrier.
    assert!((clocks(&work(&[2])) - both).abs() < 60.0);
}

/// Two pairs of warps meet in turn: one pair has much work, and the other little.
#[test]
fn warps_wait_at_a_name_for_those_of_its_name_alone() {
    let machine = machine();
    let code = |queue: Option<u32>| {
        let mut writer = Writer::default();
        writer.op("MOV", Class::Integer, Control::after(1)).end_block();
        writer.op("FFMA", Class::Fp32, Control::after(15)).end_block();
        writer.push("BAR", Class::Other, Action::CtaBarrier { queue }, Control::after(1));
        writer.end_block().exit();
        let mut code = writer.finish();
        code.queues = 1;
        code
    };
    let warp = |rounds: usize, phases: [u32; 2]| {
        let path = [&[0], vec![1; rounds].as_slice(), &[2, 2, 3]].concat();
        let meet = |phase| Request::shared(1).with(Beside::Phase(phase));
        WarpTrace { path, requests: vec![phases.map(meet).to_vec()], ..WarpTrace::default() }
    };
    let outcome = |queue: Option<u32>| {
        let warps = vec![warp(1, [0, 1]), warp(100, [2, 3]), warp(3, [0, 1]), warp(100, [2, 3])];
        let outcome = run(&machine, &Launch::of_equal_ctas(code(queue), warps, 1), 1);
        assert_eq!(outcome.abandoned_barriers, 0);
        outcome
    };
    // The sub-cores of the short pair wait if the barrier is that of all, and end early otherwise.
    let (all, named) = (outcome(None), outcome(Some(0)));
    let share = |outcome: &gpucast_simulation::Outcome| {
        outcome.slots.of(State::Barrier) / outcome.slots.total()
    };
    assert!((named.clocks / all.clocks - 1.0).abs() < 0.03, "{} {}", named.clocks, all.clocks);
    assert!(share(&all) > 0.4 && share(&named) < 0.1, "{} {}", share(&all), share(&named));
}

#[test]
fn an_arrival_at_a_name_lets_those_go_on_that_wait_there() {
    let machine = machine();
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(1)).end_block();
    writer.op("FFMA", Class::Fp32, Control::after(15)).end_block();
    writer.push("BAR", Class::Other, Action::CtaBarrier { queue: Some(0) }, Control::after(1));
    writer.end_block();
    writer.push("BAR", Class::Other, Action::CtaArrive { queue: Some(0) }, Control::after(1));
    writer.end_block().exit();
    let mut code = writer.finish();
    code.queues = 1;
    let clocks = |before: usize, behind: usize| {
        let meet = || vec![vec![Request::shared(1).with(Beside::Phase(0))]];
        let waits = WarpTrace { path: vec![0, 2, 4], requests: meet(), ..WarpTrace::default() };
        let path = [&[0], vec![1; before].as_slice(), &[3], &vec![1; behind], &[4]].concat();
        let arrives = WarpTrace { path, requests: meet(), ..WarpTrace::default() };
        let launch = Launch::of_equal_ctas(code.clone(), vec![waits, arrives], 1);
        let outcome = run(&machine, &launch, 1);
        assert_eq!(outcome.abandoned_barriers, 0);
        (outcome.clocks, outcome.slots.of(State::Barrier))
    };
    let ((early, few), (late, many)) = (clocks(10, 90), clocks(90, 10));
    assert!((late - early).abs() < 60.0, "{early} {late}");
    // Of two sub-cores that have warps, one waits.
    assert!((many - few - 1200.0 / 2.0).abs() < 40.0, "{few} {many}");
}
