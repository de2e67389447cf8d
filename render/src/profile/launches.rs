//! The metrics of each launch.

use gpucast_counters::Number;
use gpucast_forecast::Report;
use gpucast_forecast::choice::metric_choice::{MetricChoice, Shown};
use gpucast_forecast::run::counting::Counted;

use super::{Rows, View, extent};
use crate::metric;
use crate::table::{Align, aligned, wrapped};

/// The list of metrics that are zero is this wide.
const WIDTH: usize = 100;

pub(super) fn rows<'a>(view: &View<'a>, counted: &'a Counted) -> Rows<'a> {
    let shown = view.metrics.of(&counted.profile);
    Rows::Metrics {
        metrics: shown.iter().map(|shown| (shown.name, shown.metric)).collect(),
        ptx_metrics: shown.iter().filter_map(|one| Some((one.name, one.on_ptx?))).collect(),
    }
}

/// A row for each metric with all its digits, its kind and its level.
pub(super) fn csv(view: &View<'_>) -> Result<String, Report> {
    let plain = |number: Number| match number {
        Number::Count(count) => count.to_string(),
        Number::Real(real) => real.to_string(),
    };
    let has_machine = view.counted.iter().any(|counted| counted.profile.machine.is_some());
    let mut rows = Vec::new();
    for (index, counted) in view.counted.iter().enumerate() {
        let profile = &counted.profile;
        for shown in view.metrics.of(profile) {
            let figure = shown.metric.figure;
            let mut row = vec![
                index.to_string(),
                profile.kernel.clone(),
                extent(profile.grid),
                extent(profile.block),
                profile.invocations.to_string(),
                shown.name.to_owned(),
                plain(figure.value),
                figure.unit.to_owned(),
                metric::kind(figure.kind).to_owned(),
                metric::level(shown.metric.level).to_owned(),
            ];
            if has_machine {
                row.push(shown.on_ptx.map_or_else(String::new, |figure| plain(figure.value)));
            }
            rows.push(row);
        }
    }
    let mut header = vec![
        "launch",
        "kernel",
        "grid",
        "block",
        "invocations",
        "metric",
        "value",
        "unit",
        "kind",
        "level",
    ];
    if has_machine {
        header.push("value_on_ptx");
    }
    crate::csv::document(&header, &rows)
}

/// Name, value, unit and kind of each metric; with machine instructions also its level and its
/// value on PTX. If all metrics are shown, those that are zero have no lines but are listed.
pub(super) fn text(view: &View<'_>, counted: &Counted) -> String {
    let mut shown = view.metrics.of(&counted.profile);
    let mut zeros = Vec::new();
    if *view.metrics == MetricChoice::All {
        let is_zero = |one: &Shown| {
            let on_ptx = one.on_ptx.map_or(0.0, |figure| figure.value.as_f64());
            one.metric.figure.value.as_f64() == 0.0 && on_ptx == 0.0
        };
        zeros = shown.iter().filter(|one| is_zero(one)).map(|one| one.name).collect();
        shown.retain(|one| !is_zero(one));
    }
    let mut text = table(counted, &shown);
    if !zeros.is_empty() {
        text.push('\n');
        text += &wrapped("zero: ", 8, WIDTH, &zeros.join(", "));
    }
    text
}

fn table(counted: &Counted, shown: &[Shown]) -> String {
    if counted.profile.machine.is_none() {
        return metric::table(shown.iter().map(|one| (one.name, one.metric.figure)));
    }
    let header = ["metric", "value", "unit", "kind", "level", "on PTX"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for one in shown {
        rows.push(vec![
            one.name.to_owned(),
            metric::value(one.metric.figure.value),
            one.metric.figure.unit.to_owned(),
            metric::kind(one.metric.figure.kind).to_owned(),
            metric::level(one.metric.level).to_owned(),
            one.on_ptx.map_or_else(String::new, |figure| metric::value(figure.value)),
        ]);
    }
    use Align::{Left, Right};
    aligned(2, &[Left, Right, Left, Left, Left, Right], &rows)
}
