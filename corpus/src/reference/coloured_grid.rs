//! A grid whose points are reordered by colour (Konstantinidis 2017, section 5.1.1, figure 5.2).
//!
//! `rows` x `columns` inner points have a frame of boundary points. Point (i, j), i counting
//! columns and j rows from 0 at the boundary, is red where i + j is even. It sits in row j, column
//! i / 2 of its colour's matrix.

use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

/// The shape of a grid and of the two matrices that hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColouredGrid {
    rows: usize,
    columns: usize,
    /// Elements from one row of a colour to the next, padded to 128 bytes of f64.
    pitch: usize,
    /// Elements of a colour's matrix.
    pub(crate) len: usize,
}

impl ColouredGrid {
    /// The grid of kernel `<prefix><rows>x<columns>`, if the launch covers it with `block`.
    pub(crate) fn of_kernel(
        inputs: &Inputs<'_>,
        prefix: &str,
        known: &'static str,
        block: [u32; 3],
    ) -> Result<Self, ReferenceError> {
        let grid = inputs
            .kernel
            .strip_prefix(prefix)
            .and_then(|size| size.split_once('x'))
            .and_then(|(rows, columns)| Self::new(rows.parse().ok()?, columns.parse().ok()?))
            .ok_or_else(|| ReferenceError::UnknownKernel {
                kernel: inputs.kernel.to_owned(),
                known,
            })?;
        inputs.block_is(block)?;
        if inputs.threads_y() != grid.rows || inputs.threads_x() <= grid.columns / 2 {
            return Err(unsupported(format!(
                "{} x {} threads do not cover {} rows of {} points of one colour",
                inputs.threads_y(),
                inputs.threads_x(),
                grid.rows,
                grid.columns / 2 + 1,
            )));
        }
        Ok(grid)
    }

    fn new(rows: usize, columns: usize) -> Option<Self> {
        if !columns.is_multiple_of(2) {
            return None;
        }
        // At least one element of padding, which the kernels' tiles read and nobody uses.
        let pitch = (columns / 2).checked_add(2)?.checked_next_multiple_of(16)?;
        let len = rows.checked_add(2)?.checked_mul(pitch)?;
        Some(Self { rows, columns, pitch, len })
    }

    /// Returns the index of point (i, j) in its colour's matrix.
    pub(crate) fn index(&self, i: usize, j: usize) -> usize {
        j * self.pitch + i / 2
    }

    /// The inner red points as (i, j).
    pub(crate) fn red_points(&self) -> impl Iterator<Item = (usize, usize)> {
        let columns = self.columns;
        (1..=self.rows).flat_map(move |j| {
            let first = if j % 2 == 0 { 2 } else { 1 };
            (first..=columns).step_by(2).map(move |i| (i, j))
        })
    }
}
