//! Counts beside those that Nsight Compute read on an H200 (`corpus/measured/h200/counters.csv`).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::gpucast::json as document;

const COUNTERS: &str = include_str!("../../corpus/measured/h200/counters.csv");

/// A metric here, and the counter of Nsight Compute that it stands for.
const SAME: [(&str, &str); 4] = [
    ("gld_transactions", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("gst_transactions", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ("global_load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ("global_store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
];

/// The counters of each kernel, summed over its launches.
fn counters() -> BTreeMap<String, BTreeMap<String, f64>> {
    let mut reader = csv::Reader::from_reader(COUNTERS.as_bytes());
    let header = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| {
        let named = header.iter().zip(record.iter()).skip(1);
        let counts = named.filter_map(|(name, text)| Some((name.to_owned(), text.parse().ok()?)));
        (record[0].to_owned(), counts.collect())
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

/// The sum of a metric over a kernel's launches.
fn sum(kernel: &Value, metric: &str) -> f64 {
    let launches = kernel["document"]["launches"].as_array().unwrap();
    let of_launch = |launch: &Value| {
        let value = launch["metrics"][metric]["value"].as_f64().unwrap();
        value * launch["invocations"].as_f64().unwrap()
    };
    launches.iter().map(of_launch).sum()
}

/// Requests and sectors of the corpus at the sizes of its publications, to the last one. Compilers
/// join no accesses of these kernels.
#[test]
fn requests_and_sectors_are_those_of_an_h200() {
    let counters = counters();
    let names: Vec<&str> = counters.keys().map(String::as_str).collect();
    let names = names.join(" ");
    let profiled = document(&format!(
        "profile {names} --arch sm_80 --gpu h200 --machine none --caches none --format json"
    ));
    let kernels = profiled["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), counters.len());
    let mut compared = 0;
    let mut differences = Vec::new();
    for kernel in kernels {
        let name = kernel["kernel"].as_str().unwrap();
        for (metric, counter) in SAME {
            let (ours, theirs) = (sum(kernel, metric), counters[name][counter]);
            compared += usize::from(theirs > 0.0);
            if ours != theirs {
                differences.push(format!("{name}: {metric} is {ours}, an H200 counted {theirs}"));
            }
        }
    }
    assert!(compared > 300, "{compared}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Sectors of loads that the first-level cache holds. CTAs of `leukocyte-dilate` on an SM read 61 %
/// of its lines again and again, so that a cache of few ways would lose a third of the hits.
#[test]
fn the_l1_hits_as_often_as_that_of_an_h200() {
    let counters = counters();
    let kernels =
        "leukocyte-dilate dg-prefetch-matrix-transposed gsrb-branch gsrb-fp srad-1 spmv-ell";
    let profiled = document(&format!(
        "profile {kernels} --arch sm_80 --gpu h200 --machine none --dlcm ca --format json"
    ));
    for kernel in profiled["kernels"].as_array().unwrap() {
        let name = kernel["kernel"].as_str().unwrap();
        let [loads, hits] = ["", "_lookup_hit"].map(|of| {
            counters[name][&format!("l1tex__t_sectors_pipe_lsu_mem_global_op_ld{of}.sum")]
        });
        let launches = kernel["document"]["launches"].as_array().unwrap();
        let rate = |launch: &Value| launch["metrics"]["global_hit_rate"]["value"].as_f64().unwrap();
        let ours = launches.iter().map(rate).sum::<f64>() / launches.len() as f64;
        let theirs = 100.0 * hits / loads;
        assert!((ours - theirs).abs() < 0.5, "{name}: {ours:.1} %, an H200 {theirs:.1} %");
    }
}
