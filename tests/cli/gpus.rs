//! `gpucast gpus`.

use crate::gpucast::{gpucast, is_nightly, json, stdout};

#[test]
fn the_list_as_text_shows_what_tells_gpus_apart() {
    let list = stdout("gpus list");
    // The library grows; these seven are those of Konstantinidis 2017.
    let thesis: Vec<&str> = list
        .lines()
        .filter(|line| {
            ["name", "gtx-480", "gtx-660", "gtx-960", "gtx-1060", "tesla-m2050", "tesla-k20c"]
                .iter()
                .chain(&["r9-nano"])
                .any(|name| line.split_whitespace().next() == Some(name))
        })
        .collect();
    assert_eq!(thesis.len(), 8, "{list}");
    let squeezed: Vec<String> =
        thesis.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    insta::assert_snapshot!("gpus-list", squeezed.join("\n"));
}

#[test]
fn a_gpu_shows_every_figure_with_its_source() {
    insta::assert_snapshot!("gpus-show", stdout("gpus show gtx-660"));
    let shown = json("gpus show gtx-660 --format json");
    assert_eq!(shown["schema"], "gpucast.gpus/1");
    insta::assert_json_snapshot!("gpus-show-bandwidth", shown["gpus"][0]["memory_bandwidth"]);
}

#[test]
fn the_list_as_json_and_csv_holds_the_same_figures() {
    let list = json("gpus list --format json");
    assert_eq!(list["schema"], "gpucast.gpus/1");
    let gpus = list["gpus"].as_array().unwrap();
    let gpu = gpus.iter().find(|gpu| gpu["name"] == "gtx-480").unwrap();
    let bandwidth = gpu["memory_bandwidth"]["value"].as_f64().unwrap();
    let csv = stdout("gpus list --format csv");
    let row = csv.lines().find(|line| line.starts_with("gtx-480,memory_bandwidth,")).unwrap();
    assert!(row.starts_with(&format!("gtx-480,memory_bandwidth,{bandwidth},GB/s,benchmark,")));
}

