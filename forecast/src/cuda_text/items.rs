//! The declarations of CUDA source, and which of them are for the GPU.

use std::collections::BTreeSet;
use std::ops::Range;

use super::tokens::{Kind, Token, tokens};

/// The words that make something the GPU's.
const MARKS: [&str; 5] = ["__global__", "__device__", "__constant__", "__shared__", "__managed__"];
/// Words that end in parentheses and are no function.
const ATTRIBUTES: [&str; 7] = [
    "__align__",
    "__builtin_align__",
    "alignas",
    "__attribute__",
    "__declspec",
    "__launch_bounds__",
    "decltype",
];
/// Times that texts are looked through for macros that stand for macros.
const MOST_ROUNDS: usize = 8;

/// The kinds of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A function with its body.
    Function,
    /// A structure, class, union or enumeration.
    Class,
    /// Anything else that ends in a semicolon.
    Other,
}

/// A declaration.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// Its tokens.
    pub(super) tokens: Range<usize>,
    /// Its tokens before the body.
    pub(super) head: Range<usize>,
    /// True if a mark stands before its body.
    pub(super) is_device: bool,
    /// True if a mark stands anywhere in it.
    pub(super) has_device: bool,
    /// True if it stands in a class.
    pub(super) is_member: bool,
}

/// What stands in a head outside of its brackets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    is_class: bool,
    /// The parenthesis that begins the parameters of a function.
    pub(super) parameters: Option<usize>,
    has_value: bool,
}

fn is_class_word(word: &str) -> bool {
    matches!(word, "struct" | "class" | "union" | "enum")
}

/// The marks, and the macros that stand for some in the texts of a compilation. One text may use
/// what another one defines, and in any order.
#[must_use]
pub fn mark_macros<'a>(texts: &[&'a str]) -> BTreeSet<&'a str> {
    let definitions: Vec<(&str, Vec<&str>)> =
        texts.iter().flat_map(|text| definitions(text)).collect();
    let mut marks: BTreeSet<&str> = MARKS.into_iter().collect();
    for _ in 0..MOST_ROUNDS {
        let known = marks.len();
        for (name, words) in &definitions {
            if words.iter().any(|word| marks.contains(word)) {
                marks.insert(name);
            }
        }
        if marks.len() == known {
            break;
        }
    }
    marks
}

/// The macros of a text, with the words that each stands for.
fn definitions(text: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let directives = tokens(text).into_iter().filter(|token| token.kind == Kind::Directive);
    directives.filter_map(|token| {
        let line = text.get(token.range)?.strip_prefix('#')?;
        let rest = line.trim_start().strip_prefix("define")?;
        let words = tokens(rest).into_iter().filter(|token| token.kind == Kind::Word);
        let mut words = words.filter_map(|token| rest.get(token.range));
        Some((words.next()?, words.collect()))
    })
}

/// Classes in classes whose members are told apart.
const DEEPEST: usize = 16;

/// A text with its tokens and declarations.
#[derive(Debug)]
pub(super) struct Parsed<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
    /// Members follow the class that they belong to.
    pub(super) items: Vec<Item>,
}

impl<'a> Parsed<'a> {
    /// A text on its own.
    pub(super) fn new(text: &'a str) -> Self {
        Self::with_marks(text, &mark_macros(&[text]))
    }

    /// A text of a compilation that has these marks.
    pub(super) fn with_marks(text: &'a str, marks: &BTreeSet<&str>) -> Self {
        let tokens = tokens(text);
        let mut parsed = Self { text, tokens, items: Vec::new() };
        parsed.scope(0..parsed.tokens.len(), marks, 0);
        parsed
    }

