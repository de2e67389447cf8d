//! The queues of requests that machine instructions take.
//!
//! If the assembler joined accesses of several PTX instructions into a wider one, its line names
//! one of them. Then requests of all of them are joined.

use std::collections::{BTreeMap, HashMap};

use gpucast_counters::trace::LaunchTrace;
use gpucast_ptx_frontend::module::{Address, Instruction as PtxInstruction, Operand};
use gpucast_simulation::code::Space;

use super::super::listing::{Listing, bytes_accessed};
use crate::replay::{self, Draw};

/// The queues of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Queues {
    /// The number of the queue of each PTX instruction, and what it holds.
    by_ptx: BTreeMap<u32, Queue>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Queue {
    number: u32,
    spaces: Vec<Space>,
    /// Instructions whose accesses became part of this one's.
    joined: Vec<u32>,
}

impl Queues {
    pub(super) fn new(listing: &Listing<'_>, trace: &LaunchTrace) -> Self {
        let mut by_ptx: BTreeMap<u32, Queue> = BTreeMap::new();
        let samples = trace.classes.iter().flat_map(|class| &class.samples);
        for (&ptx, requests) in samples.flat_map(|cta| &cta.warps).flat_map(|warp| &warp.requests) {
            let spaces = &mut by_ptx.entry(ptx).or_default().spaces;
            for request in requests {
                if !spaces.contains(&request.space) {
                    spaces.push(request.space);
                }
            }
        }
        for (number, queue) in (0..).zip(by_ptx.values_mut()) {
            queue.number = number;
        }
        let widths = widths(listing);
        let queued: Vec<u32> = by_ptx.keys().copied().collect();
        for (&ptx, queue) in &mut by_ptx {
            let own = bytes_accessed(listing.instruction(ptx));
            let Some(&width) = widths.get(&ptx).filter(|&&width| width > own) else { continue };
            let became_part = |&other: &u32| {
                !widths.contains_key(&other) && listing.are_joined(ptx, other, width)
            };
            queue.joined = queued.iter().copied().filter(became_part).collect();
        }
        Self { by_ptx }
    }

    /// Queues in all.
    pub(super) fn len(&self) -> usize {
        self.by_ptx.len()
    }

    /// The queue of an access to `space` that stands for a PTX instruction. A spill is no access of
    /// the instruction that its line names.
    pub(super) fn queue(&self, ptx: u32, space: Space) -> Option<u32> {
        let queue = self.by_ptx.get(&ptx)?;
        (space == Space::Generic || queue.spaces.contains(&space)).then_some(queue.number)
    }

    /// The queues by number. Where a block has become guarded instructions, it is known which
    /// executions take their requests.
    pub(super) fn sources(&self, listing: &Listing<'_>, homes: &[u32]) -> Vec<replay::Queue> {
        let source = |(&ptx, queue): (&u32, &Queue)| {
            let block = listing.loops.block(ptx);
            let space = queue.spaces.first().copied().unwrap_or(Space::Generic);
            let is_guarded = homes[block as usize] != block;
            let draw = is_guarded.then_some(Draw { block, space, parts: 1 });
            replay::Queue { ptx, joined: queue.joined.clone(), draw }
        };
        self.by_ptx.iter().map(source).collect()
    }
}

/// The most bytes that a machine access for each PTX instruction moves; none if there is no such
/// access.
fn widths(listing: &Listing<'_>) -> HashMap<u32, u32> {
    let mut widths = HashMap::new();
    for (index, ptx) in listing.ptx.iter().enumerate() {
        if let (Some(ptx), Some(_)) = (ptx, listing.meanings[index].access) {
            let bytes = listing.code.instructions[index].decoded.bytes.unwrap_or(0);
            let most = widths.entry(*ptx).or_insert(bytes);
            *most = bytes.max(*most);
        }
    }
    widths
}

impl Listing<'_> {
    /// Returns true if an access of `width` bytes for one PTX instruction can hold that of another
    /// one: both stand in one block and have the same base register.
    fn are_joined(&self, one: u32, other: u32, width: u32) -> bool {
        let [a, b] = [one, other].map(|ptx| self.instruction(ptx));
        if one == other || self.loops.block(one) != self.loops.block(other) || a.opcode != b.opcode
        {
            return false;
        }
        match (address(a), address(b)) {
            (Some(a), Some(b)) => {
                a.base == b.base && a.offset.abs_diff(b.offset) < u64::from(width)
            }
            _ => false,
        }
    }
}

fn address(instruction: &PtxInstruction) -> Option<&Address> {
    instruction.operands.iter().find_map(|operand| match operand {
        Operand::Address(address) => Some(address),
        _ => None,
    })
}
