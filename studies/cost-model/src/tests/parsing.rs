use std::collections::BTreeMap;

use gpucast_counters::features::{AccessDirection, ElementType, MemorySpace};

use super::formula;
use crate::{Feature, FeatureBound, Formula, Relation};

/// Every model string of the paper, with its parameters and features in order. Listings whose lines
/// break within a name are given as printed.
#[test]
fn the_papers_model_strings_parse() {
    let strides = |gid| {
        format!(
            "f_mem_access_global_float32_load_lstrides:{{0:1;1:>15}}_gstrides:{{0:{gid}}}_afr:>1"
        )
    };
    let [a, b] = [strides(0), strides(16)];
    // Section 2.2.
    check("p_f32madd * f_op_float32_madd", &["p_f32madd"], &["f_op_float32_madd"]);
    // Section 6.1.
    check(
        "p_f32madd * f_op_float32_madd + \
         p_f32l * f_mem_access_local_float32 + \
         p_f32g * f_mem_access_global_float32",
        &["p_f32madd", "p_f32l", "p_f32g"],
        &["f_op_float32_madd", "f_mem_access_local_float32", "f_mem_access_global_float32"],
    );
    // Section 6.1.1, by tags.
    check(
        "p_f32madd * f_op_float32_madd + \
         p_f32l * f_mem_access_local_float32 + \
         p_f32ga * f_mem_access_tag:aLD + \
         p_f32gb * f_mem_access_tag:bLD + \
         p_f32gc * f_mem_access_global_float32_store",
        &["p_f32madd", "p_f32l", "p_f32ga", "p_f32gb", "p_f32gc"],
        &[
            "f_op_float32_madd",
            "f_mem_access_local_float32",
            "f_mem_access_tag:aLD",
            "f_mem_access_tag:bLD",
            "f_mem_access_global_float32_store",
        ],
    );
    // Section 6.1.1, by properties.
    check(
        "p_f32madd * f_op_float32_madd + p_f32l * f_mem_access_local_float32 + \
         p_f32ga * f_mem_access_global_float32_load_
        lstrides:{0:1;1:>15}_gstrides:{0:0}_afr:>1 + \
         p_f32gb * f_mem_access_global_float32_load_
        lstrides:{0:1;1:>15}_gstrides:{0:16}_afr:>1 + \
         p_f32gc * f_mem_access_global_float32_store",
        &["p_f32madd", "p_f32l", "p_f32ga", "p_f32gb", "p_f32gc"],
        &[
            "f_op_float32_madd",
            "f_mem_access_local_float32",
            &a,
            &b,
            "f_mem_access_global_float32_store",
        ],
    );
    // Sections 6.1.3 and 6.1.4.
    check(
        "p_f32madd * f_op_float32_madd + p_f32l * f_mem_access_local_float32 + \
         p_f32ga *
    f_mem_access_global_float32_load_lstrides
    :{0:1;1:>15}_gstrides:{0:0}_afr:>1 + \
         p_f32gb *
    f_mem_access_global_float32_load_lstrides
    :{0:1;1:>15}_gstrides:{0:16}_afr:>1 + \
         p_f32gc * f_mem_access_global_float32_store + \
         p_barrier * f_sync_barrier_local * f_thread_groups
  + \
         p_group * f_thread_groups + \
         p_launch * f_sync_kernel_launch",
        &[
            "p_f32madd",
            "p_f32l",
            "p_f32ga",
            "p_f32gb",
            "p_f32gc",
            "p_barrier",
            "p_group",
            "p_launch",
        ],
        &[
            "f_op_float32_madd",
            "f_mem_access_local_float32",
            &a,
            &b,
            "f_mem_access_global_float32_store",
            "f_sync_barrier_local",
            "f_thread_groups",
            "f_sync_kernel_launch",
        ],
    );
    // The output of all of them, in its two spellings, and the features named in the text.
    for name in ["f_cl_wall_time_nvidia_geforce", "f_cl.wall_time_nvidia_geforce"] {
        let device = "nvidia_geforce".to_owned();
        assert_eq!(Feature::parse(name), Ok(Feature::WallTime(device)));
    }
    assert_eq!(Feature::parse("f_op_float32_mul").unwrap().to_string(), "f_op_float32_mul");
    // Section 5: `lstrides:{0:<n}`.
    let Feature::MemoryAccess(access) = Feature::parse("f_mem_access_lstrides:{0:<n}").unwrap()
    else {
        panic!("an access");
    };
    let (axis, constraint) = &access.local_strides[0];
    assert_eq!((*axis, constraint.relation), (0, Relation::Less));
    assert_eq!(constraint.bound.size.as_deref(), Some("n"));
}

