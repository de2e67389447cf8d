//! Literals and constant expressions (manual, section 4.5).
//!
//! Integers are `.s64` or `.u64`. The manual leaves some types open; NVIDIA's assembler decides:
//! `~` and `%` yield `.u64`, `%` treats its operands as unsigned, and shift amounts wrap at 64.
//! Integers and floating-point values do not mix, and a `0f` literal takes no operator at all.

use super::problem;
use crate::ast::Expression;
use crate::module::Immediate;
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};
use crate::types::ScalarType;

/// A value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    /// 64 bits, and whether they count as signed.
    Integer { bits: u64, signed: bool },
    /// A single-precision literal, as bits.
    F32(u32),
    /// Any other floating-point value.
    F64(f64),
}

impl Constant {
    pub(super) fn immediate(self) -> Immediate {
        match self {
            Self::Integer { bits, signed: true } => Immediate::Integer(i128::from(bits as i64)),
            Self::Integer { bits, signed: false } => Immediate::Integer(i128::from(bits)),
            Self::F32(bits) => Immediate::F32(bits),
            Self::F64(value) => Immediate::F64(value.to_bits()),
        }
    }

    /// The low 64 bits of an integer.
    pub(super) fn as_u64(self) -> Option<u64> {
        match self {
            Self::Integer { bits, .. } => Some(bits),
            Self::F32(_) | Self::F64(_) => None,
        }
    }

    fn truth(value: bool) -> Self {
        Self::Integer { bits: u64::from(value), signed: true }
    }
}

/// The value of a literal.
pub(super) fn literal(text: &str, span: Span) -> Result<Constant, Diagnostic> {
    let bad = || {
        problem(
            Code::BadConstant,
            format!("`{}` is not a number", crate::parser::abbreviate(text)),
            span,
        )
    };
    let (head, tail) = text.split_at(text.len().min(2));
    let exact = |digits: &str, length| {
        if digits.len() == length {
            u64::from_str_radix(digits, 16).map_err(|_| bad())
        } else {
            Err(bad())
        }
    };
    match head {
        "0f" | "0F" => return Ok(Constant::F32(exact(tail, 8)? as u32)),
        "0d" | "0D" => return Ok(Constant::F64(f64::from_bits(exact(tail, 16)?))),
        _ => {}
    }
    let hexadecimal = matches!(head, "0x" | "0X");
    if !hexadecimal && text.contains(['.', 'e', 'E']) {
        return text.parse().map(Constant::F64).map_err(|_| bad());
    }
    let digits = text.strip_suffix('U').unwrap_or(text);
    let unsigned = digits.len() != text.len();
    let (digits, radix) = match head {
        "0x" | "0X" => (digits.get(2..).unwrap_or_default(), 16),
        "0b" | "0B" => (digits.get(2..).unwrap_or_default(), 2),
        _ if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        _ => (digits, 10),
    };
    if digits.starts_with(['+', '-']) {
        return Err(bad());
    }
    let bits = u64::from_str_radix(digits, radix).map_err(|error| match error.kind() {
        std::num::IntErrorKind::PosOverflow => {
            problem(Code::BadConstant, "a literal has at most 64 bits", span)
        }
        _ => bad(),
    })?;
    // A literal is .s64 unless it says otherwise or does not fit.
    Ok(Constant::Integer { bits, signed: !unsigned && i64::try_from(bits).is_ok() })
}

/// The value of an expression without names, except `WARP_SZ`.
pub(super) fn evaluate(expression: &Expression<'_>, span: Span) -> Result<Constant, Diagnostic> {
    match expression {
        Expression::Number(text) => literal(text, span),
        Expression::Name("WARP_SZ") => Ok(Constant::Integer { bits: 32, signed: true }),
        Expression::Name(name) | Expression::Member(name, _) => {
            Err(problem(Code::BadConstant, format!("`{name}` is not a constant"), span))
        }
        Expression::Parenthesised(inner) => evaluate(inner, span),
        Expression::Cast(ty, inner) => cast(*ty, evaluate(inner, span)?, span),
        Expression::Unary(operator, inner) => unary(operator, evaluate(inner, span)?, span),
        Expression::Binary(operator, sides) => {
            binary(operator, evaluate(&sides[0], span)?, evaluate(&sides[1], span)?, span)
        }
        Expression::Ternary(parts) => {
            let Some(condition) = evaluate(&parts[0], span)?.as_u64() else {
                return Err(for_integers("?", span));
            };
            evaluate(if condition != 0 { &parts[1] } else { &parts[2] }, span)
        }
        Expression::Index(name, _) => Err(problem(
            Code::BadConstant,
            format!("`{name}[…]` is an address, not a constant"),
            span,
        )),
        Expression::Apply(function, _) => Err(problem(
            Code::BadConstant,
            format!("`{function}(…)` is an address, not a constant"),
            span,
        )),
    }
}

