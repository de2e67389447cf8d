//! Shadow of a CTA's shared memory: for each byte its last writer and the readers since.
//!
//! One cell stands for four bytes until somebody accesses a part of them; then each byte has its
//! own. A cell keeps the last write, and the last reads of each warp since then.

use crate::clocks::{Clocks, Stamp, lanes};
use crate::finding::{Between, Hazard};

/// No cells of single bytes.
const NONE: u32 = u32::MAX;

/// Flags of an access.
pub(crate) mod flag {
    /// In one step with respect to other atomic accesses.
    pub(crate) const ATOMIC: u8 = 1;
    /// See [`Role::strong`](crate::roles::Role::strong).
    pub(crate) const STRONG: u8 = 2;
    /// See [`Role::volatile`](crate::roles::Role::volatile).
    pub(crate) const VOLATILE: u8 = 4;
    /// `cp.async` that has not been waited for.
    pub(crate) const PENDING: u8 = 8;
    /// There is a write at all.
    pub(crate) const WRITTEN: u8 = 16;
}

/// A lane's access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    /// The thread of the cluster that executes it.
    pub(crate) thread: u32,
    /// The lanes of its warp that read with it: more than its own only where
    /// [`Shadow::is_settled`].
    pub(crate) lanes: u32,
    pub(crate) instruction: u32,
    /// Tells executions of warp instructions apart.
    pub(crate) event: u32,
    pub(crate) write: bool,
    pub(crate) flags: u8,
    /// Digest of the value that a store writes; 0 if it is not known.
    pub(crate) digest: u32,
    /// Time at which the access counts as done, if not by the thread itself.
    pub(crate) agent: Option<Stamp>,
    /// Lanes of a warp run in step, as before compute capability 7.0.
    pub(crate) lockstep: bool,
    pub(crate) warps_per_cta: u32,
    /// True if the tensor cores read, whose reads are kept apart: only earlier writes count.
    pub(crate) by_cores: bool,
}

/// The last write of a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Write {
    stamp: Stamp,
    thread: u32,
    instruction: u32,
    event: u32,
    digest: u32,
    flags: u8,
}

/// Reads of one warp.
#[derive(Clone, Copy, Debug, Default)]
struct Readers {
    mask: u32,
    tick: u32,
    generation: u32,
    instruction: u32,
    flags: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The last write that is not atomic.
    write: Write,
    /// The last atomic write since then: it races with no other, so it must not hide a plain one.
    atomic: Write,
    /// The first warp that has read it since, and its reads.
    warp: u32,
    readers: Readers,
    /// The generation in which other warps have read it as well: their reads are in
    /// [`Shadow::readers`].
    shared_in: u32,
}

#[derive(Clone, Copy, Debug)]
struct Word {
    /// The CTA that it belongs to.
    epoch: u32,
    /// The bytes that have been written.
    written: u8,
    /// Cells of the four bytes, an index into the shadow's.
    bytes: u32,
    cell: Cell,
}

impl Default for Word {
    fn default() -> Self {
        Self { epoch: 0, written: 0, bytes: NONE, cell: Cell::default() }
    }
}

/// Two accesses that nothing orders; the later one is the one that was being recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) hazard: Hazard,
    pub(crate) between: Between,
    pub(crate) instruction: u32,
    pub(crate) thread: u32,
}

/// The shadow of one CTA's shared memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    words: Vec<Word>,
    epoch: u32,
    bytes: Vec<[Cell; 4]>,
    /// Readers per warp of the cluster, by cell: those of words, then those of bytes. Entries left
    /// from other CTAs have another generation.
    readers: Vec<Vec<Readers>>,
}

impl Shadow {
    /// Begins a CTA with `bytes` bytes of memory in a cluster of `warps` warps.
    pub(crate) fn reset(&mut self, bytes: u64, warps: usize) {
        if self.epoch == u32::MAX {
            self.words.clear();
            self.epoch = 0;
        }
        self.epoch += 1;
        self.words.resize(bytes.div_ceil(4) as usize, Word::default());
        self.bytes.clear();
        self.readers.resize_with(warps, Vec::new);
    }

    /// The word at an index, which is cleared if it was another CTA's.
    fn word(&mut self, index: usize) -> Option<&mut Word> {
        let epoch = self.epoch;
        let word = self.words.get_mut(index)?;
        if word.epoch != epoch {
            *word = Word { epoch, ..Word::default() };
        }
        Some(word)
    }

    /// Marks bytes as written.
    pub(crate) fn initialise(&mut self, address: u64, bytes: u64) {
        for (index, part) in words_of(address, bytes) {
            if let Some(word) = self.word(index) {
                word.written |= part;
            }
        }
    }

    /// The first of some bytes that has not been written.
    pub(crate) fn uninitialised(&mut self, address: u64, bytes: u64) -> Option<u64> {
        words_of(address, bytes).find_map(|(index, part)| {
            let missing = part & !self.word(index)?.written;
            (missing != 0).then(|| index as u64 * 4 + u64::from(missing.trailing_zeros()))
        })
    }

