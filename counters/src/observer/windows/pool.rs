//! Sums over what went through the caches: what a sector of each row causes.

use std::collections::{BTreeMap, BTreeSet};

use super::super::left_out::{LeftOut, Part};
use super::cut::Role;
use crate::counts::{MemoryCounts, writes};
use crate::estimate::Unsure;
use crate::extrapolation::Extrapolation;
use crate::hierarchy::{
    Dirtied, FIRST_SINGLE_ROW, LineSample, LocalTraffic, PARTS, PartTraffic, ROW_LIMIT, RowTraffic,
};
use crate::sparse::SparseRows;

/// Part by which sums of traffic may differ from window to window without making more windows.
const ALIKE: f64 = 0.005;

/// CTAs that went through the caches.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) role: Role,
    pub(super) ctas: u64,
    /// False if some of them went through the caches before: what they ask for may still be there.
    pub(super) is_first: bool,
    /// Sectors of their requests, by row.
    pub(super) sectors: SparseRows<u64>,
    /// The part of those that was not replayed.
    pub(super) left_out: LeftOut,
    pub(super) traffic: PartTraffic,
    /// Sectors that they made dirty.
    pub(super) dirtied: u64,
    /// The part of those that may have been dirty before.
    pub(super) unsure_dirtied: u64,
    /// The lines that were replayed, if not all were.
    pub(super) sampled: Option<Sampled>,
}

/// Requests of a sample of lines.
#[derive(Clone, Debug)]
pub(super) struct Sampled {
    pub(super) lines: LineSample,
    /// Their sectors, by row and part of the sample.
    pub(super) sectors: SparseRows<u64>,
}

/// True if windows have the same traffic, or nearly so: what a sector causes in each, and what
/// becomes dirty.
pub(super) fn are_alike<'a>(
    windows: impl Iterator<Item = &'a Measured>,
    memory: &SparseRows<MemoryCounts>,
) -> bool {
    let rates = |window: &'a Measured| {
        let pool = Pool::of(std::iter::once(window), memory, Pooled::default());
        let RowSum { sectors, traffic: [l1, l2, hits, reads] } = pool.all;
        [l1, l2, hits, reads, pool.dirtied].map(|sum| sum / sectors.max(1.0))
    };
    let rates: Vec<[f64; 5]> = windows.map(rates).collect();
    (0..5).all(|at| {
        let of_windows = rates.iter().map(|rates| rates[at]);
        let least = of_windows.clone().fold(f64::INFINITY, f64::min);
        let most = of_windows.fold(0.0, f64::max);
        most - least <= ALIKE * most
    })
}

/// Traffic of some CTAs together.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) ctas: u64,
    pub(super) rows: BTreeMap<u32, RowSum>,
    pub(super) all: RowSum,
    pub(super) dirtied: f64,
    /// Sectors that stores and atomics took to the L2.
    pub(super) stored: f64,
    pub(super) local: [f64; 3],
}

/// Requests of one row, and what they caused.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowSum {
    pub(super) sectors: f64,
    /// Of L1 hits, to the L2, of L2 hits, from DRAM.
    pub(super) traffic: [f64; 4],
}

/// The part of a measurement that is pooled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pooled {
    /// The part of unsure misses that are hits.
    pub(super) hits: f64,
    /// The part of sampled lines that is left out.
    pub(super) without: Option<u32>,
}

