//! Chooses the way of a set to evict, under any replacement policy.

use std::hash::{Hash as _, Hasher};

use super::prefetch::prefetch;
use super::replacement::{DuelsFor, Insertion, Newcomer, Rank, Replacement};

/// Sets between two that are set aside for the same policy of a duel (Qureshi et al. 2007 take
/// 32 leaders of each kind for 1024 sets).
const DUEL_PERIOD: usize = 32;

/// The limit of a duel's selector: the ten bits of the paper.
const SELECTOR_LIMIT: i32 = 512;

/// The state that finds victims among the ways of a cache, or of one slice of it.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    ways: usize,
    memory: Memory,
    welcome: Welcome,
    random: u64,
}

/// The state of each way.
#[derive(Clone, Debug)]
enum Memory {
    LastUse(Uses),
    AnyButLast(Uses),
    Prediction(Predictions),
    Referenced(Vec<bool>),
    Nothing,
}

impl Ranks {
    /// The state of `sets` sets of `ways` ways that hold nothing.
    pub(crate) fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        Self {
            ways,
            memory: match replacement.rank() {
                Rank::LastUse => Memory::LastUse(Uses::new(sets, ways)),
                Rank::AnyButLast => Memory::AnyButLast(Uses::new(sets, ways)),
                Rank::Prediction => Memory::Prediction(Predictions::new(sets, ways)),
                Rank::Referenced => Memory::Referenced(vec![false; sets * ways]),
                Rank::Nothing => Memory::Nothing,
            },
            welcome: Welcome {
                insertion: replacement.insertion(),
                duels_for: replacement.duels_for(),
                misses: vec![0; sets],
                selector: 0,
            },
            random: replacement.seed(),
        }
    }

    /// Feeds `hasher` with everything that later victims depend on.
    pub(crate) fn hash(&self, hasher: &mut impl Hasher) {
        match &self.memory {
            Memory::LastUse(uses) | Memory::AnyButLast(uses) => uses.hash(hasher),
            Memory::Prediction(predictions) => predictions.words.hash(hasher),
            Memory::Referenced(referenced) => referenced.hash(hasher),
            Memory::Nothing => {}
        }
        self.welcome.misses.hash(hasher);
        (self.welcome.selector, self.random).hash(hasher);
    }

    /// Forgets the line that a way held.
    pub(crate) fn forget(&mut self, set: usize, way: usize) {
        match &mut self.memory {
            Memory::LastUse(uses) | Memory::AnyButLast(uses) => uses.forget(set, way),
            Memory::Prediction(predictions) => predictions.set(set, way, Interval::Near),
            Memory::Referenced(referenced) => referenced[set * self.ways + way] = false,
            Memory::Nothing => {}
        }
    }

    /// A way holds a line that gives way before all others.
    pub(crate) fn expect_last(&mut self, set: usize, way: usize) {
        match &mut self.memory {
            Memory::Prediction(predictions) => predictions.set(set, way, Interval::Distant),
            Memory::LastUse(_)
            | Memory::AnyButLast(_)
            | Memory::Referenced(_)
            | Memory::Nothing => {
                self.forget(set, way);
            }
        }
    }

    /// A way was used again.
    #[inline]
    pub(crate) fn reuse(&mut self, set: usize, way: usize) {
        match &mut self.memory {
            Memory::LastUse(uses) | Memory::AnyButLast(uses) => uses.record(set, way),
            Memory::Prediction(predictions) => predictions.set(set, way, Interval::Near),
            Memory::Referenced(referenced) => refer(referenced, set, way, self.ways),
            Memory::Nothing => {}
        }
    }

    /// As [`Ranks::reuse`], of the way at a place: all ways are numbered together, set by set.
    #[inline]
    pub(crate) fn reuse_at(&mut self, place: usize) {
        match &mut self.memory {
            Memory::LastUse(uses) | Memory::AnyButLast(uses) => uses.record_at(place),
            _ => self.reuse(place / self.ways, place % self.ways),
        }
    }

    /// Asks for the data that [`Ranks::admit`] will look at.
    #[inline]
    pub(crate) fn prefetch(&self, set: usize) {
        if let Memory::Prediction(Predictions { words, words_per_set, .. }) = &self.memory {
            prefetch(words, set * words_per_set);
        }
    }

    /// Steps by which the predicted intervals of a set's lines have grown so far; 0 under policies
    /// without predictions.
    #[inline]
    pub(crate) fn age(&self, set: usize) -> u32 {
        match &self.memory {
            Memory::Prediction(predictions) => predictions.ages[set],
            Memory::LastUse(_)
            | Memory::AnyButLast(_)
            | Memory::Referenced(_)
            | Memory::Nothing => 0,
        }
    }

    /// The insertion that a set always uses, if it is one of those that decide a duel.
    pub(crate) fn duellist(&self, set: usize) -> Option<Duellist> {
        match self.welcome.insertion {
            Insertion::Dueling(_) => self.welcome.duellist(set),
            Insertion::Always | Insertion::Rarely(_) => None,
        }
    }

    /// A guess at the next victim of a set.
    #[inline]
    pub(crate) fn likely_victim(&self, set: usize) -> usize {
        match &self.memory {
            Memory::Prediction(predictions) => {
                let word = predictions.first_word(set);
                let ways = if word.distant() != 0 { word.distant() } else { word.high };
                ways.trailing_zeros() as usize % 64
            }
            Memory::LastUse(_)
            | Memory::AnyButLast(_)
            | Memory::Referenced(_)
            | Memory::Nothing => 0,
        }
    }

    /// Finds the way for a new line of `set`, which is `empty` if a way is.
    #[inline(always)]
    pub(crate) fn admit(&mut self, set: usize, empty: Option<usize>, newcomer: Newcomer) -> usize {
        // Caches of the second level predict, as a rule; this much is worth a place in their loop.
        if let Memory::Prediction(predictions) = &mut self.memory {
            let is_welcome = self.welcome.is_welcome(set, newcomer);
            let interval = if is_welcome { Interval::Long } else { Interval::Distant };
            predictions.admit(set, empty, interval)
        } else {
            self.admit_without_prediction(set, empty, newcomer)
        }
    }

    fn admit_without_prediction(
        &mut self,
        set: usize,
        empty: Option<usize>,
        newcomer: Newcomer,
    ) -> usize {
        let Self { ways, memory, welcome, random } = self;
        let way = empty.unwrap_or_else(|| match memory {
            Memory::LastUse(uses) => uses.first(set),
            Memory::AnyButLast(_) if *ways == 1 => 0,
            Memory::AnyButLast(uses) => {
                let drawn = draw(random, *ways - 1);
                drawn + usize::from(drawn >= uses.last(set))
            }
            Memory::Referenced(referenced) => {
                let of_set = &referenced[set * *ways..(set + 1) * *ways];
                of_set.iter().position(|&referenced| !referenced).unwrap_or(0)
            }
            Memory::Nothing | Memory::Prediction(_) => draw(random, *ways),
        });
        match memory {
            // An empty way is not a victim: a recency list fills up first. Predictions do not
            // care, as in the paper.
            Memory::LastUse(uses) if empty.is_none() && !welcome.is_welcome(set, newcomer) => {
                uses.forget(set, way);
            }
            Memory::LastUse(uses) | Memory::AnyButLast(uses) => uses.record(set, way),
            Memory::Referenced(referenced) => refer(referenced, set, way, *ways),
            Memory::Nothing | Memory::Prediction(_) => {}
        }
        way
    }
}

