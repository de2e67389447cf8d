//! A syntax tree back to text.
//!
//! The printed text has the same tokens as the parsed one; only white space and comments differ.

use std::fmt::{self, Display, Formatter, Write as _};

use crate::ast::{
    Declarator, Expression, File, Function, FunctionDirective, Initializer, Instruction, Item, Loc,
    Operand, OperandKind, Prototype, Qualifier, Statement, StatementKind, Variable,
};
use crate::module::{FunctionKind, Linkage};

/// Writes `items` with `separator` between them.
fn separated<T: Display>(
    f: &mut Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    separator: &str,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

/// `(a, b)` if there is such a list.
fn parenthesised<T: Display>(f: &mut Formatter<'_>, items: Option<&Vec<T>>) -> fmt::Result {
    if let Some(items) = items {
        f.write_str("(")?;
        separated(f, items, ", ")?;
        f.write_str(")")?;
    }
    Ok(())
}

impl Display for File<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        separated(f, &self.items, "\n")?;
        f.write_char('\n')
    }
}

impl Display for Item<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, ".version {}", version.text),
            Self::Target(names) => {
                f.write_str(".target ")?;
                separated(f, names.iter().map(|name| name.text), ", ")
            }
            Self::AddressSize(bits) => write!(f, ".address_size {}", bits.text),
            Self::File(file) => {
                write!(f, ".file {} {}", file.index, file.name)?;
                match file.stamp {
                    Some((time, size)) => write!(f, ", {time}, {size}"),
                    None => Ok(()),
                }
            }
            Self::Section(section) => {
                write!(f, "{} {}\n{{\n", section.directive, section.name.unwrap_or_default())?;
                // One directive a line keeps the text readable; operators stay where they are.
                for token in &section.tokens {
                    if token.starts_with('.') {
                        f.write_char('\n')?;
                    }
                    write!(f, "{token} ")?;
                }
                f.write_str("\n}")
            }
            Self::DebugLine(line) => f.write_str(line),
            Self::Pragma(strings) => write_pragma(f, strings),
            Self::Alias { alias, target } => write!(f, ".alias {}, {};", alias.text, target.text),
            Self::Variable(variable) => write!(f, "{variable};"),
            Self::Function(function) => write!(f, "{function}"),
        }
    }
}

fn write_pragma(f: &mut Formatter<'_>, strings: &[&str]) -> fmt::Result {
    f.write_str(".pragma ")?;
    separated(f, strings, ", ")?;
    f.write_str(";")
}

impl Display for Linkage {
    /// The directive with a space behind it, or nothing.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Internal => "",
            Self::Visible => ".visible ",
            Self::Extern => ".extern ",
            Self::Weak => ".weak ",
            Self::Common => ".common ",
        })
    }
}

impl Display for Variable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.linkage)?;
        for qualifier in &self.leading {
            write!(f, "{qualifier} ")?;
        }
        write!(f, ".{}", self.space.text())?;
        for qualifier in &self.qualifiers {
            write!(f, " {qualifier}")?;
        }
        write!(f, " {}", self.ty)?;
        for qualifier in &self.pointer {
            write!(f, " {qualifier}")?;
        }
        f.write_str(" ")?;
        separated(f, &self.declarators, ", ")
    }
}

impl Display for Qualifier<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Align(bytes) => write!(f, ".align {bytes}"),
            Self::Vector(count) => write!(f, ".v{count}"),
            Self::Attribute(tokens) => {
                f.write_str(".attribute(")?;
                separated(f, tokens, " ")?;
                f.write_str(")")
            }
            Self::Ptr => f.write_str(".ptr"),
            Self::Space(space) => write!(f, ".{}", space.text()),
        }
    }
}

impl Display for Declarator<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name {
            f.write_str(name.text)?;
        }
        if let Some(count) = &self.count {
            write!(f, "<{count}>")?;
        }
        for dimension in &self.dimensions {
            match dimension {
                Some(size) => write!(f, "[{size}]")?,
                None => f.write_str("[]")?,
            }
        }
        match &self.initializer {
            Some(initializer) => write!(f, " = {initializer}"),
            None => Ok(()),
        }
    }
}

impl Display for Initializer<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(items) => {
                f.write_str("{")?;
                separated(f, items, ", ")?;
                f.write_str("}")
            }
            Self::Value(value) => write!(f, "{value}"),
        }
    }
}

