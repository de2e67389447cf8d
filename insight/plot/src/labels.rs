//! Finds places for labels where they cover neither each other nor data.

use crate::geometry::{Point, Quad, Rect, point};
use crate::scene::{Anchor, Scene, Text};
use crate::theme::Ink;

/// The places of a plot that are taken.
#[derive(Clone, Debug)]
pub struct Labels {
    /// Labels stay inside.
    bounds: Rect,
    /// Labels, their leaders and data points; never covered.
    taken: Vec<Quad>,
    /// Lines of the data; never covered by labels, while leaders may cross them.
    lines: Vec<(Point, Point)>,
    /// The labels that found no place.
    missed: Vec<String>,
}

/// A label that a leader crosses costs as much as this many pixels of distance.
const CROSSING: f64 = 60.0;
/// Beyond this distance a thin line leads from the label to its point.
const LEADER: f64 = 22.0;
/// Empty pixels around labels.
const ROOM: f64 = 2.0;

impl Labels {
    /// A plot without labels.
    #[must_use]
    pub fn new(bounds: Rect) -> Self {
        Self { bounds, taken: Vec::new(), lines: Vec::new(), missed: Vec::new() }
    }

    /// Keeps a box free.
    pub fn reserve(&mut self, area: impl Into<Quad>) {
        self.taken.push(area.into());
    }

    /// Keeps a data point free.
    pub fn reserve_mark(&mut self, at: Point, radius: f64) {
        self.reserve(Rect::new(at.x - radius, at.y - radius, at.x + radius, at.y + radius));
    }

    /// Keeps a line free of labels.
    pub fn avoid(&mut self, from: Point, to: Point) {
        self.lines.push((from, to));
    }

    /// Labels that found no place.
    #[must_use]
    pub fn missed(&self) -> &[String] {
        &self.missed
    }

    fn is_free(&self, text: &Text) -> bool {
        let grown = grown(&text.bounds(), text);
        let bounds = text.bounds();
        grown.lies_in(&self.bounds)
            && !self.taken.iter().any(|taken| taken.overlaps(&grown))
            && !self.lines.iter().any(|(from, to)| bounds.crosses(*from, *to))
    }

    /// The line from the edge of a mark at `to` to a label that is too far away to belong to it by
    /// itself.
    fn leader(text: &Text, to: Point, clearance: f64) -> Option<(Point, Point)> {
        let reach = nearest(&text.bounds(), to);
        let distance = reach.distance(to);
        if distance <= LEADER {
            return None;
        }
        let share = (clearance - 4.0) / distance;
        Some((to.shifted(share * (reach.x - to.x), share * (reach.y - to.y)), reach))
    }

    /// Labels and marks that a leader from a mark at `to` would cross, but for that mark.
    fn covered_by(&self, (from, reach): (Point, Point), to: Point) -> usize {
        let at: Quad = Rect::new(to.x - 0.5, to.y - 0.5, to.x + 0.5, to.y + 0.5).into();
        let others = self.taken.iter().filter(|taken| !taken.overlaps(&at));
        others.filter(|taken| taken.crosses(from, reach)).count()
    }

    fn put(&mut self, scene: &mut Scene, text: Text) {
        self.taken.push(text.bounds());
        scene.text(text);
    }

