//! Mechanisms of the simulation, each on code written for it.

mod barriers;
mod constants;
mod contention;
mod dispatch;
mod extrapolation;
mod machine;
mod order;
mod recording;
mod slots;
mod tensor_memory;

use gpucast_simulation::code::{
    AccessKind, Action, Class, Code, Control, FenceScope, MemoryAccess, Space, TensorFormat,
};
use gpucast_simulation::launch::{CtaClass, CtaRun, CtaTrace, Launch, Request, WarpTrace};
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::states::State;
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{
    Limits, Outcome, order_of_issue, simulate, simulate_clocks, simulate_in_order,
};

use machine::machine;

/// Code with one block in a loop.
fn looped(write: impl Fn(&mut Writer)) -> Code {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(4)).end_block();
    write(&mut writer);
    writer.end_block().exit();
    writer.finish()
}

fn run(parameters: &Parameters, launch: &Launch, resident: u32) -> Outcome {
    let limits = Limits::default();
    let outcome = simulate(launch, resident, parameters, limits);
    // Whoever asks for the clocks alone gets the same, in all that is tested here.
    let clocks = simulate_clocks(launch, resident, parameters, limits);
    assert_eq!(clocks.to_bits(), outcome.clocks.to_bits());
    // So does who follows the order.
    if let Some(order) = order_of_issue(launch, resident, parameters, limits) {
        let followed = simulate_in_order(&order, launch, resident, parameters, limits);
        assert_eq!(followed.as_ref(), Some(&outcome));
    }
    outcome
}

/// Clocks of a round of a loop by the warps of one CTA.
fn round(parameters: &Parameters, code: &Code, warps: usize, requests: &[Request]) -> f64 {
    let clocks = |rounds: usize| {
        let trace = WarpTrace::of_loop(rounds, requests);
        run(parameters, &Launch::of_equal_ctas(code.clone(), vec![trace; warps], 1), 1).clocks
    };
    (clocks(300) - clocks(100)) / 200.0
}

/// A load from shared memory that the next round waits for.
fn shared_chain() -> Code {
    looped(|writer| {
        let control = Control::after(1).signals(0).waits(1);
        writer.access(Space::Shared, AccessKind::Load, 4, control);
    })
}

#[test]
fn conflicts_add_up_on_an_empty_sm_and_serialise_a_full_one() {
    let (machine, code) = (machine(), shared_chain());
    let latency = machine.load_store.shared_latency;
    let one = |passes| round(&machine, &code, 1, &[Request::shared(passes)]);
    assert!((one(1) - latency).abs() < 1.0, "{}", one(1));
    // The first two passes hide in the latency of the path.
    assert!((one(32) - latency - 30.0).abs() < 1.0, "{}", one(32));
    let full = round(&machine, &code, 64, &[Request::shared(8)]);
    assert!((full / (64.0 * 8.0) - 1.0).abs() < 0.02, "{full}");
}

#[test]
fn loads_of_four_words_return_more_slowly_than_one_pass() {
    let machine = machine();
    let code = looped(|writer| {
        let control = Control::after(1).signals(0).waits(1);
        writer.access(Space::Global, AccessKind::Load, 16, control);
    });
    // All lanes read the same sixteen bytes.
    let uniform = Request { lines: 1, passes: 1, ..Request::global(1, 0, 0) };
    let clocks = round(&machine, &code, 64, &[uniform]) / 64.0;
    let bytes = 32.0 * 16.0 / machine.load_store.l1_bytes_rate;
    assert!((clocks / bytes - 1.0).abs() < 0.05, "{clocks}");
}

#[test]
fn a_hit_waits_for_what_dram_has_yet_to_deliver() {
    let machine = machine();
    let memory = &machine.memory;
    let (hit, miss) = (memory.l2_latency, memory.memory_latency);
    // A round waits for its load, and adds for 28 clocks.
    let code = looped(|writer| {
        writer.access(Space::Global, AccessKind::Load, 4, Control::after(1).signals(0));
        for at in 0..7 {
            writer.op("FADD", Class::Fp32, Control::after(4).waits(u64::from(at == 0)));
        }
    });
    let clocks = |fetched_ago: Option<u8>| {
        let request = Request { fetched_ago, ..Request::global(0, 4, 0) };
        round(&machine, &code, 1, &[request]) - 28.0
    };
    let close = |fetched_ago, expected: f64| {
        let clocks = clocks(fetched_ago);
        assert!((clocks - expected).abs() < 3.0, "{fetched_ago:?}: {clocks} for {expected}");
    };
    close(None, hit);
    // Asked for at the same time by another CTA that is in step: there when its data is.
    close(Some(0), miss);
    // Asked for four additions ago.
    close(Some(4), miss - 16.0);
    // Asked for a round ago: DRAM has delivered it.
    close(Some(8), hit);
    close(Some(63), hit);
}

