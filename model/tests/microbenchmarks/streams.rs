//! Streams over occupancy: launch, replacement of CTAs, latency and bandwidth of DRAM.

use std::collections::BTreeMap;

use gpucast_simulation::code::{AccessKind, Class, Control, Space};
use gpucast_simulation::launch::{Launch, Request, WarpTrace};
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{Limits, simulate};

use crate::{Errors, machine};

/// Each thread loads one double of each of `loads` arrays and stores `stores`.
fn stream(loads: usize, stores: usize, warps: usize, ctas: u64) -> Launch {
    let mut writer = Writer::default();
    // The thread's index, its comparison with the size, and addresses.
    writer
        .op("S2R", Class::Other, Control::after(2).signals(0))
        .op("S2R", Class::Other, Control::after(4).signals(1))
        .op("IMAD", Class::IntegerMultiply, Control::after(4).waits(0b11))
        .op("ISETP", Class::Compare, Control::after(13))
        .op("EXIT", Class::Branch, Control::after(5))
        .op("MOV", Class::Integer, Control::after(1));
    let mut requests = Vec::new();
    for index in 0..loads {
        writer.op("IMAD.WIDE", Class::WideMultiply, Control::after(5));
        writer.access(Space::Global, AccessKind::Load, 8, Control::after(1).signals(index as u8));
        requests.push(vec![Request::global(0, 0, 8)]);
    }
    if loads > 0 {
        let sum = Control { wait_mask: (1 << loads) - 1, ..Control::after(8).signals(5) };
        writer.op("DADD", Class::Fp64, sum);
    }
    for _ in 0..stores {
        writer.op("IMAD.WIDE", Class::WideMultiply, Control::after(5));
        writer.access(Space::Global, AccessKind::Store, 8, Control::after(1).waits(1 << 5));
        requests.push(vec![Request::global(0, 8, 0)]);
    }
    writer.exit();
    let warp = WarpTrace { path: vec![0], requests, left_out_instructions: 0 };
    Launch::of_equal_ctas(writer.finish(), vec![warp; warps], ctas)
}

#[test]
fn streams_over_occupancy_are_those_of_seven_gpus() {
    let mut reader = csv::Reader::from_reader(include_bytes!("streams.csv").as_slice());
    let mut all = Errors::default();
    let mut by: BTreeMap<(String, String), Errors> = BTreeMap::new();
    for row in reader.deserialize::<BTreeMap<String, String>>() {
        let row = row.unwrap();
        let number = |column: &str| row[column].parse::<f64>().ok();
        let parameters = machine(&row["gpu"]).unwrap();
        let (warps, blocks) =
            (number("warps").unwrap() as usize, number("blocks_per_sm").unwrap() as u32);
        let triad_loads = number("triad_loads").unwrap() as usize;
        for (kernel, loads, stores) in
            [("init", 0, 1), ("read", 1, 0), ("scale", 1, 1), ("triad", triad_loads, 1)]
        {
            let Some(measured) = number(&format!("{kernel}_gb_s")) else { continue };
            // The launches had more; the rate is steady.
            let ctas = 40 * u64::from(blocks) * u64::from(parameters.sm_count);
            let launch = stream(loads, stores, warps, ctas);
            let clocks = simulate(&launch, blocks, &parameters, Limits::default()).clocks;
            let bytes = (ctas * warps as u64 * 32 * 8) as f64 * (loads + stores) as f64;
            let simulated = bytes / (clocks / (parameters.sp_clock * 1e6)) / 1e9;
            let error = simulated / measured - 1.0;
            all.0.push(error);
            by.entry((row["gpu"].clone(), kernel.to_owned())).or_default().0.push(error);
        }
    }
    println!("| GPU | stream | points | mean error % | bias % | worst % |");
    for ((gpu, kernel), errors) in &by {
        println!("| {gpu} | {kernel} | {} |", errors.row());
    }
    println!("| all | all | {} |", all.row());
    assert_eq!(all.0.len(), 904);
    assert!(all.mean() < 0.028, "mean error {:.4}", all.mean());
}
