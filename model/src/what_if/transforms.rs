//! The effect of each what-if on the counts.

use gpucast_counters::InstructionClass;
use gpucast_counters::metric;
use gpucast_counters::stages::{CLASSES, ClassCount, StageMemory};

use super::editor::Editor;

/// Threads of a warp.
const WARP_LANES: f64 = 32.0;
/// Bytes of a sector and of a transaction of DRAM, as profilers count them.
const SECTOR_BYTES: f64 = 32.0;

/// Every shared access takes the passes that it would take if no two lanes conflicted.
pub(super) fn no_bank_conflicts(counts: &mut Editor) {
    let mut passes = (0.0, 0.0);
    for (transactions, conflicts, requests, mean) in [
        (
            metric!("shared_load_transactions"),
            metric!("shared_ld_bank_conflict"),
            metric!("shared_load"),
            metric!("shared_load_transactions_per_request"),
        ),
        (
            metric!("shared_store_transactions"),
            metric!("shared_st_bank_conflict"),
            metric!("shared_store"),
            metric!("shared_store_transactions_per_request"),
        ),
    ] {
        let conflicting = counts.get(conflicts).unwrap_or(0.0);
        if let Some(before) = counts.get(transactions) {
            let after = (before - conflicting).max(0.0);
            passes = (passes.0 + before, passes.1 + after);
            counts.set(transactions, after);
            if let Some(requests) = counts.get(requests).filter(|&requests| requests > 0.0) {
                counts.follow(mean, after / requests);
            }
        }
        counts.set(conflicts, 0.0);
    }
    counts.follow(metric!("shared_conflict_degree"), 1.0);
    if passes.1 > 0.0 {
        counts.scale(metric!("shared_efficiency"), passes.0 / passes.1);
    }
    counts.stages(|stages| {
        for stage in &mut stages.stages {
            stage.shared.passes = stage.shared.conflict_free;
            stage.operands.passes = stage.operands.conflict_free;
        }
    });
}

/// Global loads and stores move the sectors that their bytes fill, and no level below moves more
/// than the one above asks for. Accesses that fetch less than their threads read, because threads
/// share bytes, stay as they are; so do atomics.
pub(super) fn perfect_coalescing(counts: &mut Editor) {
    for side in [Side::LOADS, Side::STORES] {
        let (Some(bytes), Some(sectors)) = (counts.get(side.bytes), counts.get(side.sectors))
        else {
            continue;
        };
        // A request moves a sector at least.
        let requests = counts.get(side.requests).unwrap_or(0.0);
        let perfect = (bytes / SECTOR_BYTES).ceil().max(requests).min(sectors);
        counts.set(side.sectors, perfect);
        counts.follow(side.sector_bytes, perfect * SECTOR_BYTES);
        if perfect > 0.0 {
            counts.follow(side.efficiency, 100.0 * bytes / (perfect * SECTOR_BYTES));
        }
        if requests > 0.0 {
            counts.follow(side.sectors_per_request, perfect / requests);
            // If a transaction is a sector, it stays one. Otherwise it is the widest there is, and
            // every request takes at least one.
            if let Some(transactions) = counts.get(side.transactions) {
                let fewest = if transactions == sectors {
                    perfect
                } else {
                    (bytes / WIDEST_TRANSACTION).ceil().max(requests).min(transactions)
                };
                counts.set(side.transactions, fewest);
                counts.follow(side.transactions_per_request, fewest / requests);
            }
        }
        if let Some(passes) = side.passes.and_then(|metric| counts.get(metric)) {
            let fewest = (bytes / WIDEST_TRANSACTION).ceil().max(requests).min(passes);
            side.passes.into_iter().for_each(|metric| counts.set(metric, fewest));
        }
        let local = counts.get(side.local).unwrap_or(0.0);
        for l2 in side.l2 {
            if let Some(before) = counts.get(l2) {
                counts.set(l2, before.min(perfect + local));
            }
        }
        if let (Some(l2), Some(dram)) = (counts.get(side.l2[0]), counts.get(side.dram)) {
            let update = counts.get(metric!("l2_atomic_transactions")).unwrap_or(0.0);
            counts.set(side.dram, dram.min(l2 + update));
        }
        if let Some(before) = counts.get(side.l2_bytes) {
            counts.follow(side.l2_bytes, before.min((perfect + local) * SECTOR_BYTES));
        }
    }
    let l2 = metric!["l2_read_transactions", "l2_write_transactions", "l2_atomic_transactions"];
    if let [Some(read), Some(write), Some(update)] = l2.map(|metric| counts.get(metric)) {
        counts.set(metric!("l2_transactions"), read + write + update);
    }
    dram_follows(counts);
    counts.stages(|stages| {
        for stage in &mut stages.stages {
            coalesce(&mut stage.global);
        }
    });
}