    /// Labels a point, as near to it as possible, `clearance` pixels away at least.
    pub fn near(&mut self, scene: &mut Scene, to: Point, clearance: f64, label: Text) {
        const DIRECTIONS: usize = 16;
        let mut best: Option<(f64, Text)> = None;
        let height = label.size;
        for ring in 0..40 {
            let distance = clearance + f64::from(ring) * 6.0;
            if best.as_ref().is_some_and(|(cost, _)| *cost <= distance) {
                break;
            }
            for direction in 0..DIRECTIONS {
                let angle = direction as f64 / DIRECTIONS as f64 * std::f64::consts::TAU;
                let (sine, cosine) = angle.sin_cos();
                let mut text = label.clone();
                text.anchor = match cosine {
                    c if c > 0.3 => Anchor::Start,
                    c if c < -0.3 => Anchor::End,
                    _ => Anchor::Middle,
                };
                // The base line of a text whose middle is level with the place.
                text.at = to.shifted(distance * cosine, distance * -sine + height * 0.36);
                if text.anchor == Anchor::Middle {
                    text.at.y += if sine > 0.0 { -height * 0.3 } else { height * 0.3 };
                }
                if !self.is_free(&text) {
                    continue;
                }
                // To the right is read first, then above.
                let taste = (1.0 - cosine) * 4.0 + (1.0 - sine) * 0.5;
                let leader = Self::leader(&text, to, clearance);
                let covered = leader.map_or(0, |leader| self.covered_by(leader, to));
                let cost = distance + taste + (2 * covered) as f64 * CROSSING;
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, text));
                }
            }
        }
        let Some((_, text)) = best else {
            self.missed.push(label.content);
            return;
        };
        if let Some((from, reach)) = Self::leader(&text, to, clearance) {
            scene.line(from, reach, 0.8, Ink::Muted);
            self.reserve(thin(from, reach));
        }
        self.put(scene, text);
    }

    /// Labels a straight line along it, above or below, near `start` first, with the first of
    /// several wordings that finds room. Returns true if one did.
    pub fn along(
        &mut self,
        scene: &mut Scene,
        (start, end): (Point, Point),
        wordings: &[&str],
        (size, ink): (f64, Ink),
    ) -> bool {
        let words = |content: &&str| Text::new(*content, start, Anchor::Start, size).ink(ink);
        let placed = wordings.iter().map(words).find_map(|text| self.beside(text, start, end));
        match placed {
            Some(text) => {
                self.put(scene, text);
                true
            }
            None => {
                self.missed.extend(wordings.first().map(|&words| words.to_owned()));
                false
            }
        }
    }

    /// The best place of a text along a line.
    fn beside(&self, mut text: Text, start: Point, end: Point) -> Option<Text> {
        // Texts are read from left to right, and never upside down.
        let degrees = {
            let angle = (start.y - end.y).atan2(end.x - start.x).to_degrees();
            match angle {
                a if a > 90.0 => a - 180.0,
                a if a <= -90.0 => a + 180.0,
                a => a,
            }
        };
        let length = start.distance(end);
        text = text.turned(degrees);
        let (width, size) = (text.width(), text.size);
        if width + 8.0 > length {
            return None;
        }
        let forwards = (end.x - start.x) * degrees.to_radians().cos()
            + (start.y - end.y) * degrees.to_radians().sin()
            >= 0.0;
        let (ux, uy) = ((end.x - start.x) / length, (end.y - start.y) / length);
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let mut best: Option<(f64, Text)> = None;
        let mut slid = 6.0;
        while slid + width + 2.0 <= length {
            for above in [true, false] {
                let offset = if above { 5.0 } else { -(size * 0.77 + 4.0) };
                let begin = if forwards { slid } else { slid + width };
                text.at =
                    start.shifted(ux * begin, uy * begin).shifted(-offset * sine, -offset * cosine);
                if !self.is_free(&text) {
                    continue;
                }
                let cost = slid * 0.5 + if above { 0.0 } else { 40.0 };
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, text.clone()));
                }
            }
            slid += 8.0;
        }
        best.map(|(_, text)| text)
    }
}

/// A line as a box of two pixels' width.
fn thin(from: Point, to: Point) -> Quad {
    let length = from.distance(to).max(1.0);
    let (x, y) = ((from.y - to.y) / length, (to.x - from.x) / length);
    Quad([from.shifted(x, y), to.shifted(x, y), to.shifted(-x, -y), from.shifted(-x, -y)])
}

