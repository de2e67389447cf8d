//! What follows from the simulated part of a launch.

use gpucast_simulation::code::{AccessKind, Class, Control, Space};
use gpucast_simulation::launch::{Launch, Request, WarpTrace};
use gpucast_simulation::parameters::{LaunchCosts, Parameters};
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{Limits, simulate};

use crate::machine::machine;
use crate::{fences, looped, run};

#[test]
fn many_waves_are_extrapolated_as_they_would_be_simulated() {
    let machine = machine();
    let code = looped(|writer| {
        writer.access(Space::Global, AccessKind::Load, 4, Control::after(1).signals(0));
        writer.op("FFMA", Class::Fp32, Control::after(4).waits(1));
    });
    let trace = WarpTrace::of_loop(10, &[Request::global(0, 0, 4)]);
    for ctas in [80 * 50, 80 * 50 + 30, 80 * 97] {
        let launch = Launch::of_equal_ctas(code.clone(), vec![trace.clone(); 4], ctas);
        let few = Limits { steady_instructions: 0, ..Limits::default() };
        let some = simulate(&launch, 4, &machine, few);
        let limits = Limits { residencies: 1000, ..Limits::default() };
        let all = simulate(&launch, 4, &machine, limits);
        assert_eq!(all.ctas.0, all.ctas.1);
        assert!(some.ctas.0 < some.ctas.1);
        let error = some.clocks / all.clocks - 1.0;
        assert!(error.abs() < 0.02, "{ctas} CTAs: {error:+.4}");
    }
}

#[test]
fn a_run_that_is_cut_goes_on_at_its_rate() {
    let machine = machine();
    let code = looped(|writer| {
        writer.access(Space::Global, AccessKind::Load, 4, Control::after(1).signals(0));
        writer.op("FFMA", Class::Fp32, Control::after(4).waits(1));
    });
    let trace = WarpTrace::of_loop(20_000, &[Request::global(0, 4, 0)]);
    let launch = Launch::of_equal_ctas(code, vec![trace; 8], 80);
    let all = run(&machine, &launch, 1);
    let limits = Limits { instructions: 50_000, ..Limits::default() };
    let cut = simulate(&launch, 1, &machine, limits);
    assert!(cut.instructions < all.instructions / 5);
    assert!((cut.clocks / all.clocks - 1.0).abs() < 0.02, "{} {}", cut.clocks, all.clocks);
}

#[test]
fn a_run_is_cut_once_its_rate_stays_and_not_in_the_middle_of_its_first_ctas() {
    let machine = machine();
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(4)).end_block();
    // Rounds of one block take four times as long as those of the other.
    writer.op("FFMA", Class::Fp32, Control::after(2)).end_block();
    writer.op("FFMA", Class::Fp32, Control::after(8)).end_block();
    writer.exit();
    let code = writer.finish();
    let both = |quick: usize, slow: usize| {
        let path = [vec![0], vec![1; quick], vec![2; slow], vec![3]].concat();
        let trace = WarpTrace { path, ..WarpTrace::default() };
        Launch::of_equal_ctas(code.clone(), vec![trace; 4], u64::from(machine.sm_count) * 100)
    };
    let unlimited = Limits { residencies: 1000, instructions: u64::MAX, ..Limits::default() };
    let limits = Limits { instructions: 200_000, ..unlimited };
    let ratio = |launch: &Launch| {
        let (cut, all) =
            [limits, unlimited].map(|limits| simulate(launch, 2, &machine, limits)).into();
        (cut.instructions, cut.clocks / all.clocks)
    };
    // A residency has 8,000 instructions.
    let (instructions, clocks) = ratio(&both(1000, 0));
    assert!(instructions < limits.instructions / 3, "{instructions}");
    assert!((clocks - 1.0).abs() < 0.005, "{clocks}");
    // One has 64,000, and its first half says nothing of the second.
    let (instructions, clocks) = ratio(&both(4000, 4000));
    assert!(instructions > limits.instructions / 3, "{instructions}");
    assert!((clocks - 1.0).abs() < 0.05, "{clocks}");
}

#[test]
fn rounds_of_equal_ctas_are_extrapolated_to_the_clock() {
    // Four CTAs of an SM begin with cold code and apart. From the second round on they repeat.
    let machine = Parameters {
        launch: LaunchCosts { warp_launch_interval: 4.0, code_latency: 300.0, ..machine().launch },
        ..machine()
    };
    let code = fences(80);
    let clocks = |limits: Limits| {
        let trace = WarpTrace { path: vec![0], ..WarpTrace::default() };
        let ctas = 12 * 4 * u64::from(machine.sm_count);
        let launch = Launch::of_equal_ctas(code.clone(), vec![trace; 16], ctas);
        simulate(&launch, 4, &machine, limits)
    };
    let all = clocks(Limits { residencies: 12, ..Limits::default() });
    let some = clocks(Limits::default());
    assert_eq!((all.ctas, some.ctas), ((48, 48), (20, 48)));
    assert!((some.clocks - all.clocks).abs() < 2.0, "{} for {}", some.clocks, all.clocks);
}
