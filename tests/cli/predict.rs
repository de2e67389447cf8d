//! `gpucast predict`.

use serde_json::Value;

use crate::gpucast::{command, gpucast, json, outcome, stdout, without_interval};

/// The GPUs of Konstantinidis 2017.
const GPUS: &str = "gtx-480,gtx-660,gtx-960,gtx-1060,tesla-m2050,tesla-k20c,r9-nano";

#[test]
fn published_counts_on_one_gpu_as_text() {
    insta::assert_snapshot!(
        "predict-text",
        stdout("predict --from-metrics sgemm-metrics.toml --gpu gtx-660")
    );
}

#[test]
fn published_counts_on_every_gpu_of_the_thesis() {
    let arguments = format!("predict --from-metrics sgemm-metrics.toml --gpu {GPUS}");
    let text = stdout(&arguments);
    let table = text.split("\nCounts").next().unwrap();
    insta::assert_snapshot!("predict-comparison", table);
    insta::assert_snapshot!("predict-csv", stdout(&format!("{arguments} --format csv")));
}

#[test]
fn published_counts_as_json() {
    insta::assert_snapshot!(
        "predict-json",
        stdout("predict --from-metrics sgemm-metrics.toml --gpu gtx-660 --format json")
    );
}

/// The times that the thesis predicts from the same counts, table 5.13 (SGEMM).
#[test]
fn sgemm_from_published_counts_takes_the_predicted_time_of_the_thesis() {
    let result = json("predict --from-metrics sgemm-metrics.toml --gpu gtx-660 --format json");
    let time = result["predictions"][0]["time_ms"].as_f64().unwrap();
    assert!((time - 5.171).abs() < 0.0005, "{time}");
}

