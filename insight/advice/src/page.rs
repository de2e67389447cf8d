//! The page that lists the rules, written from their documentation.

use crate::rules::{ALL, Rule};
use crate::trial::LEAST_GAIN;

/// The headings that each rule's documentation has, in order.
pub const HEADINGS: [&str; 5] =
    ["What it does", "Why it is slow", "How to fix it", "Example", "Source"];

/// The documentation of a rule: the text of its file's inner comments.
#[must_use]
pub fn documentation(rule: &Rule) -> String {
    let lines = rule.source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    lines.join("\n")
}

/// The page in Markdown.
#[must_use]
pub fn page() -> String {
    let mut page = format!(
        "# Advice\n\n\
         `gpucast advise KERNEL --gpu GPU` says what is slow in a kernel, where, why, and what to \
         change. This\npage lists the causes that it looks for. It is written from the rules in \
         `insight/advice/src/rules`; a test keeps\nthem the same.\n\n\
         Each gain comes from predicting again under other circumstances, by every model that can \
         see them.\nGains below {:.0} % are not shown: the interval of a predicted time is as \
         wide. A cause that no model can\nsee is listed without a number. Where the GPU's default \
         model cannot see one, the simulation's gain is\nnamed. Gains are those of one change alone \
         and do not add up.\n\n\
         Changes are ranked by gain and effort. A change of the kernel's structure counts as three of \
         lines: one that gains\n8 × ranks with one of lines that gains 2 ×. So what a structure would \
         multiply is mended first.\nThe steps of [ladders](evidence/ladders.md) show how often the \
         first one is what the next step changes.\n\n\
         Where nothing gains, the roof follows: the time of the kernel's operations and bytes at the \
         GPU's peaks,\nand what leads nearer to it. \
         A roof is no promise: it knows no latency.\n\n\
         | rule | cause |\n|---|---|\n",
        100.0 * (LEAST_GAIN - 1.0)
    );
    for rule in ALL {
        page += &format!("| [`{0}`](#{0}) | {1} |\n", rule.code, rule.title);
    }
    for rule in ALL {
        page += &format!("\n## {}\n\n", rule.code);
        // Headings of rules are sections of the page.
        for line in documentation(rule).lines() {
            match line.strip_prefix("# ") {
                Some(heading) => page += &format!("### {heading}\n"),
                None => page += &format!("{line}\n"),
            }
        }
    }
    page
}
