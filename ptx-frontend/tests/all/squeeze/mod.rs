//! White space is the one thing that printing may change.

/// `text` without white space and comments.
pub(crate) fn squeeze(text: &str) -> String {
    let mut squeezed = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
        } else {
            if !first.is_whitespace() {
                squeezed.push(first);
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    squeezed
}
