//! GPUs that build on others.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_model::{Gpu, GpuLibrary};

fn read(text: &str) -> Gpu {
    Gpu::from_toml(text).unwrap()
}

#[test]
fn a_file_with_a_base_says_what_is_different() {
    let gpu = read(
        "name = \"h100-next\"\n\
         base = \"h100-sxm\"\n\
         sm_count = 144\n\
         memory_bandwidth = \"1.2x\"\n\
         l2_size = { value = 96, unit = \"MiB\", source = { datasheet = \"a rumour\" } }\n\
         memory_type = \"HBM3e\"\n\
         l1_latency = { value = \"2x\", source = { assumed = \"a wish\" } }\n",
    );
    assert_eq!((gpu.name.as_str(), gpu.display_name.as_str()), ("h100-next", "h100-next"));
    assert_eq!(gpu.number("sm_count"), Some(144.0));
    // The base measured 2884 GB/s of 3352 GB/s.
    assert_eq!(gpu.number("memory_bandwidth"), Some(1.2 * 2884.0));
    assert_eq!(gpu.number("peak_memory_bandwidth"), Some(1.2 * 3352.0));
    assert_eq!(gpu.number("l2_size"), Some(f64::from(96 << 20)));
    assert_eq!(gpu.number("l1_latency"), Some(62.0));
    assert_eq!(gpu.memory_type.as_ref().unwrap().value.0, "HBM3e");
    // What was derived follows: 128 lanes of 144 SMs at 1.98 GHz.
    let derived = 2.0 * 128.0 * 144.0 * 1.980;
    assert!((gpu.number("sp_throughput").unwrap() / derived - 1.0).abs() < 1e-12);
    assert!(gpu.aliases.is_empty());
    assert_eq!(gpu.device_model().unwrap().sm_count, 144);
    // The same by changing the base.
    let library = GpuLibrary::builtin().unwrap();
    let by_hand = library
        .get("h100")
        .unwrap()
        .with_overrides(&[
            ("sm_count", "144"),
            ("memory_bandwidth", "1.2x"),
            ("l2_size", "96 MiB"),
            ("memory_type", "HBM3e"),
            ("l1_latency", "2x"),
        ])
        .unwrap();
    for field in Gpu::FIELDS {
        let value = |gpu: &Gpu| gpu.figure(field).map(|figure| figure.value);
        assert_eq!(value(&gpu), value(&by_hand), "{field}");
    }
}

#[test]
fn a_file_without_changes_is_its_base_under_another_name() {
    let copy = read("name = \"mine\"\ndisplay_name = \"Mine\"\nbase = \"v100\"\n");
    let library = GpuLibrary::builtin().unwrap();
    let mut renamed = library.as_written("v100").unwrap().completed();
    (renamed.name, renamed.display_name) = ("mine".into(), "Mine".into());
    renamed.aliases.clear();
    assert_eq!(copy, renamed);
}

#[test]
fn what_is_written_can_be_read_again() {
    for gpu in GpuLibrary::builtin().unwrap().iter() {
        assert_eq!(read(&gpu.to_toml(false)), *gpu, "{}", gpu.name);
        // With everything that follows, it is the same GPU, though all of it now stands in the
        // file.
        let full = gpu.completed();
        assert_eq!(read(&full.to_toml(false)), *gpu, "{}", gpu.name);
        let all = read(&full.to_toml(true));
        for field in Gpu::FIELDS {
            assert_eq!(all.figure(field), full.figure(field), "{field} of {}", gpu.name);
        }
        assert_eq!(all.device_model(), full.device_model(), "{}", gpu.name);
    }
}

#[test]
fn wrong_changes_are_refused_where_they_stand() {
    let base = "name = \"g\"\nbase = \"h100-sxm\"\n";
    let files = [
        "name = \"g\"\nbase = \"h101-sxm\"\n".to_owned(),
        "name = \"g\"\nbase = 3\n".to_owned(),
        format!("{base}memory_bandwith = \"1.2x\"\n"),
        format!("{base}memory_bandwidth = 8\n"),
        format!("{base}memory_bandwidth = \"8 GHz\"\n"),
        format!("{base}sm_count = \"1.01x\"\n"),
        format!("{base}sm_count = [1]\n"),
        format!("{base}sms_per_cluster = \"2x\"\n"),
        format!("{base}sm_count = {{ value = 12, source = {{ assumed = \"x\" }} }}\n"),
        format!("{base}compute_capability = \"4.0\"\n"),
        format!("{base}shared_banks = 1000\n"),
        format!("{base}\npeak_memory_bandwidth = \"1 TB/s\"\nmemory_bandwidth = \"2 TB/s\"\n"),
        // Without a base every field is written in full.
        "name = \"g\"\ndisplay_name = \"G\"\nsm_count = 3\n".to_owned(),
        "name = \"g\"\ndisplay_name = \"G\"\naliases = \"h\"\n".to_owned(),
        "name = \"g\"\ndisplay_name = \"G\"\naliases = [\"A B\"]\n".to_owned(),
    ];
    let answers = files.map(|text| {
        let error = Gpu::from_toml(&text).unwrap_err();
        let hint = error.hint().map_or(String::new(), |hint| format!(" [{hint}]"));
        format!("{error}{hint}")
    });
    insta::assert_snapshot!(answers.join("\n"));
}
