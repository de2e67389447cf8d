//! The CTAs that are recorded.

use std::collections::BTreeSet;

/// The fraction part of the golden ratio times 2⁶⁴: its multiples fill an interval evenly.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A number between 0 and 1 for each index: those of any consecutive indices are spread evenly.
pub(super) fn fraction(index: u64) -> f64 {
    GOLDEN.wrapping_mul(index) as f64 / (u64::MAX as f64 + 1.0)
}

/// The places of at most `most` CTAs of a grid, in order, chosen before anything runs.
///
/// The first, the last and the middle one come first. Then come those in the middle of each face of
/// the grid, which kernels with guarded edges treat differently. The rest is spread evenly. Places
/// count as in a grid without clusters.
pub(super) fn chosen_ctas(grid: [u32; 3], most: u32) -> Vec<u64> {
    let ctas = grid.iter().fold(1_u64, |all, &extent| all.saturating_mul(extent.into()));
    if ctas <= u64::from(most) {
        return (0..ctas).collect();
    }
    let place = |[x, y, z]: [u32; 3]| {
        let [width, height, _] = grid.map(u64::from);
        let row = height.saturating_mul(z.into()).saturating_add(y.into());
        width.saturating_mul(row).saturating_add(x.into()).min(ctas - 1)
    };
    let middle = grid.map(|extent| extent / 2);
    let last = grid.map(|extent| extent.saturating_sub(1));
    let mut places = vec![0, place(last), place(middle)];
    for axis in 0..3 {
        for coordinate in [last[axis], 0] {
            let mut face = middle;
            face[axis] = coordinate;
            places.push(place(face));
        }
    }
    let spread = (1..=64 * u64::from(most)).map(|step| {
        let fraction = u128::from(GOLDEN.wrapping_mul(step));
        ((fraction * u128::from(ctas)) >> 64) as u64
    });
    let mut chosen = BTreeSet::new();
    for place in places.into_iter().chain(spread) {
        if chosen.len() == most as usize {
            break;
        }
        chosen.insert(place);
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_middle_and_faces_come_first_and_the_rest_is_spread() {
        assert_eq!(chosen_ctas([3, 2, 1], 8), [0, 1, 2, 3, 4, 5]);
        assert_eq!(chosen_ctas([100, 1, 1], 3), [0, 50, 99]);
        assert_eq!(chosen_ctas([100, 1, 1], 0), [0_u64; 0]);
        // 10 x 10: corners, the middle (5, 5), and (9, 5), (0, 5), (5, 9), (5, 0).
        assert_eq!(chosen_ctas([10, 10, 1], 7), [0, 5, 50, 55, 59, 95, 99]);
        let line = chosen_ctas([1_000_000, 1, 1], 12);
        assert_eq!(line.len(), 12);
        let widest = line.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(widest.is_some_and(|widest| widest < 200_000), "{line:?}");
    }

    #[test]
    fn every_grid_has_as_many_as_it_can() {
        for grid in [[1, 1, 1], [7, 1, 1], [11, 3, 2], [1, 500, 1], [3, 3, 70_000], [u32::MAX; 3]] {
            for most in [1, 2, 8, 10, 33] {
                let ctas = grid.iter().fold(1_u64, |all, &one| all.saturating_mul(one.into()));
                let chosen = chosen_ctas(grid, most);
                assert_eq!(chosen.len() as u64, ctas.min(most.into()), "{grid:?} {most}");
                assert!(chosen.is_sorted() && chosen.iter().all(|&cta| cta < ctas));
            }
        }
    }
}
