//! The bytes that the lanes of a warp access, in the lines and sectors of memory.

use super::lane_words;
use crate::draw::DrawError;
use crate::font::{self, Weight};
use crate::geometry::{Rect, point};
use crate::layout::{Entry, Key, Page, SMALL_SIZE, shortened, widest};
use crate::scene::{Anchor, Reading, Scene, Text};
use crate::theme::Ink;

/// Bytes that some lanes access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first byte, counted from the line's.
    pub first: u32,
    /// The bytes, all of them in the line.
    pub bytes: u32,
    /// The lanes.
    pub lanes: u32,
}

/// A line of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its place in words.
    pub name: String,
    /// The sectors that move, the lowest address in bit 0.
    pub sectors: u8,
    /// Bytes that are accessed, by address.
    pub pieces: Vec<Piece>,
}

/// The lines of an access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sectors {
    /// The title.
    pub title: String,
    /// Sentences below it.
    pub subtitle: String,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Bytes of a sector.
    pub sector_bytes: u32,
    /// At least one, by address.
    pub lines: Vec<Line>,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 1000.0;
/// Pixels of a line, and between two.
const ROW: f64 = 24.0;
const GAP: f64 = 6.0;
/// Pixels above the first line, for the numbers of bytes.
const HEAD: f64 = 22.0;
/// The widest name of a line.
const LONGEST_NAME: f64 = 200.0;
/// Bytes that move and that no lane asked for.
const REST: Ink = Ink::Series(5);

impl Sectors {
    /// Lays the picture out: a row a line, its sectors side by side, lanes in the bytes that they
    /// access.
    ///
    /// # Errors
    ///
    /// Without lines, or with bytes outside of one.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        if self.lines.is_empty() || self.line_bytes == 0 || self.sector_bytes == 0 {
            return Err(DrawError::Nothing("no lines".to_owned()));
        }
        let pieces = self.lines.iter().flat_map(|line| &line.pieces);
        if let Some(piece) =
            pieces.clone().find(|piece| piece.first + piece.bytes > self.line_bytes)
        {
            let why = format!("byte {} lies outside of the line", piece.first + piece.bytes - 1);
            return Err(DrawError::Nothing(why));
        }
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: vec![
                Entry::new(Key::Patch(Ink::Series(0)), "bytes that lanes access, with the lanes"),
                Entry::new(Key::Patch(REST), "the rest of sectors that move"),
            ],
            notes: self.notes.clone(),
        };
        let height = HEAD + self.lines.len() as f64 * (ROW + GAP);
        let (mut scene, body) = page.canvas(WIDTH, height);
        let names = self.lines.iter().map(|line| line.name.as_str());
        let beside = widest(names, SMALL_SIZE).min(LONGEST_NAME) + 10.0;
        let plot = Rect::new(body.left + beside, body.top + HEAD, body.right, body.bottom);
        let byte = plot.width() / f64::from(self.line_bytes);
        self.numbers(&mut scene, plot, byte);
        for (at, line) in self.lines.iter().enumerate() {
            let top = plot.top + at as f64 * (ROW + GAP);
            let row = Rect::new(plot.left, top, plot.right, top + ROW);
            self.line(&mut scene, line, row, byte);
        }
        Ok(scene)
    }

    /// The offsets at which sectors begin.
    fn numbers(&self, scene: &mut Scene, plot: Rect, byte: f64) {
        for first in (0..self.line_bytes).step_by(self.sector_bytes as usize) {
            let at = point(plot.left + f64::from(first) * byte + 2.0, plot.top - 7.0);
            let words = if first == 0 { "byte 0".to_owned() } else { first.to_string() };
            scene.text(Text::new(words, at, Anchor::Start, SMALL_SIZE).ink(Ink::Muted));
        }
    }

    fn line(&self, scene: &mut Scene, line: &Line, row: Rect, byte: f64) {
        let base = row.top + ROW / 2.0 + SMALL_SIZE * 0.36;
        let name = shortened(&line.name, SMALL_SIZE, Weight::Regular, LONGEST_NAME);
        let at = point(row.left - 8.0, base);
        scene.text(Text::new(name, at, Anchor::End, SMALL_SIZE).ink(Ink::Muted));
        let range = |first: u32, bytes: u32| {
            let left = row.left + f64::from(first) * byte;
            Rect::new(left, row.top, left + f64::from(bytes) * byte, row.bottom)
        };
        let sectors = self.line_bytes / self.sector_bytes;
        for sector in 0..sectors {
            let area = range(sector * self.sector_bytes, self.sector_bytes).shrunk(1.0);
            let moves = line.sectors >> sector & 1 == 1;
            scene.rect(area, if moves { REST } else { Ink::Faint });
        }
        for piece in &line.pieces {
            let area = range(piece.first, piece.bytes);
            let inner =
                Rect::new(area.left + 0.6, area.top + 3.0, area.right - 0.6, area.bottom - 3.0);
            scene.rect(inner, Ink::Series(0));
            let words = lane_words(piece.lanes);
            if font::width(&words, SMALL_SIZE, Weight::Regular) + 3.0 < area.width() {
                let at = point((area.left + area.right) / 2.0, base);
                scene.text(Text::new(words, at, Anchor::Middle, SMALL_SIZE).ink(Ink::OnSeries(0)));
            }
        }
        let moved = line.sectors.count_ones();
        let lanes = line.pieces.iter().fold(0, |all, piece| all | piece.lanes);
        let plural = if moved == 1 { "" } else { "s" };
        let words = format!("{}: {moved} sector{plural}, lanes {}", line.name, lane_words(lanes));
        scene.readings.push(Reading { area: row, words });
    }
}
