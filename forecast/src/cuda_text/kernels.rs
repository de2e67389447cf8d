//! The kernels that CUDA source declares, and the instances of templates that it launches.

use std::ops::Range;

use super::items::{Item, Parsed};

/// A kernel as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its name, without namespaces.
    pub name: String,
    /// The parameters in order.
    pub parameters: Vec<DeclaredParameter>,
    /// The parameters of the template, as they are written; `None` if it is no template.
    pub template: Option<Vec<String>>,
}

/// A parameter as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredParameter {
    /// The type, with `[]` of arrays.
    pub ty: String,
    /// The name; empty if it has none.
    pub name: String,
}

/// The kernels of a text, in its order.
pub fn declared(text: &str) -> Vec<Declared> {
    let parsed = Parsed::new(text);
    parsed.items.iter().filter_map(|item| kernel(&parsed, item)).collect()
}

fn kernel(parsed: &Parsed<'_>, item: &Item) -> Option<Declared> {
    let mut head = item.head.clone();
    head.find(|&at| parsed.word(at) == "__global__")?;
    // Attributes have parentheses, too; the kernel's are the last ones of the head.
    let close = item.head.clone().rev().find(|&at| parsed.is_mark(at, b')'))?;
    let open = opening(parsed, item.head.start, close)?;
    let name = open.checked_sub(1).map(|at| parsed.word(at))?;
    if !name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') {
        return None;
    }
    let parameters = parts(parsed, open + 1..close)
        .into_iter()
        .filter_map(|part| parameter(parsed, part))
        .collect();
    let template = (parsed.word(item.head.start) == "template").then(|| {
        let open = item.head.start + 1;
        let close = closing_angle(parsed, open, item.head.end);
        let parts = parts(parsed, open + 1..close).into_iter();
        parts.map(|part| joined(parsed, part)).filter(|text| !text.is_empty()).collect()
    });
    Some(Declared { name: name.to_owned(), parameters, template })
}

/// The parenthesis that the one at `close` closes.
fn opening(parsed: &Parsed<'_>, start: usize, close: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (start..=close).rev().find(|&at| {
        if parsed.is_mark(at, b')') {
            depth += 1;
        } else if parsed.is_mark(at, b'(') {
            depth -= 1;
        }
        depth == 0
    })
}

