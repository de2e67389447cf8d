//! The embedded fonts: widths for the layout of every picture, outlines for PNG.
//!
//! Inter is free (SIL Open Font License 1.1, `fonts/OFL.txt`). Embedding it means that a picture is
//! laid out, and a PNG drawn, alike on every machine, and that none needs fonts installed. What is
//! embedded are outlines and widths only: a reader of fonts would take a tenth of a first build.

use std::sync::LazyLock;

use tiny_skia::{Path, PathBuilder};

use crate::geometry::{Point, Quad};
use crate::glyphs::Glyphs;

/// The weight of letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// For reading.
    #[default]
    Regular,
    /// For titles.
    SemiBold,
}

/// The part of the em above the base line that letters, digits and parentheses reach.
pub const ASCENT: f64 = 0.77;
/// The part of the em below the base line that they reach.
pub const DESCENT: f64 = 0.22;

/// Width of a character that no font is there for, in ems.
const FALLBACK_WIDTH: f64 = 0.65;

/// The letters of a weight; `None` if the embedded file is not well formed.
fn font(weight: Weight) -> Option<&'static Glyphs> {
    static REGULAR: LazyLock<Option<Glyphs>> =
        LazyLock::new(|| Glyphs::read(include_str!("../fonts/Inter-Regular.outlines")));
    static SEMI_BOLD: LazyLock<Option<Glyphs>> =
        LazyLock::new(|| Glyphs::read(include_str!("../fonts/Inter-SemiBold.outlines")));
    match weight {
        Weight::Regular => REGULAR.as_ref(),
        Weight::SemiBold => SEMI_BOLD.as_ref(),
    }
}

/// The width of a text, in the unit of `size`, which is that of the em. Letters are not kerned.
#[must_use]
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let Some(font) = font(weight) else {
        return text.chars().count() as f64 * FALLBACK_WIDTH * size;
    };
    // Advances are whole font units, so that the sum is exact.
    let units: f64 = font.of_text(text).map(|glyph| glyph.advance).sum();
    units / font.units_per_em * size
}

/// The outlines of a text whose base line begins at the origin, y downwards.
///
/// Returns `None` where nothing would be drawn, as for spaces.
pub(crate) fn outline(text: &str, size: f64, weight: Weight) -> Option<Path> {
    let font = font(weight)?;
    let scale = size / font.units_per_em;
    let mut path = PathBuilder::new();
    let mut advance = 0.0;
    for glyph in font.of_text(text) {
        glyph.draw((advance * scale) as f32, scale as f32, &mut path);
        advance += glyph.advance;
    }
    path.finish()
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
