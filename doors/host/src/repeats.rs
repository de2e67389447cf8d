//! Launches whose prediction is known, because an equal one was counted before.
//!
//! Programs launch kernels again and again with the same extents and arguments. The counts of most
//! kernels ignore what memory holds ([`counts_ignore_contents`]); others find the same memory.
//! Such a launch is decided by its key and by the L2 that it finds: it need not be counted a second
//! time. Whether it is executed is another question ([`Effects`](crate::effects::Effects)).
//!
//! A program's launches then walk along a graph. Its nodes are states of the L2, and its edges are
//! launches with their predictions. A loop whose data fit into the L2 soon goes round in a circle.
//! The L2 itself is held only for the states of such circles, because it takes megabytes.
//!
//! [`counts_ignore_contents`]: gpucast_interpreter::Program::counts_ignore_contents

use std::collections::HashMap;

use gpucast_counters::hierarchy::{L2, L2State};

use crate::predicted::Predicted;
use crate::{FunctionId, LaunchRequest};

/// Launches that are remembered; then memory starts anew.
const MOST_LAUNCHES: usize = 1 << 16;

/// States of the L2 that are held. That of an H100 takes ten megabytes.
const MOST_HELD: usize = 16;

/// Everything but caches and memory that a launch's counts depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    function: FunctionId,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: Option<[u32; 3]>,
    shared_bytes: u32,
    stack_bytes: u32,
    /// How often a texture or surface variable had come to stand for something else.
    bindings: u64,
    /// One after the other. The function says how long each is.
    arguments: Vec<u8>,
    /// The hash of all memory, where counts depend on it.
    contents: Option<u128>,
}

impl Key {
    pub(crate) fn new(request: &LaunchRequest, stack_bytes: u32, bindings: u64) -> Self {
        let LaunchRequest { function, grid, block, cluster, shared_bytes, .. } = *request;
        let arguments = request.arguments.concat();
        let contents = None;
        Self {
            function,
            grid,
            block,
            cluster,
            shared_bytes,
            stack_bytes,
            bindings,
            arguments,
            contents,
        }
    }

    /// The same before memory with this hash.
    pub(crate) fn before(self, contents: u128) -> Self {
        Self { contents: Some(contents), ..self }
    }
}

/// The L2 that a launch finds; none before the first.
type Found = Option<L2State>;

/// An edge of the graph.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    /// None if the model declined.
    predicted: Option<Predicted>,
    after: L2State,
}

/// An answer about a launch that comes.
pub(crate) enum Recalled {
    /// It was counted before, and the L2 is as it leaves it.
    Known(Option<Predicted>),
    /// It has to be counted.
    Unknown(Unknown),
}

/// The part of a new launch that is known before it is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unknown {
    /// There was none of its key.
    First,
    /// There was, with another L2 or with one that was not held.
    Again {
        found: Found,
        /// True if the same edge was walked before.
        recurs: bool,
    },
}

/// The launches of a program that were counted.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    known: HashMap<Key, HashMap<Found, Outcome>>,
    /// Number of keys and outcomes.
    remembered: usize,
    held: HashMap<L2State, L2>,
}

impl Repeats {
    /// Looks for a launch. If it is known, `l2` changes as by the launch.
    pub(crate) fn recall(&mut self, key: &Key, l2: &mut Option<L2>) -> Recalled {
        let Some(outcomes) = self.known.get(key) else {
            return Recalled::Unknown(Unknown::First);
        };
        let found = l2.as_mut().map(L2::state);
        let Some(&Outcome { predicted, after }) = outcomes.get(&found) else {
            return Recalled::Unknown(Unknown::Again { found, recurs: false });
        };
        if found != Some(after) {
            let Some(next) = self.held.remove(&after) else {
                return Recalled::Unknown(Unknown::Again { found, recurs: true });
            };
            if let (Some(state), Some(before)) = (found, l2.replace(next)) {
                self.held.insert(state, before);
            }
        }
        Recalled::Known(predicted)
    }