    /// The text of a token; empty behind the last one.
    pub(super) fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.text[token.range.clone()])
    }

    pub(super) fn is_mark(&self, at: usize, mark: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Mark(mark))
    }

    fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// Collects the declarations of a scope: a file, or a class that `depth` classes hold.
    fn scope(&mut self, range: Range<usize>, marks: &BTreeSet<&str>, depth: usize) {
        let mut at = range.start;
        while at < range.end {
            let next = match self.kind(at) {
                Some(Kind::Directive) => at + 1,
                // The end of a namespace, and what a macro has left behind.
                Some(Kind::Mark(b'}' | b';')) => at + 1,
                // What follows the declaration behind it is under it, too.
                _ if self.is_access(at) => at + 2,
                _ => match self.namespace(at, range.end) {
                    Some(inside) => inside,
                    None => self.item(at..range.end, marks, depth),
                },
            };
            at = next.max(at + 1);
        }
    }

    /// True for `public:` and its like.
    fn is_access(&self, at: usize) -> bool {
        matches!(self.word(at), "public" | "private" | "protected") && self.is_mark(at + 1, b':')
    }

    /// The first token in a namespace or an `extern "C"` that begins here.
    fn namespace(&self, at: usize, end: usize) -> Option<usize> {
        let mut begin = at;
        if self.word(begin) == "inline" {
            begin += 1;
        }
        let is_language =
            self.word(begin) == "extern" && self.kind(begin + 1) == Some(Kind::Literal);
        if self.word(begin) != "namespace" && !is_language {
            return None;
        }
        let open = (begin + 1..end.min(begin + 16)).find(|&at| self.is_mark(at, b'{'))?;
        let is_name = |at: usize| match self.kind(at) {
            Some(Kind::Word) => true,
            Some(Kind::Literal) => is_language,
            Some(Kind::Mark(mark)) => mark == b':',
            _ => false,
        };
        let is_other = !(begin + 1..open).all(is_name) || (is_language && open > begin + 2);
        (!is_other).then_some(open + 1)
    }

    /// The declaration at the beginning of a range; returns its end.
    fn item(&mut self, range: Range<usize>, marks: &BTreeSet<&str>, classes: usize) -> usize {
        let (mut depth, mut body) = (0_usize, None);
        let mut kind = ItemKind::Other;
        let mut end = range.end;
        let mut at = range.start;
        while at < range.end {
            let Some(Kind::Mark(mark)) = self.kind(at) else {
                at += 1;
                continue;
            };
            match mark {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                b';' if depth == 0 => {
                    end = at + 1;
                    break;
                }
                // The end of the scope around it.
                b'}' if depth == 0 => {
                    end = at;
                    break;
                }
                b'{' if depth == 0 => {
                    let close = self.closing(at, range.end);
                    if body.is_none() {
                        kind = self.kind_of(range.start..at);
                        body = Some(at + 1..close);
                    } else if kind == ItemKind::Function {
                        body = Some(at + 1..close);
                    }
                    at = close;
                    if kind == ItemKind::Function && !self.initialises(close) {
                        end = close + 1;
                        break;
                    }
                }
                b'{' => at = self.closing(at, range.end),
                _ => {}
            }
            at += 1;
        }
        let end = end.min(range.end);
        let head = range.start..body.as_ref().map_or(end, |body| body.start - 1);
        let is_marked = |at: usize| marks.contains(self.word(at));
        let is_device = head.clone().any(is_marked);
        let has_device = is_device || (range.start..end).any(is_marked);
        let (tokens, is_member) = (range.start..end, classes > 0);
        self.items.push(Item { kind, tokens, head, is_device, has_device, is_member });
        if let (ItemKind::Class, Some(body), true) = (kind, body, classes < DEEPEST) {
            self.scope(body, marks, classes + 1);
        }
        end
    }

    /// The brace that closes the one at `open`, or the end.
    fn closing(&self, open: usize, end: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..end {
            match self.kind(at) {
                Some(Kind::Mark(b'{')) => depth += 1,
                Some(Kind::Mark(b'}')) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        end
    }

    /// True if the brace at `close` ends a value of a constructor, `x{a}`, and no body.
    fn initialises(&self, close: usize) -> bool {
        let mut next = close + 1;
        while self.is_mark(next, b'.') {
            next += 1;
        }
        self.is_mark(next, b',') || self.is_mark(next, b'{')
    }

    /// The kind of a declaration whose body follows the head.
    fn kind_of(&self, head: Range<usize>) -> ItemKind {
        let shape = self.shape(head);
        match (shape.is_class, shape.parameters, shape.has_value) {
            (_, _, true) => ItemKind::Other,
            (_, Some(_), _) => ItemKind::Function,
            (true, None, _) => ItemKind::Class,
            (false, None, _) => ItemKind::Other,
        }
    }

    /// What stands outside of the brackets of a head.
    pub(super) fn shape(&self, head: Range<usize>) -> Shape {
        let mut shape = Shape { is_class: false, parameters: None, has_value: false };
        let (mut round, mut angle) = (0_usize, 0_usize);
        // Where the parentheses of an attribute end, and what parameters there are if angles are
        // comparisons.
        let (mut is_attribute, mut attribute_end, mut loose) = (false, None, None);
        let mut has_bases = false;
        for at in head.clone() {
            let before = |back: usize| {
                let place = at.checked_sub(back).filter(|place| *place >= head.start);
                place.map_or("", |place| self.word(place))
            };
            let is_outside = round == 0 && angle == 0;
            match self.kind(at) {
                Some(Kind::Mark(b'(')) => {
                    if round == 0 {
                        // `struct ALIGN(16) P` has an attribute, too.
                        let follows_attribute =
                            attribute_end.is_some() && attribute_end == at.checked_sub(2);
                        is_attribute = ATTRIBUTES.contains(&before(1))
                            || is_class_word(before(2))
                            || shape.is_class && follows_attribute;
                        if !is_attribute && !has_bases {
                            loose = loose.or(Some(at));
                            if angle == 0 && !shape.has_value {
                                shape.parameters = shape.parameters.or(Some(at));
                            }
                        }
                    }
                    round += 1;
                }
                Some(Kind::Mark(b'[')) => round += 1,
                Some(Kind::Mark(b']')) => round = round.saturating_sub(1),
                Some(Kind::Mark(b')')) => {
                    round = round.saturating_sub(1);
                    if round == 0 && is_attribute {
                        attribute_end = Some(at);
                    }
                }
                Some(Kind::Mark(b'<')) if round == 0 && self.opens_angle(at, head.start) => {
                    angle += 1;
                }
                Some(Kind::Mark(b'>')) if round == 0 && before(1) != "-" => {
                    angle = angle.saturating_sub(1);
                }
                Some(Kind::Mark(b'=')) if is_outside => {
                    // `operator==(` is a name.
                    shape.has_value |= !(1..=3).any(|back| before(back) == "operator");
                }
                Some(Kind::Mark(b':')) if is_outside && shape.parameters.is_none() => {
                    let is_path = before(1) == ":" || self.is_mark(at + 1, b':');
                    has_bases |= shape.is_class && !is_path;
                }
                Some(Kind::Word) if is_outside => shape.is_class |= is_class_word(self.word(at)),
                _ => {}
            }
        }
        if angle > 0 {
            shape.parameters = shape.parameters.or(loose);
        }
        shape
    }

    /// True for a `<` that is no part of `operator<`, `<<` or `<=`.
    fn opens_angle(&self, at: usize, start: usize) -> bool {
        let is_near = |first: usize, second: usize| {
            let ends = self.tokens.get(first).map(|token| token.range.end);
            ends.is_some() && ends == self.tokens.get(second).map(|token| token.range.start)
        };
        let before = at.checked_sub(1).filter(|before| *before >= start);
        let is_name = before.is_some_and(|before| self.word(before) == "operator");
        let is_second =
            before.is_some_and(|before| self.is_mark(before, b'<') && is_near(before, at));
        let is_first =
            (self.is_mark(at + 1, b'<') || self.is_mark(at + 1, b'=')) && is_near(at, at + 1);
        !is_name && !is_second && !is_first
    }

    /// The bytes of an item.
    pub(super) fn bytes(&self, item: &Item) -> Range<usize> {
        let start = self.tokens.get(item.tokens.start).map_or(0, |token| token.range.start);
        let last = item.tokens.end.checked_sub(1).and_then(|at| self.tokens.get(at));
        start..last.map_or(start, |token| token.range.end).max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(ItemKind, bool, &str)> {
        let parsed = Parsed::new(text);
        let row = |item: &Item| (item.kind, item.is_device, &text[parsed.bytes(item)]);
        parsed.items.iter().map(row).collect()
    }

    #[test]
    fn declarations_are_told_apart() {
        use ItemKind::{Class, Function, Other};
        let text = "#define DEV __device__ inline\n#define BOTH DEV\nnamespace a { extern \"C\" {\n\
                    struct __align__(8) P { float x; BOTH float f() { return x; } };\n\
                    template <class T, int N = (1 > 0)> __global__ void k(T *x) { if (x) { } }\n\
                    } }\nint table[] = { 1, 2 };\nbool operator==(P a, P b) { return true; }\n\
                    struct P make(int n) { return P{}; }\nvoid later(int);\nint main() {}";
        assert_eq!(
            kinds(text),
            [
                (Class, false, "struct __align__(8) P { float x; BOTH float f() { return x; } };"),
                (Other, false, "float x;"),
                (Function, true, "BOTH float f() { return x; }"),
                (
                    Function,
                    true,
                    "template <class T, int N = (1 > 0)> __global__ void k(T *x) { if (x) { } }"
                ),
                (Other, false, "int table[] = { 1, 2 };"),
                (Function, false, "bool operator==(P a, P b) { return true; }"),
                (Function, false, "struct P make(int n) { return P{}; }"),
                (Other, false, "void later(int);"),
                (Function, false, "int main() {}"),
            ]
        );
    }

    #[test]
    fn unbalanced_texts_have_an_end() {
        for text in [
            "}",
            "{",
            "(",
            ")",
            "() {}",
            "<() {}",
            "void f() {",
            "struct S { void g() {",
            "struct S { S() : x{",
            "} } ; int x",
            "=",
            "public:",
            "private",
        ] {
            let _ = kinds(text);
        }
    }

    #[test]
    fn parentheses_in_the_head_of_a_class_are_no_parameters() {
        for text in [
            "struct __builtin_align__(16) V {",
            "struct ALIGN(16) P {",
            "struct ALIGN(16) PACKED(1) P {",
            "struct [[deprecated(\"old\")]] P {",
            "template <typename T, int N = (1 << 4)> struct Tile {",
            "template <typename T, int N = 1 << 4> struct Tile {",
            "struct A : B<(N > 1)> {",
            "struct A : public BASE(1) {",
            "enum class ALIGN(4) E : int {",
        ] {
            let whole = format!("{text} A }};");
            assert_eq!(kinds(&whole)[0], (ItemKind::Class, false, &*whole), "{text}");
        }
        for text in [
            "bool operator<(P a, P b) {}",
            "P operator<<(P a, int by) {}",
            "P &operator<<=(P &a, int by) {}",
            "bool operator<=(P a, P b) {}",
            "auto operator()(int x) -> V<int> {}",
            "template <int N = 1 << 4> int f() {}",
            "template <bool B = 1 < 2> int f() {}",
            "struct P *make(int n) {}",
            "V<int> f(int x) __attribute__((noinline)) {}",
        ] {
            assert_eq!(kinds(text), [(ItemKind::Function, false, text)]);
        }
    }

    #[test]
    fn values_in_braces_do_not_end_a_constructor() {
        use ItemKind::{Class, Function, Other};
        let text = "struct P { P(float a) : x{a}, y{a} {} float x; };";
        assert_eq!(
            kinds(text),
            [
                (Class, false, text),
                (Function, false, "P(float a) : x{a}, y{a} {}"),
                (Other, false, "float x;")
            ]
        );
    }

    #[test]
    fn labels_are_no_part_of_members() {
        let text = "class P { public: P() {} private: float x; };";
        let members: Vec<&str> = kinds(text).into_iter().skip(1).map(|row| row.2).collect();
        assert_eq!(members, ["P() {}", "float x;"]);
    }

    #[test]
    fn macros_of_other_texts_stand_for_marks() {
        let texts = [
            "HD Acc() : s(0) {}\n#define KERNEL EXPORT __launch_bounds__(64)",
            "#define EXPORT extern \"C\" __global__\n#define N 4 // of __global__ f\n",
            "#define HD __host__ __device__\n#define LATE \\\n  HD inline",
        ];
        let marks = mark_macros(&texts);
        for name in ["HD", "EXPORT", "KERNEL", "LATE", "__device__"] {
            assert!(marks.contains(name), "{name}");
        }
        assert!(!marks.contains("N"), "comments are no marks");
        let parsed = Parsed::with_marks(texts[0], &marks);
        assert!(parsed.items[0].is_device);
        assert!(!Parsed::new(texts[0]).items[0].is_device);
    }
}
