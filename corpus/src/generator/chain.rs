//! Chains through a buffer: each element of one is the index of the next.

use super::GeneratorError;
use crate::reference::Values;

pub(super) const SHAPE: &str = "[elements from one of a chain to the next]";

/// The distance is less than the buffer's length, which is a multiple of it.
pub(super) fn check(shape: &[u64], len: usize) -> Result<(), GeneratorError> {
    distance(shape, len).map(drop)
}

/// Element i is i plus the distance, from the end back to the beginning.
pub(super) fn run(shape: &[u64], len: usize) -> Result<Values, GeneratorError> {
    let distance = distance(shape, len)?;
    Ok(Values::S32((0..len).map(|index| ((index + distance) % len) as i32).collect()))
}

fn distance(shape: &[u64], len: usize) -> Result<usize, GeneratorError> {
    let fits = |distance: &usize| (1..=len).contains(distance) && len.is_multiple_of(*distance);
    match shape {
        &[distance] if i32::try_from(len).is_ok() => usize::try_from(distance).ok().filter(fits),
        _ => None,
    }
    .ok_or(GeneratorError::Shape { expected: SHAPE })
}
