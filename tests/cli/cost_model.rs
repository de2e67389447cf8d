//! `gpucast calibrate cost`, `profile --by access`, and `predict --model cost-model`.

use crate::gpucast::{gpucast, json, stdout};

const SAMPLES: &str = "cost-samples.csv";
const PREDICT: &str = "predict --size small --machine none --model cost-model";

/// A linear model of the kernels in the samples.
const MODEL: &str = "p_madd*f_op_float32_madd+p_load*f_mem_access_global_float32_load\
                     +p_store*f_mem_access_global_float32_store+p_local*f_mem_access_local_float32\
                     +p_group*f_thread_groups+p_launch*f_sync_kernel_launch";

#[test]
fn accesses_are_shown_with_their_patterns() {
    let profile =
        |kernel| stdout(&format!("profile {kernel} --size small --machine none --by access"));
    insta::assert_snapshot!("accesses-matmul-prefetch", profile("matmul-prefetch"));
    // Addresses that come from memory, and atomics.
    insta::assert_snapshot!("accesses-histogram", profile("histogram"));
    let arguments = "profile matmul-direct --size small --machine none --by access";
    insta::assert_snapshot!("accesses-csv", stdout(&format!("{arguments} --format csv")));
    let document = json(&format!("{arguments} --format json"));
    let features = &document["launches"][0]["features"][0];
    assert_eq!(features["thread_groups"], 16);
    let a = &features["accesses"][0];
    assert_eq!((&a["buffer"], &a["local_strides"][1]), (&"a".into(), &64.0.into()));
    // Uniform: counted by sub-groups.
    assert_eq!(a["count"], a["sub_groups"]);
    assert_eq!(a["access_to_footprint"], 64.0);
}

#[test]
fn features_do_not_depend_on_the_number_of_threads() {
    for kernel in ["spmv-ell", "reduction-f32", "finite-differences-16"] {
        let with = |threads| {
            stdout(&format!(
                "profile {kernel} --size small --machine none --by access --threads {threads}"
            ))
        };
        assert_eq!(with(1), with(5), "{kernel}");
    }
}

/// The samples are synthetic: see the comment in the file for the costs that they were made with.
#[test]
fn samples_give_back_the_costs_that_they_were_made_with() {
    let arguments = format!("calibrate cost {SAMPLES} --gpu titan-v --model {MODEL}");
    insta::assert_snapshot!("calibrate-cost", stdout(&arguments));
    let document = json(&format!("{arguments} --format json"));
    assert_eq!(document["schema"], "gpucast.calibration/1");
    let truth = [4e-10, 6e-11, 9e-11, 7e-10, 3e-8, 5e-6];
    let parameters = document["cost"]["parameters"].as_array().unwrap();
    assert_eq!(parameters.len(), truth.len());
    for (parameter, truth) in parameters.iter().zip(truth) {
        let number = |name: &str| parameter[name].as_f64().unwrap();
        assert!((number("value") - truth).abs() < number("margin"), "{parameter} {truth}");
    }
    assert_eq!(document["negative"].as_array().map(Vec::len), Some(0));
}

/// What is saved predicts: the samples' own kernel as the calibration models it.
#[test]
fn a_calibration_predicts_what_it_was_made_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("titan-v.toml");
    let file = file.to_str().unwrap();
    let arguments = format!("calibrate cost {SAMPLES} --gpu titan-v --model {MODEL}");
    let calibrated = json(&format!("{arguments} --format json --save {file}"));
    let samples = calibrated["cost"]["samples"].as_array().unwrap();
    let modelled = |kernel: &str| {
        let sample = samples.iter().find(|sample| sample["name"] == kernel).unwrap();
        sample["modelled"].as_f64().unwrap() * 1e3
    };
    for kernel in ["matmul-prefetch", "transpose"] {
        let arguments = PREDICT.replacen("predict", &format!("predict {kernel}"), 1);
        let predicted =
            json(&format!("{arguments} --gpu titan-v --cost-model {file} --format json"));
        let time = predicted["predictions"][0]["time_ms"].as_f64().unwrap();
        assert!((time / modelled(kernel) - 1.0).abs() < 1e-6, "{time} {}", modelled(kernel));
    }
    // The same model, calibrated again from its file.
    let again =
        json(&format!("calibrate cost {SAMPLES} --gpu titan-v --like {file} --format json"));
    assert_eq!(again["cost"]["parameters"], calibrated["cost"]["parameters"]);
}

#[test]
fn the_papers_table_3_predicts() {
    let arguments = PREDICT.replacen("predict", "predict matmul-prefetch", 1);
    insta::assert_snapshot!(
        "predict-cost-model",
        stdout(&format!("{arguments} --gpu titan-v --cost-model stevens-matmul"))
    );
}

