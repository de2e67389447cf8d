//! Reports for people: the sentence, the quoted text with the place marked, the hint.

use std::fmt::Write as _;

use gpucast_forecast::{Anchor, Report};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};
use serde_json::json;
use textwrap::{WordSeparator, WordSplitter};

use super::control;

/// Lines that are longer than this are named by their position and not quoted.
const LONGEST_QUOTED_LINE: usize = 240;

/// Columns of a rendered report. Words and commands that are longer stay whole, because people copy
/// them.
const WIDTH: usize = 100;

/// Stands for a blank that no line ends at.
const UNBROKEN: char = '\u{a0}';

/// A report as `miette` wants it.
#[derive(Debug)]
struct Rendered {
    message: String,
    help: Option<String>,
    source: Option<NamedSource<String>>,
    label: Option<LabeledSpan>,
}

impl std::fmt::Display for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Rendered {}

impl Diagnostic for Rendered {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.label.clone().map(|label| Box::new(std::iter::once(label)) as Box<_>)
    }
}

impl From<&Report> for Rendered {
    fn from(report: &Report) -> Self {
        let mut message = control::visible(&report.message).into_owned();
        let mut help = report.hint.as_deref().map(|hint| control::visible(hint).into_owned());
        let mut quote = None;
        if let Some(anchor) = &report.anchor {
            match quoted(anchor) {
                Ok(parts) => quote = Some(parts),
                Err(position) => message = format!("{position}: {message}"),
            }
        }
        for fact in &report.facts {
            let _ = write!(message, "\n{}", control::visible(fact));
        }
        message = with_whole_commands(&message);
        // A help text is one paragraph; the renderer wraps it.
        help = help.map(|help| with_whole_commands(&help.replace('\n', " ")));
        let (source, label) = quote.unzip();
        Self { message, help, source, label }
    }
}

/// The source and the label, or `file:line:column` if the line cannot be quoted.
fn quoted(anchor: &Anchor) -> Result<(NamedSource<String>, LabeledSpan), String> {
    let text: &str = &anchor.source.text;
    let start = floor_boundary(text, anchor.range.start);
    let end = floor_boundary(text, anchor.range.end).max(start);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    if text.is_empty() || line_end - line_start > LONGEST_QUOTED_LINE {
        let line = text[..start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count() + 1;
        return Err(format!("{}:{line}:{column}", anchor.source.name));
    }
    // Marks one line, because a label across lines hides the text.
    let end = end.min(line_end).max(start);
    let shown: String = text.chars().map(visible).collect();
    let source = NamedSource::new(control::visible(&anchor.source.name), shown);
    Ok((source, LabeledSpan::new(None, start, end - start)))
}

/// A text that is not wrapped between backticks, where commands and names stand.
fn with_whole_commands(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('`') {
        whole += before;
        whole.push('`');
        rest = behind;
        // A lonely backtick is one by itself.
        let Some((command, after)) = rest.split_once('`') else { break };
        whole.extend(command.chars().map(|letter| if letter == ' ' { UNBROKEN } else { letter }));
        whole.push('`');
        rest = after;
    }
    whole + rest
}

/// Control characters would move the terminal's cursor; `visible` keeps their width in bytes.
fn visible(character: char) -> char {
    if character.is_ascii_control() && character != '\n' && character != '\t' {
        '?'
    } else {
        character
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn render(report: &Report, mut theme: GraphicalTheme, width: usize) -> String {
    theme.characters.error = "error:".to_owned();
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(width)
        .with_links(false)
        .with_context_lines(1)
        .with_break_words(false)
        .with_word_separator(WordSeparator::AsciiSpace)
        .with_word_splitter(WordSplitter::NoHyphenation);
    let mut text = String::new();
    let rendered = Rendered::from(report);
    if handler.render_report(&mut text, &rendered).is_err() {
        text = format!("{rendered}\n");
    }
    let text = text.replace(UNBROKEN, " ");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let text = format!("{}\n", lines.join("\n").trim());
    match &report.command {
        Some(command) => format!("{text}\n  {}\n", control::visible(command)),
        None => text,
    }
}

/// A report as a line of JSON: `message`, and `place`, `facts`, `hint` and `command` where it has
/// them.
pub fn line_of_json(report: &Report) -> String {
    let mut value = json!({ "schema": "gpucast.report/1", "message": report.message });
    if let Some(anchor) = &report.anchor {
        let (line, column) = anchor.position();
        value["place"] = json!({ "file": &*anchor.source.name, "line": line, "column": column });
    }
    if !report.facts.is_empty() {
        value["facts"] = json!(report.facts);
    }
    for (name, text) in [("hint", &report.hint), ("command", &report.command)] {
        if let Some(text) = text {
            value[name] = json!(text);
        }
    }
    format!("{value}\n")
}

/// A report without colours, and with ASCII rules only.
pub fn plain(report: &Report) -> String {
    render(report, GraphicalTheme::none(), WIDTH)
}

/// A report for a terminal of 100 columns, with Unicode rules, in colour or without.
pub fn drawn(report: &Report, in_colour: bool) -> String {
    let theme =
        if in_colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    render(report, theme, WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpucast_forecast::SourceText;

    #[test]
    fn a_report_names_file_line_column_and_hint() {
        let source = SourceText::new("a.ptx", "first\n\tsecond line\nthird\n");
        let report = source
            .report(7..13, "the second word is wrong")
            .fact("in kernel k, CTA 0,0,0")
            .hint("write something else");
        insta::assert_snapshot!(plain(&report));
    }

    #[test]
    fn a_report_for_programs_is_a_line_with_its_parts() {
        let source = SourceText::new("a.ptx", "first\nsecond\n");
        let report = source.report(9..10, "wrong\nword").fact("a fact").hint("a hint");
        let line = line_of_json(&report);
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["message"], "wrong\nword");
        assert_eq!(value["place"], json!({ "file": "a.ptx", "line": 2, "column": 4 }));
        assert_eq!((&value["facts"][0], &value["hint"]), (&json!("a fact"), &json!("a hint")));
        assert_eq!(value.get("command"), None);
    }

    #[test]
    fn a_long_line_or_an_empty_text_is_not_quoted() {
        let long = SourceText::new("a.ptx", format!("x\n{}", "y".repeat(1000)));
        insta::assert_snapshot!(plain(&long.report(12..13, "wrong")));
        let empty = SourceText::new("empty.ptx", "");
        insta::assert_snapshot!(plain(&empty.report(0..0, "this file is empty")));
    }

    /// At every width of a terminal, and in pipes.
    #[test]
    fn words_and_commands_are_never_broken() {
        let path = "a/".repeat(60) + "long-name.cu";
        let command = format!("gpucast predict {path} --gpu h100-sxm --arg {}", "x".repeat(90));
        let report = Report::new(format!("{path} is a module, so something must be given"))
            .hint(format!("look at h100-sxm and at `gpucast check {path} --kernel a-b`, {path}"))
            .command(command.as_str());
        for text in [plain(&report), drawn(&report, false), drawn(&report, true)] {
            assert!(text.lines().any(|line| line.trim() == command), "{text}");
            assert!(text.contains(&format!("`gpucast check {path} --kernel a-b`")), "{text}");
            assert_eq!(text.matches(&path).count(), 4, "{text}");
        }
    }

    #[test]
    fn binary_text_cannot_disturb_the_terminal() {
        let source = SourceText::new("noise.ptx", "\u{1b}[31m\0é\n");
        insta::assert_snapshot!(plain(&source.report(6..8, "unexpected character")));
    }
}
