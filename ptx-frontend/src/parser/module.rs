//! Module scope: the version, the target, files, sections, variables and functions.

use super::lexer::TokenKind;
use super::variable::{DeclarationPlace, declares};
use super::{Parsed, Parser, nearest};
use crate::ast::{FileDirective, Item, Section};
use crate::module::Linkage;
use crate::source::{Diagnostic, DiagnosticCode};

/// Directives that begin something at module scope; recovery stops at them.
const DIRECTIVES: &[&str] = &[
    ".version",
    ".target",
    ".address_size",
    ".file",
    ".section",
    ".nv_intermediate_source_section",
    ".pragma",
    ".alias",
    ".extern",
    ".visible",
    ".weak",
    ".common",
    ".entry",
    ".func",
    ".const",
    ".global",
    ".shared",
    ".tex",
    ".loc",
    ".param",
    ".reg",
    ".local",
    ".branchtargets",
    ".calltargets",
    ".callprototype",
];

impl<'a> Parser<'a, '_> {
    pub(super) fn items(&mut self, mut take: impl FnMut(Item<'a>)) {
        while !self.at_end() {
            let start = self.at;
            match self.item() {
                Ok(item) => take(item),
                Err(diagnostic) => {
                    self.report(diagnostic);
                    self.skip_item(start);
                }
            }
        }
    }

    /// Leaves an item that went wrong: behind a semicolon or closing brace, or before a directive
    /// that begins the next one; always at least one token on.
    fn skip_item(&mut self, start: usize) {
        if self.at == start {
            self.advance();
        }
        let mut depth = self.open_braces(start);
        while !self.at_end() {
            let token = self.peek();
            match token.kind {
                TokenKind::Punctuation(b'{') => depth += 1,
                TokenKind::Punctuation(b'}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.advance();
                        // That of a declaration whose braces these were.
                        self.eat(b';');
                        return;
                    }
                }
                TokenKind::Punctuation(b';') if depth == 0 => {
                    self.advance();
                    return;
                }
                TokenKind::Dotted
                    if depth == 0
                        && matches!(
                            self.slice(token),
                            ".version"
                                | ".target"
                                | ".entry"
                                | ".func"
                                | ".visible"
                                | ".extern"
                                | ".weak"
                                | ".global"
                                | ".section"
                                | ".nv_intermediate_source_section"
                                | ".file"
                        ) =>
                {
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// `.extern`, `.visible`, `.weak`, `.common`, if one is there.
    pub(super) fn linkage(&mut self) -> Linkage {
        let linkage = match self.peek_text() {
            ".extern" => Linkage::Extern,
            ".visible" => Linkage::Visible,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => return Linkage::Internal,
        };
        self.advance();
        linkage
    }

    pub(super) fn unknown_directive(&self) -> Diagnostic {
        let text = self.peek_text();
        let near = nearest(text, DIRECTIVES.iter().copied());
        match self.peek().kind {
            TokenKind::Dotted => Diagnostic {
                code: DiagnosticCode::UnknownDirective,
                message: format!("unknown directive `{}`", super::abbreviate(text)),
                span: self.peek().span,
                hint: near.map(|near| format!("did you mean `{near}`?")),
            },
            _ => self.unexpected("a directive"),
        }
    }

    fn item(&mut self) -> Parsed<Item<'a>> {
        let token = self.peek();
        match token.kind {
            TokenKind::DebugLine => {
                self.advance();
                return Ok(Item::DebugLine(self.slice(token)));
            }
            TokenKind::Dotted => {}
            _ => return Err(self.unexpected("a directive such as `.version` or `.entry`")),
        }
        match self.slice(token) {
            ".version" => {
                self.advance();
                Ok(Item::Version(self.number("a version such as `8.0`")?))
            }
            ".target" => {
                self.advance();
                let mut names = vec![self.word("a target such as `sm_80`")?];
                while self.eat(b',') {
                    names.push(self.word("a target option")?);
                }
                Ok(Item::Target(names))
            }
            ".address_size" => {
                self.advance();
                Ok(Item::AddressSize(self.number("32 or 64")?))
            }
            ".file" => {
                self.advance();
                self.file_directive()
            }
            ".section" => {
                self.advance();
                self.section()
            }
            ".nv_intermediate_source_section" => {
                self.advance();
                self.intermediate_sources()
            }
            ".pragma" => {
                self.advance();
                let strings = self.strings()?;
                self.expect(b';', "after the pragma")?;
                Ok(Item::Pragma(strings))
            }
            ".alias" => {
                self.advance();
                let alias = self.word("the alias")?;
                self.expect(b',', "after the alias")?;
                let target = self.word("a function")?;
                self.expect(b';', "after `.alias`")?;
                Ok(Item::Alias { alias, target })
            }
            _ => self.declaration(),
        }
    }

    fn declaration(&mut self) -> Parsed<Item<'a>> {
        let linkage = self.linkage();
        match self.peek_text() {
            ".entry" | ".func" => Ok(Item::Function(Box::new(self.function(linkage)?))),
            directive if declares(directive) => {
                let variable = self.variable(linkage, DeclarationPlace::Statement)?;
                self.expect(b';', "after the declaration")?;
                Ok(Item::Variable(Box::new(variable)))
            }
            _ => Err(self.unknown_directive()),
        }
    }

    fn file_directive(&mut self) -> Parsed<Item<'a>> {
        let index = self.number("a file index")?.text;
        let name = self.quoted("a file name")?;
        let mut stamp = None;
        if self.eat(b',') {
            let time = self.number("a time stamp")?.text;
            self.expect(b',', "between time stamp and size")?;
            stamp = Some((time, self.number("a file size")?.text));
        }
        Ok(Item::File(FileDirective { index, name, stamp }))
    }

    /// Everything between the braces belongs to a debugger; it is kept but not understood.
    fn section(&mut self) -> Parsed<Item<'a>> {
        let name = self.peek_text();
        if !matches!(self.peek().kind, TokenKind::Dotted | TokenKind::Word) {
            return Err(self.unexpected("the name of the section"));
        }
        let name = Some(name);
        self.advance();
        self.expect(b'{', "after the name of the section")?;
        let mut tokens = Vec::new();
        loop {
            if self.at_end() {
                return Err(self.unexpected("`}` at the end of the section"));
            }
            if self.eat(b'}') {
                return Ok(Item::Section(Section { directive: ".section", name, tokens }));
            }
            tokens.push(self.verbatim("`}` at the end of the section")?);
        }
    }

    /// Blocks in braces, each with the text of another language that this one was made from.
    fn intermediate_sources(&mut self) -> Parsed<Item<'a>> {
        self.expect(b'{', "before the blocks of the section")?;
        let mut tokens = Vec::new();
        let mut depth = 0_u32;
        loop {
            if self.at_end() {
                return Err(self.unexpected("`}` at the end of the section"));
            }
            if self.is(b'}') {
                if depth == 0 {
                    self.advance();
                    let directive = ".nv_intermediate_source_section";
                    return Ok(Item::Section(Section { directive, name: None, tokens }));
                }
                depth -= 1;
            } else if self.is(b'{') {
                depth += 1;
            }
            tokens.push(self.verbatim("`}` at the end of the section")?);
        }
    }
}
