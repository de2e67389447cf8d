//! A box of dim^3 inner points with a layer of boundary points, as `stencil-7pt` and `gsrb` store
//! it.
//!
//! A row is dim inner points, the boundary point behind them, two elements of padding, and the
//! boundary point before the next row.

use super::error::ReferenceError;
use super::inputs::unsupported;

/// A box and the elements that it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaddedBox {
    pub(super) dim: usize,
    /// Elements from a row to the next.
    pub(super) row: usize,
    /// Elements from a plane to the next.
    pub(super) plane: usize,
    pub(super) len: usize,
}

impl PaddedBox {
    pub(super) fn new(dim: usize) -> Result<Self, ReferenceError> {
        let row = dim.checked_add(4);
        let plane = row.and_then(|row| row.checked_mul(dim + 2));
        let len = plane.and_then(|plane| plane.checked_mul(dim + 2));
        match (row, plane, len) {
            (Some(row), Some(plane), Some(len)) => Ok(Self { dim, row, plane, len }),
            _ => Err(unsupported(format!("no memory holds {dim}^3 points"))),
        }
    }

    /// The inner points as (i, j, k) from 0 with their places, in the order of memory.
    pub(super) fn points(self) -> impl Iterator<Item = ([usize; 3], usize)> {
        let Self { dim, row, plane, .. } = self;
        (0..dim).flat_map(move |k| {
            (0..dim).flat_map(move |j| {
                (0..dim).map(move |i| ([i, j, k], (k + 1) * plane + (j + 1) * row + i))
            })
        })
    }
}