    /// Remembers a launch that was counted and left `l2`.
    pub(crate) fn learn(
        &mut self,
        key: Key,
        unknown: Unknown,
        l2: &mut Option<L2>,
        predicted: Option<Predicted>,
    ) {
        if self.remembered >= MOST_LAUNCHES {
            *self = Self::default();
        }
        self.remembered += 1;
        let outcomes = self.known.entry(key).or_default();
        let (Unknown::Again { found, recurs }, Some(l2)) = (unknown, l2) else { return };
        let after = l2.state();
        outcomes.insert(found, Outcome { predicted, after });
        if recurs && self.held.len() < MOST_HELD {
            self.held.entry(after).or_insert_with(|| l2.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use gpucast_counters::hierarchy::{L2Geometry, L2Operation};

    use super::*;

    /// Launches that each read some lines, counted unless they are known.
    #[derive(Default)]
    struct Program {
        repeats: Repeats,
        l2: Option<L2>,
        counted: u32,
    }

    impl Program {
        /// Reads `lines` and returns the sectors that come from memory, as its time.
        fn launch(&mut self, lines: std::ops::Range<u64>) -> f64 {
            let arguments = vec![lines.start.to_le_bytes().to_vec()];
            let request = LaunchRequest::of_one_warp(FunctionId(0), arguments);
            let key = Key::new(&request, 0, 0);
            let unknown = match self.repeats.recall(&key, &mut self.l2) {
                Recalled::Known(predicted) => return predicted.unwrap().time_ms,
                Recalled::Unknown(unknown) => unknown,
            };
            self.counted += 1;
            let l2 = self.l2.get_or_insert_with(|| L2::new(L2Geometry::GTX_480));
            let missed: u32 = lines.map(|line| l2.access(line, 0xF, 0xF, L2Operation::Read)).sum();
            let predicted = Some(Predicted { time_ms: missed.into(), bound: "memory" });
            self.repeats.learn(key, unknown, &mut self.l2, predicted);
            f64::from(missed)
        }
    }

    #[test]
    fn a_loop_in_the_l2_is_counted_until_it_goes_round() {
        let mut program = Program::default();
        let loops = 200;
        let times: Vec<_> = (0..loops)
            .flat_map(|_| [program.launch(0..3000), program.launch(2000..4000)])
            .collect();
        assert_eq!(times[..3], [12_000.0, 4000.0, 0.0]);
        assert!(times[2..].iter().all(|&time| time == 0.0));
        assert!(program.counted < 20, "{}", program.counted);
    }

    #[test]
    fn launches_of_a_circle_of_states_have_the_times_of_counted_ones() {
        // Twice the L2: each loop evicts what the next one needs, and the policy remembers misses.
        let halves = [0..6000, 6000..12_000];
        let (mut program, mut plain) = (Program::default(), Program::default());
        for half in halves.iter().cycle().take(400) {
            plain.repeats = Repeats::default();
            assert_eq!(program.launch(half.clone()), plain.launch(half.clone()));
        }
        assert_eq!(plain.counted, 400);
        assert!(program.repeats.held.len() <= MOST_HELD);
    }

    #[test]
    fn another_launch_between_equal_ones_is_seen() {
        let mut program = Program::default();
        (0..20).for_each(|_| {
            program.launch(0..100);
        });
        let counted = program.counted;
        program.launch(0..100);
        assert_eq!(program.counted, counted);
        program.launch(50_000..70_000);
        assert_ne!(program.launch(0..100), 0.0);
        assert_eq!(program.counted, counted + 2);
    }

    #[test]
    fn memory_has_an_end() {
        let mut program = Program::default();
        for line in 0..2 * MOST_LAUNCHES as u64 {
            program.launch(line..line + 1);
        }
        assert!(program.repeats.remembered <= MOST_LAUNCHES);
        assert_eq!(program.repeats.remembered, program.repeats.known.len());
    }
}
