//! A scene as PNG, twice as many pixels as the canvas has, for dense screens and slides.
//!
//! plotters draws the shapes at twice that again, which is then averaged, because its polygons have hard
//! edges; texts are rasterised from the embedded fonts with exact coverage, at any angle.

use ab_glyph_rasterizer::{Rasterizer, point};
use plotters::prelude::{BitMapBackend, DrawingBackend as _};

use crate::draw::{self, DrawError};
use crate::font::{self, Curve};
use crate::geometry::Point;
use crate::scene::{Scene, Text};
use crate::theme::{Ink, Rgb, Theme};

/// Pixels of the file for each pixel of the canvas, along one side.
pub const DENSITY: f64 = 2.0;
/// Pixels of plotters' canvas for each of the file, along one side.
const OVERSAMPLING: usize = 2;

/// An image of red, green and blue bytes.
struct Pixels {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

/// Writes a scene as PNG.
///
/// # Errors
///
/// When plotters or the encoder cannot, as a canvas without area.
pub fn write(scene: &Scene, theme: Theme) -> Result<Vec<u8>, DrawError> {
    let mut pixels = rasterised(scene, theme)?;
    for text in &scene.texts {
        draw_text(&mut pixels, text, theme.rgb(text.ink));
    }
    encoded(&pixels).map_err(|error| DrawError::Backend(error.to_string()))
}

fn rasterised(scene: &Scene, theme: Theme) -> Result<Pixels, DrawError> {
    let (width, height) = draw::canvas_size(scene, DENSITY)?;
    let (width, height) = (width as usize, height as usize);
    let (fine_width, fine_height) = (width * OVERSAMPLING, height * OVERSAMPLING);
    let paper = theme.rgb(Ink::Paper);
    let mut fine: Vec<u8> =
        paper.iter().copied().cycle().take(3 * fine_width * fine_height).collect();
    {
        let size = (fine_width as u32, fine_height as u32);
        let mut backend = BitMapBackend::with_buffer(&mut fine, size);
        draw::shapes(scene, theme, &mut backend, DENSITY * OVERSAMPLING as f64)?;
        backend.present().map_err(|error| DrawError::Backend(error.to_string()))?;
    }
    let mut bytes = Vec::with_capacity(3 * width * height);
    let samples = (OVERSAMPLING * OVERSAMPLING) as u32;
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let mut sum = 0;
                for row in y * OVERSAMPLING..(y + 1) * OVERSAMPLING {
                    for column in x * OVERSAMPLING..(x + 1) * OVERSAMPLING {
                        sum += u32::from(fine[3 * (row * fine_width + column) + channel]);
                    }
                }
                bytes.push(((sum + samples / 2) / samples) as u8);
            }
        }
    }
    Ok(Pixels { width, height, bytes })
}

fn draw_text(pixels: &mut Pixels, text: &Text, ink: Rgb) {
    let corners = text.bounds().0.map(|c| (c.x * DENSITY, c.y * DENSITY));
    // Room for accents and for what hangs over.
    let room = (text.size * DENSITY / 2.0).ceil();
    let least = |values: [f64; 4]| values.into_iter().fold(f64::INFINITY, f64::min) - room;
    let greatest = |values: [f64; 4]| values.into_iter().fold(f64::NEG_INFINITY, f64::max) + room;
    let (xs, ys) = (corners.map(|c| c.0), corners.map(|c| c.1));
    // The rasterizer wants room for the whole text: what reaches beyond its edge goes on in the next row.
    let (left, top) = (least(xs).floor(), least(ys).floor());
    let (width, height) = ((greatest(xs) - left).ceil(), (greatest(ys) - top).ceil());
    let (width, height) = (width as usize, height as usize);
    let mut rasterizer = Rasterizer::new(width, height);
    let start = text.start();
    let (sine, cosine) = text.degrees.to_radians().sin_cos();
    let place = |p: Point| {
        let x = start.x + p.x * cosine + p.y * sine;
        let y = start.y - p.x * sine + p.y * cosine;
        point((x * DENSITY - left) as f32, (y * DENSITY - top) as f32)
    };
    for curve in font::outline(&text.content, text.size, text.weight) {
        match curve {
            Curve::Line(a, b) => rasterizer.draw_line(place(a), place(b)),
            Curve::Quadratic(a, b, c) => rasterizer.draw_quad(place(a), place(b), place(c)),
            Curve::Cubic(a, b, c, d) => {
                rasterizer.draw_cubic(place(a), place(b), place(c), place(d));
            }
        }
    }
    rasterizer.for_each_pixel_2d(|x, y, coverage| {
        let coverage = coverage.clamp(0.0, 1.0);
        let (x, y) = (left as i64 + i64::from(x), top as i64 + i64::from(y));
        let is_inside = |place: i64, size: usize| usize::try_from(place).is_ok_and(|at| at < size);
        if coverage == 0.0 || !is_inside(x, pixels.width) || !is_inside(y, pixels.height) {
            return;
        }
        let at = 3 * (y as usize * pixels.width + x as usize);
        for (channel, &colour) in ink.iter().enumerate() {
            if let Some(byte) = pixels.bytes.get_mut(at + channel) {
                let mixed = f32::from(*byte) * (1.0 - coverage) + f32::from(colour) * coverage;
                *byte = mixed.round() as u8;
            }
        }
    });
}

fn encoded(pixels: &Pixels) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, pixels.width as u32, pixels.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    // Areas of one colour compress best as they are.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels.bytes)?;
    writer.finish()?;
    Ok(file)
}
