//! The text without the work: instructions go, loads are summed, stores write the sums.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use gpucast_ptx_frontend::ast::{Item, StatementKind};
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::{
    Address, AddressBase, Function, Instruction, Module, Operand, VariableId,
};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};

use super::needed::Needed;
use super::{Action, Destination, RemovalError, Stripped};

/// The beginning of new names.
const NAME: &str = "tgt_read";

/// A class of registers that can hold a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    B16,
    B32,
    B64,
    F32,
    F64,
}

impl Class {
    fn of(ty: ScalarType) -> Option<Self> {
        Some(match (ty, ty.bits()) {
            (ScalarType::F32, _) => Self::F32,
            (ScalarType::F64, _) => Self::F64,
            (_, 8 | 16) => Self::B16,
            (_, 32) => Self::B32,
            (_, 64) => Self::B64,
            _ => return None,
        })
    }

    const fn ty(self) -> &'static str {
        match self {
            Self::B16 => "b16",
            Self::B32 => "b32",
            Self::B64 => "b64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    fn register(self) -> String {
        format!("%{NAME}_{}", self.ty())
    }

    /// The instruction that takes another value into the sum. Bits are joined, because registers
    /// without a type may hold anything.
    const fn join(self) -> &'static str {
        match self {
            Self::B16 => "xor.b16",
            Self::B32 => "xor.b32",
            Self::B64 => "xor.b64",
            Self::F32 => "add.f32",
            Self::F64 => "add.f64",
        }
    }

    const fn zero(self) -> &'static str {
        match self {
            Self::B16 | Self::B32 | Self::B64 => "0",
            Self::F32 => "0f00000000",
            Self::F64 => "0d0000000000000000",
        }
    }
}

pub(super) fn rewritten(
    text: &str,
    module: &Module,
    function: &Function,
    instructions: &[Instruction],
    actions: &[Action],
    needed: &Needed,
) -> Result<Stripped, RemovalError> {
    if text.contains(NAME) {
        return Err(RemovalError::Form(format!("the text has the name {NAME} already")));
    }
    if module.address_bits != 64 {
        return Err(RemovalError::Form("addresses have 32 bits".to_owned()));
    }
    let mut edits = Edits::default();
    let mut sums = Sums::default();
    let (mut kept, mut needed_accesses) = (Vec::new(), Vec::new());
    // An operand that is an expression becomes an instruction with the span of the one it is for.
    let mut stays: BTreeSet<u32> = BTreeSet::new();
    for (position, instruction) in instructions.iter().enumerate() {
        let span = instruction.span;
        let action = actions[position];
        if action != Action::Other || needed.contains(position) {
            stays.insert(span.start);
        }
        let line = line_of(text, span.start);
        match action {
            Action::Load => {
                let joined = sums.joined(function, instruction, position)?;
                edits.insert(span.end, &joined);
                kept.push(line);
            }
            Action::Store => {
                let value = sums.stored(function, instruction, position)?;
                let own = text.get(span.start as usize..span.end as usize).unwrap_or_default();
                let Some(close) = own.find(']') else {
                    return Err(unknown(instruction));
                };
                let begin = span.start as usize + close + 1;
                edits.replace(begin..span.end as usize, format!(", {value};"));
                kept.push(line);
            }
            Action::Atomic => kept.push(line),
            Action::Control => {}
            Action::Other => {
                let is_access = matches!(instruction.opcode, Opcode::Ld | Opcode::Atom);
                let of_global = |space| space == StateSpace::Global;
                let spaces =
                    instruction.modifiers.iter().filter_map(|modifier| modifier.as_space());
                if needed.contains(position) && is_access && spaces.into_iter().any(of_global) {
                    needed_accesses.push(line);
                }
            }
        }
    }
    for instruction in instructions {
        let span = instruction.span;
        if !stays.contains(&span.start) {
            edits.replace(span.start as usize..span.end as usize, String::new());
        }
    }
    let destination = sums.destination();
    let mut head = sums.declarations();
    if let Some(destination) = &destination {
        let ends = instructions
            .iter()
            .filter(|instruction| matches!(instruction.opcode, Opcode::Ret | Opcode::Exit))
            .collect::<Vec<_>>();
        if ends.is_empty() {
            return Err(RemovalError::Form("the kernel has no ret".to_owned()));
        }
        for end in ends {
            let guard = guard_of(function, end);
            edits.insert(end.span.start, &sums.written(destination, &guard));
        }
    }
    edits.insert_into_head(text, function, &mut head, destination.as_ref())?;
    edits.without_arrays(text, module, function, instructions, &stays);
    Ok(Stripped { text: edits.applied(text), kept, needed: needed_accesses, destination })
}

