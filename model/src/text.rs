//! Figures for people.

/// A time, given in milliseconds, with three decimals in the unit that suits it.
#[must_use]
pub fn duration(ms: f64) -> String {
    match ms {
        ms if ms >= 0.1 || ms == 0.0 => format!("{ms:.3} ms"),
        ms if ms >= 1e-4 => format!("{:.3} µs", ms * 1e3),
        ms => format!("{:.3} ns", ms * 1e6),
    }
}
