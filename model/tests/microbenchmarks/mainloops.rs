//! Whole products of one CTA: a warp that copies tiles and a warp that multiplies them.
//!
//! CUTLASS's kernel has the same two loops. What is compared is the time of a long product, and so
//! the clocks of a stage: copy, wait, products, commit.

use gpucast_simulation::code::{
    AccessKind, Action, Class, Control, Space, TensorFormat, TensorMemoryAction, TensorProduct,
};
use gpucast_simulation::launch::{Beside, Launch, Request, WarpTrace};
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{Limits, simulate};

use crate::{Errors, machine};

/// Elements of a row of A.
const K: usize = 131_072;

/// The clock that the plots beside the numbers assume, in MHz. The numbers are near the peak with
/// it, and above it with a lower one.
const CLOCK_MHZ: f64 = 1300.0;

/// Bytes of half the L2. What is read from both dies has to be in both halves.
const HALF_L2: usize = 63 << 20;

struct Row {
    name: String,
    format: TensorFormat,
    bytes: usize,
    m: usize,
    n: usize,
    k: usize,
    stages: usize,
    milliseconds: f64,
}

fn rows() -> impl Iterator<Item = Row> {
    include_str!("mainloops.csv").lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse().unwrap();
        let (format, bytes) = match cells[0] {
            "bf16" => (TensorFormat::HalfInSingle, 2),
            _ => (TensorFormat::Fp8, 1),
        };
        Row {
            name: line.to_owned(),
            format,
            bytes,
            m: number(1),
            n: number(2),
            k: number(3),
            stages: number(4),
            milliseconds: cells[5].parse().unwrap(),
        }
    })
}

/// Milliseconds of the product.
fn time(parameters: &Parameters, row: &Row) -> f64 {
    let rounds = K / row.k;
    let products = row.k * row.bytes / 32;
    let mut writer = Writer::default();
    let mut queues: Vec<Vec<Request>> = Vec::new();
    let repeated = |request: Request| vec![request; rounds];
    let each = |request: Request, phase: &dyn Fn(usize) -> Option<u32>| -> Vec<Request> {
        let beside = |round| phase(round).map_or(Beside::Nothing, Beside::Phase);
        (0..rounds).map(|round| request.with(beside(round))).collect()
    };
    let full = |round: usize| Some(2 * round as u32);
    let empty = |round: usize| Some(2 * round as u32 + 1);
    let emptied = |round: usize| round.checked_sub(row.stages).and_then(empty);
    let none = Request::shared(1);
    writer.op("MOV", Class::Integer, Control::after(4)).end_block();
    let queue = writer.queue();
    writer.push("SYNCS", Class::Memory, Action::AwaitPhase { queue }, Control::after(4));
    queues.push(each(none, &emptied));
    let queue = writer.queue();
    writer.push("SYNCS", Class::Memory, Action::ArriveAtPhase { queue }, Control::after(4));
    queues.push(each(none, &full));
    for rows in [row.m, row.n] {
        writer.access(Space::Global, AccessKind::BulkCopy, 0, Control::after(4));
        let sectors = (rows * row.k * row.bytes / 32) as u16;
        let is_kept = (row.m + row.n) * K * row.bytes <= HALF_L2;
        let (l2, dram) = if is_kept { (sectors, 0) } else { (0, sectors) };
        queues.push(each(Request::global(0, l2, dram), &full));
    }
    writer.end_block();
    let of_copies = queues.len();
    let queue = writer.queue();
    writer.push("SYNCS", Class::Memory, Action::AwaitPhase { queue }, Control::after(4));
    queues.push(each(none, &full));
    let depth = (32 / row.bytes) as u32;
    for _ in 0..products {
        let queue = writer.queue();
        let product = TensorProduct { format: row.format, depth, reads_a: true, sms: 1, queue };
        let action = Action::TensorMemory(TensorMemoryAction::Multiply(product));
        writer.push("UTCHMMA", Class::Tensor, action, Control::after(4));
        let beside = Beside::Product { rows: row.m as u16, columns: row.n as u16, format: None };
        queues.push(repeated(Request::shared(((row.m + row.n) / 4) as u16).with(beside)));
    }
    let queue = writer.queue();
    let commit = Action::TensorMemory(TensorMemoryAction::Commit { queue });
    writer.push("UTCBAR", Class::Other, commit, Control::after(4)).end_block();
    queues.push(each(none, &empty));
    writer.exit();
    let warp = |block: u32, own: std::ops::Range<usize>| {
        let mut path = vec![0];
        path.extend(vec![block; rounds]);
        path.push(3);
        let of = |(at, all): (usize, &Vec<Request>)| {
            if own.contains(&at) { all.clone() } else { Vec::new() }
        };
        let requests = queues.iter().enumerate().map(of).collect();
        WarpTrace { path, requests, left_out_instructions: 0 }
    };
    let warps = vec![warp(1, 0..of_copies), warp(2, of_copies..queues.len())];
    let launch = Launch::of_equal_ctas(writer.finish(), warps, 1);
    let outcome = simulate(&launch, 1, parameters, Limits::default());
    assert_eq!(outcome.abandoned_barriers, 0);
    outcome.clocks / (parameters.sp_clock * 1e3)
}

#[test]
fn products_of_one_cta_take_the_time_of_a_b200() {
    let mut parameters = machine("B200").unwrap();
    parameters.sp_clock = CLOCK_MHZ;
    let (mut copying, mut multiplying) = (Errors::default(), Errors::default());
    for row in rows() {
        let simulated = time(&parameters, &row);
        let error = simulated / row.milliseconds - 1.0;
        println!("{}: {simulated:.4} ms, {:+.1} %", row.name, 100.0 * error);
        // Clocks of the tensor core or of shared memory, without any wait.
        let busy = (row.n as f64 / 2.0).max((row.m + row.n) as f64 / 4.0);
        let busy = busy * (K * row.bytes / 32) as f64 / (CLOCK_MHZ * 1e3);
        let waits = row.milliseconds > 1.1 * busy;
        if waits { copying.0.push(error) } else { multiplying.0.push(error) }
    }
    println!("| | points | mean | bias | worst |");
    println!("| limited by copies | {} |", copying.row());
    println!("| limited by products | {} |", multiplying.row());
    assert!(multiplying.mean() < 0.06 && multiplying.worst() < 0.15);
    assert!(copying.mean() < 0.15 && copying.worst() < 0.3);
}
