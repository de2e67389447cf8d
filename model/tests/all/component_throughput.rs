//! The components of Zhang & Owens 2011: what their figures and text say, and how it carries over.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use gpucast_counters::throughput::Operation;
use gpucast_model::component_throughput::global::{Configuration, Served, Traffic};
use gpucast_model::component_throughput::{Components, InstructionCounts, Times, stages};
use gpucast_model::{Bound, Gpu, GpuLibrary};

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().as_written(name).unwrap().completed()
}

fn components(name: &str) -> Components {
    let gpu = gpu(name);
    Components::of(&gpu, &gpu.device_model().unwrap()).unwrap()
}

#[track_caller]
fn assert_near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value}, not {expected} within {within}");
}

/// Section 5.1: "For {6, 16, 32 (max)} active warps per block, we expect an instruction throughput
/// of {8.39, 9.05, 9.33} gigainstructions/s and a shared memory bandwidth of {870, 1112, 1165}
/// GB/s."
#[test]
fn a_gtx_285_has_the_throughputs_of_section_5_1() {
    let gtx_285 = components("gtx-285");
    for (warps, ginst, gbps) in [(6.0, 8.39, 870.0), (16.0, 9.05, 1112.0), (32.0, 9.33, 1165.0)] {
        assert_near(gtx_285.instructions.throughput(Operation::Fp32, warps), ginst, 1e-6);
        assert_near(gtx_285.shared.bandwidth(warps), gbps, 1e-6);
    }
    // "The saturation point of type II instructions is 6 warps."
    assert_near(gtx_285.instructions.covering_warps(), 6.0, 0.0);
}

/// Table 1: 10, 8, 4 and 1 units, which are the ratios of the peaks; the sustained throughputs of
/// well occupied SMs keep that order, and "the more functional units there are, the more parallel
/// warps we need".
#[test]
fn types_of_instructions_have_the_order_of_table_1() {
    let pipeline = components("gtx-285").instructions;
    let types = [Operation::Fp32Multiply, Operation::Fp32, Operation::Special, Operation::Fp64];
    let at = |warps: f64| types.map(|ty| pipeline.throughput(ty, warps));
    assert!(at(32.0).is_sorted_by(|a, b| a > b), "{:?}", at(32.0));
    // One warp runs one instruction in each latency, whatever the type, unless it keeps the units
    // busy for longer: the double-precision unit takes 32 clocks.
    let [one, two, three, four] = at(1.0);
    assert_near(one, two, 1e-9);
    assert_near(three, two, 1e-9);
    assert!(four < two);
    // 1 unit at 1.48 GHz on 30 SMs: 1.39 GI/s at most.
    assert!(at(32.0)[3] < 1.39);
}

/// Figure 3's properties, with blocks of 256 threads, four of which fill an SM's 32 warps.
#[test]
fn global_bandwidth_behaves_as_figure_3() {
    let global = components("gtx-285").global;
    let bandwidth = |blocks, transactions| global.synthetic_bandwidth(blocks, 256, transactions, 4);
    // "The plot is almost linear with the number of blocks when it is far below the peak."
    assert_near(bandwidth(10, 16) / bandwidth(5, 16), 2.0, 0.02);
    // More blocks, more threads or more transactions of a thread bring it nearer the peak.
    let peak = global.peak_bandwidth();
    assert!(bandwidth(10, 256) < 0.5 * peak);
    assert!(bandwidth(60, 256) > 0.9 * peak, "{}", bandwidth(60, 256));
    assert!(bandwidth(60, 2) < bandwidth(60, 16) && bandwidth(60, 16) < bandwidth(60, 256));
    let threads = [64, 128, 256].map(|threads| global.synthetic_bandwidth(20, threads, 16, 2));
    assert!(threads.is_sorted_by(|a, b| a < b), "{threads:?}");
    // "Sawtooth patterns with a period of 10 when the bandwidth is near the peak ... the number of
    // blocks should be a multiple of 10", and "the fluctuation becomes smaller".
    let mut depths = Vec::new();
    for multiple in (60..200).step_by(10) {
        let (full, one_more) = (bandwidth(multiple, 256), bandwidth(multiple + 1, 256));
        assert!(full > one_more);
        assert!((multiple + 1..multiple + 10).all(|blocks| bandwidth(blocks, 256) < full));
        depths.push(1.0 - one_more / full);
    }
    assert!(depths.is_sorted_by(|a, b| a > b), "{depths:?}");
}

