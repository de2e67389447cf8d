//! Tensor memory: products, copies, transfers, and the mbarriers that tell of them.

use gpucast_simulation::code::{
    AccessKind, Action, Class, Code, Control, Space, TensorFormat, TensorMemoryAction,
    TensorProduct,
};
use gpucast_simulation::launch::{Beside, CtaClass, CtaRun, CtaTrace, Launch, Request, WarpTrace};
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::states::State;
use gpucast_simulation::writer::Writer;

use crate::machine::machine;
use crate::{looped, run};

/// A product of halves, and its request: rows of A, columns of the sum, passes over the banks.
fn product(writer: &mut Writer, sms: u32, reads_a: bool) {
    let queue = writer.queue();
    let format = TensorFormat::HalfInSingle;
    let product = TensorProduct { format, depth: 16, reads_a, sms, queue };
    let action = Action::TensorMemory(TensorMemoryAction::Multiply(product));
    writer.push("UTCHMMA", Class::Tensor, action, Control::after(1));
}

fn issued(columns: u16, passes: u16) -> Request {
    Request::shared(passes).with(Beside::Product { rows: 128, columns, format: None })
}

/// Tells the phase that its request names, and waits for it.
fn commit_and_wait(writer: &mut Writer) {
    let queue = writer.queue();
    let commit = Action::TensorMemory(TensorMemoryAction::Commit { queue });
    writer.push("UTCBAR", Class::Other, commit, Control::after(1));
    let queue = writer.queue();
    writer.push("SYNCS", Class::Other, Action::AwaitPhase { queue }, Control::after(1));
}

/// Phases 0, 1, 2 and so on.
fn phases(count: usize) -> Vec<Request> {
    (0..count as u32).map(|phase| Request::shared(1).with(Beside::Phase(phase))).collect()
}

/// A warp that goes round some rounds; queues of `products` come first, then those of the phases.
fn warp(rounds: usize, products: usize, request: Request) -> WarpTrace {
    let mut warp = WarpTrace::of_loop(rounds, &vec![request; products]);
    warp.requests.extend([phases(rounds), phases(rounds)]);
    warp
}

/// Clocks of a round of `count` products that are waited for together, in some CTAs of an SM.
fn round(machine: &Parameters, count: usize, request: Request, ctas: u64, sms: u32) -> f64 {
    let code = looped(|writer| {
        for _ in 0..count {
            product(writer, sms, true);
        }
        commit_and_wait(writer);
    });
    let clocks = |rounds: usize| {
        let all = ctas * u64::from(machine.sm_count);
        let warps = vec![warp(rounds, count, request)];
        let outcome = run(machine, &Launch::of_equal_ctas(code.clone(), warps, all), ctas as u32);
        assert_eq!(outcome.abandoned_barriers, 0);
        outcome.clocks
    };
    (clocks(300) - clocks(100)) / 200.0
}

/// Clocks of 128 lanes × 16 elements × columns at 512 multiply-adds a clock.
fn computing(columns: f64) -> f64 {
    128.0 * 16.0 * columns / 512.0
}

#[test]
fn a_product_takes_its_first_factor_its_columns_and_the_way_to_the_mbarrier() {
    let machine = machine();
    let clocks = round(&machine, 1, issued(64, 48), 1, 1);
    let (first, memory) = (128.0 * 32.0 / 128.0, machine.tensor.memory.tensor_memory_latency);
    let expected = first + computing(64.0) + memory + machine.synchronisation.mbarrier_latency;
    assert!((clocks - expected).abs() < 5.0, "{clocks} for {expected}");
}

#[test]
fn products_follow_each_other_at_the_rate_of_the_core_or_of_shared_memory() {
    let machine = machine();
    let each = |passes| {
        let request = issued(64, passes);
        (round(&machine, 17, request, 1, 1) - round(&machine, 1, request, 1, 1)) / 16.0
    };
    assert!((each(48) - computing(64.0)).abs() < 0.5, "{}", each(48));
    assert!((each(500) - 500.0).abs() < 0.5, "{}", each(500));
}

#[test]
fn ctas_of_an_sm_share_one_tensor_core() {
    let machine = machine();
    let request = issued(256, 96);
    let (one, two) = (round(&machine, 16, request, 1, 1), round(&machine, 16, request, 2, 1));
    // One CTA waits for its latency each round; two fill the gap, but not more than the core has.
    assert!(one > 16.0 * computing(256.0) + 100.0, "{one}");
    assert!((two - 32.0 * computing(256.0)).abs() < 5.0, "{two}");
}

