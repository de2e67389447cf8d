//! A figure over two others, as coloured cells.

use crate::axis::Axis;
use crate::draw::DrawError;
use crate::font::{self, Weight};
use crate::geometry::{Rect, point};
use crate::layout::{LABEL_SIZE, Page, Panel, SMALL_SIZE, wrapped};
use crate::number::significant;
use crate::scene::{Anchor, Scene, Text};
use crate::theme::Ink;

/// A table of values over two lists of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heatmap {
    /// The title.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// The quantity of the columns, with the unit.
    pub x: String,
    /// The quantity of the rows, with the unit.
    pub y: String,
    /// The quantity of the cells, with the unit.
    pub value: String,
    /// The columns' values, in order.
    pub columns: Vec<f64>,
    /// The rows' values, from bottom to top.
    pub rows: Vec<f64>,
    /// Row by row, from the bottom; `None` where nothing is known.
    pub cells: Vec<Option<f64>>,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 480.0;
/// Strengths of the colour.
const SHADES: usize = 8;
/// Pixels at the right for the scale, and those between it and the cells.
const SCALE_WIDTH: f64 = 120.0;
const SCALE_GAP: f64 = 18.0;

impl Heatmap {
    /// Lays the picture out. Equal steps of colour are equal ratios of values.
    ///
    /// # Errors
    ///
    /// Without a positive value, or if the cells do not fill the table.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        if self.cells.len() != self.columns.len() * self.rows.len() {
            return Err(DrawError::Nothing("the cells do not fill the table".to_owned()));
        }
        let known = self.cells.iter().flatten().copied().filter(|v| *v > 0.0 && v.is_finite());
        let (low, high) =
            known.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        if high <= 0.0 {
            return Err(DrawError::Nothing("no cell has a positive value".to_owned()));
        }
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: Vec::new(),
            notes: self.notes.clone(),
        };
        let (mut scene, body) = page.canvas(WIDTH, HEIGHT);
        let body_of_cells = Rect { right: body.right - SCALE_WIDTH, ..body };
        let axis = |count: usize, title: &str| Axis {
            low: 0.0,
            high: count as f64,
            ..Axis::from_zero([], title)
        };
        let y_numbers: Vec<String> = self.rows.iter().map(|value| significant(*value, 4)).collect();
        let panel = Panel::of_cells(
            &mut scene,
            body_of_cells,
            (axis(self.columns.len(), &self.x), axis(self.rows.len(), &self.y)),
            &y_numbers,
        );
        let shade = |value: f64| {
            if high <= low {
                return SHADES;
            }
            1 + (((value / low).ln() / (high / low).ln() * SHADES as f64) as usize).min(SHADES - 1)
        };
        let plot = panel.plot;
        let width = plot.width() / self.columns.len() as f64;
        let height = plot.height() / self.rows.len() as f64;
        for (at, value) in self.cells.iter().enumerate() {
            let (row, column) = (at / self.columns.len(), at % self.columns.len());
            let left = plot.left + column as f64 * width;
            let bottom = plot.bottom - row as f64 * height;
            let Some(value) = value.filter(|value| *value > 0.0 && value.is_finite()) else {
                continue;
            };
            let cell = Rect::new(left, bottom - height, left + width - 0.6, bottom - 0.6);
            let strength = shade(value);
            scene.area(cell.corners().to_vec(), Ink::Series(0), strength as f64 / SHADES as f64);
            let words = significant(value, 3);
            if font::width(&words, SMALL_SIZE, Weight::Regular) + 6.0 < width
                && height > SMALL_SIZE + 4.0
            {
                let at = point(left + width / 2.0, bottom - height / 2.0 + SMALL_SIZE * 0.36);
                // Pale cells look like paper, strong ones like the series.
                let ink = if strength * 8 > SHADES * 6 { Ink::OnSeries(0) } else { Ink::Text };
                scene.text(Text::new(words, at, Anchor::Middle, SMALL_SIZE).ink(ink));
            }
        }
        let mut free_from = f64::NEG_INFINITY;
        for (at, value) in self.columns.iter().enumerate() {
            let words = significant(*value, 4);
            let middle = plot.left + (at as f64 + 0.5) * width;
            let half = font::width(&words, SMALL_SIZE, Weight::Regular) / 2.0;
            if middle - half >= free_from {
                free_from = middle + half + 6.0;
                let base = point(middle, plot.bottom + SMALL_SIZE + 6.0);
                scene.text(Text::new(words, base, Anchor::Middle, SMALL_SIZE).ink(Ink::Muted));
            }
        }
        self.draw_scale(&mut scene, Rect { left: plot.right + SCALE_GAP, ..plot }, (low, high));
        Ok(scene)
    }

    fn draw_scale(&self, scene: &mut Scene, area: Rect, (low, high): (f64, f64)) {
        let mut top = area.top;
        for line in wrapped(&self.value, LABEL_SIZE, Weight::Regular, SCALE_WIDTH - SCALE_GAP) {
            let at = point(area.left, top + LABEL_SIZE);
            scene.text(Text::new(line, at, Anchor::Start, LABEL_SIZE));
            top += LABEL_SIZE * 1.35;
        }
        top += 6.0;
        let step = ((area.bottom - top) / SHADES as f64).min(30.0);
        for shade in 0..SHADES {
            let bottom = top + (SHADES - shade) as f64 * step;
            let patch = Rect::new(area.left, bottom - step, area.left + 18.0, bottom);
            let strength = (shade + 1) as f64 / SHADES as f64;
            scene.area(patch.corners().to_vec(), Ink::Series(0), strength);
            let from = low * (high / low).powf(shade as f64 / SHADES as f64);
            let at = point(area.left + 25.0, bottom - step / 2.0 + SMALL_SIZE * 0.36);
            let words = format!("≥ {}", significant(from, 3));
            scene.text(Text::new(words, at, Anchor::Start, SMALL_SIZE).ink(Ink::Muted));
        }
    }
}
