//! `gpucast profile`.

use crate::gpucast::{command, gpucast, json, outcome, stdout};

#[test]
fn the_counts_of_a_launch_in_every_format() {
    insta::assert_snapshot!("profile-text", stdout("profile saxpy.toml"));
    // One metric of each kind: the others have tests of their own.
    let chosen = ["flop_count_sp_fma", "dram_read_transactions", "inst_executed"];
    let csv = stdout("profile saxpy.toml --format csv");
    let rows = csv.lines().filter(|line| {
        line.starts_with("launch,") || chosen.iter().any(|name| line.contains(&format!(",{name},")))
    });
    insta::assert_snapshot!("profile-csv", rows.collect::<Vec<_>>().join("\n"));
    let mut profile = json("profile saxpy.toml --format json");
    let metrics = profile["launches"][0]["metrics"].as_object_mut().unwrap();
    metrics.retain(|name, _| chosen.contains(&name.as_str()));
    insta::assert_json_snapshot!("profile-json", profile);
}

#[test]
fn the_counts_by_line_in_every_format() {
    insta::assert_snapshot!("profile-lines-text", stdout("profile saxpy.toml --by line"));
    insta::assert_snapshot!(
        "profile-lines-csv",
        stdout("profile saxpy.toml --by line --format csv")
    );
    let lines = json("profile saxpy.toml --by line --format json");
    insta::assert_json_snapshot!("profile-lines-json-first", lines["launches"][0]["lines"][0]);
}

#[test]
fn library_code_is_counted_at_the_line_that_calls_it() {
    let arguments = "profile library-lines.toml --gpu a100-sxm-40gb --machine rules --by line";
    insta::assert_snapshot!("profile-lines-library", stdout(arguments));
    insta::assert_snapshot!("profile-lines-inlined", stdout(&format!("{arguments} --inlined")));
    let lines = json(&format!("{arguments} --format json"));
    let lines = lines["launches"][0]["lines"].as_array().unwrap();
    let sum = |of: &dyn Fn(&serde_json::Value) -> bool| -> u64 {
        let meant = lines.iter().filter(|line| of(line));
        meant.map(|line| line["shared_passes"].as_u64().unwrap()).sum()
    };
    let all = sum(&|_| true);
    let of_loads = sum(&|line| matches!(line["cuda_line"].as_u64(), Some(35 | 36)));
    assert!(of_loads * 10 > all * 9, "{of_loads} of {all}");
    // Nothing is lost: the parts of inlined calls are no more than their line.
    for line in lines {
        let parts = line["inlined"].as_array().into_iter().flatten();
        let parts: u64 = parts.map(|p| p["counts"]["shared_passes"].as_u64().unwrap()).sum();
        assert!(parts <= line["shared_passes"].as_u64().unwrap(), "{line}");
    }
}

#[test]
fn a_simulation_says_where_warps_spend_their_time() {
    let arguments = "profile library-lines.toml --gpu a100-sxm-40gb --machine rules --by line";
    let text = stdout(&format!("{arguments} --stalls"));
    assert!(text.contains("time %") && text.contains("stall"), "{text}");
    let lines = json(&format!("{arguments} --stalls --format json"));
    let lines = lines["launches"][0]["lines"].as_array().unwrap();
    let shares: f64 = lines.iter().map(|line| line["share_time"].as_f64().unwrap()).sum();
    // What stands for no PTX instruction is missing.
    assert!((0.8..=1.0 + 1e-9).contains(&shares), "{shares}");
    for line in lines {
        let stalls = line["stalls"].as_array().into_iter().flatten();
        let sum: f64 = stalls.map(|stall| stall["share"].as_f64().unwrap()).sum();
        assert!((sum - line["share_time"].as_f64().unwrap()).abs() < 1e-9, "{line}");
    }
    insta::assert_snapshot!(
        "profile-stalls-elsewhere",
        [gpucast("profile saxpy.toml --stalls").transcript()].concat()
    );
}

