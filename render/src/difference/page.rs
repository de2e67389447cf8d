//! Two runs side by side as one HTML file.

use askama::Template;
use gpucast_forecast::Report;
use gpucast_forecast::difference::{Difference, TimeChange};

use super::lines::{LineChange, SHOWN};
use super::{AdviceChange, Parts, change, percent, value};
use crate::advice::{self, capitalised};

#[derive(Template)]
#[template(path = "difference.html")]
struct Page<'a> {
    before: &'a str,
    after: &'a str,
    style: &'static str,
    script: &'static str,
    totals: Vec<TimeRow>,
    launches: Vec<Launch>,
}

struct Launch {
    id: String,
    title: String,
    times: Vec<TimeRow>,
    advice: Vec<AdviceRow>,
    no_change: &'static str,
    counts: Vec<CountRow>,
    titles: Vec<&'static str>,
    lines: Vec<LineRow>,
}

struct TimeRow {
    gpu: String,
    model: &'static str,
    before: String,
    after: String,
    change: String,
    /// The relative change, for sorting.
    raw: f64,
}

struct AdviceRow {
    gpu: String,
    state: &'static str,
    rule: &'static str,
    title: String,
    before: String,
    after: String,
    place: String,
    models: String,
    /// What to change; what was changed, if the cause is gone.
    change: String,
}

struct CountRow {
    metric: String,
    before: String,
    after: String,
    unit: String,
    change: String,
    raw: f64,
    is_same: bool,
}

struct LineRow {
    before: String,
    after: String,
    /// In words, so that no colour alone says it.
    state: &'static str,
    texts: Vec<(String, String)>,
    cells: Vec<String>,
}

/// The page.
pub(super) fn page(
    difference: &Difference,
    [before, after]: [&str; 2],
    parts: &[Parts<'_>],
) -> Result<String, Report> {
    let launches = difference.launches.iter().zip(parts).enumerate();
    let launch = |(at, (launch, parts)): (usize, (&_, &Parts<'_>))| {
        let launch: &gpucast_forecast::difference::LaunchChange = launch;
        Launch {
            id: format!("launch-{at}"),
            title: match launch.before == launch.after {
                true => launch.before.clone(),
                false => format!("{} → {}", launch.before, launch.after),
            },
            times: launch.times.iter().map(time_row).collect(),
            advice: parts.advice.iter().map(advice_row).collect(),
            no_change: advice::NO_CHANGE,
            counts: launch
                .counts
                .iter()
                .map(|count| CountRow {
                    metric: count.metric.clone(),
                    before: value(count.before),
                    after: value(count.after),
                    unit: count.unit.clone(),
                    change: if count.is_same() { String::new() } else { change(count) },
                    raw: count.change().unwrap_or(0.0),
                    is_same: count.is_same(),
                })
                .collect(),
            titles: SHOWN.iter().map(|(title, _)| *title).collect(),
            lines: parts.lines.iter().map(line_row).collect(),
        }
    };
    let page = Page {
        before,
        after,
        style: include_str!("../../templates/report.css"),
        script: include_str!("../../templates/report.js"),
        totals: difference.totals.iter().map(time_row).collect(),
        launches: launches.map(launch).collect(),
    };
    page.render().map_err(|error| Report::new(format!("the difference: {error}")))
}

fn time_row(time: &TimeChange) -> TimeRow {
    TimeRow {
        gpu: time.gpu.clone(),
        model: time.model,
        before: time.texts[0].clone(),
        after: time.texts[1].clone(),
        change: percent(time.change),
        raw: time.change,
    }
}

fn advice_row(change: &AdviceChange) -> AdviceRow {
    let [before, after] = change.gains();
    AdviceRow {
        gpu: change.gpu.clone(),
        state: change.state.word(),
        rule: change.rule,
        title: capitalised(change.title),
        before,
        after,
        place: change.place(),
        models: change.models(),
        change: change.said().map_or_else(String::new, |found| found.change.clone()),
    }
}

fn line_row(line: &LineChange) -> LineRow {
    let [before, after] = line.numbers();
    LineRow {
        before,
        after,
        state: match (&line.before, &line.after) {
            _ if line.is_same() => "",
            (Some(_), Some(_)) => "changed",
            (None, _) => "new",
            (_, None) => "gone",
        },
        texts: line
            .texts()
            .into_iter()
            .map(|(sign, text)| (sign.to_owned(), text.to_owned()))
            .collect(),
        cells: SHOWN.iter().map(|(_, cost)| line.cell(*cost)).collect(),
    }
}
