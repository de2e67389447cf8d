//! GPU files: the built-in ones hold, and a user's mistakes are named with line and field.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_model::gpu::Source;
use gpucast_model::{Gpu, GpuLibrary};

#[test]
fn the_library_holds_the_gpus_of_the_thesis() {
    let library = GpuLibrary::builtin().unwrap();
    let names: Vec<&str> = library.names().collect();
    assert!(names.len() >= 45, "{}", names.len());
    let thesis =
        ["gtx-480", "gtx-660", "gtx-960", "gtx-1060", "tesla-m2050", "tesla-k20c", "r9-nano"];
    assert!(thesis.iter().all(|name| names.contains(name)));
    let gtx_480 = library.as_written("gtx-480").unwrap();
    assert_eq!(gtx_480.l2_size.as_ref().unwrap().value.0, 768 * 1024);
    assert_eq!(gtx_480.cache_line.as_ref().unwrap().value.0, 128);
    assert_eq!(gtx_480.sector.as_ref().unwrap().value.0, 32);
    let benchmark = Source::Benchmark("Konstantinidis 2017, table 5.2".into());
    assert_eq!(gtx_480.sp_throughput.as_ref().unwrap().source, benchmark);
}

#[test]
fn every_field_of_every_gpu_has_a_unit_or_is_a_name_and_has_a_source() {
    for gpu in GpuLibrary::builtin().unwrap().iter() {
        let json = serde_json::to_value(gpu).unwrap();
        for (field, content) in json.as_object().unwrap() {
            if matches!(field.as_str(), "name" | "display_name" | "aliases") {
                continue;
            }
            let is_name = content["value"].is_string();
            assert_eq!(content.get("unit").is_none(), is_name, "{}.{field}", gpu.name);
            assert_eq!(content["source"].as_object().unwrap().len(), 1, "{}.{field}", gpu.name);
        }
    }
}

#[test]
fn units_are_converted_to_the_one_that_the_field_is_kept_in() {
    let gpu = Gpu::from_toml(
        "name = \"g\"\ndisplay_name = \"G\"\n\
         sp_throughput = { value = 1.5, unit = \"TFLOPS\", source = { assumed = \"a test\" } }\n\
         sp_clock = { value = 1.25, unit = \"GHz\", source = { assumed = \"a test\" } }\n\
         l2_size = { value = 1.5, unit = \"MiB\", source = { derived = \"half of 3 MiB\" } }\n",
    )
    .unwrap();
    assert_eq!(gpu.sp_throughput.as_ref().unwrap().value.0, 1500.0);
    assert_eq!(gpu.sp_clock.as_ref().unwrap().value.0, 1250.0);
    assert_eq!(gpu.l2_size.as_ref().unwrap().value.0, 1_572_864);
}

