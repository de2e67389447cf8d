//! Launches that are not executed because their effect on memory is known.
//!
//! Programs launch a kernel again and again on the same data, to measure it or because nothing has
//! changed. Most kernels are functions from memory to memory. If all buffers hold what they held
//! before an equal launch, they will hold what that launch left. In most such loops they hold it
//! already; otherwise the changed buffers are copied.
//!
//! Looking costs a hash of the buffers that have changed. So launches with few threads are
//! executed without a look, and kernels whose memory never recurs are looked at ever more seldom.
//! Neither rule depends on a clock: the same launches are executed in each run.

use std::collections::{BTreeMap, HashMap};

use gpucast_interpreter::DeviceMemory;

use crate::block::BlockRange;
use crate::contents::{Contents, Snapshot};
use crate::repeats::Key;

/// Bytes of memory that are hashed for a thread that is not executed. A thread of few instructions
/// takes 50 ns or more, and hashes of so many bytes take a tenth of that.
const BYTES_OF_THREAD: u64 = 64;

/// Looks in vain, one after the other, after which launches are passed over: one, then two, then
/// four, and so on.
const PATIENCE: u32 = 6;

/// The most launches that are passed over before the next look.
const MOST_PASSED: u64 = 64;

/// Launches that are remembered; then memory starts anew.
const MOST_EFFECTS: usize = 1 << 14;

/// Bytes of contents that are held.
const MOST_BYTES: usize = 256 << 20;

/// A buffer that a launch changes, and what it holds then.
#[derive(Debug)]
struct Change {
    address: u64,
    bytes: Box<[u8]>,
    hash: u128,
}

/// What is known of equal launches.
#[derive(Debug, Default)]
struct Known {
    /// Launches so far.
    seen: u64,
    /// Looks that found nothing since the last one that did.
    in_vain: u32,
    /// The launch from which on it is looked again.
    next: u64,
    /// Changes by the contents of all buffers before.
    effects: HashMap<u128, Vec<Change>>,
}

/// The launches of a program whose effects are known.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    known: HashMap<Key, Known>,
    /// Number of keys and effects.
    remembered: usize,
    /// Bytes of their changes.
    held_bytes: usize,
}

impl Effects {
    /// Returns true if a launch is worth a look at `bytes` bytes of memory. Each launch asks once.
    pub(crate) fn is_worth_a_look(&mut self, key: &Key, threads: u64, bytes: u64) -> bool {
        if bytes > threads.saturating_mul(BYTES_OF_THREAD) {
            return false;
        }
        if self.remembered >= MOST_EFFECTS {
            *self = Self::default();
        }
        let known = self.known.entry(key.clone()).or_insert_with(|| {
            self.remembered += 1;
            Known::default()
        });
        known.seen += 1;
        // The first launch has none before it.
        known.seen > 1 && known.seen >= known.next
    }

    /// Returns true if an equal launch found such memory. Each look asks once.
    pub(crate) fn knows(&mut self, key: &Key, before: &Snapshot) -> bool {
        let Some(known) = self.known.get_mut(key) else { return false };
        let is_known = known.effects.contains_key(&before.all);
        known.in_vain = if is_known { 0 } else { known.in_vain + 1 };
        if let Some(doublings) = known.in_vain.checked_sub(PATIENCE) {
            let passed = 1_u64.checked_shl(doublings).map_or(MOST_PASSED, |n| n.min(MOST_PASSED));
            known.next = known.seen + 1 + passed;
        }
        is_known
    }

    /// Does to memory what an equal launch did. Returns false if none is known.
    pub(crate) fn repeat(
        &self,
        key: &Key,
        before: &Snapshot,
        memory: &mut DeviceMemory,
        contents: &mut Contents,
        blocks: &BTreeMap<u64, BlockRange>,
    ) -> bool {
        let changes = self.known.get(key).and_then(|known| known.effects.get(&before.all));
        for Change { address, bytes, hash } in changes.into_iter().flatten() {
            if let Some(buffer) = memory.slice_mut(*address, bytes.len() as u64) {
                buffer.copy_from_slice(bytes);
                contents.set(*address, *hash, blocks);
            }
        }
        changes.is_some()
    }