#[track_caller]
fn check(text: &str, parameters: &[&str], features: &[&str]) {
    let formula = formula(text);
    assert_eq!(formula.parameters(), parameters);
    let names: Vec<String> = formula.features().iter().map(ToString::to_string).collect();
    assert_eq!(names, features);
    // Each feature is written as it is read.
    for feature in formula.features() {
        assert_eq!(Feature::parse(&feature.to_string()).as_ref(), Ok(feature));
    }
}

#[test]
fn all_fields_of_an_access_are_read_in_order() {
    let name = "f_mem_access_tag:my_tag_global_float64_store_lstrides:{0:1;1:>=n*16}\
                _gstrides:{0:<=16*n;2:-4}_afr:<n/16";
    let Feature::MemoryAccess(access) = Feature::parse(name).unwrap() else { panic!("an access") };
    assert_eq!(access.tag.as_deref(), Some("my_tag"));
    assert_eq!(access.space, Some(MemorySpace::Global));
    assert_eq!(access.element, ElementType::parse("float64"));
    assert_eq!(access.direction, Some(AccessDirection::Store));
    let n = |factor, divisor| FeatureBound { factor, divisor, size: Some("n".to_owned()) };
    assert_eq!(access.local_strides[1].1.bound, n(16.0, 1.0));
    assert_eq!(access.global_strides[0].1.bound, n(16.0, 1.0));
    assert_eq!(access.global_strides[1].1.bound, FeatureBound::number(-4.0));
    assert_eq!(access.ratio.unwrap().bound, n(1.0, 16.0));
    // CUDA's name of OpenCL's local memory; tags as the paper's table 3 has them.
    assert_eq!(Feature::parse("f_mem_access_shared"), Feature::parse("f_mem_access_local"));
    let Ok(Feature::MemoryAccess(access)) = Feature::parse("f_mem_access_tag:mm-PF-b_load") else {
        panic!("an access");
    };
    assert_eq!(access.tag.as_deref(), Some("mm-PF-b"));
}

