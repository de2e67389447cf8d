//! Machine code as it would be.

use std::collections::{BTreeMap, BTreeSet};

use gpucast_simulation::code::{
    Action, Class, Code, Instruction, MemoryAccess, Space, TensorFormat,
};
use gpucast_simulation::launch::Launch;

use super::super::editor::Editor;
use super::bytes::join_bytes;
use super::requests::joined;

/// Leaves instructions out. What they waited for, the next one of their block waits for. Nobody
/// waits for what a spill was to store: not for a load, and not for the instruction before it.
pub(super) fn leave_out(code: &mut Code, is_left_out: impl Fn(usize, &Instruction) -> bool) -> u64 {
    let mut kept: Vec<Instruction> = Vec::with_capacity(code.instructions.len());
    let mut left_out = 0;
    for block in &mut code.blocks {
        let begun = kept.len() as u32;
        let mut waits = 0;
        for index in block.start as usize..block.end as usize {
            let Some(instruction) = code.instructions.get(index) else { continue };
            if is_left_out(index, instruction) {
                left_out += 1;
                if !is_spill(instruction) {
                    waits |= instruction.control.wait_mask;
                } else if let Some(before) =
                    kept.get_mut(begun as usize..).and_then(<[_]>::last_mut)
                {
                    before.control.stall = before.control.stall.min(1);
                }
            } else {
                let mut instruction = instruction.clone();
                instruction.control.wait_mask |= waits;
                waits = 0;
                kept.push(instruction);
            }
        }
        *block = begun..kept.len() as u32;
    }
    if left_out > 0 {
        let bytes = u64::from(code.bytes) * kept.len() as u64;
        code.bytes = (bytes / code.instructions.len().max(1) as u64) as u32;
        code.instructions = kept;
    }
    left_out
}

/// Returns true if an instruction stores or loads a spilled register. Its requests are in no queue.
const fn is_spill(instruction: &Instruction) -> bool {
    matches!(instruction.action, Action::Access(access)
        if matches!(access.space, Space::Local) && access.queue.is_none())
}

/// The block of each instruction.
fn block_of(code: &Code) -> Vec<usize> {
    let mut blocks = vec![usize::MAX; code.instructions.len()];
    for (block, range) in code.blocks.iter().enumerate() {
        for index in range.clone() {
            if let Some(place) = blocks.get_mut(index as usize) {
                *place = block;
            }
        }
    }
    blocks
}

/// Each multiplication that an addition of its block follows is part of that addition.
pub(in super::super) fn fma(counts: &mut Editor) {
    counts.launches("machine multiplications in additions", "instruction", |launch, _| {
        let code = &mut launch.code;
        let mut merged = BTreeSet::new();
        for block in &code.blocks {
            for (multiply, add) in [("FMUL", "FADD"), ("DMUL", "DADD"), ("HMUL2", "HADD2")] {
                let mut open: Vec<usize> = Vec::new();
                for index in block.start as usize..block.end as usize {
                    match code
                        .instructions
                        .get(index)
                        .map(|instruction| instruction.mnemonic.as_ref())
                    {
                        Some(name) if name == multiply => open.push(index),
                        Some(name) if name == add => merged.extend(open.pop()),
                        _ => {}
                    }
                }
            }
        }
        leave_out(code, |index, _| merged.contains(&index))
    });
}

/// Nobody waits at a barrier of the CTA.
pub(in super::super) fn no_barriers(counts: &mut Editor) {
    counts.launches("machine barriers left out", "instruction", |launch, _| {
        let barrier =
            |action| matches!(action, Action::CtaBarrier { .. } | Action::CtaArrive { .. });
        leave_out(&mut launch.code, |_, instruction| barrier(instruction.action))
    });
}

/// Arithmetic waits for no earlier result: each instruction may follow the one before.
pub(in super::super) fn independent_instructions(counts: &mut Editor) {
    counts.launches("machine instructions without a wait", "instruction", |launch, _| {
        let mut touched = 0;
        for instruction in &mut launch.code.instructions {
            let computes = match instruction.class {
                Class::Fp32
                | Class::Fp16
                | Class::Fp64
                | Class::Integer
                | Class::Compare
                | Class::Shift
                | Class::IntegerMultiply
                | Class::WideMultiply
                | Class::Special
                | Class::Conversion
                | Class::WideConversion
                | Class::Tensor => true,
                Class::Shuffle
                | Class::Memory
                | Class::Texture
                | Class::Branch
                | Class::Uniform
                | Class::Other => false,
            };
            let waits =
                instruction.control.stall > 1 || instruction.control.write_barrier.is_some();
            if computes && waits {
                instruction.control.stall = instruction.control.stall.min(1);
                instruction.control.write_barrier = None;
                touched += 1;
            }
        }
        touched
    });
}