/// Bytes of the widest transaction: a line (CUDA C Programming Guide 4.2, appendix F).
const WIDEST_TRANSACTION: f64 = 128.0;

/// The metrics of one direction of global memory.
struct Side {
    bytes: &'static str,
    requests: &'static str,
    sectors: &'static str,
    sector_bytes: &'static str,
    sectors_per_request: &'static str,
    efficiency: &'static str,
    transactions: &'static str,
    transactions_per_request: &'static str,
    /// Passes over the banks of first-level caches, which write nothing.
    passes: Option<&'static str>,
    /// Sectors of local memory, which go the same way.
    local: &'static str,
    l2: [&'static str; 2],
    l2_bytes: &'static str,
    dram: &'static str,
}

impl Side {
    const LOADS: Self = Self {
        bytes: metric!("ptx_global_load_bytes"),
        requests: metric!("global_load_requests"),
        sectors: metric!("global_load_sectors"),
        sector_bytes: metric!("global_load_sector_bytes"),
        sectors_per_request: metric!("global_load_sectors_per_request"),
        efficiency: metric!("gld_efficiency"),
        transactions: metric!("gld_transactions"),
        transactions_per_request: metric!("gld_transactions_per_request"),
        passes: Some(metric!("global_load_passes")),
        local: metric!("local_load_transactions"),
        l2: metric!["l2_read_transactions", "l2_tex_read_transactions"],
        l2_bytes: metric!("l2_global_load_bytes"),
        dram: metric!("dram_read_transactions"),
    };
    const STORES: Self = Self {
        bytes: metric!("ptx_global_store_bytes"),
        requests: metric!("global_store_requests"),
        sectors: metric!("global_store_sectors"),
        sector_bytes: metric!("global_store_sector_bytes"),
        sectors_per_request: metric!("global_store_sectors_per_request"),
        efficiency: metric!("gst_efficiency"),
        transactions: metric!("gst_transactions"),
        transactions_per_request: metric!("gst_transactions_per_request"),
        passes: None,
        local: metric!("local_store_transactions"),
        l2: metric!["l2_write_transactions", "l2_tex_write_transactions"],
        l2_bytes: metric!("l2_local_global_store_bytes"),
        dram: metric!("dram_write_transactions"),
    };
}

/// As the metrics: sectors that the bytes fill, and transactions of a line.
fn coalesce(memory: &mut StageMemory) {
    memory.passes = memory.conflict_free;
    let sector_is_transaction = memory.transactions == memory.sectors;
    let filled = memory.requested_bytes.div_ceil(SECTOR_BYTES as u128);
    memory.sectors = memory.sectors.min(filled.max(memory.requests));
    memory.transactions = if sector_is_transaction {
        memory.sectors
    } else {
        let lines = memory.requested_bytes.div_ceil(WIDEST_TRANSACTION as u128);
        memory.transactions.min(lines.max(memory.requests))
    };
}

/// As many multiply-adds as there are pairs of an addition and a multiplication; each saves an
/// instruction. The operands of the pairs need not fit, so it is a bound.
pub(super) fn fma(counts: &mut Editor) {
    // Threads that a warp's instruction is executed by, in the mean.
    let executed = counts.get(metric!("inst_executed")).unwrap_or(0.0);
    let lanes = |threads: Option<f64>| threads.filter(|_| executed > 0.0).map(|it| it / executed);
    let active = lanes(counts.get(metric!("not_predicated_off_thread_inst_executed")));
    let issued = lanes(counts.get(metric!("thread_inst_executed")));
    let mut saved = 0.0;
    for (add, mul, multiply_add, instructions, class) in [
        (
            metric!("flop_count_sp_add"),
            metric!("flop_count_sp_mul"),
            metric!("flop_count_sp_fma"),
            metric!("inst_fp_32"),
            InstructionClass::Fp32,
        ),
        (
            metric!("flop_count_dp_add"),
            metric!("flop_count_dp_mul"),
            metric!("flop_count_dp_fma"),
            metric!("inst_fp_64"),
            InstructionClass::Fp64,
        ),
    ] {
        let [Some(adds), Some(muls), Some(fmas), Some(all)] =
            [add, mul, multiply_add, instructions].map(|metric| counts.get(metric))
        else {
            continue;
        };
        // Packed operations are two to an instruction: no more can be saved than there are.
        let pairs = adds.min(muls).min(all / 2.0).floor();
        counts.set(add, adds - pairs);
        counts.set(mul, muls - pairs);
        counts.set(multiply_add, fmas + pairs);
        counts.set(instructions, all - pairs);
        saved += pairs;
        if all > 0.0 {
            // Stages do not tell additions from multiplications: the kernel's share is taken.
            counts.stages(|stages| {
                for stage in &mut stages.stages {
                    let before = stage.class(class);
                    let part = |count: u128| (count as f64 * pairs / all) as u128;
                    let merged = part(before.warps);
                    let after = ClassCount {
                        warps: before.warps - merged,
                        threads: before.threads - part(before.threads),
                    };
                    stage.set_class(class, after);
                    stage.multiply_adds += merged;
                }
            });
        }
    }
    if saved == 0.0 {
        return;
    }
    let warps = (saved / active.unwrap_or(WARP_LANES)).floor().min(executed);
    counts.set(metric!("inst_executed"), executed - warps);
    for metric in metric!["inst_issued", "issue_slots", "inst_per_warp"] {
        counts.scale(metric, (executed - warps) / executed);
    }
    if let Some(threads) = counts.get(metric!("not_predicated_off_thread_inst_executed")) {
        counts.follow(metric!("not_predicated_off_thread_inst_executed"), threads - saved);
    }
    if let (Some(threads), Some(lanes)) = (counts.get(metric!("thread_inst_executed")), issued) {
        counts.follow(metric!("thread_inst_executed"), threads - warps * lanes);
    }
}

/// The instructions of all threads in as few warps as they fill: no lane waits while others work.
/// Lanes that are predicated off stay so, and memory is accessed as before.
pub(super) fn no_divergence(counts: &mut Editor) {
    let warps = counts.get(metric!("inst_executed")).filter(|&warps| warps > 0.0);
    let threads = counts.get(metric!("thread_inst_executed")).or_else(|| {
        Some(warps? * WARP_LANES * counts.get(metric!("warp_execution_efficiency"))? / 100.0)
    });
    if let (Some(warps), Some(threads)) = (warps, threads) {
        let full = (threads / WARP_LANES).ceil().min(warps);
        counts.set(metric!("inst_executed"), full);
        for metric in metric![
            "inst_issued",
            "issue_slots",
            "inst_per_warp",
            "ldst_executed",
            "ldst_issued",
            "cf_executed",
            "cf_issued"
        ] {
            counts.scale(metric, full / warps);
        }
        counts.scale(metric!("warp_nonpred_execution_efficiency"), warps / full);
        counts.set(metric!("warp_execution_efficiency"), 100.0);
    }
    if let Some(lanes) = counts.get(metric!("ptx_inst_issued_lanes")) {
        counts.follow(metric!("ptx_inst_executed"), (lanes / WARP_LANES).ceil());
    }
    counts.set(metric!("divergent_branch"), 0.0);
    counts.follow(metric!("branch_efficiency"), 100.0);
    counts.stages(|stages| {
        for stage in &mut stages.stages {
            let mut ratio = (0, 0);
            for class in CLASSES {
                let ClassCount { warps, threads } = stage.class(class);
                let full = threads.div_ceil(WARP_LANES as u128).min(warps);
                ratio = (ratio.0 + full, ratio.1 + warps);
                stage.set_class(class, ClassCount { warps: full, threads });
            }
            if ratio.1 > 0 {
                let multiply_adds = stage.multiply_adds as f64 * ratio.0 as f64 / ratio.1 as f64;
                stage.multiply_adds = multiply_adds as u128;
            }
        }
    });
}

/// Another occupancy than that of the launch.
pub(super) fn occupancy(counts: &mut Editor, fraction: f64) {
    let before = counts.conditions.occupancy.or(counts.get(metric!("achieved_occupancy")));
    if counts.conditions.occupancy != Some(fraction) {
        counts.conditions.occupancy = Some(fraction);
        counts.note("occupancy", before, fraction, "");
    }
    counts.follow(metric!("achieved_occupancy"), fraction);
}

/// Another hit rate of the loads at the L2; stores are written to device memory as before.
pub(super) fn l2_hits(counts: &mut Editor, fraction: f64) {
    if let Some(asked) = counts.get(metric!("l2_read_transactions")) {
        counts.set(metric!("dram_read_transactions"), ((1.0 - fraction) * asked).round());
        counts.follow(metric!("l2_tex_read_hit_rate"), 100.0 * fraction);
        dram_follows(counts);
    }
}

/// Another traffic of device memory, read and written in the same proportion as before.
pub(super) fn dram_bytes(counts: &mut Editor, bytes: f64) {
    let change = |counts: &mut Editor, metrics: [&str; 2], unit: f64| {
        if let [Some(read), Some(write)] = metrics.map(|metric| counts.get(metric)) {
            let total = read + write;
            let share = if total > 0.0 { read / total } else { 1.0 };
            counts.set(metrics[0], bytes * share / unit);
            counts.set(metrics[1], bytes * (1.0 - share) / unit);
        }
    };
    if counts.get(metric!("dram_read_transactions")).is_some() {
        change(counts, metric!["dram_read_transactions", "dram_write_transactions"], SECTOR_BYTES);
        dram_follows(counts);
    } else {
        change(counts, metric!["dram_read_bytes", "dram_write_bytes"], 1.0);
    }
}

/// The bytes that device memory moves for an invocation, if they are known.
pub(super) fn dram_bytes_of(counts: &Editor) -> Option<f64> {
    let sum = |read: &str, write: &str| Some(counts.get(read)? + counts.get(write)?);
    sum(metric!("dram_read_transactions"), metric!("dram_write_transactions"))
        .map(|transactions| transactions * SECTOR_BYTES)
        .or_else(|| sum(metric!("dram_read_bytes"), metric!("dram_write_bytes")))
}

/// Local memory causes no requests and no traffic. DRAM moves no more than the L2 asks it for.
pub(super) fn no_local_memory(counts: &mut Editor) {
    for (requests, sectors, l2, dram) in [
        (
            metric!("local_load_requests"),
            metric!("local_load_transactions"),
            metric!["l2_read_transactions", "l2_tex_read_transactions"],
            metric!("dram_read_transactions"),
        ),
        (
            metric!("local_store_requests"),
            metric!("local_store_transactions"),
            metric!["l2_write_transactions", "l2_tex_write_transactions"],
            metric!("dram_write_transactions"),
        ),
    ] {
        let Some(local) = counts.get(sectors).filter(|&local| local > 0.0) else { continue };
        counts.set(requests, 0.0);
        counts.set(sectors, 0.0);
        for metric in l2 {
            if let Some(before) = counts.get(metric) {
                counts.set(metric, (before - local).max(0.0));
            }
        }
        if let (Some(l2), Some(before)) = (counts.get(l2[0]), counts.get(dram)) {
            counts.set(dram, before.min(l2));
        }
    }
    let issued = metric!["inst_executed_local_loads", "inst_executed_local_stores"];
    let accesses: f64 = issued.iter().filter_map(|metric| counts.get(metric)).sum();
    for metric in issued {
        counts.set(metric, 0.0);
    }
    if let Some(executed) =
        counts.get(metric!("inst_executed")).filter(|&executed| executed > accesses)
    {
        counts.set(metric!("inst_executed"), executed - accesses);
        for metric in metric!["inst_issued", "issue_slots", "inst_per_warp"] {
            counts.scale(metric, (executed - accesses) / executed);
        }
    }
    dram_follows(counts);
}

/// Double-precision operations become single-precision ones; data keeps its width.
pub(super) fn single_precision(counts: &mut Editor) {
    for (double, single) in [
        (metric!("inst_fp_64"), metric!("inst_fp_32")),
        (metric!("flop_count_dp"), metric!("flop_count_sp")),
        (metric!("flop_count_dp_add"), metric!("flop_count_sp_add")),
        (metric!("flop_count_dp_mul"), metric!("flop_count_sp_mul")),
        (metric!("flop_count_dp_fma"), metric!("flop_count_sp_fma")),
    ] {
        if let [Some(moved), Some(before)] = [double, single].map(|metric| counts.get(metric)) {
            counts.set(single, before + moved);
            counts.set(double, 0.0);
        }
    }
    counts.stages(|stages| {
        for stage in &mut stages.stages {
            let (double, single) =
                (stage.class(InstructionClass::Fp64), stage.class(InstructionClass::Fp32));
            let both = ClassCount {
                warps: single.warps + double.warps,
                threads: single.threads + double.threads,
            };
            stage.set_class(InstructionClass::Fp32, both);
            stage.set_class(InstructionClass::Fp64, ClassCount { warps: 0, threads: 0 });
        }
    });
}

/// Metrics that are sums and multiples of DRAM transactions.
fn dram_follows(counts: &mut Editor) {
    let transactions = metric!["dram_read_transactions", "dram_write_transactions"];
    let [Some(read), Some(write)] = transactions.map(|metric| counts.get(metric)) else { return };
    counts.follow(metric!("dram_transactions"), read + write);
    counts.follow(metric!("dram_read_bytes"), read * SECTOR_BYTES);
    counts.follow(metric!("dram_write_bytes"), write * SECTOR_BYTES);
    counts.follow(metric!("dram_bytes"), (read + write) * SECTOR_BYTES);
}