fn cast(ty: ScalarType, value: Constant, span: Span) -> Result<Constant, Diagnostic> {
    let signed = match ty {
        ScalarType::S64 => true,
        ScalarType::U64 => false,
        _ => {
            let hint = Some("constants are cast to `.s64` or `.u64`".to_owned());
            return Err(Diagnostic {
                hint,
                ..problem(Code::BadConstant, format!("a constant cannot be cast to {ty}"), span)
            });
        }
    };
    let Some(bits) = value.as_u64() else {
        return Err(for_integers(&format!("({ty})"), span));
    };
    Ok(Constant::Integer { bits, signed })
}

fn for_integers(operator: &str, span: Span) -> Diagnostic {
    problem(Code::BadConstant, format!("`{operator}` is for integers"), span)
}

/// `0f` literals stand alone: their sign is one of their digits.
fn no_operand(operator: &str, span: Span) -> Diagnostic {
    Diagnostic {
        hint: Some("write the result, or decimal literals".to_owned()),
        ..problem(Code::BadConstant, format!("a `0f` literal is no operand of `{operator}`"), span)
    }
}

fn unary(operator: &str, value: Constant, span: Span) -> Result<Constant, Diagnostic> {
    Ok(match (operator, value) {
        (_, Constant::F32(_)) => return Err(no_operand(operator, span)),
        ("+", value) => value,
        ("!", Constant::Integer { bits, .. }) => Constant::truth(bits == 0),
        ("-", Constant::Integer { bits, signed }) => {
            Constant::Integer { bits: bits.wrapping_neg(), signed }
        }
        ("-", Constant::F64(value)) => Constant::F64(-value),
        ("~", Constant::Integer { bits, .. }) => Constant::Integer { bits: !bits, signed: false },
        _ => return Err(for_integers(operator, span)),
    })
}

fn binary(
    operator: &str,
    left: Constant,
    right: Constant,
    span: Span,
) -> Result<Constant, Diagnostic> {
    match (left, right) {
        (
            Constant::Integer { bits: a, signed: a_signed },
            Constant::Integer { bits: b, signed: b_signed },
        ) => {
            // Shifts take the type of their left side; others are unsigned if either side is.
            let shift = matches!(operator, "<<" | ">>");
            let signed = a_signed && (shift || b_signed);
            integers(operator, a, b, signed)
                .ok_or_else(|| problem(Code::BadConstant, "division by zero in a constant", span))
        }
        (Constant::F32(_), _) | (_, Constant::F32(_)) => Err(no_operand(operator, span)),
        (Constant::F64(a), Constant::F64(b)) => {
            floats(operator, a, b).ok_or_else(|| for_integers(operator, span))
        }
        _ => Err(problem(
            Code::BadConstant,
            "an integer and a floating-point value do not mix",
            span,
        )),
    }
}

/// `None` for a division by zero.
fn integers(operator: &str, a: u64, b: u64, signed: bool) -> Option<Constant> {
    let (x, y) = (a as i64, b as i64);
    let bits = match operator {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" if b == 0 => return None,
        "/" if signed => x.wrapping_div(y) as u64,
        "/" => a / b,
        "%" => return Some(Constant::Integer { bits: a.checked_rem(b)?, signed: false }),
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        "<<" => a.wrapping_shl(b as u32),
        ">>" if signed => x.wrapping_shr(b as u32) as u64,
        ">>" => a.wrapping_shr(b as u32),
        "&&" => return Some(Constant::truth(a != 0 && b != 0)),
        "||" => return Some(Constant::truth(a != 0 || b != 0)),
        _ => {
            let order = if signed { x.cmp(&y) } else { a.cmp(&b) };
            return Some(Constant::truth(match operator {
                "==" => order.is_eq(),
                "!=" => order.is_ne(),
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            }));
        }
    };
    Some(Constant::Integer { bits, signed })
}

