//! The thesis's kernels at the thesis's sizes, executed: what must equal the published counters,
//! and what differs from them for the reasons given in `docs/evidence/validation.md`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use gpucast_forecast::LaunchOptions;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_model::Needs;

use crate::common::{self, Metrics};

/// The metrics of a corpus kernel's only launch.
fn profile(kernel: &str) -> Metrics {
    let counts = common::counts(MachineChoice::Rules, Needs::METRICS);
    Metrics::of(kernel, common::counted(kernel, &LaunchOptions::default(), "gtx-480", &counts))
}

/// The same of PTX of NVRTC 9.0, which is nearest to the thesis's compiler, on Fermi. Kernels that
/// several tables have are counted once.
fn profile_of_its_time(kernel: &str) -> Arc<Metrics> {
    static COUNTED: Mutex<BTreeMap<String, Arc<OnceLock<Arc<Metrics>>>>> =
        Mutex::new(BTreeMap::new());
    let place = Arc::clone(COUNTED.lock().unwrap().entry(kernel.to_owned()).or_default());
    Arc::clone(place.get_or_init(|| Arc::new(count_of_its_time(kernel))))
}

fn count_of_its_time(kernel: &str) -> Metrics {
    let launch = LaunchOptions { arch: Some("sm_30".to_owned()), ..LaunchOptions::default() };
    let machine = MachineSettings {
        machine: MachineChoice::Rules,
        machine_target: Some("sm_20".parse().unwrap()),
        ..MachineSettings::default()
    };
    let counts = Counts { machine, ..Counts::default() };
    Metrics::of(kernel, common::counted(kernel, &launch, "gtx-480", &counts))
}

/// `value` must lie within `percent` of what the profiler measured.
#[track_caller]
fn check_near(metrics: &Metrics, name: &str, measured: u64, percent: f64) {
    let value = metrics.real(name);
    let deviation = (value / measured as f64 - 1.0) * 100.0;
    assert!(deviation.abs() <= percent, "{name}: {value} is {deviation:.1} % off {measured}");
}

#[test]
fn sgemm_counts_the_fmas_and_dram_writes_of_table_4_9() {
    let metrics = profile("sgemm");
    metrics.check(&[
        ("flop_count_sp_fma", 524_288_000),
        ("flop_count_dp_fma", 0),
        ("inst_fp_32", 524_288_000),
        ("inst_fp_64", 0),
        ("dram_write_transactions", 102_400),
        // Of machine code, as nvprof counted it; the PTX has 1361 a thread instead of 881,
        // since the assembler merges shared loads.
        ("inst_compute_ld_st", 721_715_200),
    ]);
    // 1805 a warp were measured; docs/evidence/machine-rules.md says what is missing in the
    // integers.
    check_near(&metrics, "inst_executed", 25_600 * 1805, 15.0);
    // See docs/evidence/dram-study.md for what the cache must do for this.
    check_near(&metrics, "dram_read_transactions", 1_218_190, 15.0);
}

/// PTX of NVRTC 9.0, of the thesis's year, which computes both addresses in every tile.
#[test]
fn sgemm_of_its_time_counts_the_instructions_of_table_4_9() {
    let metrics = profile_of_its_time("sgemm");
    metrics.check(&[
        ("flop_count_sp_fma", 524_288_000),
        ("inst_compute_ld_st", 721_715_200),
        ("dram_write_transactions", 102_400),
    ]);
    check_near(&metrics, "inst_executed", 46_208_000, 15.0);
    check_near(&metrics, "inst_integer", 164_659_200, 30.0);
    check_near(&metrics, "dram_read_transactions", 1_218_190, 15.0);
    // The default PTX has fewer, as later compilers and machines do; docs/evidence/validation.md
    // shows both.
    let newer = profile("sgemm").count("inst_integer");
    assert!(newer < metrics.count("inst_integer"));
    assert!((0.6..0.75).contains(&(newer as f64 / 164_659_200.0)));
}

