//! Letters as `fonts/*.outlines` has them: a line each, with a width and a path.
//!
//! ```text
//! units-per-em 2048
//! U+0049 560 M 160 1490 L 160 0 L 360 0 L 360 1490 Z
//! missing 1000 M …
//! ```
//!
//! Widths and coordinates are font units, y upwards. `M`, `L`, `Q` and `Z` begin, prolong, bend and
//! close a contour, as in SVG. `.ci/outlines.py --write` makes the files from the TrueType fonts.

use std::collections::HashMap;

use tiny_skia::PathBuilder;

/// The letters of one font.
pub(crate) struct Glyphs {
    pub(crate) units_per_em: f64,
    of: HashMap<char, Glyph>,
    /// The sign for a character that the font lacks.
    missing: Glyph,
}

/// One letter.
#[derive(Clone, Copy, Default)]
pub(crate) struct Glyph {
    /// How far the next letter is, in font units.
    pub(crate) advance: f64,
    path: &'static str,
}

impl Glyphs {
    /// Reads the text of a file; `None` if a line is not of the form above.
    pub(crate) fn read(text: &'static str) -> Option<Self> {
        let mut lines = text.lines();
        let units_per_em = lines.next()?.strip_prefix("units-per-em ")?.parse().ok()?;
        let mut glyphs = Self { units_per_em, of: HashMap::new(), missing: Glyph::default() };
        for line in lines {
            let (name, rest) = line.split_once(' ')?;
            let (advance, path) = rest.split_once(' ').unwrap_or((rest, ""));
            let glyph = Glyph { advance: advance.parse().ok()?, path };
            match name.strip_prefix("U+") {
                Some(code) => {
                    let character = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
                    glyphs.of.insert(character, glyph);
                }
                None => glyphs.missing = glyph,
            }
        }
        Some(glyphs)
    }

    /// The letters of a text.
    pub(crate) fn of_text<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Glyph> + 'a {
        text.chars().map(|character| self.of.get(&character).copied().unwrap_or(self.missing))
    }
}

impl Glyph {
    /// Adds the letter's contours at a left edge, in pixels with y downwards.
    pub(crate) fn draw(self, left: f32, scale: f32, path: &mut PathBuilder) {
        let mut words = self.path.split_ascii_whitespace();
        while let Some(command) = words.next() {
            let mut unit = || words.next().and_then(|word| word.parse::<f32>().ok());
            let mut at = || Some((left + unit()? * scale, -unit()? * scale));
            match command {
                "M" => at().map(|(x, y)| path.move_to(x, y)),
                "L" => at().map(|(x, y)| path.line_to(x, y)),
                "Q" => at().zip(at()).map(|((x1, y1), (x, y))| path.quad_to(x1, y1, x, y)),
                _ => {
                    path.close();
                    Some(())
                }
            };
        }
    }
}
