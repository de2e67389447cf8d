//! Chains of dependent instructions: latencies, and what further warps hide of them.

use gpucast_simulation::code::{AccessKind, Class, Code, Control, Space};
use gpucast_simulation::launch::{Launch, Request, WarpTrace};
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::writer::Writer;
use gpucast_simulation::{Limits, simulate};

use crate::machine;

/// Rounds of a chain.
const ROUNDS: usize = 500;

/// Clocks of a round of a loop: the second block of `code`.
fn of_a_round(parameters: &Parameters, code: &Code, warps: usize, requests: &[Request]) -> f64 {
    let clocks = |rounds: usize| {
        let warp = WarpTrace::of_loop(rounds, requests);
        let launch = Launch::of_equal_ctas(code.clone(), vec![warp; warps], 1);
        simulate(&launch, 1, parameters, Limits::default()).clocks
    };
    (clocks(2 * ROUNDS) - clocks(ROUNDS)) / ROUNDS as f64
}

/// Clocks of a step of a chain of loads, each of which gives the next one's address.
fn chase(parameters: &Parameters, request: Request) -> f64 {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(4)).end_block();
    let link = Control { wait_mask: 1, ..Control::after(1).signals(0) };
    writer.access(Space::Global, AccessKind::Load, 8, link).end_block();
    writer.exit();
    let code = writer.finish();
    of_a_round(parameters, &code, 1, &[Request { lanes: 1, ..request }])
}

#[test]
fn pointer_chases_take_the_latency_of_their_level() {
    println!("| GPU | level | measured | simulated |");
    for gpu in ["V100", "A100-40GB", "A40", "L40", "H100-PCIe", "GH200"] {
        let parameters = machine(gpu).unwrap();
        for (level, measured, request) in [
            ("L1", parameters.load_store.l1_latency, Request::global(1, 0, 0)),
            ("L2", parameters.memory.l2_latency, Request::global(0, 1, 0)),
            ("DRAM", parameters.memory.memory_latency, Request::global(0, 0, 1)),
        ] {
            let mut near = parameters.clone();
            near.memory.l2_far_latency = 0.0;
            let simulated = chase(&near, request);
            println!("| {gpu} | {level} | {measured} | {simulated:.1} |");
            assert!((simulated / measured - 1.0).abs() < 0.01, "{gpu} {level}: {simulated}");
        }
    }
}

/// Clocks of an instruction in chains of it, for each of the warps of an SM. A link waits for the
/// one before by a barrier, as double precision does.
fn chains(parameters: &Parameters, class: Class, warps: usize, chains: u8) -> f64 {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::after(4)).end_block();
    for index in 0..chains {
        writer.op(
            "OP",
            class,
            Control { wait_mask: 1 << index, ..Control::after(1).signals(index) },
        );
    }
    writer.end_block();
    writer.exit();
    let code = writer.finish();
    of_a_round(parameters, &code, warps, &[]) / f64::from(chains) / warps as f64
}

/// gpu-benches, gpu-incore: DFMA on a V100, clocks of an operation over the warps of the SM. Its
/// loop adds about half a clock a link, which is not part of the latency.
#[test]
fn double_precision_chains_are_those_of_a_v100() {
    let parameters = machine("V100").unwrap();
    for (warps, in_flight, measured) in [
        (1, 1, 8.67),
        (1, 2, 4.63),
        (1, 4, 4.66),
        (2, 1, 4.29),
        (4, 1, 2.14),
        (4, 2, 1.16),
        (8, 1, 1.08),
        (32, 1, 1.03),
    ] {
        let simulated = chains(&parameters, Class::Fp64, warps, in_flight);
        let error = simulated / measured - 1.0;
        println!(
            "DFMA, {warps} warps × {in_flight}: measured {measured}, simulated {simulated:.2}"
        );
        assert!(error.abs() < 0.15, "{warps} × {in_flight}: {simulated}");
    }
}

/// The vendor's table: 64 or 128 results of single precision per clock and SM.
#[test]
fn enough_warps_reach_the_rate_of_single_precision() {
    for (gpu, results) in [("V100", 64.0), ("A100-40GB", 64.0), ("A40", 128.0), ("GH200", 128.0)] {
        let parameters = machine(gpu).unwrap();
        let clocks = chains(&parameters, Class::Fp32, 16, 4);
        assert!((32.0 / clocks / results - 1.0).abs() < 0.03, "{gpu}: {}", 32.0 / clocks);
    }
}
