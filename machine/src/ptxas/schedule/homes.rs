//! PTX blocks that have become guarded instructions in the machine code of another one.

use gpucast_simulation::code::Code;

use super::super::isa::Guard;
use super::super::listing::Listing;
use super::solutions::Executions;
use crate::replay::{Nest, Plan, Rate};

/// For each PTX block, the one whose visits bring about its guarded instructions; itself if that
/// is not known of all that take requests.
pub(super) fn homes(
    listing: &Listing<'_>,
    code: &Code,
    (plan, executions): (&Plan, &Executions),
    loops: &Nest,
) -> Vec<u32> {
    let mut anchors = vec![None; listing.code.blocks.len()];
    for (anchor, followers) in (0..).zip(&plan.by_ptx_block) {
        for follower in followers {
            if let Rate::Share { executions, visits } = follower.rate
                && executions == visits
            {
                anchors[follower.block as usize] = Some(anchor);
            }
        }
    }
    let visits = |block: u32| executions.counts.visits(block as usize);
    let mut found: Vec<Option<u32>> = vec![None; plan.by_ptx_block.len()];
    for (block, anchor) in listing.code.blocks.iter().zip(anchors) {
        for index in block.instructions.clone() {
            let takes_requests = code.instructions[index].action.queue().is_some();
            let Some(ptx) = listing.ptx[index].filter(|_| takes_requests) else { continue };
            let own = listing.loops.block(ptx);
            let is_guarded = listing.code.instructions[index].decoded.guard == Guard::Sometimes;
            let is_home = |&anchor: &u32| {
                visits(anchor) > visits(own)
                    && loops.innermost(anchor as usize) == loops.innermost(own as usize)
            };
            let home = anchor.filter(|_| is_guarded).filter(is_home).unwrap_or(own);
            let agreed = found[own as usize].is_none_or(|known| known == home);
            found[own as usize] = Some(if agreed { home } else { own });
        }
    }
    (0..).zip(found).map(|(block, home)| home.unwrap_or(block)).collect()
}
