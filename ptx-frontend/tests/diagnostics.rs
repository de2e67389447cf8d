//! What is said about broken texts, and that nothing is said about sound ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use gpucast_ptx_frontend::source::LineIndex;
use gpucast_ptx_frontend::{Diagnostic, load};

fn render(text: &str, diagnostics: &[Diagnostic]) -> String {
    let lines = LineIndex::new(text);
    let mut rendered = String::new();
    for diagnostic in diagnostics {
        let at = lines.position(text, diagnostic.span.start);
        rendered += &format!("{at}: {diagnostic}\n");
        if let Some(hint) = &diagnostic.hint {
            rendered += &format!("  {hint}\n");
        }
    }
    rendered
}

#[test]
fn valid_texts_load() {
    insta::glob!("valid/*.ptx", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        if let Err(diagnostics) = load(&text) {
            panic!("{}\n{}", path.display(), render(&text, &diagnostics));
        }
    });
}

#[test]
fn invalid_texts_say_why() {
    insta::glob!("invalid/*.ptx", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let diagnostics = load(&text).expect_err("this text is broken");
        insta::assert_snapshot!(render(&text, &diagnostics));
    });
}
