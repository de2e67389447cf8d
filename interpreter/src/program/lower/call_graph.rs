//! The functions that a kernel can reach, and how each is called.
//!
//! Most functions are called directly and never call themselves: their registers, parameters and
//! local variables have fixed places, and a call copies the arguments there. Functions that are
//! called through pointers or that can be active more than once need more; see [`Convention`].

use std::collections::{HashMap, HashSet};

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::{
    AddressBase, Body, Formal, Function, FunctionId, FunctionKind, InitializerValue, Instruction,
    Operand, TargetList, VariableId,
};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

/// Sizes in bytes of the values that a call passes, as a caller who knows only a prototype sees
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub(crate) returns: Vec<u64>,
    pub(crate) params: Vec<u64>,
}

impl Signature {
    pub(crate) fn of(module: &Module, function: &Function) -> Self {
        let size = |formal: &Formal| match *formal {
            Formal::Variable(variable) => module.variables[variable.index()].size_bytes,
            Formal::Register(register) => {
                let register = &function.registers[register.index()];
                u64::from(register.ty.bytes()) * u64::from(register.vector)
            }
        };
        Self {
            returns: function.returns.iter().map(size).collect(),
            params: function.params.iter().map(size).collect(),
        }
    }

    /// Bytes of the argument area that the larger of the two lists takes.
    pub(crate) fn area_bytes(&self) -> u64 {
        let bytes = |sizes: &[u64]| area_offsets(sizes).last().copied().unwrap_or(0);
        bytes(&self.returns).max(bytes(&self.params))
    }
}

/// Returns the offsets of values of these sizes in the argument area, and at the end the end of the
/// last one. Every value begins at a multiple of 16 bytes, so that alignment is no part of the
/// agreement.
pub(crate) fn area_offsets(sizes: &[u64]) -> Vec<u64> {
    let mut offsets = vec![0];
    let mut end = 0u64;
    for size in sizes {
        end = end.saturating_add(size.checked_next_multiple_of(16).unwrap_or(u64::MAX));
        offsets.push(end);
    }
    offsets
}

/// The places of a function's arguments and of its variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Convention {
    /// Arguments and results go through the thread's argument area, because callers do not know
    /// which function they call, or because the function's variables move.
    pub(crate) through_area: bool,
    /// Variables live in a frame of the thread's stack: the function can be active several times,
    /// or it allocates stack memory itself.
    pub(crate) framed: bool,
    /// Its registers are saved around the calls that may enter it again.
    pub(crate) recursive: bool,
}

/// The functions that a kernel can reach.
#[derive(Debug, Default)]
pub(crate) struct CallGraph {
    /// The kernel first; declarations without a body are among them.
    pub(crate) functions: Vec<FunctionId>,
    conventions: HashMap<FunctionId, Convention>,
    /// The set of mutually recursive functions that a function belongs to.
    component: HashMap<FunctionId, usize>,
    /// Functions whose address is taken, with their signatures.
    address_taken: HashMap<FunctionId, Signature>,
    /// Variables that the functions name, directly or in initialisers of such variables.
    named: HashSet<VariableId>,
    /// Bytes of the argument area.
    pub(crate) area_bytes: u64,
}

