//! Loads that hit the first-level cache, by stride: banks, tags, and the way back to registers.

use std::collections::BTreeMap;

use gpucast_simulation::code::{AccessKind, Class, Control, Space};
use gpucast_simulation::launch::{Launch, Request, WarpTrace};
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{Limits, simulate};

use crate::{Errors, machine};

/// Independent loads of a round.
const LOADS: u8 = 8;

/// A loop of independent loads and of their sum, executed by the warps of one SM.
fn strided(requests: &[Request], bytes: u32, rounds: usize) -> Launch {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(4)).end_block();
    for index in 0..LOADS {
        writer.access(Space::Global, AccessKind::Load, bytes, Control::after(1).signals(index % 6));
    }
    for index in 0..LOADS {
        writer.op("FADD", Class::Fp32, Control::after(1).waits(1 << (index % 6)));
    }
    writer
        .op("ISETP", Class::Compare, Control::after(4))
        .op("BRA", Class::Branch, Control::after(5))
        .end_block();
    writer.exit();
    let of_warp = |&request: &Request| WarpTrace::of_loop(rounds, &[request; LOADS as usize]);
    let warps = requests.iter().map(of_warp);
    Launch::of_equal_ctas(writer.finish(), warps.collect(), 1)
}

/// Lines and passes over 32 banks of four bytes of the addresses of a warp.
fn request_of(addresses: &[u64], bytes: u64) -> Request {
    let mut lines: Vec<u64> =
        addresses.iter().flat_map(|at| [at / 128, (at + bytes - 1) / 128]).collect();
    lines.sort_unstable();
    lines.dedup();
    // Where a lane has more than a word, half or a quarter of the warp goes together.
    let together = (32 / (bytes / 4).max(1)) as usize;
    let mut passes = 0;
    for lanes in addresses.chunks(together) {
        let mut words: Vec<u64> =
            lanes.iter().flat_map(|at| (0..bytes / 4).map(move |word| at / 4 + word)).collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0_u16; 32];
        for word in words {
            banks[(word % 32) as usize] += 1;
        }
        passes += banks.into_iter().max().unwrap_or(0);
    }
    let lines = lines.len() as u16;
    Request { lines, passes, l1_sectors: lines, ..Request::global(0, 0, 0) }
}

#[test]
fn strided_loads_take_the_clocks_of_three_gpus() {
    let mut reader = csv::Reader::from_reader(include_bytes!("strides.csv").as_slice());
    let mut by: BTreeMap<(String, String), Errors> = BTreeMap::new();
    let mut all = Errors::default();
    for row in reader.deserialize::<BTreeMap<String, String>>() {
        let row = row.unwrap();
        let number = |column: &str| row[column].parse::<u64>().unwrap();
        let bytes = number("element_bytes");
        // On an A40 the sums of doubles take longer than the loads: 16 clocks each.
        if row["gpu"] == "A40" && bytes == 8 {
            continue;
        }
        let parameters = machine(&row["gpu"]).unwrap();
        let measured: f64 = row["clk_per_warp_load"].parse().unwrap();
        let base = |thread: u64| match row["pattern"].as_str() {
            "stride" => thread % 64 * number("stride_elements"),
            _ => {
                let width = number("block_width_threads");
                let (x, y) = (thread % width, thread / width);
                x % 64 + (y % 32) * 4098 + 4098
            }
        };
        let of_warp = |warp: u64| {
            let addresses: Vec<u64> = (0..32).map(|lane| base(32 * warp + lane) * bytes).collect();
            request_of(&addresses, bytes)
        };
        let requests: Vec<Request> = (0..32).map(of_warp).collect();
        let rounds = 60;
        let launch = strided(&requests, bytes as u32, rounds);
        let clocks = simulate(&launch, 1, &parameters, Limits::default()).clocks;
        let cold = parameters.launch.launch_start + parameters.launch.launch_end + 700.0;
        let simulated = (clocks - cold).max(0.0) / (rounds * usize::from(LOADS) * 32) as f64;
        let error = simulated / measured - 1.0;
        all.0.push(error);
        by.entry((row["gpu"].clone(), row["element_bytes"].clone())).or_default().0.push(error);
    }
    println!("| GPU | bytes of an element | points | mean error % | bias % | worst % |");
    for ((gpu, bytes), errors) in &by {
        println!("| {gpu} | {bytes} | {} |", errors.row());
    }
    println!("| all | | {} |", all.row());
    assert!(all.mean() < 0.08, "mean error {:.4}", all.mean());
}
