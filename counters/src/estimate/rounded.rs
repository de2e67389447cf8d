//! Whole numbers of an estimate.
//!
//! Some counts are parts of others: the lanes of a block are at most 32 for each of its warps, and
//! hits are at most the sectors. Rounded one by one they would not be. So one count of a family is
//! rounded, and the others have their ratio to it. Ratios that are whole stay what they are.

use super::Unsure;
use super::columns::{COUNTS, Columns, FIXED};
use super::ended::Ended;
use crate::code::Code;
use crate::counts::{BlockCount, BranchCounts, MemoryCounts, WiderPasses};
use crate::hierarchy::{L2Traffic, LocalTraffic, RowTraffic};
use crate::row_key::RowKey;
use crate::sparse::SparseRows;
use crate::tensor::ProductCounts;

/// Counts of a launch, as tables are made of them.
pub(crate) struct Counts {
    pub(crate) blocks: Vec<BlockCount>,
    pub(crate) guarded_lanes: Vec<u128>,
    pub(crate) branches: SparseRows<BranchCounts>,
    pub(crate) memory: SparseRows<MemoryCounts>,
    pub(crate) products: SparseRows<u128>,
    pub(crate) l2: L2Traffic,
}

/// An estimate, and the whole number that stands for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rounded {
    real: f64,
    whole: f64,
}

impl Rounded {
    fn of(real: f64) -> Self {
        Self { real, whole: real.round().max(0.0) }
    }

    /// A count in its ratio to this one. Without any of this one, it is rounded by itself.
    fn part(self, real: f64) -> Self {
        if self.real <= 0.0 {
            return Self::of(real);
        }
        // A whole ratio is divided without an error, and stays whole.
        Self { real, whole: (real / self.real * self.whole).round().max(0.0) }
    }

    fn count(self) -> u128 {
        self.whole as u128
    }

    fn sectors(self) -> u64 {
        self.whole as u64
    }
}

/// A list of counts at their places.
struct List<'a>(&'a [f64]);

impl List<'_> {
    fn at(&self, place: usize) -> f64 {
        self.0.get(place).copied().unwrap_or_default()
    }
}

impl Columns {
    /// The counts of a list for an answer to what is unsure. With caches, `ended` says what is left
    /// dirty.
    pub(crate) fn counts(
        &self,
        code: &Code,
        list: &[f64],
        ended: Option<&Ended>,
        unsure: Unsure,
    ) -> Counts {
        let list = List(list);
        let warps: Vec<Rounded> =
            (0..self.blocks).map(|block| Rounded::of(list.at(FIXED + 2 * block))).collect();
        let lanes: Vec<Rounded> = (warps.iter().enumerate())
            .map(|(block, warps)| warps.part(list.at(FIXED + 2 * block + 1)))
            .collect();
        // Instructions are executed with their block.
        let mut block_of = vec![usize::MAX; code.instructions.len()];
        for (block, &(first, count)) in code.blocks.iter().enumerate() {
            let of_block = block_of.iter_mut().skip(first as usize).take(count as usize);
            of_block.for_each(|place| *place = block);
        }
        let of_block = |of: &[Rounded], instruction: u32, real: f64| {
            let block = block_of.get(instruction as usize).and_then(|&block| of.get(block));
            block.map_or(Rounded::of(real), |whole| whole.part(real))
        };
        let guarded = FIXED + 2 * self.blocks;
        let guarded_lanes = (0..self.guarded).map(|at| {
            let real = list.at(guarded + at);
            let instruction = code.guarded.get(at).copied();
            instruction
                .map_or(Rounded::of(real), |instruction| of_block(&lanes, instruction, real))
                .count()
        });
        let guarded_lanes = guarded_lanes.collect();
        let block = |(warps, lanes): (&Rounded, &Rounded)| BlockCount {
            warps: warps.count(),
            lanes: lanes.count(),
        };
        let mut counts = Counts {
            blocks: warps.iter().zip(&lanes).map(block).collect(),
            guarded_lanes,
            branches: SparseRows::new(0),
            memory: SparseRows::new(0),
            products: SparseRows::new(0),
            l2: L2Traffic::default(),
        };
        for (&key, &at) in &self.products {
            let instruction = ProductCounts::instruction_of(key);
            *counts.products.row(key) = of_block(&warps, instruction, list.at(at)).count();
        }
        for (&instruction, &at) in &self.branches {
            *counts.branches.row(instruction) = BranchCounts {
                taken_lanes: of_block(&lanes, instruction, list.at(at)).count(),
                divergent: of_block(&warps, instruction, list.at(at + 1)).count(),
            };
        }
        for (&key, &(at, kind)) in &self.memory {
            let instruction = RowKey::of_index(key).instruction();
            let mut real = MemoryCounts::<f64> { space: kind.space, ..Default::default() };
            let mut next = at;
            real.zip(&kind, &mut |total, _| {
                *total = list.at(next);
                next += 1;
            });
            let requests = of_block(&warps, instruction, real.requests);
            let sectors = requests.part(real.sectors);
            let mut row = memory(&real, requests, sectors);
            row.traffic = ended.map(|_| {
                let traffic = traffic(&list, at + COUNTS, sectors, unsure.hits);
                counts.l2.add_row(row.kind, &traffic);
                traffic
            });
            *counts.memory.row(key) = row;
        }
        if let Some(ended) = ended {
            let written = Rounded::of(list.at(0));
            let local = LocalTraffic {
                write_back_sectors: written.sectors(),
                write_back_hit_sectors: written.part(list.at(1)).sectors(),
                dram_write_sectors: Rounded::of(list.at(2)).sectors(),
                dirty_sectors: 0,
            };
            counts.l2.write_sectors += local.write_back_sectors;
            counts.l2.write_hit_sectors += local.write_back_hit_sectors;
            ended.balance(list.at(3), unsure.written, &mut counts.l2);
            let dram_write_sectors = local.dram_write_sectors.min(counts.l2.dram_write_sectors);
            counts.l2.local = LocalTraffic { dram_write_sectors, ..local };
        }
        counts
    }
}

