//! Initial contents of variables.

use smallvec::SmallVec;

use super::constant::{self, Constant};
use super::scope::Symbol;
use super::{Resolver, problem};
use crate::ast::{Expression, Initializer, Name};
use crate::module::{InitializerItem, InitializerValue};
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};
use crate::types::{ScalarType, TypeKind};

/// An array type being filled.
struct Shape<'s> {
    ty: ScalarType,
    /// Lengths of the dimensions, the vector's elements last.
    lengths: &'s [u64],
    /// True if the last length is that of a vector.
    vector: bool,
    span: Span,
}

impl<'a> Resolver<'a> {
    pub(super) fn initializer(
        &self,
        initializer: &Initializer<'a>,
        ty: ScalarType,
        dimensions: &[u64],
        vector: u8,
        span: Span,
    ) -> Result<Vec<InitializerItem>, Diagnostic> {
        let mut lengths = dimensions.to_vec();
        if vector > 1 {
            lengths.push(u64::from(vector));
        }
        let mut items = Vec::new();
        let shape = Shape { ty, lengths: &lengths, vector: vector > 1, span };
        self.fill(initializer, &shape, 0, 0, &mut items)?;
        Ok(items)
    }

    /// Fills one level of an array from byte `offset` on; returns the offset behind it.
    fn fill(
        &self,
        initializer: &Initializer<'a>,
        shape: &Shape<'_>,
        level: usize,
        offset: u64,
        items: &mut Vec<InitializerItem>,
    ) -> Result<u64, Diagnostic> {
        let width = u64::from(shape.ty.bytes());
        let inner: u64 = shape.lengths.iter().skip(level + 1).product::<u64>() * width;
        match (initializer, shape.lengths.get(level)) {
            (Initializer::Value(value), None) => {
                if let Some(value) = self.initial_value(value, shape)? {
                    items.push(InitializerItem { offset, value });
                }
                Ok(offset + width)
            }
            (Initializer::Value(_), Some(_)) => Err(problem(
                Code::BadInitializer,
                "the elements of this variable stand in braces",
                shape.span,
            )),
            (Initializer::List(_), None) => Err(problem(
                Code::BadInitializer,
                "one value of this variable has no braces",
                shape.span,
            )),
            (Initializer::List(values), Some(&length)) => {
                let end = offset + length * inner;
                if values.len() as u64 > length {
                    let message = "more initial values than the variable has";
                    return Err(problem(Code::BadInitializer, message, shape.span));
                }
                let is_vector = shape.vector && level + 1 == shape.lengths.len();
                if is_vector && values.len() as u64 != length {
                    let message = format!("a vector of {length} elements has {length} values");
                    return Err(problem(Code::BadInitializer, message, shape.span));
                }
                for (index, value) in values.iter().enumerate() {
                    self.fill(value, shape, level + 1, offset + index as u64 * inner, items)?;
                }
                Ok(end)
            }
        }
    }

    /// `None` for zero, which bytes without an item are anyway.
    fn initial_value(
        &self,
        value: &Expression<'a>,
        shape: &Shape<'_>,
    ) -> Result<Option<InitializerValue>, Diagnostic> {
        if let Some((name, addend, generic, mask)) = address(value, shape.span)? {
            return self.initial_address(name, addend, generic, mask, shape).map(Some);
        }
        let width = shape.ty.bytes() as usize;
        let constant = constant::evaluate(value, shape.span)?;
        let bytes = match (shape.ty.kind(), constant) {
            (TypeKind::Float, Constant::Integer { .. }) => {
                return Err(Diagnostic {
                    hint: Some("write `1.0` instead of `1`".to_owned()),
                    ..problem(
                        Code::BadInitializer,
                        "an integer does not initialise a floating-point value",
                        shape.span,
                    )
                });
            }
            (TypeKind::Float | TypeKind::Bits, _) => Some(initial_bits(constant, width)),
            (_, Constant::Integer { bits, .. }) => Some(low_bytes(bits, width)),
            _ => None,
        };
        let message = "a floating-point value does not initialise an integer";
        let bytes = bytes.ok_or_else(|| problem(Code::BadInitializer, message, shape.span))?;
        let zero = bytes.iter().all(|&byte| byte == 0);
        Ok(if zero { None } else { Some(InitializerValue::Bytes(bytes)) })
    }

    fn initial_address(
        &self,
        name: &'a str,
        addend: i64,
        generic: bool,
        mask: Option<u64>,
        shape: &Shape<'_>,
    ) -> Result<InitializerValue, Diagnostic> {
        let width = shape.ty.bytes() as u8;
        if mask.is_none() && width < 4 {
            let message = format!("the address of `{name}` does not fit {}", shape.ty);
            return Err(problem(Code::BadInitializer, message, shape.span));
        }
        match self.scopes.find(name) {
            Some(Symbol::Variable(variable)) => {
                Ok(InitializerValue::Variable { variable, addend, generic, width, mask })
            }
            Some(Symbol::Function(function)) => {
                Ok(InitializerValue::Function { function, width, mask })
            }
            _ => Err(self.undefined("variable or function", Name { text: name, span: shape.span })),
        }
    }
}

/// A constant as the assembler lays it out in `width` bytes of an untyped or floating-point
/// variable. `0f` literals are the 32 bits that they are. All other floating-point values are in
/// single precision for four bytes, and else the low bytes of the double.
fn initial_bits(constant: Constant, width: usize) -> SmallVec<[u8; 8]> {
    let bits = match constant {
        Constant::Integer { bits, .. } => bits,
        Constant::F32(bits) => u64::from(bits),
        Constant::F64(value) if width == 4 => u64::from((value as f32).to_bits()),
        Constant::F64(value) => value.to_bits(),
    };
    low_bytes(bits, width)
}

fn low_bytes(bits: u64, width: usize) -> SmallVec<[u8; 8]> {
    let mut bytes = SmallVec::from_slice(&bits.to_le_bytes());
    bytes.resize(width, 0);
    bytes
}

/// Name, addend, whether generic, and mask of an address; `None` for a constant.
type InitialAddress<'a> = (&'a str, i64, bool, Option<u64>);

/// `name`, `name+4`, `generic(name)+4`, `0xFF(name)`; `None` for a constant.
fn address<'a>(
    value: &Expression<'a>,
    span: Span,
) -> Result<Option<InitialAddress<'a>>, Diagnostic> {
    match value {
        Expression::Name("WARP_SZ") => Ok(None),
        Expression::Name(name) => Ok(Some((name, 0, false, None))),
        Expression::Parenthesised(inner) => address(inner, span),
        Expression::Apply("generic", inner) => {
            Ok(address(inner, span)?.map(|(name, addend, _, mask)| (name, addend, true, mask)))
        }
        Expression::Apply(mask, inner) => {
            let mask = constant::literal(mask, span)?.as_u64();
            Ok(address(inner, span)?
                .map(|(name, addend, generic, _)| (name, addend, generic, mask)))
        }
        Expression::Binary(operator @ ("+" | "-"), sides) => {
            let Some((name, addend, generic, mask)) = address(&sides[0], span)? else {
                return Ok(None);
            };
            let offset = constant::evaluate(&sides[1], span)?.as_u64().unwrap_or_default() as i64;
            let offset = if *operator == "-" { offset.wrapping_neg() } else { offset };
            Ok(Some((name, addend.wrapping_add(offset), generic, mask)))
        }
        _ => Ok(None),
    }
}