#[test]
fn each_sm_of_a_pair_multiplies_and_reads_its_own_part() {
    let machine = machine();
    let each = |sms: u32, passes| {
        let request = issued(64, passes);
        (round(&machine, 17, request, 1, sms) - round(&machine, 1, request, 1, sms)) / 16.0
    };
    assert!((each(2, 96) - computing(64.0)).abs() < 0.5, "{}", each(2, 96));
    assert!((each(2, 1200) - 600.0).abs() < 0.5, "{}", each(2, 1200));
    let alone = |sms| round(&machine, 1, issued(64, 48), 1, sms);
    let further = alone(2) - alone(1);
    assert!((further - machine.tensor.memory.tensor_pair_latency).abs() < 0.5, "{further}");
}

#[test]
fn the_cta_of_a_pair_that_issues_nothing_takes_as_long_as_the_other() {
    let machine = machine();
    let code = looped(|writer| {
        product(writer, 2, true);
        commit_and_wait(writer);
    });
    let class =
        |warp: WarpTrace| CtaClass { samples: vec![CtaTrace { warps: vec![warp] }], scale: 1.0 };
    let idle = WarpTrace { requests: vec![Vec::new(); 3], ..warp(100, 1, issued(64, 48)) };
    let launch = Launch {
        code,
        classes: vec![class(warp(100, 1, issued(64, 48))), class(idle)],
        // Each SM gets one that issues and one that does not.
        order: (0..2).map(|class| CtaRun { class, ctas: machine.sm_count.into() }).collect(),
        dram_writes_per_store: 0.0,
        turns: Vec::new(),
        tensor_columns: 0,
    };
    let leaders = Launch { order: vec![CtaRun { class: 0, ctas: 160 }], ..launch.clone() };
    let clocks = |launch: &Launch| run(&machine, launch, 1).clocks;
    assert!(clocks(&launch) < 0.7 * clocks(&leaders));
    let ratio = clocks(&launch.with_equal_pairs()) / clocks(&leaders);
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn the_queue_in_front_of_the_tensor_core_has_an_end() {
    let machine = machine();
    let issue = |count: usize| {
        let code = looped(|writer| {
            for _ in 0..count {
                product(writer, 1, true);
            }
        });
        let warps = vec![WarpTrace::of_loop(1, &vec![issued(256, 96); count])];
        run(&machine, &Launch::of_equal_ctas(code, warps, 1), 1).clocks
    };
    // Five wait and one is under way; the next one is issued when the first has ended.
    let queued = machine.tensor.tensor_queue as usize + 1;
    assert!(issue(queued) < computing(256.0), "{}", issue(queued));
    assert!(issue(queued + 1) < computing(256.0) * 1.1, "{}", issue(queued + 1));
    let more = issue(queued + 11) - issue(queued + 1);
    assert!((more - 10.0 * computing(256.0)).abs() < 12.0, "{more}");
}

#[test]
fn products_run_beside_the_warp_and_waits_for_them_are_waits_for_products() {
    let machine = machine();
    let code = looped(|writer| {
        product(writer, 1, true);
        for _ in 0..100 {
            writer.op("FFMA", Class::Fp32, Control::after(4));
        }
        commit_and_wait(writer);
    });
    let outcome = |columns: u16| {
        let warps = vec![warp(50, 1, issued(columns, 1))];
        run(&machine, &Launch::of_equal_ctas(code.clone(), warps, 1), 1)
    };
    let (short, long) = (outcome(8), outcome(256));
    assert!(short.slots.of(State::Products) < 1.0);
    let waited = long.by_instruction.iter().map(|costs| costs.of(State::Products)).sum::<f64>();
    let expected = 50.0 * (computing(256.0) + 32.0 + 70.0 + 36.0 - 400.0);
    assert!((waited / expected - 1.0).abs() < 0.05, "{waited} for {expected}");
}

#[test]
fn a_copy_to_tensor_memory_keeps_the_tensor_core() {
    let machine = machine();
    let code = |copies: usize| {
        looped(move |writer| {
            for _ in 0..copies {
                let queue = writer.queue();
                let copy = Action::TensorMemory(TensorMemoryAction::Copy { queue });
                writer.push("UTCCP", Class::Other, copy, Control::after(1));
            }
            commit_and_wait(writer);
        })
    };
    let clocks = |copies: usize| {
        let clocks = |rounds: usize| {
            let warps = vec![warp(rounds, copies, Request::shared(32))];
            run(&machine, &Launch::of_equal_ctas(code(copies), warps, 1), 1).clocks
        };
        (clocks(300) - clocks(100)) / 200.0
    };
    let each = (clocks(9) - clocks(1)) / 8.0;
    assert!((each - 32.0).abs() < 0.5, "{each}");
}

/// Clocks of a round of transfers of 8 KiB by some warps, each of which waits for all of its own.
fn transfers(machine: &Parameters, warps: usize, count: usize, writes: bool) -> f64 {
    let code = looped(|writer| {
        for _ in 0..count {
            let transfer = TensorMemoryAction::Transfer { bytes: 8192, writes };
            writer.push("LDTM", Class::Memory, Action::TensorMemory(transfer), Control::after(1));
        }
        let wait = Action::TensorMemory(TensorMemoryAction::AwaitTransfers);
        writer.push("FENCE", Class::Other, wait, Control::after(1));
    });
    let clocks = |rounds: usize| {
        let warps = vec![WarpTrace::of_loop(rounds, &[]); warps];
        run(machine, &Launch::of_equal_ctas(code.clone(), warps, 1), 1).clocks
    };
    (clocks(300) - clocks(100)) / 200.0
}

#[test]
fn transfers_take_the_way_of_their_sub_core() {
    let machine = machine();
    let memory = &machine.tensor.memory;
    for (writes, rate) in
        [(false, memory.tensor_memory_read_rate), (true, memory.tensor_memory_write_rate)]
    {
        let moving = 8192.0 / (rate / 4.0);
        let alone = transfers(&machine, 1, 1, writes);
        let expected = moving + machine.load_store.shared_latency;
        assert!((alone - expected).abs() < 3.0, "{alone} for {expected}");
        // Warps of four sub-cores do not disturb each other, two of one sub-core do.
        assert!((transfers(&machine, 4, 1, writes) - alone).abs() < 1.0);
        let full = transfers(&machine, 8, 8, writes);
        assert!((full / (16.0 * moving) - 1.0).abs() < 0.02, "{full} for {}", 16.0 * moving);
    }
}

/// A warp that copies and a warp that multiplies, over a ring of stages.
fn pipeline(stages: usize, rounds: usize) -> (Code, Vec<WarpTrace>) {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(4)).end_block();
    let queue = |writer: &mut Writer, phase: &dyn Fn(usize) -> Option<u32>| {
        let beside = |round| phase(round).map_or(Beside::Nothing, Beside::Phase);
        let requests: Vec<Request> =
            (0..rounds).map(|round| Request::global(0, 0, 128).with(beside(round))).collect();
        (writer.queue(), requests)
    };
    let full = |round: usize| Some(2 * round as u32);
    let empty = |round: usize| Some(2 * round as u32 + 1);
    let emptied = |round: usize| round.checked_sub(stages).and_then(empty);
    let (awaited, one) = queue(&mut writer, &emptied);
    let wait = Action::AwaitPhase { queue: awaited };
    writer.push("SYNCS", Class::Other, wait, Control::after(1));
    writer.access(Space::Global, AccessKind::BulkCopy, 0, Control::after(1)).end_block();
    let two: Vec<Request> = (0..rounds as u32)
        .map(|round| Request::global(0, 0, 128).with(Beside::Phase(2 * round)))
        .collect();
    let (awaited, three) = queue(&mut writer, &full);
    let wait = Action::AwaitPhase { queue: awaited };
    writer.push("SYNCS", Class::Other, wait, Control::after(1));
    product(&mut writer, 1, true);
    let (told, five) = queue(&mut writer, &empty);
    let commit = Action::TensorMemory(TensorMemoryAction::Commit { queue: told });
    writer.push("UTCBAR", Class::Other, commit, Control::after(1)).end_block();
    writer.exit();
    let four = vec![issued(64, 48); rounds];
    let warp = |block: u32, own: &[usize]| {
        let all = [&one, &two, &three, &four, &five];
        let mut path = vec![0];
        path.extend(vec![block; rounds]);
        path.push(3);
        let requests = all
            .iter()
            .enumerate()
            .map(|(at, all)| if own.contains(&at) { all.to_vec() } else { Vec::new() })
            .collect();
        WarpTrace { path, requests, left_out_instructions: 0 }
    };
    let warps = vec![warp(1, &[0, 1]), warp(2, &[2, 3, 4])];
    (writer.finish(), warps)
}

