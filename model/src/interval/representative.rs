//! The warp that stands for the CTAs of a class (GPUMech, section 3.2).
//!
//! Warps are points of their instructions and of their instructions per clock alone. They fall into
//! two clusters; the warp nearest to the centre of the larger one is the representative.

/// A warp as GPUMech compares it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Warp instructions.
    pub(super) instructions: f64,
    /// Clocks alone.
    pub(super) clocks: f64,
}

/// Rounds after which two clusters on a line have settled, or never do.
const MOST_ROUNDS: usize = 16;

/// The position of the representative; 0 if there are none.
pub(super) fn representative(points: &[Point]) -> usize {
    let mean = |of: fn(&Point) -> f64| {
        let sum: f64 = points.iter().map(of).sum();
        (sum / points.len().max(1) as f64).max(f64::MIN_POSITIVE)
    };
    let rate = |point: &Point| point.instructions / point.clocks.max(1.0);
    let (instructions, rates) = (mean(|point| point.instructions), mean(rate));
    let places: Vec<[f64; 2]> = points
        .iter()
        .map(|point| [point.instructions / instructions, rate(point) / rates])
        .collect();
    let sum = |place: &&[f64; 2]| place[0] + place[1];
    let least = places.iter().min_by(|a, b| sum(a).total_cmp(&sum(b)));
    let most = places.iter().max_by(|a, b| sum(a).total_cmp(&sum(b)));
    let (Some(&least), Some(&most)) = (least, most) else { return 0 };
    let mut centres = [least, most];
    let mut members = vec![0; places.len()];
    for _ in 0..MOST_ROUNDS {
        let nearest: Vec<usize> = places
            .iter()
            .map(|place| usize::from(distance(place, &centres[1]) < distance(place, &centres[0])))
            .collect();
        if nearest == members {
            break;
        }
        members = nearest;
        for (cluster, centre) in centres.iter_mut().enumerate() {
            let own = || places.iter().zip(&members).filter(|(_, at)| **at == cluster);
            let count = own().count() as f64;
            if count > 0.0 {
                let along = |axis: usize| own().map(|(place, _)| place[axis]).sum::<f64>() / count;
                *centre = [along(0), along(1)];
            }
        }
    }
    let second = members.iter().sum::<usize>();
    let larger = usize::from(2 * second > members.len());
    let own = (0..places.len()).filter(|&at| members[at] == larger);
    own.min_by(|&a, &b| {
        let to_centre = |at: usize| distance(&places[at], &centres[larger]);
        to_centre(a).total_cmp(&to_centre(b))
    })
    .unwrap_or(0)
}

fn distance(a: &[f64; 2], b: &[f64; 2]) -> f64 {
    (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)
}
