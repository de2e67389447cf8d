//! GPUs as the counters take them: files, capabilities, and what an architect asks for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_counters::DeviceModel;
use gpucast_counters::banks::BankGeometry;
use gpucast_counters::device::{FirstLevel, RegisterAllocation};
use gpucast_counters::hierarchy::{PartialWrites, Replacement, Schedule};
use gpucast_model::gpu::Source;
use gpucast_model::{CountingError, Gpu, GpuLibrary};

fn library(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().as_written(name).unwrap().clone()
}

/// A GPU of a capability with 10 SMs, 1 MiB of L2 and further lines.
fn gpu(capability: &str, lines: &str) -> Gpu {
    Gpu::from_toml(&file(capability, lines)).unwrap_or_else(|error| panic!("{error}"))
}

fn file(capability: &str, lines: &str) -> String {
    let source = "source = { assumed = \"a test\" }";
    format!(
        "name = \"g\"\ndisplay_name = \"G\"\n\
         compute_capability = {{ value = \"{capability}\", {source} }}\n\
         sm_count = {{ value = 10, unit = \"SM\", {source} }}\n\
         l2_size = {{ value = 1, unit = \"MiB\", {source} }}\n{}",
        lines.replace("ASSUMED", source)
    )
}

#[test]
fn the_gtx_480_is_the_gpu_that_counts_are_taken_on_by_default() {
    assert_eq!(library("gtx-480").device_model(), Ok(DeviceModel::GTX_480));
}

#[test]
fn every_gpu_of_nvidia_in_the_library_can_be_counted_on() {
    for gpu in GpuLibrary::builtin().unwrap().iter() {
        match &gpu.compute_capability {
            Some(_) => assert_eq!(gpu.device_model().unwrap().validate(), Ok(()), "{}", gpu.name),
            None => assert_eq!(
                gpu.device_model(),
                Err(CountingError::Missing { field: "compute_capability" })
            ),
        }
    }
}

#[test]
fn an_architects_banks_and_sectors_are_taken() {
    let gpu = gpu(
        "8.0",
        "shared_banks = { value = 17, unit = \"bank\", ASSUMED }\n\
         sector = { value = 16, unit = \"B\", ASSUMED }\n\
         load_transactions = { value = \"quads\", ASSUMED }\n\
         shared_reserved_per_block = { value = 2, unit = \"KiB\", ASSUMED }\n\
         sub_partitions = { value = 2, unit = \"partition\", ASSUMED }\n",
    );
    let device = gpu.device_model().unwrap();
    assert_eq!((device.banks.banks(), device.sector_bytes()), (17, 16));
    assert_eq!(device.limits.shared_reserved_bytes_per_cta, 2048);
    assert_eq!(device.limits.sub_partitions, 2);
    // What was not asked for is as the capability has it.
    assert_eq!(device.banks.with_banks(32), Some(BankGeometry::CAPABILITY_5));
    assert_eq!(device.limits.shared_bytes, 164 << 10);
    assert_eq!((device.sm_count, device.l2.size_bytes), (10, 1 << 20));
}

#[test]
fn keplers_wide_mode_and_the_ways_of_capability_1_can_be_asked_for() {
    let wide = gpu("3.5", "shared_bank_interleave = { value = 8, unit = \"B\", ASSUMED }\n");
    assert_eq!(wide.device_model().unwrap().banks, BankGeometry::CAPABILITY_3_WIDE);
    let old = gpu(
        "2.0",
        "shared_banks = { value = 16, unit = \"bank\", ASSUMED }\n\
         shared_request = { value = 16, unit = \"thread\", ASSUMED }\n\
         shared_serving = { value = \"word-by-word\", ASSUMED }\n\
         coalescing = { value = \"half-warp-segments\", ASSUMED }\n\
         register_allocation_unit_per_block = { value = 512, unit = \"register\", ASSUMED }\n",
    );
    let device = old.device_model().unwrap();
    assert_eq!(device.banks, BankGeometry::CAPABILITY_1);
    assert_eq!(device.limits.register_allocation, RegisterAllocation::PerCta(512));
    let gt200 = library("gtx-285").device_model().unwrap();
    assert_eq!(device.coalescing.protocol, gt200.coalescing.protocol);
    assert!(!gt200.has_l2());
}

