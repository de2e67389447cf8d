//! Which SM gets which CTAs.
//!
//! A GPU starts CTAs in order of their numbers, each where a place is free first. CTAs differ in
//! length, so SMs get different ones, and few SMs may have much more to do than all others. SMs
//! with the same CTAs, or with nearly as much to do, make up a class. The simulation has one SM of
//! each class. Lengths are known about only, so SMs with the longest CTAs are classes of their own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::launch::CtaRun;

/// SMs that are alike.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SmClass {
    /// Their number.
    pub(crate) sms: u64,
    /// The CTAs of one of them, in order.
    pub(crate) runs: Vec<CtaRun>,
}

/// Classes of SMs with the longest CTAs, and of those without, at most.
const MOST_CLASSES: usize = 4;

/// SMs are alike where one has at least this part of the other's work.
const ALIKE: f64 = 0.9;

/// The longest CTAs may hold up a launch if each takes this part of its time.
const LONG: f64 = 0.25;

/// CTAs that are dealt one by one, at most. Of more, one stands for several of its class.
const MOST_DEALT: u64 = 1 << 17;

/// The classes of SMs that get CTAs. A CTA of each class of CTAs
/// takes about so many clocks as `lengths` says; an SM holds `resident` at a time.
pub(crate) fn dispatch(order: &[CtaRun], lengths: &[f64], resident: u64, sms: u64) -> Vec<SmClass> {
    let (resident, sms) = (resident.max(1), sms.max(1));
    let length = |class: u32| lengths.get(class as usize).map_or(1.0, |length| length.max(1.0));
    let loads = match order {
        [] => Vec::new(),
        [first, rest @ ..] if rest.iter().all(|run| run.class == first.class) => {
            let ctas: u64 = order.iter().map(|run| run.ctas).sum();
            let of_sm = |ctas: u64, sms: u64| Load {
                sms,
                end: ctas.div_ceil(resident) as f64,
                work: ctas as f64 / resident as f64,
                runs: vec![CtaRun { class: first.class, ctas }],
            };
            vec![of_sm(ctas / sms + 1, ctas % sms), of_sm(ctas / sms, sms - ctas % sms)]
        }
        _ => dealt(order, length, resident, sms),
    };
    let end = loads.iter().map(|load| load.end).fold(0.0, f64::max);
    let longest = order.iter().map(|run| run.class).max_by(|&one, &other| {
        let order = length(one).total_cmp(&length(other));
        order.then(other.cmp(&one))
    });
    let longest = longest.filter(|&class| length(class) >= LONG * end);
    let (with, without) = loads
        .into_iter()
        .partition(|load: &Load| load.runs.iter().any(|run| Some(run.class) == longest));
    let mut classes = grouped(with);
    classes.extend(grouped(without));
    classes
}

/// What some SMs with the same CTAs have to do.
#[derive(Clone, Debug)]
struct Load {
    sms: u64,
    /// When the last of its CTAs ends.
    end: f64,
    /// The time of its CTAs over its places.
    work: f64,
    runs: Vec<CtaRun>,
}

impl Load {
    /// SMs that end late have much to do, and so do those whose places are all taken.
    fn weight(&self) -> f64 {
        self.end + self.work
    }
}

/// Classes of SMs that have nearly as much to do.
fn grouped(mut loads: Vec<Load>) -> Vec<SmClass> {
    loads.retain(|load| load.sms > 0 && load.work > 0.0);
    loads.sort_by(|one, other| other.weight().total_cmp(&one.weight()));
    let (Some(first), Some(last)) = (loads.first(), loads.last()) else { return Vec::new() };
    // Where that were too many, steps are wider.
    let range = last.weight() / first.weight();
    let mut steps = 1;
    let mut from = first.weight();
    for load in &loads {
        if load.weight() < ALIKE * from {
            (steps, from) = (steps + 1, load.weight());
        }
    }
    let step = if steps <= MOST_CLASSES { ALIKE } else { range.powf(1.0 / MOST_CLASSES as f64) };
    let mut classes: Vec<SmClass> = Vec::new();
    let mut rest = loads.as_slice();
    while let Some(first) = rest.first() {
        let is_last = classes.len() + 1 == MOST_CLASSES;
        let is_in = |load: &Load| is_last || load.weight() >= step * first.weight();
        let count = rest.iter().take_while(|load| is_in(load)).count();
        let (group, others) = rest.split_at(count);
        // The launch ends with the SM that has most to do. Of others a middle one is typical.
        let typical = if classes.is_empty() { first } else { middle(group) };
        let sms = group.iter().map(|load| load.sms).sum();
        classes.push(SmClass { sms, runs: typical.runs.clone() });
        rest = others;
    }
    classes
}

