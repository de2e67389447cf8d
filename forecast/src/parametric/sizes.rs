//! A parameter as somebody asks for it, and its sizes in words.

use gpucast_formulas::sizes::{LARGEST, Sizes};

use crate::failure::{Report, SourceText};
use crate::number;

/// A parameter as it is asked for: `n`, `n=64..`, `n=64..4096` or `n=64..4096:64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name in the launch.
    pub name: String,
    /// The smallest size, if it is given.
    pub first: Option<u64>,
    /// The largest size, if it is given.
    pub last: Option<u64>,
    /// The difference between neighbouring sizes, if it is given.
    pub step: Option<u64>,
    /// The launches run at no size but its multiples.
    pub grain: u64,
}

impl Wanted {
    /// Reads one parameter; `option` names it in reports.
    ///
    /// # Errors
    ///
    /// Points at what is no name, size or step.
    pub fn read(option: &str, text: &str) -> Result<Self, Report> {
        let source = SourceText::new(option, text);
        let form = "write n, n=64.., n=64..4096 or n=64..4096:64";
        let wrong = |part: &str, what: &str| {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            source.report(start..start + part.len(), what).hint(form)
        };
        let (name, range) = match text.split_once('=') {
            Some((name, range)) => (name, Some(range)),
            None => (text, None),
        };
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if !is_name(name) {
            return Err(wrong(name, "this is no name of a parameter"));
        }
        let mut wanted =
            Self { name: name.to_owned(), first: None, last: None, step: None, grain: 1 };
        let Some(range) = range else { return Ok(wanted) };
        let (first, rest) =
            range.split_once("..").ok_or_else(|| wrong(range, "this is no range of sizes"))?;
        let (last, step) = match rest.split_once(':') {
            Some((last, step)) => (last, Some(step)),
            None => (rest, None),
        };
        let number = |part: &str, what: &str| match part.parse::<u64>() {
            Ok(number) if (1..=LARGEST).contains(&number) => Ok(number),
            _ => Err(wrong(part, what)),
        };
        let what = format!("a size is a whole number from 1 to {LARGEST}");
        wanted.first = Some(number(first, &what)?);
        if !last.is_empty() {
            wanted.last = Some(number(last, &what)?);
        }
        wanted.step =
            step.map(|step| number(step, "a step is a whole number above 0")).transpose()?;
        if wanted.last.is_some_and(|last| Some(last) < wanted.first) {
            return Err(wrong(range, "this range ends before it begins"));
        }
        Ok(wanted)
    }
}

/// `1, 2, 3, …`, or all of them if they end.
#[must_use]
pub fn in_words(sizes: Sizes) -> String {
    let some: Vec<String> = (0..3).map(|place| number::count(sizes.at(place))).collect();
    let end = match sizes.ends() {
        true => format!(", {}", number::count(sizes.largest())),
        false => String::new(),
    };
    format!("{}, …{end}", some.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::shown;

    #[test]
    fn parameters_have_a_name_and_perhaps_a_range() {
        let read = |text| Wanted::read("--parametric", text).unwrap();
        let range = |text| (read(text).first, read(text).last, read(text).step);
        assert_eq!(range("n"), (None, None, None));
        assert_eq!(range("n=64.."), (Some(64), None, None));
        assert_eq!(range("n=64..4096"), (Some(64), Some(4096), None));
        assert_eq!(range("n=64..:32"), (Some(64), None, Some(32)));
        let wrong = ["", "1n", "n=", "n=5", "n=0..4", "n=5..4", "n=1..4:0", "n=a..b", "n m"];
        let reports = wrong.map(|text| shown(&Wanted::read("--parametric", text).unwrap_err()));
        insta::assert_snapshot!(reports.join("\n"));
    }
}
