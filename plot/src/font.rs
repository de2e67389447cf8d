//! The embedded fonts: widths for the layout of every picture, outlines for PNG.
//!
//! Inter is free (SIL Open Font License 1.1, `fonts/OFL.txt`). Embedding it means that a picture is laid
//! out, and a PNG drawn, alike on every machine, and that none needs fonts installed.

use std::sync::LazyLock;

use ab_glyph::{Font as _, FontRef, OutlineCurve};

use crate::geometry::{Point, Quad, point};

/// How heavy letters are.
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

static FONTS: LazyLock<[Option<FontRef<'static>>; 2]> =
    LazyLock::new(|| [REGULAR, SEMI_BOLD].map(|bytes| FontRef::try_from_slice(bytes).ok()));

fn font(weight: Weight) -> Option<&'static FontRef<'static>> {
    match weight {
        Weight::Regular => FONTS[0].as_ref(),
        Weight::SemiBold => FONTS[1].as_ref(),
    }
}

/// The width of a text, in the unit of `size`, which is that of the em. Letters are not kerned.
#[must_use]
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let Some(font) = font(weight) else {
        return text.chars().count() as f64 * FALLBACK_WIDTH * size;
    };
    let em = f64::from(font.units_per_em().unwrap_or(1.0));
    let advance = |character| f64::from(font.h_advance_unscaled(font.glyph_id(character))) / em;
    text.chars().map(advance).sum::<f64>() * size
}

/// A piece of the outline of letters; the contours are closed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Curve {
    Line(Point, Point),
    Quadratic(Point, Point, Point),
    Cubic(Point, Point, Point, Point),
}

/// The outlines of a text whose base line begins at the origin, y downwards.
pub(crate) fn outline(text: &str, size: f64, weight: Weight) -> Vec<Curve> {
    let Some(font) = font(weight) else { return Vec::new() };
    let scale = size / f64::from(font.units_per_em().unwrap_or(1.0));
    let mut curves = Vec::new();
    let mut pen = 0.0;
    for character in text.chars() {
        let glyph = font.glyph_id(character);
        let at = |p: ab_glyph::Point| point(pen + f64::from(p.x) * scale, -f64::from(p.y) * scale);
        for curve in font.outline(glyph).map(|outline| outline.curves).unwrap_or_default() {
            curves.push(match curve {
                OutlineCurve::Line(a, b) => Curve::Line(at(a), at(b)),
                OutlineCurve::Quad(a, b, c) => Curve::Quadratic(at(a), at(b), at(c)),
                OutlineCurve::Cubic(a, b, c, d) => Curve::Cubic(at(a), at(b), at(c), at(d)),
            });
        }
        pen += f64::from(font.h_advance_unscaled(glyph)) * scale;
    }
    curves
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

    #[test]
    fn widths_are_those_of_the_fonts_tables() {
        for (bytes, weight) in [(REGULAR, Weight::Regular), (SEMI_BOLD, Weight::SemiBold)] {
            let face = ttf_parser::Face::parse(bytes, 0).unwrap();
            let text = "GFLOP/s × 1,024 — α≥µ";
            let units: u32 = text
                .chars()
                .map(|c| u32::from(face.glyph_hor_advance(face.glyph_index(c).unwrap()).unwrap()))
                .sum();
            let expected = f64::from(units) / f64::from(face.units_per_em()) * 13.0;
            assert!((width(text, 13.0, weight) - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn no_letter_reaches_beyond_the_box_of_its_text() {
        for weight in [Weight::Regular, Weight::SemiBold] {
            for curve in outline("ÅgjpqyQ()/|,;0129", 100.0, weight) {
                let (Curve::Line(a, _) | Curve::Quadratic(a, ..) | Curve::Cubic(a, ..)) = curve;
                // Accents of capitals may stand out; nothing else does.
                assert!((-100.0..=25.0).contains(&a.y), "{a:?}");
            }
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