    /// Returns true if the last writes of some bytes lie before the last barrier of all threads, so
    /// that every thread may read them.
    pub(crate) fn is_settled(&mut self, clocks: &Clocks, address: u64, bytes: u64) -> bool {
        let generation = clocks.generation();
        words_of(address, bytes).all(|(index, _)| {
            self.word(index).is_some_and(|word| {
                let write = &word.cell.write;
                let by_thread = write.stamp.owner == write.thread;
                let old = write.stamp.generation != generation && by_thread;
                let pending = write.flags & flag::PENDING != 0;
                let atomic = &word.cell.atomic;
                word.bytes == NONE
                    && (write.flags & flag::WRITTEN == 0 || old && !pending)
                    && (atomic.flags & flag::WRITTEN == 0 || atomic.stamp.generation != generation)
            })
        })
    }

    /// Records an access; `found` is told of each conflict.
    pub(crate) fn touch(
        &mut self,
        clocks: &Clocks,
        touch: &Touch,
        address: u64,
        bytes: u64,
        mut found: impl FnMut(Conflict),
    ) {
        for (index, part) in words_of(address, bytes) {
            let Some(word) = self.word(index) else { return };
            if part == 0xf && word.bytes == NONE {
                let cell = &mut self.words[index].cell;
                cell.touch(&mut self.readers, index, clocks, touch, &mut found);
                continue;
            }
            let at = self.split(clocks.generation(), index);
            for byte in (0..4).filter(|byte| part >> byte & 1 != 0) {
                let cell = &mut self.bytes[at][byte];
                let index = self.words.len() + 4 * at + byte;
                cell.touch(&mut self.readers, index, clocks, touch, &mut found);
            }
        }
    }

    /// A `cp.async` of `thread` has been waited for: its writes count as done now.
    pub(crate) fn complete(
        &mut self,
        clocks: &Clocks,
        thread: u32,
        instruction: u32,
        address: u64,
        bytes: u64,
    ) {
        let complete = |cell: &mut Cell| {
            let write = &mut cell.write;
            if write.flags & flag::PENDING != 0
                && (write.thread, write.instruction) == (thread, instruction)
            {
                write.flags &= !flag::PENDING;
                write.stamp = clocks.now(thread);
            }
        };
        for (index, part) in words_of(address, bytes) {
            match self.word(index).map(|word| (word.bytes, &mut word.cell)) {
                None => return,
                Some((NONE, cell)) => complete(cell),
                Some((at, _)) => {
                    for byte in (0..4).filter(|byte| part >> byte & 1 != 0) {
                        complete(&mut self.bytes[at as usize][byte]);
                    }
                }
            }
        }
    }

    /// Gives the bytes of a word cells of their own. Returns their index.
    fn split(&mut self, generation: u32, index: usize) -> usize {
        let (at, cell) = (self.words[index].bytes, self.words[index].cell);
        if at != NONE {
            return at as usize;
        }
        let at = self.bytes.len();
        if cell.shared_in == generation {
            for readers in &mut self.readers {
                let Some(&of_word) = readers.get(index) else { continue };
                for byte in 0..4 {
                    *entry(readers, self.words.len() + 4 * at + byte) = of_word;
                }
            }
        }
        self.bytes.push([cell; 4]);
        self.words[index].bytes = at as u32;
        at
    }
}

/// The entry of a cell, made if need be.
#[inline]
fn entry(readers: &mut Vec<Readers>, index: usize) -> &mut Readers {
    if readers.len() <= index {
        readers.resize((index + 1).next_power_of_two(), Readers::default());
    }
    &mut readers[index]
}

/// The words that some bytes lie in, and which of each word's bytes they are.
fn words_of(address: u64, bytes: u64) -> impl Iterator<Item = (usize, u8)> {
    let end = address.saturating_add(bytes);
    (address / 4..end.div_ceil(4)).map(move |word| {
        let low = address.saturating_sub(word * 4).min(4);
        let high = (end - word * 4).min(4);
        (word as usize, (0xf_u8 << low) & (0xf >> (4 - high)))
    })
}

impl Touch {
    /// Returns true if it races with no other such access. Volatile accesses count as such only
    /// between warps.
    fn is_atomic(&self) -> bool {
        self.flags & flag::ATOMIC != 0
            || self.flags & flag::STRONG != 0 && self.flags & flag::VOLATILE == 0
    }
}