/// The bracket that closes the one at `open`, or `end`.
fn closing_angle(parsed: &Parsed<'_>, open: usize, end: usize) -> usize {
    let (mut angle, mut round) = (0_usize, 0_usize);
    for at in open..end {
        match parsed.word(at) {
            "(" => round += 1,
            ")" => round = round.saturating_sub(1),
            "<" if round == 0 => angle += 1,
            ">" if round == 0 => {
                angle = angle.saturating_sub(1);
                if angle == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    end
}

/// The ranges between commas outside of brackets.
fn parts(parsed: &Parsed<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let (mut depth, mut start) = (0_usize, range.start);
    let mut found = Vec::new();
    for at in range.clone() {
        match parsed.word(at) {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                found.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < range.end {
        found.push(start..range.end);
    }
    found
}

/// Words with blanks where C++ needs or expects them.
fn joined(parsed: &Parsed<'_>, range: Range<usize>) -> String {
    let is_word =
        |text: &str| text.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let mut text = String::new();
    for at in range {
        let word = parsed.word(at);
        let after_word = text.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let after_star = text.ends_with(['*', '&', '>']);
        if is_word(word) && (after_word || after_star) || after_word && matches!(word, "*" | "&") {
            text.push(' ');
        }
        text += word;
        if word == "," {
            text.push(' ');
        }
    }
    text
}

fn parameter(parsed: &Parsed<'_>, range: Range<usize>) -> Option<DeclaredParameter> {
    const DECORATION: [&str; 6] =
        ["__restrict__", "__restrict", "restrict", "const", "volatile", "__grid_constant__"];
    let value = range.clone().find(|&at| parsed.is_mark(at, b'='));
    let range = range.start..value.unwrap_or(range.end);
    let brackets = range.clone().find(|&at| parsed.is_mark(at, b'[')).unwrap_or(range.end);
    let is_name =
        |word: &str| word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
    let words: Vec<usize> = (range.start..brackets).collect();
    let essential = words.iter().filter(|&&at| !DECORATION.contains(&parsed.word(at)));
    let essential: Vec<usize> = essential.copied().collect();
    let (&last, before) = essential.split_last()?;
    // A type alone has no name: `int`, `float *`, `unsigned long`.
    const TYPES: [&str; 10] =
        ["int", "char", "short", "long", "unsigned", "signed", "float", "double", "bool", "void"];
    let is_named = !before.is_empty()
        && is_name(parsed.word(last))
        && !TYPES.contains(&parsed.word(last))
        && before.last().is_none_or(|&at| parsed.word(at) != ":");
    let name = if is_named { parsed.word(last).to_owned() } else { String::new() };
    let ty_end = if is_named { last } else { brackets };
    let mut ty = joined(parsed, range.start..ty_end);
    if brackets < range.end {
        ty += "[]";
    }
    if ty == "void" && !is_named {
        return None;
    }
    Some(DeclaredParameter { ty, name })
}

/// The instances of templates that a text launches, as `name<float, 4>`, each once.
pub fn instances(text: &str) -> Vec<String> {
    let parsed = Parsed::new(text);
    let mut found: Vec<String> = Vec::new();
    let mut at = 0;
    while at < parsed.tokens.len() {
        let launch = (at..at + 3).all(|at| parsed.is_mark(at, b'<'));
        if !launch {
            at += 1;
            continue;
        }
        if let Some(close) = at.checked_sub(1).filter(|&close| parsed.is_mark(close, b'>'))
            && let Some(open) = opening_angle(&parsed, close)
            && let Some(name) = open.checked_sub(1)
        {
            let instance = format!("{}<{}>", parsed.word(name), joined(&parsed, open + 1..close));
            if !found.contains(&instance) {
                found.push(instance);
            }
        }
        at += 3;
    }
    found
}

/// The templates that a text instantiates explicitly: `template __global__ void scale<4>(float *);`
/// names `scale`.
pub fn instantiated(text: &str) -> Vec<String> {
    let parsed = Parsed::new(text);
    let words = 0..parsed.tokens.len();
    let name = |template: usize| {
        let ends = |at: usize| [b';', b'{', b'('].into_iter().any(|mark| parsed.is_mark(at, mark));
        let rest = (template + 1..parsed.tokens.len()).take_while(|&at| !ends(at));
        let open = rest.clone().find(|&at| parsed.is_mark(at, b'<'))?;
        // `template <` declares.
        (open > template + 1).then(|| parsed.word(open - 1).to_owned())
    };
    let mut found: Vec<String> =
        words.filter(|&at| parsed.word(at) == "template").filter_map(name).collect();
    found.dedup();
    found
}

fn opening_angle(parsed: &Parsed<'_>, close: usize) -> Option<usize> {
    const LONGEST: usize = 64;
    let mut depth = 0_usize;
    let is_open = |at: &usize| {
        match parsed.word(*at) {
            ">" => depth += 1,
            "<" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    };
    (close.saturating_sub(LONGEST)..=close).rev().find(is_open)
}

/// The sizes of blocks and tiles that constants of a text name, such as `BLOCK_SIZE`, each once.
pub fn block_sizes(text: &str) -> Vec<u32> {
    const PARTS: [&str; 5] = ["block", "tile", "thread", "dim", "size"];
    const MOST: u32 = 1024;
    let mut found = Vec::new();
    let mut add = |name: &str, value: &str| {
        let name = name.to_lowercase();
        let is_size = PARTS.iter().any(|part| name.contains(part));
        let value = value.trim_matches(['(', ')', ';', 'u', 'U']).parse::<u32>().ok();
        if let Some(value) = value.filter(|value| is_size && (2..=MOST).contains(value))
            && !found.contains(&value)
        {
            found.push(value);
        }
    };
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["#define", name, value, ..] => add(name, value),
            [.., name, "=", value] if line.contains("const") => add(name, value),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let row = |kernel: Declared| {
            let parameters: Vec<String> = kernel
                .parameters
                .iter()
                .map(|parameter| format!("{}|{}", parameter.ty, parameter.name))
                .collect();
            format!("{:?} {}({})", kernel.template, kernel.name, parameters.join(", "))
        };
        declared(text).into_iter().map(row).collect()
    }

    #[test]
    fn kernels_have_names_and_types_of_their_parameters() {
        let text = "extern \"C\" __global__ void __launch_bounds__(256)\nsaxpy(int n, const float *__restrict__ x, float y[], struct P p, unsigned)\n{ }\n\
                    template <typename T, int N = 4> __global__ void scale(T *x, T by = T(1));\n\
                    __device__ void no(int); namespace a { __global__ void nothing(void) {} }\n\
                    __global__ void pair(std::pair<int, char> *p, float3 const v) {}";
        assert_eq!(
            shown(text),
            [
                "None saxpy(int|n, const float * __restrict__|x, float[]|y, struct P|p, unsigned|)",
                "Some([\"typename T\", \"int N=4\"]) scale(T *|x, T|by)",
                "None nothing()",
                "None pair(std::pair<int, char>*|p, float3 const|v)",
            ]
        );
    }

    #[test]
    fn templates_are_instantiated_with_their_name() {
        let text = "template <typename T> __global__ void scale(T *x) { x[0] < f<int>(1); }\n\
                    template __global__ void scale<float>(float *);\n\
                    extern template void ns::copy<4, A<int>>(int);\n\
                    template class vec3;";
        assert_eq!(instantiated(text), ["scale", "copy"]);
    }

    #[test]
    fn instances_are_those_that_are_launched() {
        let text = "void f() { scale<float, N><<<1, 2>>>(x); a<b<int>> <<<g, b>>>(); k<<<1, 1>>>(); \
                    scale<float, N><<<3, 4>>>(y); if (a < 1 << 3) {} }";
        assert_eq!(instances(text), ["scale<float, N>", "a<b<int>>"]);
    }

    #[test]
    fn sizes_of_blocks_are_named_by_constants() {
        let text = "#define BLOCK_SIZE 16\n#define N 5000\nconst int tile = 32;\nint x = 64;\n";
        assert_eq!(block_sizes(text), [16, 32]);
    }
}