#[test]
fn lines_of_cuda_are_shown_with_their_text_where_the_file_is_there() {
    // The corpus has its sources; saxpy's is nowhere.
    insta::assert_snapshot!("profile-lines-cuda", stdout("profile sgemm --size small --by line"));
    let ptx = stdout("profile sgemm --size small --by line --source ptx");
    assert!(ptx.contains("fma.rn.f32") && !ptx.contains("__global__"), "{ptx}");
    insta::assert_snapshot!(
        "profile-lines-without-text",
        stdout("profile saxpy.toml --by line --source cuda")
    );
    // Beside the module is where a file is looked for.
    let folder = tempfile::tempdir().unwrap();
    for file in ["saxpy.ptx", "saxpy.toml", "iota.npy"] {
        std::fs::copy(crate::gpucast::inputs().join(file), folder.path().join(file)).unwrap();
    }
    std::fs::write(folder.path().join("saxpy.cu"), "1\n2\n3\n4\n\ty[i] += a * x[i];\n6\n").unwrap();
    let launch = folder.path().join("saxpy.toml");
    let json = json(&format!("profile '{}' --by line --format json", launch.display()));
    let lines = json["launches"][0]["lines"].as_array().unwrap();
    let cuda: Vec<&str> = lines.iter().map(|line| line["cuda"].as_str().unwrap()).collect();
    assert_eq!(cuda, ["3", "4", "    y[i] += a * x[i];", "6"]);
    // What is shown of the parts is all there is.
    let whole: f64 =
        lines.iter().map(|line| line["shares"]["instructions"].as_f64().unwrap()).sum();
    assert!((whole - 1.0).abs() < 1e-12, "{whole}");
}

#[test]
fn branches_with_how_their_threads_went() {
    insta::assert_snapshot!("profile-branches-text", stdout("profile saxpy.toml --by branch"));
    insta::assert_snapshot!(
        "profile-branches-csv",
        stdout("profile saxpy.toml --by branch --format csv")
    );
    let branches = json("profile saxpy.toml --by branch --format json");
    insta::assert_json_snapshot!("profile-branches-json", branches["launches"][0]["branches"]);
}

#[test]
fn stages_between_barriers_in_every_format() {
    let kernel = "profile sgemm-16 --size small --by stage";
    insta::assert_snapshot!("profile-stages-text", stdout(kernel));
    insta::assert_snapshot!("profile-stages-csv", stdout(&format!("{kernel} --format csv")));
    let stages = json(&format!("{kernel} --format json"));
    insta::assert_json_snapshot!("profile-stages-json-second", stages["launches"][0]["stages"][1]);
    // The stages add up to the launch.
    let launch = json("profile sgemm-16 --size small --format json");
    let metrics = &launch["launches"][0]["metrics"];
    let sum = |of: &dyn Fn(&serde_json::Value) -> u64| -> u64 {
        stages["launches"][0]["stages"].as_array().unwrap().iter().map(of).sum()
    };
    let passes = sum(&|stage| stage["shared"]["passes"].as_u64().unwrap());
    let of_launch = |name: &str| metrics[name]["value"].as_u64().unwrap();
    let shared = of_launch("shared_load_transactions") + of_launch("shared_store_transactions");
    assert_eq!(passes, shared);
    let fp32 = sum(&|stage| stage["thread_instructions"]["inst_fp_32"].as_u64().unwrap());
    assert_eq!(fp32, of_launch("inst_fp_32"));
}

#[test]
fn csv_looks_like_the_profilers() {
    let nvprof = stdout("profile saxpy.toml --format csv --metrics nvprof");
    insta::assert_snapshot!("profile-csv-nvprof", nvprof);
    let ncu = stdout("profile saxpy.toml --format csv --metrics ncu");
    // A column a line: the names, the units, and the launch.
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(ncu.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let columns: Vec<String> = (0..rows[0].len())
        .map(|at| format!("{:<80} {:<15} {}", &rows[0][at], &rows[1][at], &rows[2][at]))
        .map(|line| line.trim_end().to_owned())
        .collect();
    assert_eq!(rows.len(), 3);
    insta::assert_snapshot!("profile-csv-ncu", columns.join("\n"));
}

/// What is predicted from an exported file is what is predicted from the execution.
#[test]
fn profilers_files_written_here_predict_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let time = |arguments: &str| {
        let arguments = format!("predict {arguments} --gpu gtx-660 --format json");
        json(&arguments)["predictions"][0]["time_ms"].as_f64().unwrap()
    };
    let executed = time("sgemm --size small");
    for names in ["nvprof", "ncu"] {
        let file = folder.path().join(format!("{names}.csv"));
        let file = file.display();
        stdout(&format!("profile sgemm --size small --format csv --metrics {names} -o '{file}'"));
        assert_eq!(time(&format!("--from-metrics '{file}'")), executed, "{names}");
    }
}

