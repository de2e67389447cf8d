//! The page `docs/advice.md` says what the rules say.
//!
//! `GPUCAST_UPDATE=1 cargo test --workspace --release --all-features --test advice page` writes it
//! anew.

use std::path::Path;

use gpucast_advice::page::{HEADINGS, documentation, page};
use gpucast_advice::rules::ALL;

#[test]
fn the_page_of_advice_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/advice.md");
    let page = page();
    if std::env::var_os("GPUCAST_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written,
        page,
        "{} is out of date; run this test with GPUCAST_UPDATE=1",
        path.display()
    );
}

#[test]
fn every_rule_is_documented_under_the_five_headings() {
    for rule in ALL {
        let text = documentation(rule);
        let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        assert_eq!(headings, HEADINGS, "{}", rule.code);
    }
}

#[test]
fn codes_of_rules_differ() {
    let mut codes: Vec<&str> = ALL.iter().map(|rule| rule.code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), ALL.len());
}
