//! Joins the PTX of several translation units to one text, as the driver's linker does.
//!
//! ```text
//! a: .extern .func f; .entry k       ┐
//! b: .visible .func f; .global tmp   ├──►  .visible .func f; .global tmp$1; .entry k
//! ```
//!
//! A text is a list of items: a declaration, a definition, or a directive. Declarations of what
//! another unit defines are left out. Names that a unit keeps to itself get another one where two
//! units have them. Numbers of files are counted on, so that lines stay those of their sources.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Reason why units do not become one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Two units define a name for all.
    #[error("two translation units define `{0}`")]
    DefinedTwice(String),
    /// There is no PTX.
    #[error("no translation unit has PTX")]
    Nothing,
}

/// Numbers of files of a unit begin at this many times its number.
const FILES_OF_UNIT: u64 = 1 << 16;

/// How far a name is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// In its own unit.
    Internal,
    /// Everywhere; defined once.
    Visible,
    /// Everywhere; the first of several definitions counts.
    Weak,
    /// Everywhere; defined elsewhere.
    Extern,
}

/// What an item is, in the order in which items are written: a name is declared before it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    File,
    /// A function without a body.
    Prototype,
    Variable,
    /// A function or kernel with its body, and directives that speak of some.
    Code,
}

/// A part of a text between two others of module scope.
struct Item<'t> {
    tokens: Vec<Token<'t>>,
    scope: Scope,
    kind: Kind,
    /// The name that it declares or defines.
    name: Option<&'t str>,
    /// True for kernels with a body.
    is_kernel: bool,
}

/// A word, a number, a string, a mark, or what stands between them.
type Token<'t> = &'t str;

/// One translation unit.
struct Unit<'t> {
    version: (u64, u64),
    target: &'t str,
    items: Vec<Item<'t>>,
}

/// The function of the device runtime that the driver defines itself: PTX declares it, and NVIDIA's
/// library of that runtime does not have it.
const BY_DRIVER: &str = "cudaGraphSetConditional";

/// Its definition. The handle of a condition is the address of its number.
const DRIVER: &str = ".version 3.1
.target sm_20
.address_size 64
.visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)
{
    .reg .b64 %handle;
    .reg .b32 %value;
    ld.param.b64 %handle, [handle];
    ld.param.b32 %value, [value];
    st.global.b32 [%handle], %value;
    ret;
}
";

/// Joins a text with what the driver defines of it. `None` if it needs nothing.
///
/// # Errors
///
/// As [`link`].
pub(crate) fn completed(text: &str) -> Result<Option<String>, LinkError> {
    match text.contains(BY_DRIVER) {
        true => link(&[text.to_owned()]).map(Some),
        false => Ok(None),
    }
}

/// Joins units to one text. A unit without kernels, of which no other one needs anything, is left
/// out: that of the device runtime, as a rule.
///
/// # Errors
///
/// [`LinkError`] if there is no unit, or a name is defined twice.
pub fn link(texts: &[String]) -> Result<String, LinkError> {
    let mut units: Vec<Unit<'_>> = texts.iter().map(|text| Unit::of(text)).collect();
    let names = |item: &Item<'_>| item.name == Some(BY_DRIVER);
    let mut named = units.iter().flat_map(|unit| &unit.items).filter(|item| names(item)).peekable();
    if named.peek().is_some() && named.all(|item| item.scope == Scope::Extern) {
        units.push(Unit::of(DRIVER));
    }
    let units = needed(units);
    let defined = definitions(&units)?;
    let version = units.iter().map(|unit| unit.version).max().ok_or(LinkError::Nothing)?;
    let has_suffix = |unit: &Unit<'_>| {
        let name = unit.target.split(',').next().unwrap_or_default().trim();
        name.ends_with(|letter: char| letter.is_ascii_alphabetic())
    };
    let newest = units.iter().max_by_key(|unit| (sm(unit.target), has_suffix(unit)));
    let newest = newest.ok_or(LinkError::Nothing)?;
    let mut text = String::new();
    // Writing to a string never fails.
    let _ = writeln!(text, ".version {}.{}", version.0, version.1);
    let _ = writeln!(text, ".target {}\n.address_size 64", newest.target);
    let renamed: Vec<_> =
        (0..).zip(&units).map(|(number, unit)| renamed(unit, number, &units)).collect();
    let mut written: HashSet<(Kind, &str)> = HashSet::new();
    for kind in [Kind::File, Kind::Prototype, Kind::Variable, Kind::Code] {
        let mut items = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            for item in unit.items.iter().filter(|item| item.kind == kind) {
                let scope = item.name.and_then(|name| defined.get(name).copied());
                let is_once = item.scope != Scope::Internal && kind != Kind::File;
                let is_there = match (item.scope, item.name) {
                    // A strong definition of another unit takes the place of a weak one.
                    (Scope::Weak, Some(_))
                        if kind != Kind::Prototype && scope == Some(Scope::Visible) =>
                    {
                        true
                    }
                    (Scope::Extern, Some(_)) if kind == Kind::Variable && scope.is_some() => true,
                    (_, Some(name)) => is_once && !written.insert((kind, name)),
                    (_, None) => false,
                };
                if !is_there {
                    items.push(Placed { unit: number, item, scope });
                }
            }
        }
        if kind == Kind::Variable {
            items = behind_what_they_name(items);
        }
        for Placed { unit, item, scope } in items {
            write_item(&mut text, item, unit, scope, &renamed[unit]);
        }
    }
    Ok(text)
}