impl Measured {
    /// The requests of each row, as far as anything is known of what they caused.
    fn rows(&self, pooled: Pooled) -> BTreeMap<u32, RowSum> {
        let Some(sampled) = &self.sampled else { return self.all_rows(pooled.hits) };
        let is_in = |row: u32| row < FIRST_SINGLE_ROW && pooled.without != Some(row % PARTS);
        let mut rows = BTreeMap::<u32, RowSum>::new();
        for (row, &sectors) in sampled.sectors.iter().filter(|(row, _)| is_in(*row)) {
            rows.entry(row / PARTS).or_default().sectors += sectors as f64;
        }
        let PartTraffic { rows: traffic, unsure, .. } = &self.traffic;
        for (row, traffic) in traffic.iter().filter(|(row, _)| is_in(*row)) {
            rows.entry(row / PARTS).or_default().add(sums(*traffic));
        }
        for (row, unsure) in unsure.iter().filter(|(row, _)| is_in(*row)) {
            rows.entry(row / PARTS).or_default().add(as_hits(*unsure, pooled.hits));
        }
        rows.retain(|_, row| row.sectors > 0.0);
        // What they stand for.
        for (key, &all) in self.sectors.iter() {
            if let Some(row) = rows.get_mut(&key) {
                let times = all as f64 / row.sectors;
                row.traffic.iter_mut().for_each(|sum| *sum *= times);
                row.sectors = all as f64;
            }
        }
        rows
    }

    fn all_rows(&self, hits: f64) -> BTreeMap<u32, RowSum> {
        let mut rows = BTreeMap::<u32, RowSum>::new();
        let is_of_one = |key: u32| key < ROW_LIMIT;
        for (key, &traffic) in self.traffic.rows.iter().filter(|(key, _)| is_of_one(*key)) {
            rows.entry(key).or_default().add(sums(traffic));
        }
        for (key, &unsure) in self.traffic.unsure.iter().filter(|(key, _)| is_of_one(*key)) {
            rows.entry(key).or_default().add(as_hits(unsure, hits));
        }
        // Requests that were left out are as those of their row, if any were kept.
        for (key, &sectors) in self.sectors.iter() {
            let row = rows.entry(key).or_default();
            let Part { kept, all } = self.left_out.part(key, sectors);
            row.sectors = if kept > 0.0 { all } else { 0.0 };
            row.traffic.iter_mut().for_each(|sum| *sum *= all / kept.max(1.0));
        }
        rows
    }

    /// From the requests that were kept to all of those whose lines are sampled.
    fn scale(&self) -> Extrapolation {
        let sectors: u64 = self.sectors.iter().map(|(_, sectors)| sectors).sum();
        Extrapolation::new(sectors.into(), self.left_out.sectors)
    }

    /// Sectors that it made dirty. Rows that write are those of `is_written`.
    fn dirtied(&self, pooled: Pooled, is_written: impl Fn(u32) -> bool) -> f64 {
        let unsure = pooled.hits * self.unsure_dirtied as f64;
        let Some(Sampled { lines, sectors }) = &self.sampled else {
            let mut written = Part::default();
            for (key, &sectors) in self.sectors.iter().filter(|(key, _)| is_written(*key)) {
                written += self.left_out.part(key, sectors);
            }
            let Part { kept, all } = written;
            let times = if kept > 0.0 { all / kept } else { 1.0 };
            return (self.dirtied as f64 - unsure) * times;
        };
        let is_in = |part: u32| pooled.without != Some(part);
        let of_parts = |dirtied: &Dirtied| -> f64 {
            let dirtied = dirtied.by_rows.iter().zip(0..);
            dirtied.filter(|(_, part)| is_in(*part)).map(|(sectors, _)| *sectors as f64).sum()
        };
        let PartTraffic { dirtied, unsure_dirtied, .. } = &self.traffic;
        let dirtied = of_parts(dirtied) - pooled.hits * of_parts(unsure_dirtied);
        let all = self.sectors.iter().filter(|(key, _)| is_written(*key));
        let all: u64 = all.map(|(_, sectors)| sectors).sum();
        let seen = sectors.iter().filter(|(row, _)| is_in(row % PARTS) && is_written(row / PARTS));
        let seen: u64 = seen.map(|(_, sectors)| sectors).sum();
        let of_rows = dirtied * all as f64 / seen.max(1) as f64;
        let by_write_backs = self.traffic.dirtied.by_write_backs * lines.lines_of_group();
        of_rows + by_write_backs as f64
    }

    /// Lines of local memory that first-level caches wrote back.
    fn local(&self) -> LocalTraffic {
        let times = self.sampled.as_ref().map_or(1, |sampled| sampled.lines.lines_of_group());
        let local = self.scale().total(self.traffic.l2).local;
        LocalTraffic {
            write_back_sectors: local.write_back_sectors * times,
            write_back_hit_sectors: local.write_back_hit_sectors * times,
            dram_write_sectors: local.dram_write_sectors * times,
            ..local
        }
    }
}

