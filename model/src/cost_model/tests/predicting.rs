use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_counters::KernelProfile;
use gpucast_counters::features::{
    AccessDirection, AccessPattern, ElementType, Features, Footprint, MachineAccesses,
    MemoryAccess, MemorySpace, OperationCount, Stride, Strides,
};

use crate::cost_model::{
    Analysis, BUILT_IN, CostModel, CostModelFile, CostModels, Feature, FeatureError, Formula, Names,
};
use crate::gpu::{Gpu, GpuLibrary};
use crate::prediction::Bound;
use crate::predictor::{Conditions, Evidence, Model, ModelError};
use crate::warning::Warning;

fn float32() -> ElementType {
    ElementType::parse("float32").unwrap()
}

/// An access of f32 with strides in elements, `times` accesses of threads, and so many elements.
fn access(
    (buffer, direction): (&str, AccessDirection),
    local: [i64; 2],
    global: [i64; 2],
    times: u64,
    elements: u64,
) -> MemoryAccess {
    let strides =
        |[x, y]: [i64; 2]| Strides::Affine([x, y, 0].map(|stride| Stride::Bytes(4 * stride)));
    MemoryAccess {
        space: MemorySpace::Global,
        direction,
        buffer: Some(buffer.to_owned()),
        element: float32(),
        pattern: AccessPattern { local: strides(local), global: strides(global), step_bytes: None },
        sub_groups: u128::from(times) / 32,
        work_items: times.into(),
        footprint: Some(Footprint { elements: elements as f64, exact: true }),
        instructions: vec![],
        machine: None,
        ptx_lines: vec![1],
        cuda_lines: vec![],
    }
}

/// The prefetching matrix product of section 2.1 for n x n matrices, in the paper's words: n^3
/// multiply-adds, n^3/16 loads of a and b, n^2 stores, 2 n^3 loads and 2 n^3/16 stores of local
/// memory (section 8.3), two barriers in each of n/16 rounds.
fn prefetching(n: u64) -> Features {
    let (row, square, cube) = (n as i64, n * n, n * n * n);
    let load = AccessDirection::Load;
    let local = |direction, times| MemoryAccess {
        space: MemorySpace::Local,
        buffer: None,
        direction,
        ..access(("", load), [1, 16], [0, 0], times, 256)
    };
    Features {
        kernel: "matmul_prefetch".to_owned(),
        grid: [n as u32 / 16, n as u32 / 16, 1],
        block: [16, 16, 1],
        groups: square / 256,
        sub_groups: u128::from(square) / 32,
        work_items: square.into(),
        accesses: vec![
            access(("a", load), [1, row], [0, 16 * row], cube / 16, square),
            access(("b", load), [1, row], [16, 0], cube / 16, square),
            access(("c", AccessDirection::Store), [1, row], [16, 16 * row], square, square),
            local(load, 2 * cube),
            local(AccessDirection::Store, 2 * cube / 16),
        ],
        operations: vec![OperationCount {
            operation: "madd",
            element: float32(),
            sub_groups: u128::from(cube) / 32,
            work_items: cube.into(),
        }],
        barriers_per_work_item: 2.0 * n as f64 / 16.0,
        machine_instructions: None,
    }
}

/// The same without prefetching (section 8.3): n^3 loads of either matrix, those of a uniform.
fn direct(n: u64) -> Features {
    let (row, square, cube) = (n as i64, n * n, n * n * n);
    let load = AccessDirection::Load;
    let mut features = prefetching(n);
    features.accesses = vec![
        access(("a", load), [0, row], [0, 16 * row], cube, square),
        access(("b", load), [1, 0], [16, 0], cube, square),
        access(("c", AccessDirection::Store), [1, row], [16, 16 * row], square, square),
    ];
    features.barriers_per_work_item = 0.0;
    features
}

fn table_3() -> CostModelFile {
    CostModelFile::from_toml(BUILT_IN[0].1).unwrap()
}

