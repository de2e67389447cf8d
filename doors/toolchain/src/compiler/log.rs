//! The complaints of compilers, as reports that point into the user's source.
//!
//! ```text
//! saxpy.cu(3): error: identifier "m" is undefined       NVRTC and nvcc, then the line and a caret
//! saxpy.cu:3:9: error: use of undeclared identifier     clang
//! ```

use gpucast_forecast::{Anchor, Report, SourceText};

use super::headers;

/// More errors than this follow from the first ones.
const MOST_ERRORS: usize = 20;
/// Warnings that are repeated; the rest is counted.
const MOST_WARNINGS: usize = 3;

/// NVRTC's words about a function that is neither the host's nor the GPU's.
pub(super) const UNMARKED: &str = "without execution space annotations";

/// A line of a compiler's output that says where something is.
pub(super) struct Complaint<'a> {
    pub(super) file: &'a str,
    pub(super) line: usize,
    column: Option<usize>,
    pub(super) is_error: bool,
    pub(super) message: &'a str,
}

impl<'a> Complaint<'a> {
    /// The header that is not found, if that is the complaint.
    pub(super) fn missing_header(&self) -> Option<&'a str> {
        let starts = ["cannot open source file \"", "could not open source file \"", "'"];
        let rest = starts.iter().find_map(|start| self.message.strip_prefix(start));
        let is_clangs = self.message.starts_with('\'');
        if is_clangs && !self.message.ends_with("file not found") {
            return None;
        }
        rest?.split(['"', '\'']).next()
    }

    /// The name that nothing declares, if that is the complaint.
    pub(super) fn undefined(&self) -> Option<&'a str> {
        self.message.strip_prefix("identifier \"")?.strip_suffix("\" is undefined")
    }
}

/// The errors of a compiler's output; those in the source itself point at their place.
pub(super) fn errors(text: &str, source: &SourceText) -> Vec<Report> {
    let errors = complaints(text).into_iter().filter(|complaint| complaint.is_error);
    errors.take(MOST_ERRORS).map(|error| report(&error, source)).collect()
}

/// The warnings of a compiler's output, one line each.
pub(super) fn warnings(text: &str) -> Vec<String> {
    let all: Vec<String> = complaints(text)
        .iter()
        .filter(|complaint| !complaint.is_error)
        .map(|complaint| {
            format!("{}:{}: warning: {}", complaint.file, complaint.line, complaint.message)
        })
        .collect();
    let more = all.len().saturating_sub(MOST_WARNINGS);
    let more = (more > 0).then(|| format!("and {more} more warnings"));
    all.into_iter().take(MOST_WARNINGS).chain(more).collect()
}

fn report(complaint: &Complaint, source: &SourceText) -> Report {
    let Complaint { file, line, column, message, .. } = complaint;
    if *file != &*source.name {
        return Report::new(format!("{file}:{line}: {message}")).maybe_hint(hint(complaint));
    }
    let text: &str = &source.text;
    let start = match line {
        0 | 1 => 0,
        line => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let whole = text[start..].lines().next().unwrap_or_default();
    let range = match column {
        Some(column) => {
            let indices = whole.char_indices().map(|(at, _)| at);
            let at = indices.chain([whole.len()]).nth(column.saturating_sub(1));
            let at = at.unwrap_or(whole.len());
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let length = whole[at..].find(|letter| !is_word(letter)).unwrap_or(whole.len() - at);
            start + at..start + at + length.max(usize::from(at < whole.len()))
        }
        None => {
            let indent = whole.len() - whole.trim_start().len();
            start + indent..start + whole.len()
        }
    };
    let anchor = Anchor { source: source.clone(), range };
    Report::new(*message).at(&anchor).maybe_hint(hint(complaint))
}

/// Advice for the complaints that beginners meet.
fn hint(complaint: &Complaint<'_>) -> Option<String> {
    let message = complaint.message;
    if let Some(header) = complaint.missing_header() {
        return Some(match headers::package(header) {
            Some(package) => {
                let newer = package.trim_end_matches("-cu12");
                format!(
                    "`pip install {package}` brings it for CUDA 12, `pip install {newer}` for \
                     CUDA 13; -I FOLDER says where else it is"
                )
            }
            None => "say where the header is: -I FOLDER".to_owned(),
        });
    }
    if message.contains(UNMARKED) {
        return Some(
            "mark it __device__, or add --nvcc-option=-default-device, which makes all such \
             functions the GPU's"
                .to_owned(),
        );
    }
    let is_host = message.contains("host function") || message.contains("cudaMalloc");
    is_host.then(host_code)
}

/// Advice for source that NVRTC cannot compile because of its host code.
pub(super) fn host_code() -> String {
    "NVRTC compiles device code alone: put host code between `#ifndef __CUDACC_RTC__` and `#endif`, \
     or into another file, or install nvcc"
        .to_owned()
}

/// The complaints of a compiler's output.
pub(super) fn complaints(text: &str) -> Vec<Complaint<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if let Some(mut complaint) = complaint(line) {
            if complaint.column.is_none() {
                complaint.column = lines[index + 1..].iter().take(2).find_map(|line| caret(line));
            }
            found.push(complaint);
        }
    }
    found
}

