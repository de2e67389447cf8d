//! The models of Zhang & Owens (2011) and Yang & Williams (2019) on the kernels of their papers,
//! executed at the papers' sizes and counted on the papers' GPUs. `docs/models.md` explains the
//! differences.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::process::Command;

use serde_json::Value;

/// A kernel's prediction by a model on the GPU that it is counted on, from PTX counts.
fn predict(kernel: &str, gpu: &str, model: &str) -> Value {
    let arguments = ["predict", kernel, "--size", "paper", "--gpu", gpu, "--count-on", "target"];
    let arguments = [&arguments[..], &["--model", model, "--machine", "none"]].concat();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucast"));
    let output = command.args(&arguments).args(["--format", "json"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gpucast {arguments:?} failed:\n{stderr}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["predictions"][0].clone()
}

fn on_gtx_285(kernel: &str) -> Value {
    predict(kernel, "gtx-285", "component-throughput")
}

fn on_v100(kernel: &str) -> Value {
    predict(kernel, "tesla-v100-sxm2", "hierarchical-roofline")
}

fn number(prediction: &Value, part: &str, symbol: &str) -> f64 {
    prediction[part][symbol].as_f64().unwrap()
}

#[track_caller]
fn assert_near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value}, not {expected} within {within}");
}

/// Figure 4(b), table 2 and section 5.1.
#[test]
fn dense_multiply_has_the_bottlenecks_of_figure_4b() {
    let mut times = Vec::new();
    for (kernel, bound, next, warps, ginst, gbps) in [
        ("matmul-volkov-8", "compute", "memory", 16.0, 9.05, 1112.0),
        ("matmul-volkov-16", "compute", "shared", 16.0, 9.05, 1112.0),
        ("matmul-volkov-32", "shared", "compute", 6.0, 8.39, 870.0),
    ] {
        let prediction = on_gtx_285(kernel);
        assert_eq!(prediction["bound"], bound, "{kernel}");
        assert_eq!(number(&prediction, "intermediate", "warps_per_SM"), warps, "{kernel}");
        assert_near(number(&prediction, "intermediate", "T_II"), ginst, 1e-6);
        assert_near(number(&prediction, "intermediate", "B_shared"), gbps, 1e-6);
        assert_eq!(prediction["intermediate"]["stages"], "overlapped");
        // What comes next is the second longest of the three components.
        let mut components: Vec<(f64, &str)> = prediction["parts"][0]["components"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["time_ms"].as_f64().unwrap(), one["resource"].as_str().unwrap()))
            .collect();
        components.sort_by(|a, b| b.0.total_cmp(&a.0));
        assert_eq!(components[1].1, next, "{kernel}");
        assert_near(number(&prediction, "intermediate", "t_next"), components[1].0, 1e-12);
        times.push(prediction["time_ms"].as_f64().unwrap());
    }
    // "However, in reality, a size of 16 x 16 actually achieves the best performance."
    assert!(times[1] < times[0] && times[1] < times[2], "{times:?}");
}

/// Bounds of the stages, and the times of a resource in each.
fn stages(prediction: &Value) -> Vec<(String, [f64; 3])> {
    let time = |part: &Value, resource: &str| {
        let components = part["components"].as_array().unwrap();
        let of = components.iter().find(|one| one["resource"] == resource).unwrap();
        of["time_ms"].as_f64().unwrap()
    };
    let parts = prediction["parts"].as_array().unwrap();
    let all = parts.iter().map(|part| {
        let bound = part["bound"].as_str().unwrap().to_owned();
        (bound, ["compute", "shared", "memory"].map(|resource| time(part, resource)))
    });
    all.collect()
}

