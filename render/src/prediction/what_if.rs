//! What-ifs for people: before and after with the speed-up, and the changes.

use gpucast_forecast::number;
use gpucast_forecast::prediction::KernelView;
use gpucast_forecast::what_if::{Outcome, WhatIfView};
use gpucast_model::duration;

use super::sections::{WIDTH, section};
use crate::table::{Align, aligned, wrapped};

/// The section, or nothing if nothing was asked.
pub(super) fn text(kernel: &KernelView) -> String {
    if kernel.what_ifs.is_empty() {
        return String::new();
    }
    let header = ["what if", "GPU", "model", "before", "after", "bound", "speed-up", "note"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for view in &kernel.what_ifs {
        rows.extend(view.outcomes.iter().map(|outcome| row(view, outcome)));
    }
    use Align::{Left, Right};
    let mut text = section("What if");
    text.push_str(&aligned(2, &[Left, Left, Left, Right, Right, Left, Right, Left], &rows));
    text.push('\n');
    for view in &kernel.what_ifs {
        // The combination has the changes of each.
        if !view.what_if.contains(',') {
            text.push_str(&wrapped("- ", 4, WIDTH, &changes(view)));
        }
    }
    text
}

fn row(view: &WhatIfView, outcome: &Outcome) -> Vec<String> {
    let note = match &outcome.declined_because {
        Some(reason) => reason.clone(),
        None if view.changes.is_empty() => "the counts have nothing of it".to_owned(),
        None if !outcome.changed => "changes nothing that this model reads".to_owned(),
        None if outcome.speed_up == Some(1.0) => "does not bound the kernel".to_owned(),
        None => String::new(),
    };
    let name = if view.what_if.contains(',') { "all together" } else { &view.what_if };
    vec![
        name.to_owned(),
        outcome.gpu.clone(),
        outcome.model.to_owned(),
        duration(outcome.before_ms),
        outcome.time_ms.map_or_else(|| "-".to_owned(), duration),
        outcome.bound.map_or_else(|| "-".to_owned(), |bound| bound.to_string()),
        outcome.speed_up.map_or_else(|| "-".to_owned(), |it| format!("{}×", number::real(it))),
        note,
    ]
}

fn changes(view: &WhatIfView) -> String {
    if view.changes.is_empty() {
        return format!("{}: nothing in the counts is different.", view.what_if);
    }
    let figure = |value: f64| match value {
        whole if whole.fract() == 0.0 && (0.0..9e15).contains(&whole) => {
            number::count(whole as u128)
        }
        real => number::real(real),
    };
    let change = |change: &gpucast_model::what_if::Change| {
        let before = change.before.map_or_else(|| "what it was".to_owned(), figure);
        format!("{} from {before} to {}", change.quantity, figure(change.after))
    };
    let changes: Vec<String> = view.changes.iter().map(change).collect();
    format!("{}: {}.", view.what_if, changes.join("; "))
}
