//! The levels of sectors where the recorded CTAs do not tell them, or tell them wrongly.
//!
//! A few CTAs may meet other contents of the caches than the mean of all. So the recorded levels of
//! each instruction are compared with its counts of the whole launch. Where they differ, whole
//! requests move from level to level until the means agree, evenly over the requests.
//!
//! Recorded CTAs of a class differ from one another, too: the first one to ask for a sector misses,
//! and the others hit. Which one that is says the order of the replay, and no GPU keeps it. An SM
//! with one CTA simulates the first record alone, which would miss for all. So each record gets the
//! share of its class.

use std::collections::{BTreeMap, BTreeSet};

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::code::Space;
use gpucast_simulation::launch::Request;

use super::choice::fraction;
use super::{ClassTrace, CtaRecord};
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

/// Places of the L2 and of DRAM among the levels.
const L2: usize = 1;
const DRAM: usize = 2;

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

    /// Brings the levels of recorded requests to the shares of the launch where they differ, and
    /// then those of each record to the share of its class. Returns the number of instructions
    /// whose shares over all records changed.
    pub(super) fn apply(&self, classes: &mut [ClassTrace]) -> usize {
        let moved = self.meet_launch(classes);
        classes.iter_mut().for_each(share_out);
        moved
    }

    /// Brings the recorded levels of all CTAs together to the shares of the launch. Returns the
    /// number of instructions whose requests changed.
    fn meet_launch(&self, classes: &mut [ClassTrace]) -> usize {
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

/// Gives each recorded CTA of a class the share of all of them in what DRAM serves of the misses of
/// the L1. What whole requests leave over goes to the next one, so that any number of first CTAs
/// has the share, too. Hits of the L1 stay: the CTAs of an SM have them from one another.
///
/// A request that gives a miss away still waits for it: a CTA in step with this one has asked DRAM
/// for the sectors.
fn share_out(class: &mut ClassTrace) {
    if class.samples.len() < 2 {
        return;
    }
    let missed = |[_, l2, dram]: [f64; 3]| [0.0, l2, dram];
    let targets: BTreeMap<LevelKey, Shares> = recorded(std::slice::from_mut(class))
        .into_iter()
        .filter_map(|(key, sums)| Some((key, shares(missed(sums))?)))
        .collect();
    let mut carried = BTreeMap::<LevelKey, [f64; 3]>::new();
    for sample in &mut class.samples {
        let mut moves = BTreeMap::new();
        for (key, sums) in recorded_of(sample) {
            let sums = missed(sums);
            let Some(target) = targets.get(&key) else { continue };
            let carried = carried.entry(key).or_default();
            let all: f64 = sums.iter().sum();
            for level in 0..3 {
                carried[level] += target[level] * all;
            }
            let wanted = shares(carried.map(|sectors| sectors.max(0.0)));
            let found = shares(sums).zip(wanted);
            moves.extend(found.and_then(|(of_sample, wanted)| {
                Some((key, Moves { waits: true, ..Moves::new(key, of_sample, wanted)? }))
            }));
            for level in 0..3 {
                carried[level] -= sums[level];
            }
        }
        for_each_run_of(sample, |key, requests| {
            if let Some(moves) = moves.get_mut(&key) {
                requests.iter_mut().for_each(|request| moves.apply(request));
            }
        });
        for (key, Moves { gained, .. }) in moves {
            let carried = carried.entry(key).or_default();
            carried.iter_mut().zip(gained).for_each(|(carried, gained)| *carried -= gained);
        }
    }
}

/// Calls `f` with consecutive requests of the same instruction and space, global or local memory,
/// and the CTAs that each stands for.
fn for_each_run(classes: &mut [ClassTrace], mut f: impl FnMut(LevelKey, f64, &mut [Request])) {
    for class in classes {
        let weight = class.ctas as f64 / class.samples.len().max(1) as f64;
        for sample in &mut class.samples {
            for_each_run_of(sample, |key, run| f(key, weight, run));
        }
    }
}

/// Calls `f` with consecutive requests of a CTA of the same instruction and space, global or local
/// memory.
fn for_each_run_of(sample: &mut CtaRecord, mut f: impl FnMut(LevelKey, &mut [Request])) {
    for warp in &mut sample.warps {
        for (&instruction, requests) in &mut warp.requests {
            for run in requests.chunk_by_mut(|one, next| one.space == next.space) {
                let space = run.first().map(|request| request.space);
                if let Some(space @ (Space::Global | Space::Local)) = space {
                    f(LevelKey::new(instruction, space), run);
                }
            }
        }
    }
}

/// Sectors by level of the recorded requests, each times the CTAs that it stands for.
fn recorded(classes: &mut [ClassTrace]) -> BTreeMap<LevelKey, [f64; 3]> {
    let mut sums = BTreeMap::<LevelKey, [f64; 3]>::new();
    for_each_run(classes, |key, weight, requests| {
        add_sectors(sums.entry(key).or_default(), weight, requests);
    });
    sums
}

/// Sectors by level of the requests of a CTA.
fn recorded_of(sample: &mut CtaRecord) -> BTreeMap<LevelKey, [f64; 3]> {
    let mut sums = BTreeMap::<LevelKey, [f64; 3]>::new();
    for_each_run_of(sample, |key, requests| {
        add_sectors(sums.entry(key).or_default(), 1.0, requests);
    });
    sums
}

/// Adds the sectors of requests by level, each `weight` times.
fn add_sectors(sums: &mut [f64; 3], weight: f64, requests: &[Request]) {
    for request in requests {
        let sectors = [request.l1_sectors, request.l2_sectors, request.dram_sectors];
        let weighted = sectors.map(|sectors| weight * f64::from(sectors));
        sums.iter_mut().zip(weighted).for_each(|(sum, one)| *sum += one);
    }
}

/// Moves sectors of an instruction's requests between levels.
struct Moves {
    /// The part of each level's sectors that goes elsewhere.
    leaving: [f64; 3],
    /// The shares of what leaves that each level gets.
    arriving: Shares,
    /// True if requests wait for the misses that they give away.
    waits: bool,
    /// Sectors that each level has got, less those that have left it.
    gained: [f64; 3],
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
            waits: false,
            gained: [0.0; 3],
            due: [0.0; 3],
            owed: [0.0; 3],
            phase: fraction(key.instruction.into()),
        })
    }

    fn apply(&mut self, request: &mut Request) {
        let before = [request.l1_sectors, request.l2_sectors, request.dram_sectors];
        let mut sectors = before;
        for level in 0..3 {
            let there = f64::from(before[level]);
            self.due[level] += self.leaving[level] * there;
            // Debts lie between 0 and a request: they begin anywhere in between.
            if before[level] > 0 && self.due[level] > there * self.phase {
                self.due[level] -= there;
                let to = pay(&mut self.owed, self.arriving, there);
                sectors[level] -= before[level];
                sectors[to] = sectors[to].saturating_add(before[level]);
                self.gained[level] -= there;
                self.gained[to] += there;
                if self.waits && (level, to) == (DRAM, L2) {
                    request.fetched_ago = Some(0);
                }
            }
        }
        [request.l1_sectors, request.l2_sectors, request.dram_sectors] = sectors;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::WarpRecord;

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
        let drawn: Vec<_> = (0..8).map(|_| levels.draw(KEY, 4).map(|level| level as u16)).collect();
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

    proptest! {
        #[test]
        fn first_records_have_the_share_of_their_class(
            before in prop::collection::vec(
                prop::collection::vec([0_u16..9, 0_u16..9, 0_u16..9], 1..60),
                2..12,
            ),
        ) {
            let missed = |levels: [f64; 3]| [0.0, levels[L2], levels[DRAM]];
            let all = shares(missed(sums(before.iter().flatten()))).unwrap_or_default();
            let sample = |of_cta: &Vec<[u16; 3]>| {
                let requests = of_cta.iter().copied().map(request).collect();
                let requests = [(KEY.instruction, requests)].into();
                CtaRecord { cta: 0, warps: vec![WarpRecord { requests, ..WarpRecord::default() }] }
            };
            let samples = before.iter().map(sample).collect();
            let mut class = ClassTrace { ctas: 99, warp_instructions: 1, samples };
            share_out(&mut class);
            let (mut of_first, mut sectors) = ([0.0; 3], 0.0);
            for (sample, before) in class.samples.iter().zip(&before) {
                let after: Vec<_> = sample.warps[0].requests[&KEY.instruction]
                    .iter()
                    .map(super::tests::sectors)
                    .collect();
                let (before, after) = (sums(before), sums(&after));
                prop_assert_eq!(before[0], after[0]);
                let (before, after) = (missed(before), missed(after));
                prop_assert_eq!(before.iter().sum::<f64>(), after.iter().sum::<f64>());
                sectors += before.iter().sum::<f64>();
                of_first.iter_mut().zip(after).for_each(|(sum, one)| *sum += one);
                for (sum, share) in of_first.into_iter().zip(all) {
                    let tolerated = (TOLERANCE * share).max(NEGLIGIBLE) * sectors;
                    // Each level owes at most a request or two to each other.
                    let most = tolerated.max(40.0);
                    prop_assert!((sum - share * sectors).abs() <= most, "{of_first:?} of {all:?}");
                }
            }
        }
    }

    #[test]
    fn the_first_record_misses_no_more_than_the_others_and_waits_as_long() {
        let sample = |misses: usize| {
            let of_place = |at| request(if at < misses { [0, 0, 4] } else { [0, 4, 0] });
            let requests = [(KEY.instruction, (0..64).map(of_place).collect())].into();
            CtaRecord { cta: 0, warps: vec![WarpRecord { requests, ..WarpRecord::default() }] }
        };
        let mut class = ClassTrace {
            ctas: 4,
            warp_instructions: 1,
            samples: vec![sample(64), sample(0), sample(0), sample(0)],
        };
        share_out(&mut class);
        for (place, sample) in class.samples.iter().enumerate() {
            let requests = &sample.warps[0].requests[&KEY.instruction];
            let misses = requests.iter().filter(|request| request.dram_sectors > 0).count();
            assert!((15..=17).contains(&misses), "{place}: {misses}");
            let waits = requests.iter().filter(|request| request.fetched_ago.is_some()).count();
            assert_eq!(waits, if place == 0 { 64 - misses } else { 0 });
        }
    }
}
