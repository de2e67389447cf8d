//! Numbers as people read them.

/// A number with at most `digits` significant ones, thousands apart: `1,234`, `0.0123`, `2×10⁹`.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return if value.is_nan() { "undefined" } else { "infinite" }.to_owned();
    }
    let (mantissa, exponent) = scientific(value, digits);
    if !(-4..=6).contains(&exponent) {
        let mantissa = trimmed(&mantissa);
        let power = superscript(exponent);
        return match mantissa.as_str() {
            "1" => format!("10{power}"),
            "-1" => format!("−10{power}"),
            other => format!("{}×10{power}", other.replace('-', "−")),
        };
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    let unit = 10_f64.powi((exponent + 1 - digits as i32).max(0));
    let text = format!("{:.decimals$}", (value / unit).round_if(unit > 1.0) * unit);
    let text = if decimals > 0 { trimmed(&text) } else { text };
    grouped(&text)
}

/// A fraction in percent: `12.3 %`.
#[must_use]
pub fn percent(fraction: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", fraction * 100.0).replace('-', "−")
}

/// A time in the unit that suits it: `4.03 ms`, `12 µs`, `1.5 s`.
#[must_use]
pub fn duration(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{} s", significant(ms / 1e3, 3)),
        ms if ms >= 0.1 || ms == 0.0 => format!("{} ms", significant(ms, 3)),
        ms if ms >= 1e-3 => format!("{} µs", significant(ms * 1e3, 3)),
        ms => format!("{} ns", significant(ms * 1e6, 3)),
    }
}

/// A unit for times that stand side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    /// Its symbol.
    pub symbol: &'static str,
    /// The number of such units per millisecond.
    pub per_ms: f64,
}

impl TimeUnit {
    /// The unit in which the longest of some times, in milliseconds, reads well.
    #[must_use]
    pub fn of(times_ms: impl IntoIterator<Item = f64>) -> Self {
        let longest = times_ms.into_iter().filter(|ms| ms.is_finite()).fold(0.0, f64::max);
        let (symbol, per_ms) = match longest {
            ms if ms >= 1000.0 => ("s", 1e-3),
            ms if ms >= 0.1 || ms == 0.0 => ("ms", 1.0),
            ms if ms >= 1e-3 => ("µs", 1e3),
            _ => ("ns", 1e6),
        };
        Self { symbol, per_ms }
    }

    /// A time in this unit, whatever would suit it alone: `0.0123 ms`.
    #[must_use]
    pub fn time(self, ms: f64) -> String {
        format!("{} {}", significant(ms * self.per_ms, 3), self.symbol)
    }
}

trait RoundIf {
    fn round_if(self, condition: bool) -> Self;
}

impl RoundIf for f64 {
    fn round_if(self, condition: bool) -> Self {
        if condition { self.round() } else { self }
    }
}

/// Mantissa and exponent after rounding to `digits`.
fn scientific(value: f64, digits: usize) -> (String, i32) {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.to_owned(), exponent.parse().unwrap_or(0))
}

/// Without zeros at the end of a fraction.
fn trimmed(text: &str) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    }
}

fn grouped(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(w, f)| (w, Some(f)));
    let mut out = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

fn superscript(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = exponent.unsigned_abs().to_string();
    let sign = if exponent < 0 { "⁻" } else { "" };
    let digits = digits.bytes().map(|digit| DIGITS[usize::from(digit - b'0')]);
    sign.chars().chain(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, digits, expected) in [
            (0.0, 3, "0"),
            (1.0, 3, "1"),
            (0.1, 3, "0.1"),
            (117.56, 4, "117.6"),
            (999.96, 4, "1,000"),
            (1940.8, 4, "1,941"),
            (1940.8, 2, "1,900"),
            (1_234_567.0, 3, "1,230,000"),
            (9_999_999.0, 3, "10⁷"),
            (2.5e9, 3, "2.5×10⁹"),
            (0.000_123, 2, "0.00012"),
            (1e-5, 2, "10⁻⁵"),
            (-27.9, 3, "−27.9"),
            (f64::NAN, 3, "undefined"),
        ] {
            assert_eq!(significant(value, digits), expected, "{value}");
        }
        assert_eq!(percent(-0.279, 1), "−27.9 %");
        assert_eq!(duration(0.0123), "12.3 µs");
        assert_eq!(duration(4.033), "4.03 ms");
        assert_eq!(duration(12_345.0), "12.3 s");
        assert_eq!(duration(0.000_101), "101 ns");
        assert_eq!(TimeUnit::of([4.033, 0.0123]).time(0.0123), "0.0123 ms");
        for (times, symbol, per_ms) in [
            (vec![4.0, 0.002], "ms", 1.0),
            (vec![0.012, 0.000_1], "µs", 1e3),
            (vec![3e-6], "ns", 1e6),
            (vec![1.0, 2_000.0], "s", 1e-3),
            (vec![], "ms", 1.0),
        ] {
            assert_eq!(TimeUnit::of(times), TimeUnit { symbol, per_ms });
        }
    }
}
