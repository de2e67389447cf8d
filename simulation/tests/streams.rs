//! Streams over occupancy.

mod common;

use common::*;
use gpucast_simulation::code::*;
use gpucast_simulation::launch::*;
use gpucast_simulation::*;

/// One element a thread: `loads` arrays are read and `stores` written, eight bytes each.
fn stream(loads: usize, stores: usize, warps: u64, ctas: u64) -> Launch {
    let mut w = Writer::default();
    // Thread's index, comparison with the size, addresses.
    w.op("S2R", Class::Other, signals(2, 0))
        .op("S2R", Class::Other, signals(4, 1))
        .op("IMAD", Class::IntegerMultiply, waits(4, 0b11))
        .op("ISETP", Class::Compare, stall(13))
        .op("EXIT", Class::Branch, stall(5))
        .op("MOV", Class::Integer, stall(1));
    let mut queues = Vec::new();
    let (l, s) = (loads, stores);
    for index in 0..l {
        w.op("IMAD.WIDE", Class::WideMultiply, stall(5));
        w.access(Space::Global, AccessKind::Load, 8, signals(1, index as u8));
        queues.push(vec![request(0, 0, 8)]);
    }
    if l > 0 {
        w.op("DADD", Class::Fp64, Control { wait_mask: (1 << l) - 1, ..signals(8, 5) });
    }
    for _ in 0..s {
        w.op("IMAD.WIDE", Class::WideMultiply, stall(5));
        w.access(Space::Global, AccessKind::Store, 8, waits(1, 1 << 5));
        queues.push(vec![request(0, 8, 0)]);
    }
    w.push("EXIT", Class::Branch, Action::Exit, stall(5)).end_block();
    let warp = WarpTrace { path: vec![0], requests: queues, left_out_instructions: 0 };
    launch(w.finish(), vec![warp; warps as usize], ctas)
}

struct Point {
    gpu: String,
    warps: u64,
    blocks: u32,
    measured: f64,
    l: usize,
    s: usize,
    name: &'static str,
}

fn points() -> Vec<Point> {
    let table = std::fs::read_to_string("/work/shared/timing/data/rrze-stream.csv").unwrap();
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let col = |name: &str| head.iter().position(|one| *one == name).unwrap();
    let mut all = Vec::new();
    for line in lines {
        let f: Vec<&str> = line.split(',').collect();
        if gpu(f[col("gpu")]).is_none() {
            continue;
        };
        let Ok(threads) = f[col("block_threads")].parse::<u64>() else { continue };
        if threads % 32 != 0 {
            continue;
        }
        let Ok(blocks) = f[col("blocks_per_sm")].parse::<u32>() else { continue };
        for (name, l, s) in
            [("init_gb_s", 0, 1), ("read_gb_s", 1, 0), ("scale_gb_s", 1, 1), ("triad_gb_s", 3, 1)]
        {
            let Ok(measured) = f[col(name)].parse::<f64>() else { continue };
            let streams: usize = f[col("triad_streams_counted")].parse().unwrap_or(4);
            let l = if name == "triad_gb_s" { streams - 1 } else { l };
            all.push(Point {
                gpu: f[col("gpu")].to_owned(),
                warps: threads / 32,
                blocks,
                measured,
                l,
                s,
                name,
            });
        }
    }
    all
}

fn error(point: &Point, p: &parameters::Parameters) -> f64 {
    let ctas = 40 * u64::from(point.blocks) * u64::from(p.sm_count);
    let launch = stream(point.l, point.s, point.warps, ctas);
    let out = simulate(&launch, point.blocks, p, Limits::default());
    let seconds = out.clocks / (p.clock_mhz * 1e6);
    let bytes = (ctas * point.warps * 32 * 8 * (point.l + point.s) as u64) as f64;
    bytes / seconds / 1e9 / point.measured - 1.0
}

#[test]
#[ignore]
fn search() {
    let points = points();
    for (index, name) in [(0, "read_gb_s"), (1, "triad_gb_s"), (2, "scale_gb_s"), (3, "init_gb_s")]
    {
        let mut found = Vec::new();
        for linear in [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5] {
            for hyperbolic in [0.0, 0.01, 0.02, 0.04, 0.06, 0.1, 0.2] {
                let (mut sum, mut n) = (0.0, 0.0);
                for point in points.iter().filter(|one| one.name == name && one.gpu != "L40") {
                    let mut p = gpu(&point.gpu).unwrap();
                    p.memory.queueing[index].linear = linear;
                    p.memory.queueing[index].hyperbolic = hyperbolic;
                    sum += error(point, &p).abs();
                    n += 1.0;
                }
                found.push((sum / n, linear, hyperbolic));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        println!("{name} {:?}", &found[..6]);
    }
}

#[test]
fn occupancy_sweeps() {
    let show = std::env::var("SHOW").unwrap_or_default();
    let mut by: std::collections::BTreeMap<(String, &str), Vec<f64>> = Default::default();
    for point in points() {
        let p = gpu(&point.gpu).unwrap();
        let error = error(&point, &p);
        if show == point.gpu {
            println!(
                "{:12} {:5} x {:2}  {:6.0} {:+5.1}%",
                point.name,
                point.warps * 32,
                point.blocks,
                point.measured,
                error * 100.0
            );
        }
        by.entry((point.gpu, point.name)).or_default().push(error);
    }
    let mut all = Vec::new();
    for ((gpu, name), errors) in by {
        let n = errors.len() as f64;
        let mean = errors.iter().map(|e| e.abs()).sum::<f64>() / n;
        let bias = errors.iter().sum::<f64>() / n;
        let max = errors.iter().map(|e| e.abs()).fold(0.0, f64::max);
        println!(
            "{gpu:10} {name:12} {:3} mean {:4.1}% bias {:+5.1}% max {:4.1}%",
            errors.len(),
            mean * 100.0,
            bias * 100.0,
            max * 100.0
        );
        all.extend(errors);
    }
    println!(
        "all {} mean {:.2}%",
        all.len(),
        all.iter().map(|e| e.abs()).sum::<f64>() / all.len() as f64 * 100.0
    );
}
