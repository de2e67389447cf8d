use super::*;
use crate::coalescing::SectorSize;
use crate::hierarchy::{LocalStores, Replacement};

fn with_l2(l2: L2Geometry) -> DeviceModel {
    DeviceModel { l2, ..DeviceModel::GTX_480 }
}

#[test]
fn every_known_capability_has_a_possible_gpu_with_sources() {
    for capability in KNOWN_CAPABILITIES {
        let l2 = if capability.major == 1 { L2Geometry::NONE } else { L2Geometry::GTX_480 };
        let device = DeviceModel::for_capability(capability, 10, l2).unwrap();
        assert_eq!(device.validate(), Ok(()), "{capability}");
        assert!(capability_sources(capability).is_some(), "{capability}");
        assert_eq!(device.has_l2(), capability.major > 1);
    }
    for (major, minor) in [(0, 0), (1, 4), (4, 0), (8, 1), (13, 0)] {
        let capability = ComputeCapability::new(major, minor);
        assert_eq!(
            DeviceModel::for_capability(capability, 10, L2Geometry::GTX_480),
            Err(DeviceError::UnknownCapability { capability })
        );
        assert_eq!(capability_sources(capability), None);
    }
}

/// The CUDA C++ Programming Guide 11.7 caches local memory "in L1 and L2" on 3.x (5.3.2.2) and
/// later "in the same way as global memory", whose stores no L1 keeps.
#[test]
fn local_stores_stay_in_the_caches_of_fermi_and_kepler_alone() {
    for capability in KNOWN_CAPABILITIES.into_iter().filter(|known| known.major > 1) {
        let device = DeviceModel::for_capability(capability, 1, L2Geometry::GTX_480).unwrap();
        let writes_back = device.first_level.l1.unwrap().local_stores == LocalStores::WriteBack;
        assert_eq!(writes_back, capability.major <= 3, "{capability}");
    }
}

#[test]
fn misses_of_v100_turing_a100_and_h100_read_two_sectors() {
    for (major, minor, bytes) in
        [(3, 5, 32), (7, 0, 64), (7, 5, 64), (8, 0, 64), (8, 6, 32), (8, 9, 32), (9, 0, 64)]
    {
        let capability = ComputeCapability::new(major, minor);
        let device = DeviceModel::for_capability(capability, 1, L2Geometry::GTX_480).unwrap();
        assert_eq!(device.l2.fill_bytes, bytes, "{capability}");
    }
}

/// A set of 1.2 times the L2 that comes again and again is read from DRAM each time
/// (github.com/RRZE-HPC/gpu-benches, gpu-l2-cache).
#[test]
fn nothing_is_kept_of_a_cycle_beyond_the_l2_of_capability_8_0_and_later() {
    for (major, minor, percent) in [(8, 0, 78), (8, 6, 100), (8, 9, 100), (9, 0, 78)] {
        let capability = ComputeCapability::new(major, minor);
        let device = DeviceModel::for_capability(capability, 1, L2Geometry::GTX_480).unwrap();
        assert_eq!(device.l2.replacement, Replacement::Lru, "{capability}");
        assert_eq!(device.l2.distinct_percent, percent, "{capability}");
    }
}

#[test]
fn any_line_of_an_l1_of_volta_and_turing_may_give_way() {
    for (major, minor, of_any) in [(7, 0, true), (7, 5, true), (8, 0, false), (9, 0, false)] {
        let capability = ComputeCapability::new(major, minor);
        let device = DeviceModel::for_capability(capability, 1, L2Geometry::GTX_480).unwrap();
        let l1 = device.first_level.l1.unwrap();
        let is_random = matches!(l1.replacement, Replacement::Random { .. });
        assert_eq!(is_random, of_any, "{capability}");
    }
}

#[test]
fn the_gtx_480_is_a_gpu_of_its_capability() {
    let capability = ComputeCapability::new(2, 0);
    let device = DeviceModel::for_capability(capability, 15, L2Geometry::GTX_480);
    assert_eq!(device, Ok(DeviceModel::GTX_480));
}

#[test]
fn an_impossible_parameter_is_named() {
    let gpu = DeviceModel::GTX_480;
    let limits = |change: fn(&mut SmLimits)| {
        let mut limits = gpu.limits;
        change(&mut limits);
        DeviceModel { limits, ..gpu }
    };
    let sector_of_16 = Coalescing { sector: SectorSize::new(16).unwrap(), ..gpu.coalescing };
    let l2 = L2Geometry { line_bytes: 256, ..L2Geometry::GTX_480 };
    for (device, field) in [
        (DeviceModel { sm_count: 0, ..gpu }, "sm_count"),
        (DeviceModel { sm_count: 1 << 20, ..gpu }, "sm_count"),
        (limits(|limits| limits.max_warps = 0), "max_warps"),
        (limits(|limits| limits.max_ctas = 0), "max_ctas"),
        (limits(|limits| limits.registers = 0), "registers"),
        (
            limits(|limits| limits.register_allocation = RegisterAllocation::PerWarp(0)),
            "register_allocation",
        ),
        (limits(|limits| limits.sub_partitions = 0), "sub_partitions"),
        (limits(|limits| limits.shared_bytes = u64::MAX), "shared_bytes"),
        (
            limits(|limits| limits.shared_reserved_bytes_per_cta = u64::MAX),
            "shared_reserved_bytes_per_cta",
        ),
        (DeviceModel { constant_lanes: 8, ..gpu }, "constant_lanes"),
        (with_l2(L2Geometry { line_bytes: 48, ..gpu.l2 }), "l2.line_bytes"),
        (with_l2(L2Geometry { line_bytes: 16, ..gpu.l2 }), "l2.line_bytes"),
        // Sixteen sectors in a line.
        (DeviceModel { coalescing: sector_of_16, l2, ..gpu }, "l2.line_bytes"),
        (with_l2(L2Geometry { ways: 0, ..gpu.l2 }), "l2.size_bytes"),
        (with_l2(L2Geometry { size_bytes: 64, ..gpu.l2 }), "l2.size_bytes"),
        (with_l2(L2Geometry { size_bytes: 1 << 60, ..gpu.l2 }), "l2.size_bytes"),
    ] {
        match device.validate() {
            Err(DeviceError::Impossible { field: named, .. }) => assert_eq!(named, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    assert_eq!(DeviceModel { coalescing: sector_of_16, ..gpu }.validate(), Ok(()));
}
