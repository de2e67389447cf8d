//! Which buffer of the candidate is which of the reference.

use gpucast_forecast::Report;
use gpucast_forecast::input::plan::{Plan, PlannedArgument, PlannedLaunch, Pointer};

/// A buffer that both sides have, as indices into their plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The buffer of the reference.
    pub reference: usize,
    /// The buffer of the candidate.
    pub candidate: usize,
}

/// Pairs buffers by their names; where no name is the same, by the positions of the arguments.
///
/// # Errors
///
/// If no buffer is the same, or one has another type or length.
pub fn matched(reference: &Plan, candidate: &Plan) -> Result<Vec<Pair>, Report> {
    let mut pairs = by_name(reference, candidate);
    if pairs.is_empty() {
        pairs = by_position(reference, candidate);
    }
    if pairs.is_empty() {
        let names = |plan: &Plan| {
            let names = plan.buffers.iter().map(|buffer| buffer.name.as_str());
            names.collect::<Vec<&str>>().join(", ")
        };
        let message = "candidate and reference have no buffer in common";
        return Err(Report::new(message)
            .fact(format!("buffers of the reference: {}", names(reference)))
            .fact(format!("buffers of the candidate: {}", names(candidate)))
            .hint("give the same names to buffers that mean the same"));
    }
    for pair in &pairs {
        let (one, other) = (&reference.buffers[pair.reference], &candidate.buffers[pair.candidate]);
        if (one.ty, one.len) != (other.ty, other.len) {
            let message = format!(
                "buffer {} has {} elements of {} for the candidate, and {} of {} for the reference",
                other.name,
                other.len,
                other.ty.name(),
                one.len,
                one.ty.name()
            );
            return Err(Report::new(message)
                .at(&other.anchor)
                .hint("buffers of the same name have the same type and length on both sides"));
        }
    }
    Ok(pairs)
}

fn by_name(reference: &Plan, candidate: &Plan) -> Vec<Pair> {
    let named = |(at, buffer): (usize, &gpucast_forecast::input::plan::Buffer)| {
        let other = candidate.buffers.iter().position(|other| other.name == buffer.name)?;
        Some(Pair { reference: at, candidate: other })
    };
    reference.buffers.iter().enumerate().filter_map(named).collect()
}

fn by_position(reference: &Plan, candidate: &Plan) -> Vec<Pair> {
    let ([one], [other]) = (reference.launches.as_slice(), candidate.launches.as_slice()) else {
        return Vec::new();
    };
    let pointers = |launch: &PlannedLaunch| -> Vec<Option<usize>> {
        let buffer = |argument: &PlannedArgument| match argument {
            PlannedArgument::Pointer(Pointer { buffer, offset: 0 }) => Some(*buffer),
            _ => None,
        };
        launch.arguments.iter().map(buffer).collect()
    };
    let both = pointers(one).into_iter().zip(pointers(other));
    let mut pairs: Vec<Pair> = Vec::new();
    for (reference, candidate) in both {
        let (Some(reference), Some(candidate)) = (reference, candidate) else { continue };
        if pairs.iter().all(|pair| pair.reference != reference && pair.candidate != candidate) {
            pairs.push(Pair { reference, candidate });
        }
    }
    pairs
}
