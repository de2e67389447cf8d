//! Predicted times beside measured ones, and the error of each.

use crate::axis::Axis;
use crate::draw::DrawError;
use crate::font::Weight;
use crate::geometry::{Rect, point};
use crate::layout::{Entry, Key, LABEL_SIZE, Page, SMALL_SIZE, horizontal_axis, shortened, widest};
use crate::number::percent;
use crate::scene::{Anchor, Mark, Scene, Text};
use crate::theme::Ink;

/// A measured time with the predictions of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Rows of the same group stand together under its name.
    pub group: String,
    /// The name that tells the row from others of the group.
    pub name: String,
    /// Milliseconds.
    pub measured_ms: f64,
    /// Milliseconds, one for each of [`Errors::series`]; `None` if there is no prediction.
    pub predicted_ms: Vec<Option<f64>>,
}

/// A picture of errors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    /// The title.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// The names of the predictors, at least one.
    pub series: Vec<String>,
    /// At least one, groups together.
    pub rows: Vec<Row>,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

impl Row {
    /// The error of a prediction: (predicted − measured) / measured (Konstantinidis 2017, eq.
    /// 5.12).
    #[must_use]
    pub fn error(&self, series: usize) -> Option<f64> {
        let predicted = self.predicted_ms.get(series).copied().flatten()?;
        Some((predicted - self.measured_ms) / self.measured_ms)
    }
}

const WIDTH: f64 = 900.0;
/// Pixels of a row with one series; each further one adds [`BAR`].
const ROW: f64 = 24.0;
const BAR: f64 = 15.0;
const GROUP: f64 = 30.0;