fn unknown(instruction: &Instruction) -> RemovalError {
    RemovalError::Instruction {
        span: instruction.span,
        reason: format!("`{}` has a form that cannot be rewritten", instruction.opcode.text()),
    }
}

/// `@p ` or nothing.
fn guard_of(function: &Function, instruction: &Instruction) -> String {
    instruction.guard.map_or_else(String::new, |guard| {
        let negation = if guard.negated { "!" } else { "" };
        format!("@{negation}{} ", function.registers[guard.register.index()].name)
    })
}

fn line_of(text: &str, offset: u32) -> u32 {
    let before = text.get(..offset as usize).unwrap_or_default();
    1 + before.bytes().filter(|&byte| byte == b'\n').count() as u32
}

/// The sums, by class.
#[derive(Default)]
struct Sums {
    /// The position of the last load that each takes in.
    loads: BTreeMap<Class, usize>,
    /// The position of the last store of each.
    stores: BTreeMap<Class, usize>,
}

impl Sums {
    /// The instructions that take a load's values in.
    fn joined(
        &mut self,
        function: &Function,
        instruction: &Instruction,
        position: usize,
    ) -> Result<String, RemovalError> {
        let guard = guard_of(function, instruction);
        let mut text = String::new();
        for part in parts(instruction.operands.first()) {
            let register = match part {
                Operand::Register(register) => &function.registers[register.index()],
                Operand::Sink => continue,
                _ => return Err(unknown(instruction)),
            };
            let class = Class::of(register.ty).ok_or_else(|| unknown(instruction))?;
            self.loads.insert(class, position);
            let (join, sum) = (class.join(), class.register());
            let _ = write!(text, "\n\t{guard}{join} {sum}, {sum}, {};", register.name);
        }
        Ok(text)
    }

    /// The value of a store: the sum, as often as the store has elements.
    fn stored(
        &mut self,
        function: &Function,
        instruction: &Instruction,
        position: usize,
    ) -> Result<String, RemovalError> {
        let [_, value] = instruction.operands.as_slice() else { return Err(unknown(instruction)) };
        let mut values = Vec::new();
        for part in parts(Some(value)) {
            let ty = match part {
                Operand::Register(register) => Some(function.registers[register.index()].ty),
                Operand::Immediate(_) => instruction.types().last(),
                _ => None,
            };
            let class = ty.and_then(Class::of).ok_or_else(|| unknown(instruction))?;
            self.stores.insert(class, position);
            values.push(class.register());
        }
        Ok(match values.as_slice() {
            [one] => one.clone(),
            _ => format!("{{{}}}", values.join(", ")),
        })
    }

    /// Sums that no store behind their last load writes.
    fn unwritten(&self) -> Vec<Class> {
        let is_unwritten = |(class, load): (&Class, &usize)| {
            let written = self.stores.get(class).is_some_and(|store| store > load);
            (!written).then_some(*class)
        };
        self.loads.iter().filter_map(is_unwritten).collect()
    }

    /// The parameter that is needed for these.
    fn destination(&self) -> Option<Destination> {
        let ty = match self.unwritten().as_slice() {
            [] => return None,
            [Class::F32] => "f32",
            [Class::F64] => "f64",
            _ => "u32",
        };
        Some(Destination { name: format!("{NAME}_dest"), ty })
    }

