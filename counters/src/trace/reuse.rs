//! Loads that ask for sectors which their CTA has asked for before: what a tile in shared memory
//! would spare.

use std::collections::{BTreeMap, HashMap};

use gpucast_interpreter::{Access, AccessKind};
use gpucast_ptx_frontend::types::StateSpace;

use super::recorder::mixed;
use crate::patterns::lane_addresses;

const SECTOR_BYTES: u64 = 32;
const SECTORS_OF_LINE: u64 = 4;

/// Bytes of a lane's widest load; what is wider is a bulk copy.
const WIDEST_LOAD: u32 = 16;

/// The sectors of global memory that the recorded CTAs' executions of a load ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectorReuse {
    /// All of them, once for each request.
    pub sectors: u64,
    /// Those that a load of the same CTA has asked for before: one of another warp, or of this warp
    /// at other addresses. What a warp loads from the same addresses again, a register can hold.
    pub again: u64,
}

impl SectorReuse {
    /// The share of the sectors that the CTA has asked for before.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.again as f64 / self.sectors.max(1) as f64
    }
}

/// The loads of one recorded CTA.
#[derive(Clone, Debug, Default)]
pub(super) struct CtaReuse {
    /// For each sector of a line, a digest of the request that asked for it last; 0 for none.
    askers: HashMap<u64, [u32; SECTORS_OF_LINE as usize]>,
    loads: BTreeMap<u32, SectorReuse>,
}

impl CtaReuse {
    /// Notes an access, if it is a plain load of global memory. Beyond `most_lines` lines nothing
    /// is noted any more.
    pub(super) fn note(&mut self, access: &Access<'_>, most_lines: u64) {
        let loads = matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly);
        let is_plain = access.space == StateSpace::Global && access.bytes_per_lane <= WIDEST_LOAD;
        if !loads || !is_plain || access.mask == 0 || self.askers.len() as u64 >= most_lines {
            return;
        }
        let mut room = [0; 32];
        let addresses = lane_addresses(access, &mut room);
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 == 1);
        let mut sectors = [0; 32];
        let mut count = 0;
        for lane in lanes {
            sectors[count] = addresses[lane] / SECTOR_BYTES;
            count += 1;
        }
        let first = addresses[access.mask.trailing_zeros() as usize & 31];
        // The low bit tells a digest from none.
        let asker = mixed(mixed(first) ^ u64::from(access.warp)) as u32 | 1;
        let sectors = &mut sectors[..count];
        sectors.sort_unstable();
        let of_load = self.loads.entry(access.instruction).or_default();
        for of_sector in sectors.chunk_by(|one, next| one == next) {
            let Some(&sector) = of_sector.first() else { continue };
            let line = self.askers.entry(sector / SECTORS_OF_LINE).or_default();
            let last = &mut line[(sector % SECTORS_OF_LINE) as usize];
            of_load.sectors += 1;
            of_load.again += u64::from(*last != 0 && *last != asker);
            *last = asker;
        }
    }

    /// The CTA has ended: forgets who asked.
    pub(super) fn end(&mut self) {
        self.askers = HashMap::new();
    }

    /// Adds the CTA's loads to those of others.
    pub(super) fn add_to(&self, all: &mut BTreeMap<u32, SectorReuse>) {
        for (&load, reuse) in &self.loads {
            let sum = all.entry(load).or_default();
            sum.sectors += reuse.sectors;
            sum.again += reuse.again;
        }
    }
}
