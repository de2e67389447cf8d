//! The effect of each parameter on a result: bars to both sides, the longest on top.

use crate::axis::Axis;
use crate::draw::DrawError;
use crate::font::Weight;
use crate::geometry::{Rect, point};
use crate::layout::{Entry, Key, LABEL_SIZE, Page, SMALL_SIZE, horizontal_axis, shortened, widest};
use crate::number::percent;
use crate::scene::{Anchor, Scene, Text};
use crate::theme::Ink;

/// The effect of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The parameter.
    pub name: String,
    /// The relative change of the result when the parameter is lowered.
    pub lowered: f64,
    /// The relative change of the result when it is raised.
    pub raised: f64,
}

impl Effect {
    fn reach(&self) -> f64 {
        self.lowered.abs().max(self.raised.abs())
    }
}

/// A tornado chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tornado {
    /// The title.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// The quantity of the bars, in percent.
    pub axis: String,
    /// The meaning of lowering and raising: `10 % less`, `10 % more`.
    pub changes: [String; 2],
    /// In any order; those without effect are named below the picture.
    pub effects: Vec<Effect>,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 900.0;
const ROW: f64 = 34.0;
const THICKNESS: f64 = 13.0;
/// Changes below this are no effect.
const LEAST: f64 = 5e-5;

impl Tornado {
    /// Lays the picture out.
    ///
    /// # Errors
    ///
    /// When no parameter has an effect, or one is not finite.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        if let Some(odd) = self.effects.iter().find(|effect| !effect.reach().is_finite()) {
            return Err(DrawError::Nothing(format!("the effect of {} is not finite", odd.name)));
        }
        let (mut effects, idle): (Vec<&Effect>, Vec<&Effect>) =
            self.effects.iter().partition(|effect| effect.reach() >= LEAST);
        if effects.is_empty() {
            return Err(DrawError::Nothing("no parameter has an effect".to_owned()));
        }
        effects.sort_by(|a, b| b.reach().total_cmp(&a.reach()).then_with(|| a.name.cmp(&b.name)));
        let mut notes = self.notes.clone();
        if !idle.is_empty() {
            let names: Vec<&str> = idle.iter().map(|effect| effect.name.as_str()).collect();
            notes.push(format!("Without effect: {}.", names.join(", ")));
        }
        let below = SMALL_SIZE + LABEL_SIZE * 1.45 + 16.0;
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: vec![
                Entry::new(Key::Patch(Ink::Series(1)), self.changes[0].as_str()),
                Entry::new(Key::Patch(Ink::Series(0)), self.changes[1].as_str()),
            ],
            notes,
        };
        let (mut scene, body) = page.canvas(WIDTH, effects.len() as f64 * ROW + below);
        let names =
            widest(effects.iter().map(|effect| effect.name.as_str()), LABEL_SIZE).min(280.0);
        let plot =
            Rect::new(body.left + names + 14.0, body.top, body.right - 14.0, body.bottom - below);
        let values = effects.iter().flat_map(|effect| [effect.lowered, effect.raised]);
        let mut axis = Axis::around_zero(values.map(|value| value * 100.0), &self.axis);
        let room = (axis.high - axis.low) * 0.12;
        axis.low -= room;
        axis.high += room;
        horizontal_axis(&mut scene, plot, &axis);
        let x = |change: f64| plot.left + axis.position(change * 100.0) * plot.width();
        scene.line(point(x(0.0), plot.top), point(x(0.0), plot.bottom), 1.2, Ink::Axis);
        for (at, effect) in effects.iter().enumerate() {
            let middle = body.top + (at as f64 + 0.5) * ROW;
            let name = shortened(&effect.name, LABEL_SIZE, Weight::Regular, names);
            let base = point(plot.left - 10.0, middle + LABEL_SIZE * 0.36);
            scene.text(Text::new(name, base, Anchor::End, LABEL_SIZE));
            for (change, top, ink) in [
                (effect.lowered, middle - THICKNESS, Ink::Series(1)),
                (effect.raised, middle, Ink::Series(0)),
            ] {
                let end = x(change);
                let bar =
                    Rect::new(x(0.0).min(end), top + 0.5, x(0.0).max(end), top + THICKNESS - 0.5);
                scene.rect(bar, ink);
                let step = &self.changes[usize::from(top == middle)];
                let words = format!("{} {step}: {}", effect.name, percent(change, 2));
                // Thin bars can be pointed at, too.
                scene.reading(
                    Rect::new(bar.left - 2.0, top, bar.right + 2.0, top + THICKNESS),
                    words,
                );
                let (anchor, beside) =
                    if change < 0.0 { (Anchor::End, -5.0) } else { (Anchor::Start, 5.0) };
                let at_text = point(end + beside, top + THICKNESS / 2.0 + SMALL_SIZE * 0.36);
                let sign = if change > 0.0 { "+" } else { "" };
                let words = format!("{sign}{}", percent(change, 1));
                scene.text(Text::new(words, at_text, anchor, SMALL_SIZE));
            }
        }
        Ok(scene)
    }
}