/// The load of the SM in the middle.
fn middle(group: &[Load]) -> &Load {
    let half = group.iter().map(|load| load.sms).sum::<u64>() / 2;
    let mut before = 0;
    let is_there = |load: &&Load| {
        before += load.sms;
        before > half
    };
    group.iter().find(is_there).unwrap_or(&group[0])
}

/// The loads of all SMs, one by one.
fn dealt(order: &[CtaRun], length: impl Fn(u32) -> f64, resident: u64, sms: u64) -> Vec<Load> {
    let (order, times) = thinned(order, sms * resident);
    let empty = Load { sms: 1, end: 0.0, work: 0.0, runs: Vec::new() };
    let mut loads = vec![empty; sms as usize];
    let places = sms * resident;
    // Times at which places are free. Equal ones go round the SMs.
    let mut free: BinaryHeap<Reverse<(u64, u64)>> =
        (0..places).map(|place| Reverse((0, place))).collect();
    for run in &order {
        let clocks = length(run.class).round() as u64;
        let mut left = run.ctas;
        while left > 0 {
            for _ in 0..left.min(places) {
                let Some(Reverse((at, place))) = free.pop() else { break };
                let load = &mut loads[(place % sms) as usize];
                load.end = load.end.max((at + clocks) as f64);
                load.take(CtaRun { class: run.class, ctas: 1 }, clocks as f64 / resident as f64);
                free.push(Reverse((at + clocks, place)));
            }
            left = left.saturating_sub(places);
            // Places that are all free within one CTA's time take one each, again and again.
            let first = free.peek().map_or(0, |Reverse((at, _))| *at);
            let last = free.iter().map(|Reverse((at, _))| *at).max().unwrap_or(0);
            let rounds = left / places;
            if rounds > 0 && last - first <= clocks {
                left -= rounds * places;
                let ctas = rounds * resident;
                for load in &mut loads {
                    load.end += (rounds * clocks) as f64;
                    load.take(CtaRun { class: run.class, ctas }, (rounds * clocks) as f64);
                }
                let later = |Reverse((at, place))| Reverse((at + rounds * clocks, place));
                free = free.into_iter().map(later).collect();
            }
        }
    }
    for load in &mut loads {
        for run in &mut load.runs {
            let times = times.get(run.class as usize).copied().unwrap_or(1.0);
            run.ctas = ((run.ctas as f64 * times).round() as u64).max(1);
        }
    }
    loads
}

impl Load {
    fn take(&mut self, run: CtaRun, work: f64) {
        self.work += work;
        match self.runs.last_mut() {
            Some(last) if last.class == run.class => last.ctas += run.ctas,
            _ => self.runs.push(run),
        }
    }
}

