//! Streams of CTAs that ask as another one does, at other lines.
//!
//! CTAs of a class have the requests of their representative, moved. They share one copy of them:
//! CTAs in lockstep then read the same requests at the same time, from the CPU's nearest cache. A
//! stream of its own for each resident CTA would come from memory that all cores share.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::line_sample::Drawn;
use super::warp_request::{PackedTouch, Request};

/// The distance in lines of each request of a CTA to that of another one, in the order in which
/// they are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamShift {
    by: Arc<[Shift]>,
}

/// The distance of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shift {
    lines: i64,
    /// The first request behind it that has another one: those of an instruction move alike, as a
    /// rule.
    until: usize,
}

/// The distance of some consecutive requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distance {
    pub(crate) lines: i64,
    /// The first request behind them.
    pub(crate) until: usize,
}

impl StreamShift {
    /// The difference of two streams whose requests differ in their lines alone.
    pub(super) fn between(one: Asked<'_>, other: Asked<'_>) -> Option<Self> {
        let by = order(one.requests).into_iter().map(|index| {
            let (request, next) = (one.requests.get(index)?, other.requests.get(index)?);
            let (lines, next_lines) = (one.lines_of(request), other.lines_of(next));
            let first = lines.first()?.distance_to(*next_lines.first()?)?;
            let is_same =
                |(line, next): (&PackedTouch, &PackedTouch)| line.distance_to(*next) == Some(first);
            let is_alike = request.without_line() == next.without_line()
                && lines.len() == next_lines.len()
                && lines.iter().zip(next_lines).all(is_same);
            is_alike.then_some(first)
        });
        let by: Vec<i64> = by.collect::<Option<_>>()?;
        let mut shifts: Vec<Shift> = Vec::with_capacity(by.len());
        let mut until = by.len();
        for (index, &lines) in by.iter().enumerate().rev() {
            if by.get(index + 1).is_some_and(|&next| next != lines) {
                until = index + 1;
            }
            shifts.push(Shift { lines, until });
        }
        shifts.reverse();
        Some(Self { by: shifts.into() })
    }

    fn is_zero(&self) -> bool {
        self.by.iter().all(|shift| shift.lines == 0)
    }
}

/// The places of requests in the order in which they are served.
fn order(requests: &[Request]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&index| requests[index].turn());
    order
}

/// The requests of a CTA that stands for others, in the order in which they are served.
#[derive(Debug)]
pub(super) struct Represented {
    requests: Vec<Request>,
    lines: Vec<PackedTouch>,
    /// How they move along each dimension of the grid.
    shifts: Vec<StreamShift>,
    /// The same by line, if a sample of the lines was asked for.
    by_line: OnceLock<ByLine>,
}

/// The lines of requests.
#[derive(Debug, Default)]
struct ByLine {
    /// Warps ask for a line many times, as a rule, so that there are far fewer than requests.
    lines: Vec<LineUses>,
    /// All uses of lines, in the order in which they are served.
    uses: Vec<LineUse>,
}

/// A use of a line by a request.
#[derive(Clone, Copy, Debug)]
struct LineUse {
    /// Its place among [`ByLine::lines`].
    line: u32,
    request: u32,
    /// The place of the line among those of the request.
    place: u32,
}

/// The requests for a line that move alike.
#[derive(Debug)]
struct LineUses {
    line: u64,
    /// Lines from CTA to CTA along each dimension.
    by: Vec<i64>,
    /// The warp whose local memory it is, if it is that.
    warp: Option<u32>,
    /// Places among [`ByLine::uses`].
    places: Vec<u32>,
}

