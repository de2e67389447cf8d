//! The levels of sectors where the recorded CTAs do not tell them, or tell them wrongly.
//!
//! A few CTAs may meet other contents of the caches than the mean of all. So the recorded levels of
//! each instruction are compared with its counts of the whole launch. Where they differ, whole
//! requests move from level to level until the means agree, evenly over the requests.

use std::collections::{BTreeMap, BTreeSet};

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::code::Space;
use gpucast_simulation::launch::Request;

use super::ClassTrace;
use super::choice::fraction;
use crate::table::BaseTable;

/// Relative difference of a level's share from which on levels are moved.
const TOLERANCE: f64 = 0.05;

/// Difference of a level's share of the sectors that is never worth it.
const NEGLIGIBLE: f64 = 0.005;

/// The accesses of an instruction to global or to local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LevelKey {
    instruction: u32,
    is_local: bool,
}

impl LevelKey {
    pub(super) fn new(instruction: u32, space: Space) -> Self {
        Self { instruction, is_local: space == Space::Local }
    }
}

/// Shares of the sectors by level: L1, L2, DRAM.
type Shares = [f64; 3];

/// The shares of each instruction's loads and updates over the whole launch.
pub(super) struct LaunchLevels {
    shares: BTreeMap<LevelKey, Shares>,
    /// Sectors that each level is behind with, by instruction.
    owed: BTreeMap<LevelKey, [f64; 3]>,
    /// Requests whose levels were drawn.
    pub(super) drawn: u64,
}

impl LaunchLevels {
    pub(super) fn new(table: &BaseTable) -> Self {
        let mut sums = BTreeMap::<LevelKey, [u64; 3]>::new();
        for row in &table.rows {
            for counts in row.memory.iter().filter(|counts| counts.kind != AccessKind::Store) {
                let is_local = match counts.space {
                    StateSpace::Local => true,
                    StateSpace::Global | StateSpace::Tex => false,
                    _ => continue,
                };
                let key = LevelKey { instruction: row.instruction, is_local };
                let traffic = counts.traffic.unwrap_or_default();
                let levels =
                    [traffic.l1_hit_sectors, traffic.l2_hit_sectors, traffic.dram_read_sectors];
                let sums = sums.entry(key).or_default();
                sums.iter_mut().zip(levels).for_each(|(sum, sectors)| *sum += sectors);
            }
        }
        let shares = sums
            .into_iter()
            .filter_map(|(key, sums)| Some((key, shares(sums.map(|sum| sum as f64))?)));
        Self { shares: shares.collect(), owed: BTreeMap::new(), drawn: 0 }
    }

    /// The levels of the next request of an instruction, all of its sectors at one of them. Without
    /// counts it is DRAM.
    pub(super) fn draw(&mut self, key: LevelKey, sectors: u64) -> [u64; 3] {
        self.drawn += 1;
        let shares = self.shares.get(&key).copied().unwrap_or([0.0, 0.0, 1.0]);
        let owed = self.owed.entry(key).or_default();
        let mut levels = [0; 3];
        levels[pay(owed, shares, sectors as f64)] = sectors;
        levels
    }

    /// Brings the levels of recorded requests to the shares of the launch where they differ.
    /// Returns the number of instructions whose requests changed.
    pub(super) fn apply(&self, classes: &mut [ClassTrace]) -> usize {
        let mut moves: BTreeMap<LevelKey, Moves> = recorded(classes)
            .into_iter()
            .filter_map(|(key, sums)| {
                let target = self.shares.get(&key)?;
                Some((key, Moves::new(key, shares(sums)?, *target)?))
            })
            .collect();
        for_each_run(classes, |key, _, requests| {
            if let Some(moves) = moves.get_mut(&key) {
                requests.iter_mut().for_each(|request| moves.apply(request));
            }
        });
        moves.keys().map(|key| key.instruction).collect::<BTreeSet<_>>().len()
    }
}

/// Adds `sectors` to what the levels are owed, by their shares. Returns the level that is owed most
/// and pays it.
fn pay(owed: &mut [f64; 3], shares: Shares, sectors: f64) -> usize {
    owed.iter_mut().zip(shares).for_each(|(owed, share)| *owed += share * sectors);
    // Levels of equal debt: the nearest.
    let most = (0..3).fold(0, |most, level| if owed[level] > owed[most] { level } else { most });
    owed[most] -= sectors;
    most
}

fn shares(sums: [f64; 3]) -> Option<Shares> {
    let all: f64 = sums.iter().sum();
    (all > 0.0).then(|| sums.map(|sum| sum / all))
}

/// Calls `f` with consecutive requests of the same instruction and space, global or local memory,
/// and the CTAs that each stands for.
fn for_each_run(classes: &mut [ClassTrace], mut f: impl FnMut(LevelKey, f64, &mut [Request])) {
    for class in classes {
        let weight = class.ctas as f64 / class.samples.len().max(1) as f64;
        for warp in class.samples.iter_mut().flat_map(|sample| &mut sample.warps) {
            for (&instruction, requests) in &mut warp.requests {
                for run in requests.chunk_by_mut(|one, next| one.space == next.space) {
                    let space = run.first().map(|one| one.space);
                    if let Some(space @ (Space::Global | Space::Local)) = space {
                        f(LevelKey::new(instruction, space), weight, run);
                    }
                }
            }
        }
    }
}

/// Sectors by level of the recorded requests, each times the CTAs that it stands for.
fn recorded(classes: &mut [ClassTrace]) -> BTreeMap<LevelKey, [f64; 3]> {
    let mut sums = BTreeMap::<LevelKey, [f64; 3]>::new();
    for_each_run(classes, |key, weight, requests| {
        let sums = sums.entry(key).or_default();
        for request in requests {
            let sectors = [request.l1_sectors, request.l2_sectors, request.dram_sectors];
            let weighted = sectors.map(|sectors| weight * f64::from(sectors));
            sums.iter_mut().zip(weighted).for_each(|(sum, one)| *sum += one);
        }
    });
    sums
}

