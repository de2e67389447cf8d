//! The model's explanation in words.

use super::refinements::Refinements;
use crate::prediction::Bound;
use crate::text::duration;

/// A sentence: what bounds the kernel, by how much, and what takes the pipeline's time; and one for
/// each refinement.
pub(super) fn explain(
    subject: &str,
    (bound, compute_ms, memory_ms): (Bound, f64, f64),
    [operations, load_stores, other]: [f64; 3],
    refined: &Refinements,
) -> String {
    let times = format!(
        "{} of instructions against {} of traffic",
        duration(compute_ms),
        duration(memory_ms)
    );
    let shares = format!(
        "compute instructions take {:.0} % of the pipeline, loads and stores {:.0} %, all others \
         {:.0} %",
        100.0 * operations,
        100.0 * load_stores,
        100.0 * other
    );
    let what = match bound {
        Bound::Compute => "its instructions",
        Bound::Memory => "device memory",
        Bound::Shared => "shared memory",
        Bound::L1 => "the first-level caches",
        Bound::L2 => "the L2",
        Bound::Overhead => "its launches",
    };
    let mut text = format!("{subject} is bound by {what}: {times} to device memory; {shares}.");
    for sentence in &refined.sentences {
        text.push(' ');
        text.push_str(sentence);
    }
    text
}
