//! Atomics whose values a warp adds up before one lane takes them to memory.
//!
//! The record says what the PTX asks for: an addition of each lane. Where all lanes have one
//! address, a compiler may add their values up first, or the instruction may do it itself. The back
//! end that made the machine code says so of each queue.

use std::collections::HashMap;

use crate::launch::{Beside, Launch, Request, Turn, turns_in};

/// How the lanes of an atomic become fewer updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combining {
    /// One lane takes the sum of all, whichever lanes there are.
    Elected,
    /// One lane takes the sum if all 32 are there; otherwise each updates by itself.
    WholeWarp,
    /// The instruction counts the lanes at each address, and adds the number once
    /// (`ATOMS.POPC.INC`).
    Counted,
}

impl Combining {
    fn applies_to(self, request: &Request) -> bool {
        let meets_at_one_address = request.serial == request.lanes;
        match self {
            Self::Elected => meets_at_one_address,
            Self::WholeWarp => meets_at_one_address && request.lanes == 32,
            Self::Counted => true,
        }
    }
}

impl Launch {
    /// The same, where requests of atomics that a warp adds up first are those of one lane.
    /// `queues` are the queues of such atomics.
    #[must_use]
    pub fn with_combined_atomics(mut self, queues: &HashMap<u32, Combining>) -> Self {
        let mut combiner = Combiner::default();
        let samples = self.classes.iter_mut().flat_map(|class| &mut class.samples);
        for warp in samples.flat_map(|sample| &mut sample.warps) {
            for (&queue, combining) in queues {
                for request in warp.requests.get_mut(queue as usize).into_iter().flatten() {
                    if request.serial > 1 && combining.applies_to(request) {
                        *request = combiner.combined(request, &mut self.turns);
                    }
                }
            }
        }
        self
    }
}

/// Makes requests of atomics whose lanes do not meet.
#[derive(Clone, Debug, Default)]
pub struct Combiner {
    /// The lists that were written, by those that they replace.
    written: HashMap<(u32, u8), u32>,
}

impl Combiner {
    /// The request as if one lane changed each line. New lists are added to the launch's `turns`.
    #[must_use]
    pub fn combined(&mut self, request: &Request, turns: &mut Vec<Turn>) -> Request {
        let mut beside = request.beside;
        if let Beside::Turns { first, lines } = request.beside {
            let first = *self.written.entry((first, lines)).or_insert_with(|| {
                let one_step = |turn: &Turn| Turn { steps: 1, ..*turn };
                let list: Vec<Turn> = turns_in(turns, request).iter().map(one_step).collect();
                turns.extend(list);
                (turns.len() - usize::from(lines)) as u32
            });
            beside = Beside::Turns { first, lines };
        }
        // Passes over shared memory are those of the lanes at a word, too.
        let passes = (request.passes / u16::from(request.serial.max(1))).max(1);
        Request { serial: 1, passes, beside, ..*request }
    }
}