    /// Remembers a launch that was executed.
    pub(crate) fn learn(
        &mut self,
        key: &Key,
        before: &Snapshot,
        after: &Snapshot,
        memory: &DeviceMemory,
    ) {
        let pairs = before.buffers.iter().zip(&after.buffers);
        let changed = pairs.filter(|(before, after)| before != after).map(|(_, after)| *after);
        let changed: Vec<_> = changed.collect();
        let bytes: usize = changed.iter().map(|&(_, bytes, _)| bytes as usize).sum();
        if before.buffers.len() != after.buffers.len() || self.held_bytes + bytes > MOST_BYTES {
            return;
        }
        let Some(known) = self.known.get_mut(key) else { return };
        let hold = |(address, bytes, hash)| {
            let bytes = memory.slice(address, bytes)?.into();
            Some(Change { address, bytes, hash })
        };
        if let Some(changes) = changed.into_iter().map(hold).collect() {
            self.held_bytes += bytes;
            self.remembered += 1;
            known.effects.insert(before.all, changes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockKind;
    use crate::{FunctionId, LaunchRequest};

    /// A program whose kernel adds `input` to `output`, or writes it there.
    struct Program {
        memory: DeviceMemory,
        blocks: BTreeMap<u64, BlockRange>,
        contents: Contents,
        effects: Effects,
        input: u64,
        output: u64,
        executed: u32,
    }

    impl Program {
        fn new() -> Self {
            let mut memory = DeviceMemory::new();
            let input = memory.allocate("input", 64).unwrap();
            let output = memory.allocate("output", 64).unwrap();
            let kind = BlockKind::Device;
            let block = |address| (address, BlockRange { address, bytes: 64, kind });
            let blocks = BTreeMap::from([block(input), block(output)]);
            let (contents, effects) = (Contents::default(), Effects::default());
            Self { memory, blocks, contents, effects, input, output, executed: 0 }
        }

        /// The host writes a byte.
        fn write(&mut self, address: u64, value: u8) {
            self.memory.slice_mut(address, 1).unwrap()[0] = value;
            self.contents.changed(address);
        }

        /// Launches and returns the first byte of the output.
        fn launch(&mut self, adds: bool) -> u8 {
            let function = FunctionId(usize::from(adds));
            let key = Key::new(&LaunchRequest::of_one_warp(function, Vec::new()), 0, 0);
            let Self { memory, blocks, contents, effects, .. } = self;
            let looks = effects.is_worth_a_look(&key, 32, 128);
            let before = looks.then(|| contents.snapshot(memory, blocks));
            if !before.as_ref().is_some_and(|before| {
                effects.knows(&key, before)
                    && effects.repeat(&key, before, memory, contents, blocks)
            }) {
                self.executed += 1;
                let input = memory.slice(self.input, 1).unwrap()[0];
                let output = &mut memory.slice_mut(self.output, 1).unwrap()[0];
                *output = if adds { output.wrapping_add(input) } else { input };
                contents.all_changed();
                if let Some(before) = before {
                    let after = contents.snapshot(memory, blocks);
                    effects.learn(&key, &before, &after, memory);
                }
            }
            self.memory.slice(self.output, 1).unwrap()[0]
        }
    }

    #[test]
    fn a_launch_that_writes_what_is_there_is_executed_twice() {
        let mut program = Program::new();
        program.write(program.input, 7);
        assert!((0..1000).all(|_| program.launch(false) == 7));
        assert_eq!(program.executed, 2);
        program.write(program.input, 8);
        assert_eq!(program.launch(false), 8);
        program.write(program.input, 7);
        program.write(program.output, 7);
        assert_eq!(program.launch(false), 7);
        assert_eq!(program.executed, 3);
    }

    #[test]
    fn sums_that_begin_anew_are_copied() {
        let mut program = Program::new();
        program.write(program.input, 3);
        for _ in 0..100 {
            program.write(program.output, 0);
            assert_eq!(program.launch(true), 3);
            assert_eq!(program.launch(true), 6);
        }
        assert!(program.executed < 6, "{}", program.executed);
    }

    #[test]
    fn memory_that_never_recurs_is_looked_at_seldom() {
        let mut program = Program::new();
        program.write(program.input, 1);
        // A byte recurs after 256 sums.
        for sum in 1..=250_u32 {
            assert_eq!(u32::from(program.launch(true)), sum);
        }
        assert_eq!(program.executed, 250);
        let known = program.effects.known.values().next().unwrap();
        assert!(known.effects.len() < 16, "{}", known.effects.len());
    }

    #[test]
    fn launches_alternate_and_share_buffers() {
        // What a launch leaves is looked up by all of memory, whoever wrote it.
        let (mut program, mut state) = (Program::new(), 9_u32);
        let mut plain = (0_u8, 0_u8);
        for _ in 0..2000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match state >> 29 {
                0 => {
                    plain.0 = (state >> 20) as u8 & 3;
                    program.write(program.input, plain.0);
                }
                1 => {
                    plain.1 = 0;
                    program.write(program.output, 0);
                }
                kind => {
                    let adds = kind & 1 != 0;
                    plain.1 = if adds { plain.1.wrapping_add(plain.0) } else { plain.0 };
                    assert_eq!(program.launch(adds), plain.1);
                }
            }
        }
        assert!(program.executed < 1400, "{}", program.executed);
    }

    #[test]
    fn few_threads_are_executed_without_a_look() {
        let mut effects = Effects::default();
        let request = LaunchRequest::of_one_warp(FunctionId(0), Vec::new());
        let key = Key::new(&request, 0, 0);
        assert!((0..9).all(|_| !effects.is_worth_a_look(&key, 32, 32 * BYTES_OF_THREAD + 1)));
        assert!(!effects.is_worth_a_look(&key, 32, 32 * BYTES_OF_THREAD));
        assert!(effects.is_worth_a_look(&key, 32, 32 * BYTES_OF_THREAD));
    }
}
