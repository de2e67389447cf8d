//! The classes of all CTAs in order of the grid, where CTAs were told of by class.

use gpucast_interpreter::GridBox;

use super::classes::ClassKey;

/// Steps that the order may take: places of boxes in rows of the grid.
const MOST_STEPS: u64 = 1 << 26;

/// Runs of CTAs that may come of it, 24 bytes each.
const MOST_RUNS: usize = 1 << 22;

/// CTAs of a row that lie next to each other.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u32,
    ctas: u32,
    key: ClassKey,
}

/// Runs of CTAs of one class that follow each other in order of the grid. `boxes` are disjoint and
/// together the grid. `None` if there are too many.
pub(super) fn runs(grid: [u32; 3], boxes: &[(ClassKey, GridBox)]) -> Option<Vec<(ClassKey, u64)>> {
    let ctas = grid.iter().try_fold(1_u64, |all, &extent| all.checked_mul(extent.into()))?;
    let (first, _) = boxes.first()?;
    if boxes.iter().all(|(key, _)| key == first) {
        return Some(vec![(*first, ctas)]);
    }
    let rows = u64::from(grid[1]).checked_mul(grid[2].into())?;
    let mut steps = rows.checked_mul(boxes.len() as u64).filter(|steps| *steps <= MOST_STEPS)?;
    let mut runs: Vec<(ClassKey, u64)> = Vec::new();
    let mut row = Vec::new();
    for z in 0..grid[2] {
        for y in 0..grid[1] {
            row.clear();
            let here = |(_, places): &&(ClassKey, GridBox)| {
                places.steps_to(1, y).is_some() && places.steps_to(2, z).is_some()
            };
            for (key, places) in boxes.iter().filter(here) {
                let (start, step, count) = (places.start[0], places.step[0], places.count[0]);
                if step == 1 {
                    row.push(Piece { start, ctas: count, key: *key });
                    continue;
                }
                steps += u64::from(count);
                if steps > MOST_STEPS {
                    return None;
                }
                let single = |at: u32| Piece { start: start + at * step, ctas: 1, key: *key };
                row.extend((0..count).map(single));
            }
            row.sort_unstable_by_key(|piece| piece.start);
            for piece in &row {
                match runs.last_mut().filter(|(key, _)| *key == piece.key) {
                    Some((_, ctas)) => *ctas += u64::from(piece.ctas),
                    None => runs.push((piece.key, piece.ctas.into())),
                }
            }
            if runs.len() > MOST_RUNS {
                return None;
            }
        }
    }
    Some(runs)
}

/// The class of a CTA, given by its place in order of the grid.
pub(super) fn class_of(
    grid: [u32; 3],
    boxes: &[(ClassKey, GridBox)],
    cta: u64,
) -> Option<ClassKey> {
    let [width, height, _] = grid.map(u64::from);
    let place = [cta % width, cta / width % height, cta / width / height];
    let holds =
        |places: &GridBox| (0..3).all(|axis| places.steps_to(axis, place[axis] as u32).is_some());
    boxes.iter().find(|(_, places)| holds(places)).map(|(key, _)| *key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(digest: u64) -> ClassKey {
        ClassKey { digest, warp_instructions: digest, longest_warp: digest }
    }

    #[test]
    fn runs_are_those_of_the_ctas_one_by_one() {
        let grid = [7, 3, 2];
        let one = |start, step, count| GridBox { start, step, count };
        // Row 0 of both layers; of the others the columns by parity, with the last one apart.
        let boxes = [
            (key(5), one([0, 0, 0], [1, 1, 1], [7, 1, 2])),
            (key(6), one([0, 1, 0], [2, 1, 1], [3, 2, 2])),
            (key(7), one([1, 1, 0], [2, 1, 1], [3, 2, 2])),
            (key(5), one([6, 1, 0], [1, 1, 1], [1, 2, 2])),
        ];
        let of_cta = |cta: u64| class_of(grid, &boxes, cta).unwrap();
        assert_eq!(
            [0, 6, 7, 8, 12, 13, 20, 21].map(|cta| of_cta(cta).digest),
            [5, 5, 6, 7, 7, 5, 5, 5]
        );
        let mut expected: Vec<(ClassKey, u64)> = Vec::new();
        for cta in 0..42 {
            match expected.last_mut().filter(|(key, _)| *key == of_cta(cta)) {
                Some((_, ctas)) => *ctas += 1,
                None => expected.push((of_cta(cta), 1)),
            }
        }
        assert_eq!(runs(grid, &boxes), Some(expected));
    }

    #[test]
    fn one_class_is_one_run_however_large_the_grid_and_many_runs_are_refused() {
        let grid = [1 << 31, 1 << 20, 2];
        let halves = |keys: [u64; 2]| {
            let half =
                |at: u32| GridBox { start: [0, 0, at], step: [1; 3], count: [1 << 31, 1 << 20, 1] };
            [(key(keys[0]), half(0)), (key(keys[1]), half(1))]
        };
        assert_eq!(runs(grid, &halves([3, 3])), Some(vec![(key(3), 1 << 52)]));
        assert_eq!(runs(grid, &halves([3, 4])), Some(vec![(key(3), 1 << 51), (key(4), 1 << 51)]));
        let thin =
            |at: u32| GridBox { start: [at, 0, 0], step: [2, 1, 1], count: [1 << 30, 1 << 20, 2] };
        assert_eq!(runs(grid, &[(key(3), thin(0)), (key(4), thin(1))]), None);
    }
}
