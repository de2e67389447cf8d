//! Clocks per instruction of an SM, which an extrapolation goes on with.

use crate::sm::Ended;

/// Clocks per instruction in the second half of a cut run, and how much its quarters differ. Marks
/// are clocks and the instructions issued until then.
pub(crate) fn second_half(marks: &[(u64, u64)]) -> (f64, f64) {
    let [.., last] = marks else { return (0.0, 0.0) };
    let rate =
        |from: (u64, u64), to: (u64, u64)| (to.0 - from.0) as f64 / (to.1 - from.1).max(1) as f64;
    let (half, three_quarters) = (marks[marks.len() / 2], marks[marks.len() * 3 / 4]);
    if half.1 == last.1 {
        return (last.0 as f64 / last.1.max(1) as f64, 0.0);
    }
    let whole = rate(half, *last);
    let (first, second) = (rate(half, three_quarters), rate(three_quarters, *last));
    (whole, if whole > 0.0 { (first - second).abs() / whole } else { 0.0 })
}

/// Returns true if the rate has settled: a cut here and one after half as much give the same.
pub(crate) fn is_steady(marks: &[(u64, u64)]) -> bool {
    let (rate, _) = second_half(marks);
    let (before, _) = second_half(&marks[..marks.len() / 2]);
    (rate - before).abs() <= MOST_CHANGE * rate
}

/// Rates that differ by less than this share are the same.
const MOST_CHANGE: f64 = 0.002;

/// Clocks per instruction in the steady state, and how much its halves differ. The first residency
/// starts cold and as fast as the GPU starts CTAs, and the second one still does so in its wake. So
/// the steady state lasts from the end of the second one, for as many whole residencies as end
/// before the last one. CTAs may end in bunches, so instructions are counted and not ends.
pub(crate) fn steady_rate(ends: &[Ended], resident: u64) -> (f64, f64) {
    let resident = resident.max(1) as usize;
    let Some(last) = ends.len().checked_sub(1) else { return (0.0, 0.0) };
    let rate = |from: usize, to: usize| {
        let (from, to) = (&ends[from], &ends[to]);
        let issued = to.issued.saturating_sub(from.issued).max(1);
        (to.clock as f64 - from.clock as f64).max(0.0) / issued as f64
    };
    // The end of a residency, and whole ones between it and the last one.
    let after = |first: usize| (first, last.saturating_sub(resident + first) / resident);
    let (mut first, mut residencies) = after((2 * resident - 1).min(last));
    if residencies == 0 {
        (first, residencies) = after((resident - 1).min(last));
    }
    if residencies == 0 {
        return (ends[last].clock as f64 / ends[last].issued.max(1) as f64, 0.0);
    }
    let (middle, end) = (first + residencies / 2 * resident, first + residencies * resident);
    let whole = rate(first, end);
    if middle == first || whole <= 0.0 {
        return (whole, 0.0);
    }
    (whole, (rate(first, middle) - rate(middle, end)).abs() / whole)
}