#[test]
fn features_of_the_machine_code_are_read_as_they_are_written() {
    check(
        "p_a * f_machine_access_tag:a_local_float32_load_width:>=4_lstrides:{0:0}_afr:>1 \
         + p_b * f_machine_access + p_c * f_machine_op + p_d * f_machine_op_LDS",
        &["p_a", "p_b", "p_c", "p_d"],
        &[
            "f_machine_access_tag:a_local_float32_load_width:>=4_lstrides:{0:0}_afr:>1",
            "f_machine_access",
            "f_machine_op",
            "f_machine_op_LDS",
        ],
    );
    // The paper's accesses have no width, and the field has its place.
    for wrong in [
        "f_mem_access_local_width:4",
        "f_machine_access_lstrides:{0:0}_width:4",
        "f_machine_access_width:4_load",
        "f_machine_opLDS",
    ] {
        assert!(Feature::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn operators_bind_as_in_python() {
    let value = |text| formula(text).evaluate(&[], &[]);
    assert_eq!(value("2 + 3 * 4 - 6 / 2"), 11.0);
    assert_eq!(value("2 * 3 ** 2"), 18.0);
    assert_eq!(value("-2 ** 2"), -4.0);
    assert_eq!(value("2 ** -1"), 0.5);
    assert_eq!(value("2 ** 3 ** 2"), 512.0);
    assert_eq!(value("(2 ** 3) ** 2"), 64.0);
    assert_eq!(value("8 / 4 / 2"), 1.0);
    assert_eq!(value("8 - 4 - 2"), 2.0);
    assert_eq!(value("1e-3 * 1.5E3 - .5"), 1.0);
    assert_eq!(value("exp(0) + log(1) + sqrt(9) + tanh(0)"), 4.0);
    // A minus sign ends the name of a feature.
    assert_eq!(formula("f_thread_groups-f_work_items").evaluate(&[], &[5.0, 3.0]), 2.0);
    // The condition of afr ends where the product goes on.
    let of = formula("f_mem_access_afr:>1*p_a");
    assert_eq!((of.parameters().len(), of.features().len()), (1, 1));
    assert_eq!(of.evaluate(&[2.0], &[3.0]), 6.0);
}

/// Equations 5 and 6 spelt out, and by their functions.
#[test]
fn steps_and_overlap_are_the_papers() {
    let long = formula(
        "p_g * f_thread_groups * (tanh(p_edge * (p_g * f_thread_groups - p_c * f_work_items)) + 1) / 2 \
         + p_c * f_work_items * (tanh(p_edge * (p_c * f_work_items - p_g * f_thread_groups)) + 1) / 2",
    );
    let short = formula("overlap(p_g * f_thread_groups, p_c * f_work_items, p_edge)");
    let [g, edge, c] = [3.0, 0.5, 2.0];
    for features in [[1.0, 2.0], [2.0, 1.0], [5.0, 1.0]] {
        let by_name = |formula: &Formula| {
            let values: Vec<f64> = formula
                .parameters()
                .iter()
                .map(|name| match name.as_str() {
                    "p_g" => g,
                    "p_c" => c,
                    _ => edge,
                })
                .collect();
            formula.evaluate(&values, &features)
        };
        let (a, b) = (g * features[0], c * features[1]);
        let step = |x: f64| ((edge * x).tanh() + 1.0) / 2.0;
        let expected = a * step(a - b) + b * step(b - a);
        assert!((by_name(&long) - expected).abs() < 1e-12 * expected);
        assert!((by_name(&short) - expected).abs() < 1e-12 * expected);
    }
    // A sharp step is the maximum of equation 3.
    assert_eq!(formula("overlap(3, 5, 1e9)").evaluate(&[], &[]), 5.0);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let mut all = String::new();
    for text in [
        "",
        "p_a *",
        "p_a * f_op_float32_madd +",
        "p_a f_thread_groups",
        "(p_a + 1",
        "p_a)",
        "p_a * f_op_float32_mad",
        "p_a * f_op_double_madd",
        "p_a * f_thread_group",
        "p_a * f_mem_acces_global",
        "p_a * f_mem_access_global_load_float32",
        "p_a * f_mem_access_globl",
        "p_a * f_mem_access_lstrides:{0=1}",
        "p_a * f_mem_access_lstrides:{3:1}",
        "p_a * f_mem_access_lstrides:{0:1;0:2}",
        "p_a * f_mem_access_lstrides:{0:1",
        "p_a * f_mem_access_gstrides:{}",
        "p_a * f_mem_access_afr:",
        "p_a * f_mem_access_tag:",
        "max(p_a, p_b)",
        "tanh(p_a, p_b)",
        "overlap(p_a, p_b)",
        "x + 1",
        "c_gmem + 1",
        "p_a % 2",
        "p_ä",
        "1e999",
    ] {
        let error = Formula::parse(text, &BTreeMap::new()).expect_err(text);
        let range = error.range.clone();
        assert!(text.get(range.clone()).is_some(), "{text}: {range:?}");
        let marks = "^".repeat(range.len().max(1));
        all += &format!(
            "{text}\n{}{marks} {}\n",
            " ".repeat(text[..range.start].chars().count()),
            error.message
        );
        all += &error.hint.map(|hint| format!("  hint: {hint}\n")).unwrap_or_default();
    }
    insta::assert_snapshot!("mistakes-in-model-strings", all);
}

#[test]
fn named_expressions_neither_go_in_circles_nor_grow_without_bounds() {
    let terms = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    let circle = terms(&[("c_a", "c_b + 1"), ("c_b", "2 * c_a")]);
    let error = Formula::parse("c_a", &circle).unwrap_err();
    assert!(error.message.contains("defined by itself"), "{error:?}");
    // Doubling thirty times would be a billion operands.
    let mut doubling = terms(&[("c_0", "f_thread_groups")]);
    for at in 1..=30 {
        doubling.insert(format!("c_{at}"), format!("c_{} + c_{}", at - 1, at - 1));
    }
    let error = Formula::parse("c_30", &doubling).unwrap_err();
    assert!(error.message.contains("operands"), "{error:?}");
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(Formula::parse(&deep, &BTreeMap::new()).unwrap_err().message.contains("deeply"));
    let signs = format!("{}1", "-".repeat(5000));
    assert!(Formula::parse(&signs, &BTreeMap::new()).unwrap_err().message.contains("deeply"));
    let long = vec!["1"; 5000].join(" + ");
    assert_eq!(formula(&long).evaluate(&[], &[]), 5000.0);
}
