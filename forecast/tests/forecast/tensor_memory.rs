//! Triton's products for sm_100, which use tensor memory: their slices and their classes of CTAs
//! give the counts of executing everything, byte for byte.

use std::collections::{BTreeMap, BTreeSet};

use gpucast_counters::trace::TraceLimits;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::counting::Counted;
use gpucast_forecast::run::rung::Rung;
use gpucast_forecast::settings::{CacheChoice, RungChoice};
use gpucast_forecast::{Kernel, LaunchOptions};
use gpucast_simulation::launch::Beside;

use crate::rungs::counted_on;
use crate::traces;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../interpreter/tests/kernels/triton");

/// A product of 200 x 112 and 112 x 80 elements, whose rows are 128, 96 and 80 elements apart.
struct Case {
    file: &'static str,
    kernel: &'static str,
    grid: [u32; 2],
    shared_bytes: u32,
    /// The type of elements of A and B.
    element: &'static str,
    args: &'static str,
    /// The rung that counts with the least work.
    highest: Rung,
}

const POINTERS: &str = "\"a\", \"b\", \"c\", { u32 = 200 }, { u32 = 80 }, { u32 = 112 }, { u32 = 128 }, \
    { u32 = 96 }, { u32 = 80 }, { u64 = 0 }, { u64 = 0 }";
const OWN_MAPS: &str = "\"a\", \"b\", \"c\", { u32 = 200 }, { u32 = 80 }, { u32 = 112 }, { u32 = 128 }, \
    { u32 = 96 }, { u32 = 80 }, \"maps\", { u64 = 0 }";
