//! What was looked for as test cases in JUnit's XML, which CI systems list.

use maud::{PreEscaped, html};

use super::{Looked, Mark};

/// A suite with a case for each thing that was looked for. It fails with the marks of its title.
pub(crate) fn text(suite: &str, looked: &[Looked]) -> String {
    let mut cases = Vec::new();
    let mut failed = 0;
    for Looked { at, titles, marks } in looked {
        for title in titles {
            let found: Vec<&Mark> = marks.iter().filter(|mark| mark.title == *title).collect();
            failed += usize::from(!found.is_empty());
            let file = found.first().map(|mark| visible(&mark.file));
            cases.push(html! {
                testcase name=(visible(title)) classname=(visible(at)) file=[file] {
                    @for mark in found {
                        failure type=(mark.rule) message=(visible(&mark.message)) { (place(mark)) }
                    }
                }
            });
        }
    }
    let suite = html! {
        testsuites name="gpucast" tests=(cases.len()) failures=(failed) {
            testsuite name=(visible(suite)) tests=(cases.len())
                failures=(failed) errors="0" skipped="0" {
                @for case in &cases { (case) }
            }
        }
    };
    let head = PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    format!("{}{}\n", head.0, suite.into_string())
}

/// `kernel.cu:12`.
fn place(mark: &Mark) -> String {
    let line = mark.line.map_or_else(String::new, |line| format!(":{line}"));
    visible(&format!("{}{line}", mark.file))
}

/// Text without the characters that XML has no form for.
fn visible(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
