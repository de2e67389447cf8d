//! Numbers for people: thousands separators and a sensible number of digits.

/// `1,048,576`.
pub fn count(value: impl Into<u128>) -> String {
    let digits = value.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Four significant digits, or all digits of the whole part: `0.1045`, `24.81`, `6,291`.
pub fn real(value: f64) -> String {
    const SIGNIFICANT: i32 = 4;
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    if !magnitude.is_finite() || !(-6.0..=15.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (SIGNIFICANT - 1 - magnitude as i32).max(0) as usize;
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse::<u64>().map_or_else(|_| whole.to_owned(), count);
    let sign = if value < 0.0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A whole number with all its digits, another one with four.
pub fn whole_or_real(value: f64) -> String {
    match value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        true => count(value as u128),
        false => real(value),
    }
}

/// `10.45 %`.
pub fn percent(fraction: f64) -> String {
    format!("{:.2} %", fraction * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        let text: Vec<String> =
            [0, 7, 999, 1000, 123_456, 1_048_576].map(|value: u32| count(value)).into();
        assert_eq!(text.join(" "), "0 7 999 1,000 123,456 1,048,576");
    }

    #[test]
    fn reals_keep_four_significant_digits() {
        let values = [0.0, 0.10449, 24.8136, 202.75, 6291.4, 1_234_567.8, -0.5, 1e-9, 9.9999];
        let text: Vec<String> = values.map(real).into();
        assert_eq!(text.join(" "), "0 0.1045 24.81 202.8 6,291 1,234,568 -0.5000 1.000e-9 10.000");
    }
}
