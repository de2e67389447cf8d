//! What-ifs against definitions that do not share their code: identities between metrics, and small
//! kernels worked out by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use gpucast_counters::features::{
    AccessDirection, AccessPattern, ElementType, Features, Footprint, MemoryAccess, MemorySpace,
    OperationCount, Stride, Strides,
};
use gpucast_counters::stages::{ClassCount, Stage, StageMemory, Stages};
use gpucast_counters::{InstructionClass, KernelProfile, Kind, MetricValue, Number};
use gpucast_model::what_if::{WhatIfError, apply};
use gpucast_model::{
    Conditions, Evidence, GpuLibrary, Model, Prediction, QuantitativeRoofline, WhatIf,
};

fn kernel(metrics: &[(&str, f64)]) -> KernelProfile {
    let figure = |&(name, value): &(&str, f64)| {
        let value = Number::Real(value);
        (name.to_owned(), MetricValue { value, unit: "one", kind: Kind::Exact })
    };
    KernelProfile {
        kernel: "k".into(),
        invocations: 1,
        measured_on: None,
        metrics: metrics.iter().map(figure).collect(),
    }
}

fn what_if(text: &str, profile: &KernelProfile) -> (KernelProfile, Vec<String>) {
    with_conditions(text, profile, &Conditions::default())
}

fn with_conditions(
    text: &str,
    profile: &KernelProfile,
    conditions: &Conditions,
) -> (KernelProfile, Vec<String>) {
    let what_ifs: Vec<WhatIf> = text.split(',').map(|part| part.parse().unwrap()).collect();
    let changed = apply(&what_ifs, profile, conditions);
    let line = |change: &gpucast_model::what_if::Change| {
        let before = change.before.map_or("-".to_owned(), |before| before.to_string());
        format!("{} {before} -> {}", change.quantity, change.after)
    };
    (changed.profile, changed.changes.iter().map(line).collect())
}

#[track_caller]
fn has(profile: &KernelProfile, expected: &[(&str, f64)]) {
    for &(name, value) in expected {
        let found = profile.metrics[name].value.as_f64();
        assert!((found - value).abs() <= 1e-9 * value.abs(), "{name} is {found}, not {value}");
    }
}

/// 10 requests that took 40 passes, 28 of them conflicts, and 5 that took 5: 17 are left. Banks
/// moved 45 rows for the bytes that 17 hold, so the efficiency rises by 45/17.
#[test]
fn without_conflicts_the_conflicting_passes_are_gone() {
    let profile = kernel(&[
        ("shared_load", 10.0),
        ("shared_load_transactions", 40.0),
        ("shared_ld_bank_conflict", 28.0),
        ("shared_load_transactions_per_request", 4.0),
        ("shared_store", 5.0),
        ("shared_store_transactions", 5.0),
        ("shared_st_bank_conflict", 0.0),
        ("shared_efficiency", 34.0),
        ("shared_conflict_degree", 45.0 / 17.0),
    ]);
    let (after, changes) = what_if("no-bank-conflicts", &profile);
    has(
        &after,
        &[
            ("shared_load_transactions", 12.0),
            ("shared_ld_bank_conflict", 0.0),
            ("shared_load_transactions_per_request", 1.2),
            ("shared_store_transactions", 5.0),
            ("shared_efficiency", 90.0),
            ("shared_conflict_degree", 1.0),
        ],
    );
    assert_eq!(changes, ["shared_load_transactions 40 -> 12", "shared_ld_bank_conflict 28 -> 0"]);
    // What is changed is no longer what was counted.
    assert_eq!(after.metrics["shared_load_transactions"].kind, Kind::Estimated);
    assert_eq!(after.metrics["shared_load"].kind, Kind::Exact);
    assert!(what_if("no-bank-conflicts", &after).1.is_empty());
}

