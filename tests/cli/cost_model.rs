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

/// Section 8.5, at n = 112: tiles of 16 x 16 and 18 x 18 threads are fetched with one load of each
/// thread. The inner 14 x 14 and 16 x 16 threads compute, each with five loads of shared memory.
/// The warps that hold inner threads are 7 of 8, and 9 of 11.
#[test]
fn the_example_of_finite_differences_counts_what_section_8_5_says() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/cost-models/finite-differences.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let points = 112.0 * 112.0;
    for (kernel, blocks, expected) in [
        (
            "finite-differences-16",
            64.0,
            [
                ("p_u_16", 64.0 * 256.0),
                ("p_result_16", points),
                ("p_lmem", 64.0 * (8.0 + 5.0 * 7.0)),
            ],
        ),
        (
            "finite-differences-18",
            49.0,
            [("p_u_18", 49.0 * 324.0), ("p_gmem", points), ("p_lmem", 49.0 * (11.0 + 5.0 * 9.0))],
        ),
    ] {
        let arguments = PREDICT.replacen("predict", &format!("predict {kernel}"), 1);
        let predicted =
            json(&format!("{arguments} --gpu titan-v --cost-model {file} --format json"));
        let prediction = &predicted["predictions"][0];
        let of = |parameter: &str| table["parameters"][parameter]["value"].as_float().unwrap();
        let mut memory: Vec<f64> = Vec::new();
        for part in prediction["parts"].as_array().unwrap() {
            if ["memory", "shared"].iter().any(|resource| part["bound"] == *resource) {
                memory.push(part["time_ms"].as_f64().unwrap() * 1e-3);
            }
        }
        assert_eq!(memory.len(), expected.len(), "{kernel}: {prediction}");
        for (seconds, (parameter, count)) in memory.iter().zip(expected) {
            let found = seconds / of(parameter);
            assert!((found / count - 1.0).abs() < 1e-9, "{kernel} {parameter}: {found} {count}");
        }
        assert_eq!(prediction["parameters"]["work-groups"], blocks, "{kernel}");
        // Nothing is left without a cost, and nothing has two.
        let codes = prediction["warning_codes"].as_array().unwrap();
        assert_eq!(codes, &["absent-features"], "{kernel}");
    }
}

/// The terms of a file serve several models.
#[test]
fn a_model_takes_the_terms_of_a_file() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/cost-models/dg.toml");
    let measure = "calibrate cost --measure 'flops_madd_pattern dtype:float32 nelements:32768 \
                   m:64,128' --measure 'flops_add_pattern dtype:float32 nelements:32768 m:64,128' \
                   --measure 'lmem_move_pattern dtype:float32 nelements:32768 m:64,128' \
                   --on sm-simulation:titan-v --machine rules --format json";
    let document = json(&format!("{measure} --like {file} --model c_on_chip"));
    assert_eq!(document["terms"].as_object().unwrap().keys().collect::<Vec<_>>(), ["c_on_chip"]);
    let parameters = document["cost"]["parameters"].as_array().unwrap();
    let names: Vec<&str> =
        parameters.iter().map(|parameter| parameter["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["p_add", "p_madd", "p_lmem"]);
}

/// Four loads of neighbouring elements are one in the machine code, which has its own feature.
#[test]
fn joined_loads_count_once_at_the_level_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let made = made.to_str().unwrap();
    let launch = stdout(&format!(
        "kernels generate matmul_sq dtype:float32 prefetch:True groups_fit:True n:64 \
         --target sm_70 -o {made}"
    ));
    let launch = launch.lines().find(|line| line.ends_with(".toml")).unwrap();
    let profile = |machine| {
        json(&format!(
            "profile {launch} --by access --gpu titan-v --machine {machine} --format json"
        ))
    };
    let document = profile("rules");
    let accesses = document["launches"][0]["features"][0]["accesses"].as_array().unwrap();
    // Of a tile of a, all threads of a row read the same element: a stride of 0 along x.
    let is_of_a = |one: &&serde_json::Value| {
        one["memory"] == "local" && one["direction"] == "load" && one["local_strides"][0] == 0.0
    };
    let of_a = accesses.iter().find(is_of_a).unwrap();
    // n^3 / 32 loads of warps, by fours.
    let warps = 64_u64.pow(3) / 32;
    assert_eq!(of_a["sub_groups"], warps);
    let expected =
        serde_json::json!([{ "width": 4.0, "work_items": 8 * warps, "sub_groups": warps / 4 }]);
    assert_eq!(of_a["machine"], expected);
    let without = profile("none");
    let accesses = &without["launches"][0]["features"][0]["accesses"];
    assert_eq!(accesses[0]["machine"], serde_json::Value::Null);

    // A model that asks for such features without machine code is told what helps.
    let model = "--model p_a*f_machine_access_local+p_b*f_thread_groups";
    let refusal = refused(&format!(
        "calibrate cost --measure 'matmul_sq dtype:float32 prefetch:True groups_fit:True n:64' \
         --on component-throughput:titan-v --machine none {model}"
    ));
    assert!(refusal.contains("counts machine instructions"), "{refusal}");
    assert!(refusal.contains("--machine rules"), "{refusal}");
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
    let sample = samples.iter().find(|sample| sample["name"] == tags).unwrap();
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
