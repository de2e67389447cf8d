//! # What it does
//!
//! Finds launches of which an SM holds few warps, names the limit, and the block size that lifts
//! it.
//!
//! # Why it is slow
//!
//! While a warp waits for memory, others work. With few warps on an SM there are moments in which
//! all of them wait.
//!
//! # How to fix it
//!
//! The limit says what to change: fewer registers a thread (`__launch_bounds__`), or less shared
//! memory a block. Where the number of blocks is the limit, make them larger. Where the number of
//! warps is, blocks should divide the warps of an SM. More work in flight in each thread helps as
//! well.
//!
//! # Example
//!
//! ```cuda
//! __shared__ float tile[12000];   // two blocks an SM
//! __shared__ float tile[6000];    // four
//! ```
//!
//! # Source
//!
//! CUDA C++ Best Practices Guide 12.9, section 11.1; `cuda_occupancy.h` of the CUDA toolkit.

use gpucast_counters::metric;
use gpucast_counters::occupancy::{CtaShape, Limiter, Occupancy};
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "low-occupancy";
pub(super) const TITLE: &str = "an SM holds few warps";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let now = case.occupancy();
    // Where the grid does not fill the places that there are, other rules speak.
    let places = case.sms() * u128::from(now.ctas_per_sm);
    if now.ctas_per_sm == 0 || case.shape.blocks < places {
        return None;
    }
    let limiter = now.limiters().next()?;
    let (target, advice) = lifted(case, &now, limiter)?;
    if target <= now.theoretical() {
        return None;
    }
    Some(Suspicion {
        change: format!(
            "{} let an SM hold {} of {} warps. {advice}",
            in_words(limiter),
            now.warps_per_sm(),
            now.max_warps_per_sm
        ),
        places: Vec::new(),
        evidence: vec![Evidence::new(
            metric!("theoretical_occupancy"),
            100.0 * now.theoretical(),
            100.0 * target,
            "percent",
        )],
        trial: Trial::WhatIf(vec![WhatIf::Occupancy(target)]),
    })
}

fn in_words(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Warps => "The sizes of a block and of the SM",
        Limiter::Ctas => "Small blocks, of which there is a greatest number,",
        Limiter::Registers => "Registers",
        Limiter::SharedMemory => "Bytes of shared memory",
    }
}

/// The occupancy without a limit, and how to get there.
fn lifted(case: &Case<'_>, now: &Occupancy, limiter: Limiter) -> Option<(f64, String)> {
    let shape = case.cta();
    match limiter {
        Limiter::Warps | Limiter::Ctas => {
            let (threads, best) = best_block(case, shape)?;
            Some((best, format!("Blocks of {threads} threads would let it hold {:.0} %.", 100.0 * best)))
        }
        Limiter::Registers => {
            let registers = shape.registers_per_thread?;
            let fits = |fewer: &u32| {
                let shape = CtaShape { registers_per_thread: Some(*fewer), ..shape };
                case.device.occupancy(shape).theoretical() > now.theoretical()
            };
            let fewer = (1..registers).rev().find(fits)?;
            let with = CtaShape { registers_per_thread: Some(fewer), ..shape };
            let best = case.device.occupancy(with).theoretical();
            Some((
                best,
                format!("With {fewer} registers a thread instead of {registers} it would hold {:.0} %.", 100.0 * best),
            ))
        }
        Limiter::SharedMemory => by_shared_memory(case, now),
    }
}

/// The most blocks that fit with not much less shared memory a block, and what they give.
///
/// What a kernel needs of its shared memory is not known. Tiles can be halved, or one buffer taken
/// instead of two; a target far below that is no advice.
fn by_shared_memory(case: &Case<'_>, now: &Occupancy) -> Option<(f64, String)> {
    let shape = case.cta();
    let limits = &case.device.limits;
    let unit = limits.shared_allocation_bytes.max(1);
    // Shared memory of a block of which `ctas` fit an SM.
    let bytes_of = |ctas: u32| {
        let share = limits.shared_bytes / u64::from(ctas) / unit * unit;
        share.checked_sub(limits.shared_reserved_bytes_per_cta)
    };
    let least = shape.shared_bytes.div_ceil(MOST_REDUCTION);
    let reachable =
        |ctas: &u32| bytes_of(*ctas).filter(|&bytes| bytes > 0 && bytes >= least).is_some();
    let ctas = (now.ctas_per_sm + 1..=limits.max_ctas).take_while(reachable).last()?;
    let bytes = bytes_of(ctas)?;
    let target =
        case.device.occupancy(CtaShape { shared_bytes: bytes, ..shape }).theoretical();
    let text = format!(
        "With {bytes} bytes of shared memory a block instead of {} it would hold {:.0} %: smaller \
         tiles, or one buffer instead of two.",
        shape.shared_bytes,
        100.0 * target
    );
    Some((target, text))
}

/// Shared memory is not advised to be cut further than by this factor.
const MOST_REDUCTION: u64 = 2;

/// The smallest block size with the highest occupancy, where the resources of a thread stay the
/// same.
fn best_block(case: &Case<'_>, shape: CtaShape) -> Option<(u64, f64)> {
    let most = u64::from(case.device.limits.max_threads_per_cta);
    let occupancy = |threads: u64| {
        let shared = u128::from(shape.shared_bytes) * u128::from(threads);
        let shared_bytes = shared / u128::from(shape.threads.max(1));
        let shared_bytes = u64::try_from(shared_bytes).unwrap_or(u64::MAX);
        case.device.occupancy(CtaShape { threads, shared_bytes, ..shape }).theoretical()
    };
    let sizes = (1..=most / 32).map(|warps| (32 * warps, occupancy(32 * warps)));
    // Of equal ones the first stays.
    sizes.reduce(|best, one| if one.1 > best.1 { one } else { best })
}