#[test]
fn sgemm_in_small_tiles_moves_the_bytes_of_table_6_4() {
    // The traffic is that of six resident CTAs, which need 20 registers a thread. How many the
    // thesis's compiler took is not printed; the estimate, 21 or more, allows five.
    let machine = MachineSettings {
        machine: MachineChoice::Rules,
        registers: Some(20),
        ..MachineSettings::default()
    };
    let counts = Counts { machine, ..common::counts(MachineChoice::Rules, Needs::METRICS) };
    let launch = LaunchOptions::default();
    let metrics = Metrics::of("sgemm-16", common::counted("sgemm-16", &launch, "gtx-480", &counts));
    // W_traf = 61,806,400 bytes = 32 × (reads + writes), of which the writes are the results.
    metrics.check(&[("dram_write_transactions", 102_400)]);
    check_near(&metrics, "dram_read_transactions", 61_806_400 / 32 - 102_400, 15.0);
}

#[test]
fn sor_counts_the_fmas_load_stores_and_dram_traffic_of_table_4_4() {
    let metrics = profile("sor-red-black");
    let points = 4096 * 8192;
    metrics.check(&[
        ("flop_count_dp_fma", 33_554_432),
        ("flop_count_sp_fma", 0),
        ("inst_compute_ld_st", 303_079_424),
        // 3 additions, 2 multiplications, 1 FMA a point; the thesis has 218,107,904.
        ("inst_fp_64", 6 * points),
    ]);
    // The first of the four launches leaves four dirty sectors fewer than the last one.
    check_near(&metrics, "dram_write_transactions", 8_392_704, 0.000_1);
    check_near(&metrics, "dram_read_transactions", 17_660_604, 10.0);
}

#[test]
fn lmsor_counts_its_equations_and_the_dram_traffic_of_table_5_10() {
    let metrics = profile("lmsor");
    let points = 1920 * 3840;
    metrics.check(&[
        // Equations 5.9 to 5.11; the thesis measured 36,864,000 and 132,964,096.
        ("flop_count_dp_fma", 4 * points),
        ("inst_fp_64", 15 * points),
        ("flop_count_sp_fma", 0),
    ]);
    check_near(&metrics, "dram_read_transactions", 9_577_528, 10.0);
    check_near(&metrics, "dram_write_transactions", 1_854_478, 10.0);
}

/// A kernel's published count of one launch, from the corpus's metrics file.
fn published(kernel: &str, metric: &str) -> u64 {
    let text = gpucast_corpus::published::metrics(kernel).unwrap();
    let file: toml::Table = text.parse().unwrap();
    u64::try_from(file["metrics"][metric].as_integer().unwrap()).unwrap()
}

#[test]
fn rodinia_kernels_load_and_store_as_often_as_table_5_16_says() {
    for kernel in [
        "hotspot3d",
        "kmeans-invert-mapping",
        "kmeans-point",
        "cfd-time-step",
        "srad-1",
        "merge-sort-first",
        "nearest-neighbour",
        "leukocyte-dilate",
    ] {
        let expected = published(kernel, "inst_compute_ld_st");
        assert_eq!(profile_of_its_time(kernel).count("inst_compute_ld_st"), expected, "{kernel}");
    }
}

/// docs/evidence/validation.md says which one of the eight differs, and why.
#[test]
fn rodinia_kernels_make_the_operations_of_table_5_16() {
    for kernel in [
        "hotspot3d",
        "kmeans-point",
        "cfd-time-step",
        "srad-1",
        "merge-sort-first",
        "nearest-neighbour",
        "leukocyte-dilate",
    ] {
        let metrics = profile_of_its_time(kernel);
        let operations =
            |counted: &dyn Fn(&str) -> u64| counted("inst_fp_32") + counted("flop_count_sp_fma");
        let ours = operations(&|metric| metrics.count(metric));
        assert_eq!(ours, operations(&|metric| published(kernel, metric)), "{kernel}");
    }
}

#[test]
fn rodinia_kernels_that_stream_move_the_bytes_of_table_5_16() {
    for kernel in
        ["hotspot3d", "kmeans-invert-mapping", "cfd-time-step", "srad-1", "merge-sort-first"]
    {
        let metrics = profile_of_its_time(kernel);
        let sum = |counted: &dyn Fn(&str) -> f64| {
            counted("dram_read_transactions") + counted("dram_write_transactions")
        };
        // Means over invocations need not be whole.
        let ours = sum(&|metric| metrics.real(metric));
        let measured = sum(&|metric| published(kernel, metric) as f64);
        assert!((ours / measured - 1.0).abs() < 0.05, "{kernel}: {ours} instead of {measured}");
    }
}
