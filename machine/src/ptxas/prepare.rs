//! PTX in which every instruction is a source line of its own.
//!
//! The assembler writes into its line table which `.loc` each machine instruction comes from. Here
//! every PTX instruction gets a `.loc` in a file of ours, in place of those that the compiler
//! wrote. Its line is the instruction's number in the text. Positions are not translated, so the
//! machine code stays the same byte for byte.

use gpucast_ptx_frontend::ast::{Item, StatementKind};
use gpucast_ptx_frontend::source::{Diagnostic, LineIndex, Span};

/// The name of the file that injected lines are in.
const FILE_NAME: &str = "ptx-instructions";

/// A text that is ready for the assembler, and the way back to the text that it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The text to assemble.
    pub text: String,
    /// The position of instruction `n` of the text, at index `n - 1`: its injected line is `n`.
    instructions: Vec<Span>,
    /// The `.file` index of the injected lines.
    pub(super) file: u64,
    /// The line of the original text that each line of [`Prepared::text`] comes from.
    lines: Vec<u32>,
}

impl Prepared {
    /// The position in the original text of the instruction with this injected line.
    pub(super) fn instruction(&self, line: u64) -> Option<Span> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        self.instructions.get(index).copied()
    }

    /// The line of the original text that a line of the prepared one comes from, both counted from
    /// one. The assembler's complaints are about it.
    #[must_use]
    pub fn original_line(&self, line: u32) -> Option<u32> {
        self.lines.get((line as usize).checked_sub(1)?).copied()
    }
}

/// Gives every instruction of a module a line of its own.
///
/// # Errors
///
/// The diagnostics that keep the text from being parsed.
pub fn prepare(text: &str) -> Result<Prepared, Vec<Diagnostic>> {
    let (module, diagnostics) = gpucast_ptx_frontend::parse(text);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let mut edits = Vec::new();
    let mut file = 0;
    for item in &module.items {
        match item {
            Item::File(directive) => file = file.max(directive.index.parse().unwrap_or(0)),
            Item::Function(function) => {
                for statement in function.body.iter().flatten() {
                    match statement.kind {
                        StatementKind::Instruction(_) => edits.push(Edit::Mark(statement.span)),
                        StatementKind::Loc(_) => edits.push(Edit::Remove(statement.span)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(apply(text, &edits, file + 1))
}

/// A change of the text; changes come in order and do not overlap.
enum Edit {
    /// An injected line before an instruction.
    Mark(Span),
    /// A directive taken out.
    Remove(Span),
}

fn apply(text: &str, edits: &[Edit], file: u64) -> Prepared {
    let mut out = Output { text: String::with_capacity(text.len() * 2), lines: vec![1] };
    let original = LineIndex::new(text);
    let mut instructions = Vec::new();
    let mut at = 0;
    for edit in edits {
        let (Edit::Mark(span) | Edit::Remove(span)) = edit;
        let range = span.range();
        out.copy(&text[at..range.start]);
        match edit {
            Edit::Mark(span) => {
                instructions.push(*span);
                let number = instructions.len();
                out.insert(&format!("\n.loc {file} {number} 0\n"), original.line(span.start));
                at = range.start;
            }
            Edit::Remove(_) => {
                // The directive may span lines; the text behind it keeps its place.
                out.copy_line_breaks(&text[range.clone()]);
                at = range.end;
            }
        }
    }
    out.copy(&text[at..]);
    let last = out.lines.last().copied().unwrap_or(1);
    out.insert(&format!("\n.file {file} \"{FILE_NAME}\"\n"), last);
    Prepared { text: out.text, instructions, file, lines: out.lines }
}

/// The text under construction, with the original line of each of its lines.
struct Output {
    text: String,
    lines: Vec<u32>,
}

impl Output {
    fn copy(&mut self, text: &str) {
        self.copy_line_breaks_of(text);
        self.text.push_str(text);
    }

    fn copy_line_breaks(&mut self, text: &str) {
        self.copy_line_breaks_of(text);
        self.text.extend(text.chars().filter(|&letter| letter == '\n'));
    }

    fn copy_line_breaks_of(&mut self, text: &str) {
        let mut line = self.lines.last().copied().unwrap_or(1);
        for _ in text.bytes().filter(|&byte| byte == b'\n') {
            line += 1;
            self.lines.push(line);
        }
    }

    /// Adds text that the original does not have; it counts as its line `line`.
    fn insert(&mut self, text: &str, line: u32) {
        let breaks = text.bytes().filter(|&byte| byte == b'\n').count();
        self.lines.extend(std::iter::repeat_n(line, breaks));
        self.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
.version 7.8
.target sm_50
.address_size 64
.file 3 \"a.cu\"
.entry k() {
.reg .pred p; .reg .u32 r;
.loc 3 10 0
L: mov.u32 r, 1; add.u32 r, r, r;
.loc 3 11 5
@p bra L;
ret;
}
";

    #[test]
    fn instructions_on_one_line_are_told_apart() {
        let prepared = prepare(TEXT).unwrap();
        assert_eq!(prepared.file, 4);
        let quoted: Vec<&str> =
            prepared.instructions.iter().map(|span| &TEXT[span.range()]).collect();
        assert_eq!(quoted, ["mov.u32 r, 1;", "add.u32 r, r, r;", "@p bra L;", "ret;"]);
        assert_eq!(prepared.instruction(3), Some(prepared.instructions[2]));
        assert_eq!((prepared.instruction(0), prepared.instruction(5)), (None, None));
    }

    #[test]
    fn only_injected_positions_remain() {
        let prepared = prepare(TEXT).unwrap();
        let positions: Vec<&str> =
            prepared.text.lines().filter(|line| line.contains(".loc")).collect();
        assert_eq!(positions, [".loc 4 1 0", ".loc 4 2 0", ".loc 4 3 0", ".loc 4 4 0"]);
        // Apart from positions and the breaks around them nothing has changed.
        let tokens = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with(".loc"));
            let words =
                lines.filter(|line| !line.contains(FILE_NAME)).flat_map(str::split_whitespace);
            words.map(str::to_owned).collect()
        };
        assert_eq!(tokens(&prepared.text), tokens(TEXT));
        assert!(gpucast_ptx_frontend::load(&prepared.text).is_ok());
    }

    #[test]
    fn lines_of_complaints_lead_back_to_the_original() {
        let prepared = prepare(TEXT).unwrap();
        for (index, line) in prepared.text.lines().enumerate() {
            let original = prepared.original_line(index as u32 + 1).unwrap();
            if !line.is_empty() && !line.starts_with(".loc") && !line.contains(FILE_NAME) {
                let quoted = TEXT.lines().nth(original as usize - 1).unwrap();
                assert!(quoted.contains(line.trim()), "{line:?} is not on line {original}");
            }
        }
        assert_eq!(prepared.original_line(10_000), None);
    }

    #[test]
    fn a_broken_text_is_refused() {
        assert!(prepare(".version 7.8\n.target sm_50\n.entry k() { move.u32 r, 1; }").is_err());
    }
}
