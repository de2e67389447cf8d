//! The embedded outlines are those of the TrueType fonts, as skrifa reads them. `GPUCAST_UPDATE=1`
//! makes the files anew.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, GlyphId, MetadataProvider as _};

/// Writes the path of a letter, in font units.
#[derive(Default)]
struct Text(String);

impl OutlinePen for Text {
    fn move_to(&mut self, x: f32, y: f32) {
        write!(self.0, " M {x} {y}").unwrap();
    }

    fn line_to(&mut self, x: f32, y: f32) {
        write!(self.0, " L {x} {y}").unwrap();
    }

    fn quad_to(&mut self, control_x: f32, control_y: f32, x: f32, y: f32) {
        write!(self.0, " Q {control_x} {control_y} {x} {y}").unwrap();
    }

    fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {
        panic!("TrueType has no cubic curves");
    }

    fn close(&mut self) {
        self.0.push_str(" Z");
    }
}

fn outlines(bytes: &[u8]) -> String {
    let font = FontRef::new(bytes).unwrap();
    let (size, location) = (Size::unscaled(), LocationRef::default());
    let metrics = font.glyph_metrics(size, location);
    let line = |name: String, glyph: GlyphId| {
        let mut path = Text::default();
        if let Some(outline) = font.outline_glyphs().get(glyph) {
            outline.draw(DrawSettings::unhinted(size, location), &mut path).unwrap();
        }
        format!("{name} {}{}\n", metrics.advance_width(glyph).unwrap(), path.0)
    };
    let mut text = format!("units-per-em {}\n", font.metrics(size, location).units_per_em);
    let mut letters: Vec<(u32, GlyphId)> = font.charmap().mappings().collect();
    letters.sort_by_key(|&(code, _)| code);
    text.extend(letters.iter().map(|&(code, glyph)| line(format!("U+{code:04X}"), glyph)));
    text + &line("missing".to_owned(), GlyphId::NOTDEF)
}

#[test]
fn embedded_outlines_are_those_of_the_fonts() {
    let fonts = Path::new(env!("CARGO_MANIFEST_DIR")).join("fonts");
    for name in ["Inter-Regular", "Inter-SemiBold"] {
        let made = outlines(&fs::read(fonts.join(format!("{name}.ttf"))).unwrap());
        let path = fonts.join(format!("{name}.outlines"));
        if std::env::var_os("GPUCAST_UPDATE").is_some() {
            fs::write(&path, &made).unwrap();
        }
        assert!(fs::read_to_string(&path).unwrap() == made, "GPUCAST_UPDATE=1 makes {name} anew");
    }
}