/// Each of 100 warps loads 128 bytes from 32 sectors and stores 128 bytes to 4. 400 sectors are
/// enough for the loads, so the L2 and DRAM read no more than that; the stores are perfect as they
/// are.
#[test]
fn perfect_coalescing_moves_what_was_asked_for_and_no_level_more() {
    let profile = kernel(&[
        ("ptx_global_load_bytes", 12_800.0),
        ("global_load_requests", 100.0),
        ("global_load_sectors", 3200.0),
        ("global_load_sector_bytes", 102_400.0),
        ("gld_efficiency", 12.5),
        ("gld_transactions", 2000.0),
        ("ptx_global_store_bytes", 12_800.0),
        ("global_store_requests", 100.0),
        ("global_store_sectors", 400.0),
        ("gst_transactions", 100.0),
        ("gst_efficiency", 100.0),
        ("l2_read_transactions", 3000.0),
        ("l2_write_transactions", 400.0),
        ("l2_atomic_transactions", 0.0),
        ("l2_transactions", 3400.0),
        ("dram_read_transactions", 1000.0),
        ("dram_write_transactions", 300.0),
        ("dram_transactions", 1300.0),
        ("dram_read_bytes", 32_000.0),
    ]);
    let (after, _) = what_if("perfect-coalescing", &profile);
    has(
        &after,
        &[
            ("global_load_sectors", 400.0),
            ("global_load_sector_bytes", 12_800.0),
            ("gld_efficiency", 100.0),
            // Lines of 128 bytes: one a request.
            ("gld_transactions", 100.0),
            ("global_store_sectors", 400.0),
            ("gst_transactions", 100.0),
            ("l2_read_transactions", 400.0),
            ("l2_write_transactions", 400.0),
            ("l2_transactions", 800.0),
            ("dram_read_transactions", 400.0),
            ("dram_write_transactions", 300.0),
            ("dram_transactions", 700.0),
            ("dram_read_bytes", 12_800.0),
        ],
    );
    assert!(what_if("perfect-coalescing", &after).1.is_empty());
}

/// Operations stay, instructions fall: W_comp of eq. 4.1 is instructions + multiply-adds.
#[test]
fn contraction_keeps_the_operations_and_saves_an_instruction_a_pair() {
    let profile = kernel(&[
        ("flop_count_sp_add", 600.0),
        ("flop_count_sp_mul", 400.0),
        ("flop_count_sp_fma", 100.0),
        ("flop_count_sp", 1200.0),
        ("flop_count_dp_add", 0.0),
        ("flop_count_dp_mul", 50.0),
        ("flop_count_dp_fma", 0.0),
        ("inst_fp_32", 1100.0),
        ("inst_fp_64", 50.0),
        ("inst_executed", 100.0),
        // Half of the lanes work: a pair that is merged saves a sixteenth of a warp's instruction.
        ("not_predicated_off_thread_inst_executed", 1600.0),
        ("thread_inst_executed", 1600.0),
    ]);
    let (after, _) = what_if("fma", &profile);
    has(
        &after,
        &[
            ("flop_count_sp_add", 200.0),
            ("flop_count_sp_mul", 0.0),
            ("flop_count_sp_fma", 500.0),
            ("inst_fp_32", 700.0),
            ("inst_fp_64", 50.0),
            ("inst_executed", 75.0),
            ("not_predicated_off_thread_inst_executed", 1200.0),
            ("thread_inst_executed", 1200.0),
        ],
    );
    let value = |name: &str| after.metrics[name].value.as_f64();
    let operations =
        value("flop_count_sp_add") + value("flop_count_sp_mul") + 2.0 * value("flop_count_sp_fma");
    assert_eq!(operations, value("flop_count_sp"));
}

/// 1600 instructions of threads fill 50 warps.
#[test]
fn without_divergence_the_threads_fill_their_warps() {
    let profile = kernel(&[
        ("inst_executed", 100.0),
        ("thread_inst_executed", 1600.0),
        ("warp_execution_efficiency", 50.0),
        ("warp_nonpred_execution_efficiency", 40.0),
        ("divergent_branch", 7.0),
        ("branch_efficiency", 90.0),
    ]);
    let (after, changes) = what_if("no-divergence", &profile);
    has(
        &after,
        &[
            ("inst_executed", 50.0),
            ("thread_inst_executed", 1600.0),
            ("warp_execution_efficiency", 100.0),
            ("warp_nonpred_execution_efficiency", 80.0),
            ("branch_efficiency", 100.0),
        ],
    );
    assert_eq!(changes.len(), 3, "{changes:?}");
}

