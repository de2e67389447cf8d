//! What the issue slots are spent on.

use gpucast_simulation::code::{AccessKind, Action, Class, Control, Space};
use gpucast_simulation::launch::{Launch, Request, WarpTrace};
use gpucast_simulation::parameters::{LaunchCosts, Parameters};
use gpucast_simulation::states::State;
use gpucast_simulation::writer::Writer;

use crate::machine::machine;
use crate::{looped, run};

#[test]
fn issue_slots_add_up_to_the_time() {
    let machine = machine();
    let code = looped(|writer| {
        writer.access(Space::Global, AccessKind::Load, 4, Control::after(1).signals(0));
        writer.op("FFMA", Class::Fp32, Control::after(4).waits(1));
        writer.push("BAR", Class::Other, Action::CtaBarrier { queue: None }, Control::after(1));
        writer.op("MUFU", Class::Special, Control::after(1).signals(1));
        writer.op("FADD", Class::Fp32, Control::after(4).waits(2));
    });
    let trace = WarpTrace::of_loop(20, &[Request::global(0, 2, 2)]);
    for (ctas, resident) in [(1, 1), (80, 4), (1000, 4), (100_000, 8)] {
        let launch = Launch::of_equal_ctas(code.clone(), vec![trace.clone(); 8], ctas);
        let outcome = run(&machine, &launch, resident);
        let total = outcome.slots.total();
        assert!((total / outcome.clocks - 1.0).abs() < 1e-3, "{total} of {}", outcome.clocks);
        assert!(outcome.slots.of(State::Selected) > 0.0);
        assert!(outcome.slots.of(State::DramLatency) > 0.0);
        assert_eq!(outcome.abandoned_barriers, 0);
    }
}

#[test]
fn sub_cores_without_warps_say_nothing_of_the_slots() {
    let machine = machine();
    let code = looped(|writer| {
        writer.op("FFMA", Class::Fp32, Control::after(4));
    });
    let slots = |warps: usize| {
        let trace = WarpTrace::of_loop(2000, &[]);
        let launch = Launch::of_equal_ctas(code.clone(), vec![trace; warps], 1);
        run(&machine, &launch, 1).slots
    };
    // One warp issues in a clock of four, on its own sub-core, whether others have some or not.
    for warps in [1, 2, 4] {
        let slots = slots(warps);
        let selected = slots.of(State::Selected) / slots.of(State::Wait);
        assert!((selected - 1.0 / 3.0).abs() < 0.02, "{warps} warps: {selected}");
        assert!(slots.of(State::Tail) < 0.1 * slots.total(), "{warps} warps");
    }
}

#[test]
fn a_stream_of_stores_spends_its_slots_on_the_memory_that_is_too_slow() {
    let mut machine = machine();
    machine.memory.dram_bandwidth /= 8.0;
    let code = looped(|writer| {
        writer.op("IADD", Class::Integer, Control::after(4));
        writer.access(Space::Global, AccessKind::Store, 16, Control::after(1));
    });
    let trace = WarpTrace::of_loop(40, &[Request::global(0, 16, 0)]);
    let mut launch = Launch::of_equal_ctas(code, vec![trace; 8], 4000);
    launch.dram_writes_per_store = 1.0;
    let outcome = run(&machine, &launch, 4);
    let (busiest, awaited) = outcome.served.busiest();
    assert_eq!(awaited, State::DramQueue);
    assert!(busiest > 0.9 * outcome.clocks, "{busiest} of {}", outcome.clocks);
    let waited = outcome.slots.of(State::DramQueue) / outcome.clocks;
    assert!(waited > 0.7, "{waited}");
    // The warps themselves stand in front of a full queue.
    let total = |state| outcome.by_instruction.iter().map(|costs| costs.of(state)).sum::<f64>();
    assert!(total(State::LgThrottle) > total(State::DramQueue));
}

#[test]
fn starts_in_front_of_busy_memory_are_lost_to_the_memory() {
    // CTAs of a load and little else, whose replacement takes as long as the load.
    let mut writer = Writer::default();
    writer.access(Space::Global, AccessKind::Load, 16, Control::after(1).signals(0));
    writer.op("FADD", Class::Fp32, Control::after(4).waits(1)).exit();
    let code = writer.finish();
    let launch = |sectors: u16| {
        let trace = WarpTrace {
            path: vec![0],
            requests: vec![vec![Request::global(0, 0, sectors)]],
            left_out_instructions: 0,
        };
        Launch::of_equal_ctas(code.clone(), vec![trace; 8], 80 * 400)
    };
    // The GPU starts CTAs faster than they end.
    let machine = Parameters {
        launch: LaunchCosts { cta_launch_interval: 0.5, ..machine().launch },
        ..machine()
    };
    let share = |launch: &Launch, state: State| {
        let outcome = run(&machine, launch, 8);
        outcome.slots.of(state) / outcome.clocks
    };
    let (few, many) = (launch(1), launch(16));
    assert!(share(&few, State::Launch) > 0.2, "{}", share(&few, State::Launch));
    assert!(share(&many, State::Launch) < 0.05, "{}", share(&many, State::Launch));
    assert!(share(&many, State::DramQueue) > 0.6, "{}", share(&many, State::DramQueue));
}
