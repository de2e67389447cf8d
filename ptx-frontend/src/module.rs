//! A resolved translation unit: every name has become an index.
//!
//! Analyses and executors read a [`Module`]. Registers, variables, functions and labels are small
//! integers into vectors; the text they came from is reachable through spans.

use std::collections::HashMap;
use std::sync::OnceLock;

use smallvec::SmallVec;

use crate::capability::ComputeCapability;
use crate::isa::{FormId, Modifier, Opcode, SpecialRegister};
use crate::source::{LineIndex, Span};
use crate::types::{ScalarType, StateSpace};

macro_rules! index_types {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The index as a `usize`, for indexing the vector that it belongs to.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

index_types! {
    /// Index into [`Function::registers`].
    RegisterId,
    /// Index into [`Module::variables`].
    VariableId,
    /// Index into [`Module::functions`].
    FunctionId,
    /// Index into [`Body::labels`].
    LabelId,
    /// Index into [`Body::target_lists`].
    TargetListId,
    /// Index into [`Body::prototypes`].
    PrototypeId,
    /// Index into [`Module::inlined`].
    InlinedCallId,
}

/// A translation unit with every name resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// `.version major.minor`.
    pub isa_version: (u8, u8),
    /// `.target sm_NN…`: the compute capability times ten, e.g. 35, 80, 121.
    pub target_sm: u32,
    /// The target as written, with its suffix and options (`sm_90a`, `sm_20, debug`).
    pub target: String,
    /// `.address_size`: 32 or 64.
    pub address_bits: u8,
    /// `.file` directives: index as written, and name.
    pub files: Vec<(u32, String)>,
    /// Calls that the compiler inlined and `.loc` directives name.
    pub inlined: Vec<InlinedCall>,
    /// Every variable of every scope; module-scope ones have no [`Variable::function`].
    pub variables: Vec<Variable>,
    /// Every function that is defined or declared, in order of first appearance.
    pub functions: Vec<Function>,
    /// What the module is looked up by.
    pub lookup: Lookup,
}

impl Module {
    /// The compute capability of `.target`; `None` without one.
    #[must_use]
    pub fn capability(&self) -> Option<ComputeCapability> {
        (self.target_sm != 0).then(|| ComputeCapability::of_sm(self.target_sm))
    }
}

/// What a module that changes no more is looked up by. Each table is made once, when it is first
/// asked for: a file may have a hundred thousand kernels, and one that is looked at must not cost
/// the whole module.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    lines: OnceLock<LineIndex>,
    kernels: OnceLock<HashMap<String, FunctionId>>,
    variables: OnceLock<Variables>,
}

/// Variables by the function that they belong to, each list in order of the text.
#[derive(Clone, Debug)]
struct Variables {
    of_module: Vec<VariableId>,
    of_function: Vec<Vec<VariableId>>,
}

/// Modules are equal by what they say.
impl PartialEq for Lookup {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Module {
    /// The lines of `text`, the one that this module was made of.
    #[must_use]
    pub fn lines(&self, text: &str) -> &LineIndex {
        self.lookup.lines.get_or_init(|| LineIndex::new(text))
    }

    /// The kernel of this name that the module defines.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<FunctionId> {
        let kernels = self.lookup.kernels.get_or_init(|| {
            let mut kernels = HashMap::new();
            for (index, function) in self.functions.iter().enumerate() {
                if function.kind == FunctionKind::Entry && function.body.is_some() {
                    kernels.entry(function.name.clone()).or_insert(FunctionId(index as u32));
                }
            }
            kernels
        });
        kernels.get(name).copied()
    }

    /// The variables of module scope and those of `functions`, in order of the text.
    #[must_use]
    pub fn variables_of(&self, functions: &[FunctionId]) -> Vec<VariableId> {
        let variables = self.lookup.variables.get_or_init(|| {
            let mut of_module = Vec::new();
            let mut of_function = vec![Vec::new(); self.functions.len()];
            for (index, variable) in self.variables.iter().enumerate() {
                match variable.function {
                    Some(function) => &mut of_function[function.index()],
                    None => &mut of_module,
                }
                .push(VariableId(index as u32));
            }
            Variables { of_module, of_function }
        });
        let mut all = variables.of_module.clone();
        all.extend(functions.iter().flat_map(|function| &variables.of_function[function.index()]));
        all.sort_unstable();
        all
    }
}

/// Visibility of a symbol to other modules.
#[allow(missing_docs, reason = "the variants are the directives' own names")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linkage {
    #[default]
    Internal,
    Visible,
    Extern,
    Weak,
    Common,
}

