//! Passes over the banks of shared memory of accesses that the assembler joins, by both back ends.
//! The figures are worked out by hand from `tiles.cu`.

use std::fs;

use gpucast_counters::hierarchy::L2Geometry;
use gpucast_counters::{ComputeCapability, Counter, DeviceModel, LaunchProfile};
use gpucast_interpreter::{Argument, DeviceMemory, Launch, Options, Program, Silent, run};
use gpucast_machine::{ptxas, rules};
use gpucast_ptx_frontend::ScalarType;

use super::folder;

/// A CTA of a kernel of `tiles.ptx` on a GPU of capability 8.0, whose instructions rules or
/// `ptxas` 12.9 give.
fn counted(kernel: &str, block: [u32; 3], bytes: &[u64], last: Option<u64>) -> [LaunchProfile; 3] {
    let text = fs::read_to_string(folder().join("tests/ptxas/tiles.ptx")).unwrap();
    let image = fs::read(folder().join("tests/ptxas/inputs/tiles.sm_80.cubin")).unwrap();
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, kernel).unwrap();
    let prepared = ptxas::prepare(&text).unwrap();
    let target = "sm_80".parse().unwrap();
    let known = [
        Default::default(),
        rules::known_accesses(target, &program),
        ptxas::known_accesses(&image, &prepared, &program).unwrap(),
    ];
    let profiles = known.map(|known| {
        let mut memory = DeviceMemory::new();
        let buffers = bytes.iter().enumerate().map(|(index, &bytes)| {
            Argument::Address(memory.allocate(&index.to_string(), bytes).unwrap())
        });
        let mut arguments: Vec<Argument> = buffers.collect();
        arguments.extend(last.map(|bits| Argument::Scalar { ty: ScalarType::S32, bits }));
        let launch =
            Launch { grid: [1; 3], block, cluster: None, dynamic_shared_bytes: 0, arguments };
        let capability = ComputeCapability { major: 8, minor: 0 };
        let device = DeviceModel::for_capability(capability, 108, L2Geometry::GTX_480).unwrap();
        let counter = Counter::new(&program, &launch, program.static_shared_bytes(), device);
        let mut counter = counter.with_machine_accesses(&known).without_caches();
        run(&program, &launch, &mut memory, &mut counter, &Options::default(), &Silent).unwrap();
        counter.finish().0
    });
    let [by_ptx, by_rules, by_ptxas] = profiles;
    let of_rules = rules::translate(target, &program, &by_rules.table);
    let of_ptxas = ptxas::attribute(&image, "12.9", &prepared, &program, &by_ptxas.table).unwrap();
    [by_ptx, by_rules.with_machine(of_rules), by_ptxas.with_machine(of_ptxas)]
}

fn figures<const N: usize>(profile: &LaunchProfile, metrics: [&str; N]) -> [f64; N] {
    metrics.map(|metric| profile.metrics[metric].value.as_f64())
}

/// Four warps and two tiles. In a tile, a warp loads 8 words that all lanes share, and 32 rows of
/// words that are 16 bytes apart: in the PTX, 8 and 32 times 4 passes. Of the wide accesses, 2 to
/// one address return their 16 bytes to pairs of lanes, 2 passes each; and 8 take 4 passes, which
/// is as long as 512 bytes take.
#[test]
fn joined_loads_take_the_passes_of_the_wide_ones() {
    let metrics = ["shared_load", "shared_load_transactions", "shared_ld_bank_conflict"];
    let [ptx, rules, ptxas] = counted("tiles", [32, 4, 1], &[256, 8192, 2048], Some(16));
    let warps = 4.0 * 2.0;
    assert_eq!(figures(&ptx, metrics), [warps * 40.0, warps * 136.0, warps * 96.0]);
    for profile in [rules, ptxas] {
        assert_eq!(figures(&profile, metrics), [warps * 10.0, warps * 36.0, 0.0]);
        // Stores of rows are as they were.
        assert_eq!(figures(&profile, ["shared_store_transactions"]), [warps * 9.0]);
        // Bytes that threads asked for are what the PTX says.
        assert_eq!(figures(&profile, ["ptx_shared_load_bytes"]), [warps * 40.0 * 128.0]);
    }
}

/// Two warps. A lane's words begin 32 bytes from those of the next: one word of each lane meets
/// those of seven others in its bank. Of the wide stores, four parts of eight lanes have 16 bytes
/// in every other group of banks, 2 passes each; two parts of sixteen lanes have 8 bytes in every
/// fourth, 4 passes each.
#[test]
fn joined_stores_take_the_passes_of_the_wide_ones() {
    let metrics = ["shared_store", "shared_store_transactions", "shared_st_bank_conflict"];
    let [ptx, rules, ptxas] = counted("packs", [64, 1, 1], &[1024, 256], None);
    assert_eq!(figures(&ptx, metrics), [2.0 * 6.0, 2.0 * 48.0, 2.0 * 42.0]);
    for profile in [rules, ptxas] {
        assert_eq!(figures(&profile, metrics), [2.0 * 2.0, 2.0 * 16.0, 2.0 * 10.0]);
    }
}