/// Clocks after which the result of a single-precision instruction is there, since Volta.
const SINGLE_PRECISION_CLOCKS: u8 = 4;

/// Double-precision arithmetic becomes single-precision arithmetic, and conversions between both
/// are left out; data keeps its width.
pub(in super::super) fn single_precision(counts: &mut Editor) {
    counts.launches("machine instructions in single precision", "instruction", |launch, _| {
        let mut touched = 0;
        for instruction in &mut launch.code.instructions {
            if instruction.class == Class::Fp64 {
                instruction.class = Class::Fp32;
                // Whoever waited for a barrier finds it open.
                instruction.control.write_barrier = None;
                instruction.control.stall = SINGLE_PRECISION_CLOCKS;
                touched += 1;
            }
        }
        touched
            + leave_out(&mut launch.code, |_, instruction| {
                instruction.class == Class::WideConversion && instruction.mnemonic == "F2F"
            })
    });
}

/// Machine instructions of one PTX instruction from which it counts as expanded.
const EXPANSION: usize = 4;

/// Divisions, remainders, roots and transcendentals take one instruction of the usual rate.
pub(in super::super) fn fast_arithmetic(counts: &mut Editor) {
    counts.launches("machine instructions of slow arithmetic", "instruction", |launch, facts| {
        let code = &mut launch.code;
        let mut of_ptx: BTreeMap<u32, usize> = BTreeMap::new();
        for instruction in &code.instructions {
            if let (Action::Compute, Some(ptx)) = (instruction.action, instruction.ptx) {
                *of_ptx.entry(ptx).or_default() += 1;
            }
        }
        let is_slow = |ptx: &u32| facts.slow.contains(ptx);
        let blocks = block_of(code);
        let mut touched = 0;
        let mut seen: BTreeSet<(u32, usize)> = BTreeSet::new();
        let mut left_out = BTreeSet::new();
        for (index, instruction) in code.instructions.iter_mut().enumerate() {
            let Some(ptx) = instruction.ptx.filter(is_slow) else { continue };
            if instruction.action != Action::Compute || instruction.class == Class::Branch {
                continue;
            }
            let expanded = of_ptx.get(&ptx).is_some_and(|&count| count >= EXPANSION);
            if expanded && !seen.insert((ptx, blocks[index])) {
                left_out.insert(index);
            } else if matches!(instruction.class, Class::Special | Class::Conversion) {
                instruction.class = Class::Fp32;
                touched += 1;
            }
        }
        touched + leave_out(code, |index, _| left_out.contains(&index))
    });
}

/// Arrays and spilled registers in local memory stay in registers.
pub(in super::super) fn no_local_memory(counts: &mut Editor) {
    counts.launches("machine accesses to local memory left out", "instruction", |launch, facts| {
        leave_out(&mut launch.code, |_, instruction| match instruction.action {
            Action::Access(access) => {
                access.space == Space::Local
                    || instruction.ptx.is_some_and(|ptx| facts.local.contains(&ptx))
            }
            _ => false,
        })
    });
}

/// Loads of a value that the same block loaded before are left out: the register still holds it.
pub(in super::super) fn merged_loads(counts: &mut Editor) {
    counts.launches("machine loads merged", "instruction", |launch, facts| {
        leave_out(&mut launch.code, |_, instruction| {
            matches!(instruction.action, Action::Access(_))
                && instruction.ptx.is_some_and(|ptx| facts.repeated.contains(&ptx))
        })
    });
}

/// Accesses of a loop whose address stays the same are done before and behind it.
pub(in super::super) fn hoisted_accesses(counts: &mut Editor) {
    counts.launches("machine accesses hoisted", "instruction", |launch, facts| {
        leave_out(&mut launch.code, |_, instruction| {
            matches!(instruction.action, Action::Access(_))
                && instruction.ptx.is_some_and(|ptx| facts.invariant.contains(&ptx))
        })
    });
}