#[test]
fn metrics_are_chosen_by_name_and_pattern() {
    let names = |which: &str| {
        let profile = json(&format!("profile saxpy.toml --format json --metrics {which}"));
        let metrics = profile["launches"][0]["metrics"].as_object().unwrap().clone();
        metrics.keys().cloned().collect::<Vec<String>>()
    };
    assert_eq!(
        names("inst_executed,flop_count_sp_?ul,dram__sectors_*.sum"),
        ["dram__sectors_read.sum", "dram__sectors_write.sum", "flop_count_sp_mul", "inst_executed"]
    );
    let outcome = crate::gpucast::gpucast("profile saxpy.toml --metrics inst_exectued");
    assert_eq!(outcome.status, 2);
    insta::assert_snapshot!("profile-unknown-metric", outcome.transcript());
}

#[test]
fn metrics_carry_the_names_of_the_profiler_asked_for() {
    let names = |which: &str| {
        let profile = json(&format!("profile saxpy.toml --format json --metrics {which}"));
        let metrics = profile["launches"][0]["metrics"].as_object().unwrap().clone();
        metrics.keys().cloned().collect::<Vec<String>>()
    };
    let (nvprof, ncu, all) = (names("nvprof"), names("ncu"), names("all"));
    assert!(nvprof.iter().any(|name| name == "flop_count_sp_fma"));
    assert!(ncu.iter().any(|name| name == "dram__sectors_read.sum"));
    assert!(ncu.iter().all(|name| name.contains("__")), "{ncu:?}");
    assert!(nvprof.iter().all(|name| all.contains(name) && !name.starts_with("ptx_")));
    assert!(all.iter().any(|name| name == "ptx_thread_inst_executed"));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for kernel in ["sgemm", "reduction-f32", "histogram", "lmsor"] {
        let of = |threads: &str| {
            let mut command = command(&format!("profile {kernel} --size small --format json"));
            command.env("RAYON_NUM_THREADS", threads);
            let outcome = outcome(command);
            assert_eq!(outcome.status, 0, "{}", outcome.transcript());
            outcome.stdout
        };
        assert_eq!(of("1"), of("2"), "{kernel}");
        let option = stdout(&format!("profile {kernel} --size small --format json --threads 3"));
        assert_eq!(of("1"), option, "{kernel}");
    }
}

#[test]
fn a_repeated_launch_has_the_means_of_its_invocations() {
    let profile = json("profile wrong-expectation.toml --format json");
    let launch = &profile["launches"][0];
    assert_eq!(launch["invocations"], 2);
    // Eight threads, one multiply-add each.
    assert_eq!(launch["metrics"]["flop_count_sp_fma"]["value"], 8);
}

#[test]
fn a_file_takes_the_place_of_the_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    let out = stdout(&format!("profile saxpy.toml --format json -o '{}'", file.display()));
    assert_eq!(out, "");
    assert_eq!(std::fs::read_to_string(file).unwrap(), stdout("profile saxpy.toml --format json"));
}

/// A GTX 285 has blocks of at most 512 threads (compute capability 1.3).
#[test]
fn a_block_that_the_gpu_could_not_launch_is_said_to_be_one() {
    let warns = |kernel: &str| {
        let text = stdout(&format!("profile {kernel} --size small --gpu gtx-285 --machine none"));
        text.contains("a block has 1024 threads, and at most 512 are possible")
    };
    // Blocks of 1024 and of 256 threads.
    assert_eq!([warns("sgemm"), warns("sgemm-16")], [true, false]);
}

