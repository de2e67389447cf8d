//! `shfl`: which lane each lane reads (manual, 9.7.9.6).

/// Returns the source lane of `lane`, and true if it is in range; out of range a lane reads itself.
///
/// The mode is 0 for up, 1 for down, 2 for butterfly, 3 for index. `b` is the offset or index, and
/// `c` holds the clamp and the segment mask.
#[inline(always)]
#[must_use]
pub fn source_lane(mode: u16, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let clamp = c & 0x1f;
    let segment = (c >> 8) & 0x1f;
    let offset = b & 0x1f;
    let max_lane = (lane & segment) | (clamp & !segment);
    let min_lane = lane & segment;
    let (source, valid) = match mode {
        0 => (lane.wrapping_sub(offset), (lane as i32) - (offset as i32) >= max_lane as i32),
        1 => (lane + offset, lane + offset <= max_lane),
        2 => (lane ^ offset, (lane ^ offset) <= max_lane),
        _ => {
            let source = min_lane | (offset & !segment);
            (source, source <= max_lane)
        }
    };
    if valid { (source & 31, true) } else { (lane, false) }
}
