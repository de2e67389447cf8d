//! The lanes of a warp on its way through a kernel.

use super::lane_words;
use crate::draw::DrawError;
use crate::font::Weight;
use crate::geometry::{Rect, point};
use crate::layout::{Entry, Key, Page, SMALL_SIZE, shortened, widest};
use crate::scene::{Anchor, Reading, Scene, Text};
use crate::theme::Ink;

/// Instructions that the warp executes one after the other with the same lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The place of the first of them.
    pub name: String,
    /// The text of the source there.
    pub text: String,
    /// The lanes on the way.
    pub lanes: u32,
    /// The number of the instructions.
    pub instructions: u64,
}

/// The way of a warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// The title.
    pub title: String,
    /// Sentences below it.
    pub subtitle: String,
    /// At least one, in the order of their execution.
    pub steps: Vec<Step>,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 1000.0;
const LANES: u32 = 32;
/// Pixels of a step.
const ROW: f64 = 18.0;
/// Pixels above the first step, for the numbers of lanes.
const HEAD: f64 = 22.0;
/// Pixels of a lane.
const COLUMN: f64 = 13.0;
/// Pixels of the column of instructions.
const COUNT: f64 = 60.0;
const LONGEST_NAME: f64 = 150.0;

impl Lanes {
    /// Lays the picture out: a row a step from top to bottom, a column a lane.
    ///
    /// # Errors
    ///
    /// Without steps.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        if self.steps.is_empty() {
            return Err(DrawError::Nothing("the warp executes nothing".to_owned()));
        }
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: vec![
                Entry::new(Key::Patch(Ink::Series(0)), "lane on the way"),
                Entry::new(Key::Patch(Ink::Faint), "lane elsewhere, or ended"),
            ],
            notes: self.notes.clone(),
        };
        let (mut scene, body) = page.canvas(WIDTH, HEAD + self.steps.len() as f64 * ROW);
        let names = self.steps.iter().map(|step| step.name.as_str());
        let beside = widest(names, SMALL_SIZE).min(LONGEST_NAME) + 10.0;
        let left = body.left + beside;
        let counts = left + f64::from(LANES) * COLUMN + COUNT;
        for lane in (0..LANES).step_by(4) {
            let at = point(left + (f64::from(lane) + 0.5) * COLUMN, body.top + HEAD - 7.0);
            let text = Text::new(lane.to_string(), at, Anchor::Middle, SMALL_SIZE);
            scene.text(text.ink(Ink::Muted));
        }
        let at = point(counts, body.top + HEAD - 7.0);
        scene.text(Text::new("instructions", at, Anchor::End, SMALL_SIZE).ink(Ink::Muted));
        for (at, step) in self.steps.iter().enumerate() {
            let top = body.top + HEAD + at as f64 * ROW;
            draw_lanes(&mut scene, step, point(left, top));
            let base = top + ROW / 2.0 + SMALL_SIZE * 0.36;
            let name = shortened(&step.name, SMALL_SIZE, Weight::Regular, LONGEST_NAME);
            let at = point(left - 8.0, base);
            scene.text(Text::new(name, at, Anchor::End, SMALL_SIZE).ink(Ink::Muted));
            let count = step.instructions.to_string();
            scene.text(Text::new(count, point(counts, base), Anchor::End, SMALL_SIZE));
            let room = body.right - counts - 16.0;
            let text = shortened(step.text.trim(), SMALL_SIZE, Weight::Regular, room);
            let at = point(counts + 16.0, base);
            scene.text(Text::new(text, at, Anchor::Start, SMALL_SIZE).ink(Ink::Muted));
            let area = Rect::new(body.left, top, body.right, top + ROW);
            let words = format!(
                "{}: {} instructions, lanes {}",
                step.name,
                step.instructions,
                lane_words(step.lanes)
            );
            scene.readings.push(Reading { area, words });
        }
        Ok(scene)
    }
}

fn draw_lanes(scene: &mut Scene, step: &Step, corner: crate::geometry::Point) {
    for lane in 0..LANES {
        let left = corner.x + f64::from(lane) * COLUMN;
        let area = Rect::new(left + 0.6, corner.y + 1.0, left + COLUMN - 0.6, corner.y + ROW - 1.0);
        let is_on = step.lanes >> lane & 1 == 1;
        scene.rect(area, if is_on { Ink::Series(0) } else { Ink::Faint });
    }
}