/// A variable in memory: module scope, function scope, or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The name as written.
    pub name: String,
    /// Its state space; never [`StateSpace::Reg`].
    pub space: StateSpace,
    /// Element type.
    pub ty: ScalarType,
    /// Elements of one vector: 1, 2, 4 or 8.
    pub vector: u8,
    /// Array dimensions, outermost first; empty for a scalar. `.extern .shared x[]` has `[0]`.
    pub dimensions: Vec<u64>,
    /// Alignment in bytes, explicit or natural.
    pub align: u32,
    /// Size in bytes of the whole variable; 0 for an array of unknown size.
    pub size_bytes: u64,
    /// Linkage directive.
    pub linkage: Linkage,
    /// The function that declares it, if it is not module scope.
    pub function: Option<FunctionId>,
    /// `.ptr` attribute of a kernel parameter: the space and alignment of its pointee.
    pub pointer: Option<PointerAttribute>,
    /// Initial contents; bytes that no item covers are zero.
    pub initializer: Vec<InitializerItem>,
    /// Place of the declaration.
    pub span: Span,
}

/// `.ptr{.space}{.align N}` of a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerAttribute {
    /// Space of the pointee; generic if absent.
    pub space: Option<StateSpace>,
    /// Alignment of the pointee in bytes.
    pub align: u32,
}

/// One item of a variable's initial contents.
#[derive(Clone, Debug, PartialEq)]
pub struct InitializerItem {
    /// Byte offset within the variable.
    pub offset: u64,
    /// The value at the offset.
    pub value: InitializerValue,
}

/// A constant or an address in an initialiser.
#[derive(Clone, Debug, PartialEq)]
pub enum InitializerValue {
    /// Little-endian bytes of one element.
    Bytes(SmallVec<[u8; 8]>),
    /// The address of a variable plus `addend`, in the variable's own space or generic.
    Variable {
        /// The variable whose address is taken.
        variable: VariableId,
        /// Bytes added to the address.
        addend: i64,
        /// `generic(x)`: a generic address.
        generic: bool,
        /// Element width in bytes.
        width: u8,
        /// `mask(x)`: which byte of the address is taken, as the mask that was written.
        mask: Option<u64>,
    },
    /// The address of a function.
    Function {
        /// The function whose address is taken.
        function: FunctionId,
        /// Element width in bytes.
        width: u8,
        /// `mask(x)`, as the mask that was written.
        mask: Option<u64>,
    },
}

/// A register of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// The name as used (`%r12`).
    pub name: String,
    /// Declared type; it gives the width, not the use by instructions.
    pub ty: ScalarType,
    /// Elements of a vector register (`.reg .v4 .f32 v`): 1, 2 or 4.
    pub vector: u8,
}

/// Entry (kernel) or device function.
#[allow(missing_docs, reason = "the variants are the directives' own names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    Entry,
    Device,
}

/// A formal parameter or return value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formal {
    /// `.param` variable.
    Variable(VariableId),
    /// `.reg` parameter of a device function.
    Register(RegisterId),
}

/// A kernel or device function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name as written (mangled).
    pub name: String,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Linkage directive.
    pub linkage: Linkage,
    /// `.noreturn`.
    pub no_return: bool,
    /// Return values, device functions only.
    pub returns: Vec<Formal>,
    /// Formal parameters in order.
    pub params: Vec<Formal>,
    /// Performance-tuning and cluster directives.
    pub directives: PerformanceDirectives,
    /// Every register of the function.
    pub registers: Vec<Register>,
    /// The code; `None` for a declaration.
    pub body: Option<Body>,
    /// The name in the definition or declaration.
    pub span: Span,
}

/// `.maxntid` and its relatives.
#[allow(missing_docs, reason = "the fields are the directives' own names")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerformanceDirectives {
    pub maxntid: Option<[u32; 3]>,
    pub reqntid: Option<[u32; 3]>,
    pub minnctapersm: Option<u32>,
    pub maxnctapersm: Option<u32>,
    pub maxnreg: Option<u32>,
    pub reqnctapercluster: Option<[u32; 3]>,
    pub maxclusterrank: Option<u32>,
    pub explicitcluster: bool,
    pub blocksareclusters: bool,
    pub minperctamemory: Option<u32>,
    /// `.pragma` strings of the function.
    pub pragmas: Vec<String>,
}

/// The code of a function, flat; blocks come from [`crate::cfg`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Instructions in order of the text.
    pub instructions: Vec<Instruction>,
    /// Labels and the instruction that each stands before (may be one past the last).
    pub labels: Vec<Label>,
    /// `.branchtargets` lists (labels) and `.calltargets` lists (functions).
    pub target_lists: Vec<TargetList>,
    /// `.callprototype` declarations.
    pub prototypes: Vec<Prototype>,
}

/// A label of a function body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name as written.
    pub name: String,
    /// Index of the instruction that it stands before.
    pub instruction: u32,
}

/// A named list of possible targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetList {
    /// `.branchtargets`.
    Labels(Vec<LabelId>),
    /// `.calltargets`.
    Functions(Vec<FunctionId>),
}

/// The shape of an indirect call (`.callprototype`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// The label as written.
    pub name: String,
    /// Size and alignment in bytes of each return value.
    pub returns: Vec<(u64, u32)>,
    /// Size and alignment in bytes of each parameter.
    pub params: Vec<(u64, u32)>,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: RegisterId,
    /// Execute where the predicate is false.
    pub negated: bool,
}

/// A call that was replaced by the body of its callee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedCall {
    /// The callee's name, mangled, if the module's debug strings have it.
    pub callee: Option<String>,
    /// The place of the call. It may lie in a function that was inlined itself.
    pub at: Location,
}