/// Moves sectors of an instruction's requests between levels.
struct Moves {
    /// The part of each level's sectors that goes elsewhere.
    leaving: [f64; 3],
    /// The shares of what leaves that each level gets.
    arriving: Shares,
    /// Sectors of each level that should have left so far and did not.
    due: [f64; 3],
    /// Sectors that each level should have got so far and did not.
    owed: [f64; 3],
    /// The part of a request by which the first move is put off, so that not all instructions
    /// choose the same warps.
    phase: f64,
}

impl Moves {
    /// The moves from the recorded shares to those of the launch, if they are worth it.
    fn new(key: LevelKey, recorded: Shares, launch: Shares) -> Option<Self> {
        let differs = |(recorded, launch): (&f64, &f64)| {
            (recorded - launch).abs() > (TOLERANCE * launch).max(NEGLIGIBLE)
        };
        if !recorded.iter().zip(&launch).any(differs) {
            return None;
        }
        let level = |level: usize| (recorded[level] - launch[level]).max(0.0) / recorded[level];
        let leaving = [0, 1, 2].map(level).map(|part| if part.is_finite() { part } else { 0.0 });
        let arriving = [0, 1, 2].map(|level| (launch[level] - recorded[level]).max(0.0));
        Some(Self {
            leaving,
            arriving: shares(arriving)?,
            due: [0.0; 3],
            owed: [0.0; 3],
            phase: fraction(key.instruction.into()),
        })
    }

    fn apply(&mut self, request: &mut Request) {
        let levels = [&mut request.l1_sectors, &mut request.l2_sectors, &mut request.dram_sectors];
        let mut sectors = levels.map(|level| *level);
        let before = sectors;
        for level in 0..3 {
            let there = f64::from(before[level]);
            self.due[level] += self.leaving[level] * there;
            // Debts lie between 0 and a request: they begin anywhere in between.
            if before[level] > 0 && self.due[level] > there * self.phase {
                self.due[level] -= there;
                let to = pay(&mut self.owed, self.arriving, there);
                sectors[level] -= before[level];
                sectors[to] = sectors[to].saturating_add(before[level]);
            }
        }
        [request.l1_sectors, request.l2_sectors, request.dram_sectors] = sectors;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::{CtaRecord, WarpRecord};

    const KEY: LevelKey = LevelKey { instruction: 3, is_local: false };

    fn launch(shares: Shares) -> LaunchLevels {
        LaunchLevels { shares: [(KEY, shares)].into(), owed: BTreeMap::new(), drawn: 0 }
    }

    fn request([l1_sectors, l2_sectors, dram_sectors]: [u16; 3]) -> Request {
        Request { l1_sectors, l2_sectors, dram_sectors, ..Request::global(0, 0, 4) }
    }

    fn sectors(request: &Request) -> [u16; 3] {
        [request.l1_sectors, request.l2_sectors, request.dram_sectors]
    }

    fn sums<'a>(requests: impl IntoIterator<Item = &'a [u16; 3]>) -> [f64; 3] {
        requests.into_iter().fold([0.0; 3], |sums, levels| {
            std::array::from_fn(|level| sums[level] + f64::from(levels[level]))
        })
    }

    #[test]
    fn drawn_requests_are_whole_and_meet_the_shares() {
        let mut levels = launch([0.5, 0.25, 0.25]);
        let drawn: Vec<_> = (0..8).map(|_| levels.draw(KEY, 4).map(|one| one as u16)).collect();
        assert_eq!(sums(&drawn), [16.0, 8.0, 8.0]);
        assert!(drawn.iter().all(|levels| levels.contains(&4)));
        let unknown = LevelKey { instruction: 4, is_local: false };
        assert_eq!((levels.draw(unknown, 7), levels.drawn), ([0, 0, 7], 9));
    }

    proptest! {
        #[test]
        fn moved_requests_keep_their_sectors_and_meet_the_shares(
            before in prop::collection::vec([0_u16..9, 0_u16..9, 0_u16..9], 1..300),
            target in [0_u32..9, 0_u32..9, 1_u32..9],
        ) {
            let all = sums(&before).iter().sum::<f64>();
            let target = shares(target.map(f64::from)).unwrap();
            let requests: Vec<_> = before.iter().copied().map(request).collect();
            let requests = [(KEY.instruction, requests)].into();
            let warps = vec![WarpRecord { requests, ..WarpRecord::default() }];
            let samples = vec![CtaRecord { cta: 0, warps }];
            let mut classes = [ClassTrace { ctas: 9, warp_instructions: 1, samples }];
            let moved = launch(target).apply(&mut classes);
            let requests = &classes[0].samples[0].warps[0].requests[&KEY.instruction];
            let after: Vec<_> = requests.iter().map(sectors).collect();
            for (before, after) in before.iter().zip(&after) {
                prop_assert_eq!(before.iter().sum::<u16>(), after.iter().sum::<u16>());
            }
            for (sum, share) in sums(&after).into_iter().zip(target) {
                // Each level owes at most a request or two to each other.
                let close = (sum - share * all).abs() <= 32.0;
                let tolerance = (TOLERANCE * share).max(NEGLIGIBLE);
                let is_tolerated = moved == 0 && (sum / all - share).abs() <= tolerance;
                prop_assert!(all == 0.0 || close || is_tolerated, "{sum} {}", share * all);
            }
        }
    }
}
