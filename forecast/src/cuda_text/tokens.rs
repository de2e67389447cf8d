//! The words of CUDA source, each with its place.

use std::ops::Range;

/// The kinds of token that bracket matching and marks need to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, keyword or number.
    Word,
    /// One character of punctuation.
    Mark(u8),
    /// A string or a character.
    Literal,
    /// A line of the preprocessor, with those that continue it.
    Directive,
}

/// A token of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
}

/// The tokens of a text, without blanks and comments.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut begins_line) = (0, true);
    while at < bytes.len() {
        let byte = bytes[at];
        let start = at;
        match byte {
            b'\n' => {
                begins_line = true;
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                at = comment_end(bytes, at);
                continue;
            }
            b'#' if begins_line => {
                at = directive_end(bytes, at);
                found.push(Token { kind: Kind::Directive, range: start..at });
                continue;
            }
            _ => {}
        }
        begins_line = false;
        let kind = match byte {
            b'"' | b'\'' => {
                at = literal_end(bytes, at);
                Kind::Literal
            }
            _ if is_word(byte) => {
                at += bytes[at..].iter().take_while(|&&byte| is_word(byte)).count();
                match bytes.get(at) {
                    // R"(…)", also with u8, u, U and L.
                    Some(b'"') if bytes[at - 1] == b'R' && at - start <= 3 => {
                        at = raw_end(bytes, at);
                        Kind::Literal
                    }
                    // 1'000'000
                    Some(b'\'') if byte.is_ascii_digit() => {
                        let is_digit = |&&byte: &&u8| is_word(byte) || byte == b'\'';
                        at += bytes[at..].iter().take_while(is_digit).count();
                        Kind::Word
                    }
                    _ => Kind::Word,
                }
            }
            _ => {
                at += 1;
                Kind::Mark(byte)
            }
        };
        found.push(Token { kind, range: start..at });
    }
    found
}

/// Letters of other alphabets are letters of names.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
}

fn comment_end(bytes: &[u8], at: usize) -> usize {
    let end = match bytes[at + 1] {
        b'*' => find(bytes, at + 2, b"*/").map(|end| end + 2),
        _ => find(bytes, at, b"\n"),
    };
    end.unwrap_or(bytes.len())
}

/// The end of the line that no backslash continues. A comment that goes on in the next line ends
/// with it.
fn directive_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => return at,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            b'\\' if bytes[at + 1..].starts_with(b"\r\n") => at += 3,
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = comment_end(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'/') => return comment_end(bytes, at),
            b'"' => at = literal_end(bytes, at),
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

/// The end of a string or character, or of its line if it has none.
fn literal_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' => return at,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of a raw string whose quote is at `quote`.
fn raw_end(bytes: &[u8], quote: usize) -> usize {
    let Some(open) = find(bytes, quote, b"(") else { return bytes.len() };
    let mut closing = vec![b')'];
    closing.extend(&bytes[quote + 1..open]);
    closing.push(b'"');
    find(bytes, open, &closing).map_or(bytes.len(), |at| at + closing.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_comments_and_directives_hide_their_brackets() {
        let text =
            "#define A(x) { \\\n  x // {\nint a = '{'; // }\nf(\"}\\\"{\", R\"x({)\")x\", 1'000);";
        let shown: Vec<&str> =
            tokens(text).iter().map(|token| &text[token.range.clone()]).collect();
        assert_eq!(
            shown,
            [
                "#define A(x) { \\\n  x // {",
                "int",
                "a",
                "=",
                "'{'",
                ";",
                "f",
                "(",
                "\"}\\\"{\"",
                ",",
                "R\"x({)\")x\"",
                ",",
                "1'000",
                ")",
                ";"
            ]
        );
    }

    #[test]
    fn texts_that_end_too_early_have_an_end() {
        for text in ["\"", "'", "/*", "/", "#", "#x \\", "R\"(", "R\"", "\"\\"] {
            assert!(tokens(text).iter().all(|token| token.range.end <= text.len()), "{text}");
        }
    }
}
