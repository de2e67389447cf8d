//! The needs of a kernel, read off its code without executing it. These are the functions that it
//! reaches, its static instructions, the memory that it declares, and the version and target for
//! all of that.

use std::collections::{BTreeMap, BTreeSet};

use crate::isa::{InstructionClass, Opcode, Since, Target};
use crate::module::{
    AddressBase, Formal, Function, FunctionId, FunctionKind, InitializerValue, Instruction,
    Linkage, Module, Operand, TargetList, VariableId,
};
use crate::source::Span;
use crate::types::{ScalarType, StateSpace};

/// The needs of a kernel or device function, itself and through everything that it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// The functions whose code may run, the kernel first, then in the order in which they are
    /// found. Where a call is indirect, every function whose address is taken counts.
    pub functions: Vec<FunctionId>,
    /// Functions that are called and not defined in this module.
    pub externals: Vec<FunctionId>,
    /// Calls through a register.
    pub indirect_calls: u64,
    /// Static instructions by mnemonic.
    pub mnemonics: BTreeMap<&'static str, u64>,
    /// Static instructions by counting class.
    pub classes: BTreeMap<InstructionClass, u64>,
    /// Virtual registers that the code names, by type; vectors count their elements.
    pub registers: BTreeMap<&'static str, u64>,
    /// The variables that the code names, with those that their initialisers name.
    pub memory: MemoryUsage,
    /// The oldest version and target that have all of it.
    pub needs: Needs,
}

/// Statically declared memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Shared memory of a CTA.
    pub shared: u64,
    /// True if an array of unknown size stands for dynamic shared memory.
    pub dynamic_shared: bool,
    /// Local variables of a thread.
    pub local: u64,
    /// Constant memory.
    pub constant: u64,
    /// Global variables.
    pub global: u64,
}

/// The oldest PTX ISA version and target that code needs, and the cause of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Version and target.
    pub since: Since,
    /// Cause of the required version.
    pub isa_because: Cause,
    /// Cause of the required target.
    pub target_because: Cause,
}

/// Something in the code that needs a version or a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing does; the first version had all of it.
    Nothing,
    /// The first instruction that does, with its function and place.
    Instruction(FunctionId, Span),
    /// A directive, as written.
    Directive(&'static str),
}

impl Needs {
    fn new() -> Self {
        Self {
            since: Since::BEGINNING,
            isa_because: Cause::Nothing,
            target_because: Cause::Nothing,
        }
    }

    fn add(&mut self, since: Since, cause: impl Fn() -> Cause) {
        if since.isa > self.since.isa {
            self.isa_because = cause();
        }
        if since.target.rank() > self.since.target.rank() {
            self.target_because = cause();
        }
        self.since = self.since.and(since);
    }

    /// Returns true if a module of this version and target may hold the code.
    #[must_use]
    pub fn met_by(&self, isa: (u8, u8), target: Target) -> bool {
        isa >= self.since.isa && target.sm >= self.since.target.sm
    }
}

/// The first version and target of each directive (manual, chapter 11).
const DIRECTIVES: &[(&str, Since)] = &[
    (".maxntid", Since::new((1, 3), 10)),
    (".maxnreg", Since::new((1, 3), 10)),
    (".minnctapersm", Since::new((2, 0), 10)),
    (".maxnctapersm", Since::new((1, 3), 10)),
    (".pragma", Since::new((2, 0), 10)),
    (".reqntid", Since::new((2, 1), 10)),
    (".branchtargets", Since::new((2, 1), 20)),
    (".calltargets", Since::new((2, 1), 20)),
    (".callprototype", Since::new((2, 1), 20)),
    (".ptr", Since::new((2, 2), 10)),
    (".address_size 64", Since::new((2, 3), 10)),
    (".weak", Since::new((3, 1), 10)),
    (".common", Since::new((5, 0), 20)),
    (".noreturn", Since::new((6, 4), 30)),
    (".b128 register", Since::new((8, 3), 70)),
    (".reqnctapercluster", Since::new((7, 8), 90)),
    (".explicitcluster", Since::new((7, 8), 90)),
    (".blocksareclusters", Since::new((9, 0), 90)),
    (".minperctamemory", Since::new((9, 4), 80)),
    (".maxclusterrank", Since::new((7, 8), 90)),
];