impl Represented {
    /// The requests of `stream`, which move by all of these.
    pub(super) fn new<'a>(
        stream: Asked<'_>,
        shifts: impl Iterator<Item = &'a StreamShift>,
    ) -> Self {
        let mut lines = Vec::new();
        let served = order(stream.requests).into_iter().map(|index| {
            let request = stream.requests[index];
            let first = lines.len();
            if request.several().is_some() {
                lines.extend_from_slice(stream.lines_of(&request));
            }
            request.with_lines_from(first)
        });
        let requests = served.collect();
        Self { requests, lines, shifts: shifts.cloned().collect(), by_line: OnceLock::new() }
    }

    fn lines_of<'a>(&'a self, request: &'a Request) -> &'a [PackedTouch] {
        let of_request = Asked { requests: &self.requests, lines: &self.lines, moved: None };
        of_request.lines_of(request)
    }

    fn by_line(&self) -> &ByLine {
        self.by_line.get_or_init(|| {
            let mut by_line = ByLine::default();
            let ByLine { lines, uses } = &mut by_line;
            let mut known = HashMap::<(u64, Vec<i64>, Option<u32>), usize>::new();
            for (index, request) in self.requests.iter().enumerate() {
                let by = self.shifts.iter().map(|shift| shift.by.get(index));
                let by: Vec<i64> = by.map(|shift| shift.map_or(0, |shift| shift.lines)).collect();
                let warp = request.demand().is_local().then(|| request.warp());
                for (place, line) in self.lines_of(request).iter().enumerate() {
                    let at = *known.entry((line.line(), by.clone(), warp)).or_insert_with(|| {
                        let places = Vec::new();
                        lines.push(LineUses { line: line.line(), by: by.clone(), warp, places });
                        lines.len() - 1
                    });
                    lines[at].places.push(uses.len() as u32);
                    let (request, place) = (index as u32, place as u32);
                    uses.push(LineUse { line: at as u32, request, place });
                }
            }
            by_line
        })
    }
}

/// The requests of a CTA in terms of its representative's.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    of: Arc<Represented>,
    /// Steps along the dimensions of the grid in which requests move.
    steps: Vec<(StreamShift, i64)>,
    /// Those along all dimensions of [`Represented::shifts`].
    all_steps: Vec<i64>,
}

/// A request for a line that was drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrawnRequest {
    pub(super) request: Request,
    pub(super) touch: PackedTouch,
    pub(super) drawn: Drawn,
}

impl Moved {
    pub(super) fn new(of: Arc<Represented>, shifts: &[(&StreamShift, u32)]) -> Self {
        let moving = shifts.iter().filter(|(shift, steps)| *steps > 0 && !shift.is_zero());
        let steps = moving.map(|&(shift, steps)| (shift.clone(), i64::from(steps)));
        let all_steps = shifts.iter().map(|(_, steps)| i64::from(*steps)).collect();
        Self { of, steps: steps.collect(), all_steps }
    }

    /// The requests for lines that are drawn, in order. `draw` gets a line, and the warp whose
    /// local memory it is, if it is that.
    pub(super) fn drawn(
        &self,
        draw: impl Fn(u64, Option<u32>) -> Option<Drawn>,
    ) -> Vec<DrawnRequest> {
        let ByLine { lines, uses } = self.of.by_line();
        let mut places: Vec<u32> = Vec::new();
        let mut drawn_lines = vec![None; lines.len()];
        for (of_line, drawn) in lines.iter().zip(&mut drawn_lines) {
            let steps = of_line.by.iter().zip(&self.all_steps);
            let distance: i64 = steps.map(|(by, steps)| by.wrapping_mul(*steps)).sum();
            *drawn = draw(of_line.line.wrapping_add_signed(distance), of_line.warp);
            if drawn.is_some() {
                places.extend_from_slice(&of_line.places);
            }
        }
        places.sort_unstable();
        let requests = places.into_iter().filter_map(|place| {
            let LineUse { line, request, place } = *uses.get(place as usize)?;
            let drawn = *drawn_lines.get(line as usize)?;
            let request = *self.of.requests.get(request as usize)?;
            let touch = *self.of.lines_of(&request).get(place as usize)?;
            Some(DrawnRequest { request, touch, drawn: drawn? })
        });
        requests.collect()
    }

    /// The requests; their lines lie elsewhere.
    #[inline]
    pub(super) fn requests(&self) -> &[Request] {
        &self.of.requests
    }

    /// The lines of requests that have several; they lie elsewhere, too.
    #[inline]
    pub(super) fn lines(&self) -> &[PackedTouch] {
        &self.of.lines
    }

    /// The distance from the representative's lines to those of a request, and of some behind it.
    #[inline]
    pub(super) fn distance(&self, request: usize) -> Distance {
        let mut distance = Distance { lines: 0, until: usize::MAX };
        for (shift, steps) in &self.steps {
            if let Some(shift) = shift.by.get(request) {
                let lines = shift.lines.wrapping_mul(*steps);
                distance.lines = distance.lines.wrapping_add(lines);
                distance.until = distance.until.min(shift.until);
            }
        }
        distance
    }
}