/// A line by nvcc's or clang's grammar.
fn complaint(line: &str) -> Option<Complaint<'_>> {
    const KINDS: [(&str, bool); 5] = [
        ("catastrophic error", true),
        ("fatal error", true),
        ("internal error", true),
        ("error", true),
        ("warning", false),
    ];
    let (place, rest) = line.split_once(": ")?;
    let (kind, is_error) = KINDS.into_iter().find(|(kind, _)| rest.starts_with(kind))?;
    // A number may follow: `warning #177-D: variable …`.
    let (_, message) = rest[kind.len()..].split_once(": ").or_else(|| {
        let message = rest[kind.len()..].trim();
        (!message.is_empty()).then_some(("", message))
    })?;
    let (file, line, column) = match place.strip_suffix(')') {
        Some(place) => {
            let (file, line) = place.rsplit_once('(')?;
            (file, line.parse().ok()?, None)
        }
        None => {
            let (rest, last) = place.rsplit_once(':')?;
            match rest.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
                Some((file, line)) => (file, line, last.parse().ok()),
                None => (rest, last.parse().ok()?, None),
            }
        }
    };
    Some(Complaint { file, line, column, is_error, message: message.trim() })
}

/// The column of a caret; compilers put the quoted line above it with two blanks before, which are
/// no part of it.
fn caret(line: &str) -> Option<usize> {
    const BEFORE: usize = 2;
    let is_caret_line = line.trim_start().starts_with('^');
    let column = line.find('^').filter(|_| is_caret_line)?;
    Some(column.saturating_sub(BEFORE) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "__global__ void k(float *x) {\n  int unused;\n    x[0] = m;\n}\n";

    fn marked(text: &str) -> Vec<String> {
        let source = SourceText::new("a/k.cu", SOURCE);
        let shown = |report: &Report| match &report.anchor {
            Some(anchor) => format!("{} | {}", &SOURCE[anchor.range.clone()], report.message),
            None => format!("no place | {}", report.message),
        };
        errors(text, &source).iter().map(shown).collect()
    }

    #[test]
    fn errors_point_at_the_word_that_the_caret_is_under() {
        let log = "a/k.cu(2): warning #177-D: variable \"unused\" was declared but never referenced\n\
                   \x20   int unused;\n        ^\n\n\
                   a/k.cu(3): error: identifier \"m\" is undefined\n      x[0] = m;\n             ^\n\n\
                   1 error detected in the compilation of \"a/k.cu\".\n";
        assert_eq!(marked(log), ["m | identifier \"m\" is undefined"]);
        assert_eq!(
            warnings(log),
            ["a/k.cu:2: warning: variable \"unused\" was declared but never referenced"]
        );
    }

    #[test]
    fn clang_gives_the_column_itself() {
        let log = "a/k.cu:3:12: error: use of undeclared identifier 'm'\n    3 |     x[0] = m;\n";
        assert_eq!(marked(log), ["m | use of undeclared identifier 'm'"]);
    }

    #[test]
    fn errors_of_other_files_and_without_a_column_keep_their_lines() {
        let log = "b.h(7): error: expected a \";\"\na/k.cu(3): catastrophic error: out of memory\n";
        assert_eq!(
            marked(log),
            ["no place | b.h:7: expected a \";\"", "x[0] = m; | out of memory"]
        );
        assert_eq!(marked("nvcc fatal   : Unsupported gpu architecture\n"), [""; 0]);
    }

    #[test]
    fn a_place_outside_the_text_is_its_end() {
        assert_eq!(marked("a/k.cu(99): error: at end of file\n"), [" | at end of file"]);
        assert_eq!(marked("a/k.cu:3:99: error: far\n"), [" | far"]);
    }
}
