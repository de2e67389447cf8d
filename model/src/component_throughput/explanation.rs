//! The analysis in sentences.

use super::Analysis;
use crate::prediction::Bound;
use crate::text::duration;

/// The name of a component.
/// The work that the component's time is spent on.
fn what(bound: Bound) -> &'static str {
    match bound {
        Bound::Compute => "instructions",
        Bound::Shared => "shared memory",
        _ => "global memory",
    }
}

/// The bottleneck, its causes, and the next component.
pub(super) fn of(subject: &str, analysis: &Analysis) -> String {
    let times = &analysis.times;
    let spent: Vec<String> = times
        .components()
        .into_iter()
        .filter(|(_, time_ms)| *time_ms > 0.0)
        .map(|(bound, time_ms)| format!("{} of {}", duration(time_ms), what(bound)))
        .collect();
    let mut text = format!("{subject} is bound by {}: {}", analysis.bottleneck, spent.join(", "));
    let count = analysis.stages.len();
    if count > 1 {
        let how = if analysis.is_serialised() {
            "one after the other, since an SM has one block"
        } else {
            "overlapped by the blocks of an SM"
        };
        text.push_str(&format!(", in {count} stages {how}"));
    }
    text.push('.');
    let residency = &analysis.residency;
    if residency.has_tail() {
        text.push_str(&format!(
            " The last wave of blocks is not full, so that SMs have work {:.0} % of the time, which \
             the paper leaves out.",
            100.0 * residency.busy
        ));
    }
    let causes: Vec<String> = analysis.causes.iter().map(ToString::to_string).collect();
    if !causes.is_empty() {
        text.push_str(&format!(" The causes: {}.", causes.join("; ")));
    }
    let (next, time_ms) = analysis.next;
    if time_ms > 0.0 {
        text.push_str(&format!(
            " Were {} free, the kernel would take {}, bound by {next}.",
            what(analysis.bottleneck),
            duration(time_ms),
        ));
    }
    text
}