/// The order with fewer CTAs where they would be too many to deal, and of each class the CTAs that
/// one stands for. The first CTA of a class always stays.
fn thinned(order: &[CtaRun], places: u64) -> (Vec<CtaRun>, Vec<f64>) {
    let classes = order.iter().map(|run| run.class as usize + 1).max().unwrap_or(0);
    let one_by_one: u64 = order.iter().map(|run| run.ctas.min(3 * places)).sum();
    let every = one_by_one.div_ceil(MOST_DEALT).max(1);
    if every == 1 {
        return (order.to_vec(), vec![1.0; classes]);
    }
    let mut seen = vec![(0_u64, 0_u64); classes];
    let mut thin: Vec<CtaRun> = Vec::new();
    for run in order {
        let (ctas, kept) = &mut seen[run.class as usize];
        *ctas += run.ctas;
        let wanted = ctas.div_ceil(every);
        let more = wanted - *kept;
        *kept = wanted;
        match thin.last_mut() {
            _ if more == 0 => {}
            Some(last) if last.class == run.class => last.ctas += more,
            _ => thin.push(CtaRun { class: run.class, ctas: more }),
        }
    }
    let times = seen.iter().map(|&(ctas, kept)| ctas as f64 / kept.max(1) as f64).collect();
    (thin, times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(class: u32, ctas: u64) -> CtaRun {
        CtaRun { class, ctas }
    }

    fn class(sms: u64, runs: &[CtaRun]) -> SmClass {
        SmClass { sms, runs: runs.to_vec() }
    }

    #[test]
    fn equal_ctas_make_two_classes_of_sms_until_one_more_is_nothing() {
        let of_ctas = |ctas| dispatch(&[run(0, ctas)], &[50.0], 4, 10);
        assert_eq!(of_ctas(7), [class(7, &[run(0, 1)])]);
        assert_eq!(of_ctas(40), [class(10, &[run(0, 4)])]);
        assert_eq!(of_ctas(41), [class(1, &[run(0, 5)]), class(9, &[run(0, 4)])]);
        assert_eq!(of_ctas(1001), [class(10, &[run(0, 101)])]);
        assert_eq!(dispatch(&[], &[], 4, 10), []);
    }

    #[test]
    fn the_sm_of_a_long_cta_is_a_class_of_its_own_wherever_the_cta_stands() {
        for place in [0, 3, 17, 39] {
            let order = [run(0, place), run(1, 1), run(0, 39 - place)];
            let order: Vec<_> = order.into_iter().filter(|run| run.ctas > 0).collect();
            let classes = dispatch(&order, &[50.0, 5000.0], 4, 10);
            assert_eq!(classes.iter().map(|class| class.sms).collect::<Vec<_>>(), [1, 9]);
            let long = |runs: &[CtaRun]| runs.iter().any(|run| run.class == 1);
            assert!(long(&classes[0].runs) && !long(&classes[1].runs));
            let ctas = |class: &SmClass| class.runs.iter().map(|run| run.ctas).sum::<u64>();
            assert_eq!(classes.iter().map(ctas).collect::<Vec<_>>(), [4, 4]);
        }
    }

    #[test]
    fn short_ctas_go_round_a_long_one() {
        // Nine SMs share what the tenth has no place for.
        let classes = dispatch(&[run(1, 1), run(0, 90)], &[50.0, 450.0], 1, 10);
        let sms: Vec<_> = classes.iter().map(|class| (class.sms, class.runs.clone())).collect();
        let ctas = |runs: &[CtaRun]| runs.iter().map(|run| run.ctas).sum::<u64>();
        let all: u64 = sms.iter().map(|(sms, runs)| sms * ctas(runs)).sum();
        assert!((90..=92).contains(&all), "{sms:?}");
        assert!(sms[0].0 == 1 && sms[0].1[0] == run(1, 1), "{sms:?}");
    }

    #[test]
    fn millions_of_ctas_are_dealt_in_rounds_or_thinned_out() {
        let classes = dispatch(&[run(0, 100_000_000), run(1, 20)], &[10.0, 1e6], 8, 100);
        assert_eq!(classes[0].sms, 20);
        assert_eq!(classes[0].runs[1], run(1, 1));
        let order: Vec<_> = (0..1_000_000).map(|at| run(at % 2, 1)).collect();
        let classes = dispatch(&order, &[10.0, 20.0], 8, 100);
        let of_sm: u64 = classes[0].runs.iter().map(|run| run.ctas).sum();
        assert!((9_500..10_500).contains(&of_sm), "{of_sm}");
    }

    #[test]
    fn many_different_sms_make_few_classes() {
        let order: Vec<_> = (0..1000).map(|at| run(at, 1)).collect();
        let lengths: Vec<_> = (0..1000_u32).map(|at| f64::from(at + 1)).collect();
        let classes = dispatch(&order, &lengths, 1, 1000);
        assert_eq!(classes.len(), 1 + MOST_CLASSES);
        assert_eq!(classes.iter().map(|class| class.sms).sum::<u64>(), 1000);
        assert_eq!(classes[0].runs, [run(999, 1)]);
    }
}
