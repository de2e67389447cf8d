//! The sources and destinations of the values of each instruction.

use std::collections::HashMap;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::dataflow::{Uses, registers_in, results};
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode as O};
use gpucast_ptx_frontend::module::{Formal, FunctionId, Instruction, Operand, RegisterId};
use gpucast_ptx_frontend::types::StateSpace;

use super::StaticInstruction;

/// Places of values beside registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ValuePlace {
    Global,
    Shared,
    Local,
    /// The values that calls pass and return.
    Arguments,
    /// The carry flag.
    Carry,
    /// Tensor memory.
    Tensor,
}

const PLACES: u32 = 6;

impl ValuePlace {
    /// Returns true if a node is that of a place.
    pub(in super::super) fn is_number(node: u32) -> bool {
        node < PLACES
    }
}

/// Numbers for the places and for the registers of all functions of a program.
#[derive(Debug)]
pub(in super::super) struct Nodes {
    first: HashMap<FunctionId, u32>,
    /// Registers that calls write: the parameters of functions that they are passed to.
    pub(in super::super) parameters: Vec<u32>,
    /// Registers whose values calls return.
    pub(in super::super) results: Vec<u32>,
    count: u32,
}

impl Nodes {
    pub(in super::super) fn new(module: &Module, instructions: &[StaticInstruction]) -> Self {
        let mut nodes =
            Self { first: HashMap::new(), parameters: vec![], results: vec![], count: PLACES };
        for instruction in instructions {
            let id = instruction.function;
            if nodes.first.contains_key(&id) {
                continue;
            }
            let function = &module.functions[id.index()];
            nodes.first.insert(id, nodes.count);
            let formals = |formals: &[Formal]| {
                let registers = formals.iter().filter_map(|formal| match formal {
                    Formal::Register(register) => Some(nodes.count + register.0),
                    Formal::Variable(_) => None,
                });
                registers.collect::<Vec<_>>()
            };
            let (parameters, results) = (formals(&function.params), formals(&function.returns));
            nodes.parameters.extend(parameters);
            nodes.results.extend(results);
            nodes.count += function.registers.len() as u32;
        }
        nodes
    }

    pub(in super::super) fn count(&self) -> usize {
        self.count as usize
    }

    pub(in super::super) fn of(&self, place: ValuePlace) -> u32 {
        place as u32
    }

    pub(in super::super) fn register(&self, function: FunctionId, register: RegisterId) -> u32 {
        self.first.get(&function).copied().unwrap_or_default() + register.0
    }
}

/// The ways that values take through one instruction.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Flow {
    /// The nodes that values come from.
    pub(in super::super) from: Vec<u32>,
    /// The nodes that they go to: any of the former may reach any of these.
    pub(in super::super) to: Vec<u32>,
    /// The nodes whose values decide the executed or counted instructions.
    pub(in super::super) decides: Vec<u32>,
}

/// The use of memory and operands by an instruction.
enum Role {
    /// From registers to registers; without a register to write, all that it reads decides.
    Value,
    /// As [`Role::Value`], and its last operand names lanes or a barrier.
    LastDecides,
    /// Everything that it reads decides, and no value goes anywhere.
    Decides,
    /// Everything that it reads decides, and may go where it writes.
    ValueThatDecides,
    /// From memory to registers.
    Load,
    /// From registers to memory.
    Store,
    /// Both ways at once.
    Update,
    /// From the space that is named last to the one that is named first.
    Copy,
    /// From shared memory and register fragments to register fragments.
    Warpgroup,
    /// Between tensor memory and registers, or from shared to tensor memory: everything that is no
    /// value to store decides.
    Tensor,
    Call,
}

