//! Ceilings and mixes of Yang & Williams 2019.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use gpucast_counters::import::metrics_toml;
use gpucast_counters::tensor::TensorFormat;
use gpucast_model::hierarchical_roofline::{
    Analysis, Basis, L1Limit, Level, Limit, Mix, Precision, attainable_share,
};
use gpucast_model::{
    Bound, Conditions, Gpu, GpuLibrary, HierarchicalRoofline, LaunchShape, Model, ModelError,
    Timing, Warning,
};

fn v100() -> Gpu {
    GpuLibrary::builtin().unwrap().as_written("tesla-v100-sxm2").unwrap().completed()
}

/// The kernel of the slides' nvprof example, with its counts; multiply-adds are not printed there,
/// and taken to be none.
const SMOOTH: &str = "
kernel = \"smooth_kernel\"
invocations = 1
[metrics]
flop_count_dp_add = 20277632
flop_count_dp_mul = 10000000
flop_count_dp_fma = 0
gld_transactions = 4280320
gst_transactions = 73728
l2_read_transactions = 890596
l2_write_transactions = 85927
dram_read_transactions = 702911
dram_write_transactions = 151487
";

fn analysed(text: &str, gpu: &Gpu) -> Result<Analysis, ModelError> {
    Analysis::of(&metrics_toml(text).unwrap(), gpu, &Conditions::default())
}

#[track_caller]
fn assert_near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value}, not {expected} within {within}");
}

#[track_caller]
fn ceiling(analysis: &Analysis, limit: Limit, basis: Basis) -> f64 {
    let of = analysis
        .roofline
        .ceilings
        .iter()
        .find(|ceiling| (ceiling.limit, ceiling.basis) == (limit, basis));
    of.unwrap().value
}

#[test]
fn a_v100_has_the_ceilings_of_the_slides() {
    let analysis = analysed(SMOOTH, &v100()).unwrap();
    let at = |limit, basis| ceiling(&analysis, limit, basis);
    use Basis::{Measured, Theoretical};
    let compute = |mix| Limit::Compute(Precision::Double, mix);
    // 80 SMs × 32 FP64 cores × 1.53 GHz × 2, and without the 2.
    assert_near(at(compute(Mix::Fma), Theoretical), 7833.6, 1e-6);
    assert_near(at(compute(Mix::NoFma), Theoretical), 3916.8, 1e-6);
    // data.txt: memroofs 14336.0 2996.8 828.758, comproofs 7068.86 3535.79.
    assert_near(at(compute(Mix::Fma), Measured), 7068.86, 0.01);
    assert_near(at(compute(Mix::NoFma), Measured), 3535.79, 2.0);
    assert_near(at(Limit::Bandwidth(Level::L2), Measured), 2996.8, 0.1);
    assert_near(at(Limit::Bandwidth(Level::Dram), Measured), 828.758, 1e-6);
    assert_near(at(Limit::Bandwidth(Level::Dram), Theoretical), 900.0, 0.0);
    // The first level's 14 TB/s were not measured; the slides compute them with 1.4 GHz.
    let l1 = analysis
        .roofline
        .ceilings
        .iter()
        .filter(|ceiling| ceiling.limit == Limit::Bandwidth(Level::L1));
    assert!(l1.clone().count() > 0 && l1.clone().all(|roof| roof.basis == Theoretical));
    assert_near(at(Limit::Bandwidth(Level::L1), Theoretical), 14_336.0, 1e-6);
}