fn sums(traffic: RowTraffic) -> [f64; 4] {
    let RowTraffic { l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors, .. } = traffic;
    [l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors].map(|sectors| sectors as f64)
}

/// What changes if the part `hits` of unsure misses are hits.
fn as_hits(unsure: RowTraffic, hits: f64) -> [f64; 4] {
    let [_, _, of_l2, read] = sums(unsure);
    [0.0, 0.0, hits * of_l2, -hits * read]
}

impl RowSum {
    pub(super) fn add(&mut self, traffic: [f64; 4]) {
        self.traffic.iter_mut().zip(traffic).for_each(|(sum, sectors)| *sum += sectors);
    }

    /// What a sector causes, if anything is known of it.
    pub(super) fn rate(&self) -> Option<[f64; 4]> {
        (self.sectors > 0.0).then(|| self.traffic.map(|sum| sum / self.sectors))
    }
}

impl Pool {
    /// The traffic of `parts`.
    pub(super) fn of<'a>(
        parts: impl Iterator<Item = &'a Measured>,
        memory: &SparseRows<MemoryCounts>,
        pooled: Pooled,
    ) -> Self {
        let mut pool = Self {
            ctas: 0,
            rows: BTreeMap::new(),
            all: RowSum::default(),
            dirtied: 0.0,
            stored: 0.0,
            local: [0.0; 3],
        };
        let written: BTreeSet<u32> = memory
            .iter()
            .filter(|(_, counts)| writes(counts.kind) && counts.sectors > 0)
            .map(|(key, _)| key)
            .collect();
        for part in parts {
            pool.ctas += part.ctas;
            pool.dirtied += part.dirtied(pooled, |key| written.contains(&key));
            for (key, row) in part.rows(pooled) {
                for sum in [pool.rows.entry(key).or_default(), &mut pool.all] {
                    sum.sectors += row.sectors;
                    sum.add(row.traffic);
                }
            }
            let local = part.local();
            pool.local[0] += local.write_back_sectors as f64;
            pool.local[1] += local.write_back_hit_sectors as f64;
            pool.local[2] += local.dram_write_sectors as f64;
        }
        let stored = written.iter().filter_map(|key| pool.rows.get(key));
        pool.stored = stored.map(|row| row.sectors).sum();
        pool
    }

    /// The requests of a row.
    pub(super) fn row(&self, key: u32) -> RowSum {
        self.rows.get(&key).copied().unwrap_or_default()
    }

    /// What one sector of a row causes: as here, or as in `other`. Where nothing is known of the
    /// row, it is the mean of all rows, or one of the extremes.
    pub(super) fn rate(&self, key: u32, other: &Self, unsure: Unsure) -> [f64; 4] {
        let known = self.row(key).rate().or_else(|| other.row(key).rate());
        known.unwrap_or_else(|| match unsure {
            Unsure::VALUE => self.all.rate().or_else(|| other.all.rate()).unwrap_or_default(),
            Unsure { hits, .. } => [0.0, 1.0, hits, 1.0 - hits],
        })
    }
}

impl Pool {
    /// Hits of the L2 per sector of a row that are more or fewer here than in `before`.
    pub(super) fn hits_beyond(&self, before: &Self, key: u32) -> f64 {
        let hits = |pool: &Self| pool.row(key).rate().map(|rate| rate[2]);
        hits(self).zip(hits(before)).map_or(0.0, |(here, before)| (here - before).abs())
    }

    /// The part of what becomes dirty here by which a stored sector makes more or less dirty than
    /// one in `before`.
    pub(super) fn dirtied_beyond(&self, before: &Self) -> f64 {
        let [here, before] = [self, before].map(|pool| pool.dirtied / pool.stored);
        // None of both is there where nothing is stored.
        let part = (here - before).abs() / here;
        if part.is_finite() { part } else { 0.0 }
    }
}