/// An item of the joined text.
#[derive(Clone, Copy)]
struct Placed<'u, 't> {
    /// The number of its unit.
    unit: usize,
    item: &'u Item<'t>,
    /// How far its name is known, if it is defined for all units.
    scope: Option<Scope>,
}

/// Variables in another order: each behind those whose addresses its initial value holds, and
/// otherwise as they were. Those that name one another stay as they were, too.
fn behind_what_they_name<'u, 't>(items: Vec<Placed<'u, 't>>) -> Vec<Placed<'u, 't>> {
    // What a unit keeps to itself is known by its number, too.
    let mut places: HashMap<(Option<usize>, &str), usize> = HashMap::new();
    for (at, placed) in items.iter().enumerate() {
        let Some(name) = placed.item.name else { continue };
        let unit = (placed.item.scope == Scope::Internal).then_some(placed.unit);
        places.entry((unit, name)).or_insert(at);
    }
    let named = |at: usize| -> Vec<usize> {
        let Placed { unit, item, .. } = items[at];
        let value = item.tokens.iter().skip_while(|token| **token != "=");
        let place = |name: &&'t str| {
            places.get(&(Some(unit), *name)).or_else(|| places.get(&(None, *name))).copied()
        };
        value.filter(|token| is_name(token)).filter_map(place).collect()
    };
    let mut order = Vec::new();
    let mut is_seen = vec![false; items.len()];
    for first in 0..items.len() {
        // Items whose names are being looked up, and the names that are left of each.
        let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
        if !std::mem::replace(&mut is_seen[first], true) {
            open.push((first, named(first)));
        }
        while let Some((at, left)) = open.last_mut() {
            match left.pop() {
                Some(next) if !std::mem::replace(&mut is_seen[next], true) => {
                    open.push((next, named(next)));
                }
                Some(_) => {}
                None => {
                    order.push(items[*at]);
                    open.pop();
                }
            }
        }
    }
    order
}

/// The units with kernels or with variables that the host may name, and those that they need, in
/// order.
fn needed(units: Vec<Unit<'_>>) -> Vec<Unit<'_>> {
    let has_kernel = |unit: &Unit<'_>| {
        let is_variable = |item: &Item<'_>| item.kind == Kind::Variable && item.defines_for_all();
        unit.items.iter().any(|item| item.is_kernel || is_variable(item))
    };
    let mut taken: Vec<bool> = units.iter().map(has_kernel).collect();
    loop {
        let wanted: HashSet<&str> = units
            .iter()
            .zip(&taken)
            .filter(|(_, taken)| **taken)
            .flat_map(|(unit, _)| &unit.items)
            .filter(|item| item.scope == Scope::Extern)
            .filter_map(|item| item.name)
            .collect();
        let defines = |unit: &Unit<'_>| {
            let mut names = unit.items.iter().filter(|item| item.defines_for_all());
            names.any(|item| item.name.is_some_and(|name| wanted.contains(name)))
        };
        let more = units.iter().zip(&taken).position(|(unit, taken)| !taken && defines(unit));
        match more {
            Some(at) => taken[at] = true,
            None => break,
        }
    }
    // A library of functions and variables alone is taken as it is.
    let all = !taken.contains(&true);
    units.into_iter().zip(taken).filter(|(_, taken)| all || *taken).map(|(unit, _)| unit).collect()
}