impl Cell {
    #[inline]
    fn touch(
        &mut self,
        others: &mut [Vec<Readers>],
        index: usize,
        clocks: &Clocks,
        touch: &Touch,
        found: &mut impl FnMut(Conflict),
    ) {
        after_write(&self.write, clocks, touch, found);
        if !touch.is_atomic() {
            after_write(&self.atomic, clocks, touch, found);
        }
        let own_warp = touch.thread / 32;
        let generation = clocks.generation();
        if touch.by_cores {
            return;
        }
        if !touch.write {
            let Some(others) = others.get_mut(own_warp as usize) else { return };
            return self.read(others, index, clocks, touch, own_warp);
        }
        let mut check = |warp: u32, readers: &Readers| {
            if readers.mask == 0 || readers.generation != generation {
                return;
            }
            if let Some(thread) = unordered(clocks, touch, warp, readers) {
                found(Conflict {
                    hazard: Hazard::WriteAfterRead,
                    between: between(touch, thread),
                    instruction: readers.instruction,
                    thread,
                });
            }
        };
        check(self.warp, &self.readers);
        self.readers.mask = 0;
        if self.shared_in == generation {
            for (warp, readers) in others.iter_mut().enumerate() {
                if let Some(readers) = readers.get_mut(index) {
                    check(warp as u32, readers);
                    readers.mask = 0;
                }
            }
        }
        let write = Write {
            stamp: touch.agent.unwrap_or_else(|| clocks.now(touch.thread)),
            thread: touch.thread,
            instruction: touch.instruction,
            event: touch.event,
            digest: touch.digest,
            flags: touch.flags | flag::WRITTEN,
        };
        if touch.is_atomic() {
            self.atomic = write;
        } else {
            (self.write, self.atomic) = (write, Write::default());
        }
    }

    /// Remember a read.
    #[inline]
    fn read(
        &mut self,
        others: &mut Vec<Readers>,
        index: usize,
        clocks: &Clocks,
        touch: &Touch,
        warp: u32,
    ) {
        let generation = clocks.generation();
        let current = self.readers.mask != 0 && self.readers.generation == generation;
        let readers = if !current || self.warp == warp {
            self.warp = warp;
            &mut self.readers
        } else {
            self.shared_in = generation;
            entry(others, index)
        };
        let (tick, bit) = (clocks.tick(warp), touch.lanes);
        let fresh = Readers {
            mask: bit,
            tick,
            generation,
            instruction: touch.instruction,
            flags: touch.flags,
        };
        let same_time = (readers.tick, readers.generation) == (tick, generation);
        if same_time && readers.mask != 0 {
            readers.mask |= bit;
            // A weak read among them makes all of them weak.
            readers.flags &= touch.flags;
        } else {
            // Reads that other lanes of the warp made before it last published something are
            // forgotten: a miss at most, never a false finding.
            *readers = fresh;
        }
    }
}

/// Compare an access with an earlier write.
#[inline]
fn after_write(write: &Write, clocks: &Clocks, touch: &Touch, found: &mut impl FnMut(Conflict)) {
    let pending = write.flags & flag::PENDING != 0;
    if write.flags & flag::WRITTEN == 0 || !pending && clocks.ordered(write.stamp, touch.thread) {
        return;
    }
    let same_warp = write.thread / 32 == touch.thread / 32;
    let by_agent = write.stamp.owner != write.thread;
    let together = same_warp && write.event == touch.event;
    let both = write.flags & touch.flags;
    let harmless = both & flag::ATOMIC != 0
            || both & flag::STRONG != 0 && !(same_warp && both & flag::VOLATILE != 0)
            // Atomic and strong accesses are morally strong together.
            || write.flags & (flag::ATOMIC | flag::STRONG) != 0
                && touch.flags & (flag::ATOMIC | flag::STRONG) != 0
                && both & flag::VOLATILE == 0
            // All write the same: the result does not depend on the order.
            || touch.write && write.digest != 0 && write.digest == touch.digest
            || same_warp && touch.lockstep && !together && !by_agent;
    if harmless && !pending && !by_agent {
        return;
    }
    let between = if pending {
        Between::PendingCopy
    } else if by_agent {
        Between::BulkCopy
    } else if together {
        Between::OneInstruction
    } else {
        between(touch, write.thread)
    };
    let hazard = if touch.write { Hazard::WriteAfterWrite } else { Hazard::ReadAfterWrite };
    found(Conflict { hazard, between, instruction: write.instruction, thread: write.thread });
}

/// A reader that nothing orders before a write, if there is one.
fn unordered(clocks: &Clocks, touch: &Touch, warp: u32, readers: &Readers) -> Option<u32> {
    let same_warp = warp == touch.thread / 32;
    let strong = readers.flags & touch.flags;
    let atomic = touch.flags & flag::ATOMIC != 0 && readers.flags & flag::STRONG != 0;
    if (strong & flag::STRONG != 0 || atomic) && !(same_warp && strong & flag::VOLATILE != 0)
        || same_warp && touch.lockstep
    {
        return None;
    }
    let mut mask = readers.mask;
    if same_warp {
        mask &= !(1 << (touch.thread % 32));
    }
    if mask == 0 {
        return None;
    }
    if clocks.knows_nothing(touch.thread) {
        return Some(32 * warp + mask.trailing_zeros());
    }
    let mut threads = lanes(mask).map(|lane| 32 * warp + lane);
    threads.find(|&thread| clocks.learnt(touch.thread, thread) < readers.tick)
}

/// Returns the relation of two threads of a cluster.
fn between(touch: &Touch, other: u32) -> Between {
    let cta = |thread: u32| thread / 32 / touch.warps_per_cta.max(1);
    if touch.thread / 32 == other / 32 {
        Between::Lanes
    } else if cta(touch.thread) == cta(other) {
        Between::Warps
    } else {
        Between::Ctas
    }
}
