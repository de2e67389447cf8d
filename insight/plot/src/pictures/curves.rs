//! Lines through points: the change of a figure with another one.

use crate::axis::{Axis, Kind};
use crate::draw::DrawError;
use crate::geometry::Point;
use crate::labels::{Labels, label};
use crate::layout::{Entry, Key, Page, Panel, SMALL_SIZE};
use crate::scene::{Mark, Scene};
use crate::theme::Ink;

/// The style of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stroke {
    /// A line with a mark at each point.
    #[default]
    Marked,
    /// A broken line without marks: something to compare with.
    Reference,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name; empty where nothing tells it from others, and then the legend leaves it out.
    pub name: String,
    /// x and y, in order.
    pub points: Vec<(f64, f64)>,
    /// Its style.
    pub stroke: Stroke,
    /// The series whose colour and form it has; a reference may share one with the curve that it is
    /// compared to.
    pub series: usize,
}

/// Curves over common axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// The title.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// The quantity x, with its unit.
    pub x: String,
    /// The quantity y, with its unit.
    pub y: String,
    /// The scales of the axes.
    pub scales: (Kind, Kind),
    /// At least one with a point.
    pub curves: Vec<Curve>,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 460.0;
/// Up to this many curves have their names at their ends; more would need leaders across each
/// other, and the legend names them anyway.
const MOST_LABELS: usize = 6;

impl Curves {
    /// Lays the picture out.
    ///
    /// # Errors
    ///
    /// Without a point, or with one that a logarithmic axis cannot show.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        let points = || self.curves.iter().flat_map(|curve| curve.points.iter().copied());
        if points().next().is_none() {
            return Err(DrawError::Nothing("no curve has a point".to_owned()));
        }
        for (kind, name, values) in [
            (self.scales.0, &self.x, points().map(|p| p.0).collect::<Vec<f64>>()),
            (self.scales.1, &self.y, points().map(|p| p.1).collect()),
        ] {
            let fits = |v: &f64| v.is_finite() && (kind == Kind::Linear || *v > 0.0);
            if let Some(value) = values.iter().find(|value| !fits(value)) {
                let why = format!("{name} is {value}, which its axis cannot show");
                return Err(DrawError::Nothing(why));
            }
        }
        let axis = |kind, values: Vec<f64>, title: &str| match kind {
            Kind::Linear => Axis::around_zero(values, title),
            Kind::Logarithmic => Axis::logarithmic(values, (1.25, 1.6), title),
        };
        let x = axis(self.scales.0, points().map(|p| p.0).collect(), &self.x);
        let y = axis(self.scales.1, points().map(|p| p.1).collect(), &self.y);
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: self.legend(),
            notes: self.notes.clone(),
        };
        let (mut scene, body) = page.canvas(WIDTH, HEIGHT);
        let panel = Panel::draw(&mut scene, body, x, y);
        let mut labels = Labels::new(panel.plot.shrunk(2.0));
        let mut ends: Vec<(Point, String)> = Vec::new();
        for stroke in [Stroke::Reference, Stroke::Marked] {
            for curve in self.curves.iter().filter(|curve| curve.stroke == stroke) {
                let line: Vec<Point> = curve.points.iter().map(|&(x, y)| panel.at(x, y)).collect();
                for pair in line.windows(2) {
                    labels.avoid(pair[0], pair[1]);
                }
                let ink = Ink::Series(curve.series);
                if stroke == Stroke::Reference {
                    scene.dashed(&line, 1.6, ink, [6.0, 4.0]);
                    continue;
                }
                scene.path(line.clone(), 2.0, ink);
                // Many points make marks a smear.
                if line.len() <= 60 {
                    for at in &line {
                        scene.mark(Mark::of_series(curve.series), *at, 3.8, ink);
                        labels.reserve_mark(*at, 5.5);
                    }
                }
                if let Some(end) = line.last() {
                    ends.push((*end, curve.name.clone()));
                }
            }
        }
        if (2..=MOST_LABELS).contains(&ends.len()) {
            for (at, name) in ends {
                labels.near(&mut scene, at, 8.0, label(name, SMALL_SIZE));
            }
        }
        Ok(scene)
    }

    fn legend(&self) -> Vec<Entry> {
        let entry = |curve: &Curve| {
            let ink = Ink::Series(curve.series);
            let key = match curve.stroke {
                Stroke::Marked => Key::Mark(Mark::of_series(curve.series), ink),
                Stroke::Reference => Key::Dashes(ink),
            };
            Entry::new(key, curve.name.as_str())
        };
        self.curves.iter().filter(|curve| !curve.name.is_empty()).map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_without_a_name_has_no_key() {
        let curve = |name: &str, series| Curve {
            name: name.to_owned(),
            points: vec![(1.0, 2.0), (2.0, 3.0)],
            stroke: Stroke::Marked,
            series,
        };
        let mut curves = Curves {
            title: "t".to_owned(),
            subtitle: String::new(),
            x: "n".to_owned(),
            y: "ms".to_owned(),
            scales: (Kind::Linear, Kind::Linear),
            curves: vec![curve("", 0)],
            notes: Vec::new(),
        };
        assert!(curves.legend().is_empty());
        assert!(curves.scene().is_ok());
        curves.curves.push(curve("n 2", 1));
        assert_eq!(curves.legend().len(), 1);
    }
}
