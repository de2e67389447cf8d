//! Atomics whose values a warp adds up before one lane takes them to memory.
//!
//! The record says what the PTX asks for: an addition of each lane. Where all lanes have one
//! address, `ptxas` may add their values up first. Its code then has a `REDUX` beside the access.
//! Older GPUs ask with a `VOTE` if the whole warp is there, and only then add up.

use std::collections::HashMap;

use crate::code::{AccessKind, Action, Code, Instruction, MemoryAccess, Space};
use crate::launch::{Beside, Launch, Request, Turn, turns_in};

/// Which warps add up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combining {
    Any,
    Whole,
}

impl Launch {
    /// The same, where requests of atomics that a warp adds up first are those of one lane.
    #[must_use]
    pub fn with_combined_atomics(mut self) -> Self {
        let queues = queues(&self.code);
        let mut combiner = Combiner::default();
        let samples = self.classes.iter_mut().flat_map(|class| &mut class.samples);
        for warp in samples.flat_map(|sample| &mut sample.warps) {
            for (&queue, &combining) in &queues {
                for request in warp.requests.get_mut(queue).into_iter().flatten() {
                    let is_whole = request.lanes == 32 || combining == Combining::Any;
                    if is_whole && request.serial == request.lanes && request.lanes > 1 {
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
        Request { serial: 1, beside, ..*request }
    }
}

/// The queues of atomics that warps add up, with the warps that do.
fn queues(code: &Code) -> HashMap<usize, Combining> {
    let stands_beside = |ptx: u32, name: &str| {
        let is_it = |one: &Instruction| one.ptx == Some(ptx) && one.mnemonic.starts_with(name);
        code.instructions.iter().any(is_it)
    };
    let mut queues = HashMap::new();
    for instruction in &code.instructions {
        let Action::Access(MemoryAccess { space, kind, queue: Some(queue), .. }) =
            instruction.action
        else {
            continue;
        };
        let updates = matches!(kind, AccessKind::Atomic | AccessKind::Reduction);
        let Some(ptx) = instruction.ptx.filter(|_| updates && space != Space::Shared) else {
            continue;
        };
        if stands_beside(ptx, "REDUX") {
            queues.insert(queue as usize, Combining::Any);
        } else if stands_beside(ptx, "VOTE") {
            queues.insert(queue as usize, Combining::Whole);
        }
    }
    queues
}
