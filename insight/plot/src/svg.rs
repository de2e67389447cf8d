//! A scene as SVG.
//!
//! Each text carries the length that the layout computed, so that no fallback font makes texts
//! overlap.

use crate::draw::{self, DrawError};
use crate::font::Weight;
use crate::geometry::{Point, Rect};
use crate::scene::{Anchor, Geometry, Reading, Scene, Shape, Text};
use crate::theme::{Ink, Theme, hex};

const FAMILIES: &str = "Inter, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";

/// Writes a scene as one SVG element that refers to nothing outside.
///
/// # Errors
///
/// [`DrawError::Size`] for a canvas without area or beyond the largest side.
pub fn write(scene: &Scene, theme: Theme) -> Result<String, DrawError> {
    draw::check_canvas(scene)?;
    let (width, height) = (scene.width, scene.height);
    // The contents of an image are nothing that a keyboard reaches; those of a group are.
    let role = if scene.readings.is_empty() { "img" } else { "group" };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"{role}\" aria-label=\"{}\">\n<title>{}</title>\n\
         <desc>{}</desc>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n<g>\n",
        escaped(&scene.title),
        escaped(&scene.title),
        escaped(&scene.description),
        hex(theme.rgb(Ink::Paper)),
    );
    scene.shapes.iter().for_each(|shape| push_shape(&mut svg, shape, theme));
    svg += &format!("</g>\n<g font-family=\"{FAMILIES}\">\n");
    scene.texts.iter().for_each(|text| push_text(&mut svg, text, theme));
    svg.push_str("</g>\n");
    scene.readings.iter().for_each(|reading| push_reading(&mut svg, reading));
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// A place that shows its value when it is pointed at, and says it when the keyboard reaches it.
fn push_reading(svg: &mut String, reading: &Reading) {
    let Rect { left, top, .. } = reading.area;
    let words = escaped(&reading.words);
    *svg += &format!(
        "<rect class=\"reading\" tabindex=\"0\" role=\"img\" aria-label=\"{words}\" x=\"{}\" \
         y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"0\"><title>{words}</title></rect>\n",
        rounded(left),
        rounded(top),
        rounded(reading.area.width()),
        rounded(reading.area.height()),
    );
}

fn push_shape(svg: &mut String, shape: &Shape, theme: Theme) {
    let colour = hex(theme.rgb(shape.ink));
    match &shape.geometry {
        Geometry::Path { points, width } => {
            *svg += &format!("<polyline points=\"{}\"", coordinates(points));
            push_stroke(svg, &colour, *width, shape.opacity);
        }
        Geometry::Area(corners) => {
            *svg += &format!("<polygon points=\"{}\"", coordinates(corners));
            push_fill(svg, &colour, shape.opacity);
        }
        Geometry::Circle { center, radius, line } => {
            let (x, y, radius) = (rounded(center.x), rounded(center.y), rounded(*radius));
            *svg += &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"");
            match line {
                Some(width) => push_stroke(svg, &colour, *width, shape.opacity),
                None => push_fill(svg, &colour, shape.opacity),
            }
        }
    }
    svg.push_str("/>\n");
}

fn push_stroke(svg: &mut String, colour: &str, width: f64, opacity: f64) {
    let width = rounded(width);
    *svg += &format!(" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"");
    if opacity < 1.0 {
        *svg += &format!(" stroke-opacity=\"{}\"", rounded(opacity));
    }
}

fn push_fill(svg: &mut String, colour: &str, opacity: f64) {
    *svg += &format!(" fill=\"{colour}\"");
    if opacity < 1.0 {
        *svg += &format!(" fill-opacity=\"{}\"", rounded(opacity));
    }
}

fn coordinates(points: &[Point]) -> String {
    let pairs: Vec<String> =
        points.iter().map(|point| format!("{},{}", rounded(point.x), rounded(point.y))).collect();
    pairs.join(" ")
}

fn push_text(svg: &mut String, text: &Text, theme: Theme) {
    let (x, y) = (rounded(text.at.x), rounded(text.at.y));
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    *svg += &format!("<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", rounded(text.size));
    if text.anchor != Anchor::Start {
        *svg += &format!(" text-anchor=\"{anchor}\"");
    }
    if text.weight == Weight::SemiBold {
        svg.push_str(" font-weight=\"600\"");
    }
    if text.degrees != 0.0 {
        *svg += &format!(" transform=\"rotate({} {x} {y})\"", rounded(-text.degrees));
    }
    // A single letter has no gaps to stretch, and browsers differ in their treatment of it.
    if text.content.chars().count() > 1 {
        *svg +=
            &format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", rounded(text.width()));
    }
    let fill = hex(theme.rgb(text.ink));
    *svg += &format!(" fill=\"{fill}\">{}</text>\n", escaped(&text.content));
}

/// Rounds to hundredths.
fn rounded(value: f64) -> f64 {
    // Adding zero turns −0 into 0.
    (value * 100.0).round() / 100.0 + 0.0
}

/// Text as XML; characters that XML 1.0 cannot hold become U+FFFD.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::point;

    #[test]
    fn hostile_text_stays_text() {
        let mut scene = Scene::new(40.0, 40.0);
        scene.title = "a<b & \"c\"\u{1b}[0m".to_owned();
        scene.text(Text::new("</text><script>", point(5.0, 20.0), Anchor::Start, 10.0));
        let svg = write(&scene, Theme::Light).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let text = document.descendants().find(|node| node.has_tag_name("text")).unwrap();
        assert_eq!(text.text(), Some("</text><script>"));
        let title = document.descendants().find(|node| node.has_tag_name("title")).unwrap();
        assert_eq!(title.text(), Some("a<b & \"c\"\u{fffd}[0m"));
    }
}
