//! The variables that an address may have been made from.

use std::collections::HashMap;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::dataflow::registers_in;
use gpucast_ptx_frontend::isa::{Modifier, Opcode as O};
use gpucast_ptx_frontend::module::{AddressBase, Immediate, Instruction, Operand, VariableId};
use gpucast_ptx_frontend::types::{StateSpace, TypeKind};

use super::StaticInstruction;
use super::flow::{Flow, Nodes, ValuePlace, spaces};
use crate::tensor_map;

/// Bytes of a tensor map.
const MAP_BYTES: u64 = tensor_map::BYTES as u64;

/// A set of variables, kernel parameters and global ones, that a value may have been made from;
/// bit `i` stands for variable `i` of [`Analysis::variables`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roots(u128);

impl Roots {
    /// Variables that have a bit of their own.
    const VARIABLES: usize = 125;
    /// An address in shared, local or constant memory, or of a function.
    const ELSEWHERE: Self = Self(1 << 125);
    /// 32 bits or fewer from memory: half an address, if it is joined with another half.
    const HALF: Self = Self(1 << 126);
    /// From memory: any address.
    const ANYTHING: Self = Self(1 << 127);

    fn variable(index: Option<usize>) -> Self {
        index
            .filter(|&index| index < Self::VARIABLES)
            .map_or(Self::ANYTHING, |index| Self(1 << index))
    }

    fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    fn holds(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// May an address made from them lie in any buffer? One made from nothing known may, too.
    pub(crate) fn may_be_anything(self) -> bool {
        self.holds(Self::ANYTHING) || self.without(Self::HALF) == Self::default()
    }

    /// May an address made from them lie outside global memory?
    pub(crate) fn may_be_elsewhere(self) -> bool {
        self.holds(Self::ELSEWHERE)
    }

    /// The variables' indices.
    pub(crate) fn variables(self) -> impl Iterator<Item = usize> {
        (0..Self::VARIABLES).filter(move |index| self.0 >> index & 1 != 0)
    }
}

/// The roots of every node.
#[derive(Debug)]
pub(in super::super) struct Analysis<'m> {
    module: &'m Module,
    pub(in super::super) variables: Vec<VariableId>,
    index: HashMap<VariableId, usize>,
    roots: Vec<Roots>,
    parameters: Roots,
    narrow: bool,
}

impl<'m> Analysis<'m> {
    pub(in super::super) fn of(
        module: &'m Module,
        nodes: &Nodes,
        instructions: &[StaticInstruction],
        flows: &[Flow],
    ) -> Self {
        let mut analysis = Self {
            module,
            variables: Vec::new(),
            index: HashMap::new(),
            roots: vec![Roots::default(); nodes.count()],
            parameters: Roots::default(),
            narrow: module.address_bits == 32,
        };
        for instruction in instructions {
            instruction.instruction.operands.iter().for_each(|operand| analysis.name(operand));
        }
        for (index, variable) in analysis.variables.iter().enumerate() {
            if module.variables[variable.index()].space == StateSpace::Param {
                analysis.parameters = analysis.parameters.with(Roots::variable(Some(index)));
            }
        }
        loop {
            let mut changed = false;
            for (flow, instruction) in flows.iter().zip(instructions) {
                let roots = analysis.of_value(nodes, instruction, flow);
                for &to in &flow.to {
                    let node = &mut analysis.roots[to as usize];
                    let joined = node.with(roots);
                    changed |= joined != *node;
                    *node = joined;
                }
            }
            if !changed {
                return analysis;
            }
        }
    }

    /// Gives the variables of an operand their indices.
    fn name(&mut self, operand: &Operand) {
        let variable = match operand {
            Operand::Variable(variable, _) => *variable,
            Operand::Address(address) => match address.base {
                AddressBase::Variable(variable) => variable,
                AddressBase::Register(_) | AddressBase::Absolute => return,
            },
            Operand::Vector(parts) | Operand::List(parts) | Operand::Indexed(parts) => {
                return parts.iter().for_each(|part| self.name(part));
            }
            Operand::Pair(pair) => return pair.iter().for_each(|part| self.name(part)),
            _ => return,
        };
        let next = self.variables.len();
        if let std::collections::hash_map::Entry::Vacant(entry) = self.index.entry(variable) {
            entry.insert(next);
            self.variables.push(variable);
        }
    }

    /// The roots of a variable's address, or of a parameter's value.
    fn of_variable(&self, variable: VariableId) -> Roots {
        match self.module.variables[variable.index()].space {
            StateSpace::Global | StateSpace::Param => {
                Roots::variable(self.index.get(&variable).copied())
            }
            _ => Roots::ELSEWHERE,
        }
    }

    /// The roots of the addresses that an instruction uses.
    pub(in super::super) fn of_addresses(&self, nodes: &Nodes, item: &StaticInstruction) -> Roots {
        let StaticInstruction { function, instruction, .. } = item;
        let mut roots = Roots::default();
        for operand in &instruction.operands {
            match operand {
                Operand::Address(address) => {
                    let base = match address.base {
                        AddressBase::Register(register) => {
                            self.roots[nodes.register(*function, register) as usize]
                        }
                        AddressBase::Variable(variable) => self.of_variable(variable),
                        AddressBase::Absolute => Roots::ANYTHING,
                    };
                    roots =
                        roots.with(if base == Roots::default() { Roots::ANYTHING } else { base });
                }
                // The address is in the tensor's map or the texture, or replaces that of the map.
                Operand::Indexed(parts) => {
                    let map = self.of_map(nodes, item).filter(|&map| self.passes_maps(map));
                    let replaces = instruction.has(Modifier::OverrideGlobalAddress);
                    if parts.is_empty() || map.is_none() || replaces {
                        roots = Roots::ANYTHING;
                    }
                    roots = roots.with(map.unwrap_or_default());
                }
                _ => {}
            }
        }
        roots
    }

