//! A scene as PNG, with twice as many pixels as the canvas along each side, for dense screens and
//! slides.
//!
//! tiny-skia draws shapes and the outlines of letters alike, anti-aliased.

use tiny_skia::{Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, Transform};

use crate::draw::{self, DrawError};
use crate::font;
use crate::geometry::Point;
use crate::scene::{Geometry, Scene, Shape, Text};
use crate::theme::{Ink, Theme};

/// Pixels of the file per pixel of the canvas, along one side.
pub const DENSITY: f64 = 2.0;

/// Writes a scene as PNG.
///
/// # Errors
///
/// [`DrawError::Size`] for a canvas without area or beyond the largest side, and
/// [`DrawError::Encoding`] when the encoder fails.
pub fn write(scene: &Scene, theme: Theme) -> Result<Vec<u8>, DrawError> {
    draw::check_canvas(scene)?;
    let pixels = |side: f64| (side * DENSITY).round() as u32;
    let (width, height) = (pixels(scene.width), pixels(scene.height));
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| DrawError::Size {
        width: scene.width.to_string(),
        height: scene.height.to_string(),
    })?;
    pixmap.fill(color(theme, Ink::Paper, 1.0));
    scene.shapes.iter().for_each(|shape| draw_shape(&mut pixmap, shape, theme));
    scene.texts.iter().for_each(|text| draw_text(&mut pixmap, text, theme));
    pixmap.encode_png().map_err(|error| DrawError::Encoding(error.to_string()))
}

fn color(theme: Theme, ink: Ink, opacity: f64) -> Color {
    let [red, green, blue] = theme.rgb(ink);
    Color::from_rgba8(red, green, blue, (opacity.clamp(0.0, 1.0) * 255.0).round() as u8)
}

fn paint(theme: Theme, ink: Ink, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(color(theme, ink, opacity));
    paint
}

/// The transform from pixels of the canvas to pixels of the file.
fn density() -> Transform {
    Transform::from_scale(DENSITY as f32, DENSITY as f32)
}

fn draw_shape(pixmap: &mut Pixmap, shape: &Shape, theme: Theme) {
    let (path, line) = match &shape.geometry {
        Geometry::Path { points, width } => (polygon(points, false), Some(*width)),
        Geometry::Area(corners) => (polygon(corners, true), None),
        Geometry::Circle { center, radius, line } => {
            let [x, y, radius] = [center.x, center.y, *radius].map(|value| value as f32);
            (PathBuilder::from_circle(x, y, radius), *line)
        }
    };
    // tiny-skia has no path for a shape without extent, such as a polygon of one point.
    let Some(path) = path else { return };
    let paint = paint(theme, shape.ink, shape.opacity);
    match line {
        Some(width) => {
            let join = LineJoin::Miter;
            let stroke = Stroke { width: width as f32, line_join: join, ..Stroke::default() };
            pixmap.stroke_path(&path, &paint, &stroke, density(), None);
        }
        None => pixmap.fill_path(&path, &paint, FillRule::Winding, density(), None),
    }
}

fn polygon(points: &[Point], is_closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::with_capacity(points.len() + 1, points.len());
    for (at, point) in points.iter().enumerate() {
        match at {
            0 => builder.move_to(point.x as f32, point.y as f32),
            _ => builder.line_to(point.x as f32, point.y as f32),
        }
    }
    if is_closed {
        builder.close();
    }
    builder.finish()
}

fn draw_text(pixmap: &mut Pixmap, text: &Text, theme: Theme) {
    let Some(path) = font::outline(&text.content, text.size, text.weight) else { return };
    let start = text.start();
    let place = Transform::from_rotate(-text.degrees as f32)
        .post_translate(start.x as f32, start.y as f32)
        .post_concat(density());
    pixmap.fill_path(&path, &paint(theme, text.ink, 1.0), FillRule::Winding, place, None);
}
