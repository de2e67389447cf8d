//! The part of a simulation that is shown, and how large its file may be.

use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use gpucast_forecast::Report;
use gpucast_model::sm_simulation::recording::Recording;

/// Some numbers from 0 on: all, or `0,5-7`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers(Option<Vec<RangeInclusive<u32>>>);

impl Numbers {
    /// True if a number is meant.
    #[must_use]
    pub fn has(&self, number: u32) -> bool {
        self.0.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&number)))
    }
}

impl FromStr for Numbers {
    type Err = String;

    /// Reads `all`, or numbers and ranges between commas.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "all" {
            return Ok(Self(None));
        }
        let wrong = |part: &str| format!("`{part}` is neither a number nor a range such as 5-7");
        let number = |part: &str| part.trim().parse::<u32>().map_err(|_| wrong(part));
        let range = |part: &str| match part.split_once('-') {
            None => number(part).map(|number| number..=number),
            Some((first, last)) => match number(first)?..=number(last)? {
                range if range.is_empty() => Err(format!("`{part}` ends before it begins")),
                range => Ok(range),
            },
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(|ranges| Self(Some(ranges)))
    }
}

/// What is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The simulated SMs, the one that ends last first.
    pub sms: Numbers,
    /// The CTAs of each SM, in the order of their starts.
    pub ctas: Numbers,
    /// The first clock.
    pub from: f64,
    /// The clock behind the last one.
    pub until: f64,
    /// Bytes of the file that a CTA may take, on average.
    pub bytes_of_cta: u64,
}

impl Default for Selection {
    /// Everything, in up to 50 MB for each CTA.
    fn default() -> Self {
        let (sms, ctas) = (Numbers::default(), Numbers::default());
        Self { sms, ctas, from: 0.0, until: f64::INFINITY, bytes_of_cta: 50_000_000 }
    }
}

impl Selection {
    /// The SMs that are shown, with their numbers.
    pub(super) fn sms<'a>(
        &'a self,
        sms: &'a [Recording],
    ) -> impl Iterator<Item = (u32, &'a Recording)> {
        (0..).zip(sms).filter(|(number, _)| self.sms.has(*number))
    }

    /// True if a CTA of an SM is shown: some of its clocks are.
    pub(super) fn has_cta(&self, recording: &Recording, number: u32) -> bool {
        let cta = recording.ctas.get(number as usize);
        let is_then = |started: u64, ended: u64| {
            (started as f64) < self.until && ended as f64 + 1.0 > self.from
        };
        self.ctas.has(number) && cta.is_some_and(|cta| is_then(cta.started, cta.ended))
    }

    /// The clocks that an SM's own tracks show: those of the CTAs, if only some are shown.
    pub(super) fn clocks_of(&self, recording: &Recording) -> Range<f64> {
        let all = self.from..self.until;
        if self.ctas == Numbers::default() {
            return all;
        }
        let ctas =
            (0..).zip(&recording.ctas).filter(|(number, _)| self.has_cta(recording, *number));
        let clocks = ctas.map(|(_, cta)| (cta.started as f64)..(cta.ended as f64 + 1.0));
        let whole = clocks.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
        whole.map_or(all.clone(), |whole| whole.start.max(all.start)..whole.end.min(all.end))
    }

    /// The number of CTAs that are shown.
    ///
    /// # Errors
    ///
    /// If there are none. The report says which there are.
    pub(super) fn check(&self, sms: &[Recording]) -> Result<usize, Report> {
        let shown = |(_, recording): (u32, &Recording)| {
            let numbers = 0..recording.ctas.len() as u32;
            numbers.filter(|&number| self.has_cta(recording, number)).count()
        };
        let ctas: usize = self.sms(sms).map(shown).sum();
        if ctas > 0 {
            return Ok(ctas);
        }
        let simulated = |(number, recording): (usize, &Recording)| {
            let last = recording.ctas.len().saturating_sub(1);
            format!("SM {number} has CTAs 0 to {last} and {:.0} clocks", recording.end)
        };
        let simulated: Vec<String> = sms.iter().enumerate().map(simulated).collect();
        let report = Report::new("no simulated CTA is among those that are asked for");
        Err(report.hint(format!("of those simulated, {}", simulated.join("; "))))
    }

    /// Bytes that the file of some CTAs may have.
    pub(super) fn most_bytes(&self, ctas: usize) -> u64 {
        self.bytes_of_cta.saturating_mul(ctas as u64)
    }

    /// The report that they are not enough.
    pub(super) fn too_large(&self, ctas: usize) -> Report {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let message = format!(
            "the timeline is larger than {} MB: {ctas} × {} MB, the limit of a CTA",
            megabytes(self.most_bytes(ctas)),
            megabytes(self.bytes_of_cta)
        );
        Report::new(message)
            .hint("--clocks 0..20000 shows less of each CTA, and --limit 200MB lets each take more")
    }
}

#[cfg(test)]
mod tests {
    use gpucast_model::sm_simulation::recording::Cta;

    use super::*;

    #[test]
    fn numbers_are_all_or_some_and_ranges() {
        let shown = |text: &str| -> Vec<u32> {
            let numbers = text.parse::<Numbers>().unwrap();
            (0..10).filter(|&number| numbers.has(number)).collect()
        };
        assert_eq!(shown("all").len(), 10);
        assert_eq!(shown("0,5-7"), [0, 5, 6, 7]);
        assert_eq!(shown(" 2 , 9-9"), [2, 9]);
        for wrong in ["", "x", "-1", "3-1", "1,,2", "1-", "1.5"] {
            assert!(wrong.parse::<Numbers>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_sm_shows_the_clocks_of_the_ctas_that_are_chosen() {
        let cta = |started, ended| Cta { class: 0, sample: 0, started, ended };
        let ctas = vec![cta(0, 99), cta(10, 149), cta(120, 300)];
        let recording = Recording { ctas, ..Recording::default() };
        let clocks = |ctas: &str, from, until| {
            let ctas = ctas.parse().unwrap();
            let selection = Selection { ctas, from, until, ..Selection::default() };
            selection.clocks_of(&recording)
        };
        assert_eq!(clocks("all", 0.0, f64::INFINITY), 0.0..f64::INFINITY);
        assert_eq!(clocks("1", 0.0, f64::INFINITY), 10.0..150.0);
        assert_eq!(clocks("0-1", 20.0, 200.0), 20.0..150.0);
        assert_eq!(clocks("1,2", 50.0, 130.0), 50.0..130.0);
        // A CTA that has ended before is not shown.
        assert_eq!(clocks("0,2", 200.0, 250.0), 200.0..250.0);
    }
}
