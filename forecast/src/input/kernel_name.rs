//! Kernels by the names that people use: mangled, demangled, a part of either, or a pattern.

use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};
use wildmatch::WildMatch;

use crate::failure::{Anchor, Report, suggest};

/// Candidates that are listed of an ambiguous name.
const MOST_LISTED: usize = 12;

/// A back reference may repeat another back reference, so short names can stand for gigabytes.
const LONGEST_DEMANGLED: usize = 16 << 10;

/// The C++ name of a kernel, if its name is the mangled form of one.
pub fn demangled(name: &str) -> Option<String> {
    demangle(name, &DemangleOptions::new())
}

/// The same without the types of parameters and result.
pub fn demangled_short(name: &str) -> Option<String> {
    demangle(name, &DemangleOptions::new().no_params().no_return_type())
}

/// The last name of a C++ name, without template arguments, parameters and tags of its ABI: of
/// `a::f<int>` it is `f`.
pub fn bare(name: &str) -> &str {
    // Brackets of operators do not occur in names of kernels.
    let mut depth = 0_u32;
    let mut start = 0;
    let mut end = None;
    for (at, letter) in name.char_indices() {
        match letter {
            '<' | '(' | '[' => {
                if depth == 0 {
                    end.get_or_insert(at);
                }
                depth += 1;
            }
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                start = at + 1;
                end = None;
            }
            _ => {}
        }
    }
    match &name[start..end.unwrap_or(name.len())] {
        "" => name,
        bare => bare,
    }
}

/// Letters of a name in text for people; the names of templates of templates are longer than pages.
const LONGEST_READABLE: usize = 120;

/// A kernel for a person: its C++ name with the parameters, which tell overloads apart, and with
/// its middle left out where it is long.
pub fn signature(name: &str) -> String {
    let options = DemangleOptions::new().no_return_type();
    shortened(&demangle(name, &options).unwrap_or_else(|| name.to_owned()))
}

/// A kernel's name in a sentence: the C++ name without parameters, and with its middle left out
/// where it is long.
pub fn readable(name: &str) -> String {
    shortened(&demangled_short(name).unwrap_or_else(|| name.to_owned()))
}

/// A sentence about a kernel, which models name as the module does, with its [`readable`] name.
pub fn readable_in(sentence: &str, kernel: &str) -> String {
    sentence.replace(kernel, &readable(kernel))
}

/// A name whose middle is left out where it is long.
pub fn shortened(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= LONGEST_READABLE {
        return name.to_owned();
    }
    // The parts that set instances of a template apart stand more often at the beginning.
    const HEAD: usize = LONGEST_READABLE * 3 / 4;
    let head = name.chars().take(HEAD);
    let tail = name.chars().skip(letters - (LONGEST_READABLE - HEAD - 1));
    head.chain(['…']).chain(tail).collect()
}

fn demangle(name: &str, options: &DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    let mut text = Limited(String::new());
    Symbol::new(name).ok()?.structured_demangle(&mut text, options).ok()?;
    Some(text.0)
}

/// A text that does not grow without end.
struct Limited(String);

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The names of the kernels that a PTX text defines, found without parsing it.
pub fn kernels(ptx: &str) -> Vec<&str> {
    ptx.lines()
        .filter_map(|line| line.split("//").next()?.split_once(".entry"))
        .filter_map(|(_, rest)| {
            let rest = rest.trim_start();
            let is_word = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            (end > 0).then(|| &rest[..end])
        })
        .collect()
}

/// Every kernel that `wanted` means, in alphabetical order: those of exactly this name, else those
/// whose name has it as a part or fits it as a pattern with `*` and `?`.
pub fn meant<'a>(wanted: &str, known: &[&'a str]) -> Vec<&'a str> {
    if let Some(exact) = known.iter().find(|&&name| name == wanted) {
        return vec![exact];
    }
    // Blanks are a matter of taste: `float *` and `float*`.
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let wanted = bare(wanted);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut names = known.to_vec();
    names.sort_unstable();
    names.dedup();
    // The forms of each name, demangled once.
    let names: Vec<(&str, Vec<String>)> = names
        .into_iter()
        .map(|name| {
            let readable = [demangled(name), demangled_short(name)];
            let forms = readable.iter().flatten().map(|form| bare(form));
            (name, std::iter::once(name.to_owned()).chain(forms).collect())
        })
        .collect();
    let pattern = WildMatch::new(&wanted);
    let is_called = |form: &String| *form == wanted;
    let resembles = |form: &String| form.contains(&wanted) || pattern.matches(form);
    let rules: [&dyn Fn(&String) -> bool; 2] = [&is_called, &resembles];
    for rule in rules {
        let fit = names.iter().filter(|(_, forms)| forms.iter().any(rule));
        let found: Vec<&str> = fit.map(|&(name, _)| name).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// The kernel of `file` that `wanted` means. `None` when it means none; `anchor` is where it
/// stands.
pub fn find<'a>(
    wanted: &str,
    known: &[&'a str],
    file: &str,
    anchor: &Anchor,
) -> Result<Option<&'a str>, Report> {
    let meant = meant(wanted, known);
    match meant[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => {
            let message = format!("`{wanted}` may mean {} kernels of {file}", meant.len());
            let mut report = Report::new(message).at(anchor);
            for name in meant.iter().take(MOST_LISTED) {
                report = report.fact(demangled(name).unwrap_or_else(|| (*name).to_owned()));
            }
            if meant.len() > MOST_LISTED {
                report = report.fact(format!("and {} more", meant.len() - MOST_LISTED));
            }
            Err(report.hint("give more of the name; `gpucast check` lists the kernels of a file"))
        }
    }
}