#[test]
fn the_gpu_says_how_accesses_are_counted() {
    let counts = |kernel: &str, gpu: &str, metric: &str| {
        let profile = json(&format!("profile {kernel} --gpu {gpu} --format json"));
        profile["launches"][0]["metrics"][metric]["value"].as_f64().unwrap()
    };
    // 31 full warps and one of 8 lanes, two loads each. Lines; segments of half-warps; pieces of
    // 16 bytes of half-warps.
    for (gpu, loads) in
        [("gtx-480", 2 * 32), ("gtx-285", 2 * (2 * 31 + 1)), ("gtx-960", 2 * (8 * 31 + 2))]
    {
        assert_eq!(counts("saxpy.toml", gpu, "gld_transactions"), f64::from(loads), "{gpu}");
    }
    assert_eq!(counts("saxpy.toml", "gtx-960", "gst_transactions"), f64::from(4 * 31 + 1));
    // 4000 bytes in transactions of 32 and of 16 bytes.
    assert_eq!(counts("saxpy.toml", "gtx-285", "dram_write_transactions"), 125.0);
    assert_eq!(counts("saxpy.toml", "odd-gpu.toml", "dram_write_transactions"), 250.0);
    assert_eq!(counts("saxpy.toml", "odd-gpu.toml", "dram_write_bytes"), 4000.0);
    // Columns of a tile of 32 words: all lanes in one of 32 banks, or of 16, which serve
    // half-warps; two by two in Kepler's; none together in 17, where two half-warps take two
    // passes. (At the edges of the matrix some lanes are missing.)
    let passes = |gpu: &str| {
        counts("transpose-unpadded --size small", gpu, "shared_load_transactions_per_request")
    };
    let [fermi, kepler, tesla, odd] = ["gtx-480", "gtx-660", "gtx-285", "odd-gpu.toml"].map(passes);
    assert!(fermi > 20.0, "{fermi}");
    assert_eq!((kepler, tesla), (fermi / 2.0, fermi));
    assert!(odd <= 2.0, "{odd}");
}

#[test]
fn several_kernels_come_one_after_the_other() {
    let kernels = "sgemm histogram --size small --machine rules";
    let alone = |kernel: &str, rest: &str| {
        stdout(&format!("profile {kernel} --size small --machine rules {rest}"))
    };
    let text = stdout(&format!("profile {kernels}"));
    assert_eq!(text, format!("{}\n{}", alone("sgemm", ""), alone("histogram", "")));
    let both = json(&format!("profile {kernels} --format json"));
    assert_eq!(both["schema"], "gpucast.kernels/1");
    for (at, kernel) in ["sgemm", "histogram"].into_iter().enumerate() {
        let one = json(&format!("profile {kernel} --size small --machine rules --format json"));
        assert_eq!(both["kernels"][at]["kernel"], kernel);
        assert_eq!(both["kernels"][at]["document"], one);
    }
    let table = stdout(&format!("profile {kernels} --format csv"));
    let rows = |kernel: &str| alone(kernel, "--format csv").lines().count() - 1;
    assert_eq!(table.lines().count(), 1 + rows("sgemm") + rows("histogram"));
}

/// A gather from zeros reads one place, and a user who states nothing may not know it.
#[test]
fn contents_that_counts_depend_on_are_noted_where_none_are_stated() {
    let text = |address: &str| {
        format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n\
             .visible .entry gather(.param .u64 from, .param .u64 index, .param .u64 to) {{\n\
             .reg .b32 %r<5>; .reg .b64 %d<9>;\n\
             ld.param.u64 %d1, [from]; ld.param.u64 %d2, [index]; ld.param.u64 %d3, [to];\n\
             mov.u32 %r1, %tid.x; mul.wide.u32 %d4, %r1, 4; add.s64 %d2, %d2, %d4;\n\
             add.s64 %d3, %d3, %d4; ld.global.u32 %r2, [%d2]; mul.wide.u32 %d5, %r2, 4;\n\
             add.s64 %d6, %d1, {address}; ld.global.u32 %r3, [%d6]; add.u32 %r3, %r3, %r2;\n\
             st.global.u32 [%d3], %r3; ret;\n}}\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gather.ptx");
    let note = "[unstated-contents] gather: counts may depend on the contents of arg1; none are \
                stated, so they are zeros";
    for (address, index, is_noted) in
        [("%d5", "", true), ("%d5", "=iota", false), ("%d5", "=zero", false), ("%d4", "", false)]
    {
        std::fs::write(&file, text(address)).unwrap();
        let said = gpucast(&format!(
            "profile {} --grid 1 --block 64 --arg buf:u32[64] --arg buf:u32[64]{index} \
             --arg buf:u32[64]",
            file.display()
        ));
        assert_eq!(said.status, 0, "{}", said.stderr);
        let said: String = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.contains(note), is_noted, "{address} {index}: {said}");
    }
}