fn refused(arguments: &str) -> String {
    let outcome = gpucast(arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{arguments}");
    outcome.transcript()
}

#[test]
fn predictions_without_a_calibration_are_refused() {
    let arguments = PREDICT.replacen("predict", "predict transpose", 1);
    let mut all = String::new();
    for rest in [
        "--gpu titan-v",
        "--gpu gtx-480 --cost-model stevens-matmul",
        "--gpu titan-v --cost-model stevens-matmull",
        "--gpu titan-v --cost-model broken/cost-model.toml",
        "--gpu titan-v --cost-model stevens-matmul --cost-model stevens-matmul",
        "--gpu titan-v --cost-model cost-model-sizes.toml",
    ] {
        all += &refused(&format!("{arguments} {rest}"));
        all.push('\n');
    }
    insta::assert_snapshot!("cost-model-refusals", all);
    // With the size that the last file asks for it predicts.
    let sized = format!("{arguments} --gpu titan-v --cost-model cost-model-sizes.toml --let n=70");
    assert!(stdout(&sized).contains("lstrides:{1:<=n}"));
}

#[test]
fn bad_samples_and_models_are_pointed_at() {
    let mut all = String::new();
    for arguments in [
        "broken/cost-column.csv --model p_a*f_thread_groups",
        "broken/cost-feature.csv --model p_a*f_thread_groups",
        "broken/cost-number.csv --model p_a*f_thread_groups",
        "broken/cost-no-time.csv --model p_a*f_thread_groups",
        "broken/cost-lacking.csv --model p_a*f_work_items",
        "broken/cost-lacking.csv --model p_a*f_thread_groups+p_b",
        "cost-samples.csv --model p_a*f_thread_grops",
        "cost-samples.csv --model p_a*f_op_float64_madd",
        "cost-samples.csv --model p_a*f_thread_groups+p_b*f_thread_groups",
        "cost-samples.csv --model p_a*f_thread_groups --start p_b=1",
    ] {
        all += &refused(&format!("calibrate cost {arguments} --gpu titan-v"));
        all.push('\n');
    }
    insta::assert_snapshot!("calibrate-cost-refusals", all);
}

/// Two costs of a GPU, from kernels that are made, executed and timed in one command.
const MEASURE: &str = "calibrate cost --measure 'flops_madd_pattern dtype:float32 nelements:32768 \
                       m:64,128,256' --measure 'transpose dtype:float32 n:64' \
                       --model p_madd*f_op_float32_madd+p_g*f_mem_access_global\
                       +p_launch*f_sync_kernel_launch --machine rules";

#[test]
fn tags_become_a_model_that_predicts_in_one_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made.toml");
    let file = file.to_str().unwrap();
    let measure = format!("{MEASURE} --on sm-simulation:titan-v");
    // What is left out is said, with the reason.
    let text = stdout(&format!("{measure} --save {file}"));
    for words in [
        "6 measurement kernels, timed by sm-simulation for titan-v",
        "left out: 1, because only tiles are padded",
        "s per f_op_float32_madd",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let document = json(&format!("{measure} --format json"));
    let measured = &document["measured"];
    assert_eq!((&measured["model"], &measured["kernels"]), (&"sm-simulation".into(), &6.into()));
    let left_out = &measured["left_out"][0]["tags"];
    assert_eq!(left_out, "transpose dtype:float32 prefetch:False padded:True n:64");

    // A kernel of the samples: its time is the simulation's, and the file gives the modelled one.
    let tags = "flops_madd_pattern dtype:float32 nelements:32768 m:256";
    let samples = document["cost"]["samples"].as_array().unwrap();
    let sample = samples.iter().find(|one| one["name"] == tags).unwrap();
    let made = folder.path().join("made");
    let made = made.to_str().unwrap();
    let launch = stdout(&format!("kernels generate {tags} --target sm_70 -o {made}"));
    let launch = launch.lines().find(|line| line.ends_with(".toml")).unwrap();
    let predicted = json(&format!(
        "predict {launch} --gpu titan-v --model sm-simulation,cost-model --cost-model {file} \
         --machine rules --format json"
    ));
    for (at, name) in ["measured", "modelled"].into_iter().enumerate() {
        let time = predicted["predictions"][at]["time_ms"].as_f64().unwrap() * 1e-3;
        let expected = sample[name].as_f64().unwrap();
        assert!((time / expected - 1.0).abs() < 1e-6, "{name}: {time} {expected}");
    }
    assert!(std::fs::read_to_string(file).unwrap().contains("none measured"));
}

#[test]
fn tags_that_cannot_be_measured_are_refused() {
    let model = "--model p_a*f_thread_groups";
    let mut all = String::new();
    for arguments in [
        "--measure 'transpose n:64'",
        "--measure 'transpose dtype:flaot32' --on sm-simulation:titan-v",
        "--measure 'matmul_sq finite_diff' --on sm-simulation:titan-v",
        "--measure empty_knl --on sm-simulation:tesla-c2070",
        "--measure empty_knl --on sm-simulatoin:titan-v",
        "--measure empty_knl --on titan-v",
        "--measure empty_knl --on all:titan-v",
        "--measure empty_knl --on cost-model:titan-v",
        "--measure 'tensor_pattern product:int8_m16n8k32' --on sm-simulation:titan-v",
    ] {
        let outcome = gpucast(&format!("calibrate cost {arguments} {model}"));
        assert_ne!(outcome.status, 0, "{arguments}");
        all += &outcome.transcript();
        all.push('\n');
    }
    insta::assert_snapshot!("calibrate-measure-refusals", all);
}