#[test]
fn a_warp_that_multiplies_waits_for_one_that_copies_and_the_other_way_round() {
    let machine = machine();
    let clocks = |stages: usize| {
        let clocks = |rounds: usize| {
            let (code, warps) = pipeline(stages, rounds);
            let outcome = run(&machine, &Launch::of_equal_ctas(code, warps, 1), 1);
            assert_eq!(outcome.abandoned_barriers, 0);
            outcome.clocks
        };
        (clocks(200) - clocks(100)) / 100.0
    };
    // One stage: a copy, then a product, each seen by the other warp.
    let copy = machine.memory.memory_latency + 36.0;
    let product = 32.0 + computing(64.0) + 70.0 + 36.0;
    let one = clocks(1);
    assert!((one / (copy + product) - 1.0).abs() < 0.15, "{one} for {copy} + {product}");
    // Many stages: the tensor core is the limit.
    let many = clocks(8);
    assert!((many - computing(64.0)).abs() < 2.0, "{many}");
    assert!(clocks(2) > 1.5 * many && clocks(2) < 0.6 * one, "{}", clocks(2));
}

#[test]
fn a_phase_that_nothing_ends_is_given_up() {
    let machine = machine();
    let code = looped(|writer| {
        let queue = writer.queue();
        writer.push("SYNCS", Class::Other, Action::ArriveAtPhase { queue }, Control::after(1));
        let queue = writer.queue();
        writer.push("SYNCS", Class::Other, Action::AwaitPhase { queue }, Control::after(1));
    });
    let warp = |arrives: bool| {
        let mut warp = WarpTrace::of_loop(2, &[]);
        let told = if arrives { phases(2) } else { vec![phases(1)[0]] };
        warp.requests = vec![told, phases(2)];
        warp
    };
    let abandoned = |warps: Vec<WarpTrace>| {
        run(&machine, &Launch::of_equal_ctas(code.clone(), warps, 1), 1).abandoned_barriers
    };
    assert_eq!(abandoned(vec![warp(true), warp(true)]), 0);
    // The warp waits for what it does itself only later.
    assert_eq!(abandoned(vec![warp(false)]), 1);
}

