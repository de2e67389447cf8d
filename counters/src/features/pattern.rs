//! Affine address patterns, recovered from sampled addresses.

use std::collections::HashMap;

/// The movement of an address along one axis of thread or block indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stride {
    /// Bytes per step. They are 0 if the address does not depend on the index, or the axis has one
    /// index only.
    Bytes(i64),
    /// No two of the samples differ in this index alone, so that it has no observable stride.
    Unobserved,
}

impl Stride {
    /// The stride in elements of `bytes` bytes, as the paper's strides are.
    #[must_use]
    pub fn elements(self, bytes: u32) -> Option<f64> {
        match self {
            Self::Bytes(stride) => Some(stride as f64 / f64::from(bytes.max(1))),
            Self::Unobserved => None,
        }
    }

    fn bytes(self) -> i64 {
        match self {
            Self::Bytes(stride) => stride,
            Self::Unobserved => 0,
        }
    }
}

/// The strides along the three axes of thread or block indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strides {
    /// All samples lie on one affine function of the indices.
    Affine([Stride; 3]),
    /// They do not.
    Irregular,
}

/// A sample: indices and address.
pub(super) type Point = ([u32; 3], u64);

/// The affine function that goes through all `points`; indices along an axis lie below its extent.
///
/// An axis' stride follows from two points that differ in it and, at most, in axes whose stride is
/// known already. Every point is then checked, save those that differ from the first in an axis
/// whose stride could not be told.
pub(super) fn fit(points: &[Point], extents: [u32; 3]) -> Option<Strides> {
    let &(first, address) = points.first()?;
    let mut strides = extents.map(|extent| (extent == 1).then_some(Stride::Bytes(0)));
    while let Some((axis, stride)) =
        (0..3).find_map(|axis| Some((axis, observed(points, axis, &strides)?)))
    {
        let Some(stride) = stride else {
            return Some(Strides::Irregular);
        };
        strides[axis] = Some(Stride::Bytes(stride));
    }
    let known = strides.map(|stride| stride.unwrap_or(Stride::Unobserved));
    let origin = address.wrapping_sub(offset(first, &known));
    let lies_on = |&(index, address): &Point| {
        let comparable = (0..3).all(|axis| strides[axis].is_some() || index[axis] == first[axis]);
        !comparable || address == origin.wrapping_add(offset(index, &known))
    };
    Some(match points.iter().all(lies_on) {
        true => Strides::Affine(known),
        false => Strides::Irregular,
    })
}

/// Returns the bytes that the indices add to the address, as far as strides are known.
pub(super) fn offset(index: [u32; 3], strides: &[Stride; 3]) -> u64 {
    (0..3).fold(0_u64, |sum, axis| {
        sum.wrapping_add_signed(i64::from(index[axis]).wrapping_mul(strides[axis].bytes()))
    })
}

/// The stride along an axis that is not known yet, from the first two points that show it. Returns
/// `Some(None)` if it is no whole number of bytes.
fn observed(points: &[Point], axis: usize, strides: &[Option<Stride>; 3]) -> Option<Option<i64>> {
    if strides[axis].is_some() {
        return None;
    }
    // Points that agree in all other unknown axes can be compared, once the known ones are taken
    // off.
    let known = strides.map(|stride| stride.unwrap_or(Stride::Bytes(0)));
    let mut seen = HashMap::<[u32; 3], (u32, u64)>::new();
    for &(index, address) in points {
        let others: [u32; 3] = std::array::from_fn(|other| match strides[other] {
            None if other != axis => index[other],
            _ => 0,
        });
        let address = address.wrapping_sub(offset(index, &known));
        let &mut (at, before) = seen.entry(others).or_insert((index[axis], address));
        if at != index[axis] {
            let steps = i64::from(index[axis]) - i64::from(at);
            let bytes = address.wrapping_sub(before) as i64;
            return Some((bytes % steps == 0).then(|| bytes / steps));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Stride::{Bytes, Unobserved};
    use super::*;

    fn grid(extent: [u32; 3], address: impl Fn([u32; 3]) -> u64) -> Vec<Point> {
        let mut points = Vec::new();
        for z in 0..extent[2] {
            for y in 0..extent[1] {
                for x in 0..extent[0] {
                    points.push(([x, y, z], address([x, y, z])));
                }
            }
        }
        points
    }

    #[test]
    fn an_affine_function_is_recovered() {
        let address = |[x, y, z]: [u32; 3]| {
            0x7000 + u64::from(x) * 4 + u64::from(y) * 8192 - u64::from(z) * 16
        };
        let found = fit(&grid([4, 3, 2], address), [4, 3, 2]).unwrap();
        assert_eq!(found, Strides::Affine([Bytes(4), Bytes(8192), Bytes(-16)]));
    }

    #[test]
    fn what_is_not_affine_is_irregular() {
        let found = fit(&grid([8, 1, 1], |[x, ..]| u64::from(x * x)), [8, 1, 1]).unwrap();
        assert_eq!(found, Strides::Irregular);
        // Half a byte for each step.
        let found = fit(&[([0, 0, 0], 0), ([2, 0, 0], 1)], [4, 1, 1]).unwrap();
        assert_eq!(found, Strides::Irregular);
    }

    #[test]
    fn axes_are_told_apart_even_where_no_two_points_differ_in_one_alone() {
        // x from the first two points; y from the third, with x taken off.
        let points = [([0, 0, 0], 100), ([1, 0, 0], 104), ([3, 2, 0], 100 + 12 + 2 * 64)];
        let strides = |points: &[Point]| fit(points, [4, 4, 1]).unwrap();
        assert_eq!(strides(&points), Strides::Affine([Bytes(4), Bytes(64), Bytes(0)]));
        // A diagonal shows neither.
        let points = [([0, 0, 0], 0), ([1, 1, 0], 68), ([2, 2, 0], 136)];
        assert_eq!(strides(&points), Strides::Affine([Unobserved, Unobserved, Bytes(0)]));
        // Nor does one thread of several.
        assert_eq!(strides(&points[..1]), Strides::Affine([Unobserved, Unobserved, Bytes(0)]));
        assert_eq!(fit(&[], [1; 3]), None);
    }
}
