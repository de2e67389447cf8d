//! The counters of 210 configurations of a Coulomb sum on an RTX 2080 Ti, which KTT published,
//! against those that we count.
//!
//! KTT's kernel was compiled by the CUDA of its day, ours by NVRTC and `ptxas` 12.9. That the
//! machine code is nearly the same is seen from the counters alone. Where it is the same, counts of
//! instructions are compared to the digit. The tables of tolerances say where it is not, and why.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

mod space;

use std::collections::{BTreeMap, BTreeSet};

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::sources::{Counts, Source};
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_model::Gpu;

use space::{Committed, Configuration, GPU, Measured, SIDE, measured};

fn gpu() -> Gpu {
    gpu_argument::find(&gpu_argument::library().unwrap(), GPU).unwrap()
}

fn counted(kernel: &gpucast_forecast::Kernel, machine: MachineChoice) -> Source {
    let machine = MachineSettings { machine, ..MachineSettings::default() };
    let counts = Counts { machine, ..Counts::default() };
    kernel.count_with(&gpu(), &counts, &Committed).unwrap().remove(0)
}

fn metric(source: &Source, name: &str) -> f64 {
    source.profile.metrics[name].value.as_f64()
}

/// The measurements of each kernel. Its blocks are of several shapes.
fn by_kernel() -> Vec<Vec<Measured>> {
    let mut kernels: BTreeMap<String, Vec<Measured>> = BTreeMap::new();
    for one in measured() {
        kernels.entry(one.configuration.kernel()).or_default().push(one);
    }
    kernels.into_values().collect()
}

/// Rows of a plane that stand for all 256.
const ROWS: u32 = 8;

/// What a counter counts for each thread of the launch, or each warp.
#[derive(Clone, Copy, PartialEq)]
enum Per {
    Thread,
    Warp,
}

/// The difference that a kernel's machine code may make, ours less theirs.
#[derive(Clone, Copy)]
enum Allowed {
    /// None.
    Nothing,
    /// A share of the published count, either way: what else ran on the GPU.
    Share(f64),
    /// That of another compiler's code around the loop over points, see [`other_code`].
    OtherCode,
    /// The same. Besides, guards that `ptxas` made of a choice among registers are taken to be true
    /// for all threads: ours is an upper bound.
    Guards,
}

use Allowed::{Guards, Nothing, OtherCode, Share};

/// Counters as Nsight Compute names them, and ours.
const COUNTERS: [(&str, &str, Per, Allowed); 15] = [
    ("smsp__inst_executed.sum", "inst_executed", Per::Warp, OtherCode),
    ("smsp__sass_thread_inst_executed_op_fp16_pred_on.sum", "inst_fp_16", Per::Thread, Nothing),
    ("smsp__sass_thread_inst_executed_op_fp32_pred_on.sum", "inst_fp_32", Per::Thread, Nothing),
    ("smsp__sass_thread_inst_executed_op_fp64_pred_on.sum", "inst_fp_64", Per::Thread, Nothing),
    ("smsp__sass_thread_inst_executed_op_integer_pred_on.sum", "inst_integer", Per::Thread, Guards),
    ("smsp__sass_thread_inst_executed_op_misc_pred_on.sum", "inst_misc", Per::Thread, Guards),
    (
        "smsp__sass_thread_inst_executed_op_control_pred_on.sum",
        "inst_control",
        Per::Thread,
        Nothing,
    ),
    (
        "smsp__sass_thread_inst_executed_op_memory_pred_on.sum",
        "inst_compute_ld_st",
        Per::Thread,
        Nothing,
    ),
    (
        "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum",
        "inst_bit_convert",
        Per::Thread,
        Nothing,
    ),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "global_load_requests", Per::Warp, Nothing),
    (
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
        "local_load_transactions",
        Per::Warp,
        Nothing,
    ),
    (
        "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
        "local_store_transactions",
        Per::Warp,
        Nothing,
    ),
    (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "shared_load_transactions",
        Per::Warp,
        Nothing,
    ),
    (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        "shared_store_transactions",
        Per::Warp,
        Nothing,
    ),
    // 0.13 % more, whatever is written: 67,000 sectors of something else.
    ("lts__t_sectors_op_write.sum", "l2_write_transactions", Per::Warp, Share(0.002)),
];

/// Instructions of a thread by which the two compilers may differ. With the atoms in arrays there
/// are none. With records theirs moves some registers about, once for each point of the thread, in
/// front of and behind the loop over atoms; or twice where there is no loop over points.
fn other_code(configuration: &Configuration) -> f64 {
    match (configuration.layout.as_str(), configuration.unroll) {
        ("arrays", _) => 0.0,
        (_, 0) => {
            if configuration.points == 1 {
                2.0
            } else {
                0.0
            }
        }
        _ => f64::from(2 * configuration.points),
    }
}

#[test]
fn the_published_table_has_every_configuration_and_counter() {
    let all = measured();
    assert_eq!(all.len(), 210);
    let configurations: BTreeSet<_> = all.iter().map(|row| row.configuration.clone()).collect();
    assert_eq!(configurations.len(), 210);
    assert!(all.iter().all(|row| row.counters.len() == 33 && row.duration_us > 0.0));
    assert_eq!(by_kernel().len(), 42);
    assert!(by_kernel().iter().all(|blocks| blocks.len() == 5));
}

