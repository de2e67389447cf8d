//! What benchmarks and samples print becomes a GPU, and what is not theirs is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_model::Gpu;
use gpucast_model::gpu::import::{Format, Imported, Options, read};

const MIXBENCH: &str = include_str!("../imports/mixbench-gtx-1060.txt");
const SHARED: &str = include_str!("../imports/shmembench-gtx-480.txt");
const CACHE: &str = include_str!("../imports/cachebench-gtx-480.txt");
const ERT: &str = include_str!("../imports/roofline-v100.json");
const QUERY: &str = include_str!("../imports/device-query-two.txt");

fn options(name: Option<&str>) -> Options {
    let name = name.map(str::to_owned);
    Options { name, origin: "a file".to_owned(), ..Options::default() }
}

fn import(text: &str) -> Imported {
    read(text, &options(None)).unwrap()
}

fn numbers<const N: usize>(gpu: &Gpu, fields: [&str; N]) -> [Option<f64>; N] {
    fields.map(|field| gpu.number(field))
}

#[test]
fn the_format_is_found_out() {
    for (text, format) in [
        (MIXBENCH, Format::Mixbench),
        (SHARED, Format::Gpumembench),
        (CACHE, Format::Gpumembench),
        (ERT, Format::Ert),
        (QUERY, Format::DeviceQuery),
    ] {
        assert_eq!(Format::of(text), Some(format));
    }
    assert_eq!(Format::of("name = \"gtx-480\""), None);
}

#[test]
fn mixbench_gives_the_highest_throughputs_and_the_first_bandwidth() {
    let imported = import(MIXBENCH);
    let gpu = &imported.gpu;
    assert_eq!(
        (gpu.name.as_str(), gpu.display_name.as_str()),
        ("gtx-1060-6gb", "GeForce GTX 1060 6GB")
    );
    let fields = ["sp_throughput", "dp_throughput", "int_throughput", "hp_throughput"];
    assert_eq!(numbers(gpu, fields), [Some(4541.31), Some(147.13), Some(1532.57), None]);
    // 210.67 GB/s are more than the 192.19 of the memory; of the other two the middle.
    assert_eq!(gpu.number("memory_bandwidth"), Some((180.31 + 154.05) / 2.0));
    assert!(imported.notes[0].contains("210.67"), "{:?}", imported.notes);
    let fields = ["sm_count", "sp_count", "sp_clock", "l2_size", "peak_memory_bandwidth"];
    let printed = [10.0, 1280.0, 1708.0, 1536.0 * 1024.0, 192.19].map(Some);
    assert_eq!(numbers(gpu, fields), printed);
    assert_eq!(gpu.sp_throughput.as_ref().unwrap().source.kind(), "benchmark");
    assert_eq!(gpu.sm_count.as_ref().unwrap().source.kind(), "datasheet");
    // Within 2 % of what the thesis measured on its GTX 1060 (table 5.2).
    assert!((gpu.number("sp_throughput").unwrap() / 4609.54 - 1.0).abs() < 0.02);
}

#[test]
fn newer_versions_of_mixbench_measure_half_precision() {
    let gpu = import(include_str!("../imports/mixbench-half.txt")).gpu;
    let fields = ["sp_throughput", "hp_throughput", "int_throughput", "memory_bandwidth"];
    // 418.84, 420.47, 422.41, 422.65: the middle of four.
    let expected = [8226.57, 16641.91, 7438.53, (420.47 + 422.41) / 2.0].map(Some);
    assert_eq!(numbers(&gpu, fields), expected);
    assert_eq!(gpu.name, "a-half-gpu");
}

#[test]
fn a_peak_that_hip_makes_up_is_not_taken() {
    let imported = import(include_str!("../imports/mixbench-hip-r9-nano.txt"));
    let fields = ["peak_memory_bandwidth", "memory_bandwidth", "warp_size", "dp_throughput"];
    assert_eq!(numbers(&imported.gpu, fields), [None, Some(431.55), Some(64.0), Some(523.04)]);
    assert_eq!(imported.gpu.name, "fiji-r9-fury-nano-series");
}

