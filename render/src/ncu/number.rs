//! Numbers and units as Nsight Compute prints them.

use gpucast_forecast::nsight::{Figure, Value};

/// The word for a value that is not known.
pub(super) const UNKNOWN: &str = "n/a";

/// The choices of `--print-units` and `--print-fp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberForm {
    /// True if units stay as they are: `byte` and not `Kbyte`.
    pub base_units: bool,
    /// True if counts have decimals, too.
    pub floating: bool,
}

/// A value with its unit, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Printed {
    pub(super) unit: String,
    pub(super) value: String,
}

/// Decimals on the details page.
const DETAILS: usize = 2;

/// The most decimals on the raw page.
const RAW: usize = 6;

impl NumberForm {
    /// A metric on the details page: two decimals.
    pub(super) fn details(self, figure: Option<&Figure>) -> Printed {
        self.printed(figure, DETAILS)
    }

    /// A metric on the raw page: two decimals, and up to six where there are as many.
    pub(super) fn raw(self, figure: Option<&Figure>) -> Printed {
        self.printed(figure, RAW)
    }

    fn printed(self, figure: Option<&Figure>, decimals: usize) -> Printed {
        let Some(Figure { value, unit, .. }) = figure else {
            return Printed { unit: String::new(), value: UNKNOWN.to_owned() };
        };
        let scaled = |value: f64| match self.base_units {
            true => None,
            false => scaled(value, unit),
        };
        let (value, unit) = match value {
            Value::Text(text) => (text.clone(), unit.clone()),
            Value::Count(count) => match scaled(*count as f64) {
                Some((value, unit)) => (fraction(value, decimals), unit),
                None if self.floating => (fraction(*count as f64, decimals), unit.clone()),
                None => (count.to_string(), unit.clone()),
            },
            Value::Real(real) => match scaled(*real) {
                Some((value, unit)) => (fraction(value, decimals), unit),
                None if real.fract() == 0.0 && !self.floating => {
                    (format!("{real:.0}"), unit.clone())
                }
                None => (fraction(*real, decimals), unit.clone()),
            },
        };
        Printed { unit, value }
    }
}

/// Two decimals at least, and more up to a number of them.
fn fraction(value: f64, most: usize) -> String {
    let text = format!("{value:.most$}");
    let Some((whole, decimals)) = text.split_once('.') else { return text };
    let decimals = decimals.trim_end_matches('0');
    format!("{whole}.{decimals:0<2}")
}

/// A value of 1000 and more in a larger unit; `None` where the base unit fits.
fn scaled(value: f64, unit: &str) -> Option<(f64, String)> {
    const METRIC: [&str; 5] = ["", "K", "M", "G", "T"];
    const TIMES: [&str; 4] = ["ns", "us", "ms", "s"];
    let is_time = unit == "ns";
    if !is_time && !matches!(unit, "hz" | "byte" | "byte/s" | "byte/block") {
        return None;
    }
    let steps = if is_time { TIMES.len() } else { METRIC.len() };
    let (mut value, mut step) = (value, 0);
    while value.abs() >= 1000.0 && step + 1 < steps {
        value /= 1000.0;
        step += 1;
    }
    let unit = if is_time { TIMES[step].to_owned() } else { format!("{}{unit}", METRIC[step]) };
    (step > 0).then_some((value, unit))
}

#[cfg(test)]
mod tests {
    use gpucast_counters::metric::Kind;

    use super::*;

    fn printed(value: Value, unit: &str, form: NumberForm) -> String {
        let figure = Figure { value, unit: unit.to_owned(), kind: Kind::Exact };
        let Printed { unit, value } = form.details(Some(&figure));
        format!("{value} {unit}")
    }

    #[test]
    fn units_grow_with_their_values() {
        let auto = NumberForm::default();
        let real = |value: f64, unit: &str| printed(Value::Real(value), unit, auto);
        assert_eq!(real(5e9, "hz"), "5.00 Ghz");
        assert_eq!(real(585e6, "hz"), "585.00 Mhz");
        assert_eq!(real(23.76e6, "ns"), "23.76 ms");
        assert_eq!(real(12.0, "ns"), "12 ns");
        assert_eq!(real(109.73e9, "byte/s"), "109.73 Gbyte/s");
        assert_eq!(real(100.0, "%"), "100 %");
        assert_eq!(real(13_901_237.7, "cycle"), "13901237.70 cycle");
        assert_eq!(printed(Value::Count(1024), "byte/block", auto), "1.02 Kbyte/block");
        assert_eq!(printed(Value::Count(0), "byte/block", auto), "0 byte/block");
        assert_eq!(printed(Value::Count(597_688_320), "inst", auto), "597688320 inst");
        let base = NumberForm { base_units: true, floating: false };
        assert_eq!(printed(Value::Real(5e9), "hz", base), "5000000000 hz");
        let floating = NumberForm { base_units: false, floating: true };
        assert_eq!(printed(Value::Count(3), "inst", floating), "3.00 inst");
        assert_eq!(auto.details(None).value, "n/a");
    }

    #[test]
    fn the_raw_page_keeps_more_decimals() {
        let figure =
            Figure { value: Value::Real(0.268_764), unit: String::new(), kind: Kind::Exact };
        assert_eq!(NumberForm::default().raw(Some(&figure)).value, "0.268764");
        assert_eq!(NumberForm::default().details(Some(&figure)).value, "0.27");
    }
}
