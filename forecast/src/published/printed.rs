//! The printed forms of a time: a duration, or a rate with the work that it refers to.

use serde::Deserialize;

/// The unit of a printed figure.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub(super) enum Unit {
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "us")]
    Microseconds,
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// CUDA's samples print this unit as "GB/s": 2^30 bytes per second.
    #[serde(rename = "GiB/s")]
    GibibytesPerSecond,
    #[serde(rename = "GFLOP/s")]
    Gigaflops,
    /// 10^9 of whatever the work counts.
    #[serde(rename = "G/s")]
    Billions,
}

/// A figure as it is printed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub(super) struct Printed {
    printed: f64,
    unit: Unit,
    /// Bytes, operations or interactions of one launch; durations have none.
    work: Option<f64>,
}

impl Printed {
    /// Milliseconds; `None` where a rate comes without its work, or a duration with some.
    pub(super) fn milliseconds(self) -> Option<f64> {
        let per_second = match self.unit {
            Unit::Milliseconds => return self.work.is_none().then_some(self.printed),
            Unit::Microseconds => return self.work.is_none().then_some(self.printed / 1e3),
            Unit::MegabytesPerSecond => 1e6,
            Unit::GigabytesPerSecond | Unit::Gigaflops | Unit::Billions => 1e9,
            Unit::GibibytesPerSecond => 1_073_741_824.0,
        };
        Some(1e3 * self.work? / (self.printed * per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_become_durations() {
        let milliseconds = |printed, unit, work| Printed { printed, unit, work }.milliseconds();
        assert_eq!(milliseconds(0.25, Unit::Milliseconds, None), Some(0.25));
        assert_eq!(milliseconds(250.0, Unit::Microseconds, None), Some(0.25));
        // 536.9 MB at 263,497.383 MB/s; GPU-STREAM itself prints 0.00204 s beside it.
        let copy = milliseconds(263_497.383, Unit::MegabytesPerSecond, Some(536_870_912.0));
        assert_eq!(format!("{:.2}", copy.unwrap()), "2.04");
        // CUDA's sample transpose prints 185.1781 "GB/s" beside 0.04219 ms for 8 MiB.
        let transpose = milliseconds(185.1781, Unit::GibibytesPerSecond, Some(8_388_608.0));
        assert_eq!(format!("{:.5}", transpose.unwrap()), "0.04219");
        // matrixMul prints 2333.57 GFlop/s beside 0.056 ms for 131,072,000 operations.
        let product = milliseconds(2333.57, Unit::Gigaflops, Some(131_072_000.0));
        assert_eq!(format!("{:.3}", product.unwrap()), "0.056");
        assert_eq!(milliseconds(1.0, Unit::GigabytesPerSecond, None), None);
        assert_eq!(milliseconds(1.0, Unit::Milliseconds, Some(1.0)), None);
    }
}
