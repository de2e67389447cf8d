//! Launches under Nsight Compute's names, against definitions of their own.

use std::collections::BTreeSet;

use gpucast_counters::definitions::TOPICS;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::options::Size;
use gpucast_forecast::nsight::{Figures, Profiled, Value, names, unit};
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, Counts, Launched};
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, Kernel, LaunchOptions};
use gpucast_model::{Gpu, Model, Needs, Prediction, SmSimulation};

/// A launch of a kernel of the corpus, on an H100.
struct Launch {
    gpu: Gpu,
    launched: Launched,
    prediction: Prediction,
}

impl Launch {
    fn of(kernel: &str) -> Self {
        let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), "h100-sxm").unwrap();
        let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
        let kernel = Kernel::open(kernel, &options).unwrap();
        let machine = MachineSettings { machine: MachineChoice::Rules, ..Default::default() };
        let counts = Counts { machine, needs: Needs::ORDER, ..Counts::default() };
        let loaded = module::load(kernel.plan()).unwrap();
        let mut all = sources::launched(kernel.plan(), &loaded, &gpu, &counts, &Alone).unwrap();
        let launched = all.swap_remove(0);
        let (profile, conditions) = (&launched.source.profile, &launched.source.conditions);
        let prediction = SmSimulation.predict(profile, &gpu, conditions).unwrap();
        Self { gpu, launched, prediction }
    }

    fn figures(&self) -> Figures<'_> {
        Figures::new(Profiled {
            counts: &self.launched.counted.profile,
            gpu: &self.gpu,
            prediction: Some(&self.prediction),
            dynamic_shared_bytes: 0,
            stack_bytes: 1024,
        })
    }
}

fn number(figures: &Figures<'_>, name: &str) -> f64 {
    let figure = figures.figure(name).unwrap_or_else(|| panic!("{name} has no value"));
    figure.value.as_f64().unwrap()
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1e-9), "{value}, not {expected}");
}

/// SMs of an H100, and schedulers of each.
const SMS: f64 = 132.0;
const SCHEDULERS: f64 = 4.0;

#[test]
fn roll_ups_follow_from_sums_instances_and_time() {
    let launch = Launch::of("transpose");
    let figures = launch.figures();
    let of = |name: &str| number(&figures, name);
    let instructions = of("smsp__inst_executed.sum");
    assert!(instructions > 0.0);
    near(of("sm__inst_executed.avg"), instructions / SMS);
    near(of("smsp__inst_executed.avg"), instructions / SMS / SCHEDULERS);
    let seconds = of("gpu__time_duration.sum") / 1e9;
    near(seconds, launch.prediction.time_ms / 1e3);
    near(of("dram__bytes.sum.per_second"), of("dram__bytes.sum") / seconds);
    let (active, elapsed) = (of("sm__cycles_active.avg"), of("gpc__cycles_elapsed.max"));
    assert!(active > 0.0 && active < elapsed, "{active} of {elapsed}");
    near(of("sm__inst_executed.avg.per_cycle_active"), instructions / SMS / active);
    near(of("sm__inst_executed.avg.per_cycle_elapsed"), instructions / SMS / elapsed);
    near(of("sm__cycles_elapsed.sum"), SMS * elapsed);
    // One instruction a scheduler and cycle is the peak.
    let busy = 100.0 * instructions / SMS / SCHEDULERS / active;
    near(of("smsp__inst_issued.avg.pct_of_peak_sustained_active"), busy);
    near(of("sm__inst_issued.avg.pct_of_peak_sustained_active"), busy);
    near(of("smsp__issue_active.avg.per_cycle_active"), busy / 100.0);
    near(of("smsp__issue_inst0.avg.pct_of_peak_sustained_active"), 100.0 - busy);
    // 3352 GB/s over 640 bytes, two transfers a cycle.
    near(of("dram__cycles_elapsed.avg.per_second"), 3352e9 / 640.0 / 2.0);
    let dram = 100.0 * of("dram__bytes.sum") / seconds / 3352e9;
    near(of("dram__bytes.sum.pct_of_peak_sustained_elapsed"), dram);
    near(of("dram__throughput.avg.pct_of_peak_sustained_elapsed"), dram);
    near(of("dram__cycles_active.avg") / of("dram__cycles_elapsed.avg"), dram / 100.0);
    // The least of all SMs is known of what all have alone.
    near(of("sm__cycles_elapsed.min"), elapsed);
    assert_eq!(figures.figure("sm__inst_executed.min"), None);
    assert_eq!(figures.figure("sm__inst_executed.avg.pct_of_nothing"), None);
    assert_eq!(figures.figure("no_such__metric.sum"), None);
}