#[test]
fn a_fence_follows_the_accesses_before_it_through_the_path() {
    let machine = machine();
    let code = looped(|writer| {
        writer.access(Space::Shared, AccessKind::Store, 4, Control::after(1));
        let fence = Action::Fence(FenceScope::Cta);
        writer.push("MEMBAR", Class::Other, fence, Control::after(1));
    });
    // A store of eight passes, and the fence's own place behind it.
    let clocks = round(&machine, &code, 64, &[Request::shared(8)]);
    assert!((clocks / (64.0 * 9.0) - 1.0).abs() < 0.05, "{clocks}");
    let [alone, ..] = machine.synchronisation.fences;
    let one = round(&machine, &code, 1, &[Request::shared(1)]);
    assert!((alone..alone + 4.0).contains(&one), "{one}");
}

#[test]
fn stores_of_parts_of_sectors_take_the_l2_longer() {
    let machine = machine();
    let code = looped(|writer| {
        writer.access(Space::Global, AccessKind::Store, 4, Control::after(1));
    });
    let clocks = |sectors: u16| {
        let request = Request { lines: 8, ..Request::global(0, sectors, 0) };
        let rounds = |rounds: usize| {
            let trace = WarpTrace::of_loop(rounds, &[request]);
            let ctas = u64::from(machine.sm_count);
            let mut launch = Launch::of_equal_ctas(code.clone(), vec![trace; 32], ctas);
            launch.dram_writes_per_store = 0.0;
            run(&machine, &launch, 1).clocks
        };
        (rounds(60) - rounds(20)) / 40.0
    };
    // 32 lanes of 4 bytes fill four sectors, and leave parts of 16 open.
    let cost = clocks(16) / (4.0 * clocks(4));
    let expected = machine.memory.l2_partial_write_cost;
    assert!((cost / expected - 1.0).abs() < 0.03, "{cost} for {expected}");
    // A run of bytes that begins within a sector leaves two of five open.
    let cost = clocks(5) / clocks(4);
    let expected = (3.0 + 2.0 * expected) / 4.0;
    assert!((cost / expected - 1.0).abs() < 0.03, "{cost} for {expected}");
}

#[test]
fn damaged_launches_do_not_panic() {
    let machine = machine();
    let code = || {
        looped(|writer| {
            writer.op("FFMA", Class::Fp32, Control::after(4));
        })
    };
    let mut launch = Launch::of_equal_ctas(code(), vec![WarpTrace::of_loop(5, &[])], 10);
    launch.code.blocks.push(7..100);
    launch.code.blocks.push(std::ops::Range { start: 3, end: 1 });
    launch.classes[0].samples[0].warps[0].path.extend([3, 4, 999]);
    launch.order.push(CtaRun { class: 17, ctas: 3 });
    assert!(run(&machine, &launch, 1).clocks.is_finite());
    let mut empty = Launch::of_equal_ctas(code(), Vec::new(), 1000);
    assert!(run(&machine, &empty, 4).clocks.is_finite());
    empty.classes.clear();
    assert!(run(&machine, &empty, 4).clocks.is_finite());
}

#[test]
fn machines_that_pair_instructions_issue_two_in_a_clock() {
    let code = looped(|writer| {
        writer.op("LDS", Class::Other, Control { stall: 0, ..Control::NEXT });
        writer.op("FFMA", Class::Fp32, Control::after(1));
    });
    let mut machine = machine();
    machine.units[Class::Fp32 as usize].interval = 1.0;
    let single = round(&machine, &code, 4, &[]);
    machine.issue.issue_width = 2;
    let double = round(&machine, &code, 4, &[]);
    assert!((single - 2.0).abs() < 0.05 && (double - 1.0).abs() < 0.05, "{single} {double}");
}

