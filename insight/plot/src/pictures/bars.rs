//! Horizontal bars made of parts: times by component, instructions by class.

use crate::axis::Axis;
use crate::draw::DrawError;
use crate::font::{self, Weight};
use crate::geometry::{Rect, point};
use crate::layout::{Entry, Key, LABEL_SIZE, Page, SMALL_SIZE, horizontal_axis, shortened, widest};
use crate::number::{percent, significant};
use crate::scene::{Anchor, Mark, Scene, Text};
use crate::theme::{Ink, SERIES};

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Bars of the same group stand together under its name.
    pub group: String,
    /// The name that tells the bar from others of the group.
    pub name: String,
    /// One value for each of [`Bars::series`]; none is negative.
    pub parts: Vec<f64>,
    /// A value that is marked on the bar.
    pub marked: Option<f64>,
    /// The text behind the bar.
    pub remark: String,
}

/// The length of bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Length {
    /// As long as their values.
    #[default]
    Values,
    /// All equally long: parts are shares.
    Shares,
}

/// Bars with a legend and an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// The title.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// The names of the parts, at least one.
    pub series: Vec<String>,
    /// The quantity of the axis, with its unit.
    pub axis: String,
    /// The meaning of [`Bar::marked`].
    pub mark: String,
    /// At least one, groups together.
    pub bars: Vec<Bar>,
    /// The length of the bars.
    pub length: Length,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 900.0;
const ROW: f64 = 30.0;
const THICKNESS: f64 = 19.0;
const GROUP: f64 = 30.0;

/// The middle of a number of a width on the part of a bar. It is the part's own middle, or that of
/// the wider side of a mark that would cross the number. Returns `None` if there is no room.
fn free_centre((from, to): (f64, f64), mark: Option<f64>, width: f64) -> Option<f64> {
    /// Empty pixels on either side of a number.
    const ROOM: f64 = 4.0;
    let fits = |(from, to): (f64, f64)| to - from >= width + 2.0 * ROOM;
    let centre = (from + to) / 2.0;
    let crossed = mark.filter(|mark| (mark - centre).abs() < width / 2.0 + ROOM);
    let space = match crossed {
        Some(mark) if mark - from > to - mark => (from, mark),
        Some(mark) => (mark, to),
        None => (from, to),
    };
    fits(space).then_some((space.0 + space.1) / 2.0)
}

/// The unit that a title of an axis ends with in brackets.
fn unit_of(axis: &str) -> String {
    let unit = axis.rsplit_once(" (").and_then(|(_, unit)| unit.strip_suffix(')'));
    unit.map_or_else(String::new, |unit| format!(" {unit}"))
}