/// Figures 6 and 7, from the passes that are counted, and from those of the paper: there the
/// conflicts of the fourth step stay until the end, though fewer threads than banks are left.
#[test]
fn cyclic_reduction_is_bound_as_in_figure_6() {
    let [plain, padded] = ["cyclic-reduction", "cyclic-reduction-nbc"].map(on_gtx_285);
    for prediction in [&plain, &padded] {
        assert_eq!(prediction["intermediate"]["stages"], "serialised");
        assert_eq!(number(prediction, "intermediate", "blocks_per_SM"), 1.0);
    }
    let (counted, without_conflicts) = (stages(&plain), stages(&padded));
    let bounds = |stages: &[(String, [f64; 3])]| {
        stages.iter().map(|(bound, _)| bound.clone()).collect::<Vec<_>>()
    };
    // "CR is bound by global memory access in step 0, by instruction throughput in step 1, and by
    // shared memory access in all subsequent steps": as long as the counted passes stay what they
    // are.
    let counted_bounds = bounds(&counted);
    assert_eq!(counted_bounds[..5], ["memory", "compute", "shared", "shared", "shared"]);
    assert_eq!(counted_bounds[5..], ["compute"; 5]);
    // CR-NBC: instructions in every step.
    assert_eq!(bounds(&without_conflicts)[0], "memory");
    assert_eq!(bounds(&without_conflicts)[1..], ["compute"; 9]);

    // Figure 7(b): "the number of shared memory transactions remains constant". 512 passes, of
    // which the fourth step lacks four.
    let shared_of_last_steps = counted[4].1[1] * 512.0 / 508.0;
    let constant = counted.iter().enumerate().map(|(step, (_, [compute, shared, memory]))| {
        let shared = if step < 4 { *shared } else { shared_of_last_steps };
        [*compute, shared, *memory]
    });
    let constant: Vec<[f64; 3]> = constant.collect();
    assert!(constant[2..].iter().all(|&[compute, shared, memory]| shared > compute.max(memory)));
    let longest = |[compute, shared, memory]: [f64; 3]| compute.max(shared).max(memory);
    let plain_ms: f64 = constant.into_iter().map(longest).sum();
    let padded_ms = padded["time_ms"].as_f64().unwrap();
    // "Which improves the performance of CR by 1.6 x."
    assert_near(plain_ms / padded_ms / 1.6, 1.0, 0.1);
    // "CR-NBC has a similar instruction count to CR": with the same one, and no conflicts at all.
    let without = counted.iter().map(|(_, [compute, _, memory])| compute.max(*memory));
    assert_near(plain_ms / without.sum::<f64>() / 1.6, 1.0, 0.05);
    // Regrouping leaves no conflicts indeed; counted passes then leave less to gain than the
    // paper's.
    let regrouped = on_gtx_285("cyclic-reduction-regrouped");
    let [passes, free] =
        ["N_shared", "N_shared_free"].map(|symbol| number(&regrouped, "parameters", symbol));
    assert_eq!(passes, free);
    assert_eq!(bounds(&stages(&regrouped))[1..], ["compute"; 9]);
    let time = |prediction: &Value| prediction["time_ms"].as_f64().unwrap();
    assert_near(time(&plain) / time(&regrouped), 1.13, 0.01);
    // "A computational rate of 6 GFLOPS and a bandwidth of 7 GB/s": of 4 MiB, 0.6 ms.
    assert_near(plain_ms / 0.6, 1.0, 0.2);
    // "Figure 6(a) shows that if we could remove the bank conflicts, the new bottleneck for steps
    // 2-9 would be the instruction pipeline."
    assert!(without_conflicts[2..].iter().all(|(_, [compute, shared, _])| compute > shared));
}

/// Section 5.3: "In all three cases, the performance is bottlenecked by global memory access", "the
/// new bottleneck would be the instruction pipeline", and interleaving makes it faster.
#[test]
fn sparse_products_are_bound_by_global_memory() {
    let all = ["spmv-ell", "spmv-bell-im", "spmv-bell-imiv"].map(on_gtx_285);
    for prediction in &all {
        assert_eq!(prediction["bound"], "memory");
        let [_, next] =
            ["t_global", "t_instruction"].map(|time| number(prediction, "intermediate", time));
        assert_near(number(prediction, "intermediate", "t_next"), next, 1e-12);
    }
    let times = all.map(|prediction| prediction["time_ms"].as_f64().unwrap());
    assert!(times.is_sorted_by(|a, b| a > b), "{times:?}");
}