#[test]
fn an_executed_kernel_on_every_gpu_of_the_thesis_in_one_call() {
    let model = "--model quantitative-roofline";
    let result = json(&format!("predict sgemm --size small --gpu {GPUS} {model} --format json"));
    assert_eq!(result["schema"], "gpucast.predictions/1");
    let predictions = result["predictions"].as_array().unwrap();
    let gpus: Vec<&str> = predictions.iter().map(|it| it["gpu"].as_str().unwrap()).collect();
    assert_eq!(gpus.join(","), GPUS);
    for prediction in predictions {
        let keys: Vec<&str> = prediction.as_object().unwrap().keys().map(String::as_str).collect();
        let form = [
            "kernel",
            "gpu",
            "model",
            "time_ms",
            "clock_mhz",
            "bound",
            "parameters",
            "intermediate",
        ];
        assert!(keys.starts_with(&form), "{keys:?}");
        assert!(keys.contains(&"warnings"), "{keys:?}");
        // 96 x 64 x 64 multiply-adds, two operations each.
        assert_eq!(prediction["parameters"]["W_comp"], 2 * 96 * 64 * 64);
        assert_eq!(prediction["parameters"]["K_type"], "fp32");
        assert!(prediction["time_ms"].as_f64().unwrap() > 0.0);
        // The measured times are those of the full size.
        assert_eq!(prediction.get("published"), None);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let of = |threads: &str| {
        let mut command = command("predict sgemm --size small --gpu gtx-660 --format json");
        command.env("RAYON_NUM_THREADS", threads);
        outcome(command).stdout
    };
    assert_eq!(of("1"), of("2"));
}

#[test]
fn repeated_gpu_options_and_gpu_files_work() {
    let arguments = "predict --from-metrics sgemm-metrics.toml --format json";
    let list = json(&format!("{arguments} --gpu gtx-480,my-gpu.toml"));
    let repeated = json(&format!("{arguments} --gpu gtx-480 --gpu my-gpu.toml"));
    assert_eq!(list, repeated);
    assert_eq!(list["predictions"][1]["gpu"], "my-gpu");
}

#[test]
fn a_reference_gpu_corrects_the_time() {
    let predict = |reference: &str| {
        let arguments = "predict --from-metrics sgemm-metrics.toml --gpu gtx-660 --format json";
        json(&format!("{arguments} {reference}"))["predictions"][0].clone()
    };
    let time = |prediction: &Value| prediction["time_ms"].as_f64().unwrap();
    let plain = predict("");
    let published = predict("--reference gtx-480");
    let factor = published["intermediate"]["E_util"].as_f64().unwrap();
    assert!((time(&published) / time(&plain) - factor).abs() < 1e-12);
    // Twice the published time doubles it once more.
    let given = predict("--reference gtx-480=10");
    let on_480 = json("predict --from-metrics sgemm-metrics.toml --gpu gtx-480 --format json");
    let expected = 10.0 / time(&on_480["predictions"][0]);
    let factor = given["intermediate"]["E_util"].as_f64().unwrap();
    assert!((factor - expected).abs() < 1e-12, "{factor} {expected}");
}

#[test]
fn timing_appears_only_when_asked_for() {
    let arguments = "predict saxpy.toml --gpu gtx-660 --format json";
    assert!(json(arguments)["predictions"][0].get("timing").is_none());
    for option in ["--execution-time", "--timing"] {
        let timed = json(&format!("{arguments} {option}"));
        assert!(timed["predictions"][0]["timing"]["execute_s"].as_f64().unwrap() > 0.0);
    }
}

/// The interval is that of the whole time, with the part of the measurement.
#[test]
fn an_interval_holds_the_part_of_the_measurement() {
    // The part between two events was measured on an H200. An A100 has that of a rule.
    for (gpu, is_measured) in [("h200", true), ("a100", false)] {
        let arguments = format!("predict saxpy.toml --gpu {gpu} --machine rules --format json");
        let [alone, timed] = ["", " --timing events"].map(|option| {
            let prediction = json(&format!("{arguments}{option}"))["predictions"][0].clone();
            let number = |value: &Value| value.as_f64().unwrap();
            let interval = &prediction["interval"];
            [&prediction["time_ms"], &interval["low_ms"], &interval["high_ms"]].map(number)
        });
        assert!(timed[0] > alone[0] + 1e-4, "{timed:?}");
        for [time, low, high] in [alone, timed] {
            assert!(low <= time && time <= high, "{low} {time} {high}");
        }
        let factors = |[time, low, high]: [f64; 3]| [low / time, high / time];
        let [low, high] = [0, 1].map(|at| factors(timed)[at] / factors(alone)[at]);
        if is_measured {
            assert!((low - 1.0).abs() < 1e-9 && (high - 1.0).abs() < 1e-9, "{low} {high}");
        } else {
            // Measured parts are smaller than the rule's, so that it widens one side alone.
            assert!(low < 1.0 && (high - 1.0).abs() < 1e-9, "{low} {high}");
        }
    }
}

/// Counts that were kept have no time of their own: they are counted anew.
#[test]
fn the_time_of_kept_counts_is_that_of_counting_anew() {
    let folder = tempfile::tempdir().unwrap();
    let of = |arguments: &str| {
        let mut command = command(arguments);
        command.env("GPUCAST_CACHE", folder.path());
        let outcome = outcome(command);
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        serde_json::from_str::<Value>(&outcome.stdout).unwrap()
    };
    let predict = "predict sgemm --gpu gtx-660 --format json";
    of(predict);
    assert_ne!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was kept");
    for option in ["--execution-time", "--timing"] {
        let timed = of(&format!("{predict} {option}"));
        assert!(timed["predictions"][0]["timing"]["execute_s"].as_f64().unwrap() > 0.0);
        let timed = of(&format!("profile sgemm --gpu gtx-660 --format json {option}"));
        assert!(timed["launches"][0]["timing"]["execute_s"].as_f64().unwrap() > 0.0);
    }
}

/// Two events around a launch: the time of the model, and the time between two events.
#[test]
fn a_way_of_measuring_and_a_clock_change_the_time_as_the_gpus_file_says() {
    let of = |options: &str| {
        let from = "predict --from-metrics sgemm-metrics.toml --gpu a40 --format json";
        json(&format!("{from} {options}"))["predictions"][0].clone()
    };
    let time = |prediction: &Value| prediction["time_ms"].as_f64().unwrap();
    let (papers, events) = (of(""), of("--timing events"));
    assert!((time(&events) - time(&papers) - 0.005).abs() < 1e-9);
    assert_eq!(events["intermediate"]["timing"], "events");
    assert!(papers["intermediate"].get("timing").is_none());
    // Bound by instructions, it takes as much longer as the clock is lower.
    assert_eq!(papers["bound"], "compute");
    let base = of("--clock base");
    assert!((time(&base) / time(&papers) - 1740.0 / 1305.0).abs() < 1e-9);
    assert_eq!(time(&of("--clock 1305")), time(&base));
    assert_eq!(time(&of("--clock boost")), time(&papers));
}

/// Both halves of a protocol stand beside the time, whoever chose them.
#[test]
fn a_prediction_says_which_protocol_it_is() {
    let of = |options: &str| {
        let from = "predict vector-add --size small --gpu h200 --machine rules";
        let prediction = &json(&format!("{from} {options} --format json"))["predictions"][0];
        let text = stdout(&format!("{from} {options}"));
        let line = text.lines().find(|line| line.trim_start().starts_with("measured as"));
        let words = line.unwrap().trim_start().trim_start_matches("measured as").trim().to_owned();
        (prediction["measured_as"].clone(), words)
    };
    let (document, words) = of("");
    assert_eq!(document, serde_json::json!({ "timing": "kernel", "l2": "keep" }));
    assert_eq!(words, "the kernel alone, on the L2 as earlier launches of this run left it (keep)");
    let (document, words) = of("--timing back-to-back --l2 repeated");
    assert_eq!(document, serde_json::json!({ "timing": "back-to-back", "l2": "repeated" }));
    assert_eq!(words, "back-to-back, on the L2 as the same launches left it (repeated)");
    let (document, _) = of("--timing events --l2 overwritten");
    assert_eq!(document, serde_json::json!({ "timing": "events", "l2": "overwritten" }));
    // Counts of a file do not say what the L2 held.
    let from = "predict --from-metrics sgemm-metrics.toml --gpu a40 --timing events --format json";
    assert_eq!(
        json(from)["predictions"][0]["measured_as"],
        serde_json::json!({ "timing": "events" })
    );
}

#[test]
fn a_clock_that_is_none_or_unknown_is_refused() {
    let of = |options: &str| gpucast(&format!("predict sgemm --gpu b200 {options}"));
    let outcome = of("--clock fast");
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("write base, boost, or a number"), "{}", outcome.stderr);
    let outcome = of("--clock base");
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("has no `base_clock`"), "{}", outcome.stderr);
    assert_eq!(of("--timing stopwatch").status, 2);
}

