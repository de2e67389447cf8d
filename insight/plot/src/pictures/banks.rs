//! The banks of shared memory that the lanes of a warp meet in.

use super::lane_words;
use crate::draw::DrawError;
use crate::font::{self, Weight};
use crate::geometry::{Rect, point};
use crate::layout::{Entry, Key, LABEL_SIZE, Page, SMALL_SIZE};
use crate::scene::{Anchor, Reading, Scene, Text};
use crate::theme::Ink;

/// Lanes that a bank serves in one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The bank.
    pub bank: u32,
    /// The lanes.
    pub lanes: u32,
}

/// Lanes that are served together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// The lanes in words.
    pub name: String,
    /// Several of one bank wait for each other, in their order.
    pub cells: Vec<Cell>,
}

/// The passes of an access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Banks {
    /// The title.
    pub title: String,
    /// Sentences below it.
    pub subtitle: String,
    /// The number of banks.
    pub banks: u32,
    /// At least one, with a cell each.
    pub phases: Vec<Phase>,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 1000.0;
/// Pixels of a pass, and of the row of a phase's name.
const ROW: f64 = 22.0;
const NAME: f64 = 22.0;
/// Pixels at the left for the numbers of passes, and below for those of banks.
const BESIDE: f64 = 62.0;
const BELOW: f64 = 40.0;

impl Phase {
    /// The passes: the most cells of a bank.
    fn passes(&self, banks: u32) -> usize {
        let of_bank = |bank| self.cells.iter().filter(|cell| cell.bank == bank).count();
        (0..banks).map(of_bank).max().unwrap_or(0)
    }
}

impl Banks {
    /// Lays the picture out: a column a bank, a row a pass, lanes in the cells.
    ///
    /// # Errors
    ///
    /// Without phases, or with a bank that does not exist.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        if self.phases.iter().all(|phase| phase.cells.is_empty()) {
            return Err(DrawError::Nothing("no lane takes part".to_owned()));
        }
        let mut cells = self.phases.iter().flat_map(|phase| &phase.cells);
        if let Some(cell) = cells.find(|cell| cell.bank >= self.banks) {
            return Err(DrawError::Nothing(format!("there is no bank {}", cell.bank)));
        }
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: vec![
                Entry::new(Key::Patch(Ink::Series(0)), "lanes in the first pass"),
                Entry::new(
                    Key::Patch(Ink::Series(1)),
                    "lanes that wait for another row of the bank",
                ),
            ],
            notes: self.notes.clone(),
        };
        let rows = |phase: &Phase| phase.passes(self.banks) as f64 * ROW + NAME;
        let height = self.phases.iter().map(rows).sum::<f64>() + BELOW;
        let (mut scene, body) = page.canvas(WIDTH, height);
        let column = (body.width() - BESIDE) / f64::from(self.banks);
        let left = body.left + BESIDE;
        let mut top = body.top;
        let mut pass = 0;
        for phase in &self.phases {
            let base = point(left, top + NAME - 7.0);
            scene.text(Text::new(phase.name.as_str(), base, Anchor::Start, SMALL_SIZE));
            top += NAME;
            let passes = phase.passes(self.banks);
            for row in 0..passes {
                pass += 1;
                let middle = top + (row as f64 + 0.5) * ROW + SMALL_SIZE * 0.36;
                let at = point(left - 8.0, middle);
                let words = format!("pass {pass}");
                scene.text(Text::new(words, at, Anchor::End, SMALL_SIZE).ink(Ink::Muted));
            }
            for bank in 0..self.banks {
                let x = left + f64::from(bank) * column;
                let of_bank = phase.cells.iter().filter(|cell| cell.bank == bank);
                let cells: Vec<&Cell> = of_bank.collect();
                for row in 0..passes {
                    let y = top + row as f64 * ROW;
                    let area = Rect::new(x + 0.6, y + 0.6, x + column - 0.6, y + ROW - 0.6);
                    draw_cell(&mut scene, area, cells.get(row).copied(), row);
                }
            }
            top += passes as f64 * ROW;
        }
        self.numbers(&mut scene, (left, top), column);
        Ok(scene)
    }

    /// The numbers of banks, as many as there is room for.
    fn numbers(&self, scene: &mut Scene, (left, top): (f64, f64), column: f64) {
        let mut free_from = f64::NEG_INFINITY;
        for bank in 0..self.banks {
            let words = bank.to_string();
            let middle = left + (f64::from(bank) + 0.5) * column;
            let half = font::width(&words, SMALL_SIZE, Weight::Regular) / 2.0;
            if middle - half >= free_from {
                free_from = middle + half + 4.0;
                let base = point(middle, top + SMALL_SIZE + 4.0);
                scene.text(Text::new(words, base, Anchor::Middle, SMALL_SIZE).ink(Ink::Muted));
            }
        }
        let middle = left + f64::from(self.banks) * column / 2.0;
        let base = point(middle, top + SMALL_SIZE + LABEL_SIZE + 12.0);
        scene.text(Text::new("bank", base, Anchor::Middle, LABEL_SIZE));
    }
}

/// A bank in a pass; a pass in which it serves nobody is pale.
fn draw_cell(scene: &mut Scene, area: Rect, cell: Option<&Cell>, row: usize) {
    let Some(cell) = cell else {
        scene.rect(area, Ink::Faint);
        return;
    };
    let series = usize::from(row > 0);
    scene.rect(area, Ink::Series(series));
    let words = lane_words(cell.lanes);
    if font::width(&words, SMALL_SIZE, Weight::Regular) + 2.0 < area.width() {
        let base = point(
            (area.left + area.right) / 2.0,
            (area.top + area.bottom) / 2.0 + SMALL_SIZE * 0.36,
        );
        scene.text(
            Text::new(words.as_str(), base, Anchor::Middle, SMALL_SIZE).ink(Ink::OnSeries(series)),
        );
    }
    let words = format!("bank {}, pass {} of its phase: lanes {words}", cell.bank, row + 1);
    scene.readings.push(Reading { area, words });
}