#[test]
fn the_example_of_the_slides_has_their_intensities_by_hand() {
    let analysis = analysed(SMOOTH, &v100()).unwrap();
    let bytes: Vec<f64> = analysis.roofline.points.iter().map(|point| point.bytes).collect();
    assert_eq!(bytes, [32.0 * 4_354_048.0, 32.0 * 976_523.0, 32.0 * 854_398.0]);
    let intensities = [0.2173, 0.9689, 1.1074];
    for (point, expected) in analysis.roofline.points.iter().zip(intensities) {
        assert_near(point.intensity, expected, 5e-5);
    }
    // 27.34 MB at 828.758 GB/s take longest: 33.0 µs; arithmetic half the peak: 8.6 µs.
    let (bound, time_ms) = analysis.bottleneck;
    assert_eq!(bound, Bound::Memory);
    assert_near(time_ms, 0.03299, 1e-5);
    assert_near(analysis.times[0].1, 30_277_632.0 / 3534.43e6, 1e-6);
    for point in &analysis.roofline.points {
        assert_near(point.gflops, 30_277_632.0 / 0.03299 / 1e6, 0.1);
    }
}

#[test]
fn sixty_percent_of_multiply_adds_reach_eighty_percent_of_the_peak() {
    assert_eq!(attainable_share(0.6), 0.8);
    assert_eq!((attainable_share(0.0), attainable_share(1.0)), (0.5, 1.0));
    // 60 multiply-adds of 100 instructions: 160 operations in the time of 100 instructions.
    let text = SMOOTH
        .replace("dp_add = 20277632", "dp_add = 20000000000")
        .replace("dp_mul = 10000000", "dp_mul = 20000000000")
        .replace("dp_fma = 0", "dp_fma = 60000000000");
    let analysis = analysed(&text, &v100()).unwrap();
    let (bound, time_ms) = analysis.bottleneck;
    assert_eq!(bound, Bound::Compute);
    assert_near(time_ms, 1e11 / (7068.86 / 2.0) / 1e6, 1e-9);
    let partial = Limit::Compute(Precision::Double, Mix::PartialFma(0.6));
    assert_near(ceiling(&analysis, partial, Basis::Theoretical), 0.8 * 7833.6, 1e-6);
    assert_near(analysis.roofline.points[0].gflops, 0.8 * 7068.86, 1e-6);
}

#[test]
fn what_is_missing_is_named() {
    let predict = |text: &str, gpu: &Gpu| {
        HierarchicalRoofline.predict(&metrics_toml(text).unwrap(), gpu, &Conditions::default())
    };
    // Multiply-adds without additions would be a guess of α.
    let guess = SMOOTH.replace("flop_count_dp_add = 20277632\n", "").replace("fma = 0", "fma = 7");
    let error = predict(&guess, &v100()).unwrap_err();
    let kernel = "smooth_kernel".to_owned();
    assert_eq!(error, ModelError::MissingMetrics { kernel, metrics: vec!["flop_count_dp_add"] });
    // A level without counts is left out, and said.
    let no_l2 = SMOOTH.replace("l2_read_transactions = 890596\n", "");
    let warnings = predict(&no_l2, &v100()).unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.to_string().contains("no bytes of the L2")));
    // A level without a ceiling is an error, since its bytes would be free.
    let mut gpu = v100();
    gpu.l2_bandwidth = None;
    let error = predict(SMOOTH, &gpu).unwrap_err();
    let expected =
        ModelError::MissingParameter { gpu: gpu.name.clone(), parameter: "l2_bandwidth" };
    assert_eq!(error, expected);
}

