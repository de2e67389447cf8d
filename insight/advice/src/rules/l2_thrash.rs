//! # What it does
//!
//! Finds launches that read more from device memory than their buffers hold: data leaves the L2
//! before it is read again.
//!
//! # Why it is slow
//!
//! A pass over more data than the L2 holds finds nothing of it at the next pass. Each pass then
//! comes from device memory, at a fraction of the L2's bandwidth.
//!
//! # How to fix it
//!
//! Do all that is to be done with a number while it is in a register. Divide the data into tiles
//! that the L2 holds, and make all passes over one before the next. Let blocks that share data run
//! at the same time.
//!
//! # Example
//!
//! ```cuda
//! for (pass…) for (j…) use(a[j * n + i], pass);
//! for (j…) { float x = a[j * n + i]; for (pass…) use(x, pass); }
//! ```
//!
//! # Source
//!
//! Lam, Rothberg and Wolf, The cache performance and optimizations of blocked algorithms, 1991.

use gpucast_counters::metric;
use gpucast_counters::table::Row;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "l2-thrash";
pub(super) const TITLE: &str = "data leaves the L2 before it is read again";
pub(super) const EFFORT: Effort = Effort::Structure;

/// Bytes read from device memory, over those of the buffers, from which data counts as read again.
const LEAST_REREAD: f64 = 1.2;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let (read, held) = (case.metric(metric!("dram_read_bytes")), case.buffer_bytes as f64);
    let asked = case.metric(metric!("l2_read_transactions")) * 32.0;
    if held == 0.0 || read <= LEAST_REREAD * held || asked == 0.0 {
        return None;
    }
    let hits = (1.0 - held / asked).clamp(0.0, 1.0);
    let from_dram = |row: &Row| -> f64 {
        let traffic = row.memory.iter().filter_map(|counts| counts.traffic);
        traffic.map(|traffic| traffic.dram_read_sectors as f64).sum()
    };
    Some(Suspicion {
        change: format!(
            "Device memory is read {:.1} times over. Do all that is to be done with a number at once, \
             or work in tiles that the L2 holds.",
            read / held
        ),
        places: case.ranked(from_dram),
        evidence: vec![
            Evidence::new(metric!("dram_read_bytes"), read, held, "byte"),
            Evidence::new(metric!("l2_tex_read_hit_rate"), case.metric(metric!("l2_tex_read_hit_rate")), 100.0 * hits, "percent"),
        ],
        trial: Trial::WhatIf(vec![WhatIf::L2Hits(hits)]),
    })
}
