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
    in_unit_of(ms, ms)
}

/// A range of times, given in milliseconds, in the unit of the lower end: `95 µs to 167 µs`, each
/// with three decimals.
#[must_use]
pub fn duration_range(low_ms: f64, high_ms: f64) -> String {
    format!("{} to {}", duration(low_ms), in_unit_of(low_ms, high_ms))
}

/// The time `ms` in the unit that suits the time `of_ms`.
fn in_unit_of(of_ms: f64, ms: f64) -> String {
    match of_ms {
        of if of >= 0.1 || of == 0.0 => format!("{ms:.3} ms"),
        of if of >= 1e-4 => format!("{:.3} µs", ms * 1e3),
        _ => format!("{:.3} ns", ms * 1e6),
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

    #[test]
    fn a_range_has_one_unit() {
        assert_eq!(duration_range(0.095_005, 0.167), "95.005 µs to 167.000 µs");
        assert_eq!(duration_range(0.1, 0.25), "0.100 ms to 0.250 ms");
        assert_eq!(duration_range(0.000_05, 0.000_2), "50.000 ns to 200.000 ns");
    }
}