/// A complaint about a name that no kernel of `file` has; `anchor` is where it stands.
pub fn unknown(wanted: &str, known: &[&str], file: &str, anchor: &Anchor) -> Report {
    unplaced(wanted, known, file).at(anchor)
}

/// The same for a name that stands nowhere.
pub fn unplaced(wanted: &str, known: &[&str], file: &str) -> Report {
    let mut names = known.to_vec();
    names.sort_unstable();
    names.dedup();
    let hint = suggest(wanted, names.iter().copied()).unwrap_or_else(|| match names.len() {
        0 => "its PTX has no kernel at all".to_owned(),
        number => format!("its PTX has {number} kernels; `gpucast check` lists them"),
    });
    Report::new(format!("{file} has no kernel named `{wanted}`")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::SourceText;

    const KNOWN: [&str; 4] = ["_Z5scalePfPKff", "_Z5scalePdPKdd", "_Z5shiftPfi", "second"];

    fn found(wanted: &str) -> Result<Option<&'static str>, Report> {
        let source = SourceText::new("command line", wanted);
        find(wanted, &KNOWN, "file", &Anchor { source, range: 0..wanted.len() })
    }

    #[test]
    fn names_are_found_mangled_demangled_and_by_a_part() {
        assert_eq!(found("second"), Ok(Some("second")));
        assert_eq!(found("_Z5shiftPfi"), Ok(Some("_Z5shiftPfi")));
        assert_eq!(found("shift"), Ok(Some("_Z5shiftPfi")));
        assert_eq!(found("scale(float *, float const *, float)"), Ok(Some("_Z5scalePfPKff")));
        assert_eq!(found("double"), Ok(Some("_Z5scalePdPKdd")));
        assert_eq!(found("third"), Ok(None));
        assert_eq!(found(""), Ok(None));
        assert_eq!(found("*").unwrap_err().facts.len(), 4);
        assert_eq!(found("s?ift*"), Ok(Some("_Z5shiftPfi")));
        assert_eq!(found("scale(*double)"), Ok(Some("_Z5scalePdPKdd")));
        assert_eq!(found("s?"), Ok(None), "a pattern means whole names");
        // A star of a pointer is itself.
        assert_eq!(found("float*, int"), Ok(Some("_Z5shiftPfi")));
        let ambiguous = found("scale").unwrap_err();
        assert_eq!(
            ambiguous.facts,
            ["scale(double*, double const*, double)", "scale(float*, float const*, float)"]
        );
    }

    #[test]
    fn the_last_name_is_without_all_that_a_compiler_adds() {
        // As Numba names a kernel `saxpy` of a script.
        let of_numba = "_ZN8__main__5saxpyB2v1B5cw51cEd5ArrayIfLi1E1C7mutable7alignedE";
        let short = demangled_short(of_numba).unwrap();
        for (name, expected) in [
            (short.as_str(), "saxpy"),
            ("__main__::saxpy[abi:v1][abi:cw51c](double)", "saxpy"),
            ("a::scale<b::Half>", "scale"),
            ("product(float*, n::T)", "product"),
            ("sum(int*)::part", "part"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(bare(name), expected, "{name}");
        }
    }

    #[test]
    fn kernels_are_found_in_text() {
        let text = ".visible .entry a(\n)\n// .entry b\n.entry  _Z1cv {\n.entry\n";
        assert_eq!(kernels(text), ["a", "_Z1cv"]);
    }

    #[test]
    fn a_name_that_grows_without_end_is_left_mangled() {
        let mut name = "_Z1fI1AE".to_owned() + "v";
        for level in 0..30 {
            name += &format!("1BIS{level}_S{level}_E");
        }
        assert!(demangled(&name).is_none_or(|text| text.len() <= LONGEST_DEMANGLED));
    }
}
