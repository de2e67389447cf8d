//! Colours by their role, in two themes.
//!
//! The series follow Okabe and Ito's palette (2008), which people with any kind of colour blindness
//! tell apart; the dark theme has the same hues, lighter. Black and yellow are left out: one is the
//! text's colour, the other invisible on white. Pictures never tell things apart by colour alone.

/// The role of a colour in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The canvas.
    Paper,
    /// Text, axes' titles, measured values.
    Text,
    /// Text of second rank, ticks.
    Muted,
    /// Axes and frames.
    Axis,
    /// Lines at labelled ticks.
    Grid,
    /// Lines at other ticks, areas behind the data.
    Faint,
    /// One of [`SERIES`] series; more begin again.
    Series(usize),
    /// Text on an area of a series.
    OnSeries(usize),
}

/// Series that have a colour of their own.
pub const SERIES: usize = 7;

/// A set of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// For white paper.
    #[default]
    Light,
    /// For dark screens.
    Dark,
}

/// Red, green, blue.
pub type Rgb = [u8; 3];

const LIGHT_SERIES: [Rgb; SERIES] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xe6, 0x9f, 0x00],
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    [0x8a, 0x8f, 0x98],
];

const DARK_SERIES: [Rgb; SERIES] = [
    [0x4a, 0x9f, 0xe0],
    [0xf0, 0x7c, 0x3a],
    [0x3a, 0xd1, 0x9b],
    [0xf5, 0xc5, 0x2e],
    [0xdb, 0x86, 0xba],
    [0x93, 0xd2, 0xf7],
    [0x9d, 0xa3, 0xad],
];

impl Theme {
    /// The colour of an ink.
    #[must_use]
    pub fn rgb(self, ink: Ink) -> Rgb {
        match (self, ink) {
            (Self::Light, Ink::Paper) => [0xff, 0xff, 0xff],
            (Self::Light, Ink::Text) => [0x1b, 0x1f, 0x24],
            (Self::Light, Ink::Muted) => [0x57, 0x60, 0x6a],
            (Self::Light, Ink::Axis) => [0x7a, 0x82, 0x8c],
            (Self::Light, Ink::Grid) => [0xdd, 0xe1, 0xe6],
            (Self::Light, Ink::Faint) => [0xf0, 0xf2, 0xf5],
            (Self::Light, Ink::Series(at)) => LIGHT_SERIES[at % SERIES],
            (_, Ink::OnSeries(at)) => self.on_series(at % SERIES),
            (Self::Dark, Ink::Paper) => [0x12, 0x16, 0x1c],
            (Self::Dark, Ink::Text) => [0xe8, 0xed, 0xf3],
            (Self::Dark, Ink::Muted) => [0xa3, 0xad, 0xb8],
            (Self::Dark, Ink::Axis) => [0x74, 0x7e, 0x8a],
            (Self::Dark, Ink::Grid) => [0x2f, 0x37, 0x41],
            (Self::Dark, Ink::Faint) => [0x1f, 0x25, 0x2d],
            (Self::Dark, Ink::Series(at)) => DARK_SERIES[at % SERIES],
        }
    }

    /// For text on a series: a nearly black or a nearly white, whichever has the greater contrast
    /// (WCAG 2.1, relative luminance). Each series has one of its own, so that a style sheet can
    /// tell them apart.
    fn on_series(self, at: usize) -> Rgb {
        let area = luminance(self.rgb(Ink::Series(at)));
        let contrast = |text| {
            let text = luminance(text);
            (text.max(area) + 0.05) / (text.min(area) + 0.05)
        };
        let (black, white) = ([0x10, 0x12, 0x10 + at as u8], [0xff, 0xff, 0xf0 + at as u8]);
        if contrast(black) >= contrast(white) { black } else { white }
    }

    /// Every ink.
    pub fn inks() -> impl Iterator<Item = Ink> {
        [Ink::Paper, Ink::Text, Ink::Muted, Ink::Axis, Ink::Grid, Ink::Faint]
            .into_iter()
            .chain((0..SERIES).map(Ink::Series))
            .chain((0..SERIES).map(Ink::OnSeries))
    }