#[test]
fn a_power_limit_decides_the_clock() {
    let of = |options: &str| {
        let kernel = "predict sgemm --model quantitative-roofline --machine rules --format json";
        json(&format!("{kernel} --gpu a100-pcie-40gb {options}"))["predictions"][0].clone()
    };
    let (free, limited) = (of(""), of("--power-limit 100W"));
    let number =
        |prediction: &Value, path: &str| prediction.pointer(path).unwrap().as_f64().unwrap();
    assert_eq!(number(&free, "/clock_mhz"), 1410.0);
    assert!(number(&free, "/energy/watts") > 100.0, "{free}");
    assert_eq!(number(&limited, "/power_limit_w"), 100.0);
    assert!(number(&limited, "/energy/watts") <= 100.0, "{limited}");
    let (clock, time) = (number(&limited, "/clock_mhz"), number(&limited, "/time_ms"));
    assert!(clock < 1410.0 && time > number(&free, "/time_ms"), "{limited}");
    // A sweep over limits has the same row.
    let sweep = "sweep sgemm --model quantitative-roofline --machine rules --format json";
    let swept = json(&format!("{sweep} --gpu a100-pcie-40gb --set power_limit=100W"));
    let row = &swept["rows"][0];
    assert_eq!((row["clock_mhz"].as_f64(), row["time_ms"].as_f64()), (Some(clock), Some(time)));
    let refused = gpucast("predict sgemm --gpu rtx-4090 --power-limit 300W");
    assert!(refused.stderr.contains("there is no power model of rtx-4090"), "{}", refused.stderr);
    assert_eq!(gpucast("predict sgemm --gpu l40 --power-limit much").status, 2);
}

