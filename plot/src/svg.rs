//! A scene as SVG: shapes by plotters' backend, texts by ourselves, because plotters turns texts only by right
//! angles and leaves their length to the viewer's font. Here each text carries the length that the layout
//! reckoned with, so that no fallback font makes texts overlap.

use plotters::prelude::{DrawingBackend as _, SVGBackend};

use crate::draw::{self, DrawError};
use crate::font::Weight;
use crate::scene::{Anchor, Scene, Text};
use crate::theme::{Ink, Theme, hex};

/// Steps of a pixel to which shapes are rounded: plotters' coordinates are whole numbers.
const STEPS: f64 = 10.0;

const FAMILIES: &str = "Inter, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";

/// Writes a scene as one SVG element that refers to nothing outside.
///
/// # Errors
///
/// When plotters cannot draw it, as a canvas without area.
pub fn write(scene: &Scene, theme: Theme) -> Result<String, DrawError> {
    let mut shapes = String::new();
    {
        let size = draw::canvas_size(scene, STEPS)?;
        let mut backend = SVGBackend::with_string(&mut shapes, size);
        draw::shapes(scene, theme, &mut backend, STEPS)?;
        backend.present().map_err(|error| DrawError::Backend(error.to_string()))?;
    }
    // What lies between plotters' own <svg …> and </svg>.
    let inner = shapes.split_once('\n').map_or("", |(_, rest)| rest);
    let inner = inner.trim_end().strip_suffix("</svg>").unwrap_or(inner);

    let (width, height) = (scene.width, scene.height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n<title>{}</title>\n\
         <desc>{}</desc>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n\
         <g transform=\"scale({})\">\n{inner}</g>\n<g font-family=\"{FAMILIES}\">\n",
        escaped(&scene.title),
        escaped(&scene.title),
        escaped(&scene.description),
        hex(theme.rgb(Ink::Paper)),
        1.0 / STEPS,
    );
    scene.texts.iter().for_each(|text| push_text(&mut svg, text, theme));
    svg.push_str("</g>\n</svg>\n");
    Ok(svg)
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
    // A single letter has no gaps to stretch, and browsers differ in what they then do.
    if text.content.chars().count() > 1 {
        *svg +=
            &format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", rounded(text.width()));
    }
    let fill = hex(theme.rgb(text.ink));
    *svg += &format!(" fill=\"{fill}\">{}</text>\n", escaped(&text.content));
}

/// To hundredths.
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
