//! Conditions as test cases in JUnit's XML, which CI systems list.

use gpucast_forecast::difference::Broken;
use maud::{PreEscaped, html};

use super::findings::Checked;
use crate::marks::Mark;

/// A suite with a case for each condition; it fails with all that breaks it.
pub(super) fn text(after: &str, checked: &[Checked], findings: &[Mark]) -> String {
    let after = visible(after);
    let failed = checked.iter().filter(|one| !one.broken.is_empty()).count();
    let mut findings = findings.iter();
    let cases = checked.iter().map(|one| {
        let of_case: Vec<&Mark> = findings.by_ref().take(one.broken.len()).collect();
        let file = of_case.first().map(|finding| visible(&finding.file));
        html! {
            testcase name=(one.condition.to_string()) classname=(after) file=[file] {
                @for (finding, broken) in of_case.iter().zip(&one.broken) {
                    failure type=(finding.rule) message=(message(broken)) { (place(finding)) }
                }
            }
        }
    });
    let cases: Vec<_> = cases.collect();
    // Some readers take a suite without a case for a run that broke off.
    let compared = html! { testcase name="compared" classname=(after) {} };
    let suite = html! {
        testsuites name="gpucast" tests=(cases.len().max(1)) failures=(failed) {
            testsuite name={ "gpucast diff " (after) } tests=(cases.len().max(1))
                failures=(failed) errors="0" skipped="0" {
                @if cases.is_empty() { (compared) }
                @for case in &cases { (case) }
            }
        }
    };
    let head = PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    format!("{}{}\n", head.0, suite.into_string())
}

fn message(broken: &Broken) -> String {
    visible(&broken.sentence)
}

/// `kernel.cu:12: sentences`.
fn place(finding: &Mark) -> String {
    let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
    visible(&format!("{}{line}: {}", finding.file, finding.message))
}

/// Text without the characters that XML has no form for.
fn visible(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
