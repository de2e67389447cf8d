//! Points and boxes on the canvas, in pixels; y grows downwards.

/// A point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// The point at `x`, `y`.
#[must_use]
pub const fn point(x: f64, y: f64) -> Point {
    Point { x, y }
}

impl Point {
    /// The point `dx` to the right and `dy` below.
    #[must_use]
    pub fn shifted(self, dx: f64, dy: f64) -> Self {
        point(self.x + dx, self.y + dy)
    }

    /// The distance to another point.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

/// A box whose sides are parallel to the axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// The least x.
    pub left: f64,
    /// The least y.
    pub top: f64,
    /// The greatest x.
    pub right: f64,
    /// The greatest y.
    pub bottom: f64,
}

impl Rect {
    /// The box between two corners.
    #[must_use]
    pub const fn new(left: f64, top: f64, right: f64, bottom: f64) -> Self {
        Self { left, top, right, bottom }
    }

    /// Its width.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    /// Its height.
    #[must_use]
    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// The box with every side moved inwards.
    #[must_use]
    pub fn shrunk(&self, by: f64) -> Self {
        Self::new(self.left + by, self.top + by, self.right - by, self.bottom - by)
    }

    /// Returns true if a point lies in it or on its edge.
    #[must_use]
    pub fn contains(&self, at: Point) -> bool {
        (self.left..=self.right).contains(&at.x) && (self.top..=self.bottom).contains(&at.y)
    }

    /// Its corners, clockwise from the upper left.
    #[must_use]
    pub fn corners(&self) -> [Point; 4] {
        [
            point(self.left, self.top),
            point(self.right, self.top),
            point(self.right, self.bottom),
            point(self.left, self.bottom),
        ]
    }

    /// The part of the straight line from `from` to `to` inside, if any (Liang and Barsky 1984).
    #[must_use]
    pub fn clip(&self, from: Point, to: Point) -> Option<(Point, Point)> {
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for (speed, room) in [
            (-dx, from.x - self.left),
            (dx, self.right - from.x),
            (-dy, from.y - self.top),
            (dy, self.bottom - from.y),
        ] {
            if speed == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if speed < 0.0 {
                enter = enter.max(room / speed);
            } else {
                leave = leave.min(room / speed);
            }
        }
        let at = |t: f64| point(from.x + t * dx, from.y + t * dy);
        (enter <= leave).then(|| (at(enter), at(leave)))
    }
}

/// A box at any angle, by its corners in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quad(pub [Point; 4]);

impl Quad {
    /// Returns true if two boxes have more than an edge in common (separating axes).
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        !(self.separates(other) || other.separates(self))
    }

    /// Returns true if a side of this box has the other one beyond it.
    fn separates(&self, other: &Self) -> bool {
        (0..4).any(|side| {
            let (from, to) = (self.0[side], self.0[(side + 1) % 4]);
            let normal = point(to.y - from.y, from.x - to.x);
            let along = |at: &Point| normal.x * at.x + normal.y * at.y;
            let range = |corners: &[Point; 4]| {
                corners
                    .iter()
                    .map(along)
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                        (low.min(v), high.max(v))
                    })
            };
            let ((low, high), (other_low, other_high)) = (range(&self.0), range(&other.0));
            high <= other_low || other_high <= low
        })
    }

    /// Returns true if the whole box lies in another one.
    #[must_use]
    pub fn lies_in(&self, bounds: &Rect) -> bool {
        self.0.iter().all(|&corner| bounds.contains(corner))
    }

    /// Returns true if a straight line passes through it.
    #[must_use]
    pub fn crosses(&self, from: Point, to: Point) -> bool {
        let line = Self([from, to, to, from]);
        // A line has no area: the separating axes are the box's sides and the line's normal.
        let normal = point(to.y - from.y, from.x - to.x);
        let side = |at: &Point| normal.x * (at.x - from.x) + normal.y * (at.y - from.y);
        let all_on_one_side =
            self.0.iter().all(|c| side(c) > 0.0) || self.0.iter().all(|c| side(c) < 0.0);
        !(all_on_one_side || self.separates(&line))
    }
}

impl From<Rect> for Quad {
    fn from(rect: Rect) -> Self {
        Self(rect.corners())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_the_edges() {
        let unit = Rect::new(0.0, 0.0, 10.0, 10.0);
        let cut = unit.clip(point(-5.0, -5.0), point(15.0, 15.0));
        assert_eq!(cut, Some((point(0.0, 0.0), point(10.0, 10.0))));
        assert_eq!(unit.clip(point(-5.0, 11.0), point(15.0, 11.0)), None);
        assert_eq!(
            unit.clip(point(2.0, 3.0), point(4.0, 5.0)),
            Some((point(2.0, 3.0), point(4.0, 5.0)))
        );
        // Passes the corner at (10, 0) by one.
        assert_eq!(unit.clip(point(9.0, -2.0), point(12.0, 1.0)), None);
    }

    #[test]
    fn a_turned_box_overlaps_where_it_reaches_and_not_where_its_bounding_box_does() {
        let diamond = Quad([point(5.0, 0.0), point(10.0, 5.0), point(5.0, 10.0), point(0.0, 5.0)]);
        assert!(diamond.overlaps(&Rect::new(4.0, 4.0, 6.0, 6.0).into()));
        assert!(!diamond.overlaps(&Rect::new(0.0, 0.0, 2.0, 2.0).into()));
        assert!(!diamond.overlaps(&Rect::new(10.0, 0.0, 12.0, 10.0).into()), "an edge is no area");
        assert!(diamond.crosses(point(0.0, 2.0), point(10.0, 2.0)));
        assert!(!diamond.crosses(point(0.0, 2.0), point(2.0, 0.0)));
        assert!(!diamond.crosses(point(11.0, 0.0), point(11.0, 9.0)));
    }
}