const MAPS: &str = "
    { tensor_map = { buffer = \"a\", type = \"f16\", global_dim = [112, 200], global_strides = [256], box_dim = [64, 128], swizzle = \"128B\" } },
    { u32 = 200 }, { u32 = 112 }, { u64 = 128 }, { u64 = 1 },
    { tensor_map = { buffer = \"b\", type = \"f16\", global_dim = [80, 112], global_strides = [192], box_dim = [64, 64], swizzle = \"128B\" } },
    { u32 = 112 }, { u32 = 80 }, { u64 = 96 }, { u64 = 1 },
    { tensor_map = { buffer = \"c\", type = \"f16\", global_dim = [80, 200], global_strides = [160], box_dim = [64, 128], swizzle = \"128B\" } },
    { u32 = 200 }, { u32 = 80 }, { u64 = 80 }, { u64 = 1 },
    { u32 = 112 }, { u64 = 0 }, { u64 = 0 }";

const CASES: [Case; 5] = [
    Case {
        file: "matmul_sm_100.ptx",
        kernel: "matmul",
        grid: [2, 2],
        shared_bytes: 36_880,
        element: "f16",
        args: POINTERS,
        highest: Rung::Classes,
    },
    Case {
        file: "matmul_tf32_sm_100.ptx",
        kernel: "matmul",
        grid: [2, 2],
        shared_bytes: 36_880,
        element: "f32",
        args: POINTERS,
        highest: Rung::Classes,
    },
    Case {
        file: "matmul_e4m3_sm_100.ptx",
        kernel: "matmul",
        grid: [2, 1],
        shared_bytes: 49_168,
        element: "u8",
        args: POINTERS,
        highest: Rung::Classes,
    },
    Case {
        file: "matmul_maps_sm_100.ptx",
        kernel: "matmul_maps",
        grid: [2, 2],
        shared_bytes: 73_776,
        element: "f16",
        args: MAPS,
        highest: Rung::Classes,
    },
    Case {
        file: "matmul_own_maps_sm_100.ptx",
        kernel: "matmul_own_maps",
        grid: [2, 2],
        shared_bytes: 73_776,
        element: "f16",
        args: OWN_MAPS,
        highest: Rung::Full,
    },
];

impl Case {
    /// The launch file's kernel; the folder lives as long as it.
    fn open(&self) -> (tempfile::TempDir, Kernel) {
        let buffer = |name: &str, ty: &str, len: u32| {
            format!("[buffers.{name}]\ntype = \"{ty}\"\nlen = {len}\n")
        };
        let mut toml = format!("module = \"{FOLDER}/{}\"\n", self.file);
        toml += &buffer("a", self.element, 200 * 128);
        toml += &buffer("b", self.element, 112 * 96);
        toml += &buffer("c", "u32", 200 * 80);
        if self.args == OWN_MAPS {
            toml += &buffer("maps", "u8", 4 * 384);
        }
        let [x, y] = self.grid;
        toml += &format!(
            "[[launch]]\nkernel = \"{}\"\ngrid = [{x}, {y}, 1]\nblock = [128, 1, 1]\nshared_bytes = {}\nargs = [{}]\n",
            self.kernel, self.shared_bytes, self.args
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.toml");
        std::fs::write(&path, toml).unwrap();
        let kernel = Kernel::open(path.to_str().unwrap(), &LaunchOptions::default()).unwrap();
        (folder, kernel)
    }
}

/// The counts as documents have them.
fn bytes(counted: &Counted) -> [String; 2] {
    [
        serde_json::to_string(&counted.profile).unwrap(),
        serde_json::to_string(&counted.profile.table).unwrap(),
    ]
}

#[test]
fn slices_and_classes_of_products_in_tensor_memory_count_as_the_whole_does() {
    for case in CASES {
        let (_folder, kernel) = case.open();
        let name = case.file;
        let on = |rung| counted_on("b200", &kernel, rung, CacheChoice::Full);
        let full = &on(RungChoice::Full).unwrap()[0];
        assert_eq!(full.counted_by.rung, Rung::Full);
        // Tiles reach beyond the matrices.
        let operations = full.profile.metrics["tensor_op_count"].value.as_f64();
        assert!(operations >= 2.0 * 200.0 * 80.0 * 112.0, "{name}: {operations}");
        for (choice, rung) in
            [(RungChoice::Slice, Rung::Slice), (RungChoice::Classes, Rung::Classes)]
        {
            let possible = match case.highest {
                Rung::Classes => true,
                highest => highest == rung,
            };
            match on(choice) {
                Ok(counted) => {
                    assert!(possible, "{name} is counted by its {}", rung.name());
                    assert_eq!(counted[0].counted_by.rung, rung, "{name}");
                    assert!(counted[0].profile == full.profile, "{name}");
                    assert_eq!(bytes(&counted[0]), bytes(full), "{name}");
                    assert_eq!(counted[0].evidence.stages, full.evidence.stages, "{name}");
                }
                Err(refused) => assert!(!possible, "{name}: {refused}"),
            }
        }
    }
}

#[test]
fn the_record_of_a_product_in_tensor_memory_says_what_its_waits_wait_for() {
    let library = gpu_argument::library().unwrap();
    let gpu = gpu_argument::find(&library, "b200").unwrap();
    let device = gpu_argument::device_model(&gpu).unwrap();
    // Rows of A, columns of the sum, and elements of K that a product takes.
    for (case, rows, columns, depth) in [(&CASES[0], 128, 64, 16), (&CASES[3], 128, 64, 16)] {
        let (_folder, kernel) = case.open();
        let limits = Some(TraceLimits::default());
        let mut counted = traces::counted(&kernel, device, limits);
        let trace = counted[0].profile.trace.take().unwrap();
        assert_eq!(trace.tensor_columns, u32::from(columns), "{}", case.file);
        for cta in trace.classes.iter().flat_map(|class| &class.samples) {
            let mut products = 0;
            let mut phases: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
            for (&instruction, requests) in cta.warps.iter().flat_map(|warp| &warp.requests) {
                for request in requests {
                    match request.beside {
                        Beside::Nothing | Beside::Turns { .. } => {}
                        Beside::Phase(phase) => {
                            phases.entry(phase).or_default().insert(instruction);
                        }
                        Beside::Product { rows: m, columns: n, format: _ } => {
                            assert_eq!((m, n), (rows, columns), "{}", case.file);
                            products += 1;
                        }
                    }
                }
            }
            // K is 112, in tiles that are filled up.
            assert!(products * depth >= 112 && products * depth < 256, "{products}");
            // A phase is told by one instruction and waited for by another.
            let together = phases.values().filter(|instructions| instructions.len() > 1).count();
            assert!(2 * together > phases.len(), "{}: {phases:?}", case.file);
        }
    }
}
