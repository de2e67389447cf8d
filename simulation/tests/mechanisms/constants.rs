//! Constants: the lines that are fetched once, and loads by index.

use gpucast_simulation::code::{AccessKind, Action, Class, Constant, Control, MemoryAccess, Space};
use gpucast_simulation::launch::{Launch, Request, WarpTrace};
use gpucast_simulation::parameters::ConstantCosts;
use gpucast_simulation::states::State;
use gpucast_simulation::writer::Writer;

use crate::machine::machine;
use crate::{looped, round, run};

#[test]
fn the_first_reader_of_a_line_of_constants_waits_for_it_and_later_ones_do_not() {
    let machine = machine();
    let ConstantCosts {
        constant_near_latency: near_latency,
        constant_far_latency: far_latency,
        ..
    } = machine.launch.constants;
    // Clocks that a warp waits for constants at some offsets of the bank of parameters.
    let waited = |warps: usize, offsets: &[u32]| {
        let mut writer = Writer::default();
        for &offset in offsets {
            let constant = Constant { bank: 0, offset };
            writer.op("FMUL", Class::Fp32, Control::after(4)).reads(constant);
        }
        writer.exit();
        let warp = WarpTrace { path: vec![0], ..WarpTrace::default() };
        let launch = Launch::of_equal_ctas(writer.finish(), vec![warp; warps], 1);
        let outcome = run(&machine, &launch, 1);
        let of_warps = outcome.by_instruction.iter().map(|costs| costs.of(State::ConstantMiss));
        (of_warps.sum::<f64>(), outcome.slots.of(State::ConstantMiss))
    };
    assert_eq!(waited(1, &[]).0, 0.0);
    assert_eq!(waited(1, &[0x160, 0x168, 0x160]).0, far_latency);
    // The next line of the same 256 bytes is near.
    assert_eq!(waited(1, &[0x160, 0x180, 0x200]).0, 2.0 * far_latency + near_latency);
    // Four warps on four sub-cores wait together: in slots, which are averaged, once.
    let (of_warps, slots) = waited(4, &[0x160]);
    assert!(of_warps > 3.5 * far_latency, "{of_warps}");
    assert!((0.9..=1.0).contains(&(slots / far_latency)), "{slots}");
}

#[test]
fn a_load_of_constants_waits_for_the_line_of_its_request_once() {
    let machine = machine();
    let ConstantCosts {
        constant_near_latency: near_latency,
        constant_far_latency: far_latency,
        ..
    } = machine.launch.constants;
    let code = looped(|writer| {
        writer.access(Space::Constant, AccessKind::Load, 4, Control::after(1).signals(0));
        writer.op("FADD", Class::Fp32, Control::after(4).waits(1));
    });
    let waited = |sectors: &[u32]| {
        let request = |&sector: &u32| {
            let request = Request { space: Space::Constant, ..Request::global(0, 0, 0) };
            request.beginning_at(sector)
        };
        let mut warp = WarpTrace::of_loop(sectors.len(), &[]);
        warp.requests = vec![sectors.iter().map(request).collect()];
        let launch = Launch::of_equal_ctas(code.clone(), vec![warp], 1);
        let outcome = run(&machine, &launch, 1);
        outcome.by_instruction.iter().map(|costs| costs.of(State::ConstantMiss)).sum::<f64>()
    };
    // A clock of each wait is that of the stall count.
    let lines = |far: f64, near: f64| far * (far_latency - 1.0) + near * (near_latency - 1.0);
    assert_eq!(waited(&[0, 0, 1]), lines(1.0, 0.0));
    assert_eq!(waited(&[0, 2, 4, 8, 2]), lines(2.0, 2.0));
}

#[test]
fn loads_of_parameters_take_turns_as_those_of_constants_do() {
    let machine = machine();
    // What a launch brings is recorded nowhere.
    let code = looped(|writer| {
        let access = MemoryAccess {
            space: Space::Constant,
            kind: AccessKind::Load,
            bytes: 8,
            has_uniform_address: true,
            queue: None,
        };
        let control = Control::after(1).signals(0).waits(1);
        writer.push("LDC", Class::Memory, Action::Access(access), control);
    });
    let one = round(&machine, &code, 1, &[]);
    assert!((one - machine.load_store.constant_latency).abs() < 1.0, "{one}");
    let each = round(&machine, &code, 64, &[]) / 64.0;
    let interval = machine.load_store.constant_interval;
    assert!((each / interval - 1.0).abs() < 0.02, "{each} for {interval}");
}