#[test]
fn the_list_can_be_narrowed_to_words() {
    insta::assert_snapshot!("gpus-list-hopper", stdout("gpus list hopper"));
    let names = |words: &str| -> Vec<String> {
        let list = json(&format!("gpus list {words} --format json"));
        let gpus = list["gpus"].as_array().unwrap();
        gpus.iter().map(|gpu| gpu["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("amd"), ["r9-nano", "r9-fury"]);
    assert_eq!(names("ada rtx 40"), ["rtx-4060", "rtx-4070", "rtx-4080", "rtx-4090"]);
    assert_eq!(names("v100 sxm"), ["tesla-v100-sxm2"]);
    insta::assert_snapshot!("gpus-list-nothing", gpucast("gpus list voodoo").transcript());
}

#[test]
fn fields_say_what_reads_them() {
    insta::assert_snapshot!("gpus-fields", stdout("gpus fields l2 bandwidth"));
    let csv = stdout("gpus fields --format csv");
    assert_eq!(csv.lines().count(), 1 + gpucast_model::Gpu::FIELDS.len());
    let nothing = gpucast("gpus fields antimatter");
    assert_eq!(nothing.status, 1);
    assert!(nothing.stderr.contains("no field of a GPU has the words"), "{}", nothing.stderr);
}

#[test]
fn a_gpu_can_be_shown_with_changes() {
    let shown = stdout("gpus show h100 --set sm_count=144 --set memory_bandwidth=1.2x");
    let line = |field: &str| shown.lines().find(|line| line.contains(field));
    let fields = ["sm_count", "sp_throughput", "  memory_bandwidth", "peak_memory_bandwidth"];
    let shown: Vec<&str> = fields.into_iter().filter_map(line).collect();
    insta::assert_snapshot!("gpus-show-set", shown.join("\n"));
    for wrong in ["sm_count", "sm_count=many", "smcount=3", "memory_bandwidth=3"] {
        let outcome = gpucast(&format!("gpus show h100 --set {wrong}"));
        assert_eq!(outcome.stdout, "");
        let status = if wrong.contains('=') { 1 } else { 2 };
        assert_eq!(outcome.status, status, "{wrong}: {}", outcome.stderr);
    }
}

#[test]
fn a_file_is_derived_from_a_data_sheet() {
    let arguments = "gpus derive --name my-gpu --display-name 'My GPU' --compute-capability 8.9 \
                     --sm-count 60 --clock '2.5 GHz' --memory-bandwidth '500 GB/s' \
                     --memory-type GDDR6X --l2-size '48 MiB' --set tensor_rate=256 --source 'a data sheet'";
    insta::assert_snapshot!("gpus-derive", stdout(arguments));
    insta::assert_snapshot!("gpus-derive-given", stdout(&format!("{arguments} --given-only")));
    let based = stdout("gpus derive --name h100-big --base h100 --sm-count 2x --given-only");
    insta::assert_snapshot!("gpus-derive-base", based);
    insta::assert_snapshot!("gpus-derive-wrong", [
        "gpus derive --name g --compute-capability 4.0 --sm-count 6 --clock '1 GHz' --memory-bandwidth '1 GB/s'",
        "gpus derive --name g --compute-capability 8.9 --sm-count 6 --clock 1000 --memory-bandwidth '1 GB/s'",
        "gpus derive --name 'My GPU' --compute-capability 8.9 --sm-count 6 --clock '1 GHz' --memory-bandwidth '1 GB/s'",
        "gpus derive --name g --compute-capability 8.9 --sm-count 2x --clock '1 GHz' --memory-bandwidth '1 GB/s'",
        "gpus derive --name g --sm-count 2",
    ].map(|arguments| gpucast(arguments).transcript()).join("\n"));
}

#[test]
fn files_build_on_gpus_and_on_files() {
    let diff = stdout("gpus diff h100-sxm h100-after-next.toml");
    insta::assert_snapshot!("gpus-diff", diff);
    assert_eq!(
        stdout("gpus diff v100 tesla-v100-sxm2"),
        "tesla-v100-sxm2 and tesla-v100-sxm2 do not differ\n"
    );
    let fields = &json("gpus diff h100-sxm h100-next.toml --format json")["fields"];
    let sms = fields.as_array().unwrap().iter().find(|row| row["field"] == "sm_count").unwrap();
    assert_eq!((&sms["one"]["value"], &sms["other"]["value"]), (&132.into(), &144.into()));
    let csv = stdout("gpus diff h100-sxm h100-next.toml --format csv");
    assert!(csv.contains("sm_count,SM,132,benchmark,144,assumed,1.09"), "{csv}");
    let wrong = ["gpu-loop-a", "gpu-base", "gpu-change"];
    let answers = wrong.map(|file| gpucast(&format!("gpus show broken/{file}.toml")).transcript());
    insta::assert_snapshot!("gpus-broken-bases", answers.join("\n"));
}

#[test]
fn a_gpu_is_imported_from_what_benchmarks_print() {
    let folder = "../../model/tests/imports";
    let imported = stdout(&format!(
        "gpus import {folder}/cachebench-gtx-480.txt {folder}/shmembench-gtx-480.txt --name my-480"
    ));
    insta::assert_snapshot!("gpus-import", imported);
    let ert = stdout(&format!("gpus import {folder}/roofline-v100.json --name v100-ert"));
    insta::assert_snapshot!("gpus-import-ert", ert);
    let second =
        stdout(&format!("gpus import {folder}/device-query-two.txt --device 1 --complete"));
    assert!(second.contains("name = \"nvs-310\"") && second.contains("sp_throughput"), "{second}");
    let wrong = [
        "saxpy.toml".to_owned(),
        format!("{folder}/roofline-v100.json"),
        format!("{folder}/roofline-cpu.json --name g"),
        format!("{folder}/device-query-two.txt --format ert"),
        format!("{folder}/device-query-two.txt --device 2"),
        format!("{folder}/device-query-two.txt {folder}/shmembench-gtx-480.txt"),
        "no-such-file".to_owned(),
    ];
    let answers = wrong.map(|arguments| gpucast(&format!("gpus import {arguments}")).transcript());
    insta::assert_snapshot!("gpus-import-wrong", answers.join("\n"));
}

/// Whether there is a null, a negative number or one that is none anywhere in a value.
fn is_sound(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => false,
        serde_json::Value::Number(number) => number.as_f64().is_some_and(|n| n >= 0.0),
        serde_json::Value::Array(values) => values.iter().all(is_sound),
        serde_json::Value::Object(map) => map.values().all(is_sound),
        serde_json::Value::Bool(_) | serde_json::Value::String(_) => true,
    }
}

/// The units that models of papers leave out by their equations, in the words of `below-roof`. The
/// simulation and the interval model have them all.
const LEFT_OUT: [(&str, &[&str]); 3] = [
    // A measured throughput may be that of a GPU which clocks higher than it is listed (gtx-960,
    // rtx-2070).
    ("quantitative-roofline", &["L2", "first-level cache", "single-precision", "double-precision"]),
    ("component-throughput", &["L2", "first-level cache"]),
    // Its roof of the L2 has one bandwidth for reads and writes, that of the L1 knows no tags, and
    // instructions besides arithmetic take no slots.
    (
        "hierarchical-roofline",
        &["writes of the L2", "first-level cache", "issue slots", "double-precision"],
    ),
];

/// All pairs by all models where `GPUCAST_NIGHTLY` asks for them. Otherwise each kernel meets every
/// thirty-sixth GPU, the next one others, so that each GPU meets as small a part of the kernels.
#[test]
fn every_gpu_predicts_every_kernel_of_the_corpus() {
    let list = json("gpus list --format json");
    let gpus: Vec<&str> =
        list["gpus"].as_array().unwrap().iter().map(|gpu| gpu["name"].as_str().unwrap()).collect();
    assert!(gpus.len() >= 45);
    let stride = if is_nightly() { 1 } else { 36 };
    let corpus = json("corpus list --format json");
    let mut below_roofs = Vec::new();
    for (at, kernel) in corpus["kernels"].as_array().unwrap().iter().enumerate() {
        let targets = kernel["targets"].as_array().unwrap();
        // PTX of later generations needs one of their GPUs.
        let able: &[&str] = match targets[0].as_str().unwrap() {
            "sm_35" => &gpus,
            "sm_80" | "sm_89" => &["rtx-4090", "h100-sxm", "b200", "rtx-5090"],
            "sm_90a" => &["h100-pcie", "h200"],
            "sm_100a" => &["b200"],
            other => panic!("{other}"),
        };
        let kernel = kernel["name"].as_str().unwrap();
        let (first, step) = (at % stride.min(able.len()), stride.min(able.len()));
        let met: Vec<&str> = able.iter().copied().skip(first).step_by(step).collect();
        let all = met.join(",");
        let result =
            json(&format!("predict {kernel} --size small --gpu {all} --model all --format json"));
        let predictions = result["predictions"].as_array().unwrap();
        let predicted: Vec<&str> =
            predictions.iter().map(|prediction| prediction["gpu"].as_str().unwrap()).collect();
        assert!(met.iter().all(|gpu| predicted.contains(gpu)), "{kernel}");
        for prediction in predictions {
            assert!(prediction["time_ms"].as_f64().unwrap() > 0.0, "{kernel}: {prediction}");
            assert!(is_sound(prediction), "{kernel}: {prediction}");
            let sentences = prediction["warnings"].as_array().into_iter().flatten();
            let codes = prediction["warning_codes"].as_array().into_iter().flatten();
            let of = |field: &str| prediction[field].as_str().unwrap();
            let left_out = LEFT_OUT.iter().find(|(model, _)| *model == of("model"));
            let has_unit = |sentence: &str| {
                !left_out.is_some_and(|(_, units)| units.iter().any(|unit| sentence.contains(unit)))
            };
            let below = sentences.zip(codes).filter(|(sentence, code)| {
                *code == "below-roof" && has_unit(sentence.as_str().unwrap())
            });
            below_roofs.extend(below.map(|(sentence, _)| {
                format!("{kernel} on {} by {}: {sentence}", of("gpu"), of("model"))
            }));
        }
    }
    assert!(below_roofs.is_empty(), "{}", below_roofs.join("\n"));
}
