//! Two runs side by side as a comment on a change.

use std::fmt::Write as _;

use gpucast_forecast::difference::{CountChange, Difference, LaunchChange, TimeChange};

use super::lines::{LineChange, SHOWN};
use super::{Parts, change, percent, title, value};

/// Lines that are shown; a comment is read on a small screen.
const MOST_LINES: usize = 5;

/// The comment: the verdict, the times, and folded below them what changed most.
pub(super) fn text(
    difference: &Difference,
    [before, after]: [&str; 2],
    parts: &[Option<Parts<'_>>],
    broken: &[&str],
) -> String {
    let mut text = format!("### {}: {}\n\n", cell(after), verdict(&difference.totals, broken));
    for sentence in broken {
        let _ = writeln!(text, "- ❌ {}", cell(sentence));
    }
    if !broken.is_empty() {
        text.push('\n');
    }
    text += &times(&difference.totals);
    for (launch, parts) in difference.launches.iter().zip(parts) {
        text += &details(launch, *parts);
    }
    let _ = writeln!(text, "\n`gpucast diff {} {}`", cell(before), cell(after));
    text
}

/// What a reader wants to know first.
fn verdict(totals: &[TimeChange], broken: &[&str]) -> String {
    let by_size =
        |one: &&TimeChange, other: &&TimeChange| one.change.abs().total_cmp(&other.change.abs());
    let largest = totals.iter().max_by(by_size).filter(|time| time.change != 0.0);
    let time = match largest {
        None => "the same time".to_owned(),
        Some(time) => {
            let word = if time.change > 0.0 { "slower" } else { "faster" };
            format!("{:.1} % {word} on {}", 100.0 * time.change.abs(), time.gpu)
        }
    };
    match broken.len() {
        0 => time,
        1 => format!("{time}; a limit is broken"),
        several => format!("{time}; {several} limits are broken"),
    }
}

fn times(totals: &[TimeChange]) -> String {
    let mut text = "| GPU | model | before | after | change |\n|---|---|--:|--:|--:|\n".to_owned();
    for time in totals {
        let [before, after] = &time.texts;
        let change = percent(time.change);
        let _ = writeln!(
            text,
            "| {} | {} | {before} | {after} | {change} |",
            cell(&time.gpu),
            time.model
        );
    }
    text
}

fn details(launch: &LaunchChange, parts: Option<Parts<'_>>) -> String {
    let changed: Vec<&CountChange> =
        launch.counts.iter().filter(|count| !count.is_same()).collect();
    let lines = parts.map_or(&[][..], |parts| parts.lines);
    let mut lines: Vec<&LineChange> = lines.iter().filter(|line| !line.is_same()).collect();
    if changed.is_empty() && lines.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n<details><summary>{}: {} of {} counts differ</summary>\n\n",
        escaped(&title(launch)),
        changed.len(),
        launch.counts.len()
    );
    if !changed.is_empty() {
        text += "| metric | before | after | change |\n|---|--:|--:|--:|\n";
    }
    for count in changed {
        let (before, after) = (value(count.before), value(count.after));
        let _ = writeln!(text, "| {} | {before} | {after} | {} |", count.metric, change(count));
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.growth()));
    if !lines.is_empty() {
        text += "\n| line | | warps | sectors | passes |\n|--:|---|--:|--:|--:|\n";
    }
    for line in lines.iter().take(MOST_LINES) {
        let [before, after] = line.numbers();
        let number = if after.is_empty() { before } else { after };
        let source: Vec<String> = line
            .texts()
            .iter()
            .map(|(_, text)| format!("`{}`", cell(text).replace('`', "'")))
            .collect();
        let costs: Vec<String> = [0, 1, 3].iter().map(|&at| line.cell(SHOWN[at].1)).collect();
        let _ = writeln!(text, "| {number} | {} | {} |", source.join(" → "), costs.join(" | "));
    }
    if lines.len() > MOST_LINES {
        let _ = writeln!(text, "\n{} more lines differ.", lines.len() - MOST_LINES);
    }
    text += "\n</details>\n";
    text
}

/// Text for a cell of a table: on one line, without what would end the cell or begin a tag.
fn cell(text: &str) -> String {
    let text: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    escaped(&text).replace('|', "\\|")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