/// The counts of a row of accesses, whose requests and sectors are known.
fn memory(real: &MemoryCounts<f64>, requests: Rounded, sectors: Rounded) -> MemoryCounts {
    let passes = requests.part(real.passes);
    // Efficiencies compare bytes with sectors, or with passes where nothing moves.
    let moved = if sectors.real > 0.0 {
        sectors
    } else if passes.real > 0.0 {
        passes
    } else {
        requests
    };
    MemoryCounts {
        space: real.space,
        kind: real.kind,
        requests: requests.count(),
        requested_bytes: moved.part(real.requested_bytes).count(),
        sectors: sectors.count(),
        ideal_sectors: sectors.part(real.ideal_sectors).count(),
        transactions: requests.part(real.transactions).count(),
        passes: passes.count(),
        conflict_free: passes.part(real.conflict_free).count(),
        update_steps: requests.part(real.update_steps).count(),
        wider: real.wider.map(|wider| {
            let passes = requests.part(wider.passes);
            WiderPasses {
                passes: passes.count(),
                conflict_free: passes.part(wider.conflict_free).count(),
            }
        }),
        traffic: None,
    }
}

/// The traffic of a row whose columns begin `at` a place: hits of a cache are a part of the sectors
/// that reach it.
fn traffic(list: &List<'_>, at: usize, sectors: Rounded, hits: f64) -> RowTraffic {
    let l2 = sectors.part(list.at(at + 1));
    let [of_hits, of_reads] = [list.at(at + 4), list.at(at + 5)];
    RowTraffic {
        l1_hit_sectors: sectors.part(list.at(at)).sectors(),
        l2_sectors: l2.sectors(),
        l2_hit_sectors: l2.part(list.at(at + 2) + hits * of_hits).sectors(),
        dram_read_sectors: l2.part(list.at(at + 3) - hits * of_reads).sectors(),
        ..RowTraffic::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 127.3 warps with 32 lanes each are not 127 warps with 4074 lanes, nor 4073.6.
    #[test]
    fn whole_ratios_stay_and_parts_are_no_more_than_the_whole() {
        for warps in [0.2, 0.5, 127.3, 127.5, 127.7, 1e9 + 0.4] {
            let rounded = Rounded::of(warps);
            assert_eq!(rounded.part(32.0 * warps).count(), 32 * rounded.count(), "{warps}");
            assert_eq!(rounded.part(3.0 * warps).count(), 3 * rounded.count(), "{warps}");
            assert!(rounded.part(0.999 * warps).count() <= rounded.count(), "{warps}");
        }
        assert_eq!(Rounded::of(0.0).part(2.6).count(), 3);
        assert_eq!(Rounded::of(-1e-9).count(), 0);
    }
}
