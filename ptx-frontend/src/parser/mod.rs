//! Tokens to a syntax tree.
//!
//! Parsing never fails: it returns what it understood and a list of diagnostics. An error costs
//! its statement only; the parser goes on behind the next semicolon or before the next brace.
//! Nesting is bounded, so that no input can exhaust the stack.

mod expression;
mod function;
mod instruction;
pub(crate) mod lexer;
mod module;
mod variable;

use smallvec::SmallVec;

use crate::ast;
use crate::hash::FastMap;
use crate::isa::{Modifier, Opcode};
use crate::source::{Diagnostic, DiagnosticCode, Span};
use lexer::{Token, TokenKind, tokenize};

/// Parenthesised expressions, initialiser lists and vectors may nest this deep.
const MAX_DEPTH: u32 = 64;

/// After this many errors a text is noise, and the rest of it is not looked at.
const MAX_DIAGNOSTICS: usize = 100;

/// Parses `text`; parts that could not be understood are left out of the tree and reported.
#[must_use]
pub fn parse(text: &str) -> (ast::File<'_>, Vec<Diagnostic>) {
    let mut items = Vec::new();
    let diagnostics = parse_each(text, |item| items.push(item));
    (ast::File { items }, diagnostics)
}

/// [`parse`], handing out one item of module scope after the other: the tree of a large text takes
/// ten times its size.
pub(crate) fn parse_each<'a>(text: &'a str, take: impl FnMut(ast::Item<'a>)) -> Vec<Diagnostic> {
    if u32::try_from(text.len()).is_err() {
        let diagnostic = Diagnostic {
            code: DiagnosticCode::TooLarge,
            message: "the text is larger than 4 GiB".to_owned(),
            span: Span::default(),
            hint: None,
        };
        return vec![diagnostic];
    }
    let tokens = tokenize(text);
    let mut parser = Parser {
        text,
        tokens: &tokens,
        at: 0,
        depth: 0,
        lists: false,
        diagnostics: Vec::new(),
        mnemonics: FastMap::default(),
    };
    parser.items(take);
    parser.diagnostics
}

/// The modifiers that follow a mnemonic.
type Modifiers = SmallVec<[Modifier; 6]>;

/// The result of parsing one construct.
pub(crate) type Parsed<T> = Result<T, Diagnostic>;

/// A position in the tokens of a text.
pub(crate) struct Parser<'a, 't> {
    text: &'a str,
    tokens: &'t [Token],
    at: usize,
    depth: u32,
    /// True if parentheses open lists: directly among the operands of a call.
    lists: bool,
    diagnostics: Vec<Diagnostic>,
    /// Mnemonics and their modifiers that have been read before, by their text: a text has few
    /// different ones.
    mnemonics: FastMap<&'a str, (Opcode, Modifiers)>,
}

impl<'a> Parser<'a, '_> {
    /// The current token; the last one is [`TokenKind::End`] and is never passed.
    fn peek(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_second(&self) -> Token {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn slice(&self, token: Token) -> &'a str {
        self.text.get(token.span.range()).unwrap_or_default()
    }

    fn peek_text(&self) -> &'a str {
        self.slice(self.peek())
    }

    fn at_end(&self) -> bool {
        self.peek().kind == TokenKind::End
    }

    fn is(&self, punctuation: u8) -> bool {
        self.peek().kind == TokenKind::Punctuation(punctuation)
    }

    fn eat(&mut self, punctuation: u8) -> bool {
        let found = self.is(punctuation);
        if found {
            self.at += 1;
        }
        found
    }

    fn eat_dotted(&mut self, text: &str) -> bool {
        let found = self.peek().kind == TokenKind::Dotted && self.peek_text() == text;
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, punctuation: u8, after: &str) -> Parsed<Token> {
        if self.is(punctuation) {
            return Ok(self.advance());
        }
        Err(self.unexpected(&format!("`{}` {after}", char::from(punctuation))))
    }

    fn word(&mut self, what: &str) -> Parsed<ast::Name<'a>> {
        if self.peek().kind == TokenKind::Word {
            let token = self.advance();
            return Ok(ast::Name { text: self.slice(token), span: token.span });
        }
        Err(self.unexpected(what))
    }

    fn number(&mut self, what: &str) -> Parsed<ast::Name<'a>> {
        if self.peek().kind == TokenKind::Number {
            let token = self.advance();
            return Ok(ast::Name { text: self.slice(token), span: token.span });
        }
        Err(self.unexpected(what))
    }

    fn quoted(&mut self, what: &str) -> Parsed<&'a str> {
        if self.peek().kind == TokenKind::Text {
            let token = self.advance();
            return Ok(self.slice(token));
        }
        Err(self.unexpected(what))
    }

    /// The next token of something that is kept as written, where `what` would end it.
    fn verbatim(&mut self, what: &str) -> Parsed<&'a str> {
        match self.peek().kind {
            // An unclosed string or a line of its own would swallow the text printed behind it.
            TokenKind::Unknown | TokenKind::DebugLine => Err(self.unexpected(what)),
            _ => {
                let token = self.advance();
                Ok(self.slice(token))
            }
        }
    }

    /// A diagnostic at the current token: `what` was expected.
    fn unexpected(&self, what: &str) -> Diagnostic {
        let token = self.peek();
        let found = match token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            TokenKind::Unknown => "a character that means nothing here".to_owned(),
            _ => format!("`{}`", abbreviate(self.slice(token))),
        };
        Diagnostic {
            code: DiagnosticCode::Syntax,
            message: format!("expected {what}, found {found}"),
            span: token.span,
            hint: None,
        }
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Err(Diagnostic {
                code: DiagnosticCode::TooLarge,
                message: format!("nested more than {MAX_DEPTH} levels deep"),
                span: self.peek().span,
                hint: None,
            });
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// From the token at index `start` to the one before the current.
    fn span_from(&self, start: usize) -> Span {
        let first = self.tokens[start.min(self.tokens.len() - 1)].span;
        let last =
            self.tokens[self.at.saturating_sub(1).max(start).min(self.tokens.len() - 1)].span;
        first.to(last)
    }

    /// Counts the braces opened since the token at index `start` that are not closed yet.
    fn open_braces(&self, start: usize) -> u32 {
        self.tokens[start..self.at].iter().fold(0_u32, |depth, token| match token.kind {
            TokenKind::Punctuation(b'{') => depth + 1,
            TokenKind::Punctuation(b'}') => depth.saturating_sub(1),
            _ => depth,
        })
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
        if self.diagnostics.len() == MAX_DIAGNOSTICS {
            self.diagnostics.push(Diagnostic {
                code: DiagnosticCode::TooManyErrors,
                message: "too many errors; the rest of the text was not looked at".to_owned(),
                span: self.peek().span,
                hint: None,
            });
            self.at = self.tokens.len() - 1;
        }
    }
}

/// At most forty characters, for messages.
pub(crate) fn abbreviate(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The closest of `candidates` to `word`, if it is close enough to be the intended one.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    // The comparison is quadratic in length; no name worth a hint is longer than this.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let furthest = 1 + word.len() / 4;
    candidates
        .into_iter()
        // The distance is at least the difference in length.
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= furthest)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|&(distance, _)| distance <= furthest)
        // Among equals the first in the alphabet, so that no order of iteration shows.
        .min_by_key(|&pair| pair)
        .map(|(_, candidate)| candidate)
}
