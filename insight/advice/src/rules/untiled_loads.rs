//! # What it does
//!
//! Finds loads of global memory that ask for the same sectors again and again within a block.
//! Loads whose address depends on loaded data are left out: nobody knows beforehand what a tile
//! must hold.
//!
//! # Why it is slow
//!
//! Each request passes the tags of the first-level cache, line by line, and takes its latency.
//! Data that the cache lost in between comes from the L2 or device memory again. Shared memory
//! answers sooner, and holds what the block put there.
//!
//! # How to fix it
//!
//! Divide the loop into rounds. In each, the block loads a tile of the data into shared memory,
//! every word once and row by row. It waits at a barrier and reads the tile. More results in each
//! thread's registers spare reads of the tile in turn.
//!
//! # Example
//!
//! ```cuda
//! for (k…) sum += a[row * depth + k] * b[k * n + column];
//! for (from += 16…) {
//!     tile_a[y][x] = a[row * depth + from + x]; tile_b[y][x] = b[(from + y) * n + column];
//!     __syncthreads();
//!     for (k < 16…) sum += tile_a[y][k] * tile_b[k][x];
//!     __syncthreads();
//! }
//! ```
//!
//! # Source
//!
//! CUDA C++ Best Practices Guide 12.9, section 9.2.3.2; CUDA C++ Programming Guide 12.9, section
//! 6.2.4 (shared memory).

use gpucast_counters::table::Row;
use gpucast_model::WhatIf;
use gpucast_ptx_frontend::types::StateSpace;

use super::{Effort, Evidence, Suspicion};
use crate::case::{Case, accesses};
use crate::trial::Trial;

pub(super) const CODE: &str = "untiled-loads";
pub(super) const TITLE: &str = "warps of a block load the same data from global memory";
pub(super) const EFFORT: Effort = Effort::Structure;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let reread = &case.facts()?.reread;
    let sectors = |row: &Row| -> f64 {
        accesses(row, StateSpace::Global).map(|access| access.sectors as f64).sum()
    };
    let again = |row: &Row| reread.get(&row.instruction).map_or(0.0, |share| share * sectors(row));
    let (mut asked, mut held) = (0.0, 0.0);
    for row in case.rows().filter(|row| again(row) > 0.0) {
        asked += sectors(row);
        held += again(row);
    }
    let once = asked - held;
    if held == 0.0 {
        return None;
    }
    Some(Suspicion {
        change: format!(
            "The block loads the same data {:.0} times. Let it load a tile into shared memory once, \
             and read the tile.",
            asked / once.max(1.0)
        ),
        places: case.ranked(again),
        evidence: vec![Evidence::new("sectors that these loads ask for", asked, once, "sector")],
        trial: Trial::WhatIf(vec![WhatIf::TiledLoads]),
    })
}