/// The names that are defined for all units, and how far they are known.
fn definitions<'t>(units: &[Unit<'t>]) -> Result<HashMap<&'t str, Scope>, LinkError> {
    let mut defined = HashMap::new();
    for item in units.iter().flat_map(|unit| &unit.items).filter(|item| item.defines_for_all()) {
        let Some(name) = item.name else { continue };
        match defined.get(name) {
            Some(Scope::Visible) if item.scope == Scope::Visible => {
                return Err(LinkError::DefinedTwice(name.to_owned()));
            }
            Some(Scope::Visible) => {}
            _ => drop(defined.insert(name, item.scope)),
        }
    }
    Ok(defined)
}

/// New names for what a unit keeps to itself and another unit has, too.
fn renamed<'t>(unit: &Unit<'t>, number: usize, units: &[Unit<'t>]) -> HashMap<&'t str, String> {
    let others = || units.iter().enumerate().filter(move |(other, _)| *other != number);
    let taken: HashSet<&str> =
        others().flat_map(|(_, other)| &other.items).filter_map(|item| item.name).collect();
    let own = unit.items.iter().filter(|item| item.scope == Scope::Internal);
    let clash = own.filter_map(|item| item.name).filter(|name| taken.contains(name));
    clash.map(|name| (name, format!("{name}$unit{number}"))).collect()
}

/// Writes an item of a unit. A declaration of what is `defined` by another unit becomes one of the
/// joined text's own.
fn write_item(
    text: &mut String,
    item: &Item<'_>,
    unit: usize,
    defined: Option<Scope>,
    renamed: &HashMap<&str, String>,
) {
    let mut is_file = false;
    for &token in &item.tokens {
        match token {
            ".file" | ".loc" | "inlined_at" => is_file = true,
            ".extern" if defined.is_some() => {
                text.push_str(if defined == Some(Scope::Weak) { ".weak" } else { ".visible" });
                continue;
            }
            _ if is_file && token.starts_with(|first: char| first.is_ascii_digit()) => {
                is_file = false;
                let file: u64 = token.parse().unwrap_or(0);
                let _ = write!(text, "{}", file + FILES_OF_UNIT * unit as u64);
                continue;
            }
            _ => {}
        }
        text.push_str(renamed.get(token).map_or(token, String::as_str));
    }
    text.push('\n');
}

/// The number of a target.
fn sm(target: &str) -> u64 {
    let digits = target.trim_start_matches(|one: char| !one.is_ascii_digit());
    digits
        .chars()
        .map_while(|letter| letter.to_digit(10))
        .fold(0, |sum, one| 10 * sum + u64::from(one))
}

impl Item<'_> {
    /// True if other units may use what it defines.
    fn defines_for_all(&self) -> bool {
        matches!(self.scope, Scope::Visible | Scope::Weak) && self.kind != Kind::Prototype
    }
}

impl<'t> Unit<'t> {
    fn of(text: &'t str) -> Self {
        let mut unit = Self { version: (0, 0), target: "", items: Vec::new() };
        let all = tokens(text);
        let mut at = 0;
        while at < all.len() {
            let rest = &all[at..];
            let line = rest.iter().position(|token| token.contains('\n')).unwrap_or(rest.len());
            let words =
                || rest[1..line.max(1)].iter().copied().filter(|line| !line.trim().is_empty());
            match rest[0] {
                ".version" => {
                    let mut numbers = words().flat_map(|word| word.split('.'));
                    let mut number =
                        || numbers.find_map(|word| word.parse().ok()).unwrap_or_default();
                    unit.version = (number(), number());
                    at += line;
                }
                ".target" => {
                    let end = text.len() - remaining(text, rest.get(line));
                    let start = text.len() - remaining(text, rest.get(1));
                    unit.target = text.get(start..end).unwrap_or_default().trim();
                    at += line;
                }
                ".address_size" => at += line,
                ".file" => {
                    unit.items.push(Item::of(rest[..line].to_vec()));
                    at += line;
                }
                space if space.trim().is_empty() => at += 1,
                _ => {
                    let end = end_of_item(rest);
                    let item = Item::of(rest[..end].to_vec());
                    // Sections hold debuggers' tables.
                    if rest[0] != ".section" {
                        unit.items.push(item);
                    }
                    at += end;
                }
            }
        }
        unit
    }
}

