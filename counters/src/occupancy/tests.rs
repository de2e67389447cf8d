use super::*;
use crate::hierarchy::L2Geometry;
use gpucast_ptx_frontend::ComputeCapability;

fn device(major: u32, minor: u32) -> DeviceModel {
    let capability = ComputeCapability::new(major, minor);
    DeviceModel::for_capability(capability, 30, L2Geometry::GTX_480).unwrap()
}

fn cta(threads: u64, registers: u32, shared_bytes: u64) -> CtaShape {
    CtaShape { threads, shared_bytes, registers_per_thread: Some(registers) }
}

#[track_caller]
fn check(occupancy: Occupancy, ctas: u32, limiters: &[Limiter]) {
    assert_eq!(occupancy.ctas_per_sm, ctas, "{occupancy:?}");
    assert_eq!(occupancy.limiters().collect::<Vec<_>>(), limiters, "{occupancy:?}");
}

use Limiter::{Ctas, Registers, SharedMemory, Warps};

/// `cuda_occupancy.h` of CUDA 13.5, run for random kernels on GPUs of every capability from 3.0 on,
/// with its default split of L1 and shared memory and without partitioned caching.
const NVIDIA: &str = include_str!("../../tests/occupancy/nvidia.csv");

#[test]
fn nvidias_calculator_agrees_from_3_0_on() {
    let mut rows = 0;
    for line in NVIDIA.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let number = |column: usize| columns[column].parse::<u64>().unwrap();
        let (major, minor) = columns[0].split_once('.').unwrap();
        let device = device(major.parse().unwrap(), minor.parse().unwrap());
        let registers = number(2) as u32;
        // The header lets 3.0 have 255 registers, which the spreadsheet and the guide do not.
        if registers > device.limits.max_registers_per_thread {
            assert_eq!((major, minor), ("3", "0"));
            continue;
        }
        let occupancy = device.occupancy(cta(number(1), registers, number(3)));
        assert_eq!(u64::from(occupancy.ctas_per_sm), number(4), "{line}: {occupancy:?}");
        let letter = |limiter| match limiter {
            Warps => 'w',
            Registers => 'r',
            SharedMemory => 's',
            Ctas => 'c',
        };
        let mut limiters: Vec<char> = occupancy.limiters().map(letter).collect();
        let mut expected: Vec<char> = columns[5].chars().collect();
        limiters.sort_unstable();
        expected.sort_unstable();
        assert_eq!(limiters, expected, "{line}: {occupancy:?}");
        rows += 1;
    }
    assert!(rows > 450, "{rows}");
}

#[test]
fn table_2_of_zhang_and_owens() {
    // GTX 285, 64 threads a block. "smem" is the shared memory of a block in bytes, "# blocks"
    // and "# active warps" are the last two columns.
    let gtx_285 = device(1, 3);
    for (registers, shared, blocks, warps) in
        [(16, 348, 8, 16), (30, 1088, 8, 16), (58, 4284, 3, 6)]
    {
        let occupancy = gtx_285.occupancy(cta(64, registers, shared));
        assert_eq!((occupancy.ctas_per_sm, occupancy.warps_per_sm()), (blocks, warps));
    }
    // The columns "# blocks (register)": 16, 8, 3 hold without rounding; 30 · 64 = 1920 registers
    // are given out as 2048, and 58 · 64 = 3712 as 4096, which allows four. The paper says three;
    // it is shared memory that limits (4284 bytes are given out as 4608).
    let by_registers = |registers, shared| gtx_285.occupancy(cta(64, registers, shared)).limits[2];
    assert_eq!(by_registers(16, 348), (Registers, Some(16)));
    assert_eq!(by_registers(30, 1088), (Registers, Some(8)));
    assert_eq!(by_registers(58, 4284), (Registers, Some(4)));
    check(gtx_285.occupancy(cta(64, 58, 4284)), 3, &[SharedMemory]);
}

