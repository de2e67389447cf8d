//! The CTAs that are recorded where only windows of the grid go through the caches.

use std::collections::BTreeSet;
use std::ops::Range;

use super::choice;

/// CTAs of a window that are looked at for one of a class.
const MOST_LOOKED_AT: u64 = 1 << 12;

/// The places of at most `most` CTAs within `windows`, which lie in order of the grid.
///
/// They stand for those that are chosen in the whole grid ([`choice::chosen_ctas`]). A chosen CTA
/// outside has a CTA of its class in its place: one of its column in the nearest window, else the
/// first one that is found. The rest is spread evenly over the windows.
pub(super) fn chosen_ctas<K: PartialEq>(
    grid: [u32; 3],
    most: u32,
    windows: &[Range<u64>],
    class_of: impl Fn(u64) -> Option<K>,
) -> Vec<u64> {
    let width = u64::from(grid[0].max(1));
    let stand_in = |wanted: u64| {
        let class = class_of(wanted)?;
        let is_alike = |cta: &u64| class_of(*cta).as_ref() == Some(&class);
        let distance = |window: &Range<u64>| match wanted < window.start {
            true => window.start - wanted,
            false => (wanted + 1).saturating_sub(window.end),
        };
        let mut nearest: Vec<&Range<u64>> = windows.iter().collect();
        nearest.sort_by_key(|window| distance(window));
        let of_column = |window: &&Range<u64>| {
            let first = window.start + (wanted % width + width - window.start % width) % width;
            let last = window.end.checked_sub(1)?;
            // The nearest of the column.
            let cta = match wanted > last {
                true => first + last.checked_sub(first)? / width * width,
                false => wanted.max(first),
            };
            window.contains(&cta).then_some(cta)
        };
        let looked_at =
            |window: &&Range<u64>| window.start..window.end.min(window.start + MOST_LOOKED_AT);
        let mut columns = nearest.iter().copied().filter_map(|window| of_column(&window));
        let in_column = columns.find(is_alike);
        in_column.or_else(|| nearest.iter().flat_map(looked_at).find(is_alike))
    };
    let mut chosen: BTreeSet<u64> =
        choice::chosen_ctas(grid, most).into_iter().filter_map(stand_in).collect();
    let ctas: u64 = windows.iter().map(|window| window.end - window.start).sum();
    for step in 0..64 * u64::from(most) {
        if chosen.len() >= most as usize {
            break;
        }
        let mut place = (choice::fraction(step + 1) * ctas as f64) as u64;
        for window in windows {
            let length = window.end - window.start;
            if place < length {
                chosen.insert(window.start + place);
                break;
            }
            place -= length;
        }
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_ctas_lie_in_windows_and_are_of_the_classes_of_those_that_they_stand_for() {
        let grid = [10, 1000, 1];
        let windows = [0..20, 2000..2040, 5000..5040, 9980..10_000];
        // The edges of the grid are classes of their own.
        let class_of = |cta: u64| {
            let side = match cta % 10 {
                0 => 0,
                9 => 2,
                _ => 1,
            };
            let end = match cta / 10 {
                0 => 0,
                999 => 2,
                _ => 1,
            };
            Some((side, end))
        };
        let chosen = chosen_ctas(grid, 10, &windows, class_of);
        assert_eq!(chosen.len(), 10);
        assert!(chosen.is_sorted());
        for cta in &chosen {
            assert!(windows.iter().any(|window| window.contains(cta)), "{cta}");
        }
        let classes: BTreeSet<_> = chosen.iter().map(|&cta| class_of(cta)).collect();
        let wanted: BTreeSet<_> = choice::chosen_ctas(grid, 9).into_iter().map(class_of).collect();
        assert!(classes.is_superset(&wanted), "{classes:?}");
    }

    #[test]
    fn ctas_outside_get_the_nearest_of_their_column() {
        // The middle of the grid is CTA 505; the windows hold rows 3 to 5 and 90 to 92.
        let grid = [10, 100, 1];
        let chosen = chosen_ctas(grid, 3, &[30..60, 900..930], |_| Some(()));
        assert_eq!(chosen, [30, 905, 929]);
    }
}