/// Accesses of a thread to neighbouring addresses are one wide access. So are loads of bytes in
/// rounds of a loop.
pub(in super::super) fn vector_accesses(counts: &mut Editor) {
    counts.launches("machine accesses joined", "instruction", |launch, facts| {
        join_groups(launch, &facts.neighbours) + join_bytes(launch, facts)
    });
}

/// Joins the accesses of each group. Returns how many machine instructions that spares.
pub(super) fn join_groups<'a>(
    launch: &mut Launch,
    groups: impl IntoIterator<Item = &'a Vec<u32>>,
) -> u64 {
    let mut left_out = BTreeSet::new();
    for group in groups {
        join_group(launch, group, &mut left_out);
    }
    leave_out(&mut launch.code, |index, _| left_out.contains(&index))
}

/// Joins the accesses of one group, if each of them is one machine instruction of its own queue.
fn join_group(launch: &mut Launch, group: &[u32], left_out: &mut BTreeSet<usize>) {
    let mut members: Vec<(usize, MemoryAccess)> = Vec::new();
    for &ptx in group {
        let mut of_ptx = launch.code.instructions.iter().enumerate().filter_map(|(index, one)| {
            match one.action {
                Action::Access(access) if one.ptx == Some(ptx) => Some((index, access)),
                _ => None,
            }
        });
        match (of_ptx.next(), of_ptx.next()) {
            (Some((index, access)), None) if access.queue.is_some() => {
                members.push((index, access))
            }
            _ => return,
        }
    }
    let [(first, access), others @ ..] = members.as_slice() else { return };
    if others.is_empty() {
        return;
    }
    let bytes: u32 = members.iter().map(|(_, access)| access.bytes).sum();
    let queue = |access: &MemoryAccess| access.queue.map_or(usize::MAX, |queue| queue as usize);
    let samples = launch.classes.iter_mut().flat_map(|class| &mut class.samples);
    for warp in samples.flat_map(|sample| &mut sample.warps) {
        let of_others: Vec<_> = others
            .iter()
            .map(|(_, access)| warp.requests.get(queue(access)).cloned().unwrap_or_default())
            .collect();
        let Some(requests) = warp.requests.get_mut(queue(access)) else { continue };
        for (at, request) in requests.iter_mut().enumerate() {
            let beside: Vec<_> =
                of_others.iter().filter_map(|requests| requests.get(at)).copied().collect();
            *request = joined(request, &beside, bytes);
        }
    }
    if let Action::Access(access) = &mut launch.code.instructions[*first].action {
        access.bytes = bytes;
    }
    left_out.extend(others.iter().map(|(index, _)| *index));
}

/// Multiply-adds of one product by tensor cores, m16n8k16.
const PRODUCT_MULTIPLY_ADDS: u32 = 16 * 8 * 16;
/// Multiply-adds of one half-precision instruction of a warp: two in each of 32 lanes.
const PACKED_MULTIPLY_ADDS: u32 = 64;

/// Packed half-precision multiply-adds are done by products of tensor cores.
pub(in super::super) fn tensor_cores(counts: &mut Editor) {
    counts.launches("machine multiply-adds on tensor cores", "instruction", |launch, _| {
        let code = &mut launch.code;
        let in_one = (PRODUCT_MULTIPLY_ADDS / PACKED_MULTIPLY_ADDS) as usize;
        let mut left_out = BTreeSet::new();
        for block in code.blocks.clone() {
            let is_one = |&index: &usize| {
                code.instructions
                    .get(index)
                    .is_some_and(|instruction| instruction.mnemonic.as_ref() == "HFMA2")
            };
            let all: Vec<usize> =
                (block.start as usize..block.end as usize).filter(is_one).collect();
            for product in all.chunks(in_one) {
                let (Some(&last), multiply_adds) =
                    (product.last(), PACKED_MULTIPLY_ADDS * product.len() as u32)
                else {
                    continue;
                };
                left_out.extend(product.iter().copied().filter(|&index| index != last));
                let instruction = &mut code.instructions[last];
                instruction.class = Class::Tensor;
                instruction.action = Action::Multiply {
                    multiply_adds,
                    format: TensorFormat::HalfInHalf,
                    is_asynchronous: false,
                    ends_group: false,
                };
            }
        }
        leave_out(code, |index, _| left_out.contains(&index))
    });
}
