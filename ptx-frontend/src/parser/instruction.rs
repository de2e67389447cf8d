//! Instructions and their operands.

use smallvec::SmallVec;

use super::lexer::TokenKind;
use super::{Modifiers, Parsed, Parser, nearest};
use crate::ast::{Expression, Guard, Instruction, Operand, OperandKind};
use crate::isa::{Modifier, Opcode};
use crate::source::{Diagnostic, DiagnosticCode, Span};

impl<'a> Parser<'a, '_> {
    /// An instruction up to and with its semicolon.
    pub(super) fn instruction(&mut self) -> Parsed<Instruction<'a>> {
        let guard = self.guard()?;
        let (opcode, mut modifiers) = self.mnemonic()?;
        let mut operands = SmallVec::new();
        let mut suffixed = false;
        if !self.is(b';') {
            loop {
                self.lists = opcode == Opcode::Call;
                let operand = self.operand();
                self.lists = false;
                operands.push(operand?);
                if self.eat_dotted(".unified") {
                    modifiers.push(Modifier::Unified);
                    suffixed = true;
                }
                if !self.eat(b',') {
                    break;
                }
            }
        }
        self.expect(b';', "after the operands")?;
        Ok(Instruction { guard, opcode, modifiers, suffixed, operands })
    }

    fn guard(&mut self) -> Parsed<Option<Guard<'a>>> {
        if !self.eat(b'@') {
            return Ok(None);
        }
        let negated = self.eat(b'!');
        let name = self.word("a predicate after `@`")?;
        Ok(Some(Guard { name, negated }))
    }

    /// The mnemonic, which may be several words, and the modifiers behind it.
    fn mnemonic(&mut self) -> Parsed<(Opcode, Modifiers)> {
        let head = self.peek();
        let first = self.word("an instruction or a directive")?;
        // The words stand without space between them, so the mnemonic is a prefix of the text.
        let mut end = head.span.end;
        let mut last = self.at;
        while self.tokens[last].kind == TokenKind::Dotted && self.tokens[last].span.start == end {
            end = self.tokens[last].span.end;
            last += 1;
        }
        let whole = Span { start: head.span.start, end };
        let text = self.text.get(whole.range()).unwrap_or_default();
        // With a modifier behind a space, the text is not all of it.
        let complete = self.tokens[last].kind != TokenKind::Dotted;
        if let Some(known) = self.mnemonics.get(text).filter(|_| complete) {
            self.at = last;
            return Ok(known.clone());
        }
        let Some((opcode, length)) = Opcode::from_prefix(text) else {
            return Err(unknown_instruction(first.text, text, whole));
        };
        let behind = head.span.start + length as u32;
        while self.peek().span.end <= behind && !self.at_end() {
            self.advance();
        }
        let mut modifiers = SmallVec::new();
        while self.peek().kind == TokenKind::Dotted {
            let token = self.advance();
            let text = &self.slice(token)[1..];
            let Some(modifier) = Modifier::from_text(text) else {
                return Err(unknown_modifier(opcode, text, token.span));
            };
            modifiers.push(modifier);
        }
        if complete {
            self.mnemonics.insert(text, (opcode, modifiers.clone()));
        }
        Ok((opcode, modifiers))
    }

    /// One operand, or two with a bar between them.
    fn operand(&mut self) -> Parsed<Operand<'a>> {
        let start = self.at;
        let first = self.simple_operand()?;
        if !self.eat(b'|') {
            return Ok(first);
        }
        let second = self.simple_operand()?;
        let kind = OperandKind::Pair(Box::new([first, second]));
        Ok(Operand { kind, span: self.span_from(start) })
    }

    fn simple_operand(&mut self) -> Parsed<Operand<'a>> {
        let start = self.at;
        let kind = match self.peek().kind {
            TokenKind::Punctuation(b'{') => OperandKind::Vector(self.operands(b'{', b'}')?),
            TokenKind::Punctuation(b'(') if self.lists => {
                OperandKind::List(self.operands(b'(', b')')?)
            }
            TokenKind::Punctuation(b'[') => {
                if let Some(address) = self.plain_address() {
                    return Ok(Operand {
                        kind: OperandKind::Address(address),
                        span: self.span_from(start),
                    });
                }
                let mut inside = self.operands(b'[', b']')?;
                match (inside.len(), inside.pop()) {
                    (1, Some(Operand { kind: OperandKind::Value(base), .. })) => {
                        OperandKind::Address(base)
                    }
                    (_, Some(last)) => {
                        inside.push(last);
                        OperandKind::Indexed(inside)
                    }
                    (_, None) => return Err(self.unexpected("an address before this")),
                }
            }
            TokenKind::Word if self.peek_text() == "_" => {
                self.advance();
                OperandKind::Sink
            }
            // The common case, a lone register, without going through the expression parser.
            TokenKind::Word
                if matches!(
                    self.peek_second().kind,
                    TokenKind::Punctuation(b',' | b';' | b'}' | b']' | b')' | b'|')
                ) && self.peek_text() != "WARP_SZ" =>
            {
                let token = self.advance();
                OperandKind::Value(Expression::Name(self.slice(token)))
            }
            _ => OperandKind::Value(self.expression()?),
        };
        Ok(Operand { kind, span: self.span_from(start) })
    }

    /// `[name]` or `[name+number]`, which nearly all addresses are, without going through the
    /// expression parser.
    fn plain_address(&mut self) -> Option<Expression<'a>> {
        let tokens = self.tokens.get(self.at..)?;
        let kind = |index: usize| tokens.get(index).map(|token| token.kind);
        if kind(1) != Some(TokenKind::Word) {
            return None;
        }
        let name = self.slice(tokens[1]);
        if name == "_" {
            return None;
        }
        let name = Expression::Name(name);
        match (kind(2), kind(3), kind(4)) {
            (Some(TokenKind::Punctuation(b']')), ..) => {
                self.at += 3;
                Some(name)
            }
            (
                Some(TokenKind::Punctuation(b'+')),
                Some(TokenKind::Number),
                Some(TokenKind::Punctuation(b']')),
            ) => {
                let offset = Expression::Number(self.slice(tokens[3]));
                self.at += 5;
                Some(Expression::Binary("+", Box::new([name, offset])))
            }
            _ => None,
        }
    }

    /// A bracketed, comma-separated list.
    fn operands(&mut self, open: u8, close: u8) -> Parsed<Vec<Operand<'a>>> {
        self.expect(open, "here")?;
        self.lists = false;
        let mut operands = Vec::new();
        if self.eat(close) {
            return Ok(operands);
        }
        loop {
            operands.push(self.nested(Self::operand)?);
            if self.eat(close) {
                return Ok(operands);
            }
            self.expect(b',', "between operands")?;
        }
    }
}

fn unknown_instruction(first: &str, text: &str, span: Span) -> Diagnostic {
    let known = Opcode::ALL.iter().map(|opcode| opcode.text());
    let head = text.split('.').next().unwrap_or_default();
    let near = nearest(text, known.clone())
        .or_else(|| nearest(head, known.filter(|known| !known.contains('.'))));
    Diagnostic {
        code: DiagnosticCode::UnknownInstruction,
        message: format!("unknown instruction `{}`", super::abbreviate(first)),
        span,
        hint: near.map(|near| format!("did you mean `{near}`?")),
    }
}

fn unknown_modifier(opcode: Opcode, text: &str, span: Span) -> Diagnostic {
    let known = crate::isa::forms_of(opcode)
        .flat_map(|(_, form)| form.slots.iter().flat_map(|slot| slot.choices.iter()))
        .map(|modifier| modifier.text());
    let near = nearest(text, known);
    Diagnostic {
        code: DiagnosticCode::UnknownModifier,
        message: format!("unknown modifier `.{}` of `{opcode}`", super::abbreviate(text)),
        span,
        hint: near.map(|near| format!("did you mean `.{near}`?")),
    }
}