impl Display for Expression<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) | Self::Name(text) => f.write_str(text),
            Self::Member(name, member) => write!(f, "{name}.{member}"),
            // `- -x` must not become `--x`; no operator of two characters begins so, but the
            // space costs nothing.
            Self::Unary(operator, inner) => match **inner {
                Self::Unary(..) => write!(f, "{operator} {inner}"),
                _ => write!(f, "{operator}{inner}"),
            },
            Self::Binary(operator, sides) => match sides[1] {
                Self::Number(_) if matches!(*operator, "+" | "-") => {
                    write!(f, "{}{operator}{}", sides[0], sides[1])
                }
                _ => write!(f, "{} {operator} {}", sides[0], sides[1]),
            },
            Self::Ternary(parts) => write!(f, "{} ? {} : {}", parts[0], parts[1], parts[2]),
            Self::Cast(ty, inner) => write!(f, "({ty}) {inner}"),
            Self::Parenthesised(inner) => write!(f, "({inner})"),
            Self::Apply(function, argument) => write!(f, "{function}({argument})"),
            Self::Index(name, index) => write!(f, "{name}[{index}]"),
        }
    }
}

impl Display for Function<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FunctionKind::Entry => ".entry",
            FunctionKind::Device => ".func",
        };
        write!(f, "{}{kind} ", self.linkage)?;
        if !self.attributes.is_empty() {
            f.write_str(".attribute(")?;
            separated(f, &self.attributes, " ")?;
            f.write_str(") ")?;
        }
        parenthesised(f, self.returns.as_ref())?;
        write!(f, " {}", self.name.text)?;
        parenthesised(f, self.params.as_ref())?;
        for directive in &self.directives {
            write!(f, "\n{directive}")?;
        }
        if self.semicolon {
            f.write_str(";")?;
        }
        let Some(statements) = &self.body else { return Ok(()) };
        f.write_str("\n{\n")?;
        for statement in statements {
            writeln!(f, "{statement}")?;
        }
        f.write_str("}")
    }
}

impl Display for FunctionDirective<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.name.text)?;
        separated(f, &self.values, ", ")?;
        separated(f, &self.strings, ", ")?;
        f.write_str(if self.semicolon { ";" } else { "" })
    }
}

impl Display for Statement<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            StatementKind::Open => f.write_str("{"),
            StatementKind::Close => f.write_str("}"),
            StatementKind::Label(name) => write!(f, "{name}:"),
            StatementKind::Instruction(instruction) => write!(f, "\t{instruction}"),
            StatementKind::Variable(variable) => write!(f, "\t{variable};"),
            StatementKind::Loc(loc) => write!(f, "\t{loc}"),
            StatementKind::LocIntermediate([file, line, column]) => {
                write!(f, "\t.loc_intermediate {file} {line} {column}")
            }
            StatementKind::Pragma(strings) => write_pragma(f, strings),
            StatementKind::Targets(directive, names) => {
                write!(f, "\t{directive} ")?;
                separated(f, names.iter().map(|name| name.text), ", ")?;
                f.write_str(";")
            }
            StatementKind::Prototype(prototype) => write!(f, "\t{prototype};"),
            StatementKind::DebugLine(line) => f.write_str(line),
        }
    }
}

impl Display for Loc<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".loc {} {} {}", self.position[0], self.position[1], self.position[2])?;
        if let Some((label, offset)) = self.function_name {
            write!(f, ", function_name {label}")?;
            if let Some(offset) = offset {
                write!(f, "+{offset}")?;
            }
        }
        match self.inlined_at {
            Some([file, line, column]) => write!(f, ", inlined_at {file} {line} {column}"),
            None => Ok(()),
        }
    }
}

impl Display for Prototype<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(".callprototype ")?;
        parenthesised(f, self.returns.as_ref())?;
        write!(f, " {} ", self.name.text)?;
        parenthesised(f, self.params.as_ref())?;
        for directive in &self.directives {
            write!(f, " {directive}")?;
        }
        Ok(())
    }
}

impl Display for Instruction<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = self.guard {
            write!(f, "@{}{} ", if guard.negated { "!" } else { "" }, guard.name.text)?;
        }
        write!(f, "{}", self.opcode)?;
        let before = self.modifiers.len() - usize::from(self.suffixed);
        for modifier in &self.modifiers[..before] {
            write!(f, ".{modifier}")?;
        }
        for (index, operand) in self.operands.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            write!(f, "{operand}")?;
            let is_address = matches!(operand.kind, OperandKind::Address(_));
            if self.suffixed && is_address {
                f.write_str(".unified")?;
            }
        }
        f.write_str(";")
    }
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bracketed = |f: &mut Formatter<'_>, open, operands: &Vec<Operand<'_>>, close| {
            f.write_char(open)?;
            separated(f, operands, ", ")?;
            f.write_char(close)
        };
        match &self.kind {
            OperandKind::Sink => f.write_char('_'),
            OperandKind::Value(value) => write!(f, "{value}"),
            OperandKind::Address(base) => write!(f, "[{base}]"),
            OperandKind::Indexed(operands) => bracketed(f, '[', operands, ']'),
            OperandKind::Vector(operands) => bracketed(f, '{', operands, '}'),
            OperandKind::List(operands) => bracketed(f, '(', operands, ')'),
            OperandKind::Pair(pair) => write!(f, "{}|{}", pair[0], pair[1]),
        }
    }
}
