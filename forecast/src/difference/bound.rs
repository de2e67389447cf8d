//! The limit of a condition, as it is written.

/// Units of times, in milliseconds.
const UNITS: [(&str, f64); 5] = [("ns", 1e-6), ("us", 1e-3), ("µs", 1e-3), ("ms", 1.0), ("s", 1e3)];

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    /// The relative change that is still accepted; a negative one bounds a fall.
    Change(f64),
    /// The greatest value that is accepted; milliseconds of a time.
    Above(f64),
    /// The least value that is accepted.
    Below(f64),
}

impl Bound {
    /// Reads `:5%`, `>120us` or `<0.5`; nothing stands for `:0%`.
    pub(super) fn read(text: &str, is_time: bool) -> Option<Self> {
        let Some(sign) = text.chars().next() else { return Some(Self::Change(0.0)) };
        let limit = text[sign.len_utf8()..].trim();
        let value = |limit| if is_time { milliseconds(limit) } else { finite(limit) };
        match sign {
            ':' => Some(Self::Change(finite(limit.strip_suffix('%')?)? / 100.0)),
            '>' => value(limit).map(Self::Above),
            '<' => value(limit).map(Self::Below),
            _ => None,
        }
    }

    /// The limit, if a value is beyond it. No value is beyond the limit of a change.
    pub(super) fn passed_by(self, value: f64) -> Option<f64> {
        match self {
            Self::Above(limit) => (value > limit).then_some(limit),
            Self::Below(limit) => (value < limit).then_some(limit),
            Self::Change(_) => None,
        }
    }
}

fn finite(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Reads a time with its unit.
fn milliseconds(text: &str) -> Option<f64> {
    // The longest unit that fits: `ms` ends with `s`, too.
    let (number, unit) =
        UNITS.iter().find_map(|(unit, ms)| Some((text.strip_suffix(unit)?, ms)))?;
    Some(finite(number)? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_changes_or_values_with_the_unit_of_a_time() {
        let close = |bound: Option<Bound>, expected: f64| match bound {
            Some(Bound::Change(it) | Bound::Above(it) | Bound::Below(it)) => {
                assert!((it - expected).abs() < 1e-12 * expected.abs(), "{it}");
            }
            None => panic!("{expected}"),
        };
        close(Bound::read(":5%", true), 0.05);
        close(Bound::read(":-2%", false), -0.02);
        close(Bound::read(">120us", true), 0.12);
        close(Bound::read("> 120 µs", true), 0.12);
        close(Bound::read("<3s", true), 3000.0);
        close(Bound::read(">7.5ms", true), 7.5);
        close(Bound::read(">250ns", true), 0.000_25);
        close(Bound::read("<0.5", false), 0.5);
        close(Bound::read(">1e6", false), 1e6);
        for wrong in [":5", ":x%", ">", ">120", ">120hours", ">infms", "=5ms", ":nan%"] {
            assert_eq!(Bound::read(wrong, true), None, "{wrong}");
        }
        assert_eq!(Bound::read(">120us", false), None);
    }

    #[test]
    fn a_value_at_the_limit_is_accepted() {
        assert_eq!(Bound::Above(2.0).passed_by(2.0), None);
        assert_eq!(Bound::Above(2.0).passed_by(2.5), Some(2.0));
        assert_eq!(Bound::Below(2.0).passed_by(2.0), None);
        assert_eq!(Bound::Below(2.0).passed_by(1.5), Some(2.0));
    }
}
