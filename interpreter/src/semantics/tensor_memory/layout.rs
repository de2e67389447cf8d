//! Where matrices lie in tensor memory (PTX ISA 9.7.16.10.5 to 8).

use super::super::matrix::sparse::Sparsity;
use super::Cell;

/// The way in which the lanes of one or two CTAs share a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// A row in each lane.
    Full,
    /// 64 rows, sixteen in the lower half of each quarter.
    Halves,
    /// 64 rows; the columns' second half lies in the upper 64 lanes.
    TwoByTwo,
    /// 32 rows; each quarter of the columns lies in a quarter of the lanes.
    OneByFour,
}

/// The division of a product among CTAs and lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// CTAs that work on it: 1 or 2.
    pub ctas: u32,
    /// Lanes of each of them.
    pub path: DataPath,
}

impl Division {
    /// The division of a product of `m` rows and `n` columns. `None` if there is no such product.
    #[must_use]
    pub const fn of(m: u32, n: u32, ctas: u32, weight_stationary: bool) -> Option<Self> {
        let path = match (ctas, weight_stationary, m) {
            (1, _, 128) | (2, false, 256) => DataPath::Full,
            (1, false, 64) => DataPath::Halves,
            (1, true, 64) | (2, false, 128) => DataPath::TwoByTwo,
            (1, true, 32) => DataPath::OneByFour,
            _ => return None,
        };
        let step = if ctas == 2 { 16 } else { 8 };
        let fits = n != 0 && n <= 256 && n.is_multiple_of(step);
        let fits = fits && (!weight_stationary || matches!(n, 64 | 128 | 256));
        if fits { Some(Self { ctas, path }) } else { None }
    }

    /// Rows of one CTA.
    #[must_use]
    pub const fn rows(self) -> u32 {
        match self.path {
            DataPath::Full => 128,
            DataPath::Halves | DataPath::TwoByTwo => 64,
            DataPath::OneByFour => 32,
        }
    }

    /// Groups of lanes that work on different columns.
    #[must_use]
    pub const fn parts(self) -> u32 {
        match self.path {
            DataPath::Full | DataPath::Halves => 1,
            DataPath::TwoByTwo => 2,
            DataPath::OneByFour => 4,
        }
    }

    /// The cell of element (`row`, `column`) of one CTA's part of D, which has `n` columns.
    #[must_use]
    pub const fn cell(self, n: u32, row: u32, column: u32) -> Cell {
        let columns = n / self.parts();
        Cell { lane: self.lane(row, column / columns), column: column % columns }
    }

    /// The lane of a row of one CTA's part of A or D, in part `part` of the columns.
    #[must_use]
    pub const fn lane(self, row: u32, part: u32) -> u32 {
        match self.path {
            DataPath::Full => row,
            DataPath::Halves => row % 16 + 32 * (row / 16),
            DataPath::TwoByTwo => row + 64 * part,
            DataPath::OneByFour => row + 32 * part,
        }
    }
}

/// The place of a 4-bit field of the metadata of a sparse A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataField {
    /// Its cell, from the address of the metadata on.
    pub cell: Cell,
    /// Its lowest bit there.
    pub bit: u32,
}

/// The field for chunk `chunk` of `row`; `bits` is the size of an element of A.
#[must_use]
pub const fn metadata(bits: u32, row: u32, chunk: u32) -> MetadataField {
    match bits {
        // Two rows share a cell, and each row has two of them, eight lanes apart.
        16 | 32 => {
            let lane = row % 8 + row / 16 * 16 + chunk / 4 * 8;
            let bit = chunk % 4 * 4 + row / 8 % 2 * 16;
            MetadataField { cell: Cell { lane, column: 0 }, bit }
        }
        _ => {
            let cell = Cell { lane: row, column: chunk / 8 };
            MetadataField { cell, bit: chunk % 8 * 4 }
        }
    }
}

/// The choice of stored elements of `bits` bits.
#[must_use]
pub const fn sparsity(bits: u32) -> Sparsity {
    match bits {
        32 => Sparsity::OneOfTwo,
        4 => Sparsity::PairsOfFour,
        _ => Sparsity::TwoOfFour,
    }
}