impl CallGraph {
    pub(crate) fn new(module: &Module, kernel: FunctionId) -> Self {
        let mut walk = Walk::new(module);
        walk.enter(kernel);
        walk.complete();
        let mut edges: DiGraphMap<u32, ()> = DiGraphMap::new();
        for function in &walk.functions {
            edges.add_node(function.0);
        }
        for &(caller, callee) in &walk.direct {
            edges.add_edge(caller.0, callee.0, ());
        }
        let mut area_bytes = 0;
        for (caller, signature) in &walk.indirect {
            area_bytes = area_bytes.max(signature.area_bytes());
            for (callee, own) in &walk.address_taken {
                if own == signature {
                    edges.add_edge(caller.0, callee.0, ());
                }
            }
        }
        let mut conventions: HashMap<FunctionId, Convention> = HashMap::new();
        let mut component = HashMap::new();
        for (index, members) in tarjan_scc(&edges).into_iter().enumerate() {
            let recursive = members.len() > 1 || edges.contains_edge(members[0], members[0]);
            for member in members {
                let function = FunctionId(member);
                component.insert(function, index);
                let declared = &module.functions[function.index()];
                let is_device = declared.kind == FunctionKind::Device;
                let allocates = declared.body.as_ref().is_some_and(|body| {
                    body.instructions.iter().any(|i| i.opcode == Opcode::Alloca)
                });
                let framed = recursive || allocates && is_device;
                let through_area = framed || walk.address_taken.contains_key(&function);
                if through_area {
                    area_bytes = area_bytes.max(Signature::of(module, declared).area_bytes());
                }
                conventions.insert(function, Convention { through_area, framed, recursive });
            }
        }
        let Walk { functions, address_taken, seen_variables: named, .. } = walk;
        Self { functions, conventions, component, address_taken, named, area_bytes }
    }

    pub(crate) fn convention(&self, function: FunctionId) -> Convention {
        self.conventions.get(&function).copied().unwrap_or_default()
    }

    /// Returns true if a call in `caller` to `callee` may enter `caller` again before it returns.
    pub(crate) fn reenters(&self, caller: FunctionId, callee: FunctionId) -> bool {
        self.convention(caller).recursive
            && self.component.get(&caller) == self.component.get(&callee)
    }

    /// Returns true if an indirect call in `caller` may enter `caller` again before it returns.
    pub(crate) fn reenters_indirectly(&self, caller: FunctionId, signature: &Signature) -> bool {
        let mut candidates = self.address_taken.iter().filter(|&(_, own)| own == signature);
        candidates.any(|(&callee, _)| self.reenters(caller, callee))
    }

    /// Returns true if a function that the kernel can reach names a variable.
    pub(crate) fn names(&self, variable: VariableId) -> bool {
        self.named.contains(&variable)
    }

    /// The functions that an indirect call may reach.
    pub(crate) fn address_taken(&self) -> impl Iterator<Item = (FunctionId, &Signature)> {
        self.address_taken.iter().map(|(&function, signature)| (function, signature))
    }
}

/// Returns the values that an indirect call passes, from its prototype, its list of targets, or its
/// table.
pub(crate) fn indirect_signature(
    module: &Module,
    body: &Body,
    instruction: &Instruction,
) -> Option<Signature> {
    let last = instruction.operands.last()?;
    let of =
        |function: FunctionId| Some(Signature::of(module, module.functions.get(function.index())?));
    match *last {
        Operand::Prototype(prototype) => {
            let prototype = &body.prototypes[prototype.index()];
            let sizes = |list: &[(u64, u32)]| list.iter().map(|&(bytes, _)| bytes).collect();
            let (returns, params) = (sizes(&prototype.returns), sizes(&prototype.params));
            Some(Signature { returns, params })
        }
        Operand::Targets(list) => match &body.target_lists[list.index()] {
            TargetList::Functions(functions) => of(*functions.first()?),
            TargetList::Labels(_) => None,
        },
        Operand::Variable(table, _) => {
            let mut items = module.variables[table.index()].initializer.iter();
            let function = items.find_map(|item| match item.value {
                InitializerValue::Function { function, .. } => Some(function),
                _ => None,
            })?;
            of(function)
        }
        _ => None,
    }
}

/// The search for everything that a kernel can reach.
struct Walk<'m> {
    module: &'m Module,
    functions: Vec<FunctionId>,
    seen_variables: HashSet<VariableId>,
    direct: Vec<(FunctionId, FunctionId)>,
    indirect: Vec<(FunctionId, Signature)>,
    address_taken: HashMap<FunctionId, Signature>,
    scanned: usize,
}

