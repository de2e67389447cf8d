//! CUDA source without its host code, line for line.

use std::collections::BTreeSet;
use std::ops::Range;

use super::items::{ItemKind, Parsed};
use super::tokens::{Kind, tokens};

/// A text from which declarations can be left out. What is left keeps its lines and columns.
#[derive(Debug)]
pub struct DeviceText<'a> {
    parsed: Parsed<'a>,
    /// Items that are left out.
    without: BTreeSet<usize>,
}

impl<'a> DeviceText<'a> {
    /// Leaves out functions, prototypes and variables of the host: those that no mark makes the
    /// GPU's. If `keep_unmarked`, that is `main` and what launches kernels.
    pub fn new(text: &'a str, keep_unmarked: bool) -> Self {
        let parsed = Parsed::new(text);
        let is_hosts =
            |&at: &usize| parsed.is_hosts(at) && (!keep_unmarked || parsed.is_main_or_launches(at));
        let without = (0..parsed.items.len()).filter(is_hosts).collect();
        Self { parsed, without }
    }

    /// Returns true if something is left out.
    pub fn is_cut(&self) -> bool {
        !self.without.is_empty()
    }

    /// Leaves out the innermost declaration at a line, counted from 1, unless it is the GPU's.
    /// Returns true if there was one.
    pub fn leave_out(&mut self, line: usize) -> bool {
        let start = match line {
            0 | 1 => 0,
            line => {
                let mut ends = self.parsed.text.match_indices('\n');
                ends.nth(line - 2).map_or(self.parsed.text.len(), |(at, _)| at + 1)
            }
        };
        let length = self.parsed.text[start..].find('\n').unwrap_or(usize::MAX);
        let end = start.saturating_add(length).min(self.parsed.text.len());
        let touches = |bytes: Range<usize>| bytes.start < end.max(start + 1) && bytes.end > start;
        let items = self.parsed.items.iter().enumerate();
        let items = items.filter(|(at, _)| !self.without.contains(at));
        let here = items.filter(|(_, item)| touches(self.parsed.bytes(item)));
        let innermost = here.min_by_key(|(_, item)| item.tokens.len());
        match innermost {
            Some((at, item)) if !item.has_device => self.without.insert(at),
            Some(_) | None => false,
        }
    }

    /// The text that is left.
    pub fn text(&self) -> String {
        let mut bytes = self.parsed.text.as_bytes().to_vec();
        for &at in &self.without {
            let item = &self.parsed.items[at];
            for token in item.tokens.clone() {
                let token = &self.parsed.tokens[token];
                // What the preprocessor defines may be used elsewhere.
                if token.kind != Kind::Directive {
                    blank(&mut bytes[token.range.clone()]);
                }
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Lines and columns stay where they are.
fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

impl Parsed<'_> {
    fn is_main_or_launches(&self, at: usize) -> bool {
        let item = &self.items[at];
        let launches = |at: usize| (at..at + 3).all(|at| self.is_mark(at, b'<'));
        item.head.clone().any(|at| self.word(at) == "main") || item.tokens.clone().any(launches)
    }

    /// True for code of the host that a compiler for the GPU would stumble over.
    fn is_hosts(&self, at: usize) -> bool {
        let item = &self.items[at];
        let words = || item.head.clone().map(|at| self.word(at));
        let has = |wanted: &[&str]| words().any(|word| wanted.contains(&word));
        match item.kind {
            ItemKind::Function => !item.is_device && !has(&["constexpr", "consteval"]),
            ItemKind::Class => false,
            ItemKind::Other if item.has_device => false,
            ItemKind::Other => {
                let is_type = has(&[
                    "typedef",
                    "using",
                    "struct",
                    "class",
                    "union",
                    "enum",
                    "template",
                    "friend",
                    "static_assert",
                    "const",
                    "constexpr",
                    "public",
                    "private",
                    "protected",
                    "default",
                    "delete",
                    "asm",
                ]);
                // Data of structures is the GPU's, too.
                !is_type && !item.is_member
            }
        }
    }
}

/// The files that a text includes, as they are written, and whether in quotes.
pub fn includes(text: &str) -> Vec<(&str, bool)> {
    let directives = tokens(text).into_iter().filter(|token| token.kind == Kind::Directive);
    let name = |range: Range<usize>| {
        let rest = text[range].strip_prefix('#')?.trim_start().strip_prefix("include")?;
        let rest = rest.trim_start();
        let close = match rest.chars().next()? {
            '"' => '"',
            '<' => '>',
            _ => return None,
        };
        let end = rest[1..].find(close)?;
        Some((rest[1..=end].trim(), close == '"'))
    };
    directives.filter_map(|token| name(token.range)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#include <vector>
#include \"my.h\"
const int N = 4;
int hosts = 5;
__device__ int devices = 6;
struct P { float x; void save() { write(x); } };
__device__ float twice(float x) { return 2 * x; }
static void launch(float *x)
{
#define USED 3
    twice_all<<<1, N>>>(x); // }
}
__global__ void twice_all(float *x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
int main() { launch(0); }
";

    #[test]
    fn host_code_is_blank_and_everything_else_is_where_it_was() {
        let text = DeviceText::new(SOURCE, false).text();
        assert_eq!(text.len(), SOURCE.len());
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let all: Vec<&str> = SOURCE.lines().collect();
        for kept in [0, 1, 2, 4, 6, 9, 12] {
            assert_eq!(lines[kept], all[kept]);
        }
        for gone in [3, 7, 8, 11, 13] {
            assert_eq!(lines[gone], "", "line {}", gone + 1);
        }
        assert_eq!(lines[5], "struct P { float x;                           };");
        assert_eq!(lines[10].trim(), "// }");
    }

    #[test]
    fn a_line_leaves_out_the_innermost_declaration_that_is_not_the_gpus() {
        let mut text = DeviceText::new(
            "using std::vector;\nstruct A {\n vector<int> v;\n int n;\n};\n__device__ int d;\n",
            false,
        );
        assert!(!text.is_cut());
        assert!(text.leave_out(1) && text.leave_out(3));
        assert!(!text.leave_out(6), "it is the GPU's");
        assert!(!text.leave_out(99));
        let lines: Vec<String> = text.text().lines().map(|line| line.trim().to_owned()).collect();
        assert_eq!(lines, ["", "struct A {", "", "int n;", "};", "__device__ int d;"]);
    }

    #[test]
    fn includes_are_named_as_they_are_written() {
        assert_eq!(
            includes(
                "#include <a/b.h>\n  #  include \"c.cu\" // <d>\n#define X\n// #include <e>\n"
            ),
            [("a/b.h", false), ("c.cu", true)]
        );
    }
}