    fn declarations(&self) -> String {
        let classes: BTreeSet<Class> =
            self.loads.keys().chain(self.stores.keys()).copied().collect();
        let mut text = String::new();
        for class in classes {
            let (ty, register, zero) = (class.ty(), class.register(), class.zero());
            let _ = write!(text, "\n\t.reg .{ty} {register};\n\tmov.{ty} {register}, {zero};");
        }
        text
    }

    /// The store of a thread's sums into its own element, at the end of its way.
    fn written(&self, destination: &Destination, guard: &str) -> String {
        let Destination { name, ty } = destination;
        let [thread, block, size, address, value] =
            ["thread", "block", "size", "address", "value"].map(|part| format!("%{NAME}_{part}"));
        let mut text = format!(
            "{{\n\t.reg .b32 {thread}, {block}, {size}, {value};\n\t.reg .b64 {address}, {address}_base;\n"
        );
        let mut line = |code: String| {
            let _ = writeln!(text, "\t{code};");
        };
        // The block's number in the grid, and then the thread's: x is the innermost.
        line(format!("mov.u32 {block}, %ctaid.z"));
        for axis in ["y", "x"] {
            line(format!("mov.u32 {size}, %nctaid.{axis}"));
            line(format!("mov.u32 {thread}, %ctaid.{axis}"));
            line(format!("mad.lo.u32 {block}, {block}, {size}, {thread}"));
        }
        for axis in ["z", "y", "x"] {
            line(format!("mov.u32 {size}, %ntid.{axis}"));
            line(format!("mov.u32 {thread}, %tid.{axis}"));
            line(format!("mad.lo.u32 {block}, {block}, {size}, {thread}"));
        }
        line(format!("ld.param.u64 {address}_base, [{name}]"));
        line(format!("cvta.to.global.u64 {address}_base, {address}_base"));
        let bytes = if *ty == "f64" { 8 } else { 4 };
        line(format!("mul.wide.u32 {address}, {block}, {bytes}"));
        line(format!("add.s64 {address}, {address}_base, {address}"));
        let result = match self.unwritten().as_slice() {
            [class @ (Class::F32 | Class::F64)] => class.register(),
            classes => {
                line(format!("mov.u32 {value}, 0"));
                for class in classes {
                    let sum = class.register();
                    // The block's number is used up, so that its register is free.
                    line(match class {
                        Class::B16 => format!("cvt.u32.u16 {block}, {sum}"),
                        Class::B32 => format!("mov.b32 {block}, {sum}"),
                        Class::B64 => format!("cvt.u32.u64 {block}, {sum}"),
                        Class::F32 => format!("cvt.rzi.u32.f32 {block}, {sum}"),
                        Class::F64 => format!("cvt.rzi.u32.f64 {block}, {sum}"),
                    });
                    line(format!("xor.b32 {value}, {value}, {block}"));
                }
                value.clone()
            }
        };
        line(format!("{guard}st.global.{ty} [{address}], {result}"));
        text += "\t}\n\t";
        text
    }
}

fn parts(operand: Option<&Operand>) -> Vec<&Operand> {
    match operand {
        Some(Operand::Vector(parts)) => parts.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    }
}

/// Changes of a text, none of which overlaps another.
#[derive(Default)]
struct Edits {
    edits: Vec<(Range<usize>, String)>,
}

impl Edits {
    fn insert(&mut self, at: u32, text: &str) {
        self.replace(at as usize..at as usize, text.to_owned());
    }

    fn replace(&mut self, range: Range<usize>, text: String) {
        self.edits.push((range, text));
    }