#[test]
fn ctas_wait_for_columns_of_tensor_memory() {
    let machine = machine();
    let code = looped(|writer| {
        product(writer, 1, true);
        commit_and_wait(writer);
    });
    let clocks = |columns: u32| {
        let warps = vec![warp(100, 1, issued(8, 1))];
        let all = 8 * u64::from(machine.sm_count);
        let mut launch = Launch::of_equal_ctas(code.clone(), warps, all);
        launch.tensor_columns = columns;
        run(&machine, &launch, 8).clocks
    };
    let (many, two) = (clocks(64), clocks(256));
    assert!(two > 2.0 * many, "{two} {many}");
}

/// Clocks of a round of `count` bulk copies that are waited for together, on some SMs.
fn copied(machine: &Parameters, count: usize, request: Request, sms: u64) -> f64 {
    let code = looped(|writer| {
        for _ in 0..count {
            writer.access(Space::Global, AccessKind::BulkCopy, 0, Control::after(1));
        }
        let queue = writer.queue();
        writer.push("SYNCS", Class::Other, Action::AwaitPhase { queue }, Control::after(1));
    });
    let clocks = |rounds: usize| {
        let mut warp = WarpTrace::of_loop(rounds, &vec![request; count]);
        for requests in &mut warp.requests {
            let of_round = |(round, one): (usize, &mut Request)| {
                *one = one.with(Beside::Phase(round as u32));
            };
            requests.iter_mut().enumerate().for_each(of_round);
        }
        warp.requests.push(phases(rounds));
        let outcome = run(machine, &Launch::of_equal_ctas(code.clone(), vec![warp], sms), 1);
        assert_eq!(outcome.abandoned_barriers, 0);
        outcome.clocks
    };
    (clocks(60) - clocks(20)) / 40.0
}

#[test]
fn a_tensor_box_takes_a_clock_for_each_row_and_narrow_rows_the_time_of_more_sectors() {
    let machine = machine();
    // A box of so many rows of 16 bytes, each in a sector of its own.
    let rows = |rows| Request { lines: rows, ..Request::global(0, rows, 0) };
    let alone = |count, request| copied(&machine, count, request, 1);
    let further = alone(1, rows(128)) - alone(1, rows(1));
    // The engine begins as soon as the copy issues, some clocks before the path has it.
    assert!((127.0 - 15.0..128.0).contains(&further), "{further}");
    let each = (alone(9, rows(128)) - alone(1, rows(128))) / (8.0 * 128.0);
    assert!((each - 1.0).abs() < 0.02, "{each}");
    // With all SMs the L2 has more to do for such a row than for the sector that it fills.
    let sms = machine.sm_count.into();
    let of_all = |request| {
        let copies = |count| copied(&machine, count, request, sms);
        (copies(9) - copies(1)) / 8.0
    };
    let sector = 32.0 * f64::from(machine.sm_count) * machine.sp_clock * 1e6
        / machine.memory.l2_read_bandwidth;
    let narrow = of_all(rows(128)) / (128.0 * sector);
    assert!((1.5..1.9).contains(&narrow), "{narrow}");
    // Whole lines take the time of their sectors.
    let whole = of_all(Request::global(0, 128, 0)) / (128.0 * sector);
    assert!((whole - 1.0).abs() < 0.05, "{whole}");
}
