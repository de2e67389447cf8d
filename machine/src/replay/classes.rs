//! The recorded CTAs that stand for each class.

use gpucast_counters::trace::ClassTrace;
use gpucast_simulation::launch::{CtaClass, CtaTrace};

/// The classes with their samples. Those of the class with the nearest number of instructions
/// stand in for a class that has none. There are no classes if nothing was recorded.
pub(super) fn with_stand_ins(classes: &[ClassTrace], samples: Vec<Vec<CtaTrace>>) -> Vec<CtaClass> {
    let recorded = || classes.iter().zip(&samples).filter(|(_, samples)| !samples.is_empty());
    let nearest = |class: &ClassTrace| {
        recorded()
            .min_by_key(|(other, _)| other.warp_instructions.abs_diff(class.warp_instructions))
    };
    let stand_in = |(class, own): (&ClassTrace, &Vec<CtaTrace>)| {
        if !own.is_empty() {
            return Some(None);
        }
        let (other, samples) = nearest(class)?;
        let scale = match other.warp_instructions {
            0 => 1.0,
            instructions => class.warp_instructions as f64 / instructions as f64,
        };
        Some(Some(CtaClass { samples: samples.clone(), scale }))
    };
    let stand_ins: Option<Vec<_>> = classes.iter().zip(&samples).map(stand_in).collect();
    let with_own = |(stand_in, samples): (Option<CtaClass>, Vec<CtaTrace>)| {
        stand_in.unwrap_or(CtaClass { samples, scale: 1.0 })
    };
    stand_ins.unwrap_or_default().into_iter().zip(samples).map(with_own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_class_stands_in_for_one_without_samples() {
        let class = |warp_instructions, samples: usize| ClassTrace {
            ctas: 1,
            warp_instructions,
            samples: vec![Default::default(); samples],
        };
        let classes = [class(100, 1), class(40, 0), class(10, 2)];
        let samples = |classes: &[ClassTrace]| {
            let empty = |class: &ClassTrace| vec![CtaTrace::default(); class.samples.len()];
            classes.iter().map(empty).collect()
        };
        let found = with_stand_ins(&classes, samples(&classes));
        let facts: Vec<(usize, f64)> =
            found.iter().map(|class| (class.samples.len(), class.scale)).collect();
        assert_eq!(facts, [(1, 1.0), (2, 4.0), (2, 1.0)]);
        assert_eq!(with_stand_ins(&[class(1, 0)], vec![Vec::new()]), []);
        assert_eq!(with_stand_ins(&[], Vec::new()), []);
    }
}