    /// Puts declarations behind the kernel's brace, and the destination behind its parameters.
    fn insert_into_head(
        &mut self,
        text: &str,
        function: &Function,
        head: &mut String,
        destination: Option<&Destination>,
    ) -> Result<(), RemovalError> {
        let begin = function.span.end as usize;
        let rest = text.get(begin..).unwrap_or_default();
        let form =
            || RemovalError::Form(format!("the head of {} is not understood", function.name));
        let brace = rest.find('{').ok_or_else(form)?;
        self.replace(begin + brace + 1..begin + brace + 1, std::mem::take(head));
        if let Some(destination) = destination {
            let parameter = format!("\t.param .u64 {}\n", destination.name);
            let list = rest.get(..brace).unwrap_or_default();
            // A kernel's parameters are the first list, and may have arrays and alignments.
            match list.find('(').and_then(|open| Some((open, open + list.get(open..)?.find(')')?)))
            {
                Some((_, close)) if !function.params.is_empty() => {
                    let at = begin + list.get(..close).unwrap_or_default().trim_end().len();
                    self.replace(at..at, format!(",\n{}", parameter.trim_end_matches('\n')));
                }
                Some((open, _)) => {
                    self.replace(begin + open + 1..begin + open + 1, format!("\n{parameter}"));
                }
                None => self.replace(begin..begin, format!("(\n{parameter})")),
            }
        }
        Ok(())
    }

    /// Removes shared and local arrays of the kernel that nobody names any more: they would cost
    /// occupancy.
    fn without_arrays(
        &mut self,
        text: &str,
        module: &Module,
        function: &Function,
        instructions: &[Instruction],
        stays: &BTreeSet<u32>,
    ) {
        let kept =
            instructions.iter().filter(|instruction| stays.contains(&instruction.span.start));
        let named: BTreeSet<&str> = kept
            .flat_map(|instruction| &instruction.operands)
            .filter_map(variable_of)
            .map(|variable| module.variables[variable.index()].name.as_str())
            .collect();
        let (file, _) = gpucast_ptx_frontend::parse(text);
        let is_alone = module.functions.len() == 1;
        for item in &file.items {
            match item {
                Item::Function(other) if other.name.text == function.name => {
                    for statement in other.body.iter().flatten() {
                        if let StatementKind::Variable(variable) = &statement.kind
                            && is_unused(variable, &named)
                        {
                            let (start, end) = (statement.span.start, statement.span.end);
                            self.replace(start as usize..end as usize, String::new());
                        }
                    }
                }
                Item::Variable(variable) if is_alone && is_unused(variable, &named) => {
                    // The semicolon stays, and is a statement of its own nowhere.
                    let (start, end) = (variable.span.start as usize, variable.span.end as usize);
                    let rest = text.get(end..).unwrap_or_default();
                    let behind = rest.find(';').filter(|at| rest[..*at].trim().is_empty());
                    let end = behind.map_or(end, |at| end + at + 1);
                    self.replace(start..end, String::new());
                }
                _ => {}
            }
        }
    }

    /// The changed text. Lines that become empty go.
    fn applied(mut self, text: &str) -> String {
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut result = String::with_capacity(text.len());
        let mut at = 0;
        for (range, new) in self.edits {
            let start = range.start.max(at);
            result += text.get(at..start).unwrap_or_default();
            result += &new;
            at = range.end.max(at);
            let line_is_empty = new.is_empty()
                && result.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
            let rest = text.get(at..).unwrap_or_default();
            if line_is_empty
                && let Some(end) = rest.find('\n')
                && rest[..end].trim().is_empty()
            {
                result.truncate(result.rfind('\n').map_or(0, |at| at + 1));
                at += end + 1;
            }
        }
        result += text.get(at..).unwrap_or_default();
        result
    }
}

/// Whether a declaration is of shared or local arrays that nobody names. Dynamic shared memory is
/// the launch's.
fn is_unused(variable: &gpucast_ptx_frontend::ast::Variable<'_>, named: &BTreeSet<&str>) -> bool {
    matches!(variable.space, StateSpace::Shared | StateSpace::Local)
        && variable.linkage != gpucast_ptx_frontend::module::Linkage::Extern
        && variable
            .declarators
            .iter()
            .all(|declarator| declarator.name.is_some_and(|name| !named.contains(name.text)))
}

fn variable_of(operand: &Operand) -> Option<VariableId> {
    match operand {
        Operand::Variable(variable, _)
        | Operand::Address(Address { base: AddressBase::Variable(variable), .. }) => {
            Some(*variable)
        }
        _ => None,
    }
}
