//! Constant expressions (manual, section 4.5) and names with offsets.

use super::lexer::TokenKind;
use super::{Parsed, Parser};
use crate::ast::Expression;
use crate::isa::Modifier;
use crate::types::ScalarType;

/// A chain of this many operators is refused: its tree is as deep, and dropping it recurses.
const MAX_LINKS: u32 = 100;

/// Binary operators and how tightly they bind.
fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | "<=" | ">" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

/// Returns true if this may be the first of two results: `%p|%q`.
fn names_register(left: &Expression<'_>) -> bool {
    match left {
        Expression::Name(name) => *name != "WARP_SZ",
        Expression::Member(..) => true,
        _ => false,
    }
}

impl<'a> Parser<'a, '_> {
    /// An expression. A bar behind a name ends it: there it separates two results.
    pub(super) fn expression(&mut self) -> Parsed<Expression<'a>> {
        self.nested(|parser| {
            let condition = parser.binary(1)?;
            if !parser.eat(b'?') {
                return Ok(condition);
            }
            let then = parser.expression()?;
            parser.expect(b':', "between the alternatives of `?`")?;
            let otherwise = parser.expression()?;
            Ok(Expression::Ternary(Box::new([condition, then, otherwise])))
        })
    }

    /// Operators that bind at least as tightly as `least`, left to right.
    fn binary(&mut self, least: u8) -> Parsed<Expression<'a>> {
        let mut left = self.unary()?;
        let mut links = 0;
        loop {
            let token = self.peek();
            if !matches!(token.kind, TokenKind::Punctuation(_) | TokenKind::Operator2) {
                return Ok(left);
            }
            let operator = self.slice(token);
            let Some(strength) = precedence(operator).filter(|&strength| strength >= least) else {
                return Ok(left);
            };
            if operator == "|" && names_register(&left) {
                return Ok(left);
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(self.unexpected("a shorter expression"));
            }
            self.advance();
            let right = self.nested(|parser| parser.binary(strength + 1))?;
            left = Expression::Binary(operator, Box::new([left, right]));
        }
    }

    fn unary(&mut self) -> Parsed<Expression<'a>> {
        let token = self.peek();
        match token.kind {
            TokenKind::Number => {
                self.advance();
                if self.is(b'(') {
                    return self.application(self.slice(token));
                }
                Ok(Expression::Number(self.slice(token)))
            }
            TokenKind::Word => {
                self.advance();
                let name = self.slice(token);
                if self.is(b'(') && matches!(name, "generic" | "mask") {
                    return self.application(name);
                }
                if self.eat(b'[') {
                    let index = self.expression()?;
                    self.expect(b']', "after the index")?;
                    return Ok(Expression::Index(name, Box::new(index)));
                }
                if self.peek().kind == TokenKind::Dotted {
                    let member = self.advance();
                    return Ok(Expression::Member(name, &self.slice(member)[1..]));
                }
                Ok(Expression::Name(name))
            }
            TokenKind::Punctuation(b'-' | b'+' | b'!' | b'~') => {
                self.advance();
                let inner = self.nested(Self::unary)?;
                Ok(Expression::Unary(self.slice(token), Box::new(inner)))
            }
            TokenKind::Punctuation(b'(') => {
                self.advance();
                if let Some(ty) = self.cast_type() {
                    let inner = self.nested(Self::unary)?;
                    return Ok(Expression::Cast(ty, Box::new(inner)));
                }
                let inner = self.expression()?;
                self.expect(b')', "after the expression")?;
                Ok(Expression::Parenthesised(Box::new(inner)))
            }
            _ => Err(self.unexpected("a register, a name or a number")),
        }
    }

    /// `.s64)` or `.u64)` behind an opening parenthesis.
    fn cast_type(&mut self) -> Option<ScalarType> {
        let token = self.peek();
        if token.kind != TokenKind::Dotted
            || self.peek_second().kind != TokenKind::Punctuation(b')')
        {
            return None;
        }
        let ty = Modifier::from_text(&self.slice(token)[1..])?.as_type()?;
        self.at += 2;
        Some(ty)
    }

    /// `generic(x)`, `0xFF(x)`; the function or mask has been read.
    fn application(&mut self, function: &'a str) -> Parsed<Expression<'a>> {
        self.expect(b'(', "before the argument")?;
        let argument = self.expression()?;
        self.expect(b')', "after the argument")?;
        Ok(Expression::Apply(function, Box::new(argument)))
    }
}