/// One of the two insertions that a duel is between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duellist {
    Plain,
    Bimodal,
}

/// The state that decides where new lines are inserted.
#[derive(Clone, Debug)]
struct Welcome {
    insertion: Insertion,
    duels_for: DuelsFor,
    /// Misses of each full set, modulo the period of a bimodal insertion.
    misses: Vec<u32>,
    /// Above 0 where plain insertion has missed more often than bimodal insertion.
    selector: i32,
}

impl Welcome {
    /// Returns true if a new line of `set` gets the better of two places.
    #[inline(always)]
    fn is_welcome(&mut self, set: usize, newcomer: Newcomer) -> bool {
        if self.duels_for == DuelsFor::AllButSectorLoads && newcomer == Newcomer::SectorLoad {
            return true;
        }
        let every = match self.insertion {
            Insertion::Always => return true,
            Insertion::Rarely(every) => every,
            Insertion::Dueling(every) => {
                if self.inserts_plainly(set) {
                    return true;
                }
                every
            }
        };
        let misses = &mut self.misses[set];
        *misses = if *misses + 1 == every { 0 } else { *misses + 1 };
        *misses == 0
    }

    /// Returns true if a miss of `set` uses plain insertion: sets that are set aside vote, all
    /// others follow.
    #[inline]
    fn inserts_plainly(&mut self, set: usize) -> bool {
        match self.duellist(set) {
            Some(Duellist::Plain) => {
                self.selector = (self.selector + 1).min(SELECTOR_LIMIT - 1);
                true
            }
            Some(Duellist::Bimodal) => {
                self.selector = (self.selector - 1).max(-SELECTOR_LIMIT);
                false
            }
            None => self.selector <= 0,
        }
    }

