//! CPU levels: the hot functions compiled for several sets of vector instructions.
//!
//! The shipped binary runs on any x86-64; which copy executes is decided once per launch. Each
//! copy is the same Rust code inlined into a function that may use the level's instructions.

#![allow(unsafe_code, reason = "functions with target features are called on CPUs that have them")]

use super::access::racing::Vectors;
use super::access::{self, AccessFault, AccessReport, LoopAccesses, Memories};
use super::lanes::{self, Frame};
use super::matrix::{OperandFault, multiply as matrix};
use crate::program::matrix_op::Multiply;
use crate::program::memory_op::{MemoryOp, Space};
use crate::program::op::Op;

/// [`access::access`] of one level.
type AccessFn = unsafe fn(
    &Frame,
    &MemoryOp,
    &Memories<'_>,
    u32,
    &mut AccessReport,
) -> Result<Option<Space>, AccessFault>;

/// [`access::access_space`] of one level.
type AccessSpaceFn = unsafe fn(
    &Frame,
    &MemoryOp,
    Space,
    &Memories<'_>,
    u32,
    &mut AccessReport,
) -> Result<(), AccessFault>;

/// The hot functions of one CPU level.
#[derive(Clone, Copy)]
pub(crate) struct Level {
    /// [`lanes::run_lane_operations`].
    pub(crate) run: unsafe fn(&Frame, &mut LoopAccesses<'_>, u32, u32) -> u32,
    /// [`access::access`].
    pub(crate) access: AccessFn,
    /// [`access::access_space`].
    pub(crate) access_space: AccessSpaceFn,
    /// [`matrix::multiply`].
    pub(crate) multiply: unsafe fn(&Frame, &Multiply) -> Result<(), OperandFault>,
    /// The widest vectors.
    pub(crate) vectors: Vectors,
}

macro_rules! level {
    ($name:ident, $vectors:ident $(, #[$feature:meta])?) => {
        mod $name {
            use super::*;

            /// # Safety
            ///
            /// As [`lanes::run_lane_operations`] and [`LoopAccesses::access`] for the same program,
            /// on a CPU of this level.
            $(#[$feature])?
            unsafe fn run(
                frame: &Frame,
                accesses: &mut LoopAccesses<'_>,
                pc: u32,
                mask: u32,
            ) -> u32 {
                // SAFETY: by the contract.
                unsafe {
                    let accesses: *mut LoopAccesses<'_> = accesses;
                    lanes::run_lane_operations(
                        frame,
                        pc,
                        mask,
                        |op, mask| access_in_loop(&mut *accesses, frame, op, mask),
                        |op, mask| probe_in_loop(&mut *accesses, frame, op, mask),
                    )
                }
            }

            /// Not inlined: the lane loop's registers are for its own operations.
            ///
            /// # Safety
            ///
            /// As [`LoopAccesses::access`], on a CPU of this level.
            $(#[$feature])?
            #[inline(never)]
            unsafe fn access_in_loop(
                accesses: &mut LoopAccesses<'_>,
                frame: &Frame,
                op: &Op,
                mask: u32,
            ) -> bool {
                // SAFETY: by the contract.
                unsafe {
                    match accesses.access(frame, op, mask) {
                        Some(()) => true,
                        None => access_otherwise(accesses, frame, op, mask),
                    }
                }
            }

            /// Not inlined: the usual way needs few of the CPU's registers.
            ///
            /// # Safety
            ///
            /// As [`LoopAccesses::access`], on a CPU of this level.
            $(#[$feature])?
            #[inline(never)]
            unsafe fn access_otherwise(
                accesses: &mut LoopAccesses<'_>,
                frame: &Frame,
                op: &Op,
                mask: u32,
            ) -> bool {
                // SAFETY: by the contract.
                unsafe { accesses.access_otherwise(frame, op, mask) }
            }

            /// Not inlined, for the same reason.
            ///
            /// # Safety
            ///
            /// As [`LoopAccesses::probe`], on a CPU of this level.
            $(#[$feature])?
            #[inline(never)]
            unsafe fn probe_in_loop(
                accesses: &mut LoopAccesses<'_>,
                frame: &Frame,
                op: &Op,
                mask: u32,
            ) -> bool {
                // SAFETY: by the contract.
                unsafe { accesses.probe(frame, op, mask) }
            }

            /// # Safety
            ///
            /// As [`access::access`], on a CPU of this level.
            $(#[$feature])?
            unsafe fn access(
                frame: &Frame,
                op: &MemoryOp,
                memories: &Memories<'_>,
                mask: u32,
                report: &mut AccessReport,
            ) -> Result<Option<Space>, AccessFault> {
                // SAFETY: by the contract.
                unsafe { access::access(frame, op, memories, mask, report) }
            }

            /// # Safety
            ///
            /// As [`access::access_space`], on a CPU of this level.
            $(#[$feature])?
            unsafe fn access_space(
                frame: &Frame,
                op: &MemoryOp,
                space: Space,
                memories: &Memories<'_>,
                mask: u32,
                report: &mut AccessReport,
            ) -> Result<(), AccessFault> {
                // SAFETY: by the contract.
                unsafe { access::access_space(frame, op, space, memories, mask, report) }
            }

            /// # Safety
            ///
            /// On a CPU of this level.
            $(#[$feature])?
            unsafe fn multiply(frame: &Frame, op: &Multiply) -> Result<(), OperandFault> {
                matrix::multiply(frame, op)
            }

            pub(super) const LEVEL: Level =
                Level { run, access, access_space, multiply, vectors: Vectors::$vectors };
        }
    };
}

level!(baseline, Xmm);
#[cfg(target_arch = "x86_64")]
level!(v3, Ymm, #[target_feature(enable = "avx,avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt")]);
#[cfg(target_arch = "x86_64")]
level!(v4, Zmm, #[target_feature(
    enable = "avx,avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
)]);

/// True if the CPU has all of these features.
#[cfg(target_arch = "x86_64")]
macro_rules! has {
    ($($feature:tt)+) => { $(std::is_x86_feature_detected!($feature))&&+ };
}

/// True if the CPU has the features of the level `v3`.
#[cfg(target_arch = "x86_64")]
fn has_v3() -> bool {
    has!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "popcnt")
}

/// True if the CPU has those of the level `v4`.
#[cfg(target_arch = "x86_64")]
fn has_v4() -> bool {
    has_v3() && has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl")
}

impl Level {
    /// The best level that this CPU has.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if has_v4() {
                return v4::LEVEL;
            }
            if has_v3() {
                return v3::LEVEL;
            }
        }
        baseline::LEVEL
    }

    /// Every level that this CPU has, with its name, for tests that compare them.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<(&'static str, Self)> {
        let mut levels = vec![("baseline", baseline::LEVEL)];
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(has_v3().then_some(("v3", v3::LEVEL)));
            levels.extend(has_v4().then_some(("v4", v4::LEVEL)));
        }
        levels
    }
}