fn role(opcode: O) -> Role {
    match opcode {
        O::Ld
        | O::Ldu
        | O::MultimemLdReduce
        | O::WmmaLoad
        | O::Ldmatrix
        | O::Tex
        | O::Tld4
        | O::Suld => Role::Load,
        O::St
        | O::StAsync
        | O::StBulk
        | O::MultimemSt
        | O::MultimemStAsync
        | O::WmmaStore
        | O::Stmatrix
        | O::Sust => Role::Store,
        O::Atom | O::Red | O::RedAsync | O::MultimemRed | O::MultimemRedAsync | O::Sured => {
            Role::Update
        }
        O::CpAsync
        | O::CpAsyncBulk
        | O::CpReduceAsyncBulk
        | O::CpAsyncBulkTensor
        | O::CpReduceAsyncBulkTensor
        | O::MultimemCpAsyncBulk
        | O::MultimemCpReduceAsyncBulk
        | O::TensormapReplace
        | O::TensormapCpFenceproxy => Role::Copy,
        O::WgmmaMmaAsync | O::WgmmaMmaAsyncSp => Role::Warpgroup,
        O::Tcgen05Alloc
        | O::Tcgen05Ld
        | O::Tcgen05LdRed
        | O::Tcgen05LdSpcompress
        | O::Tcgen05LdRedSpcompress
        | O::Tcgen05St
        | O::Tcgen05Cp
        | O::Tcgen05Shift
        | O::Tcgen05Mma
        | O::Tcgen05MmaSp
        | O::Tcgen05MmaWs
        | O::Tcgen05MmaWsSp => Role::Tensor,
        O::Call => Role::Call,
        O::Shfl | O::Vote | O::Match | O::Redux => Role::LastDecides,
        O::Bar | O::Barrier | O::BarWarp | O::Alloca | O::Stackrestore => Role::ValueThatDecides,
        // The phases of mbarriers depend on who arrives and on sizes, which decide already.
        O::MbarrierInit
        | O::MbarrierInval
        | O::MbarrierExpectTx
        | O::MbarrierCompleteTx
        | O::MbarrierArrive
        | O::MbarrierArriveDrop
        | O::MbarrierTestWait
        | O::MbarrierTryWait
        | O::MbarrierPendingCount
        | O::MbarrierCheckLayout
        | O::CpAsyncMbarrierArrive
        | O::Prefetch
        | O::Prefetchu
        | O::Applypriority
        | O::ApplypriorityAsyncBulk
        | O::ApplypriorityAsyncBulkTensor
        | O::Discard
        | O::CpAsyncBulkPrefetch
        | O::CpAsyncBulkPrefetchTensor
        | O::Membar
        | O::Fence => Role::Decides,
        // All other instructions work on registers; one that writes none decides.
        _ => Role::Value,
    }
}

impl Flow {
    pub(in super::super) fn of(nodes: &Nodes, instruction: &StaticInstruction) -> Self {
        let StaticInstruction { function, instruction, .. } = instruction;
        let node = |register: RegisterId| nodes.register(*function, register);
        let Uses { read, written, partly_written } = Uses::of(instruction);
        let mut flow = Self::default();
        flow.decides.extend(instruction.guard.map(|guard| node(guard.register)));
        flow.decides.extend(addressing(&instruction.operands).into_iter().map(node));
        let read: Vec<u32> = read.into_iter().map(node).collect();
        let written: Vec<u32> = written.iter().chain(&partly_written).copied().map(node).collect();
        let values = || read.iter().copied().filter(|node| !flow.decides.contains(node));
        // A register may be an address and a value at once.
        let mut plain: Vec<u32> = values().collect();
        plain.extend(value_operands(instruction).map(node));
        let spaces = spaces(instruction);
        let memory = |spaces: &[StateSpace]| {
            let places = spaces.iter().filter_map(|&space| place(space));
            places.map(|place| nodes.of(place)).collect::<Vec<_>>()
        };
        match role(instruction.opcode) {
            Role::Value if written.is_empty() => flow.decides.extend(read),
            Role::Value => {
                (flow.from, flow.to) = (plain, written);
                if matches!(instruction.opcode, O::Addc | O::Subc | O::Madc) {
                    flow.from.push(nodes.of(ValuePlace::Carry));
                }
                if instruction.has(M::Cc) {
                    flow.to.push(nodes.of(ValuePlace::Carry));
                }
            }
            Role::LastDecides => {
                let last = instruction.operands.last().map(registers_in).unwrap_or_default();
                flow.decides.extend(last.into_iter().map(node));
                (flow.from, flow.to) = (plain, written);
            }
            Role::Decides => flow.decides.extend(read),
            Role::ValueThatDecides => {
                flow.decides.extend(&read);
                (flow.from, flow.to) = (read, written);
            }
            Role::Load => {
                // An operand that is no address is a stride or a policy.
                flow.decides.extend(plain);
                (flow.from, flow.to) = (memory(&spaces), written);
            }
            Role::Store => {
                let strides = instruction.operands.iter().skip(2).flat_map(registers_in);
                flow.decides.extend(strides.map(node));
                // A bulk store has a number of bytes where others have a value.
                if instruction.opcode == O::StBulk {
                    flow.decides.append(&mut plain);
                }
                (flow.from, flow.to) = (plain, memory(&spaces));
            }
            Role::Update => {
                flow.from = memory(&spaces);
                flow.to.clone_from(&flow.from);
                flow.from.extend(plain);
                flow.to.extend(written);
            }
            Role::Copy => {
                flow.decides.extend(&read);
                let (to, from) = match spaces.as_slice() {
                    [to, .., from] => (memory(&[*to]), memory(&[*from])),
                    _ => (memory(&spaces), memory(&spaces)),
                };
                flow.to = to;
                flow.from = from;
                flow.from.extend(plain);
                if instruction.opcode == O::CpReduceAsyncBulk {
                    flow.from.extend(flow.to.clone());
                }
            }
            Role::Warpgroup => {
                let descriptors = instruction.operands.iter().skip(1);
                let single =
                    descriptors.filter(|descriptor| matches!(descriptor, Operand::Register(_)));
                flow.decides.extend(single.flat_map(registers_in).map(node));
                flow.from = vec![nodes.of(ValuePlace::Shared)];
                flow.from.extend(plain);
                flow.to = written;
            }
            Role::Tensor => {
                let (tensor, shared) = (nodes.of(ValuePlace::Tensor), nodes.of(ValuePlace::Shared));
                match instruction.opcode {
                    // The address that it writes is known wherever it is executed.
                    O::Tcgen05Alloc => {
                        flow.decides.extend(plain);
                        flow.to = vec![shared];
                    }
                    O::Tcgen05Ld
                    | O::Tcgen05LdRed
                    | O::Tcgen05LdSpcompress
                    | O::Tcgen05LdRedSpcompress => (flow.from, flow.to) = (vec![tensor], written),
                    O::Tcgen05Shift => (flow.from, flow.to) = (vec![tensor], vec![tensor]),
                    O::Tcgen05St => (flow.from, flow.to) = (plain, vec![tensor]),
                    _ => {
                        // Descriptors, and whether the product is added to D.
                        let single = |one: &&Operand| matches!(one, Operand::Register(_));
                        let operands = instruction.operands.iter().filter(single);
                        let registers = operands.flat_map(registers_in).map(node);
                        flow.decides.extend(registers);
                        flow.from = vec![tensor, shared];
                        flow.from.extend(plain);
                        flow.to = vec![tensor];
                    }
                }
            }
            Role::Call => {
                let arguments = nodes.of(ValuePlace::Arguments);
                // Results stand before the callee, and arguments behind it.
                let mut is_before = true;
                for operand in &instruction.operands {
                    let registers = registers_in(operand).into_iter().map(node);
                    match operand {
                        Operand::List(_) if is_before => flow.to.extend(registers),
                        Operand::List(_) => flow.from.extend(registers),
                        _ => {
                            is_before = false;
                            flow.decides.extend(registers);
                        }
                    }
                }
                flow.from.push(arguments);
                flow.from.extend(&nodes.results);
                flow.to.push(arguments);
                flow.to.extend(&nodes.parameters);
            }
        }
        flow
    }

