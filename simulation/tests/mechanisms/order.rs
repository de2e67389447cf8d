//! Runs in the order of issue of another one.

use gpucast_simulation::code::{AccessKind, Action, Class, Control, Space};
use gpucast_simulation::launch::{Launch, Request, WarpTrace};
use gpucast_simulation::parameters::{Parameters, Scheduler};
use gpucast_simulation::{
    Limits, Order, order_of_issue, simulate, simulate_clocks_in_order, simulate_in_order,
};

use crate::looped;
use crate::machine::machine;

/// Warps that load from DRAM, use what they loaded, and meet; their loads differ in size.
fn streaming() -> Launch {
    let code = looped(|writer| {
        writer.access(Space::Global, AccessKind::Load, 4, Control::after(1).signals(0));
        writer.access(Space::Shared, AccessKind::Load, 4, Control::after(2).waits(1).signals(1));
        writer.push(
            "BAR",
            Class::Other,
            Action::CtaBarrier { queue: None },
            Control::after(1).waits(2),
        );
    });
    let warp = |number: usize| {
        let request = |at: usize| Request::global(0, 0, 1 + ((at * 7 + number) % 5) as u16);
        let mut trace = WarpTrace::of_loop(20, &[]);
        trace.requests = vec![(0..20).map(request).collect(), vec![Request::shared(2); 20]];
        trace
    };
    Launch::of_equal_ctas(code, (0..4).map(warp).collect(), 2000)
}

const RESIDENT: u32 = 6;

/// The order of a launch that is short enough to keep one.
fn order(launch: &Launch, parameters: &Parameters) -> Option<Order> {
    order_of_issue(launch, RESIDENT, parameters, Limits::default())
}

fn followed(order: &Order, launch: &Launch, parameters: &Parameters) -> Option<f64> {
    simulate_clocks_in_order(order, launch, RESIDENT, parameters, Limits::default())
}

#[test]
fn in_one_order_no_service_that_takes_longer_ends_a_launch_sooner() {
    let (launch, middle) = (streaming(), machine());
    let order = order(&launch, &middle).unwrap();
    type SlowDown = fn(&mut Parameters, f64);
    let rates: [(&str, SlowDown); 5] = [
        ("DRAM", |machine, factor| machine.memory.dram_bandwidth /= factor),
        ("L2", |machine, factor| machine.memory.l2_read_bandwidth /= factor),
        ("DRAM's latency", |machine, factor| machine.memory.memory_latency *= factor),
        ("passes", |machine, factor| machine.load_store.pass_interval *= factor),
        ("barriers", |machine, factor| machine.synchronisation.barrier_latency *= factor),
    ];
    for (name, slow_down) in rates {
        let clocks = |percent: u32| {
            let mut machine = middle.clone();
            slow_down(&mut machine, f64::from(percent) / 100.0);
            followed(&order, &launch, &machine).unwrap()
        };
        let all: Vec<f64> = (80..=125).map(clocks).collect();
        for pair in all.windows(2) {
            assert!(pair[1] >= 0.9999 * pair[0], "{name}: {pair:?} of {all:?}");
        }
        assert!(all[45] >= all[0], "{name}: {all:?}");
    }
    let mut slow = middle.clone();
    slow.memory.dram_bandwidth /= 1.25;
    let (slow, fast) = (followed(&order, &launch, &slow), followed(&order, &launch, &middle));
    assert!(slow > fast.map(|clocks| 1.02 * clocks), "{slow:?} of {fast:?}");
}

#[test]
fn an_order_takes_about_a_byte_for_each_instruction() {
    let (launch, machine) = (streaming(), machine());
    let outcome = simulate(&launch, RESIDENT, &machine, Limits::default());
    let bytes = order(&launch, &machine).unwrap().bytes() as u64;
    assert!((outcome.instructions..=2 * outcome.instructions).contains(&bytes), "{bytes}");
}

#[test]
fn machines_with_other_places_for_warps_do_not_follow() {
    let (launch, middle) = (streaming(), machine());
    let order = order(&launch, &middle).unwrap();
    let changes: [fn(&mut Parameters); 4] = [
        |machine| machine.sm_count += 1,
        |machine| machine.issue.sub_partitions = 2,
        |machine| machine.issue.issue_width = 2,
        |machine| {
            machine.issue.warp_scheduler = match machine.issue.warp_scheduler {
                Scheduler::GreedyThenOldest => Scheduler::GreedyThenYoungest,
                Scheduler::GreedyThenYoungest => Scheduler::GreedyThenOldest,
            };
        },
    ];
    for change in changes {
        let mut machine = middle.clone();
        change(&mut machine);
        assert_eq!(followed(&order, &launch, &machine), None);
    }
    let fewer = simulate_clocks_in_order(&order, &launch, 5, &middle, Limits::default());
    assert_eq!(fewer, None);
}

#[test]
fn a_launch_whose_warps_issue_less_does_not_follow() {
    let (launch, machine) = (streaming(), machine());
    let order = order(&launch, &machine).unwrap();
    let mut shorter = launch.clone();
    for warp in &mut shorter.classes[0].samples[0].warps {
        let rounds = warp.path.len();
        warp.path.drain(rounds / 2..rounds - 1);
    }
    let limits = Limits::default();
    assert_eq!(simulate_in_order(&order, &shorter, RESIDENT, &machine, limits), None);
    assert!(simulate_in_order(&order, &launch, RESIDENT, &machine, limits).is_some());
}
