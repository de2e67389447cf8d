//! Warp-level matrix instructions (PTX ISA 9.7.14): fragments, element formats and products.
//!
//! A fragment is the part of a matrix that one lane holds, as a vector of registers. [`fragment`]
//! gives the place of each of its elements in the matrix. [`element`] decodes registers, and
//! [`product`] multiplies two decoded matrices. [`sparse`] and [`scale`] define the extra operands
//! of `mma.sp` and of block-scaled `mma`. [`transfer`] defines how `ldmatrix`, `stmatrix` and
//! `movmatrix` distribute rows over lanes. [`warpgroup`] gives the places of `wgmma`'s operands.
//!
//! The manual leaves some results open; these are the choices made here.
//!
//! **Floating-point products** (all types but `.f64`). Products are exact; they and the element of
//! C are added in binary64, C first and then in order of k, and the sum is rounded once, to nearest
//! even, to the type of D. Both factors have at most 11 significant bits (a scaled one at most 8),
//! so products are exact in binary64 whatever their exponents. A result therefore differs from the
//! exact sum by at most the sum of two errors. One is half a unit of D's last place, the other is
//! (k + 1)·2⁻⁵³ times the sum of the terms' magnitudes. A sum that binary64 holds exactly is
//! correctly rounded. The two roundings can matter only if a sum is inexact in binary64 and lies
//! that close to a midpoint of D's type. The manual asks for products and sums of at least single
//! precision, whose order it leaves open, so a GPU may differ in the last places.
//!
//! **Special values.** Subnormals are kept, both in operands and in results. Infinities and NaNs
//! follow IEEE 754; a NaN result is `0x7fffffff` or, in `.f16`, `0x7fff`. The lower 13 bits of a
//! `.tf32` operand are ignored. `.satfinite` on a floating-point `wmma.mma` (PTX ISA 6.0 to 6.4)
//! turns an infinite result into the greatest finite one and a NaN into 0 (CUDA C++ Programming
//! Guide, `mma_sync`).
//!
//! **`.f64`** is a chain of fused multiply-adds in order of k, each rounded as the instruction
//! says.
//!
//! **Integers** are exact; the sum wraps or, with `.satfinite`, is clamped at the end.
//!
//! **`wmma` fragments** have no documented layout. Here they are laid out as those of `mma`, 8-by-8
//! tile after tile; where the `.f16` fragments of A and B have more places than the matrix has
//! elements, the elements repeat, and `wmma.mma` reads the first copy.
//!
//! **Sparse A.** Elements that are not stored take no part: they are no zeros that an infinity of B
//! makes NaNs of. Metadata that the manual calls undefined (the same index twice, descending
//! indices with `::ordered_metadata`, other than the two meaningful values for `.tf32`) is an
//! error.

pub mod element;
pub mod fragment;
pub mod product;
pub mod scale;
pub mod sparse;
pub mod transfer;
pub mod warpgroup;

/// The extents of a matrix multiplication: A is m by k, B is k by n, C and D are m by n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of A, C and D.
    pub m: u32,
    /// Columns of B, C and D.
    pub n: u32,
    /// Columns of A and rows of B.
    pub k: u32,
}
