//! What some tracks do over time: a row of coloured slices for each.

use crate::axis::Axis;
use crate::draw::DrawError;
use crate::font::Weight;
use crate::geometry::{Rect, point};
use crate::layout::{Entry, Key, LABEL_SIZE, Page, SMALL_SIZE, horizontal_axis, shortened, widest};
use crate::number::significant;
use crate::scene::{Anchor, Scene, Text};
use crate::theme::Ink;

/// A stretch of time that a track spends in one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// The beginning.
    pub from: f64,
    /// The end, behind it.
    pub until: f64,
    /// The way: an index into [`Timeline::kinds`].
    pub kind: usize,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Tracks of the same group stand together under its name.
    pub group: String,
    /// The name that tells the track from others of the group.
    pub name: String,
    /// In the order of time; they do not overlap.
    pub slices: Vec<Slice>,
}

/// A way of spending time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// The height of its slices in eighths of a row, so that colour is not all that tells them
    /// apart.
    pub eighths: u8,
}

/// Tracks over one axis of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The title.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// The quantity of the axis, with its unit.
    pub axis: String,
    /// The ways of spending time.
    pub kinds: Vec<Kind>,
    /// At least one, groups together.
    pub tracks: Vec<Track>,
    /// The first moment that is shown, and the last one.
    pub span: (f64, f64),
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 1200.0;
/// The pixels of a row, and of the name of a group.
const ROW: f64 = 15.0;
const GROUP: f64 = 24.0;
/// Slices of less than these pixels are too thin to be pointed at.
const LEAST_READING: f64 = 4.0;
/// The pixels that a row is divided into. In each, the way that takes most of its time is shown.
const STEP: f64 = 1.0;

impl Timeline {
    /// Lays the picture out.
    ///
    /// # Errors
    ///
    /// Without tracks, without time, or with a kind that has no name.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        let (from, until) = self.span;
        if self.tracks.is_empty() || !(until > from && from.is_finite() && until.is_finite()) {
            return Err(DrawError::Nothing("no time to show".to_owned()));
        }
        let kinds = self.tracks.iter().flat_map(|track| &track.slices).map(|slice| slice.kind);
        if kinds.clone().any(|kind| kind >= self.kinds.len()) {
            return Err(DrawError::Nothing("a slice is of an unknown kind".to_owned()));
        }
        let used = |at: usize| kinds.clone().any(|kind| kind == at);
        let entry = |(at, kind): (usize, &Kind)| {
            used(at).then(|| Entry::new(Key::Patch(Ink::Series(at)), kind.name.as_str()))
        };
        let page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: self.kinds.iter().enumerate().filter_map(entry).collect(),
            notes: self.notes.clone(),
        };
        let below = SMALL_SIZE + LABEL_SIZE * 1.45 + 16.0;
        let groups = self.group_starts().filter(|starts| *starts).count() as f64;
        let height = groups * GROUP + self.tracks.len() as f64 * ROW + below;
        let (mut scene, body) = page.canvas(WIDTH, height);
        let names = widest(self.tracks.iter().map(|track| track.name.as_str()), SMALL_SIZE);
        let left = body.left + names.min(200.0) + 12.0;
        let plot = Rect::new(left, body.top, body.right - 14.0, body.bottom - below);
        let axis = Axis { low: from, high: until, ..Axis::from_zero([until], &self.axis) };
        horizontal_axis(&mut scene, plot, &axis);
        let mut y = body.top;
        for (track, starts) in self.tracks.iter().zip(self.group_starts()) {
            if starts {
                let at = point(body.left, y + GROUP - 8.0);
                let room = plot.right - body.left;
                let name = shortened(&track.group, LABEL_SIZE, Weight::SemiBold, room);
                let mut text = Text::new(name, at, Anchor::Start, LABEL_SIZE).bold();
                text.patch = true;
                scene.text(text);
                y += GROUP;
            }
            let name = shortened(&track.name, SMALL_SIZE, Weight::Regular, names.min(200.0));
            let at = point(left - 8.0, y + ROW / 2.0 + SMALL_SIZE * 0.36);
            scene.text(Text::new(name, at, Anchor::End, SMALL_SIZE).ink(Ink::Muted));
            self.draw(&mut scene, track, Rect { top: y, bottom: y + ROW, ..plot });
            y += ROW;
        }
        Ok(scene)
    }

    /// For each track, true if it is the first of its group; unnamed groups have no name to show.
    fn group_starts(&self) -> impl Iterator<Item = bool> {
        self.tracks.iter().enumerate().map(|(at, track)| {
            !track.group.is_empty() && (at == 0 || self.tracks[at - 1].group != track.group)
        })
    }

    fn draw(&self, scene: &mut Scene, track: &Track, row: Rect) {
        let (from, until) = self.span;
        let steps = (row.width() / STEP).round().max(1.0);
        let of_step = |at: f64| from + (until - from) * at / steps;
        for (kind, first, last) in runs(&self.seen(track, steps as usize)) {
            let (left, right) = (first as f64 * STEP, last as f64 * STEP);
            let height = (ROW - 3.0) * f64::from(self.kinds[kind].eighths.clamp(1, 8)) / 8.0;
            let bottom = row.bottom - 1.5;
            let right = row.left + right.min(row.width());
            let area = Rect::new(row.left + left, bottom - height, right, bottom);
            scene.rect(area, Ink::Series(kind));
            if area.width() >= LEAST_READING {
                let [begin, end] =
                    [first, last].map(|at| significant(of_step(at as f64).round(), 9));
                let name = &self.kinds[kind].name;
                let track = format!("{} {}", track.group, track.name);
                scene.reading(area, format!("{track}, {begin} to {end}: {name}"));
            }
        }
    }

    /// The kind that takes most of each step; `None` where the track does nothing.
    fn seen(&self, track: &Track, steps: usize) -> Vec<Option<usize>> {
        let (from, until) = self.span;
        let scale = steps as f64 / (until - from);
        let mut time = vec![0.0; steps * self.kinds.len()];
        for slice in &track.slices {
            let begin = ((slice.from - from) * scale).clamp(0.0, steps as f64);
            let end = ((slice.until - from) * scale).clamp(0.0, steps as f64);
            let mut at = begin;
            while at < end {
                let step = (at as usize).min(steps - 1);
                let next = (step as f64 + 1.0).min(end);
                time[step * self.kinds.len() + slice.kind] += next - at;
                at = next;
            }
        }
        let most = |times: &[f64]| {
            let best = (0..times.len()).reduce(|a, b| if times[b] > times[a] { b } else { a })?;
            (times[best] > 0.0).then_some(best)
        };
        time.chunks(self.kinds.len()).map(most).collect()
    }
}

