//! CUDA source without its host code, line for line.

use std::collections::BTreeSet;
use std::ops::Range;

use super::items::{Item, ItemKind, Parsed};
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
    /// GPU's. If `keep_unmarked`, that is `main` and what launches kernels. The marks are those of
    /// all texts of the compilation, see [`mark_macros`](super::mark_macros).
    pub fn new(text: &'a str, marks: &BTreeSet<&str>, keep_unmarked: bool) -> Self {
        let parsed = Parsed::with_marks(text, marks);
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
    /// Returns true if there was one. A structure loses no data, which would move the rest of it:
    /// it goes as a whole.
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
        let items = items.filter(|(_, item)| !self.parsed.is_layout(item));
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

    /// True for a member that gives its structure a size: data, or a virtual function.
    fn is_layout(&self, item: &Item) -> bool {
        let has = |wanted: &[&str]| item.head.clone().any(|at| wanted.contains(&self.word(at)));
        if !item.is_member || has(&["using", "typedef", "static", "friend"]) {
            return false;
        }
        let last = |back: usize| item.tokens.end.checked_sub(back);
        match item.kind {
            ItemKind::Function => has(&["virtual", "override"]),
            // `struct { int x; };` and `struct A { int x; } a;`
            ItemKind::Class => {
                let before = item.head.end.checked_sub(1).map_or("", |at| self.word(at));
                let has_name = !matches!(before, "struct" | "class" | "union" | ")" | "]");
                let ends = last(2).is_some_and(|at| self.is_mark(at, b'}'));
                !has_name || !ends
            }
            ItemKind::Other if has(&["virtual", "override"]) => true,
            ItemKind::Other => match self.shape(item.head.clone()).parameters {
                None => true,
                Some(open) => self.is_pointer(open, item.head.end),
            },
        }
    }

    /// True for the parentheses of `void (*f)(int)` and `int (&a)[4]`.
    fn is_pointer(&self, open: usize, end: usize) -> bool {
        let Some(close) = (open..end).find(|&at| self.is_mark(at, b')')) else { return false };
        let points = (open..close).any(|at| self.is_mark(at, b'*') || self.is_mark(at, b'&'));
        points && (self.is_mark(close + 1, b'(') || self.is_mark(close + 1, b'['))
    }

    /// True for code of the host that a compiler for the GPU would stumble over.
    fn is_hosts(&self, at: usize) -> bool {
        let item = &self.items[at];
        let words = || item.head.clone().map(|at| self.word(at));
        let has = |wanted: &[&str]| words().any(|word| wanted.contains(&word));
        match item.kind {
            // Without its virtual functions a structure is smaller.
            ItemKind::Function if self.is_layout(item) => false,
            ItemKind::Function => {
                // Braces that `#if` leaves open end in some other function.
                let has_kernel = || item.tokens.clone().any(|at| self.word(at) == "__global__");
                !item.is_device && !has(&["constexpr", "consteval"]) && !has_kernel()
            }
            ItemKind::Class => false,
            ItemKind::Other if item.has_device => false,
            ItemKind::Other => {
                let is_type = has(&[
                    "typedef",
                    "using",
                    "namespace",
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
    use crate::cuda_text::mark_macros;

    fn device(text: &str) -> DeviceText<'_> {
        DeviceText::new(text, &mark_macros(&[text]), false)
    }

    /// What is left of a text, with single blanks.
    fn left(text: &str) -> String {
        device(text).text().split_whitespace().collect::<Vec<_>>().join(" ")
    }

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
        let text = device(SOURCE).text();
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
        let mut text = device(
            "using std::vector;\nstruct A {\n using B = vector<int>;\n int n;\n};\n\
             __device__ int d;\n",
        );
        assert!(!text.is_cut());
        assert!(text.leave_out(1) && text.leave_out(3));
        assert!(!text.leave_out(6), "it is the GPU's");
        assert!(!text.leave_out(99));
        let lines: Vec<String> = text.text().lines().map(|line| line.trim().to_owned()).collect();
        assert_eq!(lines, ["", "struct A {", "", "int n;", "};", "__device__ int d;"]);
    }

    #[test]
    fn structures_lose_no_data() {
        for data in [
            "vector<int> v;",
            "cudaStream_t s;",
            "alignas(16) other x;",
            "function<void(int)> f;",
            "void (*f)(other);",
            "other (A::*f)(int);",
            "other x = f(3);",
            "other x{f(3)};",
            "int a[(2)];",
            "union { other x; };",
            "struct B { other x; } b;",
            "virtual void f(other);",
            "virtual void f(other) {}",
        ] {
            let source = format!("struct A {{\n int n;\n {data}\n}};\nint (*after)[2];\n");
            let mut text = device(&source);
            assert!(text.leave_out(3), "{data}");
            assert_eq!(text.text().trim(), "", "{data}: the structure goes as a whole");
            let marked = source.replace("int n;", "__device__ int n();");
            assert!(!device(&marked).leave_out(3), "{data}: the file is refused");
        }
        for other in [
            "void f(other *x);",
            "bool operator==(other x) const;",
            "A &operator=(const other &) = delete;",
            "static const other x;",
            "friend other;",
            "typedef other B;",
            "struct B { int x; };",
        ] {
            let source = format!("struct A {{\n int n;\n {other}\n}};\n");
            let mut text = device(&source);
            assert!(text.leave_out(3), "{other}");
            assert!(text.text().contains("int n;"), "{other}");
        }
    }

    #[test]
    fn what_stays_means_what_it_meant() {
        for (text, expected) in [
            (
                "class P { public: P() {} private: float x; public: float y; };",
                "class P { public: private: float x; public: float y; };",
            ),
            ("namespace cg = cooperative_groups;", "namespace cg = cooperative_groups;"),
            (
                "struct P { P(float a) : x{a}, y{a} {} float x; float y; };",
                "struct P { float x; float y; };",
            ),
            (
                "struct __builtin_align__(16) V { float x; };",
                "struct __builtin_align__(16) V { float x; };",
            ),
            ("bool operator<(P a, P b) { return true; } int f() {}", ""),
            (
                "void f() {\n#if A\n if (a) {\n#else\n if (b) {\n#endif\n }\n}\n\
                 __global__ void k() {}",
                "void f() { #if A if (a) { #else if (b) { #endif } } __global__ void k() {}",
            ),
        ] {
            assert_eq!(left(text), expected);
        }
    }

    #[test]
    fn macros_of_other_texts_keep_what_they_mark() {
        let source = "struct Acc { HD Acc() : s(0) {} float s; };\nKERNEL void k() {}\n";
        let defines = "#define HD __host__ __device__\n#define KERNEL extern \"C\" __global__\n";
        let marks = mark_macros(&[source, defines]);
        assert_eq!(DeviceText::new(source, &marks, false).text(), source);
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
