//! The models of Zhang & Owens (2011) and Yang & Williams (2019) on the kernels of their papers,
//! executed at the papers' sizes and counted on the papers' GPUs. `docs/evidence/models.md`
//! explains the differences.

use gpucast_forecast::settings::{MachineChoice, Size};
use gpucast_model::{Bound, GpuLibrary, Model, Part, Prediction, SymbolValue};

use crate::common;

/// A kernel's prediction by a model on the GPU that it is counted on, from PTX counts.
fn predict(kernel: &str, gpu: &str, model: &str) -> Prediction {
    let model = <dyn Model>::by_name(model).unwrap();
    let counts = common::counts(MachineChoice::None, model.needs());
    let source = common::counted(kernel, &common::sized(Size::Paper), gpu, &counts);
    let gpu = GpuLibrary::builtin().unwrap().get(gpu).unwrap();
    model.predict(&source.profile, &gpu, &source.conditions).unwrap()
}

fn on_gtx_285(kernel: &str) -> Prediction {
    predict(kernel, "gtx-285", "component-throughput")
}

fn on_v100(kernel: &str) -> Prediction {
    predict(kernel, "tesla-v100-sxm2", "hierarchical-roofline")
}

/// A number among the model's parameters or intermediate values.
fn number(prediction: &Prediction, symbol: &str) -> f64 {
    let found = [&prediction.parameters, &prediction.intermediate].map(|values| values.get(symbol));
    let number = found.into_iter().flatten().find_map(SymbolValue::as_f64);
    number.unwrap_or_else(|| panic!("{} has no number {symbol}", prediction.model))
}

/// A name among the intermediate values.
fn name(prediction: &Prediction, symbol: &str) -> &'static str {
    match prediction.intermediate.get(symbol) {
        Some(SymbolValue::Name(name)) => name,
        other => panic!("{symbol} is {other:?}"),
    }
}

/// The time of a resource in a part.
fn component(part: &Part, resource: Bound) -> f64 {
    part.components.iter().find(|component| component.resource == resource).unwrap().time_ms
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
        ("matmul-volkov-8", Bound::Compute, Bound::Memory, 16.0, 9.05, 1112.0),
        ("matmul-volkov-16", Bound::Compute, Bound::Shared, 16.0, 9.05, 1112.0),
        ("matmul-volkov-32", Bound::Shared, Bound::Compute, 6.0, 8.39, 870.0),
    ] {
        let prediction = on_gtx_285(kernel);
        assert_eq!(prediction.bound, bound, "{kernel}");
        assert_eq!(number(&prediction, "warps_per_SM"), warps, "{kernel}");
        assert_near(number(&prediction, "T_II"), ginst, 1e-6);
        assert_near(number(&prediction, "B_shared"), gbps, 1e-6);
        assert_eq!(name(&prediction, "stages"), "overlapped");
        // What comes next is the second longest of the three components.
        let mut components = prediction.parts[0].components.clone();
        components.sort_by(|a, b| b.time_ms.total_cmp(&a.time_ms));
        assert_eq!(components[1].resource, next, "{kernel}");
        assert_near(number(&prediction, "t_next"), components[1].time_ms, 1e-12);
        times.push(prediction.time_ms);
    }
    // "However, in reality, a size of 16 x 16 actually achieves the best performance."
    assert!(times[1] < times[0] && times[1] < times[2], "{times:?}");
}

/// Bounds of the stages, and the times of compute, shared and global memory in each.
fn stages(prediction: &Prediction) -> Vec<(Bound, [f64; 3])> {
    let resources = [Bound::Compute, Bound::Shared, Bound::Memory];
    let times = |part| resources.map(|resource| component(part, resource));
    prediction.parts.iter().map(|part| (part.bound, times(part))).collect()
}

