//! The counts of some CTAs as a list of numbers, so that they can be scaled and compared.

use std::collections::HashMap;

use crate::counts::{BlockCount, BranchCounts, MemoryCounts, WIDER_BYTES};
use crate::extrapolation::Extrapolation;
use crate::hierarchy::{PartTraffic, ROW_LIMIT, RowTraffic};
use crate::recorder::CtaRecorder;
use crate::sparse::SparseRows;

/// Sums of counts of whole CTAs.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    pub(crate) blocks: Vec<BlockCount<u64>>,
    pub(crate) guarded_lanes: Vec<u64>,
    pub(crate) branches: SparseRows<BranchCounts<u64>>,
    pub(crate) memory: SparseRows<MemoryCounts<u64>>,
    /// Operations of products, by [`ProductCounts::key`](crate::tensor::ProductCounts::key).
    pub(crate) products: SparseRows<u64>,
    pub(crate) left_out_sectors: u64,
}

impl Sums {
    pub(crate) fn new(blocks: usize, guarded: usize) -> Self {
        Self {
            blocks: vec![BlockCount::default(); blocks],
            guarded_lanes: vec![0; guarded],
            branches: SparseRows::new(0),
            memory: SparseRows::new(0),
            products: SparseRows::new(0),
            left_out_sectors: 0,
        }
    }

    /// Adds the counts of a CTA.
    pub(crate) fn add(&mut self, recorder: &CtaRecorder) {
        let mut add = |total: &mut u64, count| *total += count;
        for (total, count) in self.blocks.iter_mut().zip(recorder.block_counts()) {
            total.zip(count, &mut add);
        }
        for (total, lanes) in self.guarded_lanes.iter_mut().zip(&recorder.guarded_lanes) {
            *total += lanes;
        }
        for (instruction, counts) in recorder.branches.iter() {
            self.branches.row(instruction).zip(counts, &mut add);
        }
        for (key, counts) in recorder.memory.iter() {
            self.memory.row(key).zip(counts, &mut add);
        }
        for (key, &operations) in recorder.products.iter() {
            *self.products.row(key) += operations;
        }
    }

    fn sectors(&self) -> u64 {
        self.memory.iter().map(|(_, counts)| counts.sectors).sum()
    }
}

/// Traffic of some CTAs, and the sectors that they made dirty.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    pub(crate) traffic: PartTraffic,
    pub(crate) dirtied: u64,
}

/// Columns of local memory that leaves first-level caches, and of sectors that become dirty.
pub(super) const FIXED: usize = 4;

/// Counts of a [`MemoryCounts`], traffic apart.
pub(super) const COUNTS: usize = 8 + 2 * WIDER_BYTES.len();

/// Columns of traffic: [`RowTraffic`], and the hits and reads of unsure misses.
const TRAFFIC: usize = 6;

/// The place of each count in a list. A list may be shorter: the counts that it lacks are zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Columns {
    pub(super) blocks: usize,
    pub(super) guarded: usize,
    pub(super) branches: HashMap<u32, usize>,
    /// Rows of accesses, each with a row that has its space and kind.
    pub(super) memory: HashMap<u32, (usize, MemoryCounts<u64>)>,
    pub(super) products: HashMap<u32, usize>,
    columns: usize,
}

/// Adds to a place of a list, which grows if it has to.
fn add(list: &mut Vec<f64>, at: usize, count: f64) {
    if list.len() <= at {
        list.resize(at + 1, 0.0);
    }
    list[at] += count;
}

impl Columns {
    pub(crate) fn new(blocks: usize, guarded: usize) -> Self {
        let columns = FIXED + 2 * blocks + guarded;
        let (branches, memory, products) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { blocks, guarded, branches, memory, products, columns }
    }

    fn take(&mut self, columns: usize) -> usize {
        self.columns += columns;
        self.columns - columns
    }

    fn branch(&mut self, instruction: u32) -> usize {
        if let Some(&at) = self.branches.get(&instruction) {
            return at;
        }
        let at = self.take(2);
        self.branches.insert(instruction, at);
        at
    }

    fn product(&mut self, key: u32) -> usize {
        if let Some(&at) = self.products.get(&key) {
            return at;
        }
        let at = self.take(1);
        self.products.insert(key, at);
        at
    }

    fn memory(&mut self, key: u32, counts: &MemoryCounts<u64>) -> usize {
        if let Some(&(at, _)) = self.memory.get(&key) {
            return at;
        }
        let at = self.take(COUNTS + TRAFFIC);
        self.memory.insert(key, (at, *counts));
        at
    }

    /// The list of some counts, with their traffic if they went through caches.
    pub(crate) fn list(&mut self, sums: &Sums, moved: Option<&Moved>) -> Vec<f64> {
        let mut list = vec![0.0; FIXED + 2 * self.blocks + self.guarded];
        let mut at = FIXED;
        let mut push = |count: u64| {
            list[at] = count as f64;
            at += 1;
        };
        for BlockCount { warps, lanes } in &sums.blocks {
            push(*warps);
            push(*lanes);
        }
        sums.guarded_lanes.iter().for_each(|&lanes| push(lanes));
        for (instruction, counts) in sums.branches.iter() {
            let mut at = self.branch(instruction);
            BranchCounts::<u64>::default().zip(counts, &mut |_, count| {
                add(&mut list, at, count as f64);
                at += 1;
            });
        }
        for (key, counts) in sums.memory.iter() {
            let mut at = self.memory(key, counts);
            MemoryCounts::<u64>::default().zip(counts, &mut |_, count| {
                add(&mut list, at, count as f64);
                at += 1;
            });
        }
        for (key, &operations) in sums.products.iter() {
            let at = self.product(key);
            add(&mut list, at, operations as f64);
        }
        if let Some(moved) = moved {
            self.add_traffic(&mut list, sums, moved);
        }
        list
    }

    fn add_traffic(&self, list: &mut Vec<f64>, sums: &Sums, moved: &Moved) {
        let Moved { traffic, dirtied } = moved;
        let scale = Extrapolation::new(sums.sectors().into(), sums.left_out_sectors);
        let local = scale.total(traffic.l2).local;
        let fixed = [
            local.write_back_sectors,
            local.write_back_hit_sectors,
            local.dram_write_sectors,
            scale.scale(*dirtied),
        ];
        for (at, sectors) in fixed.into_iter().enumerate() {
            list[at] = sectors as f64;
        }
        let mut put = |key: u32, first: usize, sectors: &[u64]| {
            let Some(&(at, _)) = self.memory.get(&key) else { return };
            for (index, &sectors) in sectors.iter().enumerate() {
                add(list, at + COUNTS + first + index, sectors as f64);
            }
        };
        for (key, &moved) in traffic.rows.iter().filter(|(key, _)| *key < ROW_LIMIT) {
            let RowTraffic {
                l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors, ..
            } = scale.row(moved);
            put(key, 0, &[l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors]);
        }
        for (key, &unsure) in traffic.unsure.iter().filter(|(key, _)| *key < ROW_LIMIT) {
            let RowTraffic { l2_hit_sectors, dram_read_sectors, .. } = scale.row(unsure);
            put(key, 4, &[l2_hit_sectors, dram_read_sectors]);
        }
    }
}
