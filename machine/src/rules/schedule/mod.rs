//! Machine code with scheduling fields, as an assembler would write it, and recorded CTAs on it.
//!
//! ```text
//! emission ─► layout ─► depend ─► order ──► control ─► code
//!             blocks    uses,     list      stalls,
//!                       memory    schedule  barriers
//! trace ────► walk ─► paths and requests
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `layout` | blocks of machine code, and the blocks of PTX that they stand for |
//! | `node` | an instruction: unit, action, access |
//! | `depend` | the instructions of a block and what each of them uses |
//! | `constants` | the constants that instructions read |
//! | `effects` | accesses to memory that must stay in order |
//! | `latency` | fixed latencies of each generation |
//! | `order` | list scheduling |
//! | `pressure` | live values |
//! | `control` | stall counts and barriers |
//! | `walk` | recorded warps |
//!
//! An assembler is imitated as far as time depends on it. Registers are not assigned: there are no
//! spills, no read barriers and no bank conflicts, and loads move as far forward as dependences
//! allow.

mod constants;
mod control;
mod depend;
mod effects;
mod latency;
mod layout;
mod node;
mod order;
mod pressure;
mod walk;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::trace::{ClassTrace, LaunchTrace};
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::Combining;
use gpucast_simulation::code::{Class, Code, Instruction};
use gpucast_simulation::launch::{CtaClass, Launch};

use super::Compiled;
use super::emit::Role;
use super::family::Family;
use crate::unit_class::unit_class;
use constants::Banks;
use control::{Ordered, controls};
use depend::Places;
use latency::Latencies;
use layout::Layout;
use node::{Node, reads_special_registers};
use walk::{Queue, Walker};

/// The simulated launch of a program that the rules have translated; see [`Compiled::schedule`].
pub(super) fn schedule(compiled: &Compiled<'_>, trace: &LaunchTrace) -> Launch {
    let layout = Layout::new(&compiled.graph);
    let queues = queues(compiled, trace);
    let code = code(compiled, &layout, &queues);
    let lengths: Vec<u32> = code.blocks.iter().map(|block| block.end - block.start).collect();
    let walker = Walker { compiled, layout: &layout, lengths: &lengths, queues: &queues };
    let classes = classes(&walker, &trace.classes);
    let order = if classes.is_empty() { Vec::new() } else { trace.order.clone() };
    let combining = combining(compiled, &queues);
    Launch {
        code,
        classes,
        order,
        dram_writes_per_store: trace.dram_writes_per_store,
        tensor_columns: trace.tensor_columns,
        turns: trace.turns.clone(),
    }
    .with_equal_pairs()
    .with_combined_atomics(&combining)
}

/// The queues of atomics that fewer lanes execute than the PTX says.
fn combining(compiled: &Compiled<'_>, queues: &[Queue]) -> HashMap<u32, Combining> {
    let kinds: HashMap<u32, Combining> = compiled
        .emission
        .instructions
        .iter()
        .filter_map(|emitted| Some((emitted.operation, emitted.selected.combining?)))
        .collect();
    (0..)
        .zip(queues)
        .filter_map(|(number, queue)| Some((number, *kinds.get(&queue.operation)?)))
        .collect()
}

/// The operations whose requests machine instructions take, in order.
fn queues(compiled: &Compiled<'_>, trace: &LaunchTrace) -> Vec<Queue> {
    let is_recorded = |operation: u32| {
        let samples = trace.classes.iter().flat_map(|class| &class.samples);
        samples.flat_map(|cta| &cta.warps).any(|warp| warp.requests.contains_key(&operation))
    };
    let mut parts: BTreeMap<u32, u32> = BTreeMap::new();
    for emitted in &compiled.emission.instructions {
        let op = compiled.graph.op(emitted.operation);
        let accesses = emitted.selected.access.is_some() && depend::draws(op, emitted);
        let copies = emitted.role == Role::Own && is_recorded(emitted.operation);
        if accesses || copies {
            // Constants may not be recorded: they come from their cache.
            let is_constant = matches!(
                emitted.selected.access.and_then(|access| access.space),
                Some(StateSpace::Const | StateSpace::Param)
            );
            if !is_constant || copies {
                let count = if accesses { emitted.selected.count } else { 0 };
                *parts.entry(emitted.operation).or_default() += count;
            }
        }
    }
    let queue = |(operation, parts)| {
        let leads = |access: &&super::passes::MergedAccess| access.leader == operation;
        let followers = compiled.merged.iter().find(leads).map(|access| access.followers.clone());
        let op = compiled.graph.op(operation);
        let space = node::space(op.memory.and_then(|memory| memory.space));
        Queue { operation, space, followers: followers.unwrap_or_default(), parts }
    };
    parts.into_iter().map(queue).collect()
}

