//! A picture before it is drawn: shapes and texts in pixels, by their role rather than in colours.

use crate::font::{self, Weight};
use crate::geometry::{Point, Quad, Rect, point};
use crate::theme::Ink;

/// A picture.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Width of the canvas in pixels.
    pub width: f64,
    /// Height of the canvas in pixels.
    pub height: f64,
    /// Its name, for readers who do not see it.
    pub title: String,
    /// Its contents, for readers who do not see it.
    pub description: String,
    /// From the lowest to the topmost.
    pub shapes: Vec<Shape>,
    /// Above all shapes.
    pub texts: Vec<Text>,
    /// The values behind the shapes, for readers who point at them or go through them by keyboard.
    pub readings: Vec<Reading>,
}

/// A value of the data and the part of the canvas that stands for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The area that shows the value.
    pub area: Rect,
    /// The value in words, with its unit.
    pub words: String,
}

/// A shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The points and sizes of the shape.
    pub geometry: Geometry,
    /// Its ink.
    pub ink: Ink,
    /// From 0, invisible, to 1.
    pub opacity: f64,
}

/// The points and sizes of a shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// A line through points.
    Path {
        /// The points.
        points: Vec<Point>,
        /// Its thickness.
        width: f64,
    },
    /// The inside of a polygon.
    Area(Vec<Point>),
    /// A disc, or the circle around it.
    Circle {
        /// Its middle.
        center: Point,
        /// The distance to the middle of the line.
        radius: f64,
        /// The thickness of the line; `None` for a disc.
        line: Option<f64>,
    },
}

/// The point of a text that is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its first letter's left edge.
    Start,
    /// Its middle.
    Middle,
    /// Its last letter's right edge.
    End,
}

impl Geometry {
    /// Moves it down.
    fn lower(&mut self, by: f64) {
        match self {
            Self::Path { points, .. } | Self::Area(points) => {
                points.iter_mut().for_each(|point| point.y += by);
            }
            Self::Circle { center, .. } => center.y += by,
        }
    }
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The characters.
    pub content: String,
    /// The anchor's place on the base line.
    pub at: Point,
    /// The point of the text that lies at `at`.
    pub anchor: Anchor,
    /// The em in pixels.
    pub size: f64,
    /// The weight of the letters.
    pub weight: Weight,
    /// The ink of the text.
    pub ink: Ink,
    /// The slope in degrees, upwards.
    pub degrees: f64,
    /// True if a patch of paper keeps lines behind it away.
    pub patch: bool,
}

impl Text {
    /// A horizontal text in the text's ink.
    #[must_use]
    pub fn new(content: impl Into<String>, at: Point, anchor: Anchor, size: f64) -> Self {
        Self {
            content: content.into(),
            at,
            anchor,
            size,
            weight: Weight::Regular,
            ink: Ink::Text,
            degrees: 0.0,
            patch: false,
        }
    }

    /// The same text with another ink.
    #[must_use]
    pub fn ink(mut self, ink: Ink) -> Self {
        self.ink = ink;
        self
    }

    /// Heavier.
    #[must_use]
    pub fn bold(mut self) -> Self {
        self.weight = Weight::SemiBold;
        self
    }

    /// Climbing.
    #[must_use]
    pub fn turned(mut self, degrees: f64) -> Self {
        self.degrees = degrees;
        self
    }

    /// The width of the text.
    #[must_use]
    pub fn width(&self) -> f64 {
        font::width(&self.content, self.size, self.weight)
    }

    /// The start of its base line.
    #[must_use]
    pub fn start(&self) -> Point {
        let before = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => self.width() / 2.0,
            Anchor::End => self.width(),
        };
        let (sine, cosine) = self.degrees.to_radians().sin_cos();
        self.at.shifted(-before * cosine, before * sine)
    }

    /// The box around it.
    #[must_use]
    pub fn bounds(&self) -> Quad {
        font::text_box(self.start(), self.width(), self.size, self.degrees)
    }
}

