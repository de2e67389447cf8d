//! The embedded fonts: widths for the layout of every picture, outlines for PNG.
//!
//! Inter is free (SIL Open Font License 1.1, `fonts/OFL.txt`). Embedding it means that a picture is
//! laid out, and a PNG drawn, alike on every machine, and that none needs fonts installed.

use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, GlyphId, MetadataProvider as _};
use tiny_skia::{Path, PathBuilder};

use crate::geometry::{Point, Quad};

/// The weight of letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// For reading.
    #[default]
    Regular,
    /// For titles.
    SemiBold,
}

/// The fonts as TrueType.
pub const REGULAR: &[u8] = include_bytes!("../fonts/Inter-Regular.ttf");
/// The heavier one.
pub const SEMI_BOLD: &[u8] = include_bytes!("../fonts/Inter-SemiBold.ttf");

/// The part of the em above the base line that letters, digits and parentheses reach.
pub const ASCENT: f64 = 0.77;
/// The part of the em below the base line that they reach.
pub const DESCENT: f64 = 0.22;

/// Width of a character that no font is there for, in ems.
const FALLBACK_WIDTH: f64 = 0.65;

/// The font of a weight; `None` if its file cannot be read.
fn font(weight: Weight) -> Option<FontRef<'static>> {
    let bytes = match weight {
        Weight::Regular => REGULAR,
        Weight::SemiBold => SEMI_BOLD,
    };
    FontRef::new(bytes).ok()
}

/// The glyphs of a text; a character that the font lacks gets the font's sign for a missing one.
fn glyphs(font: &FontRef<'_>, text: &str) -> impl Iterator<Item = GlyphId> {
    let map = font.charmap();
    text.chars().map(move |character| map.map(character).unwrap_or(GlyphId::NOTDEF))
}

/// The width of a text, in the unit of `size`, which is that of the em. Letters are not kerned.
#[must_use]
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let Some(font) = font(weight) else {
        return text.chars().count() as f64 * FALLBACK_WIDTH * size;
    };
    // Unscaled metrics are whole font units, so that the sum is exact.
    let metrics = font.glyph_metrics(Size::unscaled(), LocationRef::default());
    let units: f64 =
        glyphs(&font, text).filter_map(|glyph| metrics.advance_width(glyph)).map(f64::from).sum();
    units / units_per_em(&font) * size
}

fn units_per_em(font: &FontRef<'_>) -> f64 {
    f64::from(font.metrics(Size::unscaled(), LocationRef::default()).units_per_em.max(1))
}

/// The outlines of a text whose base line begins at the origin, y downwards.
///
/// Returns `None` where nothing would be drawn, as for spaces.
pub(crate) fn outline(text: &str, size: f64, weight: Weight) -> Option<Path> {
    let font = font(weight)?;
    let (outlines, location) = (font.outline_glyphs(), LocationRef::default());
    let metrics = font.glyph_metrics(Size::unscaled(), location);
    let scale = size / units_per_em(&font);
    let mut pen = Pen { path: PathBuilder::new(), scale: scale as f32, x: 0.0 };
    let mut advance = 0.0;
    for glyph in glyphs(&font, text) {
        pen.x = (advance * scale) as f32;
        if let Some(outline) = outlines.get(glyph) {
            // A glyph that cannot be read leaves a gap of its width.
            let _ = outline.draw(DrawSettings::unhinted(Size::unscaled(), location), &mut pen);
        }
        advance += f64::from(metrics.advance_width(glyph).unwrap_or_default());
    }
    pen.path.finish()
}

/// Puts glyphs, in font units with y upwards, into one path in pixels with y downwards.
struct Pen {
    path: PathBuilder,
    scale: f32,
    /// The left edge of the current glyph.
    x: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlinePen for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, control_x: f32, control_y: f32, x: f32, y: f32) {
        let (x1, y1) = self.at(control_x, control_y);
        let (x, y) = self.at(x, y);
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.at(x1, y1), self.at(x2, y2));
        let (x, y) = self.at(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

/// The box around a text of a width whose base line begins at `start` and climbs by `degrees`.
#[must_use]
pub fn text_box(start: Point, width: f64, size: f64, degrees: f64) -> Quad {
    let (sine, cosine) = degrees.to_radians().sin_cos();
    // Along the base line, and up from it.
    let at = |along: f64, up: f64| {
        start.shifted(along * cosine - up * sine, -along * sine - up * cosine)
    };
    let (top, bottom) = (ASCENT * size, -DESCENT * size);
    Quad([at(0.0, top), at(width, top), at(width, bottom), at(0.0, bottom)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::point;

    #[test]
    fn no_letter_reaches_beyond_the_box_of_its_text() {
        for weight in [Weight::Regular, Weight::SemiBold] {
            let bounds = outline("ÅgjpqyQ()/|,;0129", 100.0, weight).unwrap().bounds();
            // Accents of capitals may stand out; nothing else does.
            assert!(bounds.top() >= -100.0 && bounds.bottom() <= 25.0, "{bounds:?}");
        }
    }

    #[test]
    fn a_text_that_climbs_has_its_box_above_the_base_line() {
        let Quad([top_left, top_right, bottom_right, _]) =
            text_box(point(10.0, 100.0), 50.0, 10.0, 90.0);
        let near = |a: Point, b: Point| a.distance(b) < 1e-9;
        assert!(near(top_left, point(10.0 - 7.7, 100.0)), "{top_left:?}");
        assert!(near(top_right, point(10.0 - 7.7, 50.0)), "{top_right:?}");
        assert!(near(bottom_right, point(10.0 + 2.2, 50.0)), "{bottom_right:?}");
    }
}