/// Figures 6 and 7, from the passes that are counted, and from those of the paper: there the
/// conflicts of the fourth step stay until the end, though fewer threads than banks are left.
#[test]
fn cyclic_reduction_is_bound_as_in_figure_6() {
    let [plain, padded] = ["cyclic-reduction", "cyclic-reduction-nbc"].map(on_gtx_285);
    for prediction in [&plain, &padded] {
        assert_eq!(name(prediction, "stages"), "serialised");
        assert_eq!(number(prediction, "blocks_per_SM"), 1.0);
    }
    let (counted, without_conflicts) = (stages(&plain), stages(&padded));
    let bounds =
        |stages: &[(Bound, [f64; 3])]| stages.iter().map(|&(bound, _)| bound).collect::<Vec<_>>();
    // "CR is bound by global memory access in step 0, by instruction throughput in step 1, and by
    // shared memory access in all subsequent steps": as long as the counted passes stay what they
    // are.
    let counted_bounds = bounds(&counted);
    let [compute, shared, memory] = [Bound::Compute, Bound::Shared, Bound::Memory];
    assert_eq!(counted_bounds[..5], [memory, compute, shared, shared, shared]);
    assert_eq!(counted_bounds[5..], [compute; 5]);
    // CR-NBC: instructions in every step.
    assert_eq!(bounds(&without_conflicts)[0], memory);
    assert_eq!(bounds(&without_conflicts)[1..], [compute; 9]);

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
    let padded_ms = padded.time_ms;
    // "Which improves the performance of CR by 1.6 x."
    assert_near(plain_ms / padded_ms / 1.6, 1.0, 0.1);
    // "CR-NBC has a similar instruction count to CR": with the same one, and no conflicts at all.
    let without = counted.iter().map(|(_, [compute, _, memory])| compute.max(*memory));
    assert_near(plain_ms / without.sum::<f64>() / 1.6, 1.0, 0.05);
    // Regrouping leaves no conflicts indeed; counted passes then leave less to gain than the
    // paper's.
    let regrouped = on_gtx_285("cyclic-reduction-regrouped");
    let [passes, free] = ["N_shared", "N_shared_free"].map(|symbol| number(&regrouped, symbol));
    assert_eq!(passes, free);
    assert_eq!(bounds(&stages(&regrouped))[1..], [compute; 9]);
    let time = |prediction: &Prediction| prediction.time_ms;
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
        assert_eq!(prediction.bound, Bound::Memory);
        let [_, next] = ["t_global", "t_instruction"].map(|time| number(prediction, time));
        assert_near(number(prediction, "t_next"), next, 1e-12);
    }
    let times = all.map(|prediction| prediction.time_ms);
    assert!(times.is_sorted_by(|a, b| a > b), "{times:?}");
}

/// "FLOPs halves, bytes doesn't change, thus AI halves and GFLOP/s halves. Runtime is comparable."
#[test]
fn gsrb_branch_has_half_the_intensity_and_takes_as_long() {
    let [fp, branch, stride2] = ["gsrb-fp", "gsrb-branch", "gsrb-stride2"].map(on_v100);
    for prediction in [&fp, &branch, &stride2] {
        // "Highly bandwidth bound, inherent to stencil codes."
        assert_eq!(prediction.bound, Bound::Memory);
    }
    let ratio = |symbol: &str| number(&branch, symbol) / number(&fp, symbol);
    // 10.5 operations of 22; the mask that only gsrb-fp reads is the difference in bytes.
    assert_near(ratio("FLOPs"), 0.477, 0.001);
    for bytes in ["bytes_L1", "bytes_L2", "bytes_DRAM"] {
        assert_near(ratio(bytes), 1.0, 0.1);
    }
    for intensity in ["AI_L1", "AI_L2", "AI_DRAM"] {
        assert_near(ratio(intensity), 0.5, 0.05);
    }
    assert_near(ratio("T_predicted"), 0.5, 0.05);
    let time = |prediction: &Prediction| prediction.time_ms;
    assert_near(time(&branch) / time(&fp), 1.0, 0.1);
    // "Extra writes in GSRB_STRIDE2": slower.
    assert!(time(&stride2) > time(&branch));
}

/// GPP: "AI increases as nw grows; GPP moves from a bandwidth bound region to a compute bound
/// region"; no-FMA at the no-FMA ceiling; a stride doubles the bytes of L1.
#[test]
fn gpp_moves_from_bandwidth_to_compute() {
    let all = ["gpp-nw1", "gpp-nw4", "gpp-nw6"].map(on_v100);
    let intensities = all.each_ref().map(|each_ref| number(each_ref, "AI_DRAM"));
    assert!(intensities.is_sorted_by(|a, b| a < b), "{intensities:?}");
    let bytes = all.each_ref().map(|each_ref| number(each_ref, "bytes_DRAM"));
    assert_near(bytes[2] / bytes[0], 1.0, 0.01);
    let bounds = all.each_ref().map(|each_ref| each_ref.bound);
    assert_eq!(bounds, [Bound::Memory, Bound::Memory, Bound::Compute]);

    let [_, _, nw6] = &all;
    let no_fma = on_v100("gpp-no-fma");
    assert_eq!(number(&no_fma, "alpha_fp64"), 0.0);
    assert_near(number(&no_fma, "T_predicted"), number(&no_fma, "fp64_no_FMA_measured"), 1e-6);
    // "At nw=6, GPP has alpha = 60 % of FMA instructions; expected performance is beta = 80 %."
    assert_near(number(nw6, "alpha_fp64"), 0.60, 0.01);
    let beta = number(nw6, "beta_fp64");
    assert_near(beta, (1.0 + number(nw6, "alpha_fp64")) / 2.0, 1e-12);
    assert_near(number(nw6, "T_predicted"), beta * number(nw6, "fp64_FMA_measured"), 1e-6);

    let stride2 = on_v100("gpp-stride2");
    let l1 = |prediction: &Prediction| number(prediction, "bytes_L1");
    assert_near(l1(&stride2) / l1(nw6), 2.0, 0.07);
    // "GPP moves from compute bound to bandwidth bound."
    assert_eq!(stride2.bound, Bound::Memory);
}