/// Table 3's parameters with the counts of n = 2048, in milliseconds and by hand: n^3 = 8.589935e9.
///
/// On chip, madd 8.589935e9/32 · 5.0e-12 s = 1.34218 and local memory 2.125 · 8.589935e9/32 ·
/// 9.5e-12 s = 5.41904; together 6.76122. Global memory, a 5.368709e8 · 1.9e-12 s = 1.02005, b
/// 5.368709e8 · 4.8e-12 s = 2.57698 and c 4194304 · 3.5e-12 s = 0.01468; together 3.61171.
/// Overhead, barriers 256 · 16384 · 1.3e-13 s = 0.00055, groups 16384 · 1.6e-9 s = 0.02621, launch
/// 0.077; together 0.10376.
#[test]
fn table_3_predicts_the_prefetching_product() {
    let file = table_3();
    let analysis = Analysis::new(&file, &[(prefetching(2048), 1)], &Names::default()).unwrap();
    let (on_chip, gmem, overhead): (f64, f64, f64) = (6.761_22, 3.611_71, 0.103_76);
    let of = |resource: Bound| -> f64 {
        let terms = analysis.terms.iter().filter(|term| term.resource == resource);
        terms.map(|term| term.alone * 1e3).sum()
    };
    assert!((of(Bound::Compute) + of(Bound::Shared) - on_chip).abs() < 1e-4);
    assert!((of(Bound::Memory) - gmem).abs() < 1e-4);
    assert!((of(Bound::Overhead) - overhead).abs() < 1e-4);
    // Equation 8 with p_edge = 1.3e3 per second: tanh(1.3 · 3.14951) = 0.99945.
    let step = ((1.3 * (on_chip - gmem)).tanh() + 1.0) / 2.0;
    let expected = overhead + gmem * (1.0 - step) + on_chip * step;
    assert!((analysis.seconds * 1e3 - expected).abs() < 1e-3, "{}", analysis.seconds);
    // Section 8.3: 8 % to 20 % of the peak rates; 12.3e12 operations per second in table 3.
    let rate = 2.0 * 2048.0_f64.powi(3) / analysis.seconds;
    assert!((0.08..0.205).contains(&(rate / 12.3e12)), "{rate:e}");
    // What the terms add is the time, and everything the kernel does is charged once.
    let added: f64 = analysis.terms.iter().map(|term| term.added).sum();
    assert!((added / analysis.seconds - 1.0).abs() < 1e-12);
    assert_eq!((analysis.uncharged.len(), analysis.charged_twice.len()), (0, 0));
}

/// The direct product, by hand: a n^3/32 · 1.9e-11 s = 5.10027 ms, b n^3 · 8.6e-13 s = 7.38734, c
/// 0.01468; on chip 1.34218; overhead 0.10321. The difference is sharp: 12.50230 + 0.10321.
#[test]
fn table_3_ranks_the_variants_as_the_paper_measured_them() {
    let file = table_3();
    let time =
        |features| Analysis::new(&file, &[(features, 1)], &Names::default()).unwrap().seconds * 1e3;
    let slow = time(direct(2048));
    assert!((slow - 12.605_51).abs() < 1e-3, "{slow}");
    for n in [1024, 2048, 3584] {
        assert!(time(prefetching(n)) < time(direct(n)));
    }
    // Two launches take twice the time of one.
    let features = [(prefetching(1024), 2)];
    let twice = Analysis::new(&file, &features, &Names::default()).unwrap();
    assert!((twice.seconds * 1e3 / time(prefetching(1024)) - 2.0).abs() < 1e-12);
}

/// The throughputs that table 3 prints beside its costs.
#[test]
fn table_3_has_the_rates_that_it_prints() {
    let file = table_3();
    let cost =
        |name: &str| file.parameters.iter().find(|parameter| parameter.name == name).unwrap().value;
    // Units of a cost: 32 lanes for sub-groups; 4 bytes for accesses; 2 operations of a madd.
    for (name, units, printed) in [
        ("p_add", 32.0, 5.9e12),
        ("p_mul", 32.0, 5.9e12),
        ("p_madd", 64.0, 12.8e12),
        ("p_lmem", 128.0, 1.3e13),
        ("p_gmem", 4.0, 1.1e12),
        ("p_mm_PF_b", 4.0, 8.3e11),
        ("p_mm_PF_a", 4.0, 2.1e12),
        ("p_mm_noPF_b", 4.0, 4.7e12),
        ("p_mm_noPF_a", 128.0, 6.7e12),
    ] {
        let rate = units / cost(name);
        assert!((rate / printed - 1.0).abs() < 0.05, "{name}: {rate:e} {printed:e}");
    }
}

