//! The access pattern of a result: strides of threads and blocks, each element touched once.

use crate::language::{Builder, Expression, Type};
use crate::variant::{Axis, Unfit, Variant};

/// Threads of a block along x.
pub(super) const LSIZE_0: Axis =
    Axis::numbers("lsize_0", "threads of a block along x", &[4, 8, 16, 32, 64, 128, 256], &[16]);

/// Threads of a block along y.
pub(super) const LSIZE_1: Axis =
    Axis::numbers("lsize_1", "threads of a block along y", &[1, 2, 4, 8, 16, 32], &[16]);

/// Whether blocks cover the arrays exactly.
pub(super) const GROUPS_FIT: Axis =
    Axis::words("groups_fit", "whether blocks cover arrays without a rest", &["True"]);

/// Elements from thread to thread along x.
pub(super) const LID_STRIDE_0: Axis =
    Axis::size("lid_stride_0", "elements from a thread to the next along x", [1, 1], &[1]);

/// Elements from thread to thread along y.
pub(super) const LID_STRIDE_1: Axis =
    Axis::size("lid_stride_1", "elements from a thread to the next along y", [1, 1], &[2048]);

/// Threads of the grid, which are elements of the result.
pub(super) const NELEMENTS: Axis =
    Axis::size("nelements", "threads of the grid", [32_768, 64], &[524_288, 1_048_576]);

/// A grid of two dimensions whose threads touch one element each.
pub(super) struct Pattern {
    pub(super) grid: [u64; 3],
    pub(super) block: [u64; 3],
    /// Elements of an array that the pattern spans.
    pub(super) len: u64,
    strides: Strides,
}

/// Elements between neighbours.
#[derive(Clone, Copy)]
struct Strides {
    thread: [u64; 2],
    block: [u64; 2],
}

impl Pattern {
    /// The pattern of a variant. The larger stride of threads is a row; blocks fill rows first.
    ///
    /// # Errors
    ///
    /// Strides by which two threads touch one element, and rows or elements with a rest.
    pub(super) fn of(variant: &Variant) -> Result<Self, Unfit> {
        let size = [variant.number("lsize_0")?, variant.number("lsize_1")?];
        let thread = [variant.number("lid_stride_0")?, variant.number("lid_stride_1")?];
        let elements = variant.number("nelements")?;
        if size[0] * size[1] > 1024 {
            return Err(Unfit::new("a block has at most 1024 threads"));
        }
        // Along `near`, neighbours lie side by side; a step along `far` is a row.
        let (near, far) = if thread[0] < thread[1] { (0, 1) } else { (1, 0) };
        let (row, block_width) = (thread[far], size[near] * thread[near]);
        if !row.is_multiple_of(block_width) {
            return Err(Unfit::new(format!(
                "a row of {row} elements is no multiple of a block's {block_width}"
            )));
        }
        let mut blocks = [1; 2];
        blocks[near] = row / block_width;
        let band = blocks[near] * size[0] * size[1];
        if !elements.is_multiple_of(band) {
            return Err(Unfit::new(format!(
                "{elements} elements are no multiple of the {band} of a row of blocks"
            )));
        }
        blocks[far] = elements / band;
        let mut block = [0; 2];
        block[near] = block_width;
        block[far] = size[far] * row;
        Ok(Self {
            grid: [blocks[0], blocks[1], 1],
            block: [size[0], size[1], 1],
            len: elements * thread[near],
            strides: Strides { thread, block },
        })
    }

    /// The index of a thread's element.
    pub(super) fn index(&self, kernel: &mut Builder) -> Expression {
        let Strides { thread, block } = self.strides;
        let place = kernel.block(0) * block[0]
            + kernel.block(1) * block[1]
            + kernel.thread(0) * thread[0]
            + kernel.thread(1) * thread[1];
        kernel.name("at", place)
    }
}

/// The number of blocks of `lsize` threads for `elements`.
///
/// # Errors
///
/// A rest.
pub(super) fn blocks(elements: u64, lsize: u64) -> Result<u64, Unfit> {
    if elements.is_multiple_of(lsize) {
        Ok(elements / lsize)
    } else {
        Err(Unfit::new(format!("{elements} elements are no multiple of {lsize} threads")))
    }
}

/// The type of the axis `dtype`.
///
/// # Errors
///
/// The generator has no such axis.
pub(super) fn dtype(variant: &Variant) -> Result<Type, Unfit> {
    let word = variant.word("dtype")?;
    Type::named(word).ok_or_else(|| Unfit::new(format!("{word} is no type")))
}
