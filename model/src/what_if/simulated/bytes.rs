//! Loads of bytes in rounds of a loop, to vectors.

use std::borrow::Cow;

use gpucast_simulation::code::{Action, Class, Control, Instruction, MemoryAccess};
use gpucast_simulation::launch::Launch;

use super::merged::nth_of;
use super::requests::{Diffusion, joined};
use crate::predictor::InstructionFacts;

/// A lane takes the bytes of several rounds in one load. The loop does work on data for each round,
/// and all else once. One more instruction takes each byte out of its word. Returns how many loads
/// are wider.
pub(super) fn join_bytes(launch: &mut Launch, facts: &InstructionFacts) -> u64 {
    let mut all: Vec<Instruction> = Vec::with_capacity(launch.code.instructions.len());
    let mut rounds_of_block = vec![1; launch.code.blocks.len()];
    let mut loads = Vec::new();
    let range = |range: &std::ops::Range<u32>| range.start as usize..range.end as usize;
    for (block, rounds_of_block) in launch.code.blocks.iter_mut().zip(&mut rounds_of_block) {
        let begun = all.len() as u32;
        let instructions = launch.code.instructions.get(range(block)).unwrap_or_default();
        let rounds = |one: &Instruction| facts.bytes.get(one.ptx.as_ref()?).copied();
        let fewest = instructions.iter().filter_map(rounds).min().unwrap_or(1);
        *rounds_of_block = fewest;
        for instruction in instructions {
            let is_load = rounds(instruction).is_some();
            match instruction.action {
                Action::Access(access) if is_load && fewest > 1 => {
                    let access = MemoryAccess { bytes: access.bytes * fewest, ..access };
                    loads.extend(access.queue.map(|queue| (queue as usize, fewest, access.bytes)));
                    let wide =
                        Instruction { action: Action::Access(access), ..instruction.clone() };
                    all.push(wide);
                    all.extend((0..fewest).map(|_| taken_out(instruction.ptx)));
                }
                _ => {
                    let differs = instruction.ptx.is_some_and(|ptx| facts.work.contains_key(&ptx));
                    let times = if differs { fewest.into() } else { 1 };
                    all.extend((0..times).map(|at| Instruction {
                        control: nth_of(instruction.control, at, times),
                        ..instruction.clone()
                    }));
                }
            }
        }
        *block = begun..all.len() as u32;
    }
    if loads.is_empty() {
        return 0;
    }
    launch.code.instructions = all;
    for warp in launch
        .classes
        .iter_mut()
        .flat_map(|class| &mut class.samples)
        .flat_map(|sample| &mut sample.warps)
    {
        let mut kept: Vec<Diffusion> = rounds_of_block
            .iter()
            .map(|&rounds| Diffusion::rounding_up(1.0 / f64::from(rounds)))
            .collect();
        warp.path.retain(|&block| match rounds_of_block.get(block as usize) {
            Some(&rounds) if rounds > 1 => {
                kept[block as usize].take(1.0 / f64::from(rounds), 1) == 1
            }
            _ => true,
        });
        for &(queue, rounds, bytes) in &loads {
            let Some(requests) = warp.requests.get_mut(queue) else { continue };
            let wide = requests.chunks(rounds as usize).filter_map(|together| {
                let (first, others) = together.split_first()?;
                Some(joined(first, others, bytes))
            });
            *requests = wide.collect();
        }
    }
    loads.len() as u64
}

/// The instruction that takes a byte out of a word.
const fn taken_out(ptx: Option<u32>) -> Instruction {
    Instruction {
        mnemonic: Cow::Borrowed("PRMT"),
        class: Class::Integer,
        action: Action::Compute,
        control: Control::NEXT,
        ptx,
        constant: None,
    }
}
