//! The surroundings of the data: title, legend, notes, axes.

use crate::axis::{Axis, Kind, Tick};
use crate::font::{self, Weight};
use crate::geometry::{Point, Rect, point};
use crate::scene::{Anchor, Mark, Scene, Text};
use crate::theme::Ink;

/// Size of titles.
pub const TITLE_SIZE: f64 = 18.0;
/// Size of the text that is read first: labels, legends, axes' titles.
pub const LABEL_SIZE: f64 = 13.0;
/// Size of numbers at axes and of notes.
pub const SMALL_SIZE: f64 = 12.0;
/// Empty pixels at the edge of the canvas.
pub const MARGIN: f64 = 20.0;

/// Distance of base lines, in ems.
const LEADING: f64 = 1.45;

/// An entry of a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The sample before the words.
    pub key: Key,
    /// In words.
    pub label: String,
}

/// A sample of a drawn thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key {
    /// A data point.
    Mark(Mark, Ink),
    /// A line.
    Line(Ink),
    /// A broken line.
    Dashes(Ink),
    /// A filled area.
    Patch(Ink),
}

impl Entry {
    /// A sample with its words.
    #[must_use]
    pub fn new(key: Key, label: impl Into<String>) -> Self {
        Self { key, label: label.into() }
    }
}

/// The texts above and below the data.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The title, bold.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// The entries of the legend.
    pub legend: Vec<Entry>,
    /// Sentences below the data.
    pub notes: Vec<String>,
}

impl Page {
    /// A canvas with everything but the data, and the box that is left for it, `height` high.
    #[must_use]
    pub fn canvas(&self, width: f64, height: f64) -> (Scene, Rect) {
        let room = width - 2.0 * MARGIN;
        let title = wrapped(&self.title, TITLE_SIZE, Weight::SemiBold, room);
        let subtitle = wrapped(&self.subtitle, LABEL_SIZE, Weight::Regular, room);
        let short = |entry: &Entry| Entry {
            label: shortened(&entry.label, LABEL_SIZE, Weight::Regular, room - KEY_WIDTH),
            ..entry.clone()
        };
        let legend: Vec<Entry> = self.legend.iter().map(short).collect();
        let legend = rows(&legend, room);
        let notes: Vec<String> = self
            .notes
            .iter()
            .flat_map(|note| wrapped(note, SMALL_SIZE, Weight::Regular, room))
            .collect();

        let mut scene = Scene::new(width, 0.0);
        scene.title.clone_from(&self.title);
        scene.description.clone_from(&self.subtitle);
        let mut y = MARGIN - 4.0;
        for line in title {
            y += TITLE_SIZE * 1.25;
            scene.text(Text::new(line, point(MARGIN, y - 5.0), Anchor::Start, TITLE_SIZE).bold());
        }
        for line in subtitle {
            y += LABEL_SIZE * LEADING;
            let text = Text::new(line, point(MARGIN, y - 4.0), Anchor::Start, LABEL_SIZE);
            scene.text(text.ink(Ink::Muted));
        }
        if !legend.is_empty() {
            y += 6.0;
        }
        for row in legend {
            y += LABEL_SIZE * 1.6;
            for (x, entry) in row {
                draw_entry(&mut scene, entry, point(x + MARGIN, y - 5.0));
            }
        }
        y += 10.0;
        let body = Rect::new(MARGIN, y, width - MARGIN, y + height);
        y += height;
        if !notes.is_empty() {
            y += 8.0;
        }
        for line in notes {
            y += SMALL_SIZE * LEADING;
            let text = Text::new(line, point(MARGIN, y - 3.0), Anchor::Start, SMALL_SIZE);
            scene.text(text.ink(Ink::Muted));
        }
        scene.height = (y + MARGIN - 6.0).ceil();
        (scene, body)
    }
}

/// Space of a legend's sample, and between its entries.
const KEY_WIDTH: f64 = 26.0;
const ENTRY_GAP: f64 = 20.0;

/// The entries in rows, each with its x.
fn rows(entries: &[Entry], room: f64) -> Vec<Vec<(f64, &Entry)>> {
    let mut rows: Vec<Vec<(f64, &Entry)>> = Vec::new();
    let mut x = f64::INFINITY;
    for entry in entries {
        let width = KEY_WIDTH + font::width(&entry.label, LABEL_SIZE, Weight::Regular);
        if x + width > room {
            rows.push(Vec::new());
            x = 0.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, entry));
        }
        x += width + ENTRY_GAP;
    }
    rows
}