    /// A style sheet that gives an SVG of the light theme the colours of the dark one, wherever
    /// `selector` matches an element around it.
    #[must_use]
    pub fn dark_style(selector: &str) -> String {
        let mut css = String::new();
        for ink in Self::inks() {
            let (light, dark) = (hex(Self::Light.rgb(ink)), hex(Self::Dark.rgb(ink)));
            for property in ["fill", "stroke"] {
                css += &format!("{selector} [{property}=\"{light}\" i] {{ {property}: {dark} }}\n");
            }
        }
        css
    }
}

/// `#rrggbb`.
#[must_use]
pub fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// The relative luminance of a colour, 0 to 1 (WCAG 2.1).
fn luminance(rgb: Rgb) -> f64 {
    let [red, green, blue] = rgb.map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear red, green and blue.
    fn linear(rgb: Rgb) -> [f64; 3] {
        rgb.map(|channel| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// CIE L*a*b* of linear sRGB under D65.
    fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
        let x = (0.412_456_4 * r + 0.357_576_1 * g + 0.180_437_5 * b) / 0.950_47;
        let y = 0.212_672_9 * r + 0.715_152_2 * g + 0.072_175_0 * b;
        let z = (0.019_333_9 * r + 0.119_192_0 * g + 0.950_304_1 * b) / 1.088_83;
        let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        [116.0 * f(y) - 16.0, 500.0 * (f(x) - f(y)), 200.0 * (f(y) - f(z))]
    }

    fn seen_with(matrix: [[f64; 3]; 3], rgb: Rgb) -> [f64; 3] {
        let [r, g, b] = linear(rgb);
        lab(matrix.map(|row| (row[0] * r + row[1] * g + row[2] * b).clamp(0.0, 1.0)))
    }

    #[test]
    fn people_with_any_colour_blindness_tell_the_first_five_series_apart() {
        // Machado, Oliveira and Fernandes 2009, severity 1: normal, protan, deutan, tritan.
        let eyes = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ];
        for theme in [Theme::Light, Theme::Dark] {
            for (eye, matrix) in eyes.into_iter().enumerate() {
                for first in 0..5 {
                    for second in 0..first {
                        let [a, b] =
                            [first, second].map(|at| seen_with(matrix, theme.rgb(Ink::Series(at))));
                        let difference: f64 =
                            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(
                            difference > 14.0,
                            "{theme:?}, eye {eye}: series {first} and {second} differ by {difference:.1}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn text_is_legible_on_every_background_that_it_stands_on() {
        let contrast = |theme: Theme, a, b| {
            let (a, b) = (luminance(theme.rgb(a)), luminance(theme.rgb(b)));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for theme in [Theme::Light, Theme::Dark] {
            for text in [Ink::Text, Ink::Muted] {
                for ground in [Ink::Paper, Ink::Faint] {
                    // WCAG 2.1 asks for 4.5.
                    assert!(contrast(theme, text, ground) > 4.5, "{theme:?} {text:?} {ground:?}");
                }
            }
            for at in 0..SERIES {
                let ground = Ink::Series(at);
                // Numbers on bars; black and white on a middle tone cannot both reach more.
                let on = contrast(theme, Ink::OnSeries(at), ground);
                assert!(on > 4.0, "{theme:?} {at}: {on:.2}");
                // Lines and marks need 3, or 2 where a label says the same.
                let apart = contrast(theme, ground, Ink::Paper);
                assert!(apart > 2.0, "{theme:?} {at}: {apart:.2}");
            }
        }
    }

    #[test]
    fn the_dark_style_can_tell_every_ink_of_the_light_theme_apart() {
        let mut seen = std::collections::BTreeSet::new();
        for ink in Theme::inks() {
            assert!(seen.insert(Theme::Light.rgb(ink)), "{ink:?}");
        }
    }
}
