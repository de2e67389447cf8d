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
        ptx_metrics: shown.iter().filter_map(|row| Some((row.name, row.on_ptx?))).collect(),
    }
}

/// A row for each metric with all its digits, its kind and its level.
pub(super) fn csv(view: &View<'_>) -> Result<String, Report> {
    let plain = |number: Number| match number {
        Number::Count(count) => count.to_string(),
        Number::Real(real) => real.to_string(),
    };
    let has_machine = view.counted.iter().any(|counted| counted.profile.machine.is_some());
    let has_intervals = view.counted.iter().any(|counted| !counted.profile.intervals.is_empty());
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
            if has_intervals {
                let bounds = shown.metric.interval.map(|it| it.map(|bound| bound.to_string()));
                row.extend(bounds.unwrap_or_default());
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
    if has_intervals {
        header.extend(["at_least", "at_most"]);
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
        zeros = shown.iter().filter(|row| is_zero(row)).map(|row| row.name).collect();
        shown.retain(|row| !is_zero(row));
    }
    let mut text = table(counted, &shown);
    if !zeros.is_empty() {
        text.push('\n');
        text += &wrapped("zero: ", 8, WIDTH, &zeros.join(", "));
    }
    text
}

/// A bound in the form of its figure: counts have no digits behind the point.
fn bound_as(figure: Number, bound: f64) -> String {
    match figure {
        Number::Count(_) => metric::value(Number::Count(bound.round() as u128)),
        Number::Real(_) => metric::value(Number::Real(bound)),
    }
}

fn table(counted: &Counted, shown: &[Shown]) -> String {
    let has_machine = counted.profile.machine.is_some();
    let has_intervals = shown.iter().any(|row| row.metric.interval.is_some());
    if !has_machine && !has_intervals {
        return metric::table(shown.iter().map(|row| (row.name, row.metric.figure)));
    }
    let mut header = vec!["metric", "value", "unit", "kind"];
    if has_machine {
        header.extend(["level", "on PTX"]);
    }
    if has_intervals {
        header.extend(["at least", "at most"]);
    }
    let mut rows = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for one in shown {
        let mut row = vec![
            one.name.to_owned(),
            metric::value(one.metric.figure.value),
            one.metric.figure.unit.to_owned(),
            metric::kind(one.metric.figure.kind).to_owned(),
        ];
        if has_machine {
            row.push(metric::level(one.metric.level).to_owned());
            row.push(one.on_ptx.map_or_else(String::new, |figure| metric::value(figure.value)));
        }
        if has_intervals {
            let bound = |bound: f64| bound_as(one.metric.figure.value, bound);
            let of_bounds = |[least, most]: [f64; 2]| [bound(least), bound(most)];
            row.extend(one.metric.interval.map_or_else(Default::default, of_bounds));
        }
        rows.push(row);
    }
    use Align::{Left, Right};
    let mut align = vec![Left, Right, Left, Left];
    if has_machine {
        align.extend([Left, Right]);
    }
    align.extend([Right, Right]);
    aligned(2, &align[..rows[0].len()], &rows)
}
