//! The layout of a lane's value in a register row.
//!
//! A 32-bit register is one [`Row`]; a 64-bit one is two rows read as `[u64; 32]`, a 128-bit one
//! four. Narrower registers take a whole row, zero-extended, so that every width of at most 32
//! bits is read and written by the same code.

/// One 32-bit register of a warp, or half a 64-bit one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Row(pub(crate) [u32; 32]);

impl Row {
    pub(crate) const ZERO: Self = Self([0; 32]);
}

/// A lane value: its storage in a row, and the conversions between them.
pub(crate) trait Lane: Copy {
    /// The element type of the row array: `u32`, `u64` or `u128`.
    type Store: Copy;

    fn from_store(store: Self::Store) -> Self;

    fn to_store(self) -> Self::Store;
}

macro_rules! lanes {
    ($($ty:ty as $store:ty: |$from:ident| $load:expr, |$to:ident| $save:expr;)+) => {$(
        impl Lane for $ty {
            type Store = $store;

            #[inline(always)]
            fn from_store($from: $store) -> Self {
                $load
            }

            #[inline(always)]
            fn to_store(self) -> $store {
                let $to = self;
                $save
            }
        }
    )+};
}

lanes! {
    u8 as u32: |s| s as u8, |v| u32::from(v);
    i8 as u32: |s| s as i8, |v| u32::from(v as u8);
    u16 as u32: |s| s as u16, |v| u32::from(v);
    i16 as u32: |s| s as i16, |v| u32::from(v as u16);
    u32 as u32: |s| s, |v| v;
    i32 as u32: |s| s as i32, |v| v as u32;
    f32 as u32: |s| f32::from_bits(s), |v| v.to_bits();
    u64 as u64: |s| s, |v| v;
    i64 as u64: |s| s as i64, |v| v as u64;
    f64 as u64: |s| f64::from_bits(s), |v| v.to_bits();
    u128 as u128: |s| s, |v| v;
}