#[test]
fn nvidias_published_examples() {
    // CUDA C Best Practices Guide 4.0, "Calculating Occupancy": on capability 1.0 twelve registers
    // with 128 threads give 83 % (5 blocks), with 256 threads 66 % (2 blocks).
    let small = device(1, 0).occupancy(cta(128, 12, 0));
    check(small, 5, &[Registers]);
    assert_eq!((small.theoretical() * 100.0).floor(), 83.0);
    let large = device(1, 0).occupancy(cta(256, 12, 0));
    check(large, 2, &[Registers]);
    assert_eq!((large.theoretical() * 100.0).floor(), 66.0);
    // NVIDIA's spreadsheet, version 1.2, as it opens: G80, 256 threads, 10 registers, 4096 bytes.
    check(device(1, 0).occupancy(cta(256, 10, 4096)), 3, &[Warps, Registers]);
    // CUDA C++ Best Practices Guide 11, "Calculating Occupancy": on capability 7.0 37 registers
    // with 128 threads give 75 % (12 blocks), with 320 threads 63 % (4 blocks).
    let small = device(7, 0).occupancy(cta(128, 37, 0));
    check(small, 12, &[Registers]);
    assert_eq!(small.theoretical(), 0.75);
    let large = device(7, 0).occupancy(cta(320, 37, 0));
    check(large, 4, &[Registers]);
    assert_eq!(large.theoretical(), 0.625);
}

#[test]
fn fermi_gives_some_counts_of_registers_twice_the_unit() {
    // 20 registers: 640 a warp, 25 warps in each half of 16384; four CTAs of 11 warps.
    check(device(2, 0).occupancy(cta(352, 20, 0)), 4, &[Warps, Registers]);
    // 21: 672 rounded up by 128 to 768, 21 warps in each half: three CTAs. By 64 it were 704,
    // 23 warps and four CTAs.
    check(device(2, 0).occupancy(cta(352, 21, 0)), 3, &[Registers]);
    // 63: 2016 rounded to 2048, 8 warps in each half; 64 registers do not exist.
    check(device(2, 0).occupancy(cta(512, 63, 0)), 1, &[Registers]);
    check(device(2, 0).occupancy(cta(32, 64, 0)), 0, &[Registers]);
}

#[test]
fn each_limit_of_the_gtx_480_binds_somewhere() {
    let ctas = |threads, shared_bytes| {
        let cta = CtaShape { threads, shared_bytes, registers_per_thread: None };
        let ctas = DeviceModel::GTX_480.ctas_per_sm(cta);
        assert_eq!(DeviceModel::GTX_480.wave(cta), 15 * ctas as usize);
        ctas
    };
    assert_eq!(ctas(32, 0), 8);
    assert_eq!(ctas(256, 0), 6);
    assert_eq!(ctas(1024, 8192), 1);
    assert_eq!(ctas(33, 0), 8);
    assert_eq!(ctas(161, 0), 8);
    assert_eq!(ctas(193, 0), 6);
    assert_eq!(ctas(64, 12 << 10), 4);
    // 12 KB and one byte take 12 KB and 128 bytes.
    assert_eq!(ctas(64, (12 << 10) + 1), 3);
    // What fits no SM runs alone.
    assert_eq!(ctas(64, 64 << 10), 1);
    assert_eq!(ctas(2048, 0), 1);
}

#[test]
fn ampere_takes_a_kilobyte_of_each_cta() {
    // 164 KB: four CTAs of 40 KB and their four kilobytes fit, four of 41 KB do not.
    check(device(8, 0).occupancy(cta(32, 32, 40 << 10)), 4, &[SharedMemory]);
    check(device(8, 0).occupancy(cta(32, 32, 41 << 10)), 3, &[SharedMemory]);
    check(device(8, 0).occupancy(cta(32, 32, 163 << 10)), 1, &[SharedMemory]);
    check(device(8, 0).occupancy(cta(32, 32, 164 << 10)), 0, &[SharedMemory]);
}