impl Bars {
    /// Lays the picture out.
    ///
    /// # Errors
    ///
    /// Without bars, or with a part that is negative or not finite.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        if self.bars.is_empty() {
            return Err(DrawError::Nothing("no bars".to_owned()));
        }
        for bar in &self.bars {
            if let Some(part) = bar.parts.iter().find(|part| !(part.is_finite() && **part >= 0.0)) {
                let why = format!("{} {}: a part is {part}", bar.group, bar.name);
                return Err(DrawError::Nothing(why));
            }
        }
        let below = SMALL_SIZE + LABEL_SIZE * 1.45 + 16.0;
        let groups = self.group_starts().filter(|starts| *starts).count();
        let height = groups as f64 * GROUP + self.bars.len() as f64 * ROW + below;
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: self.legend(),
            notes: self.notes.clone(),
        };
        let (mut scene, body) = page.canvas(WIDTH, height);
        let names = widest(self.bars.iter().map(|bar| bar.name.as_str()), LABEL_SIZE).min(260.0);
        let remarks = widest(self.bars.iter().map(|bar| bar.remark.as_str()), SMALL_SIZE);
        let plot = Rect::new(
            body.left + names + 14.0,
            body.top,
            body.right - 14.0 - if remarks > 0.0 { remarks + 8.0 } else { 0.0 },
            body.bottom - below,
        );
        let axis = match self.length {
            Length::Values => Axis::from_zero(
                self.bars
                    .iter()
                    .map(|bar| bar.parts.iter().sum::<f64>().max(bar.marked.unwrap_or(0.0))),
                &self.axis,
            ),
            Length::Shares => {
                let mut axis = Axis::from_zero([100.0], &self.axis);
                axis.high = 100.0;
                axis
            }
        };
        horizontal_axis(&mut scene, plot, &axis);
        let mut y = body.top;
        for (bar, starts) in self.bars.iter().zip(self.group_starts()) {
            if starts {
                let room = plot.right - body.left;
                let name = shortened(&bar.group, LABEL_SIZE, Weight::SemiBold, room);
                let at = point(body.left, y + GROUP - 9.0);
                let mut text = Text::new(name, at, Anchor::Start, LABEL_SIZE).bold();
                text.patch = true;
                scene.text(text);
                y += GROUP;
            }
            let middle = y + ROW / 2.0;
            let base = middle + LABEL_SIZE * 0.36;
            let name = shortened(&bar.name, LABEL_SIZE, Weight::Regular, names);
            let at = point(plot.left - 10.0, base);
            scene.text(Text::new(name, at, Anchor::End, LABEL_SIZE));
            self.draw_bar(&mut scene, bar, (plot, &axis), middle);
            y += ROW;
        }
        Ok(scene)
    }

    /// For each bar, true if it is the first of its group; unnamed groups have no name to show.
    fn group_starts(&self) -> impl Iterator<Item = bool> {
        self.bars.iter().enumerate().map(|(at, bar)| {
            !bar.group.is_empty() && (at == 0 || self.bars[at - 1].group != bar.group)
        })
    }

    fn legend(&self) -> Vec<Entry> {
        let used =
            |at: usize| self.bars.iter().any(|bar| bar.parts.get(at).is_some_and(|p| *p > 0.0));
        let series = self.series.iter().enumerate().filter(|(at, _)| used(*at));
        let mut entries: Vec<Entry> = series
            .map(|(at, name)| Entry::new(Key::Patch(Ink::Series(at)), name.as_str()))
            .collect();
        if self.bars.iter().any(|bar| bar.marked.is_some()) {
            entries.push(Entry::new(Key::Mark(Mark::Diamond, Ink::Text), self.mark.as_str()));
        }
        entries
    }

    /// A part in words.
    fn words(&self, bar: &Bar, at: usize, length: f64) -> String {
        let value = match self.length {
            Length::Values => significant(length, 4),
            Length::Shares => percent(length / 100.0, 1),
        };
        let series = self.series.get(at).map_or("", String::as_str);
        let names = [bar.group.as_str(), bar.name.as_str(), series];
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let unit = match self.length {
            Length::Values => unit_of(&self.axis),
            Length::Shares => String::new(),
        };
        format!("{}: {value}{unit}", names.join(", "))
    }

    fn draw_bar(&self, scene: &mut Scene, bar: &Bar, (plot, axis): (Rect, &Axis), middle: f64) {
        let total: f64 = bar.parts.iter().sum();
        let scale = match self.length {
            Length::Values => 1.0,
            Length::Shares if total > 0.0 => 100.0 / total,
            Length::Shares => 0.0,
        };
        let x = |value: f64| plot.left + axis.position(value) * plot.width();
        let (top, bottom) = (middle - THICKNESS / 2.0, middle + THICKNESS / 2.0);
        let mut sum = 0.0;
        for (at, part) in bar.parts.iter().enumerate() {
            let (from, to) = (x(sum), x(sum + part * scale));
            sum += part * scale;
            if to - from < 0.05 {
                continue;
            }
            // A hair of paper between neighbours of the same lightness.
            let inner = if to - from > 3.0 { to - 0.8 } else { to };
            let area = Rect::new(from, top, inner, bottom);
            scene.rect(area, Ink::Series(at));
            scene.reading(area, self.words(bar, at, part * scale));
            let words = match self.length {
                Length::Values => significant(*part, 3),
                Length::Shares => percent(part * scale / 100.0, 0),
            };
            let width = font::width(&words, SMALL_SIZE, Weight::Regular);
            if let Some(centre) = free_centre((from, to), bar.marked.map(x), width) {
                let at_text = point(centre, middle + SMALL_SIZE * 0.36);
                let text = Text::new(words, at_text, Anchor::Middle, SMALL_SIZE);
                scene.text(text.ink(Ink::OnSeries(at % SERIES)));
            }
        }
        if let Some(marked) = bar.marked {
            let at = x(marked);
            scene.line(point(at, top - 4.0), point(at, bottom + 4.0), 2.0, Ink::Text);
            scene.mark(Mark::Diamond, point(at, bottom + 4.0), 3.5, Ink::Text);
        }
        if !bar.remark.is_empty() {
            let at = point(plot.right + 14.0, middle + SMALL_SIZE * 0.36);
            let text = Text::new(bar.remark.as_str(), at, Anchor::Start, SMALL_SIZE);
            scene.text(text.ink(Ink::Muted));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_pushes_numbers_aside_or_away() {
        assert_eq!(free_centre((0.0, 100.0), None, 40.0), Some(50.0));
        assert_eq!(free_centre((0.0, 100.0), Some(80.0), 40.0), Some(50.0));
        assert_eq!(free_centre((0.0, 100.0), Some(60.0), 40.0), Some(30.0));
        assert_eq!(free_centre((0.0, 100.0), Some(45.0), 40.0), Some(72.5));
        assert_eq!(free_centre((0.0, 80.0), Some(40.0), 40.0), None);
        assert_eq!(free_centre((0.0, 47.0), None, 40.0), None);
    }
}