#[test]
fn a_launch_never_outruns_the_bandwidth_of_memory() {
    let machine = machine();
    let mut writer = Writer::default();
    writer.access(Space::Global, AccessKind::Store, 16, Control::after(1)).exit();
    let trace = WarpTrace {
        path: vec![0],
        requests: vec![vec![Request::global(0, 16, 0)]],
        left_out_instructions: 0,
    };
    let ctas = 80 * 500;
    let launch = Launch::of_equal_ctas(writer.finish(), vec![trace; 32], ctas);
    let seconds = run(&machine, &launch, 2).clocks / (machine.sp_clock * 1e6);
    let bytes = (ctas * 32 * 512) as f64;
    let peak = machine.memory.dram_bandwidth * machine.memory.dram_efficiency;
    let share = bytes / seconds / peak;
    assert!((0.9..=1.001).contains(&share), "{share}");
}

#[test]
fn a_copy_beside_the_warp_is_waited_for_where_the_code_says() {
    let machine = machine();
    let copy = |pending: u8| {
        looped(move |writer| {
            let copy = AccessKind::AsyncCopy { bypasses_l1: true };
            writer.access(Space::Global, copy, 16, Control::after(1));
            let commit = Control::after(1).signals(0);
            writer.push("LDGDEPBAR", Class::Other, Action::CommitCopies { queue: None }, commit);
            let wait = Action::AwaitCounter { counter: 0, pending };
            writer.push("DEPBAR", Class::Other, wait, Control::after(1));
        })
    };
    let dram = [Request::global(0, 0, 4)];
    let latency = machine.memory.memory_latency;
    let at_once = round(&machine, &copy(0), 1, &dram);
    let later = round(&machine, &copy(3), 1, &dram);
    assert!(at_once > latency, "{at_once}");
    // Four copies are under way at a time.
    assert!((later / (at_once / 4.0) - 1.0).abs() < 0.1, "{later} {at_once}");
}

#[test]
fn copies_past_the_first_level_cache_take_no_place_in_its_table_of_sectors() {
    let mut machine = machine();
    machine.load_store.pending_sectors = 64;
    // Each of four warps has four groups under way, of 16 sectors each.
    let clocks = |bypasses_l1: bool| {
        let code = looped(move |writer| {
            let copy = AccessKind::AsyncCopy { bypasses_l1 };
            writer.access(Space::Global, copy, 16, Control::after(1));
            let commit = Control::after(1).signals(0);
            writer.push("LDGDEPBAR", Class::Other, Action::CommitCopies { queue: None }, commit);
            let wait = Action::AwaitCounter { counter: 0, pending: 3 };
            writer.push("DEPBAR", Class::Other, wait, Control::after(1));
        });
        round(&machine, &code, 4, &[Request::global(0, 16, 0)])
    };
    let latency = machine.memory.l2_latency;
    let (limited, free) = (clocks(false), clocks(true));
    // Four copies of all warps fill the table: a round of the four takes a latency.
    assert!((limited / latency - 1.0).abs() < 0.2, "{limited}");
    assert!((free / (latency / 4.0) - 1.0).abs() < 0.4, "{free}");
}

#[test]
fn products_beside_the_warp_overlap_with_it() {
    let machine = machine();
    let product = |is_asynchronous: bool| Action::Multiply {
        multiply_adds: 16 * 8 * 16 * 16,
        format: TensorFormat::HalfInSingle,
        is_asynchronous,
        ends_group: true,
    };
    let code = looped(|writer| {
        writer.push("HGMMA", Class::Tensor, product(true), Control::after(1));
        for _ in 0..50 {
            writer.op("FFMA", Class::Fp32, Control::after(4));
        }
        let wait = Action::AwaitProducts { pending: 0 };
        writer.push("WARPGROUP", Class::Other, wait, Control::after(1));
    });
    let busy = 16.0 * 8.0 * 16.0 * 16.0 / (machine.tensor.rates[0] / 4.0);
    let clocks = round(&machine, &code, 1, &[]);
    assert!(clocks < busy + 50.0 && clocks >= busy, "{clocks} of {busy}");
}