impl<'m> Walk<'m> {
    fn new(module: &'m Module) -> Self {
        Self {
            module,
            functions: Vec::new(),
            seen_variables: HashSet::new(),
            direct: Vec::new(),
            indirect: Vec::new(),
            address_taken: HashMap::new(),
            scanned: 0,
        }
    }

    fn enter(&mut self, function: FunctionId) {
        if !self.functions.contains(&function) {
            self.functions.push(function);
        }
    }

    fn complete(&mut self) {
        loop {
            while self.scanned < self.functions.len() {
                let function = self.functions[self.scanned];
                self.scanned += 1;
                self.scan(function);
            }
            // The targets of pointers are known only when all code has been seen.
            let called = |own: &Signature| self.indirect.iter().any(|(_, wanted)| wanted == own);
            let reached: Vec<FunctionId> = self
                .address_taken
                .iter()
                .filter(|&(function, own)| called(own) && !self.functions.contains(function))
                .map(|(&function, _)| function)
                .collect();
            if reached.is_empty() {
                return;
            }
            // In order of the text, so that programs come out the same every time.
            let mut reached = reached;
            reached.sort_unstable();
            self.functions.extend(reached);
        }
    }

    fn scan(&mut self, function: FunctionId) {
        let module = self.module;
        let Some(body) = &module.functions[function.index()].body else { return };
        for instruction in &body.instructions {
            let mut operands = &instruction.operands[..];
            if instruction.opcode == Opcode::Call {
                let callee = operands.iter().find_map(|operand| match *operand {
                    Operand::Function(callee) => Some(callee),
                    _ => None,
                });
                match callee {
                    Some(callee) => {
                        self.direct.push((function, callee));
                        if module.functions[callee.index()].kind == FunctionKind::Device {
                            self.enter(callee);
                        }
                        let is_arguments = |operand: &&Operand| matches!(operand, Operand::List(_));
                        for list in operands.iter().filter(is_arguments) {
                            self.operand(list);
                        }
                        operands = &[];
                    }
                    None => {
                        let signature = indirect_signature(module, body, instruction);
                        self.indirect.extend(signature.map(|signature| (function, signature)));
                        if let Some(Operand::Targets(list)) = operands.last()
                            && let TargetList::Functions(list) = &body.target_lists[list.index()]
                        {
                            list.iter().for_each(|&target| self.take_address(target));
                        }
                    }
                }
            }
            operands.iter().for_each(|operand| self.operand(operand));
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Function(function) => self.take_address(*function),
            Operand::Variable(variable, _) => self.variable(*variable),
            Operand::Address(address) => {
                if let AddressBase::Variable(variable) = address.base {
                    self.variable(variable);
                }
            }
            Operand::Vector(list) | Operand::List(list) | Operand::Indexed(list) => {
                list.iter().for_each(|operand| self.operand(operand));
            }
            Operand::Pair(pair) => pair.iter().for_each(|operand| self.operand(operand)),
            Operand::Negative(operand) => self.operand(operand),
            _ => {}
        }
    }

    fn variable(&mut self, variable: VariableId) {
        let mut pending = vec![variable];
        while let Some(variable) = pending.pop() {
            if !self.seen_variables.insert(variable) {
                continue;
            }
            for item in &self.module.variables[variable.index()].initializer {
                match item.value {
                    InitializerValue::Function { function, .. } => self.take_address(function),
                    InitializerValue::Variable { variable, .. } => pending.push(variable),
                    InitializerValue::Bytes(_) => {}
                }
            }
        }
    }

    fn take_address(&mut self, function: FunctionId) {
        let declared = &self.module.functions[function.index()];
        if declared.kind == FunctionKind::Device && declared.body.is_some() {
            let signature = Signature::of(self.module, declared);
            self.address_taken.insert(function, signature);
        }
    }
}
