//! Host memory that several threads may use at the same time: the buffers of a launch.
//!
//! CTAs may race as those of a kernel may, with plain loads and stores beside atomics. A race of
//! the kernel must not become one of the host program. So buffers are only read and written by
//! relaxed atomic accesses. These access whole elements where they are aligned, and bytes where
//! they may not be. Wide elements are two accesses of eight bytes, because the PTX memory model
//! lets weak loads and stores of 128 bits be torn. `atom.b128` takes the same two under a lock of
//! its own. One case stays without a meaning here, as in PTX: CTAs that use elements of different
//! sizes at one place at the same time.
//!
//! A whole row of 32 elements is one copy of vectors on x86-64, since compilers do not join atomic
//! accesses. It is assembly, which no rule about races applies to; the processor reads and writes
//! each aligned element of eight bytes or fewer in one piece. Registers, shared, local, constant
//! and parameter memory belong to one thread and need none of this.

#![allow(unsafe_code, reason = "addresses are checked before and followed here")]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// An element of memory.
pub(in crate::exec) trait Element: Copy {
    /// The element at `host`.
    ///
    /// # Safety
    ///
    /// `host` is aligned and good for reads of the element, by atomic accesses only.
    unsafe fn load(host: *const Self) -> Self;

    /// Writes the element at `host`.
    ///
    /// # Safety
    ///
    /// `host` is aligned and good for writes of the element, by atomic accesses only.
    unsafe fn store(self, host: *mut Self);
}

macro_rules! elements {
    ($($ty:ty as $atomic:ty),+) => {$(
        impl Element for $ty {
            #[inline(always)]
            unsafe fn load(host: *const Self) -> Self {
                // SAFETY: by the contract; loads write nothing.
                unsafe { <$atomic>::from_ptr(host.cast_mut()).load(Relaxed) }
            }

            #[inline(always)]
            unsafe fn store(self, host: *mut Self) {
                // SAFETY: by the contract.
                unsafe { <$atomic>::from_ptr(host).store(self, Relaxed) }
            }
        }
    )+};
}

elements!(u8 as AtomicU8, u16 as AtomicU16, u32 as AtomicU32, u64 as AtomicU64);

impl Element for u128 {
    #[inline(always)]
    unsafe fn load(host: *const Self) -> Self {
        let halves = host.cast::<u64>();
        // SAFETY: by the contract, both halves are good and aligned.
        let (low, high) = unsafe { (u64::load(halves), u64::load(halves.add(1))) };
        Self::from(high) << 64 | Self::from(low)
    }

    #[inline(always)]
    unsafe fn store(self, host: *mut Self) {
        let halves = host.cast::<u64>();
        // SAFETY: as in `load`.
        unsafe {
            (self as u64).store(halves);
            ((self >> 64) as u64).store(halves.add(1));
        }
    }
}

/// The widest vectors that a CPU level has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "other CPUs have no wider ones"))]
pub(in crate::exec) enum Vectors {
    /// Of 16 bytes.
    Xmm,
    /// Of 32 bytes.
    Ymm,
    /// Of 64 bytes.
    Zmm,
}

/// Copies elements from memory to a register's row, or to a run of its lanes.
///
/// # Safety
///
/// `from` is aligned to an element and good for reads of as many as `to` has, by atomic accesses
/// only. The CPU has these `vectors`.
#[inline(always)]
pub(super) unsafe fn load_run<T: Element, const LANES: usize>(
    from: *const T,
    to: &mut [T; LANES],
    vectors: Vectors,
) {
    let _ = vectors;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if const { is_copied_by_vectors::<T, LANES>() } {
        // SAFETY: by the contract.
        return unsafe {
            copy_vectors(from.cast(), to.as_mut_ptr().cast(), size_of::<[T; LANES]>(), vectors)
        };
    }
    for (lane, to) in to.iter_mut().enumerate() {
        // SAFETY: by the contract.
        *to = unsafe { T::load(from.add(lane)) };
    }
}

