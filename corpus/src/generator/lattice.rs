//! The structure of a Wilson fermion matrix of lattice QCD.
//!
//! Zhang and Owens 2011, section 5.3, use the matrix QCD "from the benchmark suite of 14 sparse
//! matrices" and say that it is "naturally 3x3 blocked". The set QCD of the Matrix Market (B.
//! Medeke, 2000) has it. It is the nearest-neighbour coupling on a periodic four-dimensional
//! lattice, without the diagonal, with 39 entries in every row. That makes 119,808 for order 3072,
//! a lattice of 4 x 4 x 4 x 4. Order 49,152 is one of 8 x 8 x 8 x 8.
//!
//! 39 entries per row follow from Dirac matrices with a diagonal gamma_4, as that set's gamma_5
//! implies. A site has 4 spins of 3 colours. The coupling to a neighbour in direction mu is (1 -
//! gamma_mu) or (1 + gamma_mu) on spins times a 3 x 3 matrix on colours. In space, gamma_mu has one
//! entry per row off the diagonal, which makes two blocks for each of six neighbours. In time, 1 -+
//! gamma_4 is 2 for two of the spins and 0 for the others. That makes one block for one of two
//! neighbours. That is 13 blocks of 3 x 3.
//!
//! The order of rows is not published with the paper. Here x runs fastest, then y, z and t; within
//! a site spins come one after the other, and within a spin colours. Entries of a row are in the
//! order of their columns.

use super::GeneratorError;
use crate::reference::Values;

pub(super) const SHAPE: &str = "[x, y, z, t], the sites of the lattice in each direction";

const SPINS: usize = 4;
const COLOURS: usize = 3;
/// Blocks in a row of blocks.
const BLOCKS: usize = 13;

/// The spin that gamma_1, gamma_2 and gamma_3 couple a spin to.
const PARTNERS: [[usize; SPINS]; 3] = [[3, 2, 1, 0], [3, 2, 1, 0], [2, 3, 0, 1]];

pub(super) fn check_columns(shape: &[u64], len: usize) -> Result<(), GeneratorError> {
    let lattice = Lattice::new(shape)?;
    lattice.makes(lattice.block_rows.saturating_mul(BLOCKS * COLOURS * COLOURS), len)
}

pub(super) fn check_block_columns(shape: &[u64], len: usize) -> Result<(), GeneratorError> {
    let lattice = Lattice::new(shape)?;
    lattice.makes(lattice.block_rows.saturating_mul(BLOCKS), len)
}

/// Entry k of row r is at k * rows + r.
pub(super) fn columns(shape: &[u64], len: usize) -> Result<Values, GeneratorError> {
    check_columns(shape, len)?;
    let lattice = Lattice::new(shape)?;
    let rows = lattice.block_rows * COLOURS;
    let mut columns = vec![0; len];
    for block_row in 0..lattice.block_rows {
        for (k, block) in lattice.blocks(block_row).into_iter().enumerate() {
            for colour in 0..COLOURS {
                let entry = k * COLOURS + colour;
                let first = entry * rows + block_row * COLOURS;
                columns[first..first + COLOURS].fill((block * COLOURS + colour) as i32);
            }
        }
    }
    Ok(Values::S32(columns))
}

/// Block k of block row r is at k * block rows + r.
pub(super) fn block_columns(shape: &[u64], len: usize) -> Result<Values, GeneratorError> {
    check_block_columns(shape, len)?;
    let lattice = Lattice::new(shape)?;
    let mut columns = vec![0; len];
    for block_row in 0..lattice.block_rows {
        for (k, block) in lattice.blocks(block_row).into_iter().enumerate() {
            columns[k * lattice.block_rows + block_row] = block as i32;
        }
    }
    Ok(Values::S32(columns))
}

struct Lattice {
    extents: [usize; 4],
    /// Sites times spins.
    block_rows: usize,
}

impl Lattice {
    fn new(shape: &[u64]) -> Result<Self, GeneratorError> {
        let wrong = || GeneratorError::Shape { expected: SHAPE };
        let &[x, y, z, t] = shape else { return Err(wrong()) };
        let mut extents = [0; 4];
        let mut block_rows = SPINS;
        for (extent, given) in extents.iter_mut().zip([x, y, z, t]) {
            *extent = usize::try_from(given).map_err(|_| wrong())?;
            block_rows = block_rows.checked_mul(*extent).ok_or_else(wrong)?;
        }
        // Column indices are of type s32.
        let fits = block_rows.checked_mul(COLOURS).is_some_and(|rows| i32::try_from(rows).is_ok());
        if block_rows == 0 || !fits { Err(wrong()) } else { Ok(Self { extents, block_rows }) }
    }

    fn makes(&self, expected: usize, found: usize) -> Result<(), GeneratorError> {
        if expected == found {
            Ok(())
        } else {
            Err(GeneratorError::Length { expected: expected.to_string(), found })
        }
    }

    /// The columns of the blocks in a row of blocks, ascending.
    fn blocks(&self, block_row: usize) -> [usize; BLOCKS] {
        let (site, spin) = (block_row / SPINS, block_row % SPINS);
        let mut blocks = [0; BLOCKS];
        let mut next = blocks.iter_mut();
        let mut add = |site: usize, spin: usize| {
            if let Some(place) = next.next() {
                *place = site * SPINS + spin;
            }
        };
        for (direction, partners) in PARTNERS.iter().enumerate() {
            for forwards in [false, true] {
                let neighbour = self.neighbour(site, direction, forwards);
                add(neighbour, spin);
                add(neighbour, partners[spin]);
            }
        }
        add(self.neighbour(site, 3, spin < SPINS / 2), spin);
        blocks.sort_unstable();
        blocks
    }

    fn neighbour(&self, site: usize, direction: usize, forwards: bool) -> usize {
        let stride: usize = self.extents[..direction].iter().product();
        let extent = self.extents[direction];
        let coordinate = site / stride % extent;
        let moved = if forwards { coordinate + 1 } else { coordinate + extent - 1 } % extent;
        site - coordinate * stride + moved * stride
    }
}
