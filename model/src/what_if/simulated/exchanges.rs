//! Sums over threads, by shuffles.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use gpucast_simulation::code::{AccessKind, Action, Class, Code, Instruction, Space};
use gpucast_simulation::launch::{CtaTrace, Launch};

use super::super::editor::Editor;
use super::code::leave_out;
use super::requests::Diffusion;
use crate::predictor::InstructionFacts;

/// Rounds of a sum over the lanes of a warp.
const ROUNDS_OF_WARP: usize = 5;

/// Rounds of sums over threads go by shuffles. In a round, the loads from shared memory become one
/// shuffle, and the store and the barrier are left out. The first warp does all rounds: those of
/// its lanes, and then those of the warps' sums. The others do those of their lanes.
///
/// What stands before and behind the rounds stays: it hands the warps' sums over, as the access and
/// the barrier there did. Where a compiler has unrolled the rounds, all warps do all of them, and
/// the first store and two barriers stay.
pub(in super::super) fn shuffles(counts: &mut Editor) {
    counts.launches("recorded executions of rounds left out", "block", |launch, facts| {
        let Launch { code, classes, .. } = launch;
        let rounds = rounds(code, classes.iter().flat_map(|class| &class.samples), facts);
        if rounds.is_empty() {
            let is_barrier = |one: &&Instruction| matches!(one.action, Action::CtaBarrier { .. });
            let barriers = code.instructions.iter().filter(is_barrier).count();
            let all = (0..code.blocks.len() as u32).collect();
            let is_unrolled = barriers >= ROUNDS_OF_WARP;
            return if is_unrolled { shuffle(code, &all, facts, Kept::ONE_SUM) } else { 0 };
        }
        let samples = classes.iter_mut().flat_map(|class| &mut class.samples);
        let left_out: u64 = samples.map(|sample| shorten_paths(sample, &rounds)).sum();
        left_out + shuffle(code, &rounds, facts, Kept::default())
    });
}

fn is_exchange(instruction: &Instruction, facts: &InstructionFacts) -> bool {
    matches!(instruction.action, Action::Access(access) if access.space == Space::Shared)
        && instruction.ptx.is_some_and(|ptx| facts.exchanges.contains(&ptx))
}

/// The blocks that some warp executes in every round: they have the accesses, and the barriers.
/// None if no round has both.
fn rounds<'a>(
    code: &Code,
    samples: impl Iterator<Item = &'a CtaTrace>,
    facts: &InstructionFacts,
) -> BTreeSet<u32> {
    let mut executions = vec![0; code.blocks.len()];
    for warp in samples.flat_map(|sample| &sample.warps) {
        let mut of_warp = vec![0; code.blocks.len()];
        for &block in &warp.path {
            if let Some(count) = of_warp.get_mut(block as usize) {
                *count += 1;
            }
        }
        for (most, count) in executions.iter_mut().zip(of_warp) {
            *most = count.max(*most);
        }
    }
    let repeated = || (0..).zip(&executions).filter(|(_, count)| **count >= ROUNDS_OF_WARP);
    let with = |is_meant: &dyn Fn(&Instruction) -> bool| -> BTreeSet<u32> {
        let has = |block: &u32| {
            let range = code.range(*block as usize);
            let instructions = code.instructions.get(range.start as usize..range.end as usize);
            instructions.into_iter().flatten().any(is_meant)
        };
        repeated().map(|(block, _)| block).filter(has).collect()
    };
    let accesses = with(&|one| is_exchange(one, facts));
    let barriers = with(&|one| matches!(one.action, Action::CtaBarrier { .. }));
    if accesses.is_empty() || barriers.is_empty() { BTreeSet::new() } else { &accesses | &barriers }
}

/// All warps but the first do the rounds of their lanes. Returns how many executions that spares.
fn shorten_paths(cta: &mut CtaTrace, rounds: &BTreeSet<u32>) -> u64 {
    let rounds_of_cta = (32 * cta.warps.len()).next_power_of_two().ilog2() as usize;
    let share = ROUNDS_OF_WARP as f64 / rounds_of_cta.max(ROUNDS_OF_WARP) as f64;
    let mut left_out = 0;
    for warp in cta.warps.iter_mut().skip(1) {
        let before = warp.path.len();
        let mut kept: BTreeMap<u32, Diffusion> = BTreeMap::new();
        warp.path.retain(|&block| {
            !rounds.contains(&block) || kept.entry(block).or_default().take(share, 1) == 1
        });
        left_out += (before - warp.path.len()) as u64;
    }
    left_out
}

/// What hands the warps' sums over, where it stands among the rounds.
#[derive(Clone, Copy, Default)]
struct Kept {
    stores: u32,
    barriers: u32,
}

impl Kept {
    const ONE_SUM: Self = Self { stores: 1, barriers: 2 };
}

/// Loads of a round become a shuffle, stores and barriers nothing, but for the first ones.
fn shuffle(
    code: &mut Code,
    rounds: &BTreeSet<u32>,
    facts: &InstructionFacts,
    mut kept: Kept,
) -> u64 {
    let is_left_out = |kept: &mut u32| {
        let is_kept = *kept > 0;
        *kept -= u32::from(is_kept);
        !is_kept
    };
    let mut left_out = BTreeSet::new();
    for &block in rounds {
        // A store ends a round.
        let mut is_shuffled = false;
        for index in code.range(block as usize) {
            let Some(instruction) = code.instructions.get_mut(index as usize) else { continue };
            let spares = match instruction.action {
                Action::CtaBarrier { .. } => is_left_out(&mut kept.barriers),
                Action::Access(access) if is_exchange(instruction, facts) => {
                    if access.kind != AccessKind::Load {
                        is_shuffled = false;
                        is_left_out(&mut kept.stores)
                    } else if is_shuffled {
                        true
                    } else {
                        is_shuffled = true;
                        instruction.mnemonic = Cow::Borrowed("SHFL");
                        instruction.class = Class::Shuffle;
                        instruction.action = Action::Compute;
                        false
                    }
                }
                _ => false,
            };
            if spares {
                left_out.insert(index as usize);
            }
        }
    }
    leave_out(code, |index, _| left_out.contains(&index))
}
