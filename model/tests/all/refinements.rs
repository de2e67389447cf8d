//! The refinements of the quantitative roofline on a kernel and a GPU whose numbers are round, so
//! that every cost can be worked out by hand.
//!
//! The GPU does 1000·10⁹ single-precision multiply-adds a second (T_SP = 2000), as many integer
//! additions, half as many loads and stores and a quarter as many integer multiply-adds
//! (T_int = 500, two operations each). In multiply-adds, W_other = 1, W_ldst = 2 and an integer
//! product 4. The kernel has 3.2·10⁹ instructions of threads (10⁸ of warps): a quarter each of
//! multiply-adds, loads and stores, and integers. Unrefined it costs 0.25·1 + 0.25·2 + 0.5·1 = 1.25
//! for each instruction: 3.2·10⁹ × 1.25 / 10¹² s = 4 ms.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_counters::{KernelProfile, Kind, MetricValue, Number};
use gpucast_model::quantitative_roofline::refinements::{RefinedRoofline, Refinement};
use gpucast_model::{
    Bound, Conditions, Gpu, Model, ModelError, Prediction, QuantitativeRoofline, Warning,
};

fn gpu(more: &str) -> Gpu {
    let field = |name: &str, value: &str, unit: &str| {
        let unit = if unit == "-" { String::new() } else { format!("unit = \"{unit}\", ") };
        format!("{name} = {{ value = {value}, {unit}source = {{ assumed = \"a test\" }} }}\n")
    };
    let mut text = "name = \"round\"\ndisplay_name = \"Round\"\n".to_owned();
    text += &field("sp_throughput", "2000", "GFLOPS");
    text += &field("dp_throughput", "1000", "GFLOPS");
    text += &field("int_throughput", "500", "GIOPS");
    text += &field("int_add_throughput", "1000", "GIOPS");
    text += &field("load_store_throughput", "500", "GOPS");
    text += &field("memory_bandwidth", "100", "GB/s");
    for line in more.split(';').filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap();
        text += &field(word(), word(), word());
    }
    Gpu::from_toml(&text).unwrap()
}

fn kernel(more: &[(&str, f64)]) -> KernelProfile {
    let base = [
        ("inst_fp_64", 0.0),
        ("inst_fp_32", 8e8),
        ("flop_count_sp_fma", 8e8),
        ("inst_integer", 8e8),
        ("inst_executed", 1e8),
        ("inst_compute_ld_st", 8e8),
        ("dram_read_transactions", 1e6),
        ("dram_write_transactions", 1e6),
    ];
    let figure = |&(name, value): &(&str, f64)| {
        let value = Number::Real(value);
        (name.to_owned(), MetricValue { value, unit: "instruction", kind: Kind::Measured })
    };
    KernelProfile {
        kernel: "k".into(),
        invocations: 1,
        measured_on: None,
        metrics: base.iter().chain(more).map(figure).collect(),
    }
}

fn refined(
    refinement: Refinement,
    gpu: &Gpu,
    profile: &KernelProfile,
) -> Result<Prediction, ModelError> {
    RefinedRoofline::new(&[refinement]).predict(profile, gpu, &Conditions::default())
}

#[track_caller]
fn time(refinement: Refinement, more_gpu: &str, more: &[(&str, f64)], milliseconds: f64) {
    let prediction = refined(refinement, &gpu(more_gpu), &kernel(more)).unwrap();
    let time_ms = prediction.time_ms;
    assert!((time_ms / milliseconds - 1.0).abs() < 1e-12, "{time_ms} ms, not {milliseconds}");
    assert!(prediction.explanation.contains(&format!("{}: ", refinement.name())));
}

#[test]
fn without_refinements_nothing_changes_but_the_name() {
    let (profile, gpu) = (kernel(&[]), gpu(""));
    let conditions = Conditions::default();
    let plain = QuantitativeRoofline.predict(&profile, &gpu, &conditions).unwrap();
    let mut unrefined = RefinedRoofline::default().predict(&profile, &gpu, &conditions).unwrap();
    assert!((plain.time_ms - 4.0).abs() < 1e-12);
    assert_eq!(unrefined.model, "refined-roofline");
    unrefined.model = plain.model;
    assert_eq!(unrefined, plain);
}