#[test]
fn features_count_what_satisfies_their_conditions() {
    let n = 2048;
    let features = prefetching(n);
    let names = Names {
        sizes: BTreeMap::from([("n".to_owned(), n as f64)]),
        tags: BTreeMap::from([
            ("mm-PF-a".to_owned(), "a".to_owned()),
            ("out".to_owned(), "c:store".to_owned()),
            ("none".to_owned(), "c:load".to_owned()),
        ]),
    };
    let value = |name: &str| Feature::parse(name).unwrap().value(&features, &names).unwrap();
    let (square, cube) = ((n * n) as f64, (n * n * n) as f64);
    for (name, expected) in [
        ("f_op_float32_madd", cube / 32.0),
        ("f_op_float32", cube / 32.0),
        ("f_op", cube / 32.0),
        ("f_op_float64_madd", 0.0),
        ("f_op_float32_add", 0.0),
        ("f_mem_access_global", cube / 8.0 + square),
        ("f_mem_access_global_float32_load", cube / 8.0),
        ("f_mem_access_global_float32_store", square),
        ("f_mem_access_global_float64", 0.0),
        ("f_mem_access_tag:aLD", cube / 16.0),
        ("f_mem_access_tag:a", cube / 16.0),
        ("f_mem_access_tag:aST", 0.0),
        ("f_mem_access_tag:cST", square),
        ("f_mem_access_tag:mm-PF-a", cube / 16.0),
        ("f_mem_access_tag:out", square),
        ("f_mem_access_tag:none", 0.0),
        (
            "f_mem_access_global_float32_load_lstrides:{0:1;1:>15}_gstrides:{0:0}_afr:>1",
            cube / 16.0,
        ),
        (
            "f_mem_access_global_float32_load_lstrides:{0:1;1:>15}_gstrides:{0:16}_afr:>1",
            cube / 16.0,
        ),
        ("f_mem_access_global_lstrides:{0:1;1:n}_gstrides:{0:0;1:n*16}", cube / 16.0),
        ("f_mem_access_global_lstrides:{1:<n}", 0.0),
        ("f_mem_access_global_lstrides:{1:<=n}", cube / 8.0 + square),
        ("f_mem_access_global_afr:n/16", cube / 8.0),
        ("f_mem_access_global_afr:1", square),
        ("f_mem_access_global_afr:<128", square),
        ("f_mem_access_local_float32", 2.125 * cube / 32.0),
        ("f_sync_barrier_local", 256.0),
        ("f_sync_kernel_launch", 1.0),
        ("f_thread_groups", 16384.0),
        ("f_sub_groups", square / 32.0),
        ("f_work_items", square),
    ] {
        assert_eq!(value(name), expected, "{name}");
    }
    // A uniform access counts once for each sub-group.
    let of_a = Feature::parse("f_mem_access_tag:aLD").unwrap();
    assert_eq!(of_a.value(&direct(n), &names), Ok(cube / 32.0));
    let unknown = Feature::parse("f_mem_access_lstrides:{0:<m}").unwrap();
    let error = unknown.value(&features, &names).unwrap_err();
    assert!(matches!(error, FeatureError::UnknownSize { size, .. } if size == "m"));
    let measured = Feature::parse("f_cl_wall_time_nvidia_geforce").unwrap();
    assert!(matches!(measured.value(&features, &names), Err(FeatureError::Measured { .. })));
}

#[test]
fn what_is_irregular_satisfies_no_condition_on_strides() {
    let mut features = prefetching(64);
    features.accesses[0].pattern.local = Strides::Irregular;
    features.accesses[1].pattern.global =
        Strides::Affine([Stride::Unobserved, Stride::Bytes(0), Stride::Bytes(0)]);
    let value =
        |name: &str| Feature::parse(name).unwrap().value(&features, &Names::default()).unwrap();
    let loads = 64.0_f64.powi(3) / 16.0;
    assert_eq!(value("f_mem_access_tag:a_lstrides:{0:>=0}"), 0.0);
    assert_eq!(value("f_mem_access_tag:a"), loads);
    assert_eq!(value("f_mem_access_tag:b_gstrides:{0:>=0}"), 0.0);
    assert_eq!(value("f_mem_access_tag:b_gstrides:{1:0}"), loads);
    // The ratio of an estimated footprint is about what it is.
    features.accesses[0].footprint = Some(Footprint { elements: 64.0 * 63.0, exact: false });
    let value = Feature::parse("f_mem_access_tag:a_afr:4").unwrap();
    assert_eq!(value.value(&features, &Names::default()), Ok(loads));
}

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().as_written(name).unwrap().clone()
}