impl Errors {
    /// Lays the picture out: times on the left, errors on the right.
    ///
    /// # Errors
    ///
    /// Without rows, or with a time that is not greater than zero.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        if self.rows.is_empty() || self.series.is_empty() {
            return Err(DrawError::Nothing(
                "no prediction has a measured time beside it".to_owned(),
            ));
        }
        let is_time = |ms: f64| ms.is_finite() && ms > 0.0;
        for row in &self.rows {
            let mut times = row.predicted_ms.iter().flatten().copied().chain([row.measured_ms]);
            if let Some(ms) = times.find(|ms| !is_time(*ms)) {
                let why = format!("{} {}: {ms} ms is no time", row.group, row.name);
                return Err(DrawError::Nothing(why));
            }
        }
        let row_height = ROW + BAR * (self.series.len() - 1) as f64;
        let groups = self.groups();
        let below = SMALL_SIZE + LABEL_SIZE * 1.45 + 16.0;
        let height = groups as f64 * GROUP + self.rows.len() as f64 * row_height + below;
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: self.legend(),
            notes: self.notes(),
        };
        let (mut scene, body) = page.canvas(WIDTH, height);
        let names = widest(self.rows.iter().map(|row| row.name.as_str()), LABEL_SIZE).min(190.0);
        let left = body.left + names + 14.0;
        let middle = left + (body.right - left) * 0.55;
        let plot_bottom = body.bottom - below;
        let times = Rect::new(left, body.top, middle - 22.0, plot_bottom);
        let errors = Rect::new(middle + 22.0, body.top, body.right - 14.0, plot_bottom);

        let all_times = self
            .rows
            .iter()
            .flat_map(|row| row.predicted_ms.iter().flatten().copied().chain([row.measured_ms]));
        let time_axis = Axis::logarithmic(all_times, (1.25, 1.25), "time (ms, logarithmic)");
        let all_errors = (0..self.series.len())
            .flat_map(|at| self.rows.iter().filter_map(move |row| row.error(at)))
            .map(|error| error * 100.0);
        let mut error_axis = Axis::around_zero(all_errors, "error of the prediction (%, eq. 5.12)");
        // Room for the numbers beyond the ends of the bars.
        let room = (error_axis.high - error_axis.low) * 0.22;
        error_axis.low -= room;
        error_axis.high += room;
        horizontal_axis(&mut scene, times, &time_axis);
        horizontal_axis(&mut scene, errors, &error_axis);
        let zero = errors.left + error_axis.position(0.0) * errors.width();
        scene.line(point(zero, errors.top), point(zero, errors.bottom), 1.2, Ink::Axis);

        let mut y = body.top;
        let mut group: Option<&str> = None;
        for row in &self.rows {
            if group != Some(&row.group) {
                group = Some(&row.group);
                let at = point(body.left, y + GROUP - 10.0);
                let room = times.right - body.left;
                let name = shortened(&row.group, LABEL_SIZE, Weight::SemiBold, room);
                let mut text = Text::new(name, at, Anchor::Start, LABEL_SIZE).bold();
                text.patch = true;
                scene.text(text);
                y += GROUP;
            }
            let center = y + row_height / 2.0;
            let name = shortened(&row.name, LABEL_SIZE, Weight::Regular, names);
            let at = point(left - 10.0, center + LABEL_SIZE * 0.36);
            scene.text(Text::new(name, at, Anchor::End, LABEL_SIZE));
            draw_times(&mut scene, row, (times, &time_axis), center);
            self.draw_errors(&mut scene, row, (errors, &error_axis), center);
            y += row_height;
        }
        Ok(scene)
    }

    fn groups(&self) -> usize {
        let mut groups = 0;
        let mut last = None;
        for row in &self.rows {
            if last != Some(&row.group) {
                groups += 1;
                last = Some(&row.group);
            }
        }
        groups
    }

    fn legend(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self
            .series
            .iter()
            .enumerate()
            .map(|(at, name)| {
                Entry::new(Key::Mark(Mark::of_series(at), Ink::Series(at)), name.as_str())
            })
            .collect();
        entries.push(Entry::new(Key::Mark(Mark::Cross, Ink::Text), "measured"));
        entries
    }

    /// The mean of the errors' amounts of each series.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (at, name) in self.series.iter().enumerate() {
            let amounts: Vec<f64> =
                self.rows.iter().filter_map(|row| row.error(at)).map(f64::abs).collect();
            if !amounts.is_empty() {
                let mean = amounts.iter().sum::<f64>() / amounts.len() as f64;
                let greatest = amounts.iter().copied().fold(0.0, f64::max);
                notes.push(format!(
                    "{name}: mean of the errors' amounts {} over {} times, the greatest {}.",
                    percent(mean, 1),
                    amounts.len(),
                    percent(greatest, 1)
                ));
            }
        }
        notes.extend(self.notes.iter().cloned());
        notes
    }

    fn draw_errors(&self, scene: &mut Scene, row: &Row, (plot, axis): (Rect, &Axis), center: f64) {
        let x = |percent: f64| plot.left + axis.position(percent) * plot.width();
        let top = center - BAR * self.series.len() as f64 / 2.0;
        for at in 0..self.series.len() {
            let Some(error) = row.error(at) else { continue };
            let (zero, end) = (x(0.0), x(error * 100.0));
            let bar_top = top + BAR * at as f64 + 1.0;
            let bar = Rect::new(zero.min(end), bar_top, zero.max(end), bar_top + BAR - 2.0);
            scene.rect(bar, Ink::Series(at));
            let (anchor, label_x) =
                if error < 0.0 { (Anchor::End, end - 5.0) } else { (Anchor::Start, end + 5.0) };
            let base = bar_top + (BAR - 2.0) / 2.0 + SMALL_SIZE * 0.36;
            scene.text(Text::new(percent(error, 1), point(label_x, base), anchor, SMALL_SIZE));
        }
    }
}

fn draw_times(scene: &mut Scene, row: &Row, (plot, axis): (Rect, &Axis), center: f64) {
    let x = |ms: f64| plot.left + axis.position(ms) * plot.width();
    let times = || row.predicted_ms.iter().flatten().copied().chain([row.measured_ms]);
    let least = times().fold(f64::INFINITY, f64::min);
    let greatest = times().fold(0.0, f64::max);
    scene.line(point(x(least), center), point(x(greatest), center), 1.2, Ink::Axis);
    // Each prediction is level with the bar of its error.
    let top = center - BAR * (row.predicted_ms.len() as f64 - 1.0) / 2.0;
    for (at, predicted) in row.predicted_ms.iter().enumerate() {
        if let Some(predicted) = predicted {
            let place = point(x(*predicted), top + BAR * at as f64);
            scene.mark(Mark::of_series(at), place, 4.5, Ink::Series(at));
        }
    }
    scene.mark(Mark::Cross, point(x(row.measured_ms), center), 4.5, Ink::Text);
}
