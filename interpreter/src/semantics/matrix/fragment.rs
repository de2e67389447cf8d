//! The element of a matrix that each place of a fragment holds (PTX ISA 9.7.14.4 and 9.7.14.5).
//!
//! All layouts but one are built of tiles. A lane belongs to group `lane / 4` and has number
//! `lane % 4` in it. A register of A holds consecutive columns of one row, a register of B
//! consecutive rows of one column. The groups are rows of A and columns of B. The exception is
//! `mma.m8n8k4` with `.f16`, which computes four products of eight lanes each.

use super::Shape;

/// A row and a column of one of the products that an instruction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentElement {
    /// Index of the product; always 0 but for `mma.m8n8k4` with `.f16`.
    pub product: u32,
    /// Row of the matrix.
    pub row: u32,
    /// Column of the matrix.
    pub column: u32,
}

impl FragmentElement {
    const fn new(row: u32, column: u32) -> Self {
        Self { product: 0, row, column }
    }
}

/// Element `i` of A's fragment in `lane`, counted from the low bits of the first register, with
/// `per_register` elements in each.
#[must_use]
pub fn a(shape: Shape, per_register: u32, lane: u32, i: u32) -> FragmentElement {
    let (group, member) = (lane / 4, lane % 4);
    let (register, within) = (i / per_register, i % per_register);
    let blocks = shape.m / 8;
    let row = group + 8 * (register % blocks);
    let column = (4 * (register / blocks) + member) * per_register + within;
    FragmentElement::new(row, column)
}

/// Element `i` of B's fragment, as for [`a`].
#[must_use]
pub fn b(shape: Shape, per_register: u32, lane: u32, i: u32) -> FragmentElement {
    let (group, member) = (lane / 4, lane % 4);
    let (register, within) = (i / per_register, i % per_register);
    let blocks = (shape.k / (4 * per_register)).max(1);
    let row = (4 * (register % blocks) + member) * per_register + within;
    let column = group + 8 * (register / blocks);
    FragmentElement::new(row, column)
}

/// Element `i` of an accumulator's fragment; the same for all types.
#[must_use]
pub fn accumulator(shape: Shape, lane: u32, i: u32) -> FragmentElement {
    let (group, member) = (lane / 4, lane % 4);
    let (pair, within) = (i / 2, i % 2);
    let blocks = shape.m / 8;
    let row = group + 8 * (pair % blocks);
    let column = 8 * (pair / blocks) + 2 * member + within;
    FragmentElement::new(row, column)
}

/// Layouts of `mma.m8n8k4` with `.f16` (9.7.14.5.1). Lanes 4p to 4p + 3 and 16 lanes further on
/// compute product p.
pub mod quad_pairs {
    use super::FragmentElement;

    const fn product(lane: u32) -> u32 {
        lane % 16 / 4
    }

    /// 4 for the upper half of the warp.
    const fn upper(lane: u32) -> u32 {
        lane / 16 * 4
    }

    /// Element `i` of A, four to a lane; `column_major` is `.col`.
    #[must_use]
    pub fn a(column_major: bool, lane: u32, i: u32) -> FragmentElement {
        let (row, column) = if column_major { (i, lane % 4) } else { (lane % 4, i) };
        FragmentElement { product: product(lane), row: row + upper(lane), column }
    }

    /// Element `i` of B, four to a lane; `column_major` is `.col`.
    #[must_use]
    pub fn b(column_major: bool, lane: u32, i: u32) -> FragmentElement {
        let (row, column) = if column_major { (i, lane % 4) } else { (lane % 4, i) };
        FragmentElement { product: product(lane), row, column: column + upper(lane) }
    }

    /// Element `i` of an `.f16` accumulator: a row of eight.
    #[must_use]
    pub fn accumulator_f16(lane: u32, i: u32) -> FragmentElement {
        FragmentElement { product: product(lane), row: lane % 4 + upper(lane), column: i }
    }

    /// Element `i` of an `.f32` accumulator: pairs of two rows in two columns' blocks.
    #[must_use]
    pub fn accumulator_f32(lane: u32, i: u32) -> FragmentElement {
        let row = (lane & 1) + (i & 2) + upper(lane);
        let column = (i & 4) + (lane & 2) + (i & 1);
        FragmentElement { product: product(lane), row, column }
    }
}
