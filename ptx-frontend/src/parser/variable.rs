//! Variable and register declarations, parameters, initialisers.

use smallvec::SmallVec;

use super::lexer::TokenKind;
use super::{Parsed, Parser};
use crate::ast::{Declarator, Initializer, Qualifier, Variable};
use crate::isa::Modifier;
use crate::module::Linkage;
use crate::types::{ScalarType, StateSpace};

/// Place of a declaration, which decides the parts that may be left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclarationPlace {
    /// A statement or module-scope declaration.
    Statement,
    /// Within the parentheses of a function or prototype.
    Parameter,
}

/// Returns true if a directive begins a declaration: a state space, or an alignment before it.
pub(super) fn declares(directive: &str) -> bool {
    directive == ".align" || declared_space(directive).is_some()
}

/// The state space that a directive declares variables in.
pub(super) fn declared_space(directive: &str) -> Option<StateSpace> {
    Some(match directive {
        ".reg" => StateSpace::Reg,
        ".sreg" => StateSpace::Sreg,
        ".const" => StateSpace::Const,
        ".global" => StateSpace::Global,
        ".local" => StateSpace::Local,
        ".param" => StateSpace::Param,
        ".shared" => StateSpace::Shared,
        ".tex" => StateSpace::Tex,
        _ => return None,
    })
}

impl<'a> Parser<'a, '_> {
    /// A declaration from its state space on, without the final semicolon.
    pub(super) fn variable(
        &mut self,
        linkage: Linkage,
        place: DeclarationPlace,
    ) -> Parsed<Variable<'a>> {
        let start = self.at;
        let mut leading = SmallVec::new();
        while self.eat_dotted(".align") {
            leading.push(Qualifier::Align(self.expression()?));
        }
        let space = match self.peek().kind {
            TokenKind::Dotted => declared_space(self.peek_text()),
            _ => None,
        };
        let Some(space) = space else {
            return Err(self.unexpected("a state space such as `.reg` or `.global`"));
        };
        self.advance();
        let mut qualifiers = SmallVec::new();
        let ty = loop {
            let token = self.peek();
            if token.kind != TokenKind::Dotted {
                return Err(self.unexpected("a type such as `.b32`"));
            }
            if let Some(ty) = self.scalar_type() {
                break ty;
            }
            qualifiers.push(self.qualifier()?);
        };
        let mut pointer = SmallVec::new();
        while self.peek().kind == TokenKind::Dotted {
            pointer.push(self.qualifier()?);
        }
        let mut declarators = SmallVec::new();
        loop {
            declarators.push(self.declarator(place)?);
            if place == DeclarationPlace::Parameter || !self.eat(b',') {
                break;
            }
        }
        let span = self.span_from(start);
        Ok(Variable { linkage, leading, space, qualifiers, ty, pointer, declarators, span })
    }

    /// A type that a variable may have.
    fn scalar_type(&mut self) -> Option<ScalarType> {
        let ty = Modifier::from_text(&self.peek_text()[1..])?.as_type()?;
        self.advance();
        Some(ty)
    }

    fn qualifier(&mut self) -> Parsed<Qualifier<'a>> {
        let directive = self.peek_text();
        let qualifier = match directive {
            ".v2" => Qualifier::Vector(2),
            ".v4" => Qualifier::Vector(4),
            ".v8" => Qualifier::Vector(8),
            ".ptr" => Qualifier::Ptr,
            ".align" => {
                self.advance();
                return Ok(Qualifier::Align(self.expression()?));
            }
            ".attribute" => {
                self.advance();
                return Ok(Qualifier::Attribute(self.parenthesised_tokens()?));
            }
            _ => match declared_space(directive) {
                Some(space) => Qualifier::Space(space),
                None => return Err(self.unexpected("a type, `.align`, `.v2`, `.v4` or `.ptr`")),
            },
        };
        self.advance();
        Ok(qualifier)
    }

    /// The tokens between two parentheses, which may nest.
    pub(super) fn parenthesised_tokens(&mut self) -> Parsed<Vec<&'a str>> {
        self.expect(b'(', "here")?;
        let mut tokens = Vec::new();
        let mut depth = 0_u32;
        loop {
            match self.peek().kind {
                TokenKind::Punctuation(b'(') => depth += 1,
                TokenKind::Punctuation(b')') if depth == 0 => {
                    self.advance();
                    return Ok(tokens);
                }
                TokenKind::Punctuation(b')') => depth -= 1,
                TokenKind::End | TokenKind::Punctuation(b';' | b'{' | b'}') => {
                    return Err(self.unexpected("`)` here"));
                }
                _ => {}
            }
            tokens.push(self.verbatim("`)` here")?);
        }
    }

    fn declarator(&mut self, place: DeclarationPlace) -> Parsed<Declarator<'a>> {
        let name = if place == DeclarationPlace::Parameter && self.peek().kind != TokenKind::Word {
            None
        } else {
            Some(self.word("a name")?)
        };
        let mut declarator =
            Declarator { name, count: None, dimensions: SmallVec::new(), initializer: None };
        if self.eat(b'<') {
            // Not an expression: its closing bracket would be read as an operator.
            let count = self.number("the number of registers")?;
            declarator.count = Some(crate::ast::Expression::Number(count.text));
            self.expect(b'>', "after the number of registers")?;
        }
        while self.eat(b'[') {
            if self.eat(b']') {
                declarator.dimensions.push(None);
                continue;
            }
            declarator.dimensions.push(Some(self.expression()?));
            self.expect(b']', "after the array size")?;
        }
        if self.eat(b'=') {
            declarator.initializer = Some(self.initializer()?);
        }
        Ok(declarator)
    }

    fn initializer(&mut self) -> Parsed<Initializer<'a>> {
        if !self.eat(b'{') {
            return Ok(Initializer::Value(self.expression()?));
        }
        let mut items = Vec::new();
        while !self.eat(b'}') {
            if !items.is_empty() {
                self.expect(b',', "between initial values")?;
            }
            items.push(self.nested(Self::initializer)?);
        }
        Ok(Initializer::List(items))
    }

    /// `(.param .u32 a, .reg .f32 b)`, if there is one.
    pub(super) fn parameters(&mut self) -> Parsed<Option<Vec<Variable<'a>>>> {
        if !self.eat(b'(') {
            return Ok(None);
        }
        let mut parameters = Vec::new();
        if self.eat(b')') {
            return Ok(Some(parameters));
        }
        loop {
            parameters.push(self.variable(Linkage::Internal, DeclarationPlace::Parameter)?);
            if self.eat(b')') {
                return Ok(Some(parameters));
            }
            self.expect(b',', "between parameters")?;
        }
    }
}
