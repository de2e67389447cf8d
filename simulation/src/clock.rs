//! Whole clocks of times.

/// The first whole clock at or after a time, which is 0 at least.
///
/// On baseline x86-64 `f64::ceil` calls a function, and every issue rounds several times.
#[inline]
pub(crate) fn clock_at(time: f64) -> u64 {
    // Signed numbers are converted by one instruction.
    let whole = time as i64;
    if whole == i64::MAX {
        return time as u64;
    }
    (whole + i64::from((whole as f64) < time)).max(0) as u64
}

/// A clock as a time. Nothing happens after clock 2⁶³.
#[inline]
pub(crate) fn time_of(clock: u64) -> f64 {
    clock as i64 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_times_rounded_up() {
        let times =
            [0.0, 1.0, 0.1, 1.999_999, 2.5, 4e9 + 0.25, 9_007_199_254_740_993.0, 1e19, 3e25];
        for time in times.into_iter().chain([f64::INFINITY, f64::NAN, -0.5, f64::MIN_POSITIVE]) {
            assert_eq!(clock_at(time), time.ceil() as u64, "{time}");
        }
    }
}