#[test]
fn a_wait_for_groups_of_products_leaves_the_latest_ones_alone() {
    const MULTIPLY_ADDS: u32 = 16 * 8 * 16 * 16;
    let mut machine = machine();
    machine.tensor.tensor_queue = 16;
    let busy = f64::from(MULTIPLY_ADDS) / (machine.tensor.rates[0] / 4.0);
    // Two groups of four, of which the second may be left open.
    let clocks = |pending: u8, closes: bool| {
        let code = looped(|writer| {
            for at in 0..8 {
                let action = Action::Multiply {
                    multiply_adds: MULTIPLY_ADDS,
                    format: TensorFormat::HalfInSingle,
                    is_asynchronous: true,
                    ends_group: at == 3 || closes && at == 7,
                };
                writer.push("HGMMA", Class::Tensor, action, Control::after(1));
            }
            let wait = |pending| Action::AwaitProducts { pending };
            writer.push("WARPGROUP", Class::Other, wait(pending), Control::after(1));
            // As long as both groups: an instruction takes the unit for two clocks.
            for _ in 0..4 * busy as usize {
                writer.op("FFMA", Class::Fp32, Control::after(1));
            }
            writer.push("WARPGROUP", Class::Other, wait(0), Control::after(1));
        });
        round(&machine, &code, 1, &[])
    };
    for closes in [true, false] {
        let (none, one, two) = (clocks(0, closes), clocks(1, closes), clocks(2, closes));
        assert!((none - one - 4.0 * busy).abs() < 40.0, "{none} {one} {busy}");
        assert!((one - two - 4.0 * busy).abs() < 40.0, "{one} {two} {busy}");
    }
}

#[test]
fn products_beside_the_warp_wait_in_a_queue_with_an_end() {
    const MULTIPLY_ADDS: u32 = 16 * 8 * 16 * 16;
    let mut machine = machine();
    machine.tensor.tensor_queue = 3;
    let busy = f64::from(MULTIPLY_ADDS) / (machine.tensor.rates[0] / 4.0);
    let clocks = |products: usize| {
        let code = looped(|writer| {
            for _ in 0..products {
                let action = Action::Multiply {
                    multiply_adds: MULTIPLY_ADDS,
                    format: TensorFormat::HalfInSingle,
                    is_asynchronous: true,
                    ends_group: true,
                };
                writer.push("HGMMA", Class::Tensor, action, Control::after(1));
            }
            // Longer than the products in the queue.
            for _ in 0..4 * busy as usize {
                writer.op("FFMA", Class::Fp32, Control::after(1));
            }
            let wait = Action::AwaitProducts { pending: 0 };
            writer.push("WARPGROUP", Class::Other, wait, Control::after(1));
        });
        round(&machine, &code, 1, &[])
    };
    // The queue takes three at once; each further one waits until the first of them is done.
    let three = clocks(3) - clocks(1);
    assert!((three - 2.0).abs() < 1.0, "{three}");
    let further = clocks(6) - clocks(5);
    assert!((further - busy).abs() < 1.0, "{further} of {busy}");
    let fourth = clocks(4) - clocks(3);
    assert!((fourth - busy - machine.tensor.tensor_latency).abs() < 4.0, "{fourth} of {busy}");
}

#[test]
fn skipped_executions_draw_no_requests() {
    let (machine, code) = (machine(), shared_chain());
    let trace = |every: usize| {
        let mut trace = WarpTrace::of_loop(400, &[Request::shared(32)]);
        trace.requests[0].truncate(400 / every);
        trace
    };
    let clocks = |every| {
        run(&machine, &Launch::of_equal_ctas(code.clone(), vec![trace(every)], 1), 1).clocks
    };
    // A skipped load still has the latency of the path, but not the passes.
    let difference = (clocks(1) - clocks(4)) / 300.0;
    assert!((difference - 30.0).abs() < 1.0, "{difference}");
}

#[test]
fn nothing_is_simulated_of_nothing() {
    let outcome = run(&machine(), &Launch::default(), 1);
    assert_eq!((outcome.instructions, outcome.ctas.0), (0, 0));
    let empty = Launch::of_equal_ctas(Code::default(), vec![WarpTrace::default()], 10);
    assert_eq!(run(&machine(), &empty, 0).instructions, 0);
}

#[test]
fn the_longest_ctas_decide_where_they_come_last() {
    let machine = machine();
    let code = looped(|writer| {
        writer.op("FFMA", Class::Fp32, Control::after(4));
    });
    let class = |rounds| CtaClass {
        samples: vec![CtaTrace { warps: vec![WarpTrace::of_loop(rounds, &[])] }],
        scale: 1.0,
    };
    let order = |first: u32, second: u32| {
        vec![CtaRun { class: first, ctas: 80 * 8 }, CtaRun { class: second, ctas: 8 }]
    };
    let launch = |order| Launch {
        code: code.clone(),
        classes: vec![class(100), class(2000)],
        order,
        dram_writes_per_store: 0.0,
        turns: Vec::new(),
        tensor_columns: 0,
    };
    let late = run(&machine, &launch(order(0, 1)), 1).clocks;
    let equal = run(&machine, &launch(vec![CtaRun { class: 0, ctas: 648 }]), 1).clocks;
    assert!(late > equal + 0.8 * 2000.0 * 4.0, "{late} {equal}");
}

