//! Text to tokens.
//!
//! A token is a kind and a byte range; its text is borrowed when it is needed. The lexemes are
//! small `nom` parsers over bytes, chosen by their first byte.

use nom::IResult;
use nom::Parser as _;
use nom::bytes::complete::{tag, take_till, take_until, take_while};
use nom::combinator::recognize;
use nom::sequence::pair;

use crate::source::Span;

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TokenKind {
    /// `foo`, `%r1`, `$L__BB0_1`, `_`.
    Word,
    /// `.global`, `.L2::cache_hint`, `.1d`.
    Dotted,
    /// Any literal.
    Number,
    /// `"…"` with its quotes.
    Text,
    /// An operator or bracket; the first byte and the length identify it.
    Punctuation(u8),
    /// An operator of two characters.
    Operator2,
    /// `@@DWARF …` to the end of the line.
    DebugLine,
    /// `.source_begin … .source_end`: a text of another language.
    Embedded,
    /// Bytes that begin nothing.
    Unknown,
    /// The end of the text.
    End,
}

/// A lexeme and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];

type Lexeme<'a> = IResult<&'a [u8], TokenKind>;

/// Splits `text` into tokens, without white space and comments; ends with [`TokenKind::End`].
pub(crate) fn tokenize(text: &str) -> Vec<Token> {
    // Compiled code has about one token every five bytes.
    let mut tokens = Vec::with_capacity(text.len() / 5 + 1);
    let bytes = text.as_bytes();
    // Editors begin files with a mark that stands for nothing.
    let mut rest = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    loop {
        rest = skip_blank(rest);
        let start = bytes.len() - rest.len();
        if rest.is_empty() {
            tokens.push(Token { kind: TokenKind::End, span: Span::new(start..start) });
            return tokens;
        }
        let (next, kind) = match lexeme(rest) {
            Ok(parsed) if parsed.0.len() < rest.len() => parsed,
            _ => unknown(rest),
        };
        let end = bytes.len() - next.len();
        tokens.push(Token { kind, span: Span::new(start..end) });
        rest = next;
    }
}

/// White space and comments; an unclosed `/*` runs to the end of the text.
fn skip_blank(mut rest: &[u8]) -> &[u8] {
    loop {
        let blanks = rest.iter().take_while(|&&byte| CLASSES[usize::from(byte)] == BLANK).count();
        rest = &rest[blanks..];
        if rest.starts_with(b"//") {
            let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            rest = &rest[end..];
        } else if rest.starts_with(b"/*") {
            let comment: IResult<&[u8], &[u8]> = take_until("*/")(&rest[2..]);
            rest = match comment {
                Ok((after, _)) => &after[2..],
                Err(_) => &[],
            };
        } else {
            return rest;
        }
    }
}

fn lexeme(input: &[u8]) -> Lexeme<'_> {
    let second = input.get(1).copied().unwrap_or(0);
    match input[0] {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => word(input),
        // `5 %3` names a register, as NVIDIA's assembler reads it.
        b'%' if is_word(second) => word(input),
        b'.' => dotted(input),
        b'0'..=b'9' => number(input),
        b'"' => quoted(input),
        b'@' if second == b'@' => {
            let (rest, _) = take_till(|byte| byte == b'\n').parse(input)?;
            Ok((rest, TokenKind::DebugLine))
        }
        b'<' if matches!(second, b'<' | b'=') => Ok((&input[2..], TokenKind::Operator2)),
        b'>' if matches!(second, b'>' | b'=') => Ok((&input[2..], TokenKind::Operator2)),
        b'=' | b'!' if second == b'=' => Ok((&input[2..], TokenKind::Operator2)),
        b'&' if second == b'&' => Ok((&input[2..], TokenKind::Operator2)),
        b'|' if second == b'|' => Ok((&input[2..], TokenKind::Operator2)),
        byte if b",;:{}()[]<>=+-!|&^~*/%?@".contains(&byte) => {
            Ok((&input[1..], TokenKind::Punctuation(byte)))
        }
        _ => Ok(unknown(input)),
    }
}