#[test]
fn the_l2_holds_the_share_that_it_is_said_to() {
    let profile = kernel(&[
        ("l2_read_transactions", 1000.0),
        ("dram_read_transactions", 900.0),
        ("dram_write_transactions", 100.0),
        ("dram_bytes", 32_000.0),
    ]);
    let (after, changes) = what_if("l2-hits=75%", &profile);
    has(&after, &[("dram_read_transactions", 250.0), ("dram_bytes", 350.0 * 32.0)]);
    assert_eq!(changes, ["dram_read_transactions 900 -> 250"]);
    let (after, _) = what_if("dram-bytes=64000", &profile);
    has(&after, &[("dram_read_transactions", 1800.0), ("dram_write_transactions", 200.0)]);
}

/// Stages follow the same rules, each on its own.
#[test]
fn stages_change_with_the_metrics() {
    let memory = StageMemory {
        requests: 10,
        requested_bytes: 1280,
        sectors: 320,
        transactions: 320,
        passes: 80,
        conflict_free: 10,
    };
    let mut stage = Stage::default();
    (stage.shared, stage.global, stage.multiply_adds) = (memory, memory, 8);
    stage.set_class(InstructionClass::Fp32, ClassCount { warps: 16, threads: 256 });
    let stages = Stages { stages: vec![stage], merged: 0 };
    let conditions =
        with_evidence(Evidence { stages: Some(Arc::new(stages)), ..Evidence::default() });
    let change = |text: &str| {
        let what_ifs = [text.parse::<WhatIf>().unwrap()];
        let changed = apply(&what_ifs, &kernel(&[]), &conditions);
        changed.conditions.evidence.stages.unwrap().stages[0].clone()
    };
    assert_eq!(change("no-bank-conflicts").shared.passes, 10);
    let global = change("perfect-coalescing").global;
    assert_eq!((global.sectors, global.transactions, global.requests), (40, 40, 10));
    assert_eq!((global.passes, global.conflict_free), (10, 10));
    let dense = change("no-divergence");
    assert_eq!(dense.class(InstructionClass::Fp32), ClassCount { warps: 8, threads: 256 });
    assert_eq!(dense.multiply_adds, 4);
    // The original is shared and stays as it was.
    assert_eq!(conditions.evidence.stages.unwrap().stages[0].shared.passes, 80);
}

#[test]
fn an_occupancy_is_a_condition() {
    let profile = kernel(&[("achieved_occupancy", 0.8)]);
    let (_, changes) = what_if("occupancy=0.5", &profile);
    assert_eq!(changes, ["occupancy 0.8 -> 0.5"]);
    let changed = apply(&[WhatIf::Occupancy(0.5)], &profile, &Conditions::default());
    assert_eq!(changed.conditions.occupancy, Some(0.5));
}

/// The quantitative roofline reads no bank conflict, but it reads DRAM traffic: half of it is half
/// the time of a kernel that memory bounds.
#[test]
fn a_model_sees_what_it_reads() {
    let profile = kernel(&[
        ("inst_fp_64", 0.0),
        ("inst_fp_32", 3.2e6),
        ("flop_count_sp_fma", 0.0),
        ("inst_executed", 1e6),
        ("inst_compute_ld_st", 3.2e6),
        ("dram_read_transactions", 1e9),
        ("dram_write_transactions", 0.0),
        ("shared_load_transactions", 64.0),
        ("shared_ld_bank_conflict", 32.0),
    ]);
    let gpu = GpuLibrary::builtin().unwrap().as_written("gtx-480").unwrap().clone();
    let predict = |text: &str| -> Prediction {
        let changed = apply(&[text.parse().unwrap()], &profile, &Conditions::default());
        QuantitativeRoofline.predict(&changed.profile, &gpu, &changed.conditions).unwrap()
    };
    let before = QuantitativeRoofline.predict(&profile, &gpu, &Conditions::default()).unwrap();
    assert_eq!(predict("no-bank-conflicts"), before);
    let half = predict("dram-bytes=16e9").time_ms;
    assert!((before.time_ms / half - 2.0).abs() < 1e-12);
}