#[test]
fn gpumembench_gives_shared_memory_and_the_first_cache() {
    let gpu = import(SHARED).gpu;
    let fields = ["shared_bandwidth", "load_store_throughput", "l1_bandwidth"];
    // T_ldst of the thesis is 369.73 (table 5.2).
    assert_eq!(numbers(&gpu, fields), [Some(1483.35), Some(370.70), None]);
    let gpu = import(CACHE).gpu;
    assert_eq!(numbers(&gpu, ["l1_bandwidth", "l2_bandwidth"]), [Some(1479.92), None]);
    // On a Kepler, loads bypass the first-level cache.
    let kepler = import(&CACHE.replace("Capability:  2.0", "Capability:  3.5"));
    assert_eq!(numbers(&kepler.gpu, ["l1_bandwidth", "l2_bandwidth"]), [None, Some(1479.92)]);
    assert_eq!(kepler.notes.len(), 1);
}

/// Yang & Williams 2019 print these figures of a V100, and plot 2996.82 GB/s as its L2.
#[test]
fn the_only_cache_of_the_ert_is_the_l2() {
    let imported = read(ERT, &options(Some("v100-ert"))).unwrap();
    let fields = ["dp_throughput", "l2_bandwidth", "l1_bandwidth", "memory_bandwidth"];
    assert_eq!(numbers(&imported.gpu, fields), [Some(7068.90), Some(2996.82), None, Some(828.83)]);
    assert_eq!(imported.notes.len(), 1);
    let three = include_str!("../imports/roofline-three-levels.json");
    let three = read(three, &options(Some("g"))).unwrap();
    let fields = ["dp_throughput", "sp_throughput", "l1_bandwidth", "l2_bandwidth"];
    let expected = [9700.5, 19000.25, 18000.5, 5000.25].map(Some);
    assert_eq!(numbers(&three.gpu, fields), expected);
    assert_eq!(three.notes, ["left out `INT8 GOPs`: a GPU has no field for it"]);
}

#[test]
fn device_query_lists_devices() {
    let imported = import(QUERY);
    let gpu = &imported.gpu;
    assert_eq!(gpu.name, "gtx-1060-6gb");
    assert_eq!(
        imported.notes,
        ["the text lists 2 devices; this is device 0, GeForce GTX 1060 6GB"]
    );
    let fields = ["sm_count", "sp_count", "sp_clock", "l2_size", "memory_size"];
    let expected = [10.0, 1280.0, 1860.0, 1_572_864.0, 6_373_572_608.0].map(Some);
    assert_eq!(numbers(gpu, fields), expected);
    // 4004 MHz, two transfers of 24 bytes.
    assert_eq!(gpu.number("peak_memory_bandwidth"), Some(192.192));
    // Nothing else is needed to predict.
    assert!(gpu.completed().number("sp_throughput").is_some());
    assert_eq!(gpu.completed().device_model().unwrap().sm_count, 10);

    let second = Options { device: Some(1), ..options(None) };
    let nvs = read(QUERY, &second).unwrap();
    assert_eq!((nvs.gpu.name.as_str(), nvs.notes.len()), ("nvs-310", 0));
    assert_eq!(numbers(&nvs.gpu, ["sm_count", "sp_count"]), [Some(1.0), Some(48.0)]);

    let old = import(include_str!("../imports/device-query-cuda-5.txt"));
    assert_eq!(numbers(&old.gpu, ["sm_count", "sp_clock"]), [Some(2.0), Some(900.0)]);
    assert!(old.notes[0].starts_with("ECC is on"));
}

#[test]
fn several_texts_make_one_gpu() {
    let merged = import(CACHE).merge(import(SHARED)).unwrap();
    let fields = ["l1_bandwidth", "shared_bandwidth", "load_store_throughput"];
    assert_eq!(numbers(&merged.gpu, fields), [Some(1479.92), Some(1483.35), Some(370.70)]);
    let refused = merged.merge(import(MIXBENCH)).unwrap_err();
    assert_eq!(
        refused.problem.to_string(),
        "these are two GPUs: `GeForce GTX 480` and `GeForce GTX 1060 6GB`"
    );
    // The nameless ERT joins whoever it is given to, and its measured value wins over a printed
    // one.
    let ert = read(ERT, &options(Some("gtx-1060-6gb"))).unwrap();
    let merged = ert.merge(import(QUERY)).unwrap();
    assert_eq!(merged.gpu.display_name, "GeForce GTX 1060 6GB");
    assert_eq!(numbers(&merged.gpu, ["dp_throughput", "sm_count"]), [Some(7068.90), Some(10.0)]);
}

