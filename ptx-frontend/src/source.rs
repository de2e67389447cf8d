//! Positions in a source text, and diagnostics about them.

use std::fmt;
use std::ops::Range;

/// A byte range of the source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `range.start` up to `range.end`.
    #[must_use]
    pub const fn new(range: Range<usize>) -> Self {
        Self { start: range.start as u32, end: range.end as u32 }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span as a range of bytes.
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A one-based line and column; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// One-based line.
    pub line: u32,
    /// One-based column, in characters.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The offset of each line of a text; turns offsets into [`Position`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Index `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        Self { starts: std::iter::once(0).chain(newlines.map(|(at, _)| at as u32 + 1)).collect() }
    }

    /// The one-based line that holds `offset`.
    #[must_use]
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32
    }

    /// Line and column of `offset` in `text`, the text that was indexed.
    #[must_use]
    pub fn position(&self, text: &str, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.starts[line as usize - 1] as usize;
        let upto = text.get(start..offset as usize).unwrap_or_default();
        Position { line, column: upto.chars().count() as u32 + 1 }
    }
}

/// Declares the codes with their texts.
macro_rules! diagnostic_codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// The kind of a [`Diagnostic`]: stable, so that programs need not read sentences.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DiagnosticCode {
            $($(#[$doc])* $name,)+
        }

        impl DiagnosticCode {
            /// Every code, in the order of `docs/codes.md`.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The code as text, such as `undefined-name`.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

diagnostic_codes! {
    /// The text is not PTX here: another token is expected.
    Syntax = "syntax",
    /// The text is too long, or nested too deeply.
    TooLarge = "too-large",
    /// There are too many errors; the rest was not read.
    TooManyErrors = "too-many-errors",
    /// No instruction has this mnemonic.
    UnknownInstruction = "unknown-instruction",
    /// No instruction has this modifier.
    UnknownModifier = "unknown-modifier",
    /// No directive has this name.
    UnknownDirective = "unknown-directive",
    /// The text does not begin with `.version`.
    MissingVersion = "missing-version",
    /// There is no `.target`.
    MissingTarget = "missing-target",
    /// The version is none, or newer than all that are known.
    UnknownVersion = "unknown-version",
    /// The target is none, or newer than all that are known.
    UnknownTarget = "unknown-target",
    /// Nothing declares this name.
    UndefinedName = "undefined-name",
    /// A name is declared a second time.
    DeclaredTwice = "declared-twice",
    /// A list of targets or a prototype is used before it is declared.
    DeclaredLater = "declared-later",
    /// A declaration of a variable, register, parameter or function is wrong.
    BadDeclaration = "bad-declaration",
    /// A directive has the wrong values or stands in the wrong place.
    BadDirective = "bad-directive",
    /// An initial value does not fit its variable.
    BadInitializer = "bad-initializer",
    /// A literal or constant expression has no value.
    BadConstant = "bad-constant",
    /// The modifiers of an instruction do not go together.
    WrongModifiers = "wrong-modifiers",
    /// An operand does not fit its place.
    WrongOperand = "wrong-operand",
    /// The instruction needs another PTX ISA version.
    NeedsVersion = "needs-version",
    /// The instruction needs another target.
    NeedsTarget = "needs-target",
}

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A fault of a source text, its place, and advice on what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Diagnostic {
    /// The kind of mistake.
    pub code: DiagnosticCode,
    /// The fault, as a sentence without a full stop.
    pub message: String,
    /// The offending text.
    pub span: Span,
    /// A proposal to write instead, or a place to look.
    pub hint: Option<String>,
}