#[test]
fn a_prediction_says_that_it_leaves_tensor_cores_out() {
    let kernel = "../../interpreter/tests/kernels/mma.ptx --kernel product_f16 --grid 1 --block 128 \
                  --arg buf:f16[16384] --arg buf:f16[16384] --arg buf:f32[16384]";
    let outcome = gpucast(&format!(
        "predict {kernel} --arg s32:64 --gpu gtx-1060 --model quantitative-roofline"
    ));
    insta::assert_snapshot!("predict-tensor-cores", outcome.transcript());
}

#[test]
fn counts_can_be_taken_on_another_gpu() {
    let text = stdout("predict saxpy.toml --gpu gtx-480 --count-on gtx-660");
    assert!(text.contains("modelled as on the gtx-660"), "{text}");
}

/// A file with the counts of two kernels, one of which lacks most.
const TWO_KERNELS: &str = "\
==7== NVPROF is profiling process 7, command: ./bench
\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\",\"Metric Description\",\"Min\",\"Max\",\"Avg\"
\"GeForce GTX 480 (0)\",\"init(float*)\",1,\"inst_fp_32\",\"FP Instructions(Single)\",5,5,5
\"GeForce GTX 480 (0)\",\"sum(float*, int)\",2,\"inst_fp_32\",\"FP Instructions(Single)\",640,640,640
\"GeForce GTX 480 (0)\",\"sum(float*, int)\",2,\"flop_count_sp_fma\",\"x\",320,320,320
\"GeForce GTX 480 (0)\",\"sum(float*, int)\",2,\"inst_executed\",\"x\",100,100,100
\"GeForce GTX 480 (0)\",\"sum(float*, int)\",2,\"inst_compute_ld_st\",\"x\",64,64,64
\"GeForce GTX 480 (0)\",\"sum(float*, int)\",2,\"dram_read_transactions\",\"x\",80,80,80
\"GeForce GTX 480 (0)\",\"sum(float*, int)\",2,\"dram_write_transactions\",\"x\",8,8,8
";

#[test]
fn a_kernel_of_a_profilers_file_is_chosen_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.csv");
    std::fs::write(&file, TWO_KERNELS).unwrap();
    let run = |rest: &str| {
        let mut command =
            command(&format!("predict --from-metrics bench.csv --gpu gtx-660 {rest}"));
        command.current_dir(folder.path());
        outcome(command)
    };
    let chosen = run("--kernel sum --format csv");
    assert_eq!((chosen.status, chosen.stderr.as_str()), (0, ""));
    assert_eq!(chosen.stdout.lines().count(), 2, "{}", chosen.stdout);
    assert!(chosen.stdout.contains("sum(float*, int)"), "{}", chosen.stdout);
    // Without a choice a note names the incomplete one with all that it lacks; the others are
    // predicted.
    let all = run("--format csv");
    assert_eq!((all.status, all.stdout), (0, chosen.stdout));
    insta::assert_snapshot!("predict-incomplete-kernel", all.stderr);
    insta::assert_snapshot!("predict-incomplete-kernel-alone", run("--kernel init").stderr);
    insta::assert_snapshot!("predict-no-such-kernel", run("--kernel product").stderr);
}