/// 2·10⁸ additions (1), 10⁸ products (4), 4·10⁸ shifts at a quarter of the additions' rate (4), 10⁸
/// of logic at their rate (1): 2 + 4 + 16 + 1 = 23·10⁸ multiply-adds in place of 8·10⁸. 15·10⁸ more
/// at 10¹² a second are 1.5 ms.
#[test]
fn integers_cost_what_their_kind_costs() {
    let kinds = [
        ("inst_integer_add", 2e8),
        ("inst_integer_mul", 1e8),
        ("inst_integer_shift", 4e8),
        ("inst_integer_logic", 1e8),
        ("inst_integer_compare", 0.0),
        ("inst_integer_other", 0.0),
    ];
    let rates = "int_add_rate 64 /clk/SM;shift_rate 16 /clk/SM;logic_rate 64 /clk/SM";
    time(Refinement::SeparateIntegers, rates, &kinds, 5.5);
    // No comparison, no need for its rate; but shifts need theirs.
    let error = refined(Refinement::SeparateIntegers, &gpu(""), &kernel(&kinds)).unwrap_err();
    assert_eq!(
        error,
        ModelError::MissingParameter { gpu: "round".into(), parameter: "int_add_rate" }
    );
}

/// Where integers are the purpose, each is charged 4; 8·10⁸ additions cost 1, so 24·10⁸ are saved:
/// 0.25·4 + 0.25·2 + 0.5·1 = 2, 6.4 ms, less 2.4.
#[test]
fn an_integer_kernel_of_additions_is_cheaper_than_one_of_products() {
    let mut profile = kernel(&[
        ("inst_fp_32", 0.0),
        ("inst_integer_add", 8e8),
        ("inst_integer_mul", 0.0),
        ("inst_integer_shift", 0.0),
        ("inst_integer_logic", 0.0),
        ("inst_integer_compare", 0.0),
        ("inst_integer_other", 0.0),
    ]);
    let prediction = refined(Refinement::SeparateIntegers, &gpu(""), &profile).unwrap();
    assert!((prediction.time_ms - 4.0).abs() < 1e-12, "{}", prediction.time_ms);
    assert!(!prediction.warnings.contains(&Warning::IntegerOperations));
    profile.metrics.remove("inst_integer_add");
    let plain = QuantitativeRoofline.predict(&profile, &gpu(""), &Conditions::default()).unwrap();
    assert!((plain.time_ms - 6.4).abs() < 1e-12, "{}", plain.time_ms);
    assert!(plain.warnings.contains(&Warning::IntegerOperations));
}

/// 10⁶ accesses of 16 bytes take 3 more passes on banks of 4 bytes and 1 more on banks of 8; 4·10⁶
/// of 8 bytes take 1 more, or none. 7·10⁶ passes are 32 × 7·10⁶ × 2 multiply-adds: 0.448 ms.
#[test]
fn wide_shared_accesses_take_a_pass_for_each_width_of_a_bank() {
    let wide = [("inst_executed_shared_64", 4e6), ("inst_executed_shared_128", 1e6)];
    time(Refinement::WideShared, "shared_bank_width 4 B", &wide, 4.448);
    time(Refinement::WideShared, "shared_bank_width 8 B", &wide, 4.064);
}

/// 10⁶ and 4·10⁶ more passes are 32 × 5·10⁶ × 2 multiply-adds: 0.32 ms.
#[test]
fn conflicting_passes_are_loads_and_stores() {
    let conflicts = [("shared_ld_bank_conflict", 1e6), ("shared_st_bank_conflict", 4e6)];
    time(Refinement::BankConflicts, "", &conflicts, 4.32);
    time(Refinement::BankConflicts, "", &conflicts.map(|(name, _)| (name, 0.0)), 4.0);
    let constants = [("constant_load_passes", 6e6), ("constant_load_requests", 1e6)];
    time(Refinement::ConstantSerialisation, "", &constants, 4.32);
}

/// 80 % of the lanes work: of the half that is `other`, 0.2 are idle lanes. What works costs 0.25 +
/// 0.5 + 0.3 = 1.05 in 0.8 of the slots, 1.3125 a slot; the 0.2 that idle cost as much instead of
/// 1: 0.0625 more, so 1.3125 in all and 4.2 ms. Equal to scaling every class by 1/0.8.
#[test]
fn idle_lanes_cost_what_the_others_do() {
    time(Refinement::Divergence, "", &[("not_predicated_off_thread_inst_executed", 2.56e9)], 4.2);
    time(Refinement::Divergence, "", &[("warp_nonpred_execution_efficiency", 80.0)], 4.2);
    // With every lane at work there is nothing to add.
    time(Refinement::Divergence, "", &[("warp_nonpred_execution_efficiency", 100.0)], 4.0);
}

#[test]
fn each_launch_takes_its_overhead_and_is_a_part_of_its_own() {
    let mut profile = kernel(&[]);
    profile.invocations = 3;
    let gpu = gpu("launch_overhead 2.5 us");
    let prediction = refined(Refinement::LaunchOverhead, &gpu, &profile).unwrap();
    assert!((prediction.time_ms - (3.0 * 4.0 + 3.0 * 0.0025)).abs() < 1e-12);
    let sum: f64 = prediction.parts.iter().map(|part| part.time_ms).sum();
    assert_eq!((prediction.time_ms, prediction.bound), (sum, Bound::Compute));
    assert_eq!(prediction.parts[1].bound, Bound::Overhead);
}