/// 989.4 TFLOPS of halves on an H100: 9.894·10¹² operations take 10 ms, on `tf32` 20 ms, and both
/// on the same tensor cores 30 ms.
#[test]
fn tensor_cores_take_one_format_at_a_time_beside_the_other_pipelines() {
    let gpu = GpuLibrary::builtin().unwrap().as_written("h100-sxm").unwrap().completed();
    let with = |more: &str| {
        let text = format!("{SMOOTH}tensor_op_count = 20000000000000\n{more}");
        analysed(&text, &gpu).unwrap()
    };
    let halves = "tensor_op_count_fp16 = 9894000000000\n";
    let tf32 = "tensor_op_count_tf32 = 9894000000000\n";
    assert_near(with(halves).times[0].1, 10.0, 1e-9);
    assert_near(with(&halves.replace("fp16", "bf16")).times[0].1, 10.0, 1e-9);
    assert_near(with(tf32).times[0].1, 20.0, 1e-9);
    let both = with(&format!("{halves}{tf32}"));
    assert_eq!(both.bottleneck.0, Bound::Compute);
    assert_near(both.bottleneck.1, 30.0, 1e-9);
    let limit = |format| {
        both.roofline.ceilings.iter().find(|ceiling| ceiling.limit == Limit::Tensor(format))
    };
    assert_near(limit(TensorFormat::Fp16).unwrap().value, 989_400.0, 1e-6);
    assert_near(limit(TensorFormat::Tf32).unwrap().value, 494_700.0, 1e-6);
    assert!(limit(TensorFormat::Bf16).is_none());
    // Operations on other formats are left out and told.
    let text = format!("{SMOOTH}tensor_op_count = 10000000000000\n{halves}");
    let profile = metrics_toml(&text).unwrap();
    let prediction = HierarchicalRoofline.predict(&profile, &gpu, &Conditions::default()).unwrap();
    assert!(prediction.warnings.contains(&Warning::OtherTensorFormats { operations: 1.06e11 }));
    // Without tensor cores there is no prediction.
    let without = HierarchicalRoofline.predict(&profile, &p100(), &Conditions::default());
    let error = without.unwrap_err();
    assert!(error.to_string().contains("tensor_throughput"), "{error}");
}

/// A GPU without tensor cores.
fn p100() -> Gpu {
    GpuLibrary::builtin().unwrap().as_written("tesla-p100-sxm2").unwrap().completed()
}

/// A pass over the banks takes as long as the load/store units of an SM need for a warp, whatever
/// its cache of the first level delivers in a clock: two clocks on Fermi and Turing, which have 16
/// of them, else one.
#[test]
fn passes_of_shared_memory_take_the_clocks_of_the_banks() {
    let passes = SMOOTH
        .replace("gld_transactions = 4280320", "shared_load_transactions = 1000000000")
        .replace("gst_transactions = 73728", "shared_store_transactions = 0")
        + "gld_transactions = 0\ngst_transactions = 0\n";
    let library = GpuLibrary::builtin().unwrap();
    let clocks = [
        ("gtx-480", 2.0),
        ("tesla-k40c", 1.0),
        ("gtx-1070", 1.0),
        ("tesla-t4", 2.0),
        ("rtx-a6000", 1.0),
        ("a100-sxm-80gb", 1.0),
    ];
    for (name, expected) in clocks {
        let gpu = library.as_written(name).unwrap().completed();
        let analysis = analysed(&passes, &gpu).unwrap();
        let (_, milliseconds) =
            *analysis.times.iter().find(|(bound, _)| *bound == Bound::L1).unwrap();
        let sms = gpu.sm_count.as_ref().unwrap().value.0 as f64;
        let megahertz = gpu.sp_clock.as_ref().unwrap().value.0;
        // Measured caches reach 0.98 to 1.00 of their rate.
        assert_near(milliseconds * megahertz * 1e3 * sms / 1e9 / expected, 1.0, 0.02);
    }
}

/// Texels count at the first level, and sectors are 32 bytes.
#[test]
fn sectors_of_textures_and_surfaces_are_bytes_of_the_first_level() {
    let gpu = GpuLibrary::builtin().unwrap().as_written("titan-v").unwrap().completed();
    let bytes = |further: &str| {
        let analysis = analysed(&format!("{SMOOTH}{further}"), &gpu).unwrap();
        let points = analysis.roofline.points;
        points.iter().find(|point| point.level == Level::L1).unwrap().bytes
    };
    let texels = "texture_sectors = 1000\nsurface_load_sectors = 200\n\
                  surface_store_sectors = 30\nsurface_reduction_sectors = 4\n";
    assert_near(bytes(texels) - bytes(""), 32.0 * 1234.0, 1e-6);
}