    #[inline]
    fn duellist(&self, set: usize) -> Option<Duellist> {
        let sets = self.misses.len();
        let (place, period) =
            if sets < DUEL_PERIOD { (set, sets) } else { (set % DUEL_PERIOD, DUEL_PERIOD) };
        if place == 0 {
            Some(Duellist::Plain)
        } else if place == period / 2 {
            Some(Duellist::Bimodal)
        } else {
            None
        }
    }
}

/// The times at which each way was used.
#[derive(Clone, Debug)]
struct Uses {
    ways: usize,
    /// The number of the last use of each line; 0 of those that were not used.
    times: Vec<u64>,
    /// Uses so far.
    uses: u64,
}

impl Uses {
    fn new(sets: usize, ways: usize) -> Self {
        Self { ways, times: vec![0; sets * ways], uses: 0 }
    }

    /// Victims depend on the order of a set's uses, not on their times.
    fn hash(&self, hasher: &mut impl Hasher) {
        for times in self.times.chunks_exact(self.ways) {
            for time in times {
                times.iter().filter(|other| *other < time).count().hash(hasher);
            }
        }
    }

    #[inline]
    fn record(&mut self, set: usize, way: usize) {
        self.record_at(set * self.ways + way);
    }

    #[inline]
    fn record_at(&mut self, place: usize) {
        self.uses += 1;
        self.times[place] = self.uses;
    }

    /// As if the way had never been used.
    fn forget(&mut self, set: usize, way: usize) {
        self.times[set * self.ways + way] = 0;
    }

    /// The way that was not used for longest; the first of those that were not used.
    #[inline]
    fn first(&self, set: usize) -> usize {
        let (mut least, mut first) = (u64::MAX, 0);
        for (way, &time) in self.of_set(set).iter().enumerate() {
            (least, first) = if time < least { (time, way) } else { (least, first) };
        }
        first
    }

    /// The way that was used last.
    #[inline]
    fn last(&self, set: usize) -> usize {
        let (mut greatest, mut last) = (0, 0);
        for (way, &time) in self.of_set(set).iter().enumerate() {
            (greatest, last) = if time > greatest { (time, way) } else { (greatest, last) };
        }
        last
    }

    #[inline]
    fn of_set(&self, set: usize) -> &[u64] {
        &self.times[set * self.ways..(set + 1) * self.ways]
    }
}

/// The re-reference interval that two bits predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interval {
    Near = 0,
    Long = 2,
    Distant = 3,
}

/// The predicted re-reference intervals of all lines, a word of lower and a word of upper bits
/// for 64 ways.
#[derive(Clone, Debug)]
struct Predictions {
    words_per_set: usize,
    /// The ways of a set's last word.
    last_word: u64,
    words: Vec<Intervals>,
    /// Steps by which the intervals of each set have grown so far; it wraps.
    ages: Vec<u32>,
}

/// Places that are no ways have no bits.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Intervals {
    low: u64,
    high: u64,
}

