//! Shapes on any of plotters' backends.

use plotters::prelude::DrawingBackend;
use plotters::style::{RGBAColor, ShapeStyle};
use thiserror::Error;

use crate::geometry::Point;
use crate::scene::{Geometry, Scene};
use crate::theme::Theme;

/// Why a picture cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DrawError {
    /// A canvas without area, or one that no memory holds.
    #[error("a picture of {width} × {height} pixels cannot be drawn")]
    Size {
        /// Width as asked for.
        width: String,
        /// Height as asked for.
        height: String,
    },
    /// The backend cannot go on.
    #[error("drawing failed: {0}")]
    Backend(String),
    /// Nothing that the picture could show.
    #[error("there is nothing to draw: {0}")]
    Nothing(String),
}

/// The largest side of a canvas in pixels.
const LARGEST_SIDE: f64 = 20_000.0;

/// The canvas in steps of the backend.
pub(crate) fn canvas_size(scene: &Scene, steps: f64) -> Result<(u32, u32), DrawError> {
    let valid = |side: f64| (1.0..=LARGEST_SIDE).contains(&side);
    if valid(scene.width) && valid(scene.height) {
        Ok(((scene.width * steps).round() as u32, (scene.height * steps).round() as u32))
    } else {
        let (width, height) = (scene.width.to_string(), scene.height.to_string());
        Err(DrawError::Size { width, height })
    }
}

/// Draws all shapes of a scene with `steps` of the backend to a pixel.
pub(crate) fn shapes<B: DrawingBackend>(
    scene: &Scene,
    theme: Theme,
    backend: &mut B,
    steps: f64,
) -> Result<(), DrawError> {
    let at = |p: &Point| ((p.x * steps).round() as i32, (p.y * steps).round() as i32);
    for shape in &scene.shapes {
        let [red, green, blue] = theme.rgb(shape.ink);
        let color = RGBAColor(red, green, blue, shape.opacity);
        let mut style = ShapeStyle { color, filled: true, stroke_width: 1 };
        let drawn = match &shape.geometry {
            Geometry::Path { points, width } => {
                style.stroke_width = ((width * steps).round() as u32).max(1);
                backend.draw_path(points.iter().map(at), &style)
            }
            Geometry::Area(corners) => backend.fill_polygon(corners.iter().map(at), &style),
            Geometry::Circle { center, radius, line } => {
                style.stroke_width =
                    line.map_or(1, |width| ((width * steps).round() as u32).max(1));
                let radius = (radius * steps).round().max(1.0) as u32;
                backend.draw_circle(at(center), radius, &style, line.is_none())
            }
        };
        drawn.map_err(|error| DrawError::Backend(error.to_string()))?;
    }
    Ok(())
}
