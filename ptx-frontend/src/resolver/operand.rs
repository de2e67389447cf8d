//! Operands with their names resolved.

use smallvec::SmallVec;

use super::scope::{Found, Symbol};
use super::{Resolver, constant, problem};
use crate::ast::{self, Expression, Name, OperandKind};
use crate::isa::SpecialRegister;
use crate::module::{Address, AddressBase, FunctionId, Immediate, Operand, RegisterId};
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};

impl<'a> Resolver<'a> {
    pub(super) fn operand(
        &mut self,
        operand: &ast::Operand<'a>,
        function: FunctionId,
    ) -> Result<Operand, Diagnostic> {
        let span = operand.span;
        Ok(match &operand.kind {
            OperandKind::Sink => Operand::Sink,
            OperandKind::Value(value) => self.value(value, span, function)?,
            OperandKind::Address(base) => Operand::Address(self.address(base, span, function)?),
            OperandKind::Indexed(operands) => Operand::Indexed(self.operands(operands, function)?),
            OperandKind::Vector(operands) => Operand::Vector(self.operands(operands, function)?),
            OperandKind::List(operands) => Operand::List(self.operands(operands, function)?),
            OperandKind::Pair(pair) => Operand::Pair(Box::new([
                self.operand(&pair[0], function)?,
                self.operand(&pair[1], function)?,
            ])),
        })
    }