fn conditions(files: Vec<CostModelFile>, features: Option<Features>) -> Conditions {
    Conditions {
        evidence: Evidence {
            features: features.map(|features| Arc::new(vec![(features, 1)])),
            ..Evidence::default()
        },
        cost_models: Some(Arc::new(CostModels { files, names: Names::default() })),
        ..Conditions::default()
    }
}

fn profile() -> KernelProfile {
    KernelProfile {
        kernel: "k".to_owned(),
        invocations: 1,
        measured_on: None,
        metrics: gpucast_counters::Metrics::new(),
    }
}

#[test]
fn a_prediction_says_what_it_is_made_of() {
    let conditions = conditions(vec![table_3()], Some(prefetching(2048)));
    let prediction = CostModel.predict(&profile(), &gpu("titan-v"), &conditions).unwrap();
    assert_eq!(prediction.bound, Bound::Shared);
    let parts: f64 = prediction.parts.iter().map(|part| part.time_ms).sum();
    assert!((parts / prediction.time_ms - 1.0).abs() < 1e-12);
    assert!(prediction.explanation.starts_with("f_mem_access_local_float32 adds most"));
    // The features of the other variant are not there, and that is said.
    assert!(matches!(
        prediction.warnings.as_slice(),
        [Warning::AbsentFeatures { features }] if features.contains("lstrides:{0:0;1:>1}")
    ));
}

#[test]
fn what_no_feature_counts_is_said() {
    let mut file = table_3();
    file.formula = Formula::parse(
        "p_a * f_mem_access_global + p_b * f_mem_access_global_float32_store",
        &BTreeMap::new(),
    )
    .unwrap();
    file.parameters = vec![
        crate::cost_model::Parameter { name: "p_a".into(), value: 1e-12, standard_error: None },
        crate::cost_model::Parameter { name: "p_b".into(), value: -1e-12, standard_error: None },
    ];
    let conditions = conditions(vec![file], Some(prefetching(64)));
    let prediction = CostModel.predict(&profile(), &gpu("titan-v"), &conditions).unwrap();
    let texts: Vec<String> = prediction.warnings.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!("warnings-of-a-model-with-gaps", texts.join("\n"));
}

#[test]
fn no_calibration_no_prediction() {
    let predict = |gpu: &Gpu, conditions: &Conditions| {
        CostModel.predict(&profile(), gpu, conditions).unwrap_err()
    };
    let features = || Some(prefetching(64));
    assert_eq!(predict(&gpu("titan-v"), &Conditions::default()), ModelError::NoCostModel);
    let none = conditions(vec![], features());
    assert_eq!(predict(&gpu("titan-v"), &none), ModelError::NoCostModel);
    let other = predict(&gpu("gtx-480"), &conditions(vec![table_3()], features()));
    assert!(matches!(other, ModelError::OtherGpu { .. }) && other.is_lack());
    let measured = predict(&gpu("titan-v"), &conditions(vec![table_3()], None));
    assert!(matches!(measured, ModelError::MissingCondition { .. }));
}