#[test]
fn throughputs_of_integer_kernels_are_no_flops() {
    let text = stdout("predict mixbench-s32-32 --size small --gpu gtx-480,gtx-660 --machine none");
    assert!(text.contains("K_type") && text.contains(" int"), "{text}");
    assert!(text.contains(" GIOPS"), "{text}");
    // GPUs have single-precision throughputs; nothing else is one here.
    let others = |line: &&str| {
        line.contains("GFLOPS")
            && !line.trim_start().starts_with("T_SP")
            && !line.trim_start().starts_with("T_DP")
    };
    assert_eq!(text.lines().find(others), None);
}

#[test]
fn each_gpu_can_count_for_itself() {
    let arguments = "predict saxpy.toml --gpu gtx-480,gtx-660 --format json --count-on";
    let own = json(&format!("{arguments} target"));
    for (index, gpu) in ["gtx-480", "gtx-660"].into_iter().enumerate() {
        let alone = json(&format!("predict saxpy.toml --gpu {gpu} --format json --count-on {gpu}"));
        assert_eq!(own["predictions"][index], alone["predictions"][0]);
    }
}

#[test]
fn an_unknown_model_is_refused_before_anything_runs() {
    let outcome = gpucast("predict saxpy.toml --gpu gtx-480 --model all,quantitative-rofline");
    insta::assert_snapshot!("predict-unknown-model", outcome.transcript());
}

/// Models that lack an input are lines with a reason, in every format; the order is that of the
/// GPUs.
#[test]
fn all_models_side_by_side() {
    let arguments = "predict saxpy.toml --gpu gtx-480,r9-nano --model all --machine none";
    let text = stdout(arguments);
    insta::assert_snapshot!("predict-all-comparison", text.split("\nCounts").next().unwrap());
    assert_eq!(text.matches("\nModel ").count(), 3, "{text}");
    let result = json(&format!("{arguments} --format json"));
    let of = |list: &str| -> Vec<String> {
        let items = result[list].as_array().unwrap().iter();
        items
            .map(|prediction| {
                format!("{} {}", prediction["gpu"], prediction["model"]).replace('"', "")
            })
            .collect()
    };
    let predicted = [
        "gtx-480 quantitative-roofline",
        "gtx-480 component-throughput",
        "gtx-480 hierarchical-roofline",
        "r9-nano quantitative-roofline",
        "r9-nano hierarchical-roofline",
    ];
    assert_eq!(of("predictions"), predicted);
    let csv = stdout(&format!("{arguments} --format csv"));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + of("predictions").len() + of("declined").len());
    assert!(lines[0].contains(",declined_because,"), "{}", lines[0]);
    let declined = lines.iter().find(|line| line.contains("r9-nano,component-throughput"));
    assert!(declined.unwrap().contains("has no `compute_capability`"), "{csv}");
}

#[test]
fn a_model_that_is_asked_for_must_have_its_inputs() {
    let from_file = "predict --from-metrics sgemm-metrics.toml --gpu gtx-660 --model";
    let transcripts: Vec<String> = [
        format!("{from_file} component-throughput"),
        format!("{from_file} hierarchical-roofline"),
        "predict saxpy.toml --gpu r9-nano --model all,component-throughput".to_owned(),
    ]
    .iter()
    .map(|arguments| format!("$ gpucast {arguments}\n{}", gpucast(arguments).transcript()))
    .collect();
    insta::assert_snapshot!("predict-model-lacks-input", transcripts.join("\n"));
}