/// Neighbours that are equal: the kind, the first step, and the one behind the last.
fn runs(seen: &[Option<usize>]) -> Vec<(usize, usize, usize)> {
    let mut runs = Vec::new();
    let mut first = 0;
    for chunk in seen.chunk_by(|a, b| a == b) {
        let last = first + chunk.len();
        if let Some(kind) = chunk[0] {
            runs.push((kind, first, last));
        }
        first = last;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(slices: &[(f64, f64, usize)]) -> Timeline {
        let slice = |&(from, until, kind)| Slice { from, until, kind };
        let kind = |name: &str| Kind { name: name.to_owned(), eighths: 8 };
        let tracks = vec![Track { slices: slices.iter().map(slice).collect(), ..Track::default() }];
        let kinds = vec![kind("a"), kind("b")];
        Timeline { kinds, tracks, span: (0.0, 10.0), ..Timeline::default() }
    }

    #[test]
    fn a_step_shows_what_takes_most_of_it() {
        let timeline = timeline(&[(0.0, 2.5, 0), (2.5, 3.0, 1), (3.5, 4.5, 1), (9.0, 20.0, 0)]);
        let seen = timeline.seen(&timeline.tracks[0], 5);
        assert_eq!(seen, [Some(0), Some(1), Some(1), None, Some(0)]);
        assert_eq!(runs(&seen), [(0, 0, 1), (1, 1, 3), (0, 4, 5)]);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let refused = |timeline: &Timeline| timeline.scene().is_err();
        assert!(refused(&Timeline { tracks: Vec::new(), ..timeline(&[]) }));
        assert!(refused(&Timeline { span: (3.0, 3.0), ..timeline(&[]) }));
        assert!(refused(&timeline(&[(0.0, 1.0, 2)])));
        assert!(!refused(&timeline(&[(0.0, 1.0, 1)])));
    }
}