/// 32 bytes × 10⁸ at 400 GB/s are 8 ms in the L2, 32 × 2·10⁸ at 3200 GB/s 2 ms in the L1.
#[test]
fn caches_bound_a_kernel_that_device_memory_does_not() {
    let traffic = [
        ("l2_transactions", 1e8),
        ("global_load_sectors", 1.5e8),
        ("local_load_transactions", 0.5e8),
    ];
    let both = "l2_bandwidth 400 GB/s;l1_bandwidth 3200 GB/s";
    time(Refinement::CacheBandwidth, both, &traffic, 8.0);
    let l1 = "l2_bandwidth 4000 GB/s;l1_bandwidth 640 GB/s";
    let prediction = refined(Refinement::CacheBandwidth, &gpu(l1), &kernel(&traffic)).unwrap();
    assert_eq!(prediction.bound, Bound::L1);
    assert!((prediction.time_ms - 10.0).abs() < 1e-12);
    let times: Vec<f64> =
        prediction.parts[0].components.iter().map(|component| component.time_ms).collect();
    assert_eq!(times, [4.0, 0.64, 0.8, 10.0]);
    // 10 SMs at 1 GHz deliver 10⁷ passes in a millisecond, where the L1 shares the banks of shared
    // memory.
    let passes = [traffic.as_slice(), &[("global_load_passes", 1.2e8)]].concat();
    for (capability, milliseconds) in [("\"6.0\"", 10.0), ("\"7.0\"", 12.0)] {
        let text =
            format!("{l1};compute_capability {capability} -;sm_count 10 SM;sp_clock 1000 MHz");
        time(Refinement::CacheBandwidth, &text, &passes, milliseconds);
    }
    // A GPU whose L1 is not known says so.
    let prediction =
        refined(Refinement::CacheBandwidth, &gpu("l2_bandwidth 400 GB/s"), &kernel(&traffic));
    assert!(prediction.unwrap().explanation.contains("is not known and left out"));
}

/// 8 ms in the L2 instead of 4 ms are worth a warning, 4.8 ms are not; and none is left with the
/// refinement.
#[test]
fn what_is_left_out_is_warned_of_where_it_takes_much_longer() {
    let warnings = |refinements: &[Refinement], transactions: f64| {
        let traffic = [
            ("l2_transactions", transactions),
            ("global_load_sectors", 0.0),
            ("local_load_transactions", 0.0),
        ];
        let model = RefinedRoofline::new(refinements);
        let gpu = gpu("l2_bandwidth 400 GB/s");
        let prediction = model.predict(&kernel(&traffic), &gpu, &Conditions::default()).unwrap();
        let left_out = |warning: &&Warning| matches!(warning, Warning::LeftOut { .. });
        prediction.warnings.iter().filter(left_out).map(ToString::to_string).collect::<Vec<_>>()
    };
    let said = "the model leaves out the bandwidths of caches, with which the kernel would take 8.000 ms: \
                --refine cache-bandwidth";
    assert_eq!(warnings(&[], 1e8), [said]);
    assert_eq!(warnings(&[], 0.6e8), [""; 0]);
    assert_eq!(warnings(&[Refinement::CacheBandwidth], 1e8), [""; 0]);
}

#[test]
fn what_is_missing_is_named() {
    let missing = |refinement| refined(refinement, &gpu(""), &kernel(&[])).unwrap_err().to_string();
    let texts: Vec<String> = Refinement::ALL.into_iter().map(missing).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

/// Costs add up, whatever the order in which they are asked for.
#[test]
fn refinements_add_up_in_any_order() {
    let profile = kernel(&[
        ("shared_ld_bank_conflict", 1e6),
        ("shared_st_bank_conflict", 4e6),
        ("inst_executed_shared_64", 4e6),
        ("inst_executed_shared_128", 1e6),
    ]);
    let gpu = gpu("shared_bank_width 4 B;launch_overhead 1000 us");
    use Refinement::{BankConflicts, LaunchOverhead, WideShared};
    let orders =
        [[BankConflicts, WideShared, LaunchOverhead], [LaunchOverhead, WideShared, BankConflicts]];
    for order in orders {
        let model = RefinedRoofline::new(&order);
        let time_ms = model.predict(&profile, &gpu, &Conditions::default()).unwrap().time_ms;
        assert!((time_ms - 5.768).abs() < 1e-12, "{time_ms}");
    }
}