/// "FLOPs halves, bytes doesn't change, thus AI halves and GFLOP/s halves. Runtime is comparable."
#[test]
fn gsrb_branch_has_half_the_intensity_and_takes_as_long() {
    let [fp, branch, stride2] = ["gsrb-fp", "gsrb-branch", "gsrb-stride2"].map(on_v100);
    for prediction in [&fp, &branch, &stride2] {
        // "Highly bandwidth bound, inherent to stencil codes."
        assert_eq!(prediction["bound"], "memory");
    }
    let ratio =
        |part: &str, symbol: &str| number(&branch, part, symbol) / number(&fp, part, symbol);
    // 10.5 operations of 22; the mask that only gsrb-fp reads is the difference in bytes.
    assert_near(ratio("parameters", "FLOPs"), 0.477, 0.001);
    for bytes in ["bytes_L1", "bytes_L2", "bytes_DRAM"] {
        assert_near(ratio("parameters", bytes), 1.0, 0.1);
    }
    for intensity in ["AI_L1", "AI_L2", "AI_DRAM"] {
        assert_near(ratio("parameters", intensity), 0.5, 0.05);
    }
    assert_near(ratio("intermediate", "T_predicted"), 0.5, 0.05);
    let time = |prediction: &Value| prediction["time_ms"].as_f64().unwrap();
    assert_near(time(&branch) / time(&fp), 1.0, 0.1);
    // "Extra writes in GSRB_STRIDE2": slower.
    assert!(time(&stride2) > time(&branch));
}

/// GPP: "AI increases as nw grows; GPP moves from a bandwidth bound region to a compute bound
/// region"; no-FMA at the no-FMA ceiling; a stride doubles the bytes of L1.
#[test]
fn gpp_moves_from_bandwidth_to_compute() {
    let all = ["gpp-nw1", "gpp-nw4", "gpp-nw6"].map(on_v100);
    let intensities = all.each_ref().map(|one| number(one, "parameters", "AI_DRAM"));
    assert!(intensities.is_sorted_by(|a, b| a < b), "{intensities:?}");
    let bytes = all.each_ref().map(|one| number(one, "parameters", "bytes_DRAM"));
    assert_near(bytes[2] / bytes[0], 1.0, 0.01);
    let bounds = all.each_ref().map(|one| one["bound"].as_str().unwrap().to_owned());
    assert_eq!(bounds, ["memory", "memory", "compute"]);

    let [_, _, nw6] = &all;
    let no_fma = on_v100("gpp-no-fma");
    let at = |prediction: &Value, symbol: &str| number(prediction, "intermediate", symbol);
    assert_eq!(number(&no_fma, "parameters", "alpha_fp64"), 0.0);
    assert_near(at(&no_fma, "T_predicted"), at(&no_fma, "fp64_no_FMA_measured"), 1e-6);
    // "At nw=6, GPP has alpha = 60 % of FMA instructions; expected performance is beta = 80 %."
    assert_near(number(nw6, "parameters", "alpha_fp64"), 0.60, 0.01);
    let beta = number(nw6, "parameters", "beta_fp64");
    assert_near(beta, (1.0 + number(nw6, "parameters", "alpha_fp64")) / 2.0, 1e-12);
    assert_near(at(nw6, "T_predicted"), beta * at(nw6, "fp64_FMA_measured"), 1e-6);

    let stride2 = on_v100("gpp-stride2");
    let l1 = |prediction: &Value| number(prediction, "parameters", "bytes_L1");
    assert_near(l1(&stride2) / l1(nw6), 2.0, 0.07);
    // "GPP moves from compute bound to bandwidth bound."
    assert_eq!(stride2["bound"], "memory");
}