/// Cyclic reduction and CR-NBC (section 5.2) from what the paper prints, without any count of ours:
/// 512 systems of 512 equations; 8, 4, 2, 1, 1 … active warps in steps 1 to 9; transactions that
/// "remain constant" (figure 7(b)), in step 1 two for each of the 16 accesses (a, b, c, d of an
/// equation and its neighbours are read, of itself written) by the 16 half-warps; "about one tenth
/// of total instructions" are computations, of which an equation has ten (two divisions of two,
/// four multiply-adds, two multiplications), and CR-NBC "has a similar instruction count".
#[test]
fn cyclic_reduction_by_printed_inputs_has_the_printed_ratio() {
    let components = components("gtx-285");
    let systems = 512.0;
    let transactions = systems * 16.0 * 16.0 * 2.0;
    let step = |warps: f64| {
        let count = |operation| match operation {
            Operation::Special => 2.0,
            Operation::Fp32Multiply => 4.0,
            Operation::Fp32 => 94.0,
            _ => 0.0,
        };
        let counts = InstructionCounts::by(|operation| systems * warps * count(operation));
        let instructions = components.instructions.time(&counts, warps, 1.0).time_ms;
        (instructions, components.shared.time_ms(transactions, warps, 1.0))
    };
    let steps = [8.0, 4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(step);
    // Step 0 reads four arrays of 512 floats for each system, two of each array for a thread.
    let load = Traffic {
        bytes: systems * 4.0 * 512.0 * 4.0,
        batches_per_warp: 8.0,
        loads_per_batch: 1.0,
        served: Served { first_level: 0.0, device: 1.0 },
        passes: 0.0,
    };
    let configuration = Configuration { blocks: systems, blocks_per_sm: 1.0 };
    let loading = components.global.time(&load, &configuration).time_ms;
    let plain = loading + steps.iter().map(|(ours, shared)| ours.max(*shared)).sum::<f64>();
    let padded = loading + steps.iter().map(|(instructions, _)| instructions).sum::<f64>();
    // "A padding technique improves the performance by 1.6 x", simulated "within a 7 % error".
    assert_near(plain / padded, 1.6, 0.07 * 1.6);
    // Bound by instructions in step 1, and by shared memory from step 3 on; in step 2 the two are
    // level.
    assert!(steps[0].0 > steps[0].1);
    assert_near(steps[1].0 / steps[1].1, 1.0, 0.1);
    assert!(steps[2..].iter().all(|(instructions, shared)| shared > instructions));
    // "6 GFLOPS and a bandwidth of 7 GB/s" for 4 MiB are 0.6 ms, of which barriers, which the model
    // leaves out, are a part.
    assert_near(plain / 0.6, 1.0, 0.15);
}

/// Little's law by hand, on a V100: one block of one warp waits for each of 100 batches of loads,
/// for as long as the memories take that answer.
#[test]
fn a_lonely_warp_waits_for_each_batch() {
    let gpu = gpu("tesla-v100-sxm2");
    let clocks = |field: &Option<
        gpucast_model::gpu::Sourced<gpucast_model::gpu::quantity::Clocks>,
    >| { field.as_ref().unwrap().value.0 as f64 };
    let [l1, l2, device] =
        [clocks(&gpu.l1_latency), clocks(&gpu.l2_latency), clocks(&gpu.memory_latency)];
    let clock = gpu.sp_clock.as_ref().unwrap().value.0;
    let global = components("tesla-v100-sxm2").global;
    let configuration = Configuration { blocks: 1.0, blocks_per_sm: 1.0 };
    for (served, latency) in [
        (Served { first_level: 0.0, device: 1.0 }, device),
        (Served { first_level: 0.5, device: 0.125 }, 0.5 * l1 + 0.375 * l2 + 0.125 * device),
        (Served { first_level: 1.0, device: 0.0 }, l1),
    ] {
        let traffic = Traffic {
            bytes: 12_800.0,
            batches_per_warp: 100.0,
            loads_per_batch: 1.0,
            served,
            passes: 100.0,
        };
        // The first latency passes before anything arrives.
        let expected = 101.0 * latency / (clock * 1e3);
        assert_near(global.time(&traffic, &configuration).time_ms, expected, 1e-12);
    }
}

/// Of two loads, each answered by the three memories with shares of 1/4, 1/4 and 1/2, the slower
/// one is answered by device memory in 7 of 16 cases, by the first-level cache in 4 and by the L2
/// in the other 5.
#[test]
fn a_warp_waits_for_the_slowest_load_of_a_batch() {
    let gpu = gpu("tesla-v100-sxm2");
    let [l1, l2, device] = [&gpu.l1_latency, &gpu.l2_latency, &gpu.memory_latency]
        .map(|field| field.as_ref().unwrap().value.0 as f64);
    let traffic = Traffic {
        bytes: 12_800.0,
        batches_per_warp: 100.0,
        loads_per_batch: 2.0,
        served: Served { first_level: 0.5, device: 0.25 },
        passes: 100.0,
    };
    let configuration = Configuration { blocks: 1.0, blocks_per_sm: 1.0 };
    let clock = gpu.sp_clock.as_ref().unwrap().value.0;
    let expected = 101.0 * (7.0 * device + 5.0 * l2 + 4.0 * l1) / 16.0 / (clock * 1e3);
    let time = components("tesla-v100-sxm2").global.time(&traffic, &configuration).time_ms;
    assert_near(time, expected, 1e-12);
}

/// A pass of each clock on 80 SMs of a V100, where the first-level cache shares the banks of shared
/// memory; 81 blocks leave one SM with two. A P100 has another cache.
#[test]
fn lanes_in_the_same_bank_of_a_first_level_cache_wait_for_each_other() {
    let served = Served { first_level: 1.0, device: 0.0 };
    let traffic =
        Traffic { bytes: 0.0, batches_per_warp: 1.0, loads_per_batch: 1.0, served, passes: 80e6 };
    let time = |name: &str, blocks: f64| {
        let configuration = Configuration { blocks, blocks_per_sm: 2.0 };
        components(name).global.time(&traffic, &configuration).time_ms
    };
    let clock = gpu("tesla-v100-sxm2").sp_clock.as_ref().unwrap().value.0;
    assert_near(time("tesla-v100-sxm2", 80.0) * clock * 1e3 / 1e6, 1.0, 1e-3);
    assert_near(time("tesla-v100-sxm2", 81.0) * clock * 1e3 / 1e6, 160.0 / 81.0, 1e-3);
    assert!(time("tesla-p100-sxm2", 80.0) < 1e-3);
}

/// On GPUs whose units work side by side the slowest resource decides: here by hand for a V100 SM
/// with 64 lanes for single precision, 64 for integers, 16 for special functions, four schedulers,
/// a latency of four clocks.
#[test]
fn units_side_by_side_do_not_add_up() {
    let pipeline = components("tesla-v100-sxm2").instructions;
    let clocks = |counts: &[(Operation, f64)], warps: f64| {
        let count = |operation| {
            counts.iter().find(|(one, _)| *one == operation).map_or(0.0, |(_, count)| *count)
        };
        let time = pipeline.time(&InstructionCounts::by(count), warps, 1.0);
        time.time_ms * 1e6 * 80.0 * 1.53
    };
    // 1000 instructions over half a warp a clock of either kind, side by side.
    let mixed = [(Operation::Fp32, 500.0), (Operation::IntegerAdd, 500.0)];
    assert_near(clocks(&mixed, 64.0), 250.0, 1e-6);
    assert_near(clocks(&[(Operation::Fp32, 1000.0)], 64.0), 500.0, 1e-6);
    assert_near(clocks(&[(Operation::Special, 100.0)], 64.0), 200.0, 1e-6);
    // Moves only have to be issued.
    assert_near(clocks(&[(Operation::Other, 1000.0)], 64.0), 250.0, 1e-6);
    // Two warps issue an instruction in four clocks each.
    assert_near(clocks(&mixed, 2.0), 2000.0, 1e-6);
}

#[test]
fn serialised_stages_add_up_their_bottlenecks_and_overlapped_ones_share_one() {
    let stage =
        |instructions_ms, shared_ms, global_ms| Times { instructions_ms, shared_ms, global_ms };
    let all = [stage(1.0, 2.0, 9.0), stage(6.0, 5.0, 0.0), stage(6.0, 5.0, 0.0)];
    let serialised = stages::sum(all, true);
    assert_eq!((serialised.time_ms, serialised.bottleneck), (21.0, Bound::Compute));
    let overlapped = stages::sum(all, false);
    assert_eq!((overlapped.time_ms, overlapped.bottleneck), (13.0, Bound::Compute));
    // Without instructions, shared memory is next: 9 of global memory, and 5 twice.
    let next = stages::sum(all.map(|stage| stage.without(Bound::Compute)), true);
    assert_eq!((next.time_ms, next.bottleneck), (19.0, Bound::Shared));
}

/// Matrix products keep the tensor cores busy for as long as their operations take, beside the
/// others.
#[test]
fn matrix_products_have_units_of_their_own() {
    let pipeline = components("h100-sxm").instructions;
    let counts = |products: f64, others: f64| {
        InstructionCounts::by(|operation| match operation {
            Operation::Tensor => products,
            Operation::IntegerAdd => others,
            _ => 0.0,
        })
    };
    // A product in 16 clocks of an SM: 1000 take 16,000 clocks, in which 10,000 additions of 16
    // lanes a clock and sub-partition, two warps a clock, find room.
    let slow = pipeline.multiplying_matrices(1.0 / 16.0);
    let clocks = |pipeline: &gpucast_model::component_throughput::InstructionPipeline, counts| {
        pipeline.time(&counts, 64.0, 1.0).saturated_ms * 1.98e6 * 132.0
    };
    assert_near(clocks(&slow, counts(1000.0, 0.0)), 16_000.0, 1e-6);
    assert_near(clocks(&slow, counts(1000.0, 10_000.0)), 16_000.0, 1e-6);
    assert_near(clocks(&slow, counts(1000.0, 40_000.0)), 20_000.0, 1e-6);
    // Without a rate they only have to be issued.
    assert_near(clocks(&pipeline, counts(1000.0, 0.0)), 250.0, 1e-6);
}

/// Conflicts in a first-level cache are no cause where the bytes take longer anyway.
#[test]
fn passes_and_bytes_work_at_the_same_time() {
    let global = components("tesla-v100-sxm2").global;
    let bytes_ms = global.streaming_ms(1e9, 0.0);
    assert_near(bytes_ms * global.peak_bandwidth() / 1e3, 1.0, 1e-9);
    assert_eq!(global.streaming_ms(1e9, 1e6), bytes_ms);
    assert!(global.streaming_ms(1e9, 1e9) > bytes_ms);
}