/// An access of 320 threads in 20 warps, of which half the lanes work, with strides in elements.
fn access(
    space: MemorySpace,
    direction: AccessDirection,
    element: &str,
    strides: Option<[i64; 3]>,
) -> MemoryAccess {
    let element = ElementType::parse(element).unwrap();
    let bytes = |stride| Stride::Bytes(stride * i64::from(element.bytes()));
    let local = strides.map_or(Strides::Irregular, |strides| Strides::Affine(strides.map(bytes)));
    let global = Strides::Affine([Stride::Bytes(0); 3]);
    MemoryAccess {
        space,
        direction,
        buffer: None,
        element,
        pattern: AccessPattern { local, global, step_bytes: None },
        sub_groups: 20,
        work_items: 320,
        footprint: Some(Footprint { elements: 320.0, exact: true }),
        instructions: vec![],
        machine: None,
        ptx_lines: vec![],
        cuda_lines: vec![],
    }
}

fn with_features(accesses: Vec<MemoryAccess>, operations: Vec<OperationCount>) -> Conditions {
    let features = Features {
        kernel: "k".into(),
        grid: [1, 1, 1],
        block: [32, 1, 1],
        groups: 1,
        sub_groups: 1,
        work_items: 32,
        accesses,
        operations,
        barriers_per_work_item: 0.0,
        machine_instructions: None,
    };
    let features = Some(Arc::new(vec![(features, 1)]));
    with_evidence(Evidence { features, ..Evidence::default() })
}

fn with_evidence(evidence: Evidence) -> Conditions {
    Conditions { evidence, ..Conditions::default() }
}

fn features_after(text: &str, conditions: &Conditions) -> (Features, Vec<String>) {
    let what_ifs: Vec<WhatIf> = text.split(',').map(|part| part.parse().unwrap()).collect();
    let changed = apply(&what_ifs, &kernel(&[]), conditions);
    let changes = changed
        .changes
        .iter()
        .map(|change| format!("{} {:?} -> {}", change.quantity, change.before, change.after));
    (changed.conditions.evidence.features.unwrap()[0].0.clone(), changes.collect())
}

/// The strides that the cost model sees: 1 where a stride was crooked, the others as they were.
#[test]
fn strides_of_features_are_straightened() {
    use AccessDirection::{Load, Update};
    use MemorySpace::{Global, Local};
    let strides = |features: &Features| -> Vec<Option<f64>> {
        features.accesses.iter().map(|access| access.local_stride(0)).collect()
    };
    // Neighbours, backwards, the same for all; 2 apart, irregular; an atomic; shared memory.
    let conditions = with_features(
        vec![
            access(Global, Load, "float32", Some([1, 16, 0])),
            access(Global, Load, "float64", Some([-1, 0, 0])),
            access(Global, Load, "float32", Some([0, 16, 0])),
            access(Global, Load, "float64", Some([2, 16, 0])),
            access(Global, Load, "float32", None),
            access(Global, Update, "float32", Some([2, 0, 0])),
            access(Local, Load, "float32", Some([2, 0, 0])),
        ],
        vec![],
    );
    let (features, changes) = features_after("perfect-coalescing", &conditions);
    let one = Some(1.0);
    let expected = [one, Some(-1.0), Some(0.0), one, one, Some(2.0), Some(2.0)];
    assert_eq!(strides(&features), expected);
    assert_eq!(features.accesses[3].local_stride(1), Some(16.0));
    assert_eq!(changes, ["global accesses without neighbours Some(640.0) -> 0"]);

    // Banks are four bytes wide: odd strides of words meet no bank twice, and neither do neighbours
    // of eight bytes or less than a word.
    let of = |element, stride| access(Local, Load, element, Some([stride, 0, 0]));
    let conditions = with_features(
        vec![
            of("float32", 1),
            of("float32", 33),
            of("float32", 32),
            of("float32", 6),
            of("float64", 1),
            of("float64", 4),
            of("uint8", 4),
            of("uint8", 8),
            of("float32", 0),
            access(Global, Load, "float32", Some([32, 0, 0])),
        ],
        vec![],
    );
    let (features, _) = features_after("no-bank-conflicts", &conditions);
    let expected = [1.0, 33.0, 1.0, 1.0, 1.0, 1.0, 4.0, 1.0, 0.0, 32.0];
    assert_eq!(strides(&features), expected.map(Some));
}

