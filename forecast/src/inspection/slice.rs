//! The treatment of a kernel's instructions where only counts are wanted.

use gpucast_interpreter::{Buffers, Program, Slicer, Treatment};
use serde::Serialize;

use crate::input::loaded::Loaded;

/// The slice of a kernel on which its counts depend, if each pointer among its parameters leads to
/// a buffer of its own.
#[derive(Serialize)]
#[non_exhaustive]
pub struct KernelSlice {
    /// The reason why counting executes everything, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_sliced_because: Option<&'static str>,
    /// The parameters and variables through which it reaches the buffers whose contents it needs.
    pub needs_contents_of: Vec<String>,
    /// The instructions of the kernel and of the functions that it reaches.
    pub instructions: Vec<SlicedInstruction>,
}

/// An instruction and its treatment.
#[derive(Serialize)]
pub struct SlicedInstruction {
    /// Its line, from 1 on.
    pub line: u32,
    /// The instruction as it is written.
    pub instruction: String,
    /// Its treatment.
    pub treatment: Treated,
    /// The instruction that needs its value, for one that is executed because of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Root>,
}

/// The treatment of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treated {
    /// Executed in any case: control or synchronisation.
    Always,
    /// Executed, since a root needs its value.
    Executed,
    /// Its addresses are told, and nothing is moved.
    Addresses,
    /// Its lanes come together, and nothing is computed.
    Lanes,
    /// Counted.
    Counted,
}

impl Treated {
    /// Every treatment with the word that stands for it.
    pub const WORDS: [(Self, &'static str); 5] = [
        (Self::Always, "always"),
        (Self::Executed, "executed"),
        (Self::Addresses, "addresses"),
        (Self::Lanes, "lanes"),
        (Self::Counted, "counted"),
    ];

    /// The word that stands for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(one, _)| *one == self).map_or("", |(_, word)| word)
    }
}

/// The instruction that needs a value.
#[derive(Serialize)]
pub struct Root {
    /// Its line, from 1 on.
    pub line: u32,
    /// Its mnemonic without modifiers.
    pub opcode: &'static str,
}

impl KernelSlice {
    /// The slice of a program of a module.
    pub(super) fn of(loaded: &Loaded, program: &Program) -> Self {
        let slicer = Slicer::new(&loaded.module, program);
        let slice = slicer.slice(&slicer.distinct(), &Buffers::default());
        let all = program.instructions();
        let root = |index: u32| {
            let root = all.get(index as usize)?;
            Some(Root { line: root.line, opcode: root.instruction.opcode.text() })
        };
        let instruction = |(index, treatment): (usize, &Treatment)| {
            let one = &all[index];
            let written = loaded.source.text.get(one.instruction.span.range());
            let (treatment, root) = match *treatment {
                Treatment::Always => (Treated::Always, None),
                Treatment::Needed { root: index } => (Treated::Executed, root(index)),
                Treatment::AddressOnly => (Treated::Addresses, None),
                Treatment::SynchronisesOnly => (Treated::Lanes, None),
                Treatment::CountedOnly => (Treated::Counted, None),
            };
            let words = written.unwrap_or_default().split_whitespace().collect::<Vec<_>>();
            SlicedInstruction { line: one.line, instruction: words.join(" "), treatment, root }
        };
        let names = slicer.variables().enumerate();
        let needed = names.filter(|(index, _)| slice.buffers.contains(*index));
        let name = |(_, id): (usize, gpucast_ptx_frontend::module::VariableId)| {
            loaded.module.variables[id.index()].name.clone()
        };
        Self {
            not_sliced_because: program.not_sliced_because(),
            needs_contents_of: needed.map(name).collect(),
            instructions: slice.treatments.iter().enumerate().map(instruction).collect(),
        }
    }
}