fn draw_entry(scene: &mut Scene, entry: &Entry, base: Point) {
    let middle = base.y - LABEL_SIZE * 0.35;
    let (left, right) = (point(base.x, middle), point(base.x + 18.0, middle));
    match entry.key {
        Key::Mark(mark, ink) => scene.mark(mark, point(base.x + 9.0, middle), 5.0, ink),
        Key::Line(ink) => scene.line(left, right, 2.5, ink),
        Key::Dashes(ink) => scene.dashed(&[left, right], 2.0, ink, [5.0, 3.0]),
        Key::Patch(ink) => {
            let patch = Rect::new(base.x + 2.0, middle - 6.0, base.x + 16.0, middle + 6.0);
            scene.rect(patch, ink);
        }
    }
    let at = point(base.x + KEY_WIDTH, base.y);
    scene.text(Text::new(entry.label.as_str(), at, Anchor::Start, LABEL_SIZE));
}

/// A text in lines that fit `room`; a word that is longer is cut.
#[must_use]
pub fn wrapped(text: &str, size: f64, weight: Weight, room: f64) -> Vec<String> {
    let fits = |text: &str| font::width(text, size, weight) <= room;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            let longer = format!("{line} {word}");
            if fits(&longer) {
                *line = longer;
                continue;
            }
        }
        lines.push(shortened(word, size, weight, room));
    }
    lines
}

/// A text, cut with an ellipsis if it is wider than `room`.
#[must_use]
pub fn shortened(text: &str, size: f64, weight: Weight, room: f64) -> String {
    if font::width(text, size, weight) <= room {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let cut: String = kept.iter().chain(&['…']).collect();
        if font::width(&cut, size, weight) <= room {
            return cut;
        }
    }
    String::new()
}

/// The widest of some texts.
#[must_use]
pub fn widest<'a>(texts: impl IntoIterator<Item = &'a str>, size: f64) -> f64 {
    texts.into_iter().map(|text| font::width(text, size, Weight::Regular)).fold(0.0, f64::max)
}

/// Pixels below a plot: numbers and a title.
const BELOW: f64 = SMALL_SIZE + LABEL_SIZE * LEADING + 16.0;
/// Pixels beside the numbers at the left of a plot: a title.
const TITLE_ROOM: f64 = LABEL_SIZE * LEADING + 14.0;

/// The part of `body` that the numbers of the y axis and both titles leave.
fn plot_area(body: Rect, y: &Axis) -> Rect {
    let (top, bottom) = (body.top + 6.0, body.bottom - BELOW);
    let ticks = y.ticks(bottom - top);
    let numbers = ticks.iter().filter_map(|tick| tick.label.as_deref());
    let beside = widest(numbers, SMALL_SIZE) + TITLE_ROOM;
    // The last number of the x axis reaches beyond the plot.
    Rect::new(body.left + beside, top, body.right - 14.0, bottom)
}

/// A plot with two axes.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The box of the data.
    pub plot: Rect,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
}

impl Panel {
    /// Draws axes into `body` and returns the panel with the place of the data.
    pub fn draw(scene: &mut Scene, body: Rect, x: Axis, y: Axis) -> Self {
        let plot = plot_area(body, &y);
        let x_ticks = x.ticks(plot.width());
        Self::with_ticks(scene, body, (x, y), x_ticks)
    }

    /// As [`Panel::draw`], with an x axis whose numbers the picture writes itself.
    pub fn without_x_numbers(scene: &mut Scene, body: Rect, x: Axis, y: Axis) -> Self {
        Self::with_ticks(scene, body, (x, y), Vec::new())
    }

    /// A table's panel: axes without numbers, but for those of its rows, from bottom to top.
    pub fn of_cells(scene: &mut Scene, body: Rect, (x, y): (Axis, Axis), rows: &[String]) -> Self {
        let beside = widest(rows.iter().map(String::as_str), SMALL_SIZE) + TITLE_ROOM;
        let plot = Rect::new(body.left + beside, body.top + 6.0, body.right, body.bottom - BELOW);
        let panel = Self { plot, x, y };
        let height = plot.height() / rows.len().max(1) as f64;
        let mut free_below = f64::INFINITY;
        for (at, row) in rows.iter().enumerate() {
            let middle = plot.bottom - (at as f64 + 0.5) * height;
            if middle + SMALL_SIZE / 2.0 > free_below {
                continue;
            }
            free_below = middle - SMALL_SIZE / 2.0 - 2.0;
            let at = point(plot.left - 7.0, middle + SMALL_SIZE * 0.36);
            let text = Text::new(row.as_str(), at, Anchor::End, SMALL_SIZE);
            scene.text(text.ink(Ink::Muted));
        }
        panel.titles(scene, body);
        panel
    }

