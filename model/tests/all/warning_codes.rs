//! The page of codes lists every warning.

use gpucast_model::Warning;

#[test]
fn the_page_of_codes_lists_every_warning_once_and_no_other() {
    let page = include_str!("../../../docs/codes.md");
    let (_, section) = page.split_once("## Warnings of models").unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let listed: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> =
        Warning::CODES.iter().map(|(code, meaning)| format!("| `{code}` | {meaning} |")).collect();
    assert_eq!(listed, expected);
}

#[test]
fn no_code_stands_for_two_warnings() {
    let mut codes: Vec<&str> = Warning::CODES.iter().map(|(code, _)| *code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), Warning::CODES.len());
}
