//! The elements of a tensor that a box holds, and their places in the box.

use super::TensorMap;

/// The place of a copy's box in the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoxPlace {
    /// The box's first element, by dimension.
    Tile([i32; 5]),
    /// Four rows of a matrix: the first column, then the rows.
    Rows { column: i32, rows: [i32; 4] },
    /// The first pixel, by dimension, the place in the filter, by spatial dimension, and the pixels
    /// that follow the map's.
    Pixels { first: [i32; 5], offsets: [u16; 3], halo: u16 },
}

/// A stretch of a box along dimension 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxRow {
    /// Bytes before the first one that is in the tensor.
    pub(crate) skipped: u32,
    /// Bytes that are in the tensor.
    pub(crate) bytes: u32,
    /// Device address of the first of them.
    pub(crate) address: u64,
}

impl TensorMap {
    /// Bytes of a box along dimension 0.
    pub(crate) fn row_bytes(&self) -> u32 {
        self.row_elements() * self.element.bytes()
    }

    fn row_elements(&self) -> u32 {
        self.im2col.map_or(self.box_dim[0], |im2col| im2col.channels).into()
    }

    /// Elements of a tile in dimension `index`, which is not 0.
    fn steps(&self, index: usize) -> u32 {
        u32::from(self.box_dim[index]).div_ceil(self.element_stride[index].max(1).into())
    }

    /// Rows of the box at a place. They may be more than fit into any memory.
    pub(crate) fn row_count(&self, place: &BoxPlace) -> u64 {
        match (place, &self.im2col) {
            (BoxPlace::Rows { .. }, _) => 4,
            (BoxPlace::Pixels { halo, .. }, Some(im2col)) => {
                u64::from(im2col.pixel_count()) + u64::from(*halo)
            }
            _ => (1..self.rank).map(|index| u64::from(self.steps(index))).product(),
        }
    }

    /// The rows of the box at a place, in the order of shared memory.
    pub(crate) fn rows(&self, place: &BoxPlace) -> Vec<BoxRow> {
        match *place {
            BoxPlace::Rows { column, rows } => {
                rows.map(|row| self.row([column.into(), row.into(), 0, 0, 0])).to_vec()
            }
            BoxPlace::Pixels { first, offsets, .. } => {
                self.pixels(first, offsets, self.row_count(place))
            }
            BoxPlace::Tile(first) => self.tile(first),
        }
    }

    fn tile(&self, first: [i32; 5]) -> Vec<BoxRow> {
        let mut rows = Vec::new();
        let mut step = [0_u32; 5];
        loop {
            rows.push(self.row(std::array::from_fn(|index| {
                let stride = if index == 0 { 1 } else { self.element_stride[index] };
                i64::from(first[index]) + i64::from(step[index]) * i64::from(stride)
            })));
            // The next one, dimension 1 first.
            let mut dimension = 1;
            loop {
                if dimension >= self.rank {
                    return rows;
                }
                step[dimension] += 1;
                if step[dimension] < self.steps(dimension) {
                    break;
                }
                step[dimension] = 0;
                dimension += 1;
            }
        }
    }

    /// Pixels within the bounding box, row by row of the image, on to the next image at its end;
    /// the filter's offset moves where each is read. Along the width alone, the box has one row.
    /// Moving the box and its first pixel by `wOffset` reads the same (manual, section 5.5.5.4).
    fn pixels(&self, first: [i32; 5], offsets: [u16; 3], count: u64) -> Vec<BoxRow> {
        let Some(im2col) = &self.im2col else { return Vec::new() };
        let walked = im2col.walked(self.rank);
        let mut at = first.map(i64::from);
        (0..count)
            .map(|_| {
                let mut moved = at;
                for index in 0..walked {
                    moved[1 + index] += i64::from(offsets[index]);
                }
                let row = self.row(moved);
                let mut dimension = 1;
                loop {
                    if dimension > walked {
                        at[self.rank - 1] += 1;
                        break;
                    }
                    at[dimension] += i64::from(self.element_stride[dimension]);
                    if at[dimension] <= im2col.last(self, dimension - 1) {
                        break;
                    }
                    at[dimension] = im2col.lower[dimension - 1].into();
                    dimension += 1;
                }
                row
            })
            .collect()
    }

    /// The row that begins at an element, which may lie outside the tensor.
    fn row(&self, at: [i64; 5]) -> BoxRow {
        let inside = |index: usize| (0..i64::from(self.global_dim[index])).contains(&at[index]);
        let first = at[0].max(0);
        let end = (at[0] + i64::from(self.row_elements())).min(self.global_dim[0].into());
        if first >= end || !(1..self.rank).all(inside) {
            return BoxRow { skipped: self.row_bytes(), bytes: 0, address: 0 };
        }
        let element = self.element.bytes();
        let outer = (1..self.rank)
            .map(|index| (at[index] as u64).wrapping_mul(self.global_stride[index - 1]));
        let address = outer.fold(self.global_address, u64::wrapping_add);
        BoxRow {
            skipped: (first - at[0]) as u32 * element,
            bytes: (end - first) as u32 * element,
            address: address.wrapping_add(first as u64 * u64::from(element)),
        }
    }
}