/// The model of each GPU, and the GPU whose counters were modelled for it.
fn models_and_counts(arguments: &str) -> Vec<String> {
    let result = json(&format!("predict {arguments} --format json"));
    let counts = result["counts"].as_array().unwrap();
    let predictions = result["predictions"].as_array().unwrap().iter();
    predictions
        .map(|prediction| {
            let counts = counts.iter().find(|counts| {
                counts["gpus"].as_array().unwrap().iter().any(|gpu| *gpu == prediction["gpu"])
            });
            let origin = counts.unwrap()["origin"].as_str().unwrap();
            let counted_on = origin.split("modelled as on the ").nth(1).unwrap_or("file");
            format!(
                "{} {} {}",
                prediction["gpu"].as_str().unwrap(),
                prediction["model"].as_str().unwrap(),
                counted_on.split(['.', ' ']).next().unwrap()
            )
        })
        .collect()
}

#[test]
fn each_gpu_has_its_own_default_model_and_counts() {
    let several = models_and_counts("saxpy.toml --gpu gtx-480,gtx-660,gtx-960,h100-sxm");
    let expected = [
        "gtx-480 quantitative-roofline gtx-480",
        "gtx-660 quantitative-roofline gtx-480",
        "gtx-960 sm-simulation gtx-960",
        "h100-sxm sm-simulation h100-sxm",
    ];
    assert_eq!(several, expected);
    // The same as if each had been asked for alone.
    for (gpu, expected) in ["gtx-660", "gtx-960"].into_iter().zip([expected[1], expected[2]]) {
        assert_eq!(models_and_counts(&format!("saxpy.toml --gpu {gpu}")), [expected]);
    }
    let text =
        stdout("predict saxpy.toml --gpu gtx-660,gtx-960 --machine rules --count-on gtx-480");
    insta::assert_snapshot!("predict-default-models", text.split("\nCounts").next().unwrap());
}

/// The thesis's model, its refinements and its correction count as the thesis did; a file has no
/// order of events.
#[test]
fn numbers_of_the_thesis_need_no_further_option() {
    let thesis = ["gtx-960 quantitative-roofline gtx-480"];
    let of = |options: &str| models_and_counts(&format!("saxpy.toml --gpu gtx-960 {options}"));
    assert_eq!(of("--model quantitative-roofline"), thesis);
    assert_eq!(of("--reference gtx-480=1"), thesis);
    let refined = of("--refine launch-overhead");
    assert_eq!(refined, [thesis[0], "gtx-960 refined-roofline gtx-480"]);
    let file = models_and_counts("--from-metrics sgemm-metrics.toml --gpu gtx-960");
    assert_eq!(file, ["gtx-960 quantitative-roofline file"]);
    // The last word has the option.
    let target = of("--model quantitative-roofline --count-on target");
    assert_eq!(target, ["gtx-960 quantitative-roofline gtx-960"]);
}

/// Without machine code nothing can be simulated: another model stands in and says so, unless the
/// simulation was asked for.
#[test]
fn another_model_stands_in_for_a_default_that_lacks_an_input() {
    let arguments = "predict saxpy.toml --gpu gtx-960 --machine none";
    let result = json(&format!("{arguments} --format json"));
    let prediction = &result["predictions"][0];
    assert_eq!(prediction["model"], "hierarchical-roofline");
    let codes = prediction["warning_codes"].as_array().unwrap();
    assert!(codes.iter().any(|code| code == "default-declined"), "{codes:?}");
    let told = gpucast(arguments);
    assert_eq!(told.status, 0);
    insta::assert_snapshot!("predict-stand-in", told.stderr);
    let asked = gpucast(&format!("{arguments} --model sm-simulation"));
    assert_eq!(asked.status, 1);
    assert!(asked.stderr.contains("come without recorded blocks"), "{}", asked.stderr);
    let table = gpucast("sweep saxpy.toml --gpu gtx-960 --machine none --format csv").stdout;
    assert!(table.contains(",hierarchical-roofline,"), "{table}");
}