/// The machine code.
fn code(compiled: &Compiled<'_>, layout: &Layout, queues: &[Queue]) -> Code {
    let target = compiled.target;
    let latencies = Latencies::of(target);
    let banks = Banks::new(compiled.program, Family::of(target).family(), target.sm());
    let numbers: HashMap<u32, u32> =
        (0..).zip(queues).map(|(number, queue)| (queue.operation, number)).collect();
    let blocks = ordered(compiled, layout, latencies, &banks, &numbers);
    let mut code = Code { queues: queues.len() as u32, ..Code::default() };
    for (block, controls) in blocks.iter().zip(controls(&blocks, latencies)) {
        let start = code.instructions.len() as u32;
        for (&index, control) in block.order.nodes.iter().zip(controls) {
            let node = &block.body.nodes[index as usize];
            code.instructions.push(Instruction {
                mnemonic: Cow::Borrowed(node.mnemonic),
                class: simulated_class(node),
                action: node.action,
                control,
                ptx: Some(node.operation),
                constant: node.constant,
            });
        }
        code.blocks.push(start..code.instructions.len() as u32);
    }
    code.bytes = code_bytes(target, code.instructions.len());
    code
}

/// The blocks of machine code, each in its order.
fn ordered(
    compiled: &Compiled<'_>,
    layout: &Layout,
    latencies: &Latencies,
    banks: &Banks<'_>,
    queues: &HashMap<u32, u32>,
) -> Vec<Ordered> {
    let places = Places::new(compiled, banks, queues);
    let ordered = |block: &layout::Block| {
        let body = places.body(&block.content);
        let order = order::order(&body.nodes, latencies);
        Ordered { body, order, successors: block.successors.clone() }
    };
    layout.blocks.iter().map(ordered).collect()
}

/// The most words that live values of the machine code take at the same time.
pub(super) fn live_words(compiled: &Compiled<'_>) -> u32 {
    let target = compiled.target;
    let banks = Banks::new(compiled.program, Family::of(target).family(), target.sm());
    let (layout, latencies) = (Layout::new(&compiled.graph), Latencies::of(target));
    let blocks = ordered(compiled, &layout, latencies, &banks, &HashMap::new());
    pressure::most_words(&compiled.graph, &blocks)
}

/// The class that tells the unit and the latency. No unit of conversions reads special registers.
fn simulated_class(node: &Node) -> Class {
    match unit_class(node.mnemonic) {
        Some(class) if reads_special_registers(node.mnemonic) => class,
        _ => node.class,
    }
}

/// Bytes of some instructions: 16 each since Volta. Before, 8 each, and as much again for the
/// scheduling fields of seven (Kepler) or three (Maxwell, Pascal).
fn code_bytes(target: Architecture, instructions: usize) -> u32 {
    let bytes = match target.sm() {
        0..30 => 8 * instructions,
        30..50 => 8 * (instructions + instructions.div_ceil(7)),
        50..70 => 8 * (instructions + instructions.div_ceil(3)),
        _ => 16 * instructions,
    };
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The classes of CTAs with their samples; none if nothing was recorded.
fn classes(walker: &Walker<'_, '_>, classes: &[ClassTrace]) -> Vec<CtaClass> {
    let recorded: Vec<&ClassTrace> =
        classes.iter().filter(|class| !class.samples.is_empty()).collect();
    let mut launch = Vec::with_capacity(classes.len());
    for class in classes {
        let distance =
            |other: &&&ClassTrace| other.warp_instructions.abs_diff(class.warp_instructions);
        let own = Some(&class).filter(|class| !class.samples.is_empty());
        let Some(from) = own.or_else(|| recorded.iter().min_by_key(distance)) else {
            return Vec::new();
        };
        let scale = if own.is_some() || from.warp_instructions == 0 {
            1.0
        } else {
            class.warp_instructions as f64 / from.warp_instructions as f64
        };
        let samples = from.samples.iter().map(|sample| walker.cta(sample)).collect();
        launch.push(CtaClass { samples, scale });
    }
    launch
}
