//! The values of one axis of a sweep: `0.5x..2x:0.1x`, `40..160:20`, `256..4096:x2`,
//! `1..1000:log9`, and lists of such.

use crate::failure::{Report, SourceText};

/// One direction of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The GPU's field, or the parameter.
    pub name: String,
    /// In the order of the command line.
    pub values: Vec<Value>,
}

/// A place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// As it would be written by hand: `0.6x`, `120`, `8 TB/s`.
    pub text: String,
    /// The number in it, without factor or unit, if it begins with one.
    pub number: Option<f64>,
}

/// More values than any grid has use for.
const MOST_VALUES: usize = 100_000;

impl Axis {
    /// Reads `NAME=VALUES` of an option; `option` names it in reports.
    pub fn read(option: &str, text: &str) -> Result<Self, Report> {
        let source = SourceText::new(option, text);
        let Some((name, values)) = text.split_once('=') else {
            return Err(source
                .report(0..text.len(), "this has no `=`")
                .hint("write NAME=VALUES, as in memory_bandwidth=0.5x..2x:0.1x"));
        };
        let mut axis = Self { name: name.trim().to_owned(), values: Vec::new() };
        let mut start = name.len() + 1;
        for item in values.split(',') {
            let range = start..start + item.len();
            start = range.end + 1;
            let read = item_values(item.trim()).map_err(|problem| {
                source.report(range.clone(), problem.message()).maybe_hint(problem.hint())
            })?;
            axis.values.extend(read);
            if axis.values.len() > MOST_VALUES {
                let message = format!("this axis has more than {MOST_VALUES} values");
                return Err(source.report(range, message).hint("take larger steps"));
            }
        }
        Ok(axis)
    }

    /// Reads the axes of an option that may be repeated.
    ///
    /// # Errors
    ///
    /// As [`Axis::read`], and if two axes have one name.
    pub fn read_all(option: &str, texts: &[String]) -> Result<Vec<Self>, Report> {
        let mut axes: Vec<Self> = Vec::new();
        for text in texts {
            let axis = Self::read(option, text)?;
            if axes.iter().any(|other| other.name == axis.name) {
                let message = format!("{option} has two axes `{}`", axis.name);
                return Err(Report::new(message).hint("join their values by commas"));
            }
            axes.push(axis);
        }
        Ok(axes)
    }

    /// The number that a parameter has at a place of this axis.
    ///
    /// # Errors
    ///
    /// If the value is more or less than a number: `4x` and `4 GB` are none.
    pub fn parameter(&self, value: &Value) -> Result<f64, Report> {
        let number = value.text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| {
            Report::new(format!("`{}` is no number, and {} needs one", value.text, self.name))
        })
    }
}

/// Reason why an item is invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Problem {
    Empty,
    NoNumber,
    NoStep,
    BadStep,
    Units,
    Backwards,
    NotPositive,
    TooMany,
}

impl Problem {
    fn message(self) -> &'static str {
        match self {
            Self::Empty => "a value is missing here",
            Self::NoNumber => "both ends of a range begin with a number",
            Self::NoStep => "this range has no step",
            Self::BadStep => "this is not a step",
            Self::Units => "the ends and the step of a range have the same unit",
            Self::Backwards => "this range ends before it begins",
            Self::NotPositive => "a range of factors lies above zero",
            Self::TooMany => "this range has too many values",
        }
    }

    fn hint(self) -> Option<String> {
        let hint = match self {
            Self::NoStep | Self::BadStep => {
                "write 40..160:20 for steps of 20, 256..4096:x2 for doubling, 1..1000:log9 or \
                 1..1000:lin9 for nine values"
            }
            Self::Units => "as in 0.5x..2x:0.1x or 1 TB/s..8 TB/s:1 TB/s",
            Self::TooMany => "take larger steps",
            Self::Empty | Self::NoNumber | Self::Backwards | Self::NotPositive => return None,
        };
        Some(hint.to_owned())
    }
}

/// Rule by which a range proceeds from one value to the next.
enum Step {
    By(f64),
    Times(f64),
    Linear(usize),
    Logarithmic(usize),
}

/// A single value, or those of a range.
fn item_values(item: &str) -> Result<Vec<Value>, Problem> {
    if item.is_empty() {
        return Err(Problem::Empty);
    }
    let Some((first, rest)) = item.split_once("..") else {
        let number = number_and_unit(item).map(|(number, _)| number);
        return Ok(vec![Value { text: item.to_owned(), number }]);
    };
    let (last, step) = rest.split_once(':').ok_or(Problem::NoStep)?;
    let (first, unit_of_first) = number_and_unit(first).ok_or(Problem::NoNumber)?;
    let (last, unit) = number_and_unit(last).ok_or(Problem::NoNumber)?;
    let is_unit = |other: &str| other.is_empty() || other == unit;
    if !is_unit(unit_of_first) {
        return Err(Problem::Units);
    }
    let step = read_step(step.trim(), is_unit)?;
    if last < first {
        return Err(Problem::Backwards);
    }
    let value = |number: f64| {
        let number = tidy(number);
        let space = if unit.is_empty() || unit == "x" { "" } else { " " };
        Value { text: format!("{number}{space}{unit}"), number: Some(number) }
    };
    Ok(numbers(first, last, &step)?.into_iter().map(value).collect())
}

