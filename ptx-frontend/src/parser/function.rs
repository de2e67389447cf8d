//! Functions and the statements of their bodies.

use smallvec::SmallVec;

use super::lexer::TokenKind;
use super::variable::{DeclarationPlace, declares};
use super::{Parsed, Parser};
use crate::ast::{Function, FunctionDirective, Loc, Prototype, Statement, StatementKind};
use crate::module::{FunctionKind, Linkage};
use crate::source::{Diagnostic, DiagnosticCode};

impl<'a> Parser<'a, '_> {
    /// `.entry` or `.func` from the directive on.
    pub(super) fn function(&mut self, linkage: Linkage) -> Parsed<Function<'a>> {
        let kind =
            if self.eat_dotted(".entry") { FunctionKind::Entry } else { FunctionKind::Device };
        if kind == FunctionKind::Device {
            self.advance();
        }
        let mut attributes = Vec::new();
        if self.eat_dotted(".attribute") {
            attributes = self.parenthesised_tokens()?;
        }
        let returns = self.parameters()?;
        let name = self.word("the name of the function")?;
        let params = self.parameters()?;
        let mut directives = Vec::new();
        while self.peek().kind == TokenKind::Dotted {
            directives.push(self.function_directive()?);
        }
        let mut function = Function {
            linkage,
            kind,
            attributes,
            returns,
            name,
            params,
            directives,
            body: None,
            semicolon: false,
        };
        if self.is(b'{') {
            self.advance();
            function.body = Some(self.body(name.span));
        } else {
            function.semicolon = self.eat(b';');
            // Old compilers leave the semicolon of `.extern .func` out.
            if !function.semicolon && !self.at_end() && self.peek().kind != TokenKind::Dotted {
                return Err(self.unexpected("`{` or `;` after the function's head"));
            }
        }
        Ok(function)
    }

    fn function_directive(&mut self) -> Parsed<FunctionDirective<'a>> {
        let token = self.peek();
        let text = self.slice(token);
        if declares(text)
            || matches!(text, ".entry" | ".func" | ".visible" | ".extern" | ".weak" | ".section")
        {
            return Err(self.unexpected("`{` or `;` after the function's head"));
        }
        self.advance();
        let name = crate::ast::Name { text, span: token.span };
        let mut directive = FunctionDirective {
            name,
            values: SmallVec::new(),
            strings: Vec::new(),
            semicolon: false,
        };
        if text == ".pragma" {
            directive.strings = self.strings()?;
        } else if text == ".language" {
            directive.strings = self.languages()?;
        } else if matches!(
            self.peek().kind,
            TokenKind::Number | TokenKind::Punctuation(b'(' | b'-') | TokenKind::Word
        ) {
            directive.values.push(self.expression()?);
            while self.eat(b',') {
                directive.values.push(self.expression()?);
            }
        }
        // A declaration's own semicolon is not the directive's.
        if text == ".pragma" {
            directive.semicolon = self.eat(b';');
        }
        Ok(directive)
    }

    /// Languages by their names or numbers.
    fn languages(&mut self) -> Parsed<Vec<&'a str>> {
        let mut languages = Vec::new();
        loop {
            languages.push(match self.peek().kind {
                TokenKind::Number => self.number("a language")?.text,
                _ => self.quoted("a language")?,
            });
            if !self.eat(b',') {
                return Ok(languages);
            }
        }
    }

    pub(super) fn strings(&mut self) -> Parsed<Vec<&'a str>> {
        let mut strings = vec![self.quoted("a string")?];
        while self.eat(b',') {
            strings.push(self.quoted("a string")?);
        }
        Ok(strings)
    }

    /// Statements up to the brace that closes the function; the opening one has been read.
    fn body(&mut self, name: crate::source::Span) -> Vec<Statement<'a>> {
        let mut statements = Vec::new();
        let mut depth = 0_u32;
        loop {
            let start = self.at;
            if self.at_end() {
                let too_many = self.diagnostics.len() > super::MAX_DIAGNOSTICS;
                if !too_many {
                    self.report(Diagnostic {
                        code: DiagnosticCode::Syntax,
                        message: "the body of this function is not closed".to_owned(),
                        span: name,
                        hint: Some("the text ends before its `}`; is it cut off?".to_owned()),
                    });
                }
                return statements;
            }
            let kind = if self.eat(b'{') {
                depth += 1;
                StatementKind::Open
            } else if self.eat(b'}') {
                if depth == 0 {
                    return statements;
                }
                depth -= 1;
                StatementKind::Close
            } else {
                match self.statement() {
                    Ok(kind) => kind,
                    Err(diagnostic) => {
                        self.report(diagnostic);
                        // Errors within braces (vectors) resume behind them.
                        self.skip_broken_statement(start);
                        continue;
                    }
                }
            };
            statements.push(Statement { kind, span: self.span_from(start) });
        }
    }

    /// Leaves a statement that went wrong: behind its semicolon, or at a brace that ends the
    /// enclosing scope. Braces that the statement itself opened are passed over.
    fn skip_broken_statement(&mut self, start: usize) {
        let mut depth = self.open_braces(start);
        while !self.at_end() {
            match self.peek().kind {
                TokenKind::Punctuation(b';') => {
                    self.advance();
                    return;
                }
                TokenKind::Punctuation(b'{') => depth += 1,
                TokenKind::Punctuation(b'}') if depth == 0 => return,
                TokenKind::Punctuation(b'}') => depth -= 1,
                _ => {}
            }
            self.advance();
        }
    }

    fn statement(&mut self) -> Parsed<StatementKind<'a>> {
        let token = self.peek();
        match token.kind {
            TokenKind::Word if self.peek_second().kind == TokenKind::Punctuation(b':') => {
                self.at += 2;
                Ok(StatementKind::Label(self.slice(token)))
            }
            TokenKind::Dotted => self.directive(),
            TokenKind::DebugLine => {
                self.advance();
                Ok(StatementKind::DebugLine(self.slice(token)))
            }
            _ => Ok(StatementKind::Instruction(self.instruction()?)),
        }
    }

    fn directive(&mut self) -> Parsed<StatementKind<'a>> {
        let directive = self.peek_text();
        match directive {
            ".loc" => {
                self.advance();
                Ok(StatementKind::Loc(self.loc()?))
            }
            ".loc_intermediate" => {
                self.advance();
                Ok(StatementKind::LocIntermediate(self.loc_position()?))
            }
            ".pragma" => {
                self.advance();
                let strings = self.strings()?;
                self.expect(b';', "after the pragma")?;
                Ok(StatementKind::Pragma(strings))
            }
            ".branchtargets" | ".calltargets" => {
                self.advance();
                let mut names = vec![self.word("a target")?];
                while self.eat(b',') {
                    names.push(self.word("a target")?);
                }
                self.expect(b';', "after the targets")?;
                Ok(StatementKind::Targets(directive, names))
            }
            ".callprototype" => {
                self.advance();
                let returns = self.parameters()?;
                let name = self.word("`_` in the prototype")?;
                let params = self.parameters()?;
                let mut directives = Vec::new();
                while !self.at_end() && !self.is(b';') && !self.is(b'}') {
                    directives.push(self.verbatim("`;` after the prototype")?);
                }
                self.expect(b';', "after the prototype")?;
                let prototype = Prototype { returns, name, params, directives };
                Ok(StatementKind::Prototype(Box::new(prototype)))
            }
            _ => {
                let linkage = self.linkage();
                let private = matches!(self.peek_text(), ".local" | ".reg" | ".param");
                if linkage != Linkage::Internal && private {
                    return Err(self.unexpected("`.global`, `.shared` or `.const`"));
                }
                if !declares(self.peek_text()) {
                    return Err(self.unknown_directive());
                }
                let variable = self.variable(linkage, DeclarationPlace::Statement)?;
                self.expect(b';', "after the declaration")?;
                Ok(StatementKind::Variable(Box::new(variable)))
            }
        }
    }

    /// `.loc file line column {, function_name label{+n}, inlined_at file line column}`.
    fn loc(&mut self) -> Parsed<Loc<'a>> {
        let position = self.loc_position()?;
        let mut loc = Loc { position, function_name: None, inlined_at: None };
        while self.eat(b',') {
            let attribute = self.word("`function_name` or `inlined_at`")?;
            match attribute.text {
                "function_name" => {
                    let label = self.word("a label")?.text;
                    let offset = match self.eat(b'+') {
                        true => Some(self.number("an offset")?.text),
                        false => None,
                    };
                    loc.function_name = Some((label, offset));
                }
                "inlined_at" => loc.inlined_at = Some(self.loc_position()?),
                _ => {
                    return Err(Diagnostic {
                        code: DiagnosticCode::UnknownDirective,
                        message: format!("unknown attribute `{}` of `.loc`", attribute.text),
                        span: attribute.span,
                        hint: Some("`function_name` and `inlined_at` may stand here".to_owned()),
                    });
                }
            }
        }
        Ok(loc)
    }

    fn loc_position(&mut self) -> Parsed<[&'a str; 3]> {
        let mut part = |what| self.number(what).map(|name| name.text);
        Ok([part("a file index")?, part("a line number")?, part("a column")?])
    }
}