#[test]
fn caches_and_their_policies_can_be_asked_for() {
    let gpu = gpu(
        "7.0",
        "l2_slices = { value = 5, unit = \"slice\", ASSUMED }\n\
         l2_ways = { value = 3, unit = \"way\", ASSUMED }\n\
         l2_fill = { value = 64, unit = \"B\", ASSUMED }\n\
         l2_fill_time = { value = 7, unit = \"clock\", ASSUMED }\n\
         l2_replacement = { value = \"random\", ASSUMED }\n\
         l2_distinct_share = { value = 60, unit = \"%\", ASSUMED }\n\
         l1_size = { value = 48, unit = \"KiB\", ASSUMED }\n\
         l1_ways = { value = 6, unit = \"way\", ASSUMED }\n\
         l1_fill = { value = 128, unit = \"B\", ASSUMED }\n\
         l1_replacement = { value = \"random\", ASSUMED }\n\
         cta_schedule = { value = \"lockstep-waves\", ASSUMED }\n",
    );
    let device = gpu.device_model().unwrap();
    let l2 = device.l2;
    assert_eq!((l2.slices, l2.ways, l2.fill_bytes, l2.fill_clocks), (5, 3, 64, 7));
    assert!(matches!(l2.replacement, Replacement::Random { .. }));
    assert_eq!((l2.distinct_bytes(), l2.size_bytes), (629_145, 1 << 20));
    assert_eq!(device.schedule, Schedule::LockstepWaves);
    let l1 = device.first_level.l1.unwrap();
    assert_eq!((l1.size_bytes, l1.ways, l1.fill_bytes), (48 << 10, 6, 128));
    assert!(matches!(l1.replacement, Replacement::Random { .. }));
    // The size stays, however much shared memory the CTAs take.
    assert_eq!(device.first_level.unified_bytes, 0);
}

/// What fits the L2 again and again: all of it with one partition, less with two
/// (github.com/RRZE-HPC/gpu-benches).
#[test]
fn an_l2_of_two_partitions_has_copies() {
    for (capability, kept) in [("7.0", 1 << 20), ("8.0", 817_889), ("8.9", 1 << 20)] {
        let device = gpu(capability, "").device_model().unwrap();
        assert_eq!((device.l2.distinct_bytes(), device.l2.size_bytes), (kept, 1 << 20));
        assert_eq!(device.l2.replacement == Replacement::Lru, capability != "7.0");
    }
    let broken = file("8.0", "l2_distinct_share = { value = 62.5, unit = \"%\", ASSUMED }\n");
    let error = Gpu::from_toml(&broken).unwrap_err().to_string();
    assert!(error.contains("whole number of percent"), "{error}");
}

#[test]
fn a_first_level_cache_of_no_size_is_switched_off() {
    let off = gpu("8.0", "l1_size = { value = 0, unit = \"KiB\", ASSUMED }\n").device_model();
    assert_eq!(off.unwrap().first_level, FirstLevel::NONE);
    // Without the field the capability's cache is there.
    let on = gpu("8.0", "").device_model().unwrap();
    assert_eq!(on.first_level.l1.unwrap().size_bytes, 192 << 10);
}

#[test]
fn defaults_fill_what_a_file_leaves_open_and_say_where_they_come_from() {
    let gpu = gpu("8.0", "shared_banks = { value = 17, unit = \"bank\", ASSUMED }\n");
    let filled = gpu.with_capability_defaults();
    assert_eq!(filled.shared_banks.as_ref().unwrap().source, Source::Assumed("a test".into()));
    let warps = filled.max_warps_per_sm.as_ref().unwrap();
    assert_eq!(warps.value.0, 64);
    assert!(
        matches!(&warps.source, Source::Derived(text) if text.starts_with("compute capability 8.0: "))
    );
    // Filling in changes nothing that is counted.
    for gpu in GpuLibrary::builtin().unwrap().iter().chain([&gpu]) {
        assert_eq!(
            gpu.with_capability_defaults().device_model(),
            gpu.device_model(),
            "{}",
            gpu.name
        );
    }
}

#[test]
fn a_gpu_that_cannot_be_counted_on_says_what_is_missing() {
    let named = Gpu::named("g", "G");
    let missing = |field| Err(CountingError::Missing { field });
    assert_eq!(named.device_model(), missing("compute_capability"));
    let mut no_l2 = gpu("7.0", "");
    no_l2.l2_size = None;
    assert_eq!(no_l2.device_model(), missing("l2_size"));
    let unknown = gpu("4.0", "").device_model().unwrap_err();
    assert_eq!(unknown.to_string(), "nothing is known of compute capability 4.0");
}

#[test]
fn memory_with_ecc_bits_beside_the_data_reads_a_sector_before_it_writes_a_part() {
    let partial_writes = |name: &str| library(name).device_model().unwrap().l2.partial_writes;
    for name in ["tesla-k20c", "tesla-k40c", "tesla-m2050"] {
        assert!(library(name).has_inline_ecc(), "{name}");
        assert_eq!(partial_writes(name), PartialWrites::Fill, "{name}");
    }
    // GDDR without ECC, and HBM, whose ECC bits have memory of their own.
    for name in ["gtx-480", "gtx-780-ti", "tesla-p100-sxm2", "h100-sxm"] {
        assert!(!library(name).has_inline_ecc(), "{name}");
        assert_eq!(partial_writes(name), PartialWrites::Masked, "{name}");
    }
}