/// Each cycle of a warp has one reason.
#[test]
fn stalls_add_up() {
    let launch = Launch::of("transpose");
    let figures = launch.figures();
    let of = |name: &str| number(&figures, name);
    let reasons = [
        "barrier",
        "gmma",
        "imc_miss",
        "lg_throttle",
        "long_scoreboard",
        "math_pipe_throttle",
        "membar",
        "mio_throttle",
        "no_instruction",
        "not_selected",
        "selected",
        "short_scoreboard",
        "wait",
    ];
    let share =
        |reason: &str| of(&format!("smsp__warp_issue_stalled_{reason}_per_warp_active.pct"));
    near(reasons.map(share).iter().sum(), 100.0);
    let ratio = |reason: &str| {
        of(&format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"))
    };
    near(reasons.map(ratio).iter().sum(), of("smsp__average_warp_latency_per_inst_issued.ratio"));
    near(ratio("selected"), 1.0);
    assert!(share("long_scoreboard") > share("membar"));
    // What the simulation does not tell apart has no value, rather than none of the time.
    let sleeping = "smsp__warp_issue_stalled_sleeping_per_warp_active.pct";
    assert_eq!(figures.figure(sleeping), None);
}

#[test]
fn occupancy_and_launches_are_those_of_the_limits() {
    let launch = Launch::of("transpose");
    let figures = launch.figures();
    let of = |name: &str| number(&figures, name);
    let counts = &launch.launched.counted.profile;
    let warps = f64::from(counts.block.iter().product::<u32>()) / 32.0;
    near(of("launch__occupancy_limit_warps"), (64.0 / warps).floor());
    near(of("launch__occupancy_limit_blocks"), 32.0);
    let limits = ["blocks", "registers", "shared_mem", "warps"];
    let least = limits.map(|limit| of(&format!("launch__occupancy_limit_{limit}")));
    let least = least.into_iter().fold(f64::INFINITY, f64::min);
    near(of("sm__maximum_warps_avg_per_active_cycle"), least * warps);
    near(of("sm__maximum_warps_per_active_cycle_pct"), 100.0 * least * warps / 64.0);
    let achieved = of("sm__warps_active.avg.pct_of_peak_sustained_active");
    assert!(achieved > 0.0 && achieved <= of("sm__maximum_warps_per_active_cycle_pct"));
    near(of("smsp__warps_active.avg.per_cycle_active"), achieved / 100.0 * 64.0 / SCHEDULERS);
    // The driver keeps a kibibyte of each CTA, and shared memory is given out by 128 bytes.
    let own = of("launch__shared_mem_per_block_static");
    near(of("launch__shared_mem_per_block"), own + 1024.0);
    let allocated = ((own + 1024.0) / 128.0).ceil() * 128.0;
    near(of("launch__shared_mem_per_block_allocated"), allocated);
    near(of("launch__grid_dim_x"), counts.grid[0].into());
    let word = figures.figure("launch__func_cache_config").unwrap().value;
    assert_eq!(word, Value::Text("CachePreferNone".to_owned()));
}

#[test]
fn shares_of_peaks_are_none_beyond_the_whole() {
    for kernel in ["transpose", "sgemm", "reduction-f32"] {
        let launch = Launch::of(kernel);
        let figures = launch.figures();
        let of =
            |name: &str| number(&figures, &format!("{name}.avg.pct_of_peak_sustained_elapsed"));
        let memory = of("gpu__compute_memory_throughput");
        for part in ["gpu__dram_throughput", "lts__throughput", "l1tex__throughput"] {
            assert!((0.0..=100.0).contains(&of(part)) && of(part) <= memory, "{kernel}: {part}");
        }
        assert!(of("sm__instruction_throughput") <= of("sm__throughput"));
        let pipes = ["alu", "fma", "fp64", "lsu", "tensor"];
        for pipe in pipes.map(|pipe| format!("sm__inst_executed_pipe_{pipe}")) {
            assert!((0.0..=100.0).contains(&of(&pipe)), "{kernel}: {pipe} {}", of(&pipe));
        }
    }
}

/// The metrics that programs which write kernels ask for.
const ASKED_FOR: [&str; 29] = [
    "sm__cycles_active.avg",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__registers_per_thread",
    "sm__inst_executed.sum",
    "sm__inst_executed_pipe_fp32.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes.sum.per_second",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "launch__shared_mem_per_block_allocated",
    "l1tex__t_sector_hit_rate.pct",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "lts__t_sector_hit_rate.pct",
    "lts__throughput.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "smsp__warp_issue_stalled_memory_dependency_per_warp_active.pct",
    "smsp__warp_issue_stalled_short_scoreboard_per_warp_active.pct",
    "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct",
    "smsp__warp_issue_stalled_barrier_per_warp_active.pct",
    "smsp__warp_issue_stalled_branch_resolving_per_warp_active.pct",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
];

#[test]
fn what_programs_ask_for_is_there() {
    let launch = Launch::of("sgemm");
    let figures = launch.figures();
    let lacking: Vec<&str> =
        ASKED_FOR.into_iter().filter(|name| figures.figure(name).is_none()).collect();
    let not_told_apart = "smsp__warp_issue_stalled_branch_resolving_per_warp_active.pct";
    assert_eq!(lacking, [not_told_apart]);
}

/// A row without a rule would be a name that nothing can have.
#[test]
fn every_row_of_the_table_has_a_rule() {
    let launch = Launch::of("sgemm");
    let figures = launch.figures();
    let topic = TOPICS.iter().find(|topic| topic.title == "Profiled programs").unwrap();
    let is_lacking = |name: &&str| figures.figure(name).is_none();
    let rows = topic
        .definitions
        .iter()
        .flat_map(|definition| definition.nsight_names().map(|(name, _)| name));
    let lacking: BTreeSet<String> = rows
        .filter(is_lacking)
        .map(|name| name.replace("average_warps_issue", "warp_issue"))
        .collect();
    let reasons =
        ["branch_resolving", "dispatch_stall", "drain", "misc", "sleeping", "tex_throttle"];
    let is_reason = |name: &String| reasons.iter().any(|reason| name.contains(reason));
    let others: Vec<&String> = lacking.iter().filter(|name| !is_reason(name)).collect();
    assert_eq!(others, [""; 0]);
    // No name is a trap, whatever it is made of.
    for name in names() {
        let _ = (figures.figure(&name), unit(&name));
    }
}