    /// Does it read global memory?
    pub(in super::super) fn reads_global(&self, nodes: &Nodes) -> bool {
        self.from.contains(&nodes.of(ValuePlace::Global))
    }
}

/// The registers that operands use as addresses.
pub(in super::super) fn addressing(operands: &[Operand]) -> Vec<RegisterId> {
    let address = |operand: &&Operand| matches!(operand, Operand::Address(_) | Operand::Indexed(_));
    operands.iter().filter(address).flat_map(registers_in).collect()
}

/// The registers that operands read as values, those behind the results.
fn value_operands(instruction: &Instruction) -> impl Iterator<Item = RegisterId> + '_ {
    let value = |operand: &&Operand| !matches!(operand, Operand::Address(_) | Operand::Indexed(_));
    instruction.operands.iter().skip(results(instruction)).filter(value).flat_map(registers_in)
}

/// The state spaces that a memory instruction names, destination first; all that a generic
/// address may lie in if it names none.
pub(in super::super) fn spaces(instruction: &Instruction) -> Vec<StateSpace> {
    if has_texels(instruction.opcode) {
        return vec![StateSpace::Global];
    }
    let named: Vec<_> =
        instruction.modifiers.iter().filter_map(|modifier| modifier.as_space()).collect();
    if named.is_empty() {
        return vec![StateSpace::Global, StateSpace::Shared, StateSpace::Local, StateSpace::Param];
    }
    named
}

/// Returns true if an instruction accesses the texels of a texture or surface.
pub(in super::super) fn has_texels(opcode: O) -> bool {
    matches!(opcode, O::Tex | O::Tld4 | O::Suld | O::Sust | O::Sured)
}

/// The place of the values in a space; constants have none, since nothing changes them.
fn place(space: StateSpace) -> Option<ValuePlace> {
    match space {
        StateSpace::Global => Some(ValuePlace::Global),
        StateSpace::Shared => Some(ValuePlace::Shared),
        StateSpace::Local => Some(ValuePlace::Local),
        StateSpace::Param => Some(ValuePlace::Arguments),
        _ => None,
    }
}
