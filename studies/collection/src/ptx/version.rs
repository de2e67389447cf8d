//! The version of the PTX ISA that a target needs.

/// Targets with the version that introduced them (PTX ISA manual, section "Release notes"). For
/// sm_75 it is 7.0 instead of 6.3, which brought it `tanh`.
const TARGETS: [(u32, [u8; 2]); 11] = [
    (72, [6, 1]),
    (75, [7, 0]),
    (80, [7, 0]),
    (86, [7, 1]),
    (87, [7, 4]),
    (89, [7, 8]),
    (100, [8, 6]),
    (103, [8, 8]),
    (110, [9, 0]),
    (120, [8, 7]),
    (121, [8, 8]),
];

/// The least version that knows the target and `shfl.sync`, which came with 6.0.
pub(super) fn of_target(sm: u32) -> [u8; 2] {
    TARGETS.iter().rev().find(|(first, _)| sm >= *first).map_or([6, 0], |(_, version)| *version)
}