#[test]
fn lanes_in_pairs_get_two_registers_at_once() {
    let machine = machine();
    let code = looped(|writer| {
        for _ in 0..8 {
            writer.access(Space::Shared, AccessKind::Load, 16, Control::after(1).signals(0));
        }
        writer.op("FFMA", Class::Fp32, Control::after(4).waits(1));
    });
    // Four sub-cores share the way back.
    let clocks = |is_paired| {
        let request = Request { is_paired, ..Request::shared(1) };
        round(&machine, &code, 16, &[request; 8])
    };
    let (apart, paired) = (clocks(false), clocks(true));
    assert!((apart - 16.0 * 8.0 * 4.0).abs() < 8.0, "{apart}");
    assert!((paired - 16.0 * 8.0 * 2.0).abs() < 8.0, "{paired}");
}

#[test]
fn spills_hit_the_first_level_cache() {
    let machine = machine();
    let access = MemoryAccess {
        space: Space::Local,
        kind: AccessKind::Load,
        bytes: 4,
        has_uniform_address: false,
        queue: None,
    };
    let code = looped(|writer| {
        let control = Control::after(1).signals(0).waits(1);
        writer.push("LDL", Class::Memory, Action::Access(access), control);
    });
    let clocks = round(&machine, &code, 1, &[]);
    assert!((clocks - machine.load_store.l1_latency).abs() < 1.5, "{clocks}");
}

#[test]
fn a_hit_waits_for_the_sector_that_another_warp_fetches() {
    let machine = machine();
    let code = looped(|writer| {
        writer.access(Space::Global, AccessKind::Load, 4, Control::after(1).signals(0));
        writer.op("FADD", Class::Fp32, Control::after(4).waits(1));
    });
    // The first warp fetches the sectors that the second one finds in the cache a moment later.
    let clocks = |first: u32, second: u32| {
        let warps = vec![
            WarpTrace::of_loop(1, &[Request::global(0, 0, 4).beginning_at(first)]),
            WarpTrace::of_loop(1, &[Request::global(4, 0, 0).beginning_at(second)]),
        ];
        let launch = Launch::of_equal_ctas(code.clone(), warps, 1);
        run(&machine, &launch, 1).slots.of(State::DramLatency)
    };
    // Slots are averaged over the sub-cores of the two warps, which have one each.
    let waited = |clocks: f64| clocks * 2.0 / machine.memory.memory_latency;
    let (one, both) = (waited(clocks(8, 16)), waited(clocks(8, 8)));
    assert!((0.9..1.1).contains(&one), "{one}");
    assert!((1.9..2.1).contains(&both), "{both}");
    // Within the sectors of the fetch, too, but not beyond them.
    assert_eq!(waited(clocks(8, 11)), both);
    assert_eq!(waited(clocks(8, 12)), one);
}

#[test]
fn an_sm_starts_one_warp_after_the_other_whichever_cta_it_is_of() {
    let mut machine = machine();
    machine.launch.warp_launch_interval = 100.0;
    machine.launch.cta_launch_interval = 0.0;
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(4)).exit();
    let code = writer.finish();
    let clocks = |warps: usize, ctas: u64| {
        let warp = WarpTrace { path: vec![0], ..WarpTrace::default() };
        let all = ctas * u64::from(machine.sm_count);
        run(&machine, &Launch::of_equal_ctas(code.clone(), vec![warp; warps], all), 8).clocks
    };
    let (one_cta, eight_ctas) = (clocks(8, 1), clocks(1, 8));
    assert!((one_cta / eight_ctas - 1.0).abs() < 0.01, "{one_cta} {eight_ctas}");
}

/// Fences of warps that do nothing else.
fn fences(count: usize) -> Code {
    let mut writer = Writer::default();
    for _ in 0..count {
        writer.push("MEMBAR", Class::Other, Action::Fence(FenceScope::Gpu), Control::after(1));
    }
    writer.exit();
    writer.finish()
}

