//! The model's explanation in words.

use super::analysis::Analysis;
use crate::text::duration;

/// A sentence on the bound, the times and the pipeline's shares; and one per refinement.
pub(super) fn explain(subject: &str, analysis: &Analysis) -> String {
    let times = format!(
        "{} of instructions against {} of traffic",
        duration(analysis.compute_ms),
        duration(analysis.memory_ms)
    );
    let costs = &analysis.costs;
    let percent = |cost: f64| 100.0 * cost / costs.total;
    let shares = format!(
        "compute instructions take {:.0} % of the pipeline, loads and stores {:.0} %, all others \
         {:.0} %",
        percent(costs.operation),
        percent(costs.load_store),
        percent(costs.other)
    );
    let bound = analysis.bound;
    let mut text = format!("{subject} is bound by {bound}: {times} to device memory; {shares}.");
    for sentence in &analysis.refined.sentences {
        text.push(' ');
        text.push_str(sentence);
    }
    text
}
