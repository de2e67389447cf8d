//! Axes: from values to a place between 0 and 1, and where their ticks are.

use crate::number::significant;

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long.
    Logarithmic,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The scale.
    pub kind: Kind,
    /// The value at its beginning.
    pub low: f64,
    /// The value at its end.
    pub high: f64,
    /// Its quantity, with the unit.
    pub title: String,
}

/// A logarithmic axis with fewer numbers does not show its scale.
const FEWEST_LABELS: usize = 2;

/// A place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value at this place.
    pub value: f64,
    /// The text beside it; `None` for the places in between.
    pub label: Option<String>,
}

impl Axis {
    /// A linear axis from zero to a little beyond the greatest value.
    #[must_use]
    pub fn from_zero(values: impl IntoIterator<Item = f64>, title: &str) -> Self {
        let greatest = values.into_iter().filter(|v| v.is_finite()).fold(0.0, f64::max);
        let high = if greatest > 0.0 { greatest * 1.06 } else { 1.0 };
        Self { kind: Kind::Linear, low: 0.0, high, title: title.to_owned() }
    }

    /// A linear axis that holds all values and zero, with room at both ends.
    #[must_use]
    pub fn around_zero(values: impl IntoIterator<Item = f64>, title: &str) -> Self {
        let (mut low, mut high) = (0.0_f64, 0.0_f64);
        for value in values.into_iter().filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        let room = ((high - low) * 0.06).max(if high == low { 1.0 } else { 0.0 });
        let (low, high) = (
            if low < 0.0 { low - room } else { 0.0 },
            if high > 0.0 || low == high { high + room } else { 0.0 },
        );
        Self { kind: Kind::Linear, low, high, title: title.to_owned() }
    }

    /// A logarithmic axis that holds all positive values, and the factors `below` and `above`
    /// beyond.
    #[must_use]
    pub fn logarithmic(
        values: impl IntoIterator<Item = f64>,
        (below, above): (f64, f64),
        title: &str,
    ) -> Self {
        let positive = values.into_iter().filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) = positive
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
        let (low, high) = if high > 0.0 { (low / below, high * above) } else { (0.1, 10.0) };
        Self { kind: Kind::Logarithmic, low, high, title: title.to_owned() }
    }

    /// The place of a value: 0 at the beginning, 1 at the end, beyond for values that are not on
    /// the axis.
    #[must_use]
    pub fn position(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// Ticks for an axis of a length in pixels.
    #[must_use]
    pub fn ticks(&self, pixels: f64) -> Vec<Tick> {
        match self.kind {
            Kind::Linear => self.linear_ticks(pixels),
            Kind::Logarithmic => self.logarithmic_ticks(pixels),
        }
    }

    /// Multiples of 1, 2 or 5 times a power of ten, at least 60 pixels apart.
    fn linear_ticks(&self, pixels: f64) -> Vec<Tick> {
        let span = self.high - self.low;
        let wanted = (pixels / 60.0).max(2.0);
        let rough = span / wanted;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(span);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last)
            .map(|at| {
                let value = at as f64 * step;
                Tick { value, label: Some(significant(value, 6)) }
            })
            .collect()
    }

    /// Powers of ten; 2 and 5 times them have labels if there is room, the other digits none.
    fn logarithmic_ticks(&self, pixels: f64) -> Vec<Tick> {
        let decades = (self.high / self.low).log10();
        let decade = pixels / decades;
        let labelled: &[i32] = match decade {
            d if d >= 190.0 => &[1, 2, 5],
            d if d >= 48.0 => &[1],
            _ => &[],
        };
        // Axes of many decades have labels at every other power, or fewer.
        let every = (48.0 / decade).ceil().max(1.0) as i32;
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let mut ticks = Vec::new();
        for power in first..=last {
            for digit in 1..10 {
                let value = f64::from(digit) * 10_f64.powi(power);
                if value < self.low * (1.0 - 1e-9) || value > self.high * (1.0 + 1e-9) {
                    continue;
                }
                let label = labelled.contains(&digit)
                    || (labelled.is_empty() && digit == 1 && power.rem_euclid(every) == 0);
                if decade >= 40.0 || digit == 1 {
                    let label = label.then(|| significant(value, 2));
                    ticks.push(Tick { value, label });
                }
            }
        }
        if ticks.iter().filter(|tick| tick.label.is_some()).count() < FEWEST_LABELS {
            // Less than a decade: round numbers at equal distances tell more than powers.
            return self.linear_ticks(pixels.max(240.0));
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, pixels: f64) -> Vec<String> {
        axis.ticks(pixels).into_iter().filter_map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        let axis = Axis { kind: Kind::Linear, low: 0.0, high: 212.0, title: String::new() };
        assert_eq!(labels(&axis, 300.0), ["0", "50", "100", "150", "200"]);
        let axis = Axis { kind: Kind::Linear, low: -32.0, high: 5.0, title: String::new() };
        assert_eq!(labels(&axis, 250.0), ["−30", "−20", "−10", "0"]);
    }

    #[test]
    fn logarithmic_ticks_follow_the_room() {
        let axis = Axis { kind: Kind::Logarithmic, low: 0.5, high: 50.0, title: String::new() };
        assert_eq!(labels(&axis, 400.0), ["0.5", "1", "2", "5", "10", "20", "50"]);
        assert_eq!(labels(&axis, 200.0), ["1", "10"]);
        let wide = Axis { kind: Kind::Logarithmic, low: 1e-4, high: 1e4, title: String::new() };
        assert_eq!(labels(&wide, 200.0), ["0.0001", "0.01", "1", "100", "10,000"]);
        assert!((axis.position(5.0) - 0.5).abs() < 1e-12);
        let narrow = Axis { kind: Kind::Logarithmic, low: 2.2, high: 7.9, title: String::new() };
        assert_eq!(labels(&narrow, 150.0), ["4", "6"]);
        assert_eq!(labels(&narrow, 500.0), ["3", "4", "5", "6", "7"]);
    }
}