    /// The roots of the address of an instruction's tensor map, if it has one.
    fn of_map(&self, nodes: &Nodes, item: &StaticInstruction) -> Option<Roots> {
        let has_map = matches!(
            item.instruction.opcode,
            O::CpAsyncBulkTensor
                | O::CpReduceAsyncBulkTensor
                | O::CpAsyncBulkPrefetchTensor
                | O::ApplypriorityAsyncBulkTensor
        );
        let operands = item.instruction.operands.iter().filter(|_| has_map);
        let parts = operands.filter_map(|operand| match operand {
            Operand::Indexed(parts) => Some(parts),
            _ => None,
        });
        parts.map(|parts| self.of_operand(nodes, item, parts.first())).next()
    }

    /// The roots of the address of an instruction's tensor map, where that is no parameter but in
    /// memory. Its contents say which elements are copied.
    pub(in super::super) fn of_map_in_memory(
        &self,
        nodes: &Nodes,
        item: &StaticInstruction,
    ) -> Option<Roots> {
        self.of_map(nodes, item).filter(|&map| !self.passes_maps(map))
    }

    /// Are these roots parameters alone that hold whole tensor maps?
    fn passes_maps(&self, roots: Roots) -> bool {
        let holds_map = |index: usize| {
            let variable = self.variables.get(index).map(|id| &self.module.variables[id.index()]);
            variable.is_some_and(|variable| {
                variable.space == StateSpace::Param && variable.size_bytes >= MAP_BYTES
            })
        };
        let mut variables = roots.variables().peekable();
        let known = roots.without(Roots::HALF).without(Roots::ELSEWHERE) == roots;
        known && !roots.may_be_anything() && variables.peek().is_some() && variables.all(holds_map)
    }

    /// The roots of the values that an instruction writes.
    fn of_value(&self, nodes: &Nodes, item: &StaticInstruction, flow: &Flow) -> Roots {
        let instruction = &item.instruction;
        let types = || instruction.types();
        let bytes = types().map(|ty| ty.bytes()).max().unwrap_or(8);
        let loaded = if bytes >= 8 || self.narrow { Roots::ANYTHING } else { Roots::HALF };
        let from = flow.from.iter();
        let places = [ValuePlace::Global, ValuePlace::Arguments].map(|place| nodes.of(place));
        let known = from.filter(|node| !places.contains(node));
        let mut roots =
            known.fold(Roots::default(), |roots, &node| roots.with(self.roots[node as usize]));
        if flow.from.contains(&places[0]) {
            roots = roots.with(loaded);
        }
        let operands = &instruction.operands;
        match instruction.opcode {
            O::Ld | O::Ldu => {
                let space = spaces(instruction);
                if space == [StateSpace::Param] {
                    roots = roots.with(self.of_parameter(nodes, instruction));
                }
                if space.contains(&StateSpace::Const) {
                    roots = roots.with(loaded);
                }
                roots
            }
            O::Call => roots.with(self.roots[places[1] as usize]),
            // A product is no address, but its addend may be one.
            O::Mul | O::Mul24 => roots.without(Roots::ANYTHING),
            O::Mad | O::Mad24 => {
                let sum = self.of_operand(nodes, item, operands.last());
                roots.without(Roots::ANYTHING).with(sum)
            }
            O::Shl => match operands.last() {
                Some(Operand::Immediate(Immediate::Integer(0..32))) => {
                    roots.without(Roots::ANYTHING)
                }
                _ => self.joined(roots),
            },
            O::Mov if operands.iter().any(|operand| matches!(operand, Operand::Vector(_))) => {
                self.joined(roots)
            }
            // Numbers with fractions are no addresses.
            O::Cvt if types().any(|ty| ty.kind() == TypeKind::Float) => Roots::HALF,
            O::Setp | O::Set => Roots::HALF,
            _ => {
                let read = operands.iter().skip(1);
                read.fold(roots, |roots, operand| match operand {
                    Operand::Variable(variable, _) => roots.with(self.of_variable(*variable)),
                    Operand::Function(_) => roots.with(Roots::ELSEWHERE),
                    _ => roots,
                })
            }
        }
    }

    /// Halves that are joined may be any address.
    fn joined(&self, roots: Roots) -> Roots {
        if roots.holds(Roots::HALF) { roots.with(Roots::ANYTHING) } else { roots }
    }

    /// The roots of an operand's value.
    fn of_operand(
        &self,
        nodes: &Nodes,
        item: &StaticInstruction,
        operand: Option<&Operand>,
    ) -> Roots {
        let registers = operand.map(registers_in).unwrap_or_default();
        let roots = registers.into_iter().fold(Roots::default(), |roots, register| {
            roots.with(self.roots[nodes.register(item.function, register) as usize])
        });
        match operand {
            Some(Operand::Variable(variable, _)) => roots.with(self.of_variable(*variable)),
            _ => roots,
        }
    }

    /// The roots of a value loaded from a parameter.
    fn of_parameter(&self, nodes: &Nodes, instruction: &Instruction) -> Roots {
        let passed = self.roots[nodes.of(ValuePlace::Arguments) as usize];
        let named = instruction.operands.iter().find_map(|operand| match operand {
            Operand::Address(address) => match address.base {
                AddressBase::Variable(variable) => Some(self.of_variable(variable)),
                AddressBase::Register(_) | AddressBase::Absolute => None,
            },
            _ => None,
        });
        passed.with(named.unwrap_or(self.parameters))
    }
}
