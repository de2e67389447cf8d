//! What is said about broken texts, and that nothing is said about sound ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use gpucast_ptx_frontend::source::LineIndex;
use gpucast_ptx_frontend::{Diagnostic, DiagnosticCode, load};

fn render(text: &str, diagnostics: &[Diagnostic]) -> String {
    let lines = LineIndex::new(text);
    let mut rendered = String::new();
    for diagnostic in diagnostics {
        let at = lines.position(text, diagnostic.span.start);
        rendered += &format!("{at}: {diagnostic} [{}]\n", diagnostic.code);
        if let Some(hint) = &diagnostic.hint {
            rendered += &format!("  {hint}\n");
        }
    }
    rendered
}

#[test]
fn valid_texts_load() {
    insta::glob!("../valid", "*.ptx", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        if let Err(diagnostics) = load(&text) {
            panic!("{}\n{}", path.display(), render(&text, &diagnostics));
        }
    });
}

#[test]
fn invalid_texts_say_why() {
    insta::glob!("../invalid", "*.ptx", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let diagnostics = load(&text).expect_err("this text is broken");
        insta::assert_snapshot!(render(&text, &diagnostics));
    });
}

#[test]
fn the_page_of_codes_lists_every_code_once_and_no_other() {
    let page = include_str!("../../../docs/codes.md");
    let section = page.split("## ").find(|section| section.starts_with("PTX texts")).unwrap();
    let listed = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed: Vec<&str> = listed.collect();
    let known: Vec<&str> = DiagnosticCode::ALL.iter().map(|code| code.text()).collect();
    assert_eq!(listed, known);
}

#[test]
fn a_mark_of_the_byte_order_stands_for_nothing() {
    let text = "\u{feff}.version 8.0\n.target sm_80\n.address_size 64\n";
    assert!(load(text).is_ok());
}

#[test]
fn names_that_a_broken_declaration_would_have_made_are_not_reported() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\
        .reg .u32 !a;\nmov.u32 a, b;\nret;\n}\n";
    let codes: Vec<_> = load(text).unwrap_err().iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(codes, [DiagnosticCode::Syntax]);
}
