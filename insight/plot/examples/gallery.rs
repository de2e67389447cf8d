//! Writes a picture of each kind into a folder, as SVG and PNG in both themes, to be looked at.
//!
//! Usage: cargo run --release -p gpucast-plot --example gallery FOLDER

#[path = "../tests/support/gallery.rs"]
#[allow(dead_code, reason = "the tests use the data, too")]
mod gallery;

use std::error::Error;
use std::path::PathBuf;

use gpucast_plot::{Theme, png, svg};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("give a folder")?);
    std::fs::create_dir_all(&folder)?;
    for (name, scene) in gallery::scenes() {
        let scene = scene?;
        for (theme, suffix) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
            std::fs::write(
                folder.join(format!("{name}-{suffix}.svg")),
                svg::write(&scene, theme)?,
            )?;
            std::fs::write(
                folder.join(format!("{name}-{suffix}.png")),
                png::write(&scene, theme)?,
            )?;
        }
    }
    Ok(())
}
