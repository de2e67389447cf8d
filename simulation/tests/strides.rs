//! Loads that hit the first-level cache, by stride.

mod common;

use common::*;
use gpucast_simulation::code::*;
use gpucast_simulation::launch::*;
use gpucast_simulation::*;

/// A loop of eight independent loads and their sum, executed by 32 warps of one SM.
fn strided(requests: &[Request], bytes: u32, rounds: usize) -> Launch {
    let mut w = Writer::default();
    w.op("MOV", Class::Integer, stall(4)).end_block();
    for index in 0..8 {
        w.access(Space::Global, AccessKind::Load, bytes, signals(1, index % 6));
    }
    for index in 0..8 {
        w.op("FADD", Class::Fp32, waits(1, 1 << (index % 6)));
    }
    w.op("ISETP", Class::Compare, stall(4)).op("BRA", Class::Branch, stall(5)).end_block();
    w.push("EXIT", Class::Branch, Action::Exit, stall(5)).end_block();
    let warps = requests.iter().map(|&request| {
        let mut path = vec![0];
        path.extend(vec![1; rounds]);
        path.push(2);
        WarpTrace { path, requests: vec![vec![request; rounds]; 8], left_out_instructions: 0 }
    });
    launch(w.finish(), warps.collect(), 1)
}

/// Lines and passes over 32 banks of four bytes of the addresses of a warp.
fn request_of(addresses: &[u64], bytes: u64) -> Request {
    let mut lines: Vec<u64> =
        addresses.iter().flat_map(|a| [a / 128, (a + bytes - 1) / 128]).collect();
    lines.sort_unstable();
    lines.dedup();
    // Lanes of a quarter or half of the warp go together where a lane has more than a word.
    let group = (32 / (bytes / 4).max(1)) as usize;
    let mut passes = 0;
    for lanes in addresses.chunks(group) {
        let mut words: Vec<u64> =
            lanes.iter().flat_map(|a| (0..bytes / 4).map(move |k| a / 4 + k)).collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0_u16; 32];
        for word in words {
            banks[(word % 32) as usize] += 1;
        }
        passes += banks.into_iter().max().unwrap_or(0);
    }
    Request {
        lines: lines.len() as u16,
        passes,
        l1_sectors: lines.len() as u16,
        ..request(0, 0, 0)
    }
}

#[test]
fn strides() {
    let table = std::fs::read_to_string("/work/shared/timing/data/rrze-strides.csv").unwrap();
    let mut by: std::collections::BTreeMap<(String, String), Vec<f64>> = Default::default();
    for line in table.lines().skip(1) {
        let f: Vec<&str> = line.split(',').collect();
        if f[1] != "NVIDIA" {
            continue;
        }
        let name = match f[0] {
            "A100" => "A100-40GB",
            "H200" => "GH200",
            other => other,
        };
        let Some(p) = gpu(name) else { continue };
        let bytes: u64 = f[4].parse().unwrap();
        let measured: f64 = f[9].parse().unwrap();
        let base = |x: u64| match f[5] {
            "stride" => (x % 64) * f[6].parse::<u64>().unwrap(),
            _ => {
                let width: u64 = f[7].parse().unwrap();
                let (x, y) = (x % width, x / width);
                x % 64 + (y % 32) * 4098 + 4098
            }
        };
        let requests: Vec<Request> = (0..32)
            .map(|warp| {
                let addresses: Vec<u64> =
                    (0..32).map(|lane| base(warp * 32 + lane) * bytes).collect();
                request_of(&addresses, bytes)
            })
            .collect();
        let rounds = 200;
        let out = simulate(&strided(&requests, bytes as u32, rounds), 1, &p, Limits::default());
        let got = out.clocks / (rounds * 8 * 32) as f64;
        let error = got / measured - 1.0;
        if std::env::var("SHOW").is_ok() {
            println!(
                "{} {} {} {}{} measured {measured} got {got:.2} {:+.0}%  data {} tags {}",
                f[0],
                f[3],
                f[5],
                f[6],
                f[7],
                error * 100.0,
                f[11],
                f[12]
            );
        }
        by.entry((f[0].to_owned(), f[3].to_owned())).or_default().push(error);
    }
    for (key, errors) in by {
        let n = errors.len() as f64;
        println!(
            "{key:?} {} mean {:.1}% bias {:+.1}%",
            errors.len(),
            errors.iter().map(|e| e.abs()).sum::<f64>() / n * 100.0,
            errors.iter().sum::<f64>() / n * 100.0
        );
    }
}
#[test]
fn debug() {
    let p = gpu("A100-40GB").unwrap();
    let r = Request { lines: 1, passes: 1, l1_sectors: 4, ..request(0, 0, 0) };
    for warps in [1, 4, 8, 16, 32] {
        let out = simulate(&strided(&vec![r; warps], 4, 200), 1, &p, Limits::default());
        println!("{warps} {:.2}", out.clocks / (200 * 8 * warps) as f64);
        for s in states::State::ALL {
            if out.slots.of(s) > 0.0 {
                println!("   {} {:.0}", s.name(), out.slots.of(s));
            }
        }
        println!("{:?}", out.instructions);
    }
}