    fn with_ticks(scene: &mut Scene, body: Rect, (x, y): (Axis, Axis), x_ticks: Vec<Tick>) -> Self {
        let plot = plot_area(body, &y);
        let y_ticks = y.ticks(plot.height());
        let panel = Self { plot, x, y };
        for labelled in [false, true] {
            let ink = if labelled { Ink::Grid } else { Ink::Faint };
            let chosen = |tick: &&Tick| tick.label.is_some() == labelled;
            for tick in x_ticks.iter().filter(chosen) {
                let at = panel.x_pixel(tick.value);
                scene.line(point(at, plot.top), point(at, plot.bottom), 1.0, ink);
            }
            for tick in y_ticks.iter().filter(chosen) {
                let at = panel.y_pixel(tick.value);
                scene.line(point(plot.left, at), point(plot.right, at), 1.0, ink);
            }
        }
        scene.line(point(plot.left, plot.bottom), point(plot.right, plot.bottom), 1.2, Ink::Axis);
        scene.line(point(plot.left, plot.top), point(plot.left, plot.bottom), 1.2, Ink::Axis);
        panel.numbers(scene, &x_ticks, &y_ticks);
        panel.titles(scene, body);
        panel
    }

    fn titles(&self, scene: &mut Scene, body: Rect) {
        let plot = self.plot;
        let middle = point((plot.left + plot.right) / 2.0, body.bottom - 5.0);
        scene.text(Text::new(self.x.title.as_str(), middle, Anchor::Middle, LABEL_SIZE));
        let middle = point(body.left + LABEL_SIZE, (plot.top + plot.bottom) / 2.0);
        let title = shortened(&self.y.title, LABEL_SIZE, Weight::Regular, body.height());
        scene.text(Text::new(title, middle, Anchor::Middle, LABEL_SIZE).turned(90.0));
    }

    fn numbers(&self, scene: &mut Scene, x_ticks: &[Tick], y_ticks: &[Tick]) {
        let base = self.plot.bottom + SMALL_SIZE + 6.0;
        let mut free_from = f64::NEG_INFINITY;
        for tick in x_ticks {
            let Some(label) = &tick.label else { continue };
            let at = self.x_pixel(tick.value);
            let half = font::width(label, SMALL_SIZE, Weight::Regular) / 2.0;
            if at - half < free_from {
                continue;
            }
            free_from = at + half + 6.0;
            let text = Text::new(label.as_str(), point(at, base), Anchor::Middle, SMALL_SIZE);
            scene.text(text.ink(Ink::Muted));
        }
        for tick in y_ticks {
            let Some(label) = &tick.label else { continue };
            let at = point(self.plot.left - 7.0, self.y_pixel(tick.value) + SMALL_SIZE * 0.36);
            let text = Text::new(label.as_str(), at, Anchor::End, SMALL_SIZE);
            scene.text(text.ink(Ink::Muted));
        }
    }

    /// The pixel of a value of the x axis.
    #[must_use]
    pub fn x_pixel(&self, value: f64) -> f64 {
        self.plot.left + self.x.position(value) * self.plot.width()
    }

    /// The pixel of a value of the y axis.
    #[must_use]
    pub fn y_pixel(&self, value: f64) -> f64 {
        self.plot.bottom - self.y.position(value) * self.plot.height()
    }

    /// The pixel of a pair of values.
    #[must_use]
    pub fn at(&self, x: f64, y: f64) -> Point {
        point(self.x_pixel(x), self.y_pixel(y))
    }
}

/// Vertical lines at the ticks of an axis below a plot, its numbers and its title.
pub fn horizontal_axis(scene: &mut Scene, plot: Rect, axis: &Axis) {
    let mut free_from = f64::NEG_INFINITY;
    for tick in axis.ticks(plot.width()) {
        let x = plot.left + axis.position(tick.value) * plot.width();
        let ink = if tick.label.is_some() { Ink::Grid } else { Ink::Faint };
        if tick.label.is_some() || axis.kind == Kind::Logarithmic {
            scene.line(point(x, plot.top), point(x, plot.bottom), 1.0, ink);
        }
        let Some(label) = tick.label else { continue };
        let text =
            Text::new(label, point(x, plot.bottom + SMALL_SIZE + 6.0), Anchor::Middle, SMALL_SIZE);
        let half = text.width() / 2.0;
        if x - half >= free_from {
            free_from = x + half + 6.0;
            scene.text(text.ink(Ink::Muted));
        }
    }
    scene.line(point(plot.left, plot.bottom), point(plot.right, plot.bottom), 1.2, Ink::Axis);
    let at =
        point((plot.left + plot.right) / 2.0, plot.bottom + SMALL_SIZE + LABEL_SIZE * 1.45 + 11.0);
    scene.text(Text::new(axis.title.as_str(), at, Anchor::Middle, LABEL_SIZE));
}