impl Intervals {
    #[inline]
    fn set(&mut self, way: usize, interval: Interval) {
        let (way, bits) = (1 << way, interval as u64);
        self.low = self.low & !way | mask(bits & 1 != 0) & way;
        self.high = self.high & !way | mask(bits & 2 != 0) & way;
    }

    /// The ways that are expected last.
    #[inline]
    fn distant(self) -> u64 {
        self.low & self.high
    }

    /// The interval that all of its places have, in steps.
    #[inline]
    fn steps(self) -> u32 {
        (self.low & 1) as u32 + 2 * (self.high & 1) as u32
    }

    #[inline]
    fn grow(&mut self, growth: Self, ways: u64) {
        self.high ^= (self.low & growth.low ^ growth.high) & ways;
        self.low ^= growth.low & ways;
    }
}

/// The growth of all intervals that makes the longest of all `words` distant: in each place the
/// same bits.
#[inline]
fn growth(words: &[Intervals]) -> Intervals {
    let (mut distant, mut long, mut short) = (0, 0, 0);
    for word in words {
        distant |= word.distant();
        long |= word.high;
        short |= word.low;
    }
    // Which is the longest cannot be foreseen, so no branch asks.
    Intervals {
        low: mask(distant == 0 && (long != 0 || short == 0)),
        high: mask(distant == 0 && long == 0),
    }
}

impl Predictions {
    fn new(sets: usize, ways: usize) -> Self {
        let words_per_set = ways.div_ceil(64);
        Self {
            words_per_set,
            last_word: u64::MAX >> (words_per_set * 64 - ways),
            words: vec![Intervals::default(); sets * words_per_set],
            ages: vec![0; sets],
        }
    }

    #[inline]
    fn first_word(&self, set: usize) -> Intervals {
        self.words[set * self.words_per_set]
    }

    #[inline]
    fn set(&mut self, set: usize, way: usize, interval: Interval) {
        self.words[set * self.words_per_set + way / 64].set(way % 64, interval);
    }

    /// Gives an `empty` way, or the victim of a full set, to a line of this interval.
    #[inline(always)]
    fn admit(&mut self, set: usize, empty: Option<usize>, interval: Interval) -> usize {
        let words = &mut self.words[set * self.words_per_set..][..self.words_per_set];
        if let ([word], None) = (&mut *words, empty) {
            let growth = growth(&[*word]);
            word.grow(growth, self.last_word);
            self.ages[set] = self.ages[set].wrapping_add(growth.steps());
            let victim = word.distant().trailing_zeros() as usize;
            word.set(victim, interval);
            return victim;
        }
        let way = empty.unwrap_or_else(|| {
            let growth = growth(words);
            self.ages[set] = self.ages[set].wrapping_add(growth.steps());
            most_distant(words, growth, self.last_word)
        });
        words[way / 64].set(way % 64, interval);
        way
    }
}

/// The first way of the longest interval; everybody's interval grows until that one is distant.
fn most_distant(words: &mut [Intervals], growth: Intervals, last_word: u64) -> usize {
    let last = words.len() - 1;
    let mut victim = 0;
    for (index, word) in words.iter_mut().enumerate().rev() {
        word.grow(growth, if index == last { last_word } else { !0 });
        if word.distant() != 0 {
            victim = index * 64 + word.distant().trailing_zeros() as usize;
        }
    }
    victim
}

/// All bits or none.
#[inline]
fn mask(all: bool) -> u64 {
    u64::from(all).wrapping_neg()
}

/// Sets a reference bit, and clears the others of the set when all are set.
fn refer(referenced: &mut [bool], set: usize, way: usize, ways: usize) {
    let of_set = &mut referenced[set * ways..(set + 1) * ways];
    of_set[way] = true;
    if of_set.iter().all(|&referenced| referenced) {
        of_set.fill(false);
        of_set[way] = true;
    }
}

/// A number below `bound`: xorshift64*, Vigna, "An experimental exploration of Marsaglia's
/// xorshift generators, scrambled", 2016.
fn draw(state: &mut u64, bound: usize) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let high = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
    ((high * bound as u64) >> 32) as usize
}