/// The requests of a CTA. Their lines are a distance further than they say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) requests: &'a [Request],
    /// The lines of requests that have several.
    lines: &'a [PackedTouch],
    moved: Option<&'a Moved>,
}

impl<'a> Asked<'a> {
    #[inline]
    pub(super) fn new(
        requests: &'a [Request],
        lines: &'a [PackedTouch],
        moved: Option<&'a Moved>,
    ) -> Self {
        Self { requests, lines, moved }
    }

    /// The lines of one of the requests, without the distance.
    #[inline]
    pub(crate) fn lines_of(&self, request: &'a Request) -> &'a [PackedTouch] {
        request.lines_among(self.lines)
    }

    /// The distance in lines from what a request says, and how far it holds.
    #[inline]
    pub(crate) fn distance(&self, request: usize) -> Distance {
        let none = Distance { lines: 0, until: usize::MAX };
        self.moved.map_or(none, |moved| moved.distance(request))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hierarchy::{CtaStream, Demand, LineSample};
    use crate::units::LineTouch;

    /// The warp, the time and the lines of a request, and how its lines move along two dimensions.
    type Planned = (u32, u64, Vec<u8>, [i64; 2]);

    /// The stream of the CTA that is so many steps along each dimension.
    fn stream(planned: &[Planned], steps: [i64; 2]) -> CtaStream {
        let mut stream = CtaStream::new(1 << 10);
        for (row, (warp, time, lines, by)) in planned.iter().enumerate() {
            let moved = by[0] * steps[0] + by[1] * steps[1];
            for &line in lines {
                let line = (1000 + i64::from(line) + moved) as u64;
                stream.push(LineTouch { line, sectors: 1 + row as u8 % 15, full: 1 });
            }
            stream.close(Request::new(*time, *warp, row as u32, Demand::Load));
            stream.reach(*time);
        }
        stream
    }

    /// The turn and the row of a request, and its lines with their sectors.
    type Asked = (u64, u32, Vec<(u64, u8)>);

    /// What the caches are asked for, in order.
    fn asked(stream: &CtaStream) -> Vec<Asked> {
        let requests = stream.requests().iter().enumerate();
        let asked = requests.map(|(index, request)| {
            let lines = stream.lines_of(request).iter();
            let lines = lines.map(|line| line.moved(stream.asked().distance(index).lines));
            let lines = lines.map(|line| (line.line(), line.sectors())).collect();
            (request.turn(), request.row(), lines)
        });
        asked.collect()
    }

    proptest! {
        #[test]
        fn a_moved_stream_asks_as_one_of_its_own_does(
            planned in prop::collection::vec(
                (0_u32..4, 0_u64..6, prop::collection::vec(any::<u8>(), 1..4), [-9_i64..9, 0_i64..2]),
                0..40,
            ),
            steps in [0_u32..50, 0_u32..50],
        ) {
            let representative = stream(&planned, [0, 0]);
            let shifts = [[1, 0], [0, 1]].map(|next| {
                representative.shift_to(&stream(&planned, next)).unwrap()
            });
            let mut own = stream(&planned, steps.map(i64::from));
            own.sort();
            // A recorder that another CTA has used before.
            let mut moved = stream(&planned[..planned.len() / 2], [3, 3]);
            moved.move_from(&representative, &[(&shifts[0], steps[0]), (&shifts[1], steps[1])]);
            moved.sort();
            prop_assert_eq!(asked(&moved), asked(&own));
            for index in 0..planned.len() {
                let of = |index| moved.asked().distance(index);
                let until = of(index).until.min(planned.len());
                prop_assert!(until > index);
                prop_assert!((index..until).all(|other| of(other).lines == of(index).lines));
            }
            prop_assert_eq!(moved.length(), own.length());
            prop_assert_eq!(moved.sectors(), own.sectors());
            // So does a sample of its lines.
            let before: Vec<u64> = asked(&own).iter().flat_map(|answer| &answer.2).map(|answer| answer.0).collect();
            for stream in [&mut moved, &mut own] {
                stream.thin(LineSample::of(4, 1), 3);
            }
            prop_assert_eq!(asked(&moved), asked(&own));
            let drawn = before.iter().filter(|&&line| LineSample::of(4, 1).draw(line, 0).is_some());
            prop_assert_eq!(drawn.count(), own.requests().len());
        }
    }
}
