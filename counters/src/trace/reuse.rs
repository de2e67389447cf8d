//! Loads that ask for sectors which their CTA has asked for before: what a tile in shared memory
//! would spare.

use std::collections::{BTreeMap, HashMap};

use gpucast_interpreter::mixing::hashed;
use gpucast_interpreter::{Access, AccessKind, Pattern};
use gpucast_ptx_frontend::types::StateSpace;

use crate::patterns::{first_address, lane_addresses};

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
        let Some(first) = first_address(access) else { return };
        // The low bit tells a digest from none.
        let asker = hashed(hashed(first) ^ u64::from(access.warp)) as u32 | 1;
        let Self { askers, loads } = self;
        let of_load = loads.entry(access.instruction).or_default();
        let mut ask = |line: u64, wanted: u32| {
            let line = askers.entry(line).or_default();
            for (sector, last) in line.iter_mut().enumerate() {
                if wanted >> sector & 1 == 1 {
                    of_load.sectors += 1;
                    of_load.again += u64::from(*last != 0 && *last != asker);
                    *last = asker;
                }
            }
        };
        if let (Pattern::Consecutive, u32::MAX) = (access.pattern, access.mask) {
            let begin = first / SECTOR_BYTES;
            let end =
                first.saturating_add(31 * u64::from(access.bytes_per_lane)) / SECTOR_BYTES + 1;
            for line in begin / SECTORS_OF_LINE..end.div_ceil(SECTORS_OF_LINE) {
                let sectors = line * SECTORS_OF_LINE;
                let from = begin.max(sectors) - sectors;
                let until = end.min(sectors + SECTORS_OF_LINE) - sectors;
                ask(line, (1 << until) - (1 << from));
            }
            return;
        }
        let mut room = [0; 32];
        let addresses = lane_addresses(access, &mut room);
        let mut sectors = [0; 32];
        let mut count = 0;
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 == 1) {
            let sector = addresses[lane] / SECTOR_BYTES;
            // Neighbours mostly share a sector.
            if count == 0 || sectors[count - 1] != sector {
                sectors[count] = sector;
                count += 1;
            }
        }
        let sectors = &mut sectors[..count];
        if !sectors.is_sorted() {
            sectors.sort_unstable();
        }
        for of_line in sectors.chunk_by(|one, next| one / SECTORS_OF_LINE == next / SECTORS_OF_LINE)
        {
            let wanted =
                of_line.iter().fold(0, |all, sector| all | 1 << (sector % SECTORS_OF_LINE));
            ask(of_line[0] / SECTORS_OF_LINE, wanted);
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
