//! Parameters of devices whose times follow a formula.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail as tests do")]

use gpucast_collection::{Target, ptx};
use gpucast_measure::parameters::all;
use gpucast_measure::{
    Bench, ComputeCapability, Device, DeviceError, Facts, Job, MeasureError, Measured, Trials,
    gpu_file,
};

/// A device whose launches take the seconds of a formula.
struct Formula {
    facts: Facts,
    seconds: fn(&Job) -> f64,
}

impl Device for Formula {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn time(&mut self, job: &Job) -> Result<Vec<f64>, DeviceError> {
        let usual = (self.seconds)(job);
        // One trial of each kernel is disturbed.
        let disturbed = |trial| if trial == 1 { 20.0 * usual } else { usual };
        Ok((0..job.trials).map(disturbed).collect())
    }
}

fn device(seconds: fn(&Job) -> f64) -> Formula {
    let facts = Facts {
        name: "NVIDIA GeForce GTX 1 Ti".to_owned(),
        driver_version: 13_000,
        compute_capability: ComputeCapability::new(7, 0),
        sm_count: 10,
        max_blocks_per_sm: 32,
        clock_mhz: 1000.0,
        memory_clock_mhz: 1000.0,
        memory_bus_bits: 256,
        l2_bytes: 1 << 20,
        memory_bytes: 1 << 30,
    };
    Formula { facts, seconds }
}

fn measured(field: &str, seconds: fn(&Job) -> f64) -> Result<Measured, MeasureError> {
    let parameter = all().find(|parameter| parameter.field == field).unwrap();
    let mut device = device(seconds);
    parameter.measured(&mut Bench::new(&mut device, Trials { warm_up: 1, timed: 4 }))
}

/// Elements of the kernel's buffers.
fn elements(job: &Job) -> f64 {
    job.kernel.buffers().map(|array| array.len as f64).fold(0.0, f64::max)
}

#[test]
fn slopes_recover_what_the_formula_says_and_drop_its_fixed_part() {
    let check = |field, seconds, expected: f64| {
        let found = measured(field, seconds).unwrap();
        assert!((found.value / expected - 1.0).abs() < 1e-9, "{field}: {found:?}");
        assert_eq!(found.excluded, 2, "{field}");
    };
    check("launch_overhead", |job| 7e-6 + 2.5e-6 * f64::from(job.launches), 2.5);
    // Three clocks of 1 GHz for each block.
    check("cta_launch_interval", |job| 1e-4 + 3e-9 * f64::from(job.kernel.grid[0]), 3.0);
    // 32 GB/s of 64 GB/s that the pins carry; elements have four bytes.
    check("dram_efficiency", |job| 1e-3 + elements(job) * 4.0 / 32e9, 50.0);
}

#[test]
fn a_time_that_does_not_grow_is_no_figure() {
    let error = measured("l2_latency", |_| 1e-3).unwrap_err();
    assert!(matches!(error, MeasureError::NoSlope { .. }), "{error}");
}

#[test]
fn the_file_has_every_figure_with_its_source_and_is_read_back() {
    let every: Vec<Measured> =
        all().map(|parameter| Measured { parameter, value: 20.0, excluded: 0 }).collect();
    let facts = device(|_| 0.0).facts;
    assert_eq!(gpu_file::name_of(&facts.name), "gtx-1-ti");
    let gpu = gpu_file::gpu(&gpu_file::text("mine", &facts, &every)).unwrap();
    for parameter in all().filter(|parameter| parameter.is_field()) {
        let figure = gpu.figure(parameter.field).unwrap();
        assert_eq!(figure.source.kind(), "benchmark", "{}", parameter.field);
        assert_eq!(parameter.of(&gpu), Some(20.0), "{}", parameter.field);
    }
    // 2 × 20 results × 10 SMs × the measured 20 MHz; a fifth of 64 GB/s.
    assert_eq!(gpu.number("sp_throughput"), Some(8.0));
    assert_eq!(gpu.number("boost_clock"), Some(1000.0));
    assert_eq!(gpu.number("memory_bandwidth"), Some(12.8));
}

#[test]
fn figures_that_no_gpu_can_have_are_taken_out_and_the_file_keeps_the_rest() {
    let figure = |field: &str, value| {
        let parameter = all().find(|parameter| parameter.field == field).unwrap();
        Measured { parameter, value, excluded: 0 }
    };
    let facts = device(|_| 0.0).facts;
    let mut figures = vec![
        figure("sp_clock", 1980.0),
        figure("code_latency", -20.7),
        figure("shared_stride_1", -1.0),
        figure("l2_latency", f64::NAN),
        figure("memory_latency", 640.0),
    ];
    let impossible = gpu_file::take_impossible(&facts, &mut figures).unwrap();
    let fields =
        |all: &[Measured]| all.iter().map(|figure| figure.parameter.field).collect::<Vec<_>>();
    assert_eq!(fields(&figures), ["sp_clock", "memory_latency"]);
    let taken: Vec<Measured> = impossible.iter().map(|figure| figure.measured.clone()).collect();
    assert_eq!(fields(&taken), ["code_latency", "shared_stride_1", "l2_latency"]);
    assert!(impossible[0].reason.contains("no GPU has -20.7"), "{}", impossible[0].reason);
    let gpu = gpu_file::gpu(&gpu_file::text("mine", &facts, &figures)).unwrap();
    assert_eq!(gpu.number("memory_latency"), Some(640.0));
}

/// A device that takes every kernel's text and tells times that grow with any size.
struct Texts {
    facts: Facts,
    modules: Vec<String>,
}

impl Device for Texts {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn time(&mut self, job: &Job) -> Result<Vec<f64>, DeviceError> {
        let target = Target::from(self.facts.compute_capability);
        self.modules.push(ptx::module(&job.kernel, target));
        Ok(vec![self.modules.len() as f64])
    }
}

/// The assembler of a computer that has one.
fn ptxas() -> Option<std::path::PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join("ptxas")).find(|file| file.is_file())
}

#[test]
fn the_assembler_takes_every_kernel_on_each_generation() {
    let Some(ptxas) = ptxas() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (major, minor) in [(7, 0), (8, 0), (8, 9), (9, 0), (10, 0), (12, 0)] {
        let facts = Facts {
            compute_capability: ComputeCapability::new(major, minor),
            ..device(|_| 0.0).facts
        };
        let mut device = Texts { facts, modules: Vec::new() };
        let mut bench = Bench::new(&mut device, Trials { warm_up: 0, timed: 1 });
        for parameter in all() {
            // A figure of such times has no meaning, and may be none at all.
            let _ = parameter.measured(&mut bench);
        }
        assert!(device.modules.len() > 100, "{}", device.modules.len());
        let mut seen = std::collections::BTreeSet::new();
        for (number, module) in device.modules.iter().enumerate() {
            let target = module.lines().find(|line| line.starts_with(".target")).unwrap();
            let name = module.lines().find(|line| line.starts_with(".visible")).unwrap();
            // Sizes of one kernel differ by numbers.
            if !seen.insert(name.to_owned()) {
                continue;
            }
            let file = folder.path().join(format!("{number}.ptx"));
            std::fs::write(&file, module).unwrap();
            let arch = target.trim_start_matches(".target ");
            let made = std::process::Command::new(&ptxas)
                .args(["-o", "/dev/null", &format!("-arch={arch}")])
                .arg(&file)
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "{name} for {arch}: {errors}");
        }
    }
}