#[test]
fn an_unknown_gpu_is_answered_with_names_that_resemble_it() {
    let library = GpuLibrary::builtin().unwrap();
    let ask = |name: &str| library.as_written(name).unwrap_err().to_string();
    let answers = ["gtx-470", "GTX 490", "k20d", "tesla-k21", "voodoo"].map(ask);
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn a_gpu_answers_to_its_aliases_and_to_what_people_write() {
    let library = GpuLibrary::builtin().unwrap();
    for (written, name) in [
        ("v100", "tesla-v100-sxm2"),
        ("h100", "h100-sxm"),
        ("k20c", "tesla-k20c"),
        ("GTX 480", "gtx-480"),
        ("GeForce_GTX_1080_Ti", "gtx-1080-ti"),
        ("titanv", "titan-v"),
    ] {
        assert_eq!(library.as_written(written).unwrap().name, name, "{written}");
    }
    let mut library = library;
    let error = library.insert(Gpu::named("v100", "another")).unwrap_err();
    assert_eq!(error.problem.to_string(), "there already is a GPU named `v100`");
}

#[test]
fn a_second_gpu_of_the_same_name_is_refused() {
    let mut library = GpuLibrary::builtin().unwrap();
    let error = library.insert(Gpu::named("gtx-480", "another")).unwrap_err();
    assert_eq!(error.problem.to_string(), "there already is a GPU named `gtx-480`");
}

/// Every refusal with its place and its hint, as the user sees them.
#[test]
fn errors_name_the_place_and_the_remedy() {
    let field = |field: &str| format!("name = \"g\"\ndisplay_name = \"G\"\n{field}\n");
    let counted = |extra: &str| {
        let source = "source = { assumed = \"x\" }";
        field(&format!(
            "compute_capability = {{ value = \"7.0\", {source} }}\n\
             sm_count = {{ value = 80, unit = \"SM\", {source} }}\n\
             l2_size = {{ value = 6, unit = \"MiB\", {source} }}\n{extra}"
        ))
    };
    let files = [
        "name = ".to_owned(),
        "display_name = \"G\"".to_owned(),
        "name = \"My GPU\"\ndisplay_name = \"G\"".to_owned(),
        "name = \"g\"".to_owned(),
        field("sp_thruput = 3"),
        field("sp_throughput = 1940.80"),
        field("sp_throughput = { unit = \"GFLOPS\", source = { assumed = \"x\" } }"),
        field("sp_throughput = { value = 1.0, source = { assumed = \"x\" } }"),
        field("sp_throughput = { value = 1.0, unit = \"GFLOPS\" }"),
        field("sp_throughput = { value = 1.0, unit = \"GB/s\", source = { assumed = \"x\" } }"),
        field("sp_throughput = { value = 1.0, unit = \"GFLOPS\", source = \"x\" }"),
        field("sp_throughput = { value = 1.0, unit = \"GFLOPS\", source = { rumour = \"x\" } }"),
        field("sp_throughput = { value = 1.0, unit = \"GFLOPS\", source = { assumed = \"\" } }"),
        field("sp_throughput = { value = -1.0, unit = \"GFLOPS\", source = { assumed = \"x\" } }"),
        field("sp_throughput = { value = 0, unit = \"GFLOPS\", source = { assumed = \"x\" } }"),
        field("sp_throughput = { value = nan, unit = \"GFLOPS\", source = { assumed = \"x\" } }"),
        field("sp_throughput = { value = inf, unit = \"GFLOPS\", source = { assumed = \"x\" } }"),
        field("sp_throughput = { value = \"1\", unit = \"GFLOPS\", source = { assumed = \"x\" } }"),
        field("sp_throughput = { value = [], unit = \"GFLOPS\", source = { assumed = \"x\" } }"),
        field("sm_count = { value = 2.5, unit = \"SM\", source = { assumed = \"x\" } }"),
        field("sm_count = { value = 1e300, unit = \"SM\", source = { assumed = \"x\" } }"),
        field("sm_count = { value = 2, unit = \"SM\", note = 1, source = { assumed = \"x\" } }"),
        field("compute_capability = { value = 8.6, source = { assumed = \"x\" } }"),
        field("vendor = { value = \"V\", unit = \"SM\", source = { assumed = \"x\" } }"),
        field(
            "warp_size = { value = 32, unit = \"thread\", source = { assumed = \"x\" } }\n\
             max_warps_per_sm = { value = 48, unit = \"warp\", source = { assumed = \"x\" } }\n\
             max_threads_per_sm = { value = 2048, unit = \"thread\", source = { assumed = \"x\" } }",
        ),
        field(
            "cache_line = { value = 128, unit = \"B\", source = { assumed = \"x\" } }\n\
             sector = { value = 48, unit = \"B\", source = { assumed = \"x\" } }",
        ),
        field("shared_serving = { value = \"at-once\", source = { assumed = \"x\" } }"),
        field("load_transactions = { value = 3, source = { assumed = \"x\" } }"),
        counted("sector = { value = 24, unit = \"B\", source = { assumed = \"x\" } }"),
        counted("shared_banks = { value = 129, unit = \"bank\", source = { assumed = \"x\" } }"),
        counted("shared_bank_width = { value = 16, unit = \"B\", source = { assumed = \"x\" } }"),
        counted("shared_request = { value = 12, unit = \"thread\", source = { assumed = \"x\" } }"),
        counted("cache_line = { value = 512, unit = \"B\", source = { assumed = \"x\" } }"),
        counted(
            "registers_per_sm = { value = 1e10, unit = \"register\", source = { assumed = \"x\" } }",
        ),
    ];
    let report: Vec<String> = files
        .iter()
        .map(|text| {
            let error = Gpu::from_toml(text).unwrap_err();
            format!("{error}\n  hint: {}", error.hint().unwrap_or_default())
        })
        .collect();
    insta::assert_snapshot!(report.join("\n"));
}

#[test]
fn no_truncated_file_makes_the_reader_panic() {
    let text = include_str!("../../gpus/tesla-k20c.toml");
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        // Where a file is cut between fields it is whole; elsewhere it must be refused.
        let _ = Gpu::from_toml(&text[..end]);
    }
}
