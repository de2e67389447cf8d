//! Products of decoded matrices and the rounding of their sums.
//!
//! Matrices are dense and row-major. All shapes have multiples of eight rows and columns. So the
//! loops work on tiles of four rows by eight columns, whose sums stay in registers.

use super::super::float;
use super::super::half::{F16, Half, NAN};
use super::super::rounding::{Mode, Rm, Rn, Rp, Rz};
use super::Shape;

/// Adds A·B to `d`, term after term in order of k.
#[inline(always)]
fn multiply_add<T: Copy>(shape: Shape, a: &[T], b: &[T], d: &mut [T], term: impl Fn(T, T, T) -> T) {
    let (n, k) = (shape.n as usize, shape.k as usize);
    for (a, d) in a.chunks_exact(4 * k).zip(d.chunks_exact_mut(4 * n)) {
        let (a0, rest) = a.split_at(k);
        let (a1, rest) = rest.split_at(k);
        let (a2, a3) = rest.split_at(k);
        for column in (0..n).step_by(8) {
            let mut sums = [[d[0]; 8]; 4];
            for (row, sums) in sums.iter_mut().enumerate() {
                sums.copy_from_slice(&d[row * n + column..][..8]);
            }
            let factors = a0.iter().zip(a1).zip(a2.iter().zip(a3));
            for (((&a0, &a1), (&a2, &a3)), b) in factors.zip(b.chunks_exact(n)) {
                let Some(b) = b[column..].first_chunk::<8>() else { continue };
                for (factor, sums) in [a0, a1, a2, a3].into_iter().zip(&mut sums) {
                    for (sum, &b) in sums.iter_mut().zip(b) {
                        *sum = term(factor, b, *sum);
                    }
                }
            }
            for (row, sums) in sums.iter().enumerate() {
                d[row * n + column..][..8].copy_from_slice(sums);
            }
        }
    }
}

/// As [`multiply_add`] for a sparse A, of which `columns` gives the column of each stored element.
#[inline(always)]
fn multiply_add_sparse<T: Copy>(
    shape: Shape,
    a: &[T],
    columns: &[u16],
    b: &[T],
    d: &mut [T],
    term: impl Fn(T, T, T) -> T,
) {
    let (n, stored) = (shape.n as usize, shape.k as usize / 2);
    let rows = a.chunks_exact(stored).zip(columns.chunks_exact(stored));
    for ((a, columns), d) in rows.zip(d.as_chunks_mut::<8>().0) {
        let mut sums = *d;
        for (&factor, &column) in a.iter().zip(columns) {
            let b = b[usize::from(column) * n..].first_chunk::<8>();
            for (sum, &b) in sums.iter_mut().zip(b.into_iter().flatten()) {
                *sum = term(factor, b, *sum);
            }
        }
        *d = sums;
    }
}

/// D = A·B + D in binary64, where products of elements are exact.
#[inline(always)]
pub fn float(shape: Shape, a: &[f64], b: &[f64], d: &mut [f64]) {
    multiply_add(shape, a, b, d, |a, b, sum| sum + a * b);
}

/// As [`float()`] for a sparse A, of eight columns of B.
#[inline(always)]
pub fn sparse_float(shape: Shape, a: &[f64], columns: &[u16], b: &[f64], d: &mut [f64]) {
    multiply_add_sparse(shape, a, columns, b, d, |a, b, sum| sum + a * b);
}

/// D = A·B + D with fused multiply-adds, each rounded as `mode` says.
#[inline(always)]
pub fn double(shape: Shape, mode: Mode, a: &[f64], b: &[f64], d: &mut [f64]) {
    if mode == Mode::NearestEven {
        multiply_add(shape, a, b, d, float::fma_f64::<Rn>);
    } else {
        multiply_add(shape, a, b, d, |a, b, sum| directed_fma(mode, a, b, sum));
    }
}

/// Not inlined: directed rounding is slow anyway, and the loop has 32 copies of its body.
#[inline(never)]
fn directed_fma(mode: Mode, a: f64, b: f64, c: f64) -> f64 {
    match mode {
        Mode::NearestEven | Mode::NearestAway => float::fma_f64::<Rn>(a, b, c),
        Mode::Zero => float::fma_f64::<Rz>(a, b, c),
        Mode::Down => float::fma_f64::<Rm>(a, b, c),
        Mode::Up => float::fma_f64::<Rp>(a, b, c),
    }
}

/// D = A·B + D; the sum of products of at most 8 bits each does not overflow if D starts at 0.
#[inline(always)]
pub fn integer(shape: Shape, a: &[i32], b: &[i32], d: &mut [i32]) {
    multiply_add(shape, a, b, d, |a, b, sum| sum.wrapping_add(a.wrapping_mul(b)));
}

/// As [`integer`] for a sparse A, of eight columns of B.
#[inline(always)]
pub fn sparse_integer(shape: Shape, a: &[i32], columns: &[u16], b: &[i32], d: &mut [i32]) {
    multiply_add_sparse(shape, a, columns, b, d, |a, b, sum| sum.wrapping_add(a.wrapping_mul(b)));
}

/// The multiplication of single bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOperation {
    /// `.xor.popc`
    Xor,
    /// `.and.popc`
    And,
}

/// D = A·B + D of single bits, of which an element of A and B holds 32.
#[inline(always)]
pub fn bits(shape: Shape, operation: BitOperation, a: &[i32], b: &[i32], d: &mut [i32]) {
    let add = |bits: i32, sum: i32| sum + bits.count_ones().cast_signed();
    match operation {
        BitOperation::Xor => multiply_add(shape, a, b, d, |a, b, sum| add(a ^ b, sum)),
        BitOperation::And => multiply_add(shape, a, b, d, |a, b, sum| add(a & b, sum)),
    }
}

/// A sum rounded to `.f32`, as bits; `saturate` is `.satfinite`.
#[inline(always)]
#[must_use]
pub fn round_f32(sum: f64, saturate: bool) -> u32 {
    let rounded = sum as f32;
    if saturate {
        return if rounded.is_nan() { 0 } else { rounded.clamp(f32::MIN, f32::MAX).to_bits() };
    }
    if rounded.is_nan() { 0x7fff_ffff } else { rounded.to_bits() }
}

/// A sum rounded to `.f16`; `saturate` is `.satfinite`.
#[inline(always)]
#[must_use]
pub fn round_f16(sum: f64, saturate: bool) -> u16 {
    /// The greatest finite `.f16`.
    const GREATEST: u16 = 0x7bff;
    let rounded = F16::narrow_f64(sum, Mode::NearestEven);
    if !saturate {
        return rounded;
    }
    match rounded {
        NAN => 0,
        code if code & 0x7fff > GREATEST => code & 0x8000 | GREATEST,
        code => code,
    }
}

/// The sum of products plus the element of C; `saturate` is `.satfinite`.
#[inline(always)]
#[must_use]
pub fn add_integer(sum: i32, c: i32, saturate: bool) -> i32 {
    if saturate { sum.saturating_add(c) } else { sum.wrapping_add(c) }
}