#[test]
fn ecc_bits_beside_the_data_are_warned_of() {
    let library = GpuLibrary::builtin().unwrap();
    for (name, warns) in [("tesla-k40c", true), ("gtx-780-ti", false), ("tesla-v100-sxm2", false)] {
        let gpu = library.as_written(name).unwrap().completed();
        let profile = metrics_toml(SMOOTH).unwrap();
        let predicted = HierarchicalRoofline.predict(&profile, &gpu, &Conditions::default());
        let warnings = predicted.unwrap().warnings;
        assert_eq!(warnings.contains(&Warning::InlineEcc), warns, "{name}");
    }
}

/// 10⁹ passes of loads are 10⁹ clocks of an SM where the cache shares the banks of shared memory,
/// twice as many on Turing; the bytes stay what they are.
#[test]
fn lanes_in_the_same_bank_of_the_l1_take_longer_than_their_bytes() {
    let scattered = SMOOTH.to_owned() + "global_load_passes = 1000000000\n";
    let library = GpuLibrary::builtin().unwrap();
    let l1 = |text: &str, name: &str| {
        let gpu = library.as_written(name).unwrap().completed();
        let analysis = analysed(text, &gpu).unwrap();
        let time = analysis.times.iter().find(|(bound, _)| *bound == Bound::L1).unwrap().1;
        let sms = gpu.sm_count.as_ref().unwrap().value.0 as f64;
        let clocks = time * gpu.sp_clock.as_ref().unwrap().value.0 * 1e3 * sms;
        (clocks, analysis.work.bytes, matches!(analysis.l1_limit, L1Limit::Passes(_)))
    };
    for (name, clocks) in [("tesla-v100-sxm2", 1e9), ("rtx-a6000", 1e9), ("tesla-t4", 2e9)] {
        let (took, bytes, by_passes) = l1(&scattered, name);
        assert_near(took / clocks, 1.0, 1e-9);
        assert!(by_passes);
        assert_eq!(bytes, l1(SMOOTH, name).1);
    }
    assert_eq!(l1(&scattered, "tesla-p100-sxm2"), l1(SMOOTH, "tesla-p100-sxm2"));
    // A pass for each line costs no more than the bytes.
    let usual = SMOOTH.to_owned() + "global_load_passes = 1070080\n";
    assert_eq!(l1(&usual, "tesla-v100-sxm2"), l1(SMOOTH, "tesla-v100-sxm2"));
}

/// RRZE's `gpu-strides` on an A40, all data in the L1: 2.00 clocks a warp's load of four bytes,
/// whether its lanes read one word or 32 neighbours. A uniform load of 16 bytes takes 8 clocks on
/// Turing (8.2 measured).
#[test]
fn loads_take_the_clocks_that_microbenchmarks_measured() {
    let clocks = |gpu: &str, sectors: u64, lane_bytes: u64| {
        let gpu = GpuLibrary::builtin().unwrap().as_written(gpu).unwrap().completed();
        let loads = 1_000_000_000_u64;
        let text = SMOOTH
            .replace(
                "gld_transactions = 4280320",
                &format!("gld_transactions = {}", sectors * loads),
            )
            .replace("gst_transactions = 73728", "gst_transactions = 0")
            + &format!(
                "inst_executed_global_loads = {loads}\nglobal_load_passes = {loads}\n\
                 ptx_global_load_bytes = {}\n",
                lane_bytes * loads
            );
        let analysis = analysed(&text, &gpu).unwrap();
        let time = analysis.times.iter().find(|(bound, _)| *bound == Bound::L1).unwrap().1;
        let sms = gpu.sm_count.as_ref().unwrap().value.0 as f64;
        let clock_mhz = gpu.sp_clock.as_ref().unwrap().value.0;
        (time * clock_mhz * 1e3 * sms / loads as f64, analysis.l1_limit)
    };
    for sectors in [1, 4] {
        assert_near(clocks("rtx-a6000", sectors, 128).0, 2.0, 0.05);
    }
    let (uniform, limit) = clocks("tesla-t4", 1, 512);
    assert_near(uniform, 8.2, 0.25);
    assert_eq!(limit, L1Limit::Return);
    // A100: one clock for 128 bytes of lanes.
    assert_near(clocks("a100-sxm-80gb", 1, 128).0, 1.0, 0.02);
}