#[test]
fn an_imported_gpu_is_a_file_that_can_be_read() {
    for text in [MIXBENCH, SHARED, CACHE, QUERY] {
        let gpu = import(text).gpu;
        assert_eq!(Gpu::from_toml(&gpu.to_toml(true)).unwrap(), gpu);
    }
    insta::assert_snapshot!(import(MIXBENCH).gpu.to_toml(true));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    let texts = [
        "hello".to_owned(),
        "{ \"empirical\": 3 }".to_owned(),
        "{".to_owned(),
        include_str!("../imports/roofline-cpu.json").to_owned(),
        ERT.replace("DRAM", "L3"),
        ERT.to_owned(),
        ERT.replace("828.83", "-1.0"),
        MIXBENCH.replace("4541.31", "fast"),
        MIXBENCH.replace(" 4541.31,", ""),
        MIXBENCH.replace("1708 MHz", "unknown"),
        MIXBENCH.replace("Capability:  6.1", "Capability:  sixish"),
        MIXBENCH.replace("10 MPs", "0 MPs"),
        MIXBENCH.lines().take(22).collect::<Vec<_>>().join("\n"),
        SHARED.lines().take(24).collect::<Vec<_>>().join("\n"),
        QUERY.replace("Multiprocessors", "Things"),
        QUERY.replace("Device 0", "Device zero").replace("Device 1", "Device one"),
    ];
    let answers = texts.map(|text| read(&text, &options(None)).unwrap_err().to_string());
    insta::assert_snapshot!(answers.join("\n"));
    let sixth = Options { device: Some(6), ..options(None) };
    let answer = read(QUERY, &sixth).unwrap_err().problem.to_string();
    assert_eq!(answer, "there is no device 6; the text lists 2");
    let answer = read(QUERY, &options(Some("My GPU"))).unwrap_err().problem.to_string();
    assert!(answer.starts_with("`My GPU` is not a GPU name"));
}

/// What is cut off, doubled or garbled is read or refused, and never takes the program down.
#[test]
fn damaged_texts_do_no_harm() {
    let three = include_str!("../imports/roofline-three-levels.json");
    for text in [MIXBENCH, SHARED, CACHE, ERT, QUERY, three] {
        let lines: Vec<&str> = text.lines().collect();
        let mut damaged: Vec<String> = Vec::new();
        for at in 0..lines.len() {
            let (before, after) = (lines[..at].join("\n"), lines[at..].join("\n"));
            damaged.push(format!("{before}\n{}", lines[at + 1..].join("\n")));
            damaged.push(format!("{before}\n{}\n{after}", lines[at]));
            damaged.push(format!("{before}\n{}", after.replace([':', ','], "")));
            damaged.push(format!("{before}\n{}", after.replace(['1', '('], "é")));
            damaged.push(format!("{before}\n{}", after.replace('2', "-")));
            damaged.push(format!("{before}\n{}", after.replace('.', "99999999999999999999")));
        }
        damaged.extend((0..text.len()).step_by(7).map(|end| text[..end].to_owned()));
        for text in damaged {
            for format in
                [Format::Mixbench, Format::Gpumembench, Format::Ert, Format::DeviceQuery].map(Some)
            {
                let options = Options { format, ..options(Some("g")) };
                if let Ok(imported) = read(&text, &options) {
                    // What was read is a GPU, unless its figures contradict each other.
                    let written = imported.gpu.to_toml(true);
                    if let Ok(gpu) = Gpu::from_toml(&written) {
                        assert_eq!(gpu, imported.gpu);
                    }
                }
            }
        }
    }
}