/// [`BLANK`], [`WORD`] or neither, for each byte.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let one = byte as u8;
        if one.is_ascii_alphanumeric() || matches!(one, b'_' | b'$') {
            classes[byte] = WORD;
        } else if one.is_ascii_whitespace() || one == 0 {
            classes[byte] = BLANK;
        }
        byte += 1;
    }
    classes
};

const BLANK: u8 = 1;
const WORD: u8 = 2;

fn is_word(byte: u8) -> bool {
    CLASSES[usize::from(byte)] == WORD
}

fn word(input: &[u8]) -> Lexeme<'_> {
    let length = 1 + input[1..].iter().take_while(|&&byte| is_word(byte)).count();
    Ok((&input[length..], TokenKind::Word))
}

/// `.name` or `.L2::name`; a dot before digits only is a number.
fn dotted(input: &[u8]) -> Lexeme<'_> {
    let mut length = 1;
    loop {
        let word = input[length..].iter().take_while(|&&byte| is_word(byte)).count();
        length += word;
        let follows = |at: usize| input.get(at).copied().filter(|&byte| is_word(byte));
        let colons = match (&input[length..], follows(length + 1), follows(length + 2)) {
            ([b':', b':', ..], _, Some(_)) => 2,
            // The ratio in `.sp::2:4`.
            ([b':', ..], Some(b'0'..=b'9'), _) if input[1..length].starts_with(b"sp::") => 1,
            _ => 0,
        };
        if word == 0 || colons == 0 {
            break;
        }
        length += colons;
    }
    let digits = input[1..length].iter().all(u8::is_ascii_digit);
    if digits && length > 1 {
        return number(input);
    }
    if length == 1 {
        return Ok((&input[1..], TokenKind::Unknown));
    }
    if &input[..length] == b".source_begin" {
        let (rest, _) = take_until(".source_end").and(tag(".source_end")).parse(input)?;
        return Ok((rest, TokenKind::Embedded));
    }
    Ok((&input[length..], TokenKind::Dotted))
}

/// `12`, `0x1F`, `0b01`, `017`, `1U`, `0f3F800000`, `0d3FF0000000000000`, `1.5e-3`.
///
/// The digits are checked where the value is needed.
fn number(input: &[u8]) -> Lexeme<'_> {
    let prefixed = input[0] == b'0'
        && input.get(1).is_some_and(|byte| matches!(byte, b'x' | b'X' | b'f' | b'F' | b'd' | b'D'));
    let mut end = input.iter().take_while(|&&byte| is_word(byte)).count();
    if !prefixed {
        // A fraction only if digits follow, so that `4.b0` stays a number and a modifier.
        let fraction = |at: usize| {
            input.get(at) == Some(&b'.')
                && !input
                    .get(at + 1)
                    .is_some_and(|byte| byte.is_ascii_alphabetic() && *byte != b'e')
        };
        if input[..end].iter().all(u8::is_ascii_digit) && fraction(end) {
            end += 1;
            end += input[end..].iter().take_while(|&&byte| is_word(byte)).count();
        }
        let exponent = matches!(input[end - 1], b'e' | b'E')
            && input.get(end).is_some_and(|byte| matches!(byte, b'+' | b'-'));
        if exponent {
            end += 1;
            end += input[end..].iter().take_while(|&&byte| byte.is_ascii_digit()).count();
        }
    }
    Ok((&input[end..], TokenKind::Number))
}

/// A string on one line; an unclosed one ends with its line as [`TokenKind::Unknown`].
fn quoted(input: &[u8]) -> Lexeme<'_> {
    let inside = take_while(|byte| byte != b'"' && byte != b'\n');
    let (rest, _) = recognize(pair(tag("\""), inside)).parse(input)?;
    match rest.first() {
        Some(b'"') => Ok((&rest[1..], TokenKind::Text)),
        _ => Ok((rest, TokenKind::Unknown)),
    }
}

/// A run of bytes that begin nothing; it never splits a character.
fn unknown(input: &[u8]) -> (&[u8], TokenKind) {
    let more = input[1..].iter().take_while(|&&byte| !byte.is_ascii()).count();
    (&input[1 + more..], TokenKind::Unknown)
}