/// Sixteen blocks on the 80 SMs of a V100 compute and load on sixteen SMs; L2 and device memory are
/// shared.
#[test]
fn work_inside_sms_is_done_by_those_that_have_a_block() {
    let profile = metrics_toml(SMOOTH).unwrap();
    let launched = |blocks| {
        let launch = LaunchShape { blocks, threads_per_block: 256, ..LaunchShape::default() };
        let conditions = Conditions { launch: Some(launch), ..Conditions::default() };
        Analysis::of(&profile, &v100(), &conditions).unwrap().times
    };
    let time = |times: &[(Bound, f64)], bound| times.iter().find(|time| time.0 == bound).unwrap().1;
    let (few, many) = (launched(16), launched(8000));
    for bound in [Bound::Compute, Bound::L1] {
        assert_near(time(&few, bound) / time(&many, bound), 5.0, 1e-9);
    }
    for bound in [Bound::L2, Bound::Memory] {
        assert_eq!(time(&few, bound), time(&many, bound));
    }
}

/// 81 blocks on the 80 SMs of a V100 take as long as 160, if the time is one that is measured.
#[test]
fn the_last_wave_counts_in_full_where_a_way_of_measuring_is_given() {
    let profile = metrics_toml(SMOOTH).unwrap();
    let compute = |blocks, timing| {
        let launch = LaunchShape { blocks, threads_per_block: 256, ..LaunchShape::default() };
        let conditions = Conditions { launch: Some(launch), timing, ..Conditions::default() };
        let analysis = Analysis::of(&profile, &v100(), &conditions).unwrap();
        (analysis.times[0].1, analysis.has_tail)
    };
    let (papers, _) = compute(81, None);
    let (full, has_tail) = compute(160, Some(Timing::Events));
    assert_eq!((papers, has_tail), (full, false));
    let (measured, has_tail) = compute(81, Some(Timing::Events));
    assert_near(measured / full, 160.0 / 81.0, 1e-12);
    assert!(has_tail);
}

#[test]
fn a_way_of_measuring_adds_a_part_and_names_it() {
    let profile = metrics_toml(&SMOOTH.replace("invocations = 1", "invocations = 10")).unwrap();
    let predicted = |timing| {
        let conditions = Conditions { timing, ..Conditions::default() };
        HierarchicalRoofline.predict(&profile, &v100(), &conditions).unwrap()
    };
    let papers = predicted(None);
    let events = predicted(Some(Timing::Events));
    let ms = |field| v100().number(field).unwrap() / 1e3;
    // One pair of events around ten launches, which are longer than the host needs for each.
    let added_ms = ms("event_overhead") + 9.0 * ms("launch_gap");
    assert_near(events.time_ms - papers.time_ms, added_ms, 1e-12);
    assert_eq!(events.parts.len(), papers.parts.len() + 1);
    let sum: f64 = events.parts.iter().map(|part| part.time_ms).sum();
    assert_near(sum, events.time_ms, 1e-12);
    assert!(events.explanation.contains("Measured as events"), "{}", events.explanation);
    assert!(events.intermediate.get("timing").is_some());
    // The model has it now, so that nobody is warned of it.
    let is_short = |one: &&Warning| matches!(one, Warning::ShortLaunch { .. });
    assert!(papers.warnings.iter().find(is_short).is_some());
    assert!(events.warnings.iter().find(is_short).is_none());
    // Launches in a stream are longer than the host needs for each, so that the gaps alone add.
    let in_a_stream = predicted(Some(Timing::BackToBack)).time_ms;
    assert_near(in_a_stream - papers.time_ms, 10.0 * ms("launch_gap"), 1e-12);
}