impl Usage {
    /// Returns the usage of `kernel` of `module`.
    #[must_use]
    pub fn of(module: &Module, kernel: FunctionId) -> Self {
        let mut walk = Walk { module, named: BTreeSet::new(), usage: Self::empty() };
        walk.functions(kernel);
        walk.variables();
        let Walk { mut usage, .. } = walk;
        usage.externals.sort_unstable();
        usage
    }

    fn empty() -> Self {
        Self {
            functions: Vec::new(),
            externals: Vec::new(),
            indirect_calls: 0,
            mnemonics: BTreeMap::new(),
            classes: BTreeMap::new(),
            registers: BTreeMap::new(),
            memory: MemoryUsage::default(),
            needs: Needs::new(),
        }
    }

    /// Static instructions of all functions.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.classes.values().sum()
    }
}

struct Walk<'m> {
    module: &'m Module,
    /// Variables whose name occurs.
    named: BTreeSet<VariableId>,
    usage: Usage,
}

impl Walk<'_> {
    fn functions(&mut self, kernel: FunctionId) {
        let mut pending = vec![kernel];
        let mut found: BTreeSet<FunctionId> = pending.iter().copied().collect();
        let mut all_of_known_address = false;
        if self.module.address_bits == 64 {
            self.directive(".address_size 64");
        }
        let mut next = 0;
        loop {
            if next == pending.len() {
                // A call that may lead anywhere is followed once all else has been looked at.
                let taken =
                    if all_of_known_address { self.addresses_taken() } else { BTreeSet::new() };
                pending.extend(taken.into_iter().filter(|callee| found.insert(*callee)));
            }
            let Some(&id) = pending.get(next) else { return };
            next += 1;
            let function = &self.module.functions[id.index()];
            let Some(body) = &function.body else {
                self.usage.externals.push(id);
                continue;
            };
            self.usage.functions.push(id);
            self.function(function);
            for instruction in &body.instructions {
                self.instruction(id, instruction);
                for operand in &instruction.operands {
                    self.names(operand);
                }
                if instruction.opcode != Opcode::Call {
                    continue;
                }
                // Functions among the arguments of a call are addresses, not callees.
                let callees: Vec<FunctionId> = instruction
                    .operands
                    .iter()
                    .flat_map(|operand| match *operand {
                        Operand::Function(callee) => vec![callee],
                        Operand::Targets(list) => match body.target_lists.get(list.index()) {
                            Some(TargetList::Functions(callees)) => callees.clone(),
                            _ => Vec::new(),
                        },
                        _ => Vec::new(),
                    })
                    .collect();
                let indirect = instruction
                    .operands
                    .iter()
                    .any(|operand| matches!(operand, Operand::Register(_)));
                self.usage.indirect_calls += u64::from(indirect);
                all_of_known_address |= indirect && callees.is_empty();
                pending.extend(callees.into_iter().filter(|callee| found.insert(*callee)));
            }
        }
    }

    fn function(&mut self, function: &Function) {
        for register in &function.registers {
            let count = u64::from(register.vector.max(1));
            *self.usage.registers.entry(register.ty.text()).or_default() += count;
        }
        let directives = &function.directives;
        let has_ptr = function.params.iter().any(|formal| match formal {
            Formal::Variable(id) => self.module.variables[id.index()].pointer.is_some(),
            Formal::Register(_) => false,
        });
        let body = function.body.iter();
        let lists = body.clone().flat_map(|body| &body.target_lists);
        let is_calls = |list: &TargetList| matches!(list, TargetList::Functions(_));
        let wide = function.registers.iter().any(|register| register.ty == ScalarType::B128);
        for (name, present) in [
            (".maxntid", directives.maxntid.is_some()),
            (".reqntid", directives.reqntid.is_some()),
            (".minnctapersm", directives.minnctapersm.is_some()),
            (".maxnctapersm", directives.maxnctapersm.is_some()),
            (".maxnreg", directives.maxnreg.is_some()),
            (".reqnctapercluster", directives.reqnctapercluster.is_some()),
            (".maxclusterrank", directives.maxclusterrank.is_some()),
            (".explicitcluster", directives.explicitcluster),
            (".blocksareclusters", directives.blocksareclusters),
            (".minperctamemory", directives.minperctamemory.is_some()),
            (".pragma", !directives.pragmas.is_empty()),
            (".noreturn", function.no_return),
            (".weak", function.linkage == Linkage::Weak),
            (".ptr", has_ptr),
            (".branchtargets", lists.clone().any(|list| !is_calls(list))),
            (".calltargets", lists.clone().any(is_calls)),
            (".callprototype", body.clone().any(|body| !body.prototypes.is_empty())),
            (".b128 register", wide),
        ] {
            if present {
                self.directive(name);
            }
        }
    }

    fn directive(&mut self, name: &'static str) {
        if let Some((_, since)) = DIRECTIVES.iter().find(|row| row.0 == name) {
            self.usage.needs.add(*since, || Cause::Directive(name));
        }
    }

    fn instruction(&mut self, function: FunctionId, instruction: &Instruction) {
        let form = instruction.form.form();
        *self.usage.mnemonics.entry(instruction.opcode.text()).or_default() += 1;
        *self.usage.classes.entry(form.class).or_default() += 1;
        let cause = || Cause::Instruction(function, instruction.span);
        self.usage.needs.add(form.since(&instruction.modifiers), cause);
        for operand in &instruction.operands {
            if let Operand::Special(special) = operand {
                self.usage.needs.add(special.since(), cause);
            }
        }
    }

    /// Notes the variables that an operand names.
    fn names(&mut self, operand: &Operand) {
        match operand {
            Operand::Variable(id, _) => drop(self.named.insert(*id)),
            Operand::Address(address) => {
                if let AddressBase::Variable(id) = address.base {
                    self.named.insert(id);
                }
            }
            Operand::Vector(all) | Operand::List(all) | Operand::Indexed(all) => {
                all.iter().for_each(|operand| self.names(operand));
            }
            Operand::Pair(pair) => pair.iter().for_each(|operand| self.names(operand)),
            Operand::Negative(inner) => self.names(inner),
            _ => {}
        }
    }

    /// Every device function whose address stands in code or in an initialiser.
    fn addresses_taken(&self) -> BTreeSet<FunctionId> {
        fn collect(operand: &Operand, taken: &mut BTreeSet<FunctionId>) {
            match operand {
                Operand::Function(id) => drop(taken.insert(*id)),
                Operand::Vector(all) | Operand::List(all) => {
                    all.iter().for_each(|operand| collect(operand, taken));
                }
                _ => {}
            }
        }
        let mut taken = BTreeSet::new();
        for body in self.module.functions.iter().filter_map(|function| function.body.as_ref()) {
            for instruction in &body.instructions {
                for operand in &instruction.operands {
                    let callee = instruction.opcode == Opcode::Call
                        && matches!(operand, Operand::Function(_));
                    if !callee {
                        collect(operand, &mut taken);
                    }
                }
            }
        }
        for item in self.module.variables.iter().flat_map(|variable| &variable.initializer) {
            if let InitializerValue::Function { function, .. } = item.value {
                taken.insert(function);
            }
        }
        taken.retain(|id| self.module.functions[id.index()].kind == FunctionKind::Device);
        taken
    }

    fn variables(&mut self) {
        let mut pending: Vec<VariableId> = self.named.iter().copied().collect();
        while let Some(id) = pending.pop() {
            for item in &self.module.variables[id.index()].initializer {
                if let InitializerValue::Variable { variable, .. } = item.value
                    && self.named.insert(variable)
                {
                    pending.push(variable);
                }
            }
        }
        for &id in &self.named.clone() {
            let variable = &self.module.variables[id.index()];
            if variable.linkage == Linkage::Common {
                self.directive(".common");
            }
            let memory = &mut self.usage.memory;
            let total = match variable.space {
                StateSpace::Shared => {
                    memory.dynamic_shared |= variable.size_bytes == 0;
                    &mut memory.shared
                }
                StateSpace::Local => &mut memory.local,
                StateSpace::Const => &mut memory.constant,
                StateSpace::Global => &mut memory.global,
                _ => continue,
            };
            if variable.size_bytes == 0 {
                continue;
            }
            let align = u64::from(variable.align.max(1));
            let start = total.checked_next_multiple_of(align).unwrap_or(u64::MAX);
            *total = start.saturating_add(variable.size_bytes);
        }
    }
}
