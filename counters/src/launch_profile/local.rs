//! Traffic of local memory as machine code causes it.
//!
//! An assembler keeps many `.local` arrays in registers. If that is known before the launch, the
//! caches do not see their accesses
//! ([`Counter::with_machine_accesses`](crate::Counter::with_machine_accesses)). Of others, the
//! caches have seen the PTX's accesses. Bytes and traffic are scaled here to what machine code
//! moves. Requests stay those of the PTX in the table: they tell which warps take part in an access
//! of machine code ([`Totals::local_requests`]).

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::types::StateSpace::Local;

use crate::hierarchy::{L2Traffic, RowTraffic};
use crate::table::BaseTable;
use crate::totals::{Direction, Totals};

/// The parts of the PTX's local bytes that machine code moves, by direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LocalShares {
    loads: f64,
    stores: f64,
}

impl LocalShares {
    /// The shares, if machine instructions were counted and make less than the PTX does.
    pub(super) fn of(totals: &Totals<'_>) -> Option<Self> {
        let share = |direction| {
            let ptx = totals.memory(Local, direction).requested_bytes;
            Some(part(totals.machine_bytes(Local, direction)?, ptx))
        };
        let (loads, stores) = (share(Direction::Load)?, share(Direction::Store)?);
        (loads < 1.0 || stores < 1.0).then_some(Self { loads, stores })
    }

    /// Takes from a launch's counts the accesses that machine code does not make.
    pub(super) fn apply(self, table: &mut BaseTable, l2: &mut L2Traffic) {
        for counts in table.rows.iter_mut().flat_map(|row| &mut row.memory) {
            if counts.space != Local {
                continue;
            }
            let (share, all, hits) = match counts.kind {
                AccessKind::Load | AccessKind::LoadReadOnly => {
                    (self.loads, &mut l2.read_sectors, &mut l2.read_hit_sectors)
                }
                AccessKind::Store => {
                    (self.stores, &mut l2.write_sectors, &mut l2.write_hit_sectors)
                }
                AccessKind::Atomic | AccessKind::Reduction => continue,
            };
            let of_bytes =
                [&mut counts.requested_bytes, &mut counts.sectors, &mut counts.transactions];
            of_bytes.into_iter().for_each(|count| *count = scaled_sum(*count, share));
            let Some(traffic) = &mut counts.traffic else { continue };
            traffic.l1_hit_sectors = scaled(traffic.l1_hit_sectors, share);
            let RowTraffic { l2_sectors, l2_hit_sectors, dram_read_sectors, .. } = *traffic;
            take(&mut traffic.l2_sectors, scaled(l2_sectors, share), all);
            take(&mut traffic.l2_hit_sectors, scaled(l2_hit_sectors, share), hits);
            let reads = &mut l2.dram_read_sectors;
            take(&mut traffic.dram_read_sectors, scaled(dram_read_sectors, share), reads);
        }
        let share = self.stores;
        let mut local = l2.local;
        for (of_local, all) in [
            (&mut local.write_back_sectors, &mut l2.write_sectors),
            (&mut local.write_back_hit_sectors, &mut l2.write_hit_sectors),
            (&mut local.dram_write_sectors, &mut l2.dram_write_sectors),
            (&mut local.dirty_sectors, &mut l2.dirty_sectors),
        ] {
            take(of_local, scaled(*of_local, share), all);
        }
        l2.local = local;
    }
}

/// Sets `count` to a smaller value; `sum` gets smaller by as much.
fn take(count: &mut u64, value: u64, sum: &mut u64) {
    *sum = sum.saturating_sub(*count - value);
    *count = value;
}

fn scaled(count: u64, share: f64) -> u64 {
    (count as f64 * share).round() as u64
}

/// As [`scaled`], of a count that no cache limits.
fn scaled_sum(count: u128, share: f64) -> u128 {
    (count as f64 * share).round() as u128
}

/// The part that machine code keeps, at most 1: machine code that spills does more than the PTX.
fn part(machine: u128, ptx: u128) -> f64 {
    if machine >= ptx { 1.0 } else { machine as f64 / ptx as f64 }
}