    fn operands(
        &mut self,
        operands: &[ast::Operand<'a>],
        function: FunctionId,
    ) -> Result<Vec<Operand>, Diagnostic> {
        operands.iter().map(|operand| self.operand(operand, function)).collect()
    }

    /// A name, a constant, or a name plus an offset.
    pub(super) fn value(
        &mut self,
        value: &Expression<'a>,
        span: Span,
        function: FunctionId,
    ) -> Result<Operand, Diagnostic> {
        match value {
            Expression::Name(name) => self.name(name, span, function),
            Expression::Member(name, member) => self.member(name, member, span, function),
            Expression::Unary("!", inner) => match **inner {
                Expression::Name(name) => match self.name(name, span, function)? {
                    Operand::Register(register) => Ok(Operand::Negated(register)),
                    _ => Err(problem(
                        Code::WrongOperand,
                        format!("`{name}` is not a predicate"),
                        span,
                    )),
                },
                _ => constant::evaluate(value, span)
                    .map(|constant| Operand::Immediate(constant.immediate())),
            },
            Expression::Unary("-", inner)
                if matches!(**inner, Expression::Name(name) if name != "WARP_SZ")
                    || matches!(**inner, Expression::Member(..)) =>
            {
                Ok(Operand::Negative(Box::new(self.value(inner, span, function)?)))
            }
            Expression::Index(name, index) => self.element(name, index, span, function),
            Expression::Binary("+" | "-", _) => {
                let Some((base, offset)) = split_offset(value, span)? else {
                    return self.folded(value, span);
                };
                match self.name(base, span, function)? {
                    Operand::Variable(variable, _) => Ok(Operand::Variable(variable, offset)),
                    Operand::Register(register) if only_sums(value) => {
                        self.sum(base, register, offset, span, function)
                    }
                    _ => Err(Diagnostic {
                        hint: Some("compute it with an instruction of its own".to_owned()),
                        ..problem(
                            Code::WrongOperand,
                            format!("`{base}` cannot have an offset here"),
                            span,
                        )
                    }),
                }
            }
            _ => self.folded(value, span),
        }
    }

    fn folded(&self, value: &Expression<'a>, span: Span) -> Result<Operand, Diagnostic> {
        Ok(Operand::Immediate(constant::evaluate(value, span)?.immediate()))
    }

    pub(super) fn name(
        &mut self,
        name: &'a str,
        span: Span,
        function: FunctionId,
    ) -> Result<Operand, Diagnostic> {
        Ok(match self.scopes.find_register(name) {
            Some(Found::Symbol(symbol)) => match symbol {
                Symbol::Register(register) => Operand::Register(register),
                Symbol::Variable(variable) => Operand::Variable(variable, 0),
                Symbol::Function(function) => Operand::Function(function),
                Symbol::Label(label) => Operand::Label(label),
                // Lists and prototypes stand before their uses, as ptxas wants them.
                Symbol::Targets(targets) if targets.0 < self.directives_seen.lists => {
                    Operand::Targets(targets)
                }
                Symbol::Prototype(prototype) if prototype.0 < self.directives_seen.prototypes => {
                    Operand::Prototype(prototype)
                }
                Symbol::Targets(_) | Symbol::Prototype(_) => {
                    return Err(Diagnostic {
                        hint: Some("move the list or prototype before this instruction".to_owned()),
                        ..problem(
                            Code::DeclaredLater,
                            format!("`{name}` is declared only later"),
                            span,
                        )
                    });
                }
            },
            Some(Found::Member { family, scope }) => {
                let register = self.new_register(function, name, family.ty, family.vector);
                self.scopes.declare_at(scope, name, Symbol::Register(register));
                Operand::Register(register)
            }
            None => match SpecialRegister::from_text(name) {
                None if SpecialRegister::is_vector_name(name) => special_vector(name),
                Some(special) => {
                    self.check_per_cta_memory(special, function, Name { text: name, span })?;
                    Operand::Special(special)
                }
                None => {
                    let what = if name.starts_with('%') { "register" } else { "name" };
                    return Err(self.undefined(what, Name { text: name, span }));
                }
            },
        })
    }

    /// Only kernels that ask for memory of each CTA learn where it is.
    fn check_per_cta_memory(
        &self,
        special: SpecialRegister,
        function: FunctionId,
        name: Name<'a>,
    ) -> Result<(), Diagnostic> {
        use SpecialRegister::{Perctamemoryoffset, Perctamemorysize};
        let asked = self.module.functions[function.index()].directives.minperctamemory.is_some();
        if asked || !matches!(special, Perctamemoryoffset | Perctamemorysize) {
            return Ok(());
        }
        Err(Diagnostic {
            hint: Some("write `.minperctamemory` and a size before the kernel's `{`".to_owned()),
            ..problem(
                Code::WrongOperand,
                format!("this function has no memory for `{}`", name.text),
                name.span,
            )
        })
    }

    pub(super) fn register(
        &mut self,
        name: Name<'a>,
        function: FunctionId,
    ) -> Result<RegisterId, Diagnostic> {
        match self.name(name.text, name.span, function)? {
            Operand::Register(register) => Ok(register),
            _ => Err(problem(
                Code::WrongOperand,
                format!("`{}` is not a register", name.text),
                name.span,
            )),
        }
    }

    /// `%tid.x`, `v.y`, `r.b0`, `r.h10`.
    fn member(
        &mut self,
        name: &'a str,
        member: &'a str,
        span: Span,
        function: FunctionId,
    ) -> Result<Operand, Diagnostic> {
        if SpecialRegister::is_vector_name(name) {
            let whole = format!("{name}.{member}");
            return SpecialRegister::from_text(&whole).map(Operand::Special).ok_or_else(|| {
                problem(Code::WrongOperand, format!("`{name}` has no element `.{member}`"), span)
            });
        }
        let register = self.register(Name { text: name, span }, function)?;
        let declared = &self.module.functions[function.index()].registers[register.index()];
        if declared.vector > 1 {
            let element = match member {
                "x" | "r" => 0,
                "y" | "g" => 1,
                "z" | "b" => 2,
                "w" | "a" => 3,
                _ => u8::MAX,
            };
            if element < declared.vector {
                return Ok(Operand::Element(register, element));
            }
            return Err(problem(
                Code::WrongOperand,
                format!("`{name}` has no element `.{member}`"),
                span,
            ));
        }
        lanes(register, member).ok_or_else(|| {
            problem(
                Code::WrongOperand,
                format!("`.{member}` does not select a part of `{name}`"),
                span,
            )
        })
    }

    /// Resolves the expression between the brackets of a memory operand.
    fn address(
        &mut self,
        base: &Expression<'a>,
        span: Span,
        function: FunctionId,
    ) -> Result<Address, Diagnostic> {
        let (name, offset) = match base {
            Expression::Name(name) => (*name, 0),
            _ => match split_offset(base, span)? {
                Some(split) => split,
                None => {
                    let value = constant::evaluate(base, span)?;
                    let Some(bits) = value.as_u64() else {
                        return Err(problem(Code::WrongOperand, "an address is an integer", span));
                    };
                    return Ok(Address { base: AddressBase::Absolute, offset: bits as i64 });
                }
            },
        };
        let base = match self.name(name, span, function)? {
            Operand::Register(register) => AddressBase::Register(register),
            Operand::Variable(variable, _) => AddressBase::Variable(variable),
            _ => {
                return Err(problem(
                    Code::WrongOperand,
                    format!("`{name}` has no address in memory"),
                    span,
                ));
            }
        };
        Ok(Address { base, offset })
    }
}

/// `%tid` and its like: three elements and a zero (manual, section 10.1).
fn special_vector(name: &str) -> Operand {
    let element = |member| SpecialRegister::from_text(&format!("{name}.{member}"));
    let elements = ["x", "y", "z"].into_iter().filter_map(element).map(Operand::Special);
    let zero = Operand::Immediate(Immediate::Integer(0));
    Operand::Vector(elements.chain([zero]).collect())
}

/// Returns true if an offset is added: `%r1 - 4` is no value, though `%r1 + -4` is one.
fn only_sums(value: &Expression<'_>) -> bool {
    match value {
        Expression::Binary("+", sides) => only_sums(&sides[0]),
        Expression::Name(_) => true,
        _ => false,
    }
}

/// `name+4`, `name-4`, `name+-4`, `name+4+8` as a name and the sum of the offsets; `None` if no
/// name stands at the left end.
fn split_offset<'a>(
    value: &Expression<'a>,
    span: Span,
) -> Result<Option<(&'a str, i64)>, Diagnostic> {
    match value {
        Expression::Name("WARP_SZ") => Ok(None),
        Expression::Name(name) => Ok(Some((name, 0))),
        Expression::Parenthesised(inner) => split_offset(inner, span),
        Expression::Binary(operator @ ("+" | "-"), sides) => {
            let Some((name, before)) = split_offset(&sides[0], span)? else { return Ok(None) };
            let Some(bits) = constant::evaluate(&sides[1], span)?.as_u64() else {
                return Err(problem(Code::WrongOperand, "an offset is an integer", span));
            };
            let step = if *operator == "-" { (bits as i64).wrapping_neg() } else { bits as i64 };
            Ok(Some((name, before.wrapping_add(step))))
        }
        _ => Ok(None),
    }
}

/// `.b0`, `.h1`, `.h10`, `.b7654`.
fn lanes(register: RegisterId, selector: &str) -> Option<Operand> {
    let (bytes, digits) = match selector.as_bytes().split_first()? {
        (b'b', digits) => (1, digits),
        (b'h', digits) => (2, digits),
        _ => return None,
    };
    let limit = if bytes == 1 { b'7' } else { b'3' };
    if digits.is_empty() || digits.len() > 4 || !digits.iter().all(|d| (b'0'..=limit).contains(d)) {
        return None;
    }
    Some(match digits {
        [digit] => Operand::Part { register, index: digit - b'0', bytes },
        _ => {
            let lanes: SmallVec<[u8; 4]> = digits.iter().map(|digit| digit - b'0').collect();
            Operand::Lanes { register, lanes, bytes }
        }
    })
}