fn read_step(text: &str, is_unit: impl Fn(&str) -> bool) -> Result<Step, Problem> {
    let count = |digits: &str| match digits.parse::<usize>() {
        Ok(count) if (2..=MOST_VALUES).contains(&count) => Ok(count),
        Ok(count) if count > MOST_VALUES => Err(Problem::TooMany),
        _ => Err(Problem::BadStep),
    };
    if let Some(digits) = text.strip_prefix("log") {
        return count(digits).map(Step::Logarithmic);
    }
    if let Some(digits) = text.strip_prefix("lin") {
        return count(digits).map(Step::Linear);
    }
    if let Some(factor) = text.strip_prefix(['x', '×']) {
        return match factor.parse::<f64>() {
            Ok(factor) if factor.is_finite() && factor > 1.0 => Ok(Step::Times(factor)),
            _ => Err(Problem::BadStep),
        };
    }
    match number_and_unit(text) {
        Some((_, unit)) if !is_unit(unit) => Err(Problem::Units),
        Some((step, _)) if step > 0.0 => Ok(Step::By(step)),
        _ => Err(Problem::BadStep),
    }
}

/// The numbers from `first` to `last`, which is among them if a step ends there.
fn numbers(first: f64, last: f64, step: &Step) -> Result<Vec<f64>, Problem> {
    /// Sums of steps miss their end by as much as doubles do.
    const SLACK: f64 = 1e-9;
    let is_positive = first > 0.0;
    match *step {
        Step::By(step) => {
            let steps = ((last - first) / step * (1.0 + SLACK) + SLACK).floor();
            if steps >= MOST_VALUES as f64 {
                return Err(Problem::TooMany);
            }
            Ok((0..=steps as usize).map(|at| first + at as f64 * step).collect())
        }
        Step::Times(_) | Step::Logarithmic(_) if !is_positive => Err(Problem::NotPositive),
        Step::Times(factor) => {
            let steps = ((last / first).ln() / factor.ln() + SLACK).floor();
            if steps >= MOST_VALUES as f64 {
                return Err(Problem::TooMany);
            }
            Ok((0..=steps as i32).map(|at| first * factor.powi(at)).collect())
        }
        Step::Linear(count) => {
            let part = |at: usize| at as f64 / (count - 1) as f64;
            Ok((0..count).map(|at| first + (last - first) * part(at)).collect())
        }
        Step::Logarithmic(count) => {
            let part = |at: usize| at as f64 / (count - 1) as f64;
            Ok((0..count).map(|at| first * (last / first).powf(part(at))).collect())
        }
    }
}

/// Twelve digits: `0.6` instead of `0.6000000000000001`.
fn tidy(number: f64) -> f64 {
    format!("{number:.11e}").parse().unwrap_or(number)
}

/// A number and the text behind it.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let mut end = text.find(|c: char| !is_digit(c) && c != '-').unwrap_or(text.len());
    // An exponent: `1e6`, `1e-3`.
    let behind = &text[end..];
    if let Some(exponent) = behind.strip_prefix(['e', 'E']) {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if count > 0 {
            end = text.len() - digits.len() + count;
        }
    }
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::shown;

    fn texts(text: &str) -> Vec<String> {
        let axis = Axis::read("--set", text).unwrap();
        axis.values.into_iter().map(|value| value.text).collect()
    }

    #[test]
    fn ranges_hold_both_ends_and_no_rounding_errors() {
        let tenths = texts("b=0.5x..2x:0.1x");
        assert_eq!(tenths.len(), 16);
        assert_eq!(tenths[..3], ["0.5x", "0.6x", "0.7x"]);
        assert_eq!(tenths.last().unwrap(), "2x");
        assert_eq!(texts("b=0.5..2x:0.5"), ["0.5x", "1x", "1.5x", "2x"]);
        assert_eq!(texts("n=256..4096:x2"), ["256", "512", "1024", "2048", "4096"]);
        assert_eq!(texts("n=256..4095:x2"), ["256", "512", "1024", "2048"]);
        assert_eq!(texts("s=40..160:50"), ["40", "90", "140"]);
        assert_eq!(texts("b=1..8 TB/s:3.5"), ["1 TB/s", "4.5 TB/s", "8 TB/s"]);
        assert_eq!(texts("b=1..10000:log5"), ["1", "10", "100", "1000", "10000"]);
        assert_eq!(texts("b=0..1:lin5"), ["0", "0.25", "0.5", "0.75", "1"]);
        assert_eq!(texts("b=1e3..3e3:1e3"), ["1000", "2000", "3000"]);
        assert_eq!(texts("b=5..5:1"), ["5"]);
    }

    #[test]
    fn lists_hold_values_of_any_kind_and_ranges() {
        assert_eq!(texts("s=40, 80,100..120:10"), ["40", "80", "100", "110", "120"]);
        assert_eq!(texts("l2_replacement=lru,random"), ["lru", "random"]);
        let axis = Axis::read("--set", "m=8 TB/s,lru").unwrap();
        assert_eq!(axis.values[0].number, Some(8.0));
        assert_eq!(axis.values[1].number, None);
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let texts = [
            "n",
            "n=",
            "n=1,,2",
            "n=1..5",
            "n=1..5:0",
            "n=1..5:x1",
            "n=5..1:1",
            "n=1x..5:1",
            "n=1..5x:1 GB/s",
            "n=0..5:x2",
            "n=1..5:log1",
            "n=a..b:1",
            "n=0..1:1e-9",
            "n=1..2:x1.0000000001",
            "n=1..2:lin1000000",
        ];
        let reports = texts.map(|text| shown(&Axis::read("--set", text).unwrap_err()));
        insta::assert_snapshot!(reports.join("\n"));
    }
}
