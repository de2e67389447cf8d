//! Figures for people.

/// A time, given in milliseconds, with two digits in the unit that suits it: `≈ 2.1 µs`.
#[must_use]
pub fn rough_duration(ms: f64) -> String {
    let (value, unit) = match ms {
        ms if ms >= 1.0 => (ms, "ms"),
        ms if ms >= 1e-3 => (ms * 1e3, "µs"),
        ms => (ms * 1e6, "ns"),
    };
    // Two digits: the second one's power of ten is rounded to.
    let unit_of_digit = 10_f64.powf(value.max(f64::MIN_POSITIVE).log10().floor() - 1.0);
    let decimals = usize::from(unit_of_digit < 1.0);
    format!("≈ {:.decimals$} {unit}", (value / unit_of_digit).round() * unit_of_digit)
}

/// A time, given in milliseconds, with three decimals in the unit that suits it.
#[must_use]
pub fn duration(ms: f64) -> String {
    match ms {
        ms if ms >= 0.1 || ms == 0.0 => format!("{ms:.3} ms"),
        ms if ms >= 1e-4 => format!("{:.3} µs", ms * 1e3),
        ms => format!("{:.3} ns", ms * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rough_times_have_two_digits() {
        for (ms, expected) in [
            (0.004_31, "≈ 4.3 µs"),
            (0.012_34, "≈ 12 µs"),
            (0.000_87, "≈ 870 ns"),
            (1.26, "≈ 1.3 ms"),
        ] {
            assert_eq!(rough_duration(ms), expected);
        }
    }
}
