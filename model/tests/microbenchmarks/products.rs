//! Products in tensor memory: when they follow each other, and when a warp sees them done.

use gpucast_simulation::code::{
    Action, Class, Control, TensorFormat, TensorMemoryAction, TensorProduct,
};
use gpucast_simulation::launch::{Beside, Launch, Request, WarpTrace};
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{Limits, simulate};

use crate::{Errors, machine};

/// A row of the table.
struct Row {
    name: String,
    product: TensorProduct,
    request: Request,
    latency: f64,
    interval: f64,
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<u32>().unwrap();
        let (sms, m, n) = (number(2), number(3), number(4));
        let (format, depth) = match cells[0] {
            "bf16" => (TensorFormat::HalfInSingle, 16),
            "e4m3" | "f4" | "mxf8" => (TensorFormat::Fp8, 32),
            "s8" => (TensorFormat::Int8, 32),
            "mxf4" => (TensorFormat::ScaledFp4, 64),
            other => panic!("no format {other}"),
        };
        let reads_a = cells[1] == "shared";
        // 64 rows of a pair use all lanes for half the columns.
        let rows = m / sms;
        let columns = if sms == 2 && rows == 64 { n / 2 } else { n };
        // Both factors have rows of 32 bytes, four of which the banks deliver in a pass.
        let passes = (if reads_a { m } else { 0 } + n) / 4;
        let beside = Beside::Product { rows: rows as u16, columns: columns as u16, format: None };
        Row {
            name: line.to_owned(),
            product: TensorProduct { format, depth, reads_a, sms, queue: None },
            request: Request::shared(passes as u16).with(beside),
            latency: cells[5].parse().unwrap(),
            interval: cells[6].parse().unwrap(),
        }
    };
    include_str!("products.csv").lines().skip(1).map(row).collect()
}

/// Clocks of `count` products, a commit and a wait, of a warp that does nothing else.
fn burst(parameters: &Parameters, row: &Row, count: usize) -> f64 {
    const ROUNDS: usize = 20;
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(4)).end_block();
    for _ in 0..count {
        let product = TensorProduct { queue: writer.queue(), ..row.product };
        let action = Action::TensorMemory(TensorMemoryAction::Multiply(product));
        writer.push("UTCHMMA", Class::Tensor, action, Control::after(1));
    }
    let queue = writer.queue();
    let commit = Action::TensorMemory(TensorMemoryAction::Commit { queue });
    writer.push("UTCBAR", Class::Other, commit, Control::after(1));
    let queue = writer.queue();
    writer.push("SYNCS", Class::Other, Action::AwaitPhase { queue }, Control::after(1)).end_block();
    writer.exit();
    let code = writer.finish();
    let clocks = |rounds: usize| {
        let mut warp = WarpTrace::of_loop(rounds, &vec![row.request; count]);
        let phases: Vec<Request> =
            (0..rounds as u32).map(|at| Request::shared(1).with(Beside::Phase(at))).collect();
        warp.requests.extend([phases.clone(), phases]);
        let launch = Launch::of_equal_ctas(code.clone(), vec![warp], 1);
        simulate(&launch, 1, parameters, Limits::default()).clocks
    };
    (clocks(2 * ROUNDS) - clocks(ROUNDS)) / ROUNDS as f64
}

#[test]
fn products_in_tensor_memory_are_those_of_a_b200() {
    let parameters = machine("B200").unwrap();
    let (mut latencies, mut intervals) = (Errors::default(), Errors::default());
    for row in rows() {
        let latency = burst(&parameters, &row, 1);
        let interval = (burst(&parameters, &row, 9) - burst(&parameters, &row, 5)) / 4.0;
        let of = |simulated: f64, measured: f64| simulated / measured - 1.0;
        let errors = [of(latency, row.latency), of(interval, row.interval)];
        if errors.iter().any(|error| error.abs() > 0.05) {
            println!("{}: {latency:.1}, {interval:.1}", row.name);
        }
        latencies.0.push(errors[0]);
        intervals.0.push(errors[1]);
    }
    println!("| | points | mean | bias | worst |");
    println!("| latency | {} |", latencies.row());
    println!("| interval | {} |", intervals.row());
    assert!(latencies.mean() < 0.04 && latencies.worst() < 0.12);
    assert!(intervals.mean() < 0.01 && intervals.worst() < 0.12);
}