/// The box of a text with empty pixels around it.
fn grown(bounds: &Quad, text: &Text) -> Quad {
    let (sine, cosine) = text.degrees.to_radians().sin_cos();
    let along = |corner: Point, a: f64, up: f64| {
        corner.shifted(ROOM * (a * cosine - up * sine), -ROOM * (a * sine + up * cosine))
    };
    let [a, b, c, d] = bounds.0;
    Quad([along(a, -1.0, 1.0), along(b, 1.0, 1.0), along(c, 1.0, -1.0), along(d, -1.0, -1.0)])
}

/// The point on the edge of an upright box that is nearest to another point.
fn nearest(area: &Quad, to: Point) -> Point {
    let [top_left, _, bottom_right, _] = area.0;
    point(to.x.clamp(top_left.x, bottom_right.x), to.y.clamp(top_left.y, bottom_right.y))
}

/// A label's usual form.
#[must_use]
pub fn label(content: impl Into<String>, size: f64) -> Text {
    Text::new(content, Point::default(), Anchor::Start, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_labels_of_one_point_do_not_touch() {
        let bounds = Rect::new(0.0, 0.0, 400.0, 300.0);
        let mut scene = Scene::new(400.0, 300.0);
        let mut labels = Labels::new(bounds);
        let at = point(200.0, 150.0);
        labels.reserve_mark(at, 5.0);
        for number in 0..100 {
            labels.near(&mut scene, at, 9.0, label(format!("label {number}"), 12.0));
        }
        assert_eq!(scene.texts.len() + labels.missed().len(), 100);
        assert!(scene.texts.len() > 40, "{} found a place", scene.texts.len());
        for (first, text) in scene.texts.iter().enumerate() {
            assert!(text.bounds().lies_in(&bounds));
            for other in &scene.texts[..first] {
                assert!(!text.bounds().overlaps(&other.bounds()), "{text:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_label_along_a_line_lies_on_one_side_of_it() {
        let mut scene = Scene::new(400.0, 300.0);
        let mut labels = Labels::new(Rect::new(0.0, 0.0, 400.0, 300.0));
        let (from, to) = (point(20.0, 280.0), point(380.0, 40.0));
        labels.avoid(from, to);
        let style = (12.0, Ink::Text);
        assert!(labels.along(&mut scene, (from, to), &["DRAM: 117.6 GB/s"], style));
        let bounds = scene.texts[0].bounds();
        assert!(!bounds.crosses(from, to));
        let short = (from, point(60.0, 280.0));
        assert!(!labels.along(&mut scene, short, &["far too long", "too long as well"], style));
        assert_eq!(labels.missed(), ["far too long"]);
        let elsewhere = (point(20.0, 100.0), point(80.0, 100.0));
        assert!(labels.along(&mut scene, elsewhere, &["far too long to fit", "short"], style));
        assert_eq!(scene.texts[1].content, "short");
    }

    #[test]
    fn a_leader_goes_around_other_labels() {
        let mut scene = Scene::new(400.0, 300.0);
        let mut labels = Labels::new(Rect::new(0.0, 0.0, 400.0, 300.0));
        let at = point(200.0, 150.0);
        labels.reserve_mark(at, 5.0);
        for number in 0..6 {
            labels.near(&mut scene, at, 9.0, label(format!("label {number}"), 12.0));
        }
        let leaders = scene.shapes.iter().filter_map(|shape| match &shape.geometry {
            crate::scene::Geometry::Path { points, .. } => Some((points[0], points[1])),
            _ => None,
        });
        let leaders: Vec<(Point, Point)> = leaders.collect();
        assert!(!leaders.is_empty(), "{leaders:?}");
        for (from, to) in leaders {
            let crossed = scene.texts.iter().filter(|text| {
                let bounds = text.bounds();
                let [a, _, c, _] = bounds.0;
                let inner = Rect::new(a.x + 1.0, a.y.min(c.y) + 1.0, c.x - 1.0, a.y.max(c.y) - 1.0);
                Quad::from(inner).crosses(from, to)
            });
            assert_eq!(crossed.count(), 0, "{from:?} {to:?}");
        }
    }
}