#[test]
fn model_files_say_what_is_wrong_with_them() {
    for (_, text) in BUILT_IN {
        CostModelFile::from_toml(text).unwrap();
    }
    let good = "schema = \"gpucast.cost-model/1\"\ngpu = \"titan-v\"\nsource = \"a test\"\n\
                model = \"p_a * f_thread_groups + c_rest\"\n[terms]\nc_rest = \"p_b * f_work_items\"\n\
                [parameters]\np_a = 1e-9\np_b = { value = 2e-9, standard_error = 1e-10 }\n";
    let file = CostModelFile::from_toml(good).unwrap();
    assert_eq!(file.values(), [1e-9, 2e-9]);
    assert_eq!(file.parameters[1].standard_error, Some(1e-10));
    let mut all = String::new();
    for (from, to) in [
        ("cost-model/1", "cost-model/2"),
        ("gpu = \"titan-v\"\n", ""),
        ("source", "sauce"),
        ("p_a * f_thread_groups", "p_a * f_thread_grops"),
        ("p_b * f_work_items", "p_b * * f_work_items"),
        ("c_rest = ", "rest = "),
        ("+ c_rest", "+ c_rset"),
        ("p_a = 1e-9\n", ""),
        ("p_a = 1e-9", "p_a = nan"),
        ("p_a = 1e-9", "p_a = \"1e-9\""),
        ("p_a = 1e-9", "p_a = 1e-9\np_c = 1"),
        ("value = 2e-9", "worth = 2e-9"),
        ("[terms]", "[terms"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        let error = CostModelFile::from_toml(&text).expect_err(to);
        let line = text[..error.range.start].matches('\n').count() + 1;
        let shown = text.get(error.range.clone()).unwrap_or("?").lines().next().unwrap_or_default();
        all += &format!("line {line}, `{shown}`: {}\n", error.message);
        all += &error.hint.map(|hint| format!("  hint: {hint}\n")).unwrap_or_default();
    }
    insta::assert_snapshot!("mistakes-in-model-files", all);
}

/// The prefetching product whose loads of local memory the assembler joined: those of the tile of a
/// by four, so that of 32 loads 20 are left, 4 of them with 16 bytes.
fn joined(n: u64) -> Features {
    let mut features = prefetching(n);
    let warps = u128::from(n).pow(3) / 32;
    let of = |bytes, sub_groups| MachineAccesses { bytes, sub_groups, work_items: 32 * sub_groups };
    for access in &mut features.accesses {
        access.machine = Some(match (access.space, access.direction) {
            (MemorySpace::Local, AccessDirection::Load) => vec![of(4, warps), of(16, warps / 4)],
            _ => vec![of(4, access.sub_groups)],
        });
    }
    let issued = [("FFMA", warps), ("LDS", warps + warps / 4), ("STS", warps / 8)];
    features.machine_instructions =
        Some(issued.into_iter().map(|(name, count)| (name.to_owned(), count)).collect());
    features
}

#[test]
fn features_of_the_machine_code_count_what_the_assembler_made() {
    let warps = 64_u64.pow(3) as f64 / 32.0;
    let value =
        |name: &str| Feature::parse(name).unwrap().value(&joined(64), &Names::default()).unwrap();
    for (name, expected) in [
        // 2 n^3 loads and 2 n^3/16 stores as the source has them.
        ("f_mem_access_local", 2.125 * warps),
        ("f_machine_access_local", 1.375 * warps),
        ("f_machine_access_local_load", 1.25 * warps),
        ("f_machine_access_local_float32_load_width:4", 0.25 * warps),
        ("f_machine_access_local_width:<4", 1.125 * warps),
        ("f_machine_access_local_width:4_lstrides:{0:0}", 0.0),
        ("f_machine_access_global_store", 64.0 * 2.0),
        ("f_machine_op", 2.375 * warps),
        ("f_machine_op_LDS", 1.25 * warps),
        ("f_machine_op_LDG", 0.0),
    ] {
        assert_eq!(value(name), expected, "{name}");
    }
    for name in ["f_machine_access_local", "f_machine_op_LDS"] {
        let error = Feature::parse(name).unwrap().value(&prefetching(64), &Names::default());
        assert!(matches!(error, Err(FeatureError::NoMachineCode { .. })), "{name}: {error:?}");
    }
}

/// Loads of different widths may have costs of their own. Each width is then charged once.
#[test]
fn each_width_of_a_machine_access_is_charged_once() {
    for (terms, uncharged, twice) in [
        ("p_a*f_machine_access_local_width:1+p_b*f_machine_access_local_width:4", 0, 0),
        ("p_a*f_machine_access_local_width:1", 1, 0),
        ("p_a*f_machine_access_local+p_b*f_machine_access_local_width:4", 0, 1),
        ("p_a*f_mem_access_local+p_b*f_machine_access_local_width:4", 0, 1),
    ] {
        let model = format!("{terms}+p_g*f_mem_access_global+p_m*f_op_float32_madd");
        let parameters = "p_a = 1e-12\np_b = 1e-12\np_g = 1e-12\np_m = 1e-12\n";
        let parameters = match terms.contains("p_b") {
            true => parameters.to_owned(),
            false => parameters.replace("p_b = 1e-12\n", ""),
        };
        let text = format!(
            "schema = \"gpucast.cost-model/1\"\ngpu = \"titan-v\"\nsource = \"a test\"\n\
             model = \"{model}\"\n[parameters]\n{parameters}"
        );
        let file = CostModelFile::from_toml(&text).unwrap();
        let analysis = Analysis::new(&file, &[(joined(64), 1)], &Names::default()).unwrap();
        let found = (analysis.uncharged.len(), analysis.charged_twice.len());
        assert_eq!(found, (uncharged, twice), "{terms}: {analysis:?}");
    }
}
