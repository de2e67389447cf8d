//! Sectors on their way to the first-level cache.
//!
//! The record of a request says which sectors the first-level cache holds, but not since when. A
//! hit on a sector that another warp's miss fetches waits for that fetch.

use super::scoreboard::Event;
use crate::launch::Request;

/// Places of the table. More than the pending sectors of any GPU, so that few are overwritten
/// before they arrive.
const PLACES: usize = 2048;

/// The latest fetches of an SM.
#[derive(Clone, Debug)]
pub(super) struct UnderWay<T> {
    fetches: Vec<Fetch<T>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Fetch<T> {
    /// The CTA's place on the SM: resident CTAs may play the same record.
    cta: u32,
    sector: u32,
    arrival: Event<T>,
}

impl<T: Copy + Default> UnderWay<T> {
    pub(super) fn new() -> Self {
        Self { fetches: vec![Fetch::default(); PLACES] }
    }

    /// A request of a CTA fetches its sectors. Those of a request that is not consecutive are known
    /// by the first one.
    pub(super) fn fetch(&mut self, cta: u32, request: &Request, arrival: Event<T>) {
        let Some(first) = request.first_sector else { return };
        let sectors = [request.l1_sectors, request.l2_sectors, request.dram_sectors];
        let sectors = sectors.map(u32::from).into_iter().sum::<u32>();
        // A consecutive request fills its lines but for the ends of the first and the last.
        let is_consecutive = u32::from(request.lines) <= sectors / 4 + 2;
        // Of a bulk copy larger than the table, what comes last is known.
        let from = sectors.saturating_sub(PLACES as u32);
        for sector in if is_consecutive { from..sectors } else { 0..1 } {
            let sector = first.wrapping_add(sector);
            self.fetches[place(cta, sector)] = Fetch { cta, sector, arrival };
        }
    }

    /// The arrival of the sector that a request begins with, if it is later than `clock`.
    pub(super) fn arrival(&self, cta: u32, request: &Request, clock: u64) -> Option<Event<T>> {
        let sector = request.first_sector?;
        let fetch = &self.fetches[place(cta, sector)];
        let is_awaited = (fetch.cta, fetch.sector) == (cta, sector) && fetch.arrival.done > clock;
        is_awaited.then_some(fetch.arrival)
    }
}

/// The place of a sector: consecutive ones have places of their own.
fn place(cta: u32, sector: u32) -> usize {
    sector.wrapping_add(cta.wrapping_mul(0x9E37_79B1)) as usize % PLACES
}