/// Copies elements from a register's row, or from a run of its lanes, to memory.
///
/// # Safety
///
/// As [`load_run`], with `to` good for writes.
#[inline(always)]
pub(super) unsafe fn store_run<T: Element, const LANES: usize>(
    from: &[T; LANES],
    to: *mut T,
    vectors: Vectors,
) {
    let _ = vectors;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if const { is_copied_by_vectors::<T, LANES>() } {
        // SAFETY: by the contract.
        return unsafe {
            copy_vectors(from.as_ptr().cast(), to.cast(), size_of::<[T; LANES]>(), vectors)
        };
    }
    for (lane, from) in from.iter().enumerate() {
        // SAFETY: by the contract.
        unsafe { from.store(to.add(lane)) };
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
const fn is_copied_by_vectors<T, const LANES: usize>() -> bool {
    matches!(size_of::<T>(), 4 | 8) && size_of::<[T; LANES]>().is_multiple_of(64)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
macro_rules! copy {
    ($move:literal, $register:literal, $from:ident, $to:ident, [$($at:literal $number:tt)+]) => {
        std::arch::asm!(
            $(concat!($move, " ", $register, $number, ", [{from} + ", $at, "]"),)+
            $(concat!($move, " [{to} + ", $at, "], ", $register, $number),)+
            from = in(reg) $from,
            to = in(reg) $to,
            // The wider registers that begin with these are meant, too.
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            options(nostack, preserves_flags),
        )
    };
}

/// Copies a multiple of 64 bytes by `vectors` that this CPU has. Bytes that are stored in
/// narrower vectors than they are read in later arrive late.
///
/// # Safety
///
/// `from` is good for reads and `to` for writes of as many bytes, and they do not overlap.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn copy_vectors(from: *const u8, to: *mut u8, bytes: usize, vectors: Vectors) {
    if bytes % 128 == 64 {
        // SAFETY: moves 64 bytes within both ranges, as below.
        unsafe {
            match vectors {
                Vectors::Zmm => copy!("vmovups", "zmm", from, to, ["0" 0]),
                Vectors::Ymm => copy!("vmovups", "ymm", from, to, ["0" 0 "32" 1]),
                Vectors::Xmm => copy!("movups", "xmm", from, to, ["0" 0 "16" 1 "32" 2 "48" 3]),
            }
        }
    }
    for at in (bytes % 128..bytes).step_by(128) {
        // SAFETY: moves 128 bytes within both ranges, by registers that the CPU has, and changes
        // nothing else.
        unsafe {
            let (from, to) = (from.add(at), to.add(at));
            match vectors {
                Vectors::Zmm => copy!("vmovups", "zmm", from, to, ["0" 0 "64" 1]),
                Vectors::Ymm => {
                    copy!("vmovups", "ymm", from, to, ["0" 0 "32" 1 "64" 2 "96" 3]);
                }
                Vectors::Xmm => {
                    copy!("movups", "xmm", from, to, [
                        "0" 0 "16" 1 "32" 2 "48" 3 "64" 4 "80" 5 "96" 6 "112" 7
                    ]);
                }
            }
        }
    }
}

/// Copies bytes between places of which either may be in a buffer, as if all were read first.
///
/// # Safety
///
/// `from` and `to` are good for reads and writes of `bytes` bytes, of buffers by atomic accesses
/// only.
pub(in crate::exec) unsafe fn copy_bytes(from: *mut u8, to: *mut u8, bytes: usize) {
    let words = match (from as usize | to as usize).is_multiple_of(8) {
        true => bytes / 8,
        false => 0,
    };
    let copy_word = |word: usize| {
        // SAFETY: the word lies within both ranges and is aligned.
        unsafe { u64::load(from.cast::<u64>().add(word)).store(to.cast::<u64>().add(word)) };
    };
    let copy_byte = |at: usize| {
        // SAFETY: the byte lies within both ranges.
        unsafe { u8::load(from.add(at)).store(to.add(at)) };
    };
    let rest = 8 * words..bytes;
    if (to as usize).wrapping_sub(from as usize) < bytes {
        // A copy in ascending order would overwrite bytes that are still to be read.
        rest.rev().for_each(copy_byte);
        (0..words).rev().for_each(copy_word);
    } else {
        (0..words).for_each(copy_word);
        rest.for_each(copy_byte);
    }
}

/// Reads bytes of a buffer.
///
/// # Safety
///
/// `from` is good for reads of as many bytes as `to` has, by atomic accesses only.
pub(in crate::exec) unsafe fn read_bytes(from: *mut u8, to: &mut [u8]) {
    // SAFETY: `to` is borrowed exclusively, so that nothing of it is read.
    unsafe { copy_bytes(from, to.as_mut_ptr(), to.len()) };
}

/// Writes bytes of a buffer.
///
/// # Safety
///
/// `to` is good for writes of as many bytes as `from` has, by atomic accesses only.
pub(in crate::exec) unsafe fn write_bytes(from: &[u8], to: *mut u8) {
    let words = if (to as usize).is_multiple_of(8) { from.len() / 8 } else { 0 };
    let (words, rest) = from.split_at(8 * words);
    // SAFETY: all accesses lie within the range, and words are aligned.
    unsafe {
        for (at, word) in words.as_chunks::<8>().0.iter().enumerate() {
            u64::from_le_bytes(*word).store(to.cast::<u64>().add(at));
        }
        for (at, byte) in rest.iter().enumerate() {
            byte.store(to.add(words.len() + at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::level::Level;

    /// The vectors that this CPU has.
    fn available() -> impl Iterator<Item = Vectors> {
        Level::available().into_iter().map(|(_, level)| level.vectors)
    }

    #[test]
    fn rows_and_bytes_arrive_as_they_are_wherever_they_lie() {
        let source: Vec<u64> =
            (1..=64).map(|n: u64| n.wrapping_mul(0x0102_0408_1020_4081)).collect();
        // SAFETY: the words are as many bytes.
        let bytes: &[u8] = unsafe { std::slice::from_raw_parts(source.as_ptr().cast(), 512) };
        for (skipped, vectors) in
            (0..8).flat_map(|at| available().map(move |available| (at, available)))
        {
            let from: *const u8 = bytes[8 * skipped..].as_ptr();
            let mut row = [0_u64; 32];
            let mut half = [0_u32; 32];
            // SAFETY: both rows lie within the source.
            unsafe {
                load_run(from.cast::<u64>(), &mut row, vectors);
                load_run(from.add(4).cast::<u32>(), &mut half, vectors);
            }
            assert_eq!(row[..], source[skipped..skipped + 32]);
            assert_eq!(half[0], (source[skipped] >> 32) as u32);
            assert_eq!(half[31], source[skipped + 16] as u32);
            let mut target = [0_u64; 40];
            // SAFETY: the target has room for 32 words from each of these.
            unsafe { store_run(&row, target[skipped..].as_mut_ptr(), vectors) };
            assert_eq!(target[skipped..skipped + 32], row);
            assert_eq!(target.iter().filter(|&&word| word != 0).count(), 32);
            let (mut run, mut eight) = ([0_u32; 16], [0_u32; 8]);
            // SAFETY: both runs lie within the source.
            unsafe {
                load_run(from.add(4).cast::<u32>(), &mut run, vectors);
                load_run(from.add(4).cast::<u32>(), &mut eight, vectors);
            }
            assert_eq!(run[..], half[..16]);
            assert_eq!(eight[..], half[..8]);
            let mut target = [0_u32; 40];
            // SAFETY: the target has room for 16 words from each of these.
            unsafe { store_run(&run, target[skipped..].as_mut_ptr(), vectors) };
            assert_eq!(target[skipped..skipped + 16], run);
            assert_eq!(target.iter().filter(|&&word| word != 0).count(), 16);
            let mut place = [0_u64; 8];
            let place: *mut u8 = place.as_mut_ptr().cast();
            let mut copy = [0_u8; 50];
            for offset in [0, 3] {
                let wanted = &bytes[9 * skipped..][..copy.len()];
                // SAFETY: the place has room for 50 bytes from either offset.
                unsafe {
                    write_bytes(wanted, place.add(offset));
                    read_bytes(place.add(offset), &mut copy);
                }
                assert_eq!(copy, wanted);
            }
        }
        let wide = 0x0123_4567_89ab_cdef_0011_2233_4455_6677_u128;
        let mut place = 0_u128;
        // SAFETY: the place is one element.
        unsafe { wide.store(&raw mut place) };
        // SAFETY: as above.
        assert_eq!(unsafe { u128::load(&raw const place) }, wide);
    }
}
