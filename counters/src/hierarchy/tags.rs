//! The tags of a set-associative cache under any replacement policy.

use super::replacement::{DISTANT, Insertion, Rank, Replacement};

/// Sets between two that are set aside for the same policy of a duel (Qureshi et al. 2007 take
/// 32 leaders of each kind for 1024 sets).
const DUEL_PERIOD: usize = 32;

/// How far the selector of a duel counts: the ten bits of the paper.
const SELECTOR_LIMIT: i32 = 512;

/// Marks a way that holds nothing.
pub(crate) const EMPTY: u64 = u64::MAX;

/// Which lines a cache, or one slice of it, holds. Lines have indices from 0 to sets × ways.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    ways: usize,
    rank: Rank,
    insertion: Insertion,
    tags: Vec<u64>,
    /// What [`Rank`] says of each line.
    ranks: Vec<u64>,
    /// Misses of each full set, modulo the period of a bimodal insertion.
    misses: Vec<u32>,
    /// Uses so far: the clock of [`Rank::LastUse`].
    uses: u64,
    random: u64,
    /// Above 0 where plain insertion has missed more often than bimodal insertion.
    selector: i32,
}

impl Tags {
    /// Empty tags for `sets` sets of `ways` lines.
    pub(crate) fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        let ways = ways.max(1);
        Self {
            ways,
            rank: replacement.rank(),
            insertion: replacement.insertion(),
            tags: vec![EMPTY; sets * ways],
            ranks: vec![0; sets * ways],
            misses: vec![0; sets],
            uses: 0,
            random: replacement.seed(),
            selector: 0,
        }
    }

    /// The line that holds `tag`.
    #[inline]
    pub(crate) fn find(&self, set: usize, tag: u64) -> Option<usize> {
        let first = set * self.ways;
        let tags = &self.tags[first..first + self.ways];
        // Without an early exit the comparisons are done side by side.
        let mut found = usize::MAX;
        for (way, &other) in tags.iter().enumerate() {
            if other == tag {
                found = way;
            }
        }
        (found != usize::MAX).then(|| first + found)
    }

    /// The tag of a line, or [`EMPTY`].
    pub(crate) fn tag(&self, line: usize) -> u64 {
        self.tags[line]
    }

    /// Empties a line.
    pub(crate) fn remove(&mut self, line: usize) {
        self.tags[line] = EMPTY;
        self.ranks[line] = 0;
    }

    /// A line was used again.
    #[inline]
    pub(crate) fn reuse(&mut self, line: usize) {
        match self.rank {
            Rank::LastUse | Rank::AnyButLast => {
                self.uses += 1;
                self.ranks[line] = self.uses;
            }
            Rank::Prediction => self.ranks[line] = 0,
            Rank::Referenced => self.refer(line),
            Rank::Nothing => {}
        }
    }

    /// Puts `tag`, which must not be there, into a line of `set`; returns the line and the tag
    /// that it held before, or [`EMPTY`].
    pub(crate) fn admit(&mut self, set: usize, tag: u64) -> (usize, u64) {
        let first = set * self.ways;
        let empty = self.tags[first..first + self.ways].iter().position(|&tag| tag == EMPTY);
        let line = first + empty.unwrap_or_else(|| self.victim(first));
        let evicted = std::mem::replace(&mut self.tags[line], tag);
        let welcome = self.is_welcome(set, empty.is_some());
        match self.rank {
            Rank::LastUse | Rank::AnyButLast => {
                self.uses += 1;
                self.ranks[line] = if welcome { self.uses } else { 0 };
            }
            Rank::Prediction => self.ranks[line] = if welcome { DISTANT - 1 } else { DISTANT },
            Rank::Referenced => self.refer(line),
            Rank::Nothing => {}
        }
        (line, evicted)
    }

    /// Whether a new line of `set` gets the better of two places.
    fn is_welcome(&mut self, set: usize, was_empty: bool) -> bool {
        let bimodal = |every: u32, misses: &mut u32| {
            *misses = (*misses + 1) % every;
            *misses == 0
        };
        match self.insertion {
            Insertion::Always => true,
            // An empty way is not a victim: a recency list fills up first. Predictions do not
            // care, as in the paper.
            Insertion::Rarely(_) | Insertion::Dueling(_)
                if was_empty && self.rank == Rank::LastUse =>
            {
                true
            }
            Insertion::Rarely(every) => bimodal(every, &mut self.misses[set]),
            Insertion::Dueling(every) => {
                let period = DUEL_PERIOD.min(self.misses.len());
                let plain = if set.is_multiple_of(period) {
                    self.selector = (self.selector + 1).min(SELECTOR_LIMIT - 1);
                    true
                } else if set % period == period / 2 {
                    self.selector = (self.selector - 1).max(-SELECTOR_LIMIT);
                    false
                } else {
                    self.selector <= 0
                };
                plain || bimodal(every, &mut self.misses[set])
            }
        }
    }

    /// The way of a full set that gives way.
    fn victim(&mut self, first: usize) -> usize {
        let ranks = &mut self.ranks[first..first + self.ways];
        match self.rank {
            Rank::LastUse => index_of_least(ranks),
            Rank::Prediction => {
                // Everybody's interval grows until one is distant; the first such gives way.
                let longest = ranks.iter().copied().max().unwrap_or(DISTANT);
                let grow = DISTANT.saturating_sub(longest);
                let mut victim = ranks.len() - 1;
                for (way, rank) in ranks.iter_mut().enumerate().rev() {
                    if *rank == longest {
                        victim = way;
                    }
                    *rank += grow;
                }
                victim
            }
            Rank::Referenced => ranks.iter().position(|&referenced| referenced == 0).unwrap_or(0),
            Rank::Nothing => self.draw(self.ways),
            Rank::AnyButLast => {
                let last = index_of_greatest(ranks);
                if self.ways == 1 {
                    return 0;
                }
                let drawn = self.draw(self.ways - 1);
                drawn + usize::from(drawn >= last)
            }
        }
    }

    /// Sets a reference bit, and clears the others of the set when all are set.
    fn refer(&mut self, line: usize) {
        let first = line / self.ways * self.ways;
        self.ranks[line] = 1;
        let ranks = &mut self.ranks[first..first + self.ways];
        if ranks.iter().all(|&referenced| referenced == 1) {
            ranks.fill(0);
            self.ranks[line] = 1;
        }
    }

    /// A number below `bound`: xorshift64*, Vigna, "An experimental exploration of Marsaglia's
    /// xorshift generators, scrambled", 2016.
    fn draw(&mut self, bound: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let high = self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        (high as usize * bound) >> 32
    }
}

fn index_of_least(ranks: &[u64]) -> usize {
    let mut least = 0;
    for (way, &rank) in ranks.iter().enumerate() {
        if rank < ranks[least] {
            least = way;
        }
    }
    least
}

fn index_of_greatest(ranks: &[u64]) -> usize {
    let mut greatest = 0;
    for (way, &rank) in ranks.iter().enumerate() {
        if rank > ranks[greatest] {
            greatest = way;
        }
    }
    greatest
}