/// All warps of the launch do the same, so some of them stand for all.
#[test]
fn instructions_and_requests_are_those_of_the_profiler() {
    let mut wrong = Vec::new();
    let (mut exact, mut all, mut bounds) = (0, 0, 0);
    for blocks in by_kernel() {
        let first = &blocks[0].configuration;
        let ours = counted(&first.launch(first.points, ROWS), MachineChoice::Ptxas);
        let threads = metric(&ours, "threads_launched");
        // Registers decide how many warps an SM holds, in steps of eight.
        let registers = ours.conditions.launch.unwrap().registers.unwrap();
        assert!(registers.abs_diff(blocks[0].registers) <= 3, "{}", first.kernel());
        // A mean over the time in which an SM has warps cannot exceed what it holds.
        let active = blocks[0].counters["sm__warps_active.avg.pct_of_peak_sustained_active"];
        assert!(active <= metric(&ours, "theoretical_occupancy"), "{}", first.kernel());
        let in_local_memory = metric(&ours, "local_store_transactions") > 0.0;
        for (theirs, name, per, allowed) in COUNTERS {
            let lanes = if per == Per::Warp { 32.0 } else { 1.0 };
            let counted = metric(&ours, name) * lanes / threads;
            for one in &blocks {
                let published = one.counters[theirs] * lanes / one.configuration.threads();
                let difference = counted - published;
                let is_right = match allowed {
                    Nothing => difference == 0.0,
                    Share(share) => difference.abs() <= share * published,
                    OtherCode => difference.abs() <= other_code(first),
                    // Neither the compiler's own unrolling nor local memory needs guards.
                    Guards if first.unroll == 0 || in_local_memory => {
                        difference.abs() <= other_code(first)
                    }
                    Guards => {
                        bounds += 1;
                        difference >= -other_code(first)
                    }
                };
                all += 1;
                exact += u32::from(difference == 0.0);
                if !is_right {
                    let (kernel, block) = (first.kernel(), one.configuration.block);
                    wrong.push(format!("{kernel} {block:?}: {theirs} {published}, ours {counted}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {all} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    // What is compared to the digit stays so; the rest is named above.
    assert_eq!((all, exact, bounds), (3150, 2630, 210));
}

/// The rules know the PTX alone. What it says is exact but for three multiplications in front of
/// the loops. What `ptxas` adds is estimated. Arrays that it keeps in registers, and chooses among
/// by guards, are local memory to the rules, so these kernels are left out.
#[test]
fn rules_count_what_ptx_says() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for blocks in by_kernel() {
        let Measured { configuration, counters, .. } = &blocks[0];
        let ours = counted(&configuration.launch(configuration.points, ROWS), MachineChoice::Rules);
        let threads = metric(&ours, "threads_launched");
        let theirs = |name: &str| counters[name] / configuration.threads();
        let is_local = theirs("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum") > 0.0;
        let mut check = |name: &str, metric_name: &str, most: &dyn Fn(f64) -> f64| {
            let (published, counted) = (theirs(name), metric(&ours, metric_name) / threads);
            if (counted - published).abs() > most(published) {
                let kernel = configuration.kernel();
                wrong.push(format!("{kernel}: {name} {published}, ours {counted}"));
            }
        };
        let fp32 = "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum";
        check(fp32, "inst_fp_32", &|_| 3.0);
        let conversions = "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum";
        check(conversions, "inst_bit_convert", &|_| 0.0);
        let requests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
        check(requests, "global_load_requests", &|_| 0.0);
        if configuration.unroll == 0 || is_local {
            check("smsp__inst_executed.sum", "inst_executed", &|published| 0.11 * published);
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(compared, 21, "kernels whose instructions are compared");
}

/// Sectors that the L2 and DRAM deliver for the first `depth` planes, over those published.
fn reads(one: &Measured, depth: u32) -> [f64; 2] {
    let ours = counted(&one.configuration.launch(depth, SIDE), MachineChoice::Ptxas);
    [
        ("lts__t_sectors_op_read.sum", "l2_read_transactions"),
        ("dram__sectors_read.sum", "dram_read_transactions"),
    ]
    .map(|(theirs, name)| {
        let published = one.counters[theirs] * f64::from(depth) / f64::from(SIDE);
        metric(&ours, name) / published
    })
}

/// Every sector of the grid is read once and written once. The profiler counts up to 1.7 % more
/// reads of the L2, for instructions and constants. We count up to 4 % more: any line of the L1 may
/// give way, those of the atoms, too.
#[test]
fn sectors_of_the_grid_are_read_once() {
    let of = |points, unroll, layout: &str| {
        let all = measured().into_iter().map(|row| (row.configuration.clone(), row));
        let mut meant = all.filter(|(one, _)| {
            (one.points, one.unroll, one.layout.as_str()) == (points, unroll, layout)
        });
        meant.next().unwrap().1
    };
    for (points, unroll, layout) in [(4, 0, "arrays"), (32, 0, "records")] {
        let [l2_reads, dram_reads] = reads(&of(points, unroll, layout), 32);
        assert!((0.98..1.03).contains(&l2_reads), "{points} {layout}: {l2_reads}");
        assert!((0.99..1.01).contains(&dram_reads), "{points} {layout}: {dram_reads}");
    }
}
