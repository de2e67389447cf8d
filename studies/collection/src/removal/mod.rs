//! Removal of work from a kernel (Stevens and Klöckner 2020, section 7.1.1, algorithm 3).
//!
//! Arithmetic, accesses on the chip, barriers, and chosen accesses of global memory go. Loops,
//! addresses and the other accesses stay. What the kept loads read is summed in variables that kept
//! stores write, so that no compiler leaves the loads out.
//!
//! ```text
//! PTX ──► roots (variables that an address is made from) ──► fates of accesses
//!                                                               │
//!         needed (values of branches, guards, addresses) ◄──────┘
//!                         │
//!                         └──► rewriting (edits of the text)
//! ```
//!
//! The paper works on the statements of a Loopy program, and this on the instructions of anybody's
//! PTX. A kept access has the address and the guard that it had. The ways of threads are the same,
//! because every value that a branch needs stays. Its counts are therefore those of the original.

mod needed;
mod rewriting;
mod roots;

use std::collections::{BTreeMap, BTreeSet};

use gpucast_ptx_frontend::isa::{Effect, Opcode, opcode_facts};
use gpucast_ptx_frontend::module::{
    Function, FunctionKind, Instruction, Module, Operand, VariableId,
};
use gpucast_ptx_frontend::source::{Diagnostic, Span};
use gpucast_ptx_frontend::types::StateSpace;

use needed::Needed;
use roots::Roots;

/// What becomes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
}

/// What becomes of the accesses of global memory, by the parameter or variable that leads there.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Parameters and variables by name.
    pub named: BTreeMap<String, Fate>,
    /// All others.
    pub others: Fate,
}

impl Wanted {
    fn of(&self, name: &str) -> Fate {
        self.named.get(name).copied().unwrap_or(self.others)
    }
}

/// A kernel without work.
#[derive(Clone, Debug, PartialEq)]
pub struct Stripped {
    /// The module.
    pub text: String,
    /// Accesses that stay, as lines of the original text, counted from one.
    pub kept: Vec<u32>,
    /// Accesses that were to go, and stay because an address, a guard or a branch needs them.
    pub needed: Vec<u32>,
    /// A parameter that was added: a pointer to an element for each thread of the grid.
    pub destination: Option<Destination>,
}

/// A buffer with an element for each thread of the grid, to which the sums go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The parameter's name; it is the last one.
    pub name: String,
    /// The type of the elements: `f32`, `f64` or `u32`.
    pub ty: &'static str,
}

/// Reason why work cannot be removed from a kernel.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RemovalError {
    /// The text is not PTX.
    #[error("{}", .0.first().map_or("the text is no PTX", |error| error.message.as_str()))]
    Text(Vec<Diagnostic>),
    /// There is no such kernel.
    #[error("there is no kernel `{0}`")]
    NoKernel(String),
    /// An instruction that cannot be kept, removed or replaced.
    #[error("{reason}")]
    Instruction {
        /// Its place.
        span: Span,
        /// The reason, as a sentence without a full stop.
        reason: String,
    },
    /// The module has another form than the rewriting understands.
    #[error("{0}")]
    Form(String),
}

/// Removes work from a kernel of a PTX text.
///
/// # Errors
///
/// A text or a kernel that is not there, an access that may lead to buffers of both fates, a branch
/// or address that depends on shared or local memory, calls, and asynchronous copies of a kept
/// buffer.
pub fn strip(text: &str, kernel: &str, wanted: &Wanted) -> Result<Stripped, RemovalError> {
    let module = gpucast_ptx_frontend::load(text).map_err(RemovalError::Text)?;
    let entry = |function: &&Function| {
        function.name == kernel && function.kind == FunctionKind::Entry && function.body.is_some()
    };
    let function = module.functions.iter().find(entry);
    let function = function.ok_or_else(|| RemovalError::NoKernel(kernel.to_owned()))?;
    let instructions =
        function.body.as_ref().map(|body| body.instructions.as_slice()).unwrap_or_default();
    let roots = Roots::of(&module, function, instructions);
    let mut actions = Vec::new();
    for instruction in instructions {
        actions.push(action(&module, &roots, instruction, wanted)?);
    }
    let needed = Needed::of(function, instructions, &actions, &roots)?;
    let stripped = rewriting::rewritten(text, &module, function, instructions, &actions, &needed)?;
    // Whoever gets a text may rely on it.
    gpucast_ptx_frontend::load(&stripped.text).map_err(RemovalError::Text)?;
    Ok(stripped)
}

/// What an instruction is for the removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A way of control: it stays with what it reads.
    Control,
    /// A load of global memory that stays, with its address.
    Load,
    /// A store to global memory that stays, with its address and another value.
    Store,
    /// An atomic operation that stays with all it reads.
    Atomic,
    /// Anything else: it stays if its result is needed.
    Other,
}

fn action(
    module: &Module,
    roots: &Roots,
    instruction: &Instruction,
    wanted: &Wanted,
) -> Result<Action, RemovalError> {
    let opcode = instruction.opcode;
    let fail = |reason: &str| {
        Err(RemovalError::Instruction {
            span: instruction.span,
            reason: format!("`{}` {reason}", opcode.text()),
        })
    };
    match opcode {
        Opcode::Bra | Opcode::BrxIdx | Opcode::Ret | Opcode::Exit | Opcode::Trap => {
            return Ok(Action::Control);
        }
        Opcode::Call => return fail("calls a function: inline it first"),
        _ => {}
    }
    let of_memory = matches!(opcode_facts(opcode).effect, Effect::Read | Effect::Lasting);
    let has_address = instruction
        .operands
        .iter()
        .any(|operand| matches!(operand, Operand::Address(_) | Operand::Indexed(_)));
    if !of_memory || !has_address || !reaches_global(module, roots, instruction) {
        return Ok(Action::Other);
    }
    let names = roots.of_addresses(instruction);
    let fates: BTreeSet<bool> = names
        .iter()
        .map(|&variable| wanted.of(&module.variables[variable.index()].name) == Fate::Keep)
        .collect();
    let stays = match (fates.contains(&true), fates.contains(&false)) {
        (true, true) => return fail("may reach buffers that stay and buffers that go"),
        (false, false) => wanted.others == Fate::Keep,
        (stays, _) => stays,
    };
    match opcode {
        _ if !stays => Ok(Action::Other),
        Opcode::Ld | Opcode::Ldu => Ok(Action::Load),
        Opcode::St => Ok(Action::Store),
        Opcode::Atom | Opcode::Red => Ok(Action::Atomic),
        Opcode::Prefetch | Opcode::Prefetchu => Ok(Action::Other),
        _ => fail("cannot stay: only ld, st, atom and red of global memory can"),
    }
}

/// Whether an access may be one of global memory.
fn reaches_global(module: &Module, roots: &Roots, instruction: &Instruction) -> bool {
    let mut named =
        instruction.modifiers.iter().filter_map(|modifier| modifier.as_space()).peekable();
    if named.peek().is_some() {
        return named.any(|space| space == StateSpace::Global);
    }
    let variables = roots.of_addresses(instruction);
    let is_global = |variable: &VariableId| {
        matches!(module.variables[variable.index()].space, StateSpace::Global | StateSpace::Param)
    };
    variables.is_empty() || variables.iter().any(is_global)
}
