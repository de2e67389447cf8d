//! The declarations of CUDA source, and which of them are for the GPU.

use std::collections::BTreeSet;
use std::ops::Range;

use super::tokens::{Kind, Token, tokens};

/// The words that make something the GPU's.
const MARKS: [&str; 5] = ["__global__", "__device__", "__constant__", "__shared__", "__managed__"];
/// Words that end in parentheses and are no function.
const ATTRIBUTES: [&str; 6] =
    ["__align__", "alignas", "__attribute__", "__declspec", "__launch_bounds__", "decltype"];

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
    pub(super) fn new(text: &'a str) -> Self {
        let tokens = tokens(text);
        let mut parsed = Self { text, tokens, items: Vec::new() };
        let marks = parsed.marks();
        parsed.scope(0..parsed.tokens.len(), &marks, 0);
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

    /// The marks, and the macros that stand for some.
    fn marks(&self) -> BTreeSet<&'a str> {
        let mut marks: BTreeSet<&str> = MARKS.into_iter().collect();
        for token in self.tokens.iter().filter(|token| token.kind == Kind::Directive) {
            let line = &self.text[token.range.clone()];
            let Some(rest) = line[1..].trim_start().strip_prefix("define") else { continue };
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let mut words = rest.split(|letter| !is_word(letter)).filter(|word| !word.is_empty());
            let Some(name) = words.next() else { continue };
            if words.any(|word| marks.contains(word)) {
                marks.insert(name);
            }
        }
        marks
    }

    /// Collects the declarations of a scope: a file, or a class that `depth` classes hold.
    fn scope(&mut self, range: Range<usize>, marks: &BTreeSet<&'a str>, depth: usize) {
        let mut at = range.start;
        while at < range.end {
            let next = match self.kind(at) {
                Some(Kind::Directive) => at + 1,
                // The end of a namespace, and what a macro has left behind.
                Some(Kind::Mark(b'}' | b';')) => at + 1,
                _ => match self.namespace(at, range.end) {
                    Some(inside) => inside,
                    None => self.item(at..range.end, marks, depth),
                },
            };
            at = next.max(at + 1);
        }
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
    fn item(&mut self, range: Range<usize>, marks: &BTreeSet<&'a str>, classes: usize) -> usize {
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
                    }
                    at = close;
                    if kind == ItemKind::Function {
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

    /// The kind of a declaration whose body follows the head.
    fn kind_of(&self, head: Range<usize>) -> ItemKind {
        let (mut round, mut angle) = (0_usize, 0_usize);
        let (mut is_class, mut has_parameters, mut has_value) = (false, false, false);
        for at in head {
            match self.kind(at) {
                Some(Kind::Mark(b'(')) => {
                    has_parameters |= round == 0 && !ATTRIBUTES.contains(&self.word(at - 1));
                    round += 1;
                }
                Some(Kind::Mark(b')')) => round = round.saturating_sub(1),
                Some(Kind::Mark(b'<')) if round == 0 => angle += 1,
                Some(Kind::Mark(b'>')) if round == 0 => angle = angle.saturating_sub(1),
                Some(Kind::Mark(b'=')) if round == 0 && angle == 0 => {
                    // `operator==(` is a name.
                    let is_operator = (at.saturating_sub(2)..at)
                        .any(|before| self.word(before).starts_with("operator"));
                    has_value |= !is_operator;
                }
                Some(Kind::Word) if round == 0 && angle == 0 => {
                    is_class |= matches!(self.word(at), "struct" | "class" | "union" | "enum");
                }
                _ => {}
            }
        }
        match (is_class, has_parameters, has_value) {
            (_, _, true) => ItemKind::Other,
            (_, true, _) => ItemKind::Function,
            (true, false, _) => ItemKind::Class,
            (false, false, _) => ItemKind::Other,
        }
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
        for text in ["}", "{", "(", ")", "void f() {", "struct S { void g() {", "} } ; int x", "="]
        {
            let _ = kinds(text);
        }
    }
}