/// Launches of a file that count otherwise on each GPU stand together.
#[test]
fn what_was_counted_on_several_gpus_is_one_table() {
    let text = stdout_of_text("predict saxpy.toml --gpu gtx-960,h100-sxm --machine rules");
    assert_eq!(text.matches("Predicted times").count(), 1, "{text}");
    assert_eq!(text.matches("Counted for ").count(), 2, "{text}");
    insta::assert_snapshot!("predict-counted-apart", text.split("\nCounts").next().unwrap());
}

/// The standard output of a run that may have notes.
fn stdout_of_text(arguments: &str) -> String {
    let outcome = gpucast(arguments);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    outcome.stdout
}

/// The part of the text before the counts of one kernel on one GPU.
fn first_screen(arguments: &str) -> String {
    let text = stdout(&format!("predict {arguments} --machine rules"));
    without_interval(text.split("  Counts from").next().unwrap())
}

/// Verdict and changes come first, and lead to the user's own line.
#[test]
fn the_first_screen_says_what_is_slow_and_what_to_change() {
    let story = "../../insight/advice/tests/stories/product.toml";
    insta::assert_snapshot!(
        "predict-first-screen",
        first_screen(&format!("{story} --gpu rtx-3060"))
    );
    // Without a simulation the model that is shown has the headline, unless it leaves work out.
    let convolution = "../../insight/advice/tests/stories/convolution.toml --gpu gtx-480";
    insta::assert_snapshot!("predict-first-screen-older", first_screen(convolution));
}

/// What was asked otherwise is answered without advice.
#[test]
fn a_correction_a_way_of_measuring_and_several_gpus_have_no_advice() {
    for options in [
        "--gpu a100 --timing events",
        "--gpu gtx-480 --reference gtx-660=1",
        "--gpu gtx-480,gtx-660",
        "--gpu a100 --model sm-simulation,interval --timing graph",
    ] {
        let text = stdout(&format!("predict saxpy.toml --machine rules {options}"));
        assert!(!text.contains("What to change") && !text.contains("No rule"), "{options}: {text}");
    }
}

#[test]
fn several_kernels_have_a_heading_each() {
    let kernels = "sgemm transpose* --size small --gpu a100 --machine rules";
    let text = stdout(&format!("predict {kernels}"));
    let headings: Vec<&str> =
        text.lines().filter(|line| line.starts_with("Kernel ") && line.len() > 17).collect();
    let result = json(&format!("predict {kernels} --format json"));
    let counts = result["counts"].as_array().unwrap();
    let arguments: Vec<u64> =
        counts.iter().map(|count| count["argument"].as_u64().unwrap()).collect();
    assert_eq!(arguments, (0..counts.len() as u64).collect::<Vec<_>>());
    assert!(text.starts_with("Kernel sgemm\n"), "{text}");
    assert!(
        headings.len() >= 2 && headings.iter().all(|heading| heading.contains("transpose")),
        "{text}"
    );
}

/// The interval model carries the stalls of one warp over to all. Warps that take turns at the same
/// work look to it as if they worked at once, and only the simulation follows their barriers.
#[test]
fn models_that_disagree_by_more_than_a_factor_of_two_are_named() {
    let arguments = "predict turns.ptx --grid 1 --block 256 --arg buf:f32[256]=zero --gpu h100-sxm \
                     --machine rules --format json";
    let of = |model: &str| {
        let prediction = json(&format!("{arguments} --model {model}"))["predictions"][0].take();
        (prediction["time_ms"].as_f64().unwrap(), prediction["warning_codes"].to_string())
    };
    let (simulated, warnings) = of("sm-simulation");
    let (by_intervals, others) = of("interval");
    assert!(simulated > 2.0 * by_intervals, "{simulated} {by_intervals}");
    assert!(warnings.contains("models-disagree"), "{warnings}");
    assert!(!others.contains("models-disagree"), "{others}");
    let agreed = json("predict sgemm --size small --gpu h100-sxm --machine rules --format json");
    let warnings = agreed["predictions"][0]["warning_codes"].to_string();
    assert!(!warnings.contains("models-disagree"), "{warnings}");
}