/// A CUDA source position (`.loc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The `.file` index.
    pub file: u32,
    /// One-based line of that file.
    pub line: u32,
    /// Column of that line.
    pub column: u32,
    /// The call whose callee the line is in, if it was inlined.
    pub inlined: Option<InlinedCallId>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The instruction's opcode.
    pub opcode: Opcode,
    /// The row of the instruction table that it matched.
    pub form: FormId,
    /// Everything after the mnemonic, in the order written.
    pub modifiers: SmallVec<[Modifier; 6]>,
    /// The guard predicate.
    pub guard: Option<Guard>,
    /// Operands in the order written, destination first.
    pub operands: SmallVec<[Operand; 4]>,
    /// The whole instruction, from the guard to the semicolon.
    pub span: Span,
    /// The CUDA line, where `.loc` gives one.
    pub location: Option<Location>,
}

impl Instruction {
    /// Returns true if a modifier was written.
    #[must_use]
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// The types among the modifiers, in order: `cvt.rn.f32.s64` gives `F32, S64`.
    pub fn types(&self) -> impl Iterator<Item = ScalarType> + '_ {
        self.modifiers.iter().filter_map(|modifier| modifier.as_type())
    }
}

/// A literal; its width is that of the instruction's operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Immediate {
    /// Any integer literal or folded constant expression.
    Integer(i128),
    /// `0f3F800000`, as bits.
    F32(u32),
    /// `0d3FF0000000000000` or a decimal literal, as bits.
    F64(u64),
}

/// The base that an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressBase {
    /// `[%rd1+8]`.
    Register(RegisterId),
    /// `[array+8]`, `[kernel_param_0]`.
    Variable(VariableId),
    /// `[4096]`.
    Absolute,
}

/// `[base+offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The base that it is relative to.
    pub base: AddressBase,
    /// Bytes added to the base.
    pub offset: i64,
}

/// An operand with its names resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(RegisterId),
    /// `!p`.
    Negated(RegisterId),
    /// One element of a vector register: `v.x`.
    Element(RegisterId, u8),
    /// `%r1.b2`, `%r1.h0`: a byte or half of a register, for video instructions.
    Part {
        /// The register.
        register: RegisterId,
        /// Index of the part, from the least significant.
        index: u8,
        /// Width of the part in bytes, 1 or 2.
        bytes: u8,
    },
    /// Bytes or halves of a register in any order, for SIMD video instructions: `%r1.h10`,
    /// `%r2.b7654`; numbers above the register's own parts select from the next operand.
    Lanes {
        /// The register.
        register: RegisterId,
        /// The selected parts, most significant first, as written.
        lanes: SmallVec<[u8; 4]>,
        /// Width of a part in bytes, 1 or 2.
        bytes: u8,
    },
    /// `-r`, for `vmad`.
    Negative(Box<Operand>),
    /// A literal.
    Immediate(Immediate),
    /// A special register.
    Special(SpecialRegister),
    /// The address of a variable plus an offset, as a value.
    Variable(VariableId, i64),
    /// The address of a function, or the callee of `call`.
    Function(FunctionId),
    /// A branch target.
    Label(LabelId),
    /// A memory operand.
    Address(Address),
    /// `{a, b, c, d}`.
    Vector(Vec<Operand>),
    /// `d|p`.
    Pair(Box<[Operand; 2]>),
    /// `_`.
    Sink,
    /// A parenthesised list: the arguments or results of `call`.
    List(Vec<Operand>),
    /// A `.branchtargets` or `.calltargets` label.
    Targets(TargetListId),
    /// A `.callprototype` label.
    Prototype(PrototypeId),
    /// `[tex, {x, y}]`, `[tensor, {x, y}], …`: a memory operand with further operands.
    Indexed(Vec<Operand>),
}

#[cfg(test)]
mod tests {
    use super::FunctionId;

    const TEXT: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.global .u32 a;\n\
        .entry first(.param .u32 x) { ret; }\n.global .u32 b;\n\
        .entry second(.param .u32 y) { .local .u32 z; ret; }\n";

    #[test]
    fn kernels_lines_and_variables_are_those_of_the_text() {
        let module = crate::load(TEXT).unwrap();
        assert_eq!(module.kernel("first"), Some(FunctionId(0)));
        assert_eq!(module.kernel("second"), Some(FunctionId(1)));
        assert_eq!(module.kernel("third"), None);
        let names = |functions: &[FunctionId]| -> Vec<&str> {
            let all = module.variables_of(functions);
            all.into_iter().map(|id| module.variables[id.index()].name.as_str()).collect()
        };
        assert_eq!(names(&[FunctionId(0)]), ["a", "x", "b"]);
        assert_eq!(names(&[FunctionId(1)]), ["a", "b", "y", "z"]);
        let span = module.functions[1].span;
        assert_eq!(module.lines(TEXT).line(span.start), 7);
        // A table that was made changes nothing of what a module says.
        assert_eq!(module, crate::load(TEXT).unwrap());
    }
}