/// `None` for operators that integers alone have.
fn floats(operator: &str, a: f64, b: f64) -> Option<Constant> {
    Some(match operator {
        "+" => Constant::F64(a + b),
        "-" => Constant::F64(a - b),
        "*" => Constant::F64(a * b),
        "/" => Constant::F64(a / b),
        "==" => Constant::truth(a == b),
        "!=" => Constant::truth(a != b),
        "<" => Constant::truth(a < b),
        "<=" => Constant::truth(a <= b),
        ">" => Constant::truth(a > b),
        ">=" => Constant::truth(a >= b),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::module::InitializerValue;

    /// The bits that `.global .u64 v = expression` holds, or what is wrong.
    fn value(expression: &str) -> Result<u64, String> {
        value_of("u64", expression)
    }

    /// The same of a variable of another type.
    fn value_of(ty: &str, expression: &str) -> Result<u64, String> {
        let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
        let text = format!("{head}.global .{ty} v = {expression};\n");
        let module = crate::load(&text).map_err(|problems| problems[0].message.clone())?;
        let item = module.variables[0].initializer.first().map(|item| &item.value);
        Ok(match item {
            None => 0,
            Some(InitializerValue::Bytes(bytes)) => {
                bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
            }
            Some(other) => panic!("{other:?}"),
        })
    }

    #[test]
    fn values_are_those_of_nvidias_assembler() {
        // Read out of the cubins that ptxas 12.9 makes of these declarations.
        let minus_1 = u64::MAX;
        for (expression, wanted) in [
            ("~0 >> 63", 1),
            ("5 % -3", 5),
            ("-5 % 3", 2),
            ("(5 % 3) - 3 >> 63", 1),
            ("(~5 & 7) - 8 >> 63", 1),
            ("(.s64)~0 >> 63", minus_1),
            ("-1 >> 63", minus_1),
            ("-7 / 2", -3_i64 as u64),
            ("-5 / 3U", 0x5555_5555_5555_5553),
            ("-1 < 1", 1),
            ("-1 < 1U", 0),
            ("-1 < 0xFFFFFFFFFFFFFFFF", 0),
            ("-1 == 0xFFFFFFFFFFFFFFFF", 1),
            ("(1 < 2U) - 2 >> 63", minus_1),
            ("(1U && 1U) - 2 >> 63", minus_1),
            ("(!1U) - 1 >> 63", minus_1),
            ("-1 >> 1U", minus_1),
            ("-1U >> 1", 0x7FFF_FFFF_FFFF_FFFF),
            ("(-1 + 0U) >> 63", 1),
            ("(-1 & 0xFFFFFFFFFFFFFFFF) >> 63", 1),
            ("(1 ? -1 : 1U) >> 63", minus_1),
            ("(0 ? 1U : -1) / 2", 0),
            ("(1 ? 1U : -1) - 2 >> 63", 1),
            ("1 << 64", 1),
            ("1 << 65", 2),
            ("1 << -1", 1 << 63),
            ("-1 >> 65", minus_1),
            ("0x8000000000000000 >> 63", 1),
            ("-0x8000000000000000 / 2", 1 << 62),
            ("1 | 2 == 2", 1),
            ("1 ^ 3 & 2", 3),
            ("4 | 1 ^ 1", 4),
            ("1 < 2 == 1", 1),
            ("1 + 2 << 3", 24),
            ("8 >> 1 + 1", 2),
            ("1 || 0 && 0", 1),
            ("0 ? 1 : 0 ? 2 : 3", 3),
            ("3 > 2 > 1", 0),
            ("2.0 < 3.0", 1),
            ("-~5", 6),
            ("- - 1", 1),
            ("WARP_SZ | 1", 33),
        ] {
            assert_eq!(value(expression), Ok(wanted), "{expression}");
        }
    }

    #[test]
    fn floating_point_values_are_laid_out_as_by_nvidias_assembler() {
        for (ty, expression, wanted) in [
            ("f32", "0d3FF8000000000000", 0x3FC0_0000),
            ("f64", "0f3FC00000", 0x3FC0_0000),
            ("b64", "0f3FC00000", 0x3FC0_0000),
            ("b64", "1.5", 0x3FF8_0000_0000_0000),
            ("b32", "1.5", 0x3FC0_0000),
            ("b32", "0d3FF8000000000000", 0x3FC0_0000),
            ("b32", "1.0 / 3.0", 0x3EAA_AAAB),
            ("b16", "1.0e-8", 0x8C3A),
            ("b8", "1.0e-8", 0x3A),
            ("b16", "-32769", 0x7FFF),
            ("u16", "1.0 == 1.0", 1),
        ] {
            assert_eq!(value_of(ty, expression), Ok(wanted), "{ty} {expression}");
        }
        for (ty, expression) in [("f32", "1"), ("u16", "1.5"), ("u64", "1.5"), ("f64", "-1")] {
            assert!(value_of(ty, expression).is_err(), "{ty} {expression}");
        }
    }

    #[test]
    fn what_nvidias_assembler_refuses_has_no_value() {
        for expression in [
            "1.5 + 1",
            "1.0 == 1",
            "!1.5",
            "~1.5",
            "1.5 ? 1 : 2",
            "1.0 && 2.0",
            "1 && 2.0",
            "(.u64) 1.5",
            "1.0 % 2.0",
            "5 / 0",
            "5 % 0",
            "0 && 1/0",
            "(.u32) 5",
            "08",
            "1UU",
            "1.0 > 0f3F800000",
            "-0f3F800000",
            "5%3",
            "1u",
        ] {
            assert!(value(expression).is_err(), "{expression}");
        }
    }
}
