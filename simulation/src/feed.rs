//! The CTAs of an SM that are simulated.

use std::collections::VecDeque;

use crate::launch::{CtaRun, Launch};
use crate::work::Work;

/// Consecutive CTAs of an SM, of which the first are simulated, or some that are spread evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    /// CTAs that are simulated.
    pub(crate) simulated: u64,
    /// Warp instructions of those that are not.
    pub(crate) left: f64,
}

/// The simulated CTAs of an SM in order: class, and which sample of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feed {
    pub(crate) next: VecDeque<(u32, usize)>,
    pub(crate) parts: Vec<Part>,
}

/// Runs of CTAs that have each a part of its own, at most.
const MOST_PARTS: usize = 4;

/// Residencies of a part, at least.
const LEAST_RESIDENCIES: u64 = 3;

impl Feed {
    /// At most about `most` of an SM's CTAs, of which it holds `resident` at a time.
    pub(crate) fn new(
        launch: &Launch,
        work: &Work,
        runs: &[CtaRun],
        (most, resident): (u64, u64),
        lengths: &[f64],
    ) -> Self {
        let own: u64 = runs.iter().map(|run| run.ctas).sum();
        let mut feed = Self::default();
        let mut taken = vec![0; launch.classes.len()];
        if own <= most {
            let classes = runs.iter().flat_map(|run| repeated(run.class, run.ctas));
            feed.push(classes, 0.0, &mut taken);
        } else if runs.len() <= MOST_PARTS {
            let most = (most / runs.len() as u64).max(LEAST_RESIDENCIES * resident);
            for run in runs {
                let simulated =
                    if run.ctas <= most { run.ctas } else { part(run.ctas, most, resident) };
                let left = (run.ctas - simulated) as f64 * work.of_cta(run.class);
                feed.push(repeated(run.class, simulated), left, &mut taken);
            }
        } else {
            let classes = spread(runs, part(own, most, resident), lengths);
            let simulated: f64 = classes.iter().map(|&class| work.of_cta(class)).sum();
            let left = (work.of_runs(runs) - simulated).max(0.0);
            feed.push(classes, left, &mut taken);
        }
        feed
    }

    /// CTAs that are simulated.
    pub(crate) fn simulated(&self) -> u64 {
        self.parts.iter().map(|part| part.simulated).sum()
    }

    fn push(&mut self, classes: impl IntoIterator<Item = u32>, left: f64, taken: &mut [usize]) {
        let before = self.next.len();
        for class in classes {
            if let Some(taken) = taken.get_mut(class as usize) {
                self.next.push_back((class, *taken));
                *taken += 1;
            }
        }
        self.parts.push(Part { simulated: (self.next.len() - before) as u64, left });
    }
}

fn repeated(class: u32, ctas: u64) -> impl Iterator<Item = u32> {
    std::iter::repeat_n(class, usize::try_from(ctas).unwrap_or(usize::MAX))
}

/// CTAs of `own` that are simulated. The rest of the division stays, and with it the shape of the
/// tail.
fn part(own: u64, most: u64, resident: u64) -> u64 {
    (most - resident + own % resident).min(own)
}

/// The classes of so many CTAs: all that are long beside the others, and others spread evenly.
fn spread(runs: &[CtaRun], simulated: u64, lengths: &[f64]) -> Vec<u32> {
    let length = |class: u32| lengths.get(class as usize).copied().unwrap_or(1.0);
    let whole: f64 = runs.iter().map(|run| length(run.class) * run.ctas as f64).sum();
    let step = whole / simulated.max(1) as f64;
    let is_long = |run: &&CtaRun| length(run.class) >= step;
    let long: u64 = runs.iter().filter(is_long).map(|run| run.ctas).sum();
    let keeps_long = long <= simulated / 2;
    let own: u64 = runs.iter().map(|run| run.ctas).sum();
    let (others, places) =
        if keeps_long { (own - long, simulated - long) } else { (own, simulated) };
    let mut classes = Vec::new();
    let (mut before, mut taken) = (0, 0);
    for run in runs {
        if keeps_long && is_long(&run) {
            classes.extend(repeated(run.class, run.ctas));
            continue;
        }
        before += run.ctas;
        let wanted = (u128::from(before) * u128::from(places) + u128::from(others) / 2)
            / u128::from(others.max(1));
        let wanted = wanted as u64;
        classes.extend(repeated(run.class, wanted - taken));
        taken = wanted;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{CtaClass, CtaTrace, WarpTrace};
    use crate::writer::Writer;

    fn run(class: u32, ctas: u64) -> CtaRun {
        CtaRun { class, ctas }
    }

    /// Two classes of CTAs with one instruction and with ten.
    fn launch() -> Launch {
        let mut writer = Writer::default();
        writer.exit();
        let cta = |rounds| {
            let warp = WarpTrace { path: vec![0; rounds], ..WarpTrace::default() };
            CtaClass { samples: vec![CtaTrace { warps: vec![warp] }], scale: 1.0 }
        };
        let classes = vec![cta(1), cta(10)];
        Launch { code: writer.finish(), classes, order: vec![run(0, 1)], ..Launch::default() }
    }

    fn feed(runs: &[CtaRun], most: u64) -> (Vec<u32>, Vec<Part>) {
        let launch = launch();
        let feed = Feed::new(&launch, &Work::of(&launch), runs, (most, 2), &[1.0, 10.0]);
        assert_eq!(feed.simulated(), feed.next.len() as u64);
        (feed.next.iter().map(|next| next.0).collect(), feed.parts)
    }

    #[test]
    fn few_ctas_are_simulated_all_and_many_alike_in_part() {
        let part = |simulated, left| Part { simulated, left };
        assert_eq!(feed(&[run(0, 2), run(1, 1)], 12), (vec![0, 0, 1], vec![part(3, 0.0)]));
        // Ten and the odd one of 101.
        assert_eq!(feed(&[run(0, 101)], 12), (vec![0; 11], vec![part(11, 90.0)]));
        let (classes, parts) = feed(&[run(0, 1000), run(1, 3)], 12);
        assert_eq!(parts, [part(4, 996.0), part(3, 0.0)]);
        assert_eq!(classes, [0, 0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn of_ctas_in_many_runs_the_long_ones_stay() {
        let runs: Vec<_> =
            [run(0, 30), run(1, 1)].repeat(3).into_iter().chain([run(0, 9)]).collect();
        let (classes, parts) = feed(&runs, 20);
        assert_eq!(classes.iter().filter(|&&class| class == 1).count(), 3);
        assert_eq!(parts.len(), 1);
        let simulated: f64 = classes.iter().map(|&class| if class == 1 { 10.0 } else { 1.0 }).sum();
        assert!((parts[0].left + simulated - 129.0).abs() < 1e-9);
    }
}
