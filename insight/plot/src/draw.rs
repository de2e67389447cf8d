//! The common part of the writers of pictures: errors and the limits of a canvas.

use thiserror::Error;

use crate::scene::Scene;

/// The reason why a picture cannot be drawn.
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
    /// The encoder of the file's format failed.
    #[error("drawing failed: {0}")]
    Encoding(String),
    /// The picture would show nothing.
    #[error("there is nothing to draw: {0}")]
    Nothing(String),
}

/// The largest side of a canvas in pixels.
const LARGEST_SIDE: f64 = 20_000.0;

/// Refuses a canvas without area, and one that no memory holds.
pub(crate) fn check_canvas(scene: &Scene) -> Result<(), DrawError> {
    let valid = |side: f64| (1.0..=LARGEST_SIDE).contains(&side);
    if valid(scene.width) && valid(scene.height) {
        return Ok(());
    }
    let (width, height) = (scene.width.to_string(), scene.height.to_string());
    Err(DrawError::Size { width, height })
}
