//! Component times of the stages between barriers, side by side in the order in which they pass
//! (Zhang & Owens 2011, figures 4 to 8).

use crate::axis::Axis;
use crate::draw::DrawError;
use crate::font::{self, Weight};
use crate::geometry::{Rect, point};
use crate::layout::{Entry, Key, LABEL_SIZE, Page, Panel, SMALL_SIZE};
use crate::number::TimeUnit;
use crate::scene::{Anchor, Mark, Scene, Text};
use crate::theme::Ink;

/// A stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Its name: a number, as a rule.
    pub name: String,
    /// The time that each of [`Stages::series`] is busy, in milliseconds.
    pub parts: Vec<f64>,
    /// The time that the stage adds to the kernel's, in milliseconds.
    pub time_ms: f64,
}

/// The stages of a kernel on a GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stages {
    /// The title.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// The components.
    pub series: Vec<String>,
    /// At least one.
    pub stages: Vec<Stage>,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;

impl Stages {
    /// Lays the picture out: a stack of components for each stage, with its time marked.
    ///
    /// # Errors
    ///
    /// Without stages, or with a time that is negative or not finite.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        if self.stages.is_empty() {
            return Err(DrawError::Nothing("no stages".to_owned()));
        }
        for stage in &self.stages {
            let mut times = stage.parts.iter().chain([&stage.time_ms]);
            if let Some(time) = times.find(|time| !(time.is_finite() && **time >= 0.0)) {
                let why = format!("stage {} takes {time} ms", stage.name);
                return Err(DrawError::Nothing(why));
            }
        }
        let used = |at: usize| {
            self.stages.iter().any(|stage| stage.parts.get(at).is_some_and(|p| *p > 0.0))
        };
        let series = self.series.iter().enumerate().filter(|(at, _)| used(*at));
        let mut legend: Vec<Entry> = series
            .map(|(at, name)| Entry::new(Key::Patch(Ink::Series(at)), name.as_str()))
            .collect();
        legend.push(Entry::new(Key::Mark(Mark::Diamond, Ink::Text), "time of the stage"));
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend,
            notes: self.notes.clone(),
        };
        let (mut scene, body) = page.canvas(WIDTH, HEIGHT);
        let heights =
            self.stages.iter().map(|stage| stage.parts.iter().sum::<f64>().max(stage.time_ms));
        let unit = TimeUnit::of(heights.clone());
        let y = Axis::from_zero(
            heights.map(|height| height * unit.per_ms),
            &format!("busy time, stacked ({})", unit.symbol),
        );
        // The numbers of stages stand in the middle of their columns; the axis itself has none.
        let x = Axis { low: 0.0, high: self.stages.len() as f64, ..Axis::from_zero([], "") };
        let panel = Panel::without_x_numbers(&mut scene, body, x, y);
        let pitch = panel.plot.width() / self.stages.len() as f64;
        let thickness = (pitch * 0.72).min(70.0);
        let mut free_from = f64::NEG_INFINITY;
        for (at, stage) in self.stages.iter().enumerate() {
            let middle = panel.plot.left + (at as f64 + 0.5) * pitch;
            let (left, right) = (middle - thickness / 2.0, middle + thickness / 2.0);
            let mut sum = 0.0;
            for (part, time) in stage.parts.iter().map(|time| time * unit.per_ms).enumerate() {
                let (bottom, top) = (panel.y_pixel(sum), panel.y_pixel(sum + time));
                sum += time;
                if bottom - top > 0.05 {
                    let inner = if bottom - top > 3.0 { top + 0.8 } else { top };
                    scene.rect(Rect::new(left, inner, right, bottom), Ink::Series(part));
                }
            }
            let level = panel.y_pixel(stage.time_ms * unit.per_ms);
            scene.line(point(left - 2.0, level), point(right + 2.0, level), 2.0, Ink::Text);
            if thickness > 14.0 {
                scene.mark(Mark::Diamond, point(middle, level), 3.5, Ink::Text);
            }
            let half = font::width(&stage.name, SMALL_SIZE, Weight::Regular) / 2.0;
            if middle - half >= free_from {
                free_from = middle + half + 6.0;
                let base = point(middle, panel.plot.bottom + SMALL_SIZE + 6.0);
                let text = Text::new(stage.name.as_str(), base, Anchor::Middle, SMALL_SIZE);
                scene.text(text.ink(Ink::Muted));
            }
        }
        let base = point((panel.plot.left + panel.plot.right) / 2.0, body.bottom - 5.0);
        scene.text(Text::new("stage between barriers", base, Anchor::Middle, LABEL_SIZE));
        Ok(scene)
    }
}
