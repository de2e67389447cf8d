//! Tridiagonal systems that a wrong step of cyclic reduction shows in.
//!
//! Equation i is coupled to i + 1 by a weight w(i) of 0.5 to 1, different for each system:
//!
//! ```text
//! -w(i - 1) x[i - 1] + (w(i - 1) + w(i) + 1/4096) x[i] - w(i) x[i + 1] = right[i]
//! ```
//!
//! without the weight beyond either end. The surplus of 1/4096 makes the solution depend on
//! equations some 50 places away (the square root of 0.75 * 4096). All nine steps for 512 equations
//! therefore matter, and the system stays well enough conditioned for f32. All entries are
//! multiples of 1/4096 below 2 and a bit, hence exact.

use super::GeneratorError;
use crate::reference::Values;

pub(super) const SHAPE: &str = "[equations of a system]";

const SURPLUS: f32 = 1.0 / 4096.0;

/// The buffer holds whole systems.
pub(super) fn check(shape: &[u64], len: usize) -> Result<(), GeneratorError> {
    equations(shape, len).map(drop)
}

pub(super) fn lower(shape: &[u64], len: usize) -> Result<Values, GeneratorError> {
    entries(shape, len, |before, _| -before)
}

pub(super) fn diagonal(shape: &[u64], len: usize) -> Result<Values, GeneratorError> {
    entries(shape, len, |before, behind| before + behind + SURPLUS)
}

pub(super) fn upper(shape: &[u64], len: usize) -> Result<Values, GeneratorError> {
    entries(shape, len, |_, behind| -behind)
}

/// An entry of every equation from the weights before and behind it.
fn entries(
    shape: &[u64],
    len: usize,
    entry: fn(f32, f32) -> f32,
) -> Result<Values, GeneratorError> {
    let equations = equations(shape, len)?;
    let entries = (0..len).map(|index| {
        let (system, equation) = (index / equations, index % equations);
        let before = equation.checked_sub(1).map_or(0.0, |previous| weight(system, previous));
        let behind = if equation + 1 < equations { weight(system, equation) } else { 0.0 };
        entry(before, behind)
    });
    Ok(Values::F32(entries.collect()))
}

fn equations(shape: &[u64], len: usize) -> Result<usize, GeneratorError> {
    let equations = match shape {
        &[equations] if equations > 0 => {
            usize::try_from(equations).map_err(|_| GeneratorError::Shape { expected: SHAPE })?
        }
        _ => return Err(GeneratorError::Shape { expected: SHAPE }),
    };
    if len.is_multiple_of(equations) {
        Ok(equations)
    } else {
        let expected = format!("a multiple of {equations}");
        Err(GeneratorError::Length { expected, found: len })
    }
}

/// Multiples of 1/2048, scattered by two primes.
fn weight(system: usize, equation: usize) -> f32 {
    let scattered = equation.wrapping_mul(7919).wrapping_add(system.wrapping_mul(104_729)) % 1024;
    0.5 + scattered as f32 / 2048.0
}