/// 10 additions and 4 multiplications of f32 are 6 and 4 multiply-adds; integers and other types
/// stay.
#[test]
fn operations_of_features_are_contracted_and_packed() {
    let count = |operation, element: &str, sub_groups, work_items| OperationCount {
        operation,
        element: ElementType::parse(element).unwrap(),
        sub_groups,
        work_items,
    };
    let conditions = with_features(
        vec![access(MemorySpace::Global, AccessDirection::Load, "float32", Some([1, 0, 0]))],
        vec![
            count("add", "float32", 10, 200),
            count("mul", "float32", 4, 64),
            count("add", "float64", 3, 96),
            count("add", "int32", 5, 160),
            count("mul", "int32", 5, 160),
        ],
    );
    let (features, changes) = features_after("fma", &conditions);
    let expected = [
        count("add", "float32", 6, 136),
        count("mul", "float32", 0, 0),
        count("add", "float64", 3, 96),
        count("add", "int32", 5, 160),
        count("mul", "int32", 5, 160),
        count("madd", "float32", 4, 64),
    ];
    assert_eq!(features.operations, expected);
    assert_eq!(changes, ["pairs of f_op_*_add and f_op_*_mul Some(4.0) -> 0"]);

    // 200 threads fill 7 warps, 64 fill 2; 320 accesses fill 10 of 20.
    let (features, changes) = features_after("no-divergence", &conditions);
    let packed: Vec<u128> =
        features.operations.iter().map(|operation| operation.sub_groups).collect();
    assert_eq!(packed, [7, 2, 3, 5, 5]);
    assert_eq!(features.accesses[0].sub_groups, 10);
    assert_eq!(changes, ["sub-groups of features Some(47.0) -> 32"]);

    // What no feature knows changes none.
    for text in ["occupancy=50%", "l2-hits=50%", "dram-bytes=64"] {
        let (features, _) = features_after(text, &conditions);
        assert_eq!(features, conditions.evidence.features.as_ref().unwrap()[0].0, "{text}");
    }
}

#[test]
fn texts_are_read_strictly_and_written_back() {
    for text in ["no-bank-conflicts", "perfect-coalescing", "fma", "no-divergence"] {
        assert_eq!(text.parse::<WhatIf>().unwrap().to_string(), text);
    }
    assert_eq!("l2-hits=90 %".parse(), Ok(WhatIf::L2Hits(0.9)));
    assert_eq!("occupancy=50%".parse::<WhatIf>().unwrap().to_string(), "occupancy=0.5");
    assert_eq!("dram-bytes=64e6".parse(), Ok(WhatIf::DramBytes(64e6)));
    let wrong = [
        "fna",
        "fma=1",
        "occupancy",
        "occupancy=0",
        "occupancy=150%",
        "l2-hits=-1",
        "l2-hits=nan",
        "dram-bytes=-5",
        "dram-bytes=inf",
        "merged-blocks=1",
        "merged-blocks=1000000000",
        "",
    ];
    let errors = wrong.map(|text| {
        let error: WhatIfError = text.parse::<WhatIf>().unwrap_err();
        format!("{text}: {error}")
    });
    insta::assert_snapshot!(errors.join("\n"));
}
