//! Text of unknown origin on a terminal: names from files may hold escape sequences.

use std::borrow::Cow;

/// The text with control characters replaced, except line breaks and tabs.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if is_hidden(c) { char::REPLACEMENT_CHARACTER } else { c };
    Cow::Owned(text.chars().map(shown).collect())
}

/// Control characters move the cursor or change the terminal; the others here turn the order of
/// letters round, so that a name reads as another.
fn is_hidden(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_turned_letters_are_shown_as_what_they_are() {
        assert_eq!(visible("k\u{1b}[2Jx\u{9b}1m\n\té"), "k\u{fffd}[2Jx\u{fffd}1m\n\té");
        assert_eq!(visible("a\u{202e}b"), "a\u{fffd}b");
        assert!(matches!(visible("plain\r\n"), Cow::Borrowed(_)));
    }
}