#[test]
fn a_grid_that_fills_its_waves_achieves_what_is_possible() {
    // 30 SMs, 8 CTAs of 2 warps each, of 32 warps.
    let occupancy = device(1, 3).occupancy(cta(64, 16, 0));
    assert_eq!(occupancy.theoretical(), 0.5);
    assert_eq!(occupancy.achieved(240, 30), 0.5);
    assert_eq!(occupancy.achieved(480, 30), 0.5);
    // One CTA on each SM, or on one SM only: idle SMs are not active.
    assert_eq!(occupancy.achieved(30, 30), 2.0 / 32.0);
    assert_eq!(occupancy.achieved(1, 30), 2.0 / 32.0);
    assert_eq!(occupancy.achieved(0, 30), 0.0);
    // A full wave and one CTA more: 29 SMs are active for one CTA's time, one for two.
    let expected = (241.0 * 2.0) / 31.0 / 32.0;
    assert!((occupancy.achieved(241, 30) - expected).abs() < 1e-15);
}

#[test]
fn absurd_shapes_are_answered() {
    for (major, minor) in [(1, 0), (2, 0), (9, 0)] {
        let huge = CtaShape {
            threads: u64::MAX,
            shared_bytes: u64::MAX,
            registers_per_thread: Some(u32::MAX),
        };
        assert_eq!(device(major, minor).occupancy(huge).ctas_per_sm, 0);
        let nothing = device(major, minor).occupancy(CtaShape::default());
        assert!(nothing.ctas_per_sm > 0 && nothing.theoretical() <= 1.0);
    }
}

#[test]
fn registers_of_profilers_limit_fermi_and_kepler() {
    // Visual Profiler on a Tesla of 14 SMs (stackoverflow.com/questions/10030782): 48 registers and
    // 224 threads give 29.17 %. 1,536 registers a warp, seven warps count as eight: two blocks.
    let fermi = device(2, 0).occupancy(cta(224, 48, 0));
    check(fermi, 2, &[Registers]);
    assert_eq!((fermi.theoretical() * 1e4).round(), 2917.0);
    // 65,536 / 1,536 are 42 warps, 40 by fours, five blocks of seven: 35 of 64.
    let kepler = device(3, 5).occupancy(cta(224, 48, 0));
    check(kepler, 5, &[Registers]);
    assert_eq!((kepler.theoretical() * 1e4).round(), 5469.0);
}

#[test]
fn estimates_are_cut_at_the_limit_of_a_thread() {
    let known = ThreadRegisters { count: 80, estimated: None, spilled: 0 };
    let estimated = Some(RegisterRange { least: 80, most: 80 });
    let of_other_code = ThreadRegisters { estimated, ..known };
    assert_eq!(device(2, 0).registers_of_thread(of_other_code, 32), 63);
    assert_eq!(device(2, 0).registers_of_thread(known, 32), 80);
    assert_eq!(device(3, 5).registers_of_thread(of_other_code, 32), 80);
}

#[test]
fn an_sm_sets_the_smallest_split_aside_that_holds_its_ctas() {
    // Splits of the programming guide. The system takes 1 KB of each CTA from 8.0 on.
    const KB: u64 = 1024;
    let set_aside = |major, minor, cta| device(major, minor).shared_bytes_set_aside(cta);
    // Eight CTAs with 1 KB each: 8 KB. An H100's least split is 32 KB.
    assert_eq!(set_aside(8, 0, cta(256, 32, 0)), 8 * KB);
    assert_eq!(set_aside(9, 0, cta(256, 32, 0)), 32 * KB);
    // Seven of 21 KB fit into 164 KB and hold 147.
    assert_eq!(set_aside(8, 0, cta(256, 32, 20 * KB)), 164 * KB);
    // Nothing is kept back on a V100.
    assert_eq!(set_aside(7, 0, cta(256, 32, 0)), 0);
    // Maxwell's shared memory is its own.
    assert_eq!(set_aside(5, 2, cta(256, 32, 0)), 96 * KB);
}
