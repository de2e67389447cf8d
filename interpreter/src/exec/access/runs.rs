//! Loads and stores of full warps whose distances are remembered, by runs of lanes.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use super::memories::{Memories, Segment};
use super::racing::{Element, load_run, store_run};
use super::remembered::Remembered;
use crate::exec::lanes::Frame;
use crate::lane::Lane;
use crate::program::memory_op::{MemoryOp, Simple, SimpleSpace, Space};

/// The runs of neighbouring lanes that one copy serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// The whole warp, with one address (true) or consecutive ones.
    Whole([bool; 1]),
    /// Half-warps, each with one address (true) or consecutive ones.
    Halves([bool; 2]),
    /// Eight lanes each.
    Quarters([bool; 4]),
    /// Each lane goes its own way.
    None,
}

/// Loads or stores of a full warp whose distances are remembered. Returns `false` if there is
/// something wrong with an address; then nothing has been done.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program and is simple; the lanes' addresses are
/// `first` and the distances of `remembered`.
#[inline(always)]
pub(super) unsafe fn access_remembered(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    remembered: &mut Remembered,
    first: u64,
) -> bool {
    /// A way for each element and space.
    macro_rules! transfer {
        ($way:ident in Global) => {{
            let segment = memories.global_near(remembered.buffer(), first);
            transfer!($way, true, segment)
        }};
        ($way:ident in $space:ident) => {
            transfer!($way, false, memories.segment(Space::$space, first))
        };
        (Load32, $global:literal, $segment:expr) => {
            transfer::<u32, $global, true>(frame, op, memories, remembered, $segment, first)
        };
        (Load64, $global:literal, $segment:expr) => {
            transfer::<u64, $global, true>(frame, op, memories, remembered, $segment, first)
        };
        (Store32, $global:literal, $segment:expr) => {
            transfer::<u32, $global, false>(frame, op, memories, remembered, $segment, first)
        };
        (Store64, $global:literal, $segment:expr) => {
            transfer::<u64, $global, false>(frame, op, memories, remembered, $segment, first)
        };
    }
    // SAFETY: by the contract; rows are as wide as the way says.
    unsafe {
        match op.simple {
            Some(Simple::Load32(SimpleSpace::Shared)) => transfer!(Load32 in Shared),
            Some(Simple::Load32(SimpleSpace::Global)) => transfer!(Load32 in Global),
            Some(Simple::Load32(SimpleSpace::Const)) => transfer!(Load32 in Const),
            Some(Simple::Load64(SimpleSpace::Shared)) => transfer!(Load64 in Shared),
            Some(Simple::Load64(SimpleSpace::Global)) => transfer!(Load64 in Global),
            Some(Simple::Load64(SimpleSpace::Const)) => transfer!(Load64 in Const),
            Some(Simple::Store32(SimpleSpace::Shared)) => transfer!(Store32 in Shared),
            Some(Simple::Store32(SimpleSpace::Global)) => transfer!(Store32 in Global),
            Some(Simple::Store64(SimpleSpace::Shared)) => transfer!(Store64 in Shared),
            Some(Simple::Store64(SimpleSpace::Global)) => transfer!(Store64 in Global),
            Some(Simple::Store32(SimpleSpace::Const) | Simple::Store64(SimpleSpace::Const))
            | None => false,
        }
    }
}

/// [`access_remembered`] for elements `T` in a `segment` of memory, if there is one. `GLOBAL` says
/// whether CTAs may use it at the same time.
///
/// # Safety
///
/// As [`access_remembered`], with elements of type `T`, loaded if `LOAD` and otherwise stored.
#[inline(always)]
unsafe fn transfer<T: Lane<Store = T> + Element + Default, const GLOBAL: bool, const LOAD: bool>(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    remembered: &Remembered,
    segment: Option<Segment>,
    first: u64,
) -> bool {
    let Some(segment) = segment else { return false };
    if !remembered.fits(op, &segment, first) {
        return false;
    }
    // SAFETY: the segment holds the accesses of all lanes, that of the first among them, aligned
    // to the whole access.
    let host = unsafe { segment.at(first) };
    let distances = remembered.distances();
    /// One copy for each run of `$lanes` lanes. Of lanes that store to one address, the highest is
    /// the last, and so is the highest run.
    macro_rules! runs {
        ($same:expr, $lanes:literal) => {
            if let [Some(row), ..] = op.rows {
                // SAFETY: by the contract; the runs' elements lie where those of their lanes do.
                unsafe {
                    let row = frame.row_mut::<T>(row).as_chunks_mut::<$lanes>().0;
                    for (run, (same, row)) in $same.into_iter().zip(row).enumerate() {
                        let host = host.offset(distances[$lanes * run] as isize).cast::<T>();
                        match (same, LOAD) {
                            (true, false) if GLOBAL => row[$lanes - 1].store(host),
                            (true, false) => host.write(row[$lanes - 1]),
                            (false, false) if GLOBAL => store_run(row, host, memories.vectors),
                            (false, false) => host.cast::<[T; $lanes]>().write(*row),
                            (true, true) if GLOBAL => *row = [T::load(host); $lanes],
                            (true, true) => *row = [host.read(); $lanes],
                            (false, true) if GLOBAL => load_run(host, row, memories.vectors),
                            (false, true) => *row = host.cast::<[T; $lanes]>().read(),
                        }
                    }
                }
            }
        };
    }
    match remembered.runs() {
        Runs::Whole(same) => runs!(same, 32),
        Runs::Halves(same) => runs!(same, 16),
        Runs::Quarters(same) => runs!(same, 8),
        // SAFETY: by the contract.
        Runs::None => unsafe { transfer_lanes::<T, GLOBAL, LOAD>(frame, op, distances, host) },
    }
    true
}

/// [`transfer`] lane by lane, with the first lane's access at `host`.
///
/// # Safety
///
/// As [`transfer`], and memory is good for the accesses of all lanes.
// Vectors are of no use here, so that one copy serves all CPU levels.
#[inline(never)]
unsafe fn transfer_lanes<
    T: Lane<Store = T> + Element + Default,
    const GLOBAL: bool,
    const LOAD: bool,
>(
    frame: &Frame,
    op: &MemoryOp,
    distances: &[i32; 32],
    host: *mut u8,
) {
    for (element, row) in op.rows[..usize::from(op.elements)].iter().enumerate() {
        let Some(row) = *row else { continue };
        // SAFETY: by the contract; all elements lie behind the address of each lane.
        unsafe {
            let row = frame.row_mut::<T>(row);
            for lane in 0..32 {
                let host = host.offset(distances[lane] as isize).cast::<T>().add(element);
                match (LOAD, GLOBAL) {
                    (false, true) => row[lane].store(host),
                    (false, false) => host.write(row[lane]),
                    (true, true) => row[lane] = T::load(host),
                    (true, false) => row[lane] = host.read(),
                }
            }
        }
    }
}
