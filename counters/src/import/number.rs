//! Numbers as profilers print them.

use super::error::Reason;
use crate::definitions::definition;
use crate::metric::Number;

/// Reads a figure such as `524288000`, `1,234,567`, `12.5` or `78.21%`.
///
/// A percent sign is dropped if the metric is a ratio, and refused if it is a count.
pub(super) fn parse(name: &str, text: &str) -> Result<Number, Reason> {
    let trimmed = text.trim();
    let bare = match trimmed.strip_suffix('%') {
        Some(_) if definition(name).is_some_and(|metric| metric.unit != "percent") => {
            return Err(Reason::NotANumber { name: name.into(), text: trimmed.into() });
        }
        Some(bare) => bare,
        None => trimmed,
    };
    if trimmed.contains("OVERFLOW") {
        return Err(Reason::Overflowed { name: name.into() });
    }
    let digits = without_thousands_separators(bare)?;
    if let Ok(count) = digits.parse::<u128>() {
        return Ok(Number::Count(count));
    }
    // `parse::<f64>` also takes `nan`, `inf` and words like them, which no profiler prints as a
    // figure: they are text here.
    let numeric = digits.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    match digits.parse::<f64>() {
        Ok(real) if numeric && real.is_finite() => checked(name, real),
        Ok(_) | Err(_) => Err(Reason::NotANumber { name: name.into(), text: trimmed.into() }),
    }
}

/// Refuses values that no count and no ratio of counts can have.
pub(super) fn checked(name: &str, real: f64) -> Result<Number, Reason> {
    let impossible = |why| Reason::Impossible { name: name.into(), value: real.to_string(), why };
    if real.is_nan() {
        Err(impossible("it is not a number"))
    } else if real.is_infinite() {
        Err(impossible("no kernel does infinitely much of anything"))
    } else if real < 0.0 {
        Err(impossible("nothing happens a negative number of times"))
    } else {
        Ok(whole_if_exact(real))
    }
}

/// A real that is a whole number below 2⁵³ is a count.
pub(super) fn whole_if_exact(real: f64) -> Number {
    const EXACT: f64 = (1_u64 << 53) as f64;
    if real.fract() == 0.0 && (0.0..EXACT).contains(&real) {
        Number::Count(real as u128)
    } else {
        Number::Real(real)
    }
}

/// `1,234,567.8` becomes `1234567.8`; `9,00` is refused, for it may mean nine.
fn without_thousands_separators(text: &str) -> Result<String, Reason> {
    if !text.contains(',') {
        return Ok(text.into());
    }
    let whole = text.split('.').next().unwrap_or(text);
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let separates_thousands = (1..=3).contains(&first.len())
        && groups.all(|group| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit()))
        && !text[whole.len()..].contains(',');
    if separates_thousands {
        Ok(text.replace(',', ""))
    } else {
        Err(Reason::DecimalComma { text: text.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_separators_and_percent_signs_are_read_away() {
        assert_eq!(parse("m", "1,234,567"), Ok(Number::Count(1_234_567)));
        assert_eq!(parse("m", " 12 "), Ok(Number::Count(12)));
        assert_eq!(parse("m", "1,234.5"), Ok(Number::Real(1234.5)));
        assert_eq!(parse("branch_efficiency", "78.21%"), Ok(Number::Real(78.21)));
        assert!(matches!(parse("inst_integer", "12.5%"), Err(Reason::NotANumber { .. })));
        assert_eq!(parse("m", "3.6e9"), Ok(Number::Count(3_600_000_000)));
    }

    #[test]
    fn a_decimal_comma_is_not_mistaken_for_thousands() {
        for text in ["9,00", "1234,5", "1,23,456", "1.5,000"] {
            assert_eq!(parse("m", text), Err(Reason::DecimalComma { text: text.into() }), "{text}");
        }
    }

    #[test]
    fn text_overflow_and_impossible_figures_are_refused() {
        assert!(matches!(parse("m", "High (9)"), Err(Reason::NotANumber { .. })));
        assert!(matches!(parse("m", ""), Err(Reason::NotANumber { .. })));
        assert!(matches!(parse("m", "nan"), Err(Reason::NotANumber { .. })));
        assert!(matches!(parse("m", "inf"), Err(Reason::NotANumber { .. })));
        assert!(matches!(parse("m", "1e999"), Err(Reason::NotANumber { .. })));
        assert!(matches!(parse("m", "<OVERFLOW>"), Err(Reason::Overflowed { .. })));
        assert!(matches!(parse("m", "-3"), Err(Reason::Impossible { .. })));
    }
}
