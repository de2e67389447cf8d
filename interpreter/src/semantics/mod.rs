//! The computation of one lane: the value semantics of PTX, apart from everything else.
//!
//! Functions here are pure. They know no register, mask, warp or memory. Each can therefore be read
//! against its section of the PTX ISA manual and tested against an independent definition. The
//! executor calls them inside plain loops over 32 lanes. They are `#[inline(always)]`. The
//! operations that real kernels spend their time in are free of branches, so that those loops
//! vectorise.
//!
//! **Types.** A PTX type is the Rust type of the same width and meaning: `.u32` is `u32`, `.s16`
//! is `i16`, `.f32` is `f32`. Registers hold raw bits; `from_bits` at the call site is free. The
//! formats Rust lacks travel as bits: `.f16` and `.bf16` as `u16`, `.f16x2`, `.bf16x2`, `.u16x2`
//! and `.s16x2` as `u32`, `.f32x2` as `u64`, `.tf32` as `u32`. Untyped `.b32` is `u32`.
//!
//! **Modifiers** are type parameters, resolved when the loop is compiled: a rounding is one of the
//! markers [`Rn`], [`Rz`], [`Rm`], [`Rp`]; `.ftz` and `.sat` are `const bool`s in that order. So
//! `fma.rz.ftz.f32` is `float::fma_f32::<Rz, true, false>`.
//!
//! **Flushing.** A result is subnormal, and flushed by `.ftz`, if it would be below the least
//! normal number after rounding with an unbounded exponent; `ptxas` folds constants and expands
//! divisions by the same rule. A product just below 2⁻¹²⁶ thus becomes 0, though without `.ftz` it
//! rounds to 2⁻¹²⁶.
//!
//! **NaN.** The manual (9.7.3) leaves `.f32` NaN results unspecified and says `.f64` payloads are
//! supported. Every `.f32` operation here that computes returns the NaN `0x7fffffff`, as GPUs do.
//! An `.f64` operation returns the first NaN operand, quieted, and `0xfff8000000000000` where it
//! makes a NaN itself; the host's own choice would depend on how the compiler ordered the operands.
//! Halves return `0x7fff`. Operations on the sign bit (`neg`, `abs`, `copysign`) keep the payload.

pub mod approx;
pub mod atomic;
pub mod bits;
pub mod carry;
pub mod compare;
pub mod convert;
pub mod float;
pub mod half;
pub mod integer;
pub mod logic;
pub mod matrix;
pub mod mbarrier;
pub mod minifloat;
pub mod packed;
pub mod quad;
pub mod rounding;
pub mod s2f6;
pub mod shuffle;
pub mod sparse_vector;
pub mod tensor_memory;
pub mod video;

pub use float::Float;
pub use half::{Bf16, F16, Half};
pub use integer::Integer;
pub use rounding::{Rm, Rn, Rna, Rounding, Rp, Rz};