/// Bytes from a token of a text to the end.
fn remaining(text: &str, token: Option<&Token<'_>>) -> usize {
    let end = text.as_ptr() as usize + text.len();
    token.map_or(0, |token| end - token.as_ptr() as usize)
}

/// The number of tokens of the item that begins with them: up to a semicolon, or a body's end.
fn end_of_item(tokens: &[Token<'_>]) -> usize {
    let is_body = tokens.iter().take_while(|token| **token != ";" && **token != "=");
    let has_body = is_body.clone().any(|token| *token == "{");
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" | "(" => depth += 1,
            "}" | ")" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && *token == "}" && has_body {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

impl<'t> Item<'t> {
    fn of(tokens: Vec<Token<'t>>) -> Self {
        let mut depth = 0_usize;
        let mut name = None;
        let mut scope = Scope::Internal;
        let mut directive = "";
        let mut has_body = false;
        for &token in &tokens {
            match token {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                "{" => {
                    has_body = true;
                    break;
                }
                "=" | "[" if depth == 0 => break,
                _ if depth > 0 => {}
                ".visible" => scope = Scope::Visible,
                ".weak" | ".common" => scope = Scope::Weak,
                ".extern" => scope = Scope::Extern,
                ".entry" | ".func" => directive = token,
                ".file" | ".alias" | ".pragma" => {
                    directive = token;
                    break;
                }
                _ if name.is_none() && is_name(token) => name = Some(token),
                _ => {}
            }
        }
        let kind = match directive {
            ".file" => Kind::File,
            ".entry" | ".func" if !has_body => Kind::Prototype,
            "" => Kind::Variable,
            _ => Kind::Code,
        };
        Self { tokens, scope, kind, name, is_kernel: directive == ".entry" && has_body }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '_' | '$' | '%'))
}

/// Cuts a text into words, marks and what stands between; comments count as space.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_word = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '$' | '%' | '.');
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else if is_word(first) {
            // A word may begin with a point, but has none inside, unless it is a number.
            let is_number = first.is_ascii_digit();
            let ends =
                |(at, one): (usize, char)| at > 0 && (!is_word(one) || one == '.' && !is_number);
            rest.char_indices().find(|&place| ends(place)).map_or(rest.len(), |(at, _)| at)
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        match token.starts_with("//") || token.starts_with("/*") {
            true => tokens.push(" "),
            false => tokens.push(token),
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

    fn linked(units: &[&str]) -> Result<String, LinkError> {
        let texts: Vec<String> = units.iter().map(|unit| format!("{HEAD}{unit}")).collect();
        let text = link(&texts)?;
        let module = gpucast_ptx_frontend::load(&text);
        assert!(module.is_ok(), "{text}\n{module:?}");
        Ok(text)
    }

    #[test]
    fn declarations_find_the_definitions_of_other_units() {
        let text = linked(&[
            ".extern .func (.param .b32 r) twice(.param .b32 x);\n.extern .global .u32 offset;\n\
             .visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [offset]; ret; }",
            ".visible .global .align 4 .u32 offset = 5;\n\
             .visible .func (.param .b32 r) twice(.param .b32 x) { ret; }",
        ]);
        let text = text.unwrap();
        assert!(!text.contains(".extern"), "{text}");
        assert!(text.find("offset = 5") < text.find("[offset]"), "{text}");
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        assert_eq!(module.variables.iter().filter(|variable| variable.name == "offset").count(), 1);
    }

    /// A variable that holds the address of another one comes behind it, whatever the order of the
    /// units.
    #[test]
    fn initial_values_name_variables_of_later_units() {
        let text = linked(&[
            ".extern .global .u32 last;\n.visible .global .u64 first = last;\n\
             .visible .entry k() { ret; }",
            ".global .u64 own = generic(first);\n.visible .global .u64 middle[2] = {last, own};\n\
             .extern .global .u32 last;\n.visible .entry l() { ret; }",
            ".global .u32 own = 1;\n.visible .global .u32 last = 7;\n.visible .entry m() { ret; }",
        ]);
        let text = text.unwrap();
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let names: Vec<&str> =
            module.variables.iter().map(|variable| variable.name.as_str()).collect();
        let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
        assert!(at("last") < at("first") && at("first") < at("own$unit1"), "{text}");
        assert!(at("own$unit1") < at("middle"), "{text}");
        // Variables in a circle need no order, and end.
        let circle = ".extern .global .u64 OTHER;\n.visible .global .u64 OWN = OTHER;\n\
                      .visible .entry OWNk() { ret; }";
        let unit = |own: &str, other: &str| {
            format!("{HEAD}{}", circle.replace("OWN", own).replace("OTHER", other))
        };
        assert!(link(&[unit("a", "b"), unit("b", "a")]).is_ok());
    }

    /// Parameters that are structures are arrays of bytes, whose brackets end no declaration.
    #[test]
    fn functions_with_structures_keep_their_bodies() {
        let text = linked(&[
            ".extern .func f(.param .align 4 .b8 p[12]);\n\
             .visible .entry k(.param .align 8 .b8 s[24]) { ret; }",
            ".visible .func f(.param .align 4 .b8 p[12]) { ret; }",
        ]);
        let text = text.unwrap();
        assert!(!text.contains(".extern"), "{text}");
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        assert!(module.functions.iter().all(|function| function.body.is_some()), "{text}");
    }

    #[test]
    fn strong_definitions_take_the_place_of_weak_ones() {
        let text = linked(&[
            ".weak .func f() { bar.sync 1; ret; }\n.visible .entry k() { ret; }",
            ".visible .func f() { bar.sync 2; ret; }\n.visible .entry l() { ret; }",
        ]);
        let text = text.unwrap();
        assert!(text.contains("bar.sync 2") && !text.contains("bar.sync 1"), "{text}");
    }

    #[test]
    fn names_that_units_keep_to_themselves_stay_apart() {
        let unit = |kernel: &str, value: u32| {
            format!(
                ".global .u32 own = {value};\n.weak .func shared_by_all() {{ ret; }}\n\
                 .visible .entry {kernel}() {{ .reg .b32 %r; ld.global.u32 %r, [own]; ret; }}"
            )
        };
        let text = linked(&[&unit("first", 1), &unit("second", 2)]).unwrap();
        assert!(text.contains("own$unit0") && text.contains("[own$unit1]"), "{text}");
        assert_eq!(text.matches(".weak .func").count(), 1, "{text}");
    }

    #[test]
    fn a_unit_that_nobody_needs_is_left_out_and_doubles_are_refused() {
        let kernel = ".visible .entry k() { ret; }";
        let text = linked(&[kernel, ".visible .func runtime() { ret; }"]).unwrap();
        assert!(!text.contains("runtime"));
        let twice = linked(&[kernel, kernel]);
        assert_eq!(twice, Err(LinkError::DefinedTwice("k".to_owned())));
        assert_eq!(link(&[]), Err(LinkError::Nothing));
    }

    #[test]
    fn comments_versions_and_lines_are_kept_apart() {
        let first = ".file 1 \"a.cu\"\n.visible .entry a() { // ; }\n.loc 1 3 0\nret; }";
        let second = ".file 1 \"b;{.cu\"\n.visible .entry b() { /* } */ .loc 1 4 0\nret; }";
        let texts = [
            format!(".version 8.1\n.target sm_80\n.address_size 64\n{second}"),
            format!("{HEAD}{first}"),
        ];
        let text = link(&texts).unwrap();
        assert!(text.starts_with(".version 8.1\n.target sm_80\n"), "{text}");
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let files: Vec<_> = module.files.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(files, ["b;{.cu", "a.cu"]);
        let line = |at: usize| {
            let body = module.functions[at].body.as_ref().unwrap();
            let location = body.instructions[0].location.unwrap();
            (module.file_name(location.file).map(str::to_owned), location.line)
        };
        assert_eq!(line(0), (Some("b;{.cu".to_owned()), 4));
        assert_eq!(line(1), (Some("a.cu".to_owned()), 3));
    }
}
