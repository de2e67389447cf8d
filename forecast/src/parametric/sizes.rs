//! The sizes of a parameter: where they begin, and their step.

use serde::{Deserialize, Serialize};

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

/// No size is larger: beyond 2⁴⁰, grids and buffers of every kind end.
pub(super) const LARGEST: u64 = 1 << 40;

/// Evenly spaced sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The smallest one.
    pub first: u64,
    /// The difference between neighbours.
    pub step: u64,
    /// None is larger.
    pub last: u64,
}

impl Sizes {
    /// The size at a place, counted from 0.
    #[must_use]
    pub fn at(self, place: u64) -> u64 {
        self.first.saturating_add(self.step.saturating_mul(place)).min(self.largest())
    }

    /// The largest size.
    #[must_use]
    pub fn largest(self) -> u64 {
        self.first + (self.last.max(self.first) - self.first) / self.step * self.step
    }

    /// True if the largest size was asked for: otherwise it is where searching ends.
    #[must_use]
    pub fn ends(self) -> bool {
        self.last < LARGEST
    }

    /// `1, 2, 3, …`, or all of them if they end.
    #[must_use]
    pub fn in_words(self) -> String {
        let some: Vec<String> = (0..3).map(|place| number::count(self.at(place))).collect();
        let end = match self.ends() {
            true => format!(", {}", number::count(self.largest())),
            false => String::new(),
        };
        format!("{}, …{end}", some.join(", "))
    }

    /// True if this is one of them.
    #[must_use]
    pub fn has(self, size: u64) -> bool {
        (self.first..=self.largest()).contains(&size)
            && (size - self.first).is_multiple_of(self.step)
    }

    /// The size near a place that is a multiple of 2^`bits`; an odd one if `is_odd`. `None` if
    /// there is no such size among these.
    pub(super) fn aligned(self, place: u64, bits: u32, is_odd: bool) -> Option<u64> {
        let whole = bits + u32::from(is_odd);
        let below = self.at(place) >> whole << whole;
        let size = below + (u64::from(is_odd) << bits);
        let is_one = |size: &u64| self.has(*size);
        // The next one, where there is none below.
        [size, size + (1 << whole)].into_iter().find(is_one)
    }

    /// The place of the largest size.
    pub(super) fn places(self) -> u64 {
        (self.largest() - self.first) / self.step
    }
}

/// The spacing of sizes at which a kernel runs: `ran[i]` says whether it ran at size `i + 1`. The
/// first size is the one from which on no multiple of the step is missing. `None` if the sizes that
/// ran are too few or not evenly spaced.
pub(super) fn spacing(ran: &[bool]) -> Option<(u64, u64)> {
    /// Fewer sizes show no pattern.
    const ENOUGH: usize = 6;
    let sizes: Vec<u64> =
        (1_u64..).zip(ran).filter_map(|(size, &ran)| ran.then_some(size)).collect();
    let [.., before, last] = sizes[..] else { return None };
    let step = last - before;
    // Otherwise the next one has been tried and did not run.
    if last + step <= ran.len() as u64 {
        return None;
    }
    let evenly = sizes.windows(2).rev().take_while(|pair| pair[1] - pair[0] == step).count() + 1;
    let first = sizes[sizes.len() - evenly];
    let is_alone = evenly >= ENOUGH && evenly * 2 > sizes.len();
    is_alone.then_some((first, step))
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

    #[test]
    fn aligned_sizes_are_multiples_among_the_sizes() {
        let check = |sizes: Sizes| {
            let mut found = 0;
            for place in 0..=sizes.places() {
                for (bits, is_odd) in [(0, true), (1, true), (3, true), (3, false), (5, false)] {
                    let Some(size) = sizes.aligned(place, bits, is_odd) else { continue };
                    assert_eq!(size % (1 << bits), 0, "{sizes:?} {place}");
                    assert!(!is_odd || (size >> bits) % 2 == 1, "{sizes:?} {place}");
                    assert!((0..=sizes.places()).any(|place| sizes.at(place) == size), "{sizes:?}");
                    found += 1;
                }
            }
            found
        };
        assert!(check(Sizes { first: 1, step: 1, last: 200 }) > 900);
        assert!(check(Sizes { first: 8, step: 8, last: 400 }) > 100);
        assert!(check(Sizes { first: 3, step: 2, last: 99 }) > 40);
    }

    #[test]
    fn spacings_are_those_of_the_sizes_that_ran() {
        let ran = |count: usize, runs: fn(usize) -> bool| -> Vec<bool> {
            (1..=count).map(runs).collect()
        };
        assert_eq!(spacing(&ran(64, |_| true)), Some((1, 1)));
        assert_eq!(spacing(&ran(64, |size| size > 2)), Some((3, 1)));
        assert_eq!(spacing(&ran(64, |size| size % 8 == 0)), Some((8, 8)));
        assert_eq!(spacing(&ran(64, |size| size % 8 == 2)), Some((2, 8)));
        assert_eq!(spacing(&ran(64, |size| size == 5 || size % 8 == 0)), Some((8, 8)));
        assert_eq!(spacing(&ran(64, |size| size % 16 == 0)), None, "four are too few");
        assert_eq!(spacing(&ran(512, usize::is_power_of_two)), None);
        assert_eq!(spacing(&ran(64, |size| size < 40)), None, "they end");
        assert_eq!(spacing(&ran(64, |_| false)), None);
    }
}