/// The form of a data point, so that series differ by more than their colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A disc.
    Disc,
    /// A square on its side.
    Square,
    /// A triangle that points up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle that points down.
    Wedge,
    /// A circle around nothing.
    Ring,
    /// An ×: a measured value.
    Cross,
}

impl Mark {
    /// The forms for series, in order; more series begin again.
    pub const SERIES: [Self; 6] =
        [Self::Disc, Self::Square, Self::Triangle, Self::Diamond, Self::Wedge, Self::Ring];

    /// The form of the `at`-th series.
    #[must_use]
    pub fn of_series(at: usize) -> Self {
        Self::SERIES[at % Self::SERIES.len()]
    }
}

impl Scene {
    /// An empty canvas.
    #[must_use]
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, ..Self::default() }
    }

    /// Scenes below each other, from the left edge.
    #[must_use]
    pub fn stacked(scenes: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = Self::default();
        for mut scene in scenes {
            let down = whole.height;
            scene.shapes.iter_mut().for_each(|shape| shape.geometry.lower(down));
            scene.texts.iter_mut().for_each(|text| text.at.y += down);
            for reading in &mut scene.readings {
                reading.area.top += down;
                reading.area.bottom += down;
            }
            whole.width = whole.width.max(scene.width);
            whole.height += scene.height;
            for (all, one) in
                [(&mut whole.title, scene.title), (&mut whole.description, scene.description)]
            {
                if !all.is_empty() && !one.is_empty() {
                    all.push_str("; ");
                }
                all.push_str(&one);
            }
            whole.shapes.append(&mut scene.shapes);
            whole.texts.append(&mut scene.texts);
            whole.readings.append(&mut scene.readings);
        }
        whole
    }

    /// A line through points.
    pub fn path(&mut self, points: Vec<Point>, width: f64, ink: Ink) {
        if points.len() > 1 {
            self.shapes.push(Shape {
                geometry: Geometry::Path { points, width },
                ink,
                opacity: 1.0,
            });
        }
    }

    /// A straight line.
    pub fn line(&mut self, from: Point, to: Point, width: f64, ink: Ink) {
        self.path(vec![from, to], width, ink);
    }

    /// A broken line through points: `on` pixels drawn, `off` pixels left out.
    pub fn dashed(&mut self, points: &[Point], width: f64, ink: Ink, [on, off]: [f64; 2]) {
        let mut drawn = true;
        let mut left = on;
        let mut piece = points.first().map(|&first| vec![first]).unwrap_or_default();
        for pair in points.windows(2) {
            let (mut from, to) = (pair[0], pair[1]);
            loop {
                let rest = from.distance(to);
                if rest <= left {
                    left -= rest;
                    piece.push(to);
                    break;
                }
                let share = left / rest;
                from = point(from.x + share * (to.x - from.x), from.y + share * (to.y - from.y));
                piece.push(from);
                if drawn {
                    self.path(std::mem::take(&mut piece), width, ink);
                }
                piece = vec![from];
                drawn = !drawn;
                left = if drawn { on } else { off };
            }
        }
        if drawn {
            self.path(piece, width, ink);
        }
    }

    /// The inside of a polygon.
    pub fn area(&mut self, corners: Vec<Point>, ink: Ink, opacity: f64) {
        self.shapes.push(Shape { geometry: Geometry::Area(corners), ink, opacity });
    }

    /// The inside of a box.
    pub fn rect(&mut self, rect: Rect, ink: Ink) {
        self.area(rect.corners().to_vec(), ink, 1.0);
    }

    /// The edge of a box.
    pub fn frame(&mut self, rect: Rect, width: f64, ink: Ink) {
        let mut corners = rect.corners().to_vec();
        corners.push(corners[0]);
        // Beyond the first corner, so that its joint is closed.
        corners.push(corners[1]);
        self.path(corners, width, ink);
    }

    /// An arrow from one point to another.
    pub fn arrow(&mut self, from: Point, to: Point, width: f64, ink: Ink) {
        let length = from.distance(to);
        if length < 1e-6 {
            return;
        }
        let head = (4.0 + 2.5 * width).min(length);
        let (ux, uy) = ((to.x - from.x) / length, (to.y - from.y) / length);
        let neck = to.shifted(-head * ux, -head * uy);
        let half = head * 0.42;
        self.line(from, neck, width, ink);
        let corners =
            vec![to, neck.shifted(-half * uy, half * ux), neck.shifted(half * uy, -half * ux)];
        self.area(corners, ink, 1.0);
    }

    /// Says which value an area stands for.
    pub fn reading(&mut self, area: Rect, words: impl Into<String>) {
        self.readings.push(Reading { area, words: words.into() });
    }

    /// Says which value a data point stands for.
    pub fn reading_at(&mut self, at: Point, radius: f64, words: impl Into<String>) {
        let area = Rect::new(at.x - radius, at.y - radius, at.x + radius, at.y + radius);
        self.reading(area, words);
    }

    /// A data point, with an edge of paper so that it stands out from lines.
    pub fn mark(&mut self, mark: Mark, at: Point, radius: f64, ink: Ink) {
        let disc = |radius, ink| Shape {
            geometry: Geometry::Circle { center: at, radius, line: None },
            ink,
            opacity: 1.0,
        };
        let polygon = |radius: f64, corners: &[(f64, f64)]| -> Vec<Point> {
            corners.iter().map(|&(x, y)| at.shifted(radius * x, radius * y)).collect()
        };
        let corners: &[(f64, f64)] = match mark {
            Mark::Disc => {
                self.shapes.push(disc(radius + 1.2, Ink::Paper));
                self.shapes.push(disc(radius, ink));
                return;
            }
            Mark::Ring => {
                self.shapes.push(disc(radius + 1.2, Ink::Paper));
                self.shapes.push(disc(radius, ink));
                self.shapes.push(disc(radius - 2.0, Ink::Paper));
                return;
            }
            Mark::Cross => {
                for (ink, width, reach) in [(Ink::Paper, 4.6, radius + 1.0), (ink, 2.4, radius)] {
                    for (x, y) in [(1.0, 1.0), (1.0, -1.0)] {
                        let (from, to) =
                            (at.shifted(-reach * x, -reach * y), at.shifted(reach * x, reach * y));
                        self.line(from, to, width, ink);
                    }
                }
                return;
            }
            Mark::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Mark::Triangle => &[(0.0, -1.2), (1.1, 0.75), (-1.1, 0.75)],
            Mark::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
            Mark::Wedge => &[(0.0, 1.2), (-1.1, -0.75), (1.1, -0.75)],
        };
        self.area(polygon(radius + 1.5, corners), Ink::Paper, 1.0);
        self.area(polygon(radius, corners), ink, 1.0);
    }

    /// A text; empty ones are left out.
    pub fn text(&mut self, text: Text) {
        if text.content.is_empty() {
            return;
        }
        if text.patch {
            let Quad(corners) = text.bounds();
            self.area(corners.to_vec(), Ink::Paper, 0.85);
        }
        self.texts.push(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_round_corners_and_keep_their_length() {
        let mut scene = Scene::new(100.0, 100.0);
        let corner = [point(0.0, 0.0), point(10.0, 0.0), point(10.0, 10.0)];
        scene.dashed(&corner, 1.0, Ink::Axis, [6.0, 3.0]);
        let pieces: Vec<Vec<Point>> = scene
            .shapes
            .iter()
            .map(|shape| match &shape.geometry {
                Geometry::Path { points, .. } => points.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces[0], [point(0.0, 0.0), point(6.0, 0.0)]);
        assert_eq!(pieces[1], [point(9.0, 0.0), point(10.0, 0.0), point(10.0, 5.0)]);
        assert_eq!(pieces[2], [point(10.0, 8.0), point(10.0, 10.0)]);
    }
}
