//! Machine code with scheduling fields, as an assembler would write it, and recorded CTAs on it.
//!
//! ```text
//! emission ─► layout ─► depend ─► order ──► control ─► code ─┐
//!             blocks    uses,     list      stalls,          ├─► replay ─► launch
//!                       memory    schedule  barriers         │
//! trace ────► queues ────────────────────────────────────────┘
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
//! | `queues` | the operations whose requests machine instructions take |
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
mod queues;

use std::borrow::Cow;
use std::collections::HashMap;

use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::trace::LaunchTrace;
use gpucast_simulation::code::{Class, Code, Instruction};
use gpucast_simulation::launch::Launch;

use super::Compiled;
use super::branches::home;
use super::family::Family;
use crate::replay::{self, MachineListing, Queue};
use crate::unit_class::unit_class;
use constants::Banks;
use control::{Ordered, controls};
use depend::Places;
use latency::Latencies;
use layout::Layout;
use node::{Node, reads_special_registers};
use queues::{combining, queues};

/// The simulated launch of a program that the rules have translated; see [`Compiled::schedule`].
pub(super) fn schedule(compiled: &Compiled<'_>, trace: &LaunchTrace) -> Launch {
    let layout = Layout::new(&compiled.graph);
    let queues = queues(compiled, trace);
    let code = code(compiled, &layout, &queues);
    let combining = combining(compiled, &queues);
    let blocks = 0..compiled.graph.blocks.len() as u32;
    let listing = MachineListing {
        lengths: code.blocks.iter().map(|block| block.end - block.start).collect(),
        ptx_lengths: replay::ptx_lengths(compiled.program),
        loops: layout.unrolled(),
        homes: blocks.map(|block| home(&compiled.graph, block)).collect(),
        queues,
        // A visit brings about two machine blocks at most, so the recording's limit is enough.
        most_visits: usize::MAX,
    };
    replay::launch(code, &listing, &mut layout.plan(), trace, &combining)
}

/// The machine code.
fn code(compiled: &Compiled<'_>, layout: &Layout, queues: &[Queue]) -> Code {
    let target = compiled.target;
    let latencies = Latencies::of(target);
    let banks = Banks::new(compiled.program, Family::of(target).family(), target.sm());
    let numbers: HashMap<u32, u32> =
        (0..).zip(queues).map(|(number, queue)| (queue.ptx, number)).collect();
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
