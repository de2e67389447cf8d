//! Operands worth crossing with each other.

use gpucast_interpreter::semantics::rounding::Mode;
use rustc_apfloat::Round;

/// Bit patterns of 64 bits whose low 16 and 32 bits are boundaries too.
pub(crate) const INTEGERS: [u64; 27] = [
    0,
    1,
    2,
    3,
    5,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x007f_ffff,
    0x0080_0000,
    0x00ff_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x1234_5678_9abc_def0,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_8000,
    0xffff_ffff_ffff_ffff,
];

/// Shift amounts, field positions and lengths.
pub(crate) const AMOUNTS: [u32; 18] =
    [0, 1, 7, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 127, 255, 256, 0x8000_0000, u32::MAX];

/// Magnitudes of `.f32`: zero, subnormals, the edges of normal, near 1, halves, large, special.
const SINGLE_MAGNITUDES: [u32; 32] = [
    0x0000_0000,
    0x0000_0001,
    0x0000_0002,
    0x0000_0003,
    0x0040_0000,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x00ff_ffff,
    0x0100_0000,
    0x1f80_0000,
    0x2000_0001,
    0x3300_0000,
    0x3380_0001,
    0x3eff_ffff,
    0x3f00_0000,
    0x3f7f_ffff,
    0x3f80_0000,
    0x3f80_0001,
    0x3fc0_0000,
    0x4049_0fdb,
    0x4b00_0001,
    0x4b7f_ffff,
    0x477f_f000,
    0x5f00_0000,
    0x7e80_0000,
    0x7f00_0001,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7f80_0001,
    0x7fc0_0000,
    0x7fff_ffff,
];

/// `.f32` operands of both signs.
pub(crate) fn singles() -> Vec<f32> {
    SINGLE_MAGNITUDES.iter().flat_map(|&m| [m, m | 0x8000_0000]).map(f32::from_bits).collect()
}

/// `.f64` operands of both signs.
pub(crate) fn doubles() -> Vec<f64> {
    let magnitudes = [
        0x0000_0000_0000_0000,
        0x0000_0000_0000_0001,
        0x0000_0000_0000_0003,
        0x000f_ffff_ffff_ffff,
        0x0010_0000_0000_0000,
        0x0010_0000_0000_0001,
        0x0370_0000_0000_0003,
        0x3690_0000_0000_0001,
        0x3800_0000_0000_0001,
        0x380f_ffff_ffff_ffff,
        0x3810_0000_0000_0000,
        0x3fdf_ffff_ffff_ffff,
        0x3fe0_0000_0000_0000,
        0x3fef_ffff_ffff_ffff,
        0x3ff0_0000_0000_0000,
        0x3ff0_0000_0000_0001,
        0x3ff0_0000_1000_0000,
        0x3ff0_0000_1000_0001,
        0x3ff0_0000_3000_0000,
        0x4009_21fb_5444_2d18,
        0x4330_0000_0000_0001,
        0x43df_ffff_ffff_ffff,
        0x43e0_0000_0000_0000,
        0x43f0_0000_0000_0000,
        0x47ef_ffff_e000_0000,
        0x47ef_ffff_f000_0000,
        0x7fdf_ffff_ffff_ffff,
        0x7fef_ffff_ffff_ffff,
        0x7ff0_0000_0000_0000,
        0x7ff0_0000_0000_0001,
        0x7ff8_0000_0000_0000,
    ];
    magnitudes.iter().flat_map(|&m: &u64| [m, m | 1 << 63]).map(f64::from_bits).collect()
}

/// The mode in `rustc_apfloat`'s words.
pub(crate) fn round(mode: Mode) -> Round {
    match mode {
        Mode::NearestEven => Round::NearestTiesToEven,
        Mode::NearestAway => Round::NearestTiesToAway,
        Mode::Zero => Round::TowardZero,
        Mode::Down => Round::TowardNegative,
        Mode::Up => Round::TowardPositive,
    }
}
