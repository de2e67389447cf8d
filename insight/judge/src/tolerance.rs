//! How far a result may be from the reference's.

use gpucast_buffers::scalar::ElementType;
use gpucast_forecast::input::plan::Plan;

/// Limits that a caller sets for all buffers of floating-point numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The relative tolerance.
    pub rtol: Option<f64>,
    /// The absolute tolerance.
    pub atol: Option<f64>,
}

/// The tolerance of a buffer: `|got - want| <= atol + rtol * |want|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative.
    pub rtol: f64,
    /// Absolute.
    pub atol: f64,
}

impl Tolerance {
    /// Nothing but the same bits.
    pub const EXACT: Self = Self { rtol: 0.0, atol: 0.0 };
}

/// The default by type: a thousand roundings and more of f32 and f64, about ten of the short types,
/// whose sums are usually kept in f32. Integers are exact.
#[must_use]
pub fn default_rtol(ty: ElementType) -> f64 {
    match ty {
        ElementType::F64 => 1e-10,
        ElementType::F32 => 1e-4,
        ElementType::F16 => 5e-3,
        ElementType::Bf16 => 4e-2,
        ElementType::U8
        | ElementType::U16
        | ElementType::U32
        | ElementType::U64
        | ElementType::S8
        | ElementType::S16
        | ElementType::S32
        | ElementType::S64 => 0.0,
    }
}

/// The part of `rtol` times the root mean square of a buffer that is its absolute tolerance: sums
/// that nearly cancel are as exact as their terms. It is some ten roundings of any type.
fn share_of_rms(ty: ElementType) -> f64 {
    if ty.bytes() < 4 { 0.5 } else { 0.02 }
}

/// The tolerance of a buffer of the reference with the values that it should have. A caller's
/// limits come first, then those of the reference's launch file.
#[must_use]
pub fn of(plan: &Plan, buffer: usize, want: &[u8], overrides: Overrides) -> Tolerance {
    let stated = plan.expectations.iter().find(|expectation| expectation.buffer == buffer);
    let stated = stated.filter(|stated| stated.rtol > 0.0 || stated.atol > 0.0);
    let rtol = overrides.rtol.or(stated.map(|stated| stated.rtol));
    let atol = overrides.atol.or(stated.map(|stated| stated.atol));
    of_values(plan.buffers[buffer].ty, want, Overrides { rtol, atol })
}

/// The tolerance of elements of a type with the values that they should have.
#[must_use]
pub fn of_values(ty: ElementType, want: &[u8], overrides: Overrides) -> Tolerance {
    if ty.integer_range().is_some() {
        return Tolerance::EXACT;
    }
    let rtol = overrides.rtol.unwrap_or_else(|| default_rtol(ty));
    let atol = overrides.atol.unwrap_or_else(|| share_of_rms(ty) * rtol * rms(ty, want));
    Tolerance { rtol, atol }
}

/// The root mean square of the finite values.
fn rms(ty: ElementType, bytes: &[u8]) -> f64 {
    let values = bytes.chunks_exact(ty.bytes()).map(|bytes| ty.decode(bytes).as_f64());
    let (mut sum, mut number) = (0.0, 0.0);
    for value in values.filter(|value| value.is_finite()) {
        sum += value * value;
        number += 1.0;
    }
    if number > 0.0 { (sum / number).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_mean_square_leaves_out_what_is_not_finite() {
        let values = [3.0_f32, 4.0, f32::NAN, f32::INFINITY];
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(rms(ElementType::F32, &bytes), 12.5_f64.sqrt());
        assert_eq!(rms(ElementType::F32, &[]), 0.0);
    }
}