#[test]
fn ctas_in_the_place_of_others_start_as_fast_as_the_gpu_starts_ctas() {
    let machine = machine();
    // A CTA lives for less than the time in which the GPU starts one on each SM for each place.
    let code = fences(1);
    let clocks = |ctas_of_sm: u64| {
        let trace = WarpTrace { path: vec![0], ..WarpTrace::default() };
        let ctas = ctas_of_sm * u64::from(machine.sm_count);
        run(&machine, &Launch::of_equal_ctas(code.clone(), vec![trace], ctas), 16).clocks
    };
    let of_cta = (clocks(400) - clocks(200)) / 200.0;
    let of_sms = machine.launch.cta_launch_interval * f64::from(machine.sm_count);
    assert!((of_cta / of_sms - 1.0).abs() < 0.01, "{of_cta} for {of_sms}");
}

#[test]
fn lines_lie_in_both_halves_of_the_l2_equally_often() {
    let mut machine = machine();
    machine.memory.l2_far_latency = 100.0;
    let code = looped(|writer| {
        let link = Control::after(1).signals(0).waits(1);
        writer.access(Space::Global, AccessKind::Load, 8, link);
    });
    // A chase through 64 lines that lie some lines apart, or whose addresses are not known.
    let mean = |apart: Option<u32>| {
        let request = |step: u32| {
            let request = Request { lanes: 1, ..Request::global(0, 1, 0) };
            match apart {
                Some(lines) => request.beginning_at(4 * lines * (step % 64)),
                None => request,
            }
        };
        let clocks = |rounds: u32| {
            let mut trace = WarpTrace::of_loop(rounds as usize, &[request(0)]);
            trace.requests = vec![(0..rounds).map(request).collect()];
            run(&machine, &Launch::of_equal_ctas(code.clone(), vec![trace], 1), 1).clocks
        };
        (clocks(192) - clocks(64)) / 128.0
    };
    let expected = machine.memory.l2_latency + 50.0;
    for (apart, within) in [(Some(1), 1e-3), (None, 1e-3), (Some(2), 0.05), (Some(3), 0.05)] {
        let mean = mean(apart);
        assert!((mean / expected - 1.0).abs() < within, "{apart:?}: {mean} for {expected}");
    }
    // All at one address are in one half.
    let same = mean(Some(0));
    assert!((same - machine.memory.l2_latency).abs() < 1.0, "{same}");
}

/// Tiles that a thread of each CTA copies out of shared memory, waiting for all but `pending`
/// groups.
fn tiles_out(kind: AccessKind, pending: u8, ctas: u64) -> f64 {
    let code = looped(|writer| {
        let queue = writer.queue();
        let has_uniform_address = true;
        let access =
            MemoryAccess { space: Space::Global, kind, bytes: 0, has_uniform_address, queue };
        writer.push("UTMASTG", Class::Memory, Action::Access(access), Control::after(2));
        let commit = Action::CommitCopies { queue: None };
        writer.push("UTMACMDFLUSH", Class::Other, commit, Control::after(2).signals(0));
        let wait = Action::AwaitCounter { counter: 0, pending };
        writer.push("DEPBAR", Class::Other, wait, Control::after(2));
    });
    let tile = Request { lanes: 1, ..Request::global(0, TILE_SECTORS, 0) };
    let launch = Launch::of_equal_ctas(code, vec![WarpTrace::of_loop(TILES, &[tile])], ctas);
    run(&machine(), &launch, 2).clocks
}

const TILES: usize = 50;
const TILE_SECTORS: u16 = 512;

#[test]
fn bulk_stores_take_the_l2_and_device_memory() {
    let memory = machine().memory;
    let sectors = |ctas: u64| ctas as f64 * TILES as f64 * f64::from(TILE_SECTORS);
    let clocks = |work: f64, per_second: f64| work * machine().sp_clock * 1e6 / per_second;
    for (pending, ctas) in [(0, 640), (1, 640), (1, 80), (0, 80)] {
        // All that is stored is written to device memory.
        let stored = tiles_out(AccessKind::BulkStore, pending, ctas);
        let least = clocks(32.0 * sectors(ctas), memory.dram_bandwidth);
        assert!((least..1.4 * least).contains(&stored), "{pending}, {ctas}: {stored}, {least}");
        // Reductions change sectors in the L2, so many in a clock.
        let reduced = tiles_out(AccessKind::BulkReduction, pending, ctas);
        let least = sectors(ctas) / memory.atomic_rate;
        assert!((least..1.4 * least).contains(&reduced), "{pending}, {ctas}: {reduced}, {least}");
    }
}
