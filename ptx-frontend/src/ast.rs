//! The syntax tree of a source text: the parser builds it, the printer prints it and the resolver
//! reads it.
//!
//! Names are borrowed from the text and literals keep their spelling, so that printing a parsed
//! file gives back the same tokens. Nested scopes of a function body are flat: a brace is a
//! statement of its own, which keeps every walk over a body free of recursion.

use smallvec::SmallVec;

use crate::isa::{Modifier, Opcode};
use crate::module::{FunctionKind, Linkage};
use crate::source::Span;
use crate::types::{ScalarType, StateSpace};

/// A translation unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File<'a> {
    /// Directives, variables and functions in order.
    pub items: Vec<Item<'a>>,
}

/// A name and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// The name as written.
    pub text: &'a str,
    /// Place in the text.
    pub span: Span,
}

/// Something at module scope.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    /// `.version 8.0`: the number as written.
    Version(Name<'a>),
    /// `.target sm_80, debug`.
    Target(Vec<Name<'a>>),
    /// `.address_size 64`.
    AddressSize(Name<'a>),
    /// `.file 1 "x.cu", time, size`.
    File(FileDirective<'a>),
    /// `.section .debug_info { … }`: the name and the contents, token by token.
    Section(Section<'a>),
    /// A `@@DWARF` line of old compilers.
    DebugLine(&'a str),
    /// `.pragma "…", "…";`: the strings with their quotes.
    Pragma(Vec<&'a str>),
    /// `.alias a, b;`.
    Alias {
        /// The new name.
        alias: Name<'a>,
        /// The existing name.
        target: Name<'a>,
    },
    /// A variable declaration.
    Variable(Box<Variable<'a>>),
    /// A kernel or function.
    Function(Box<Function<'a>>),
}

/// `.file`.
#[derive(Clone, Debug, PartialEq)]
pub struct FileDirective<'a> {
    /// The index as written.
    pub index: &'a str,
    /// The name with its quotes.
    pub name: &'a str,
    /// Time stamp and size, if written.
    pub stamp: Option<(&'a str, &'a str)>,
}

/// `.section` or `.nv_intermediate_source_section`.
#[derive(Clone, Debug, PartialEq)]
pub struct Section<'a> {
    /// The directive.
    pub directive: &'a str,
    /// The name with its dot, which a section of intermediate sources has not.
    pub name: Option<&'a str>,
    /// Everything between the braces, token by token.
    pub tokens: Vec<&'a str>,
}

/// `.reg`, `.global`, `.shared`, `.param`, …: one declaration of one or several variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable<'a> {
    /// `.extern`, `.visible`, ….
    pub linkage: Linkage,
    /// `.align` before the space, where old code has it.
    pub leading: SmallVec<[Qualifier<'a>; 1]>,
    /// The state space.
    pub space: StateSpace,
    /// The qualifiers between the space and the type, in order.
    pub qualifiers: SmallVec<[Qualifier<'a>; 2]>,
    /// The element type.
    pub ty: ScalarType,
    /// A `.ptr` or its relatives after the type of a kernel parameter, in order.
    pub pointer: SmallVec<[Qualifier<'a>; 2]>,
    /// The declared variables.
    pub declarators: SmallVec<[Declarator<'a>; 1]>,
    /// The whole declaration.
    pub span: Span,
}

/// A qualifier of a variable declaration.
#[derive(Clone, Debug, PartialEq)]
pub enum Qualifier<'a> {
    /// `.align 16`.
    Align(Expression<'a>),
    /// `.v2`, `.v4`, `.v8`.
    Vector(u8),
    /// `.attribute(.managed, .unified(1, 2))`: the tokens between the parentheses.
    Attribute(Vec<&'a str>),
    /// `.ptr`.
    Ptr,
    /// The space that a `.ptr` points into.
    Space(StateSpace),
}

/// One name of a variable declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Declarator<'a> {
    /// The name; `_` or nothing in prototypes.
    pub name: Option<Name<'a>>,
    /// `<10>`: the number of registers `name0` to `name9`.
    pub count: Option<Expression<'a>>,
    /// `[4][]`: array dimensions.
    pub dimensions: SmallVec<[Option<Expression<'a>>; 1]>,
    /// `= …`.
    pub initializer: Option<Initializer<'a>>,
}

/// Initial contents.
#[derive(Clone, Debug, PartialEq)]
pub enum Initializer<'a> {
    /// `{ …, … }`.
    List(Vec<Initializer<'a>>),
    /// A constant, a name, `generic(name)+4`, ….
    Value(Expression<'a>),
}

/// A constant expression, a name, or a name plus an offset.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression<'a> {
    /// An integer or floating-point literal as written.
    Number(&'a str),
    /// A variable, function or constant name.
    Name(&'a str),
    /// `name.x`.
    Member(&'a str, &'a str),
    /// `-x`, `!x`, `~x`, `+x`.
    Unary(&'a str, Box<Expression<'a>>),
    /// `x + y`.
    Binary(&'a str, Box<[Expression<'a>; 2]>),
    /// `c ? x : y`.
    Ternary(Box<[Expression<'a>; 3]>),
    /// `(.s64) x`.
    Cast(ScalarType, Box<Expression<'a>>),
    /// `( x )`.
    Parenthesised(Box<Expression<'a>>),
    /// `generic(x)`, `0xFF(x)`: the function or mask, and its argument.
    Apply(&'a str, Box<Expression<'a>>),
    /// `array[i]`: an element of an array variable.
    Index(&'a str, Box<Expression<'a>>),
}

/// A kernel or device function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function<'a> {
    /// `.extern`, `.visible`, `.weak`.
    pub linkage: Linkage,
    /// `.entry` or `.func`.
    pub kind: FunctionKind,
    /// `.attribute(…)` before the name, by tokens.
    pub attributes: Vec<&'a str>,
    /// The return parameters with their parentheses, if any.
    pub returns: Option<Vec<Variable<'a>>>,
    /// The name.
    pub name: Name<'a>,
    /// The parameters with their parentheses, if any.
    pub params: Option<Vec<Variable<'a>>>,
    /// `.maxntid`, `.noreturn`, … in order.
    pub directives: Vec<FunctionDirective<'a>>,
    /// The statements; `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
    /// True if a declaration ends in a semicolon.
    pub semicolon: bool,
}

/// A directive between a function's parameters and its body.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionDirective<'a> {
    /// The name with its dot.
    pub name: Name<'a>,
    /// Numbers or strings, separated by commas.
    pub values: SmallVec<[Expression<'a>; 3]>,
    /// Strings of a `.pragma`, with their quotes.
    pub strings: Vec<&'a str>,
    /// True if a semicolon follows (`.pragma`).
    pub semicolon: bool,
}

/// A statement of a function body.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement<'a> {
    /// Kind of the statement.
    pub kind: StatementKind<'a>,
    /// The whole statement.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind<'a> {
    /// `{`: a scope begins.
    Open,
    /// `}`: the innermost scope ends.
    Close,
    /// `name:`.
    Label(&'a str),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// `.reg`, `.local`, `.shared`, `.param`, ….
    Variable(Box<Variable<'a>>),
    /// `.loc 1 12 3, function_name $L, inlined_at 1 5 3`.
    Loc(Loc<'a>),
    /// `.loc_intermediate 2 23 6`: file, line and column in another language's text.
    LocIntermediate([&'a str; 3]),
    /// `.pragma "…";`.
    Pragma(Vec<&'a str>),
    /// `.branchtargets a, b;` or `.calltargets f, g;`: the directive and its names.
    Targets(&'a str, Vec<Name<'a>>),
    /// `.callprototype (ret) _ (params);`.
    Prototype(Box<Prototype<'a>>),
    /// A `@@DWARF` line, or a `.section` within a body.
    DebugLine(&'a str),
}

/// `.loc`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loc<'a> {
    /// File, line and column as written.
    pub position: [&'a str; 3],
    /// `function_name label {+ offset}`.
    pub function_name: Option<(&'a str, Option<&'a str>)>,
    /// `inlined_at file line column`.
    pub inlined_at: Option<[&'a str; 3]>,
}

/// `.callprototype`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype<'a> {
    /// The return parameters, if any.
    pub returns: Option<Vec<Variable<'a>>>,
    /// The name, always `_` in practice.
    pub name: Name<'a>,
    /// The parameters, if any.
    pub params: Option<Vec<Variable<'a>>>,
    /// `.noreturn`, `.abi_preserve N`, …: tokens up to the semicolon.
    pub directives: Vec<&'a str>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'a> {
    /// `@p` or `@!p`.
    pub guard: Option<Guard<'a>>,
    /// The mnemonic.
    pub opcode: Opcode,
    /// The modifiers in the order written; `.unified` after an address is among them.
    pub modifiers: SmallVec<[Modifier; 6]>,
    /// True if the last modifier (`.unified`) stands after the address.
    pub suffixed: bool,
    /// The operands.
    pub operands: SmallVec<[Operand<'a>; 4]>,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'a> {
    /// The predicate.
    pub name: Name<'a>,
    /// `!`.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand<'a> {
    /// Kind of the operand.
    pub kind: OperandKind<'a>,
    /// Place in the text.
    pub span: Span,
}

/// The kinds of operand.
#[derive(Clone, Debug, PartialEq)]
pub enum OperandKind<'a> {
    /// `_`.
    Sink,
    /// A name, a literal, a constant expression, or a name plus an offset.
    Value(Expression<'a>),
    /// `[base+offset]`.
    Address(Expression<'a>),
    /// `[a, b, …]`.
    Indexed(Vec<Operand<'a>>),
    /// `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// `(a, b)`.
    List(Vec<Operand<'a>>),
    /// `a|b`.
    Pair(Box<[Operand<'a>; 2]>),
}
