//! Tried configurations of a tuning space as text, JSON and CSV.

use std::collections::BTreeMap;

use gpucast_forecast::tune::ranks::spearman;
use gpucast_forecast::tune::standing;
use gpucast_forecast::tune::{Configuration, Parameter, Trial};
use gpucast_forecast::{Report, number};
use gpucast_model::conformal::VariantFactors;
use serde::Serialize;

use crate::Format;
use crate::table::{Align, aligned};

/// Everything that is known of a tuned kernel.
pub struct Tuned<'a> {
    /// The parameters of the space.
    pub parameters: &'a [Parameter],
    /// The GPU.
    pub gpu: &'a str,
    /// The models; the first one orders the configurations.
    pub models: &'a [&'static str],
    /// The configurations in the order of the space, as far as they were tried.
    pub trials: &'a [Trial],
    /// The number of all configurations.
    pub configurations: usize,
    /// The number of configurations to propose for measuring.
    pub propose: usize,
    /// Measured times in milliseconds by the configurations' keys, if there are any.
    pub measured: Option<&'a BTreeMap<String, f64>>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    gpu: &'a str,
    models: &'a [&'static str],
    /// Configurations that the tuning did not come to before it was stopped.
    untried: usize,
    ties: Vec<Ties<'a>>,
    configurations: Vec<Row<'a>>,
    correlations: Vec<Correlation<'a>>,
}

/// A configuration with its times.
#[derive(Serialize)]
struct Row<'a> {
    parameters: Vec<Value<'a>>,
    times: Vec<Time<'a>>,
    measured_ms: Option<f64>,
    /// The place among those that are proposed for measuring, from 1 on.
    measure: Option<usize>,
    error: Option<&'a str>,
}

/// What makes configurations a tie.
#[derive(Serialize)]
struct Ties<'a> {
    model: &'a str,
    /// The ratio of times up to which they are one. It is 1 where nobody measured the model's
    /// errors.
    factor: f64,
    /// Configurations of rank 1.
    best: usize,
}

#[derive(Serialize)]
struct Value<'a> {
    name: &'a str,
    value: f64,
}

#[derive(Serialize)]
struct Time<'a> {
    model: &'a str,
    time_ms: Option<f64>,
    /// The place by this model, from 1 on: one more than the configurations that are faster beyond
    /// a tie.
    rank: Option<usize>,
    error: Option<&'a str>,
}

/// Spearman's rank correlation of two columns of times.
#[derive(Serialize)]
struct Correlation<'a> {
    first: &'a str,
    second: &'a str,
    spearman: Option<f64>,
    /// Configurations that have both times.
    configurations: usize,
}

/// The name of the column of measured times.
const MEASURED: &str = "measured";

/// The configurations, the fastest first, in the format asked for; text shows the first `top`.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(tuned: &Tuned<'_>, format: Format, top: usize) -> Result<String, Report> {
    let rows = rows(tuned);
    match format {
        Format::Text => Ok(text(tuned, &rows, top)),
        Format::Json => crate::json::document(&Document {
            schema: "gpucast.tuning/1",
            gpu: tuned.gpu,
            models: tuned.models,
            untried: untried(tuned),
            ties: ties(tuned, &rows),
            configurations: rows,
            correlations: correlations(tuned),
        }),
        Format::Csv => csv(tuned, &rows),
    }
}

/// The rows in order of the first model's time; those without one come last.
fn rows<'a>(tuned: &'a Tuned<'_>) -> Vec<Row<'a>> {
    let places: Vec<BTreeMap<usize, usize>> =
        tuned.models.iter().map(|model| places(tuned, model)).collect();
    let proposed = proposed(tuned);
    let row = |(at, trial): (usize, &'a Trial)| {
        let outcome = trial.outcome.as_ref();
        let time = |(&model, places): (&&'static str, &BTreeMap<usize, usize>)| {
            let of_model = |times: &'a Vec<_>| {
                times.iter().find(|time: &&gpucast_forecast::tune::ModelTime| time.model == model)
            };
            let of_model = outcome.ok().and_then(of_model);
            Time {
                model,
                time_ms: of_model.and_then(|time| time.time_ms.as_ref().ok().copied()),
                rank: places.get(&at).copied(),
                error: of_model.and_then(|time| time.time_ms.as_ref().err().map(String::as_str)),
            }
        };
        let Configuration(values) = &trial.configuration;
        let parameters = tuned.parameters.iter().zip(values);
        Row {
            parameters: parameters
                .map(|(parameter, &value)| Value { name: &parameter.name, value })
                .collect(),
            times: tuned.models.iter().zip(&places).map(time).collect(),
            measured_ms: measured(tuned, trial),
            measure: proposed.get(&at).copied(),
            error: outcome.err().map(|trouble| trouble.reason()),
        }
    };
    let mut rows: Vec<Row<'_>> = tuned.trials.iter().enumerate().map(row).collect();
    let key = |row: &Row<'_>| row.times.first().and_then(|time| time.time_ms).unwrap_or(f64::MAX);
    rows.sort_by(|a, b| key(a).total_cmp(&key(b)));
    rows
}

fn measured(tuned: &Tuned<'_>, trial: &Trial) -> Option<f64> {
    tuned.measured?.get(&trial.configuration.key()).copied()
}

/// The ratio of times up to which a model's configurations are a tie.
fn factor(model: &str) -> f64 {
    VariantFactors::committed().find(model).map_or(1.0, |found| found.factor)
}

/// The configurations that a model has times for, by their places in the space.
fn timed(tuned: &Tuned<'_>, model: &str) -> Vec<(usize, f64)> {
    let trials = tuned.trials.iter().enumerate();
    trials.filter_map(|(at, trial)| Some((at, trial.time_ms(model)?))).collect()
}

/// Their ranks.
fn places(tuned: &Tuned<'_>, model: &str) -> BTreeMap<usize, usize> {
    let timed = timed(tuned, model);
    let times: Vec<f64> = timed.iter().map(|(_, time)| *time).collect();
    timed.iter().map(|(at, _)| *at).zip(standing::ranks(&times, factor(model))).collect()
}

/// The configurations that are proposed for measuring by the first model, with their order.
fn proposed(tuned: &Tuned<'_>) -> BTreeMap<usize, usize> {
    let Some(model) = tuned.models.first() else { return BTreeMap::new() };
    let timed = timed(tuned, model);
    let times: Vec<f64> = timed.iter().map(|(_, time)| *time).collect();
    let chosen = standing::to_measure(&times, tuned.propose);
    chosen.into_iter().enumerate().map(|(order, at)| (timed[at].0, order + 1)).collect()
}

fn ties<'a>(tuned: &Tuned<'a>, rows: &[Row<'_>]) -> Vec<Ties<'a>> {
    let best = |at: usize| rows.iter().filter(|row| row.times[at].rank == Some(1)).count();
    let ties = |(at, &model)| Ties { model, factor: factor(model), best: best(at) };
    tuned.models.iter().enumerate().map(ties).collect()
}

fn untried(tuned: &Tuned<'_>) -> usize {
    tuned.configurations.saturating_sub(tuned.trials.len())
}

/// Each pair of models, and each model with the measured times.
fn correlations<'a>(tuned: &Tuned<'a>) -> Vec<Correlation<'a>> {
    let mut columns: Vec<&'a str> = tuned.models.to_vec();
    columns.extend(tuned.measured.map(|_| MEASURED));
    let time = |column: &str, trial: &Trial| match column {
        MEASURED => measured(tuned, trial),
        model => trial.time_ms(model),
    };
    let mut correlations = Vec::new();
    for (at, &first) in columns.iter().enumerate() {
        for &second in &columns[at + 1..] {
            let pairs: Vec<(f64, f64)> = tuned
                .trials
                .iter()
                .filter_map(|trial| Some((time(first, trial)?, time(second, trial)?)))
                .collect();
            let (spearman, configurations) = (spearman(&pairs), pairs.len());
            correlations.push(Correlation { first, second, spearman, configurations });
        }
    }
    correlations
}

fn header(tuned: &Tuned<'_>) -> Vec<String> {
    let mut header: Vec<String> =
        tuned.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    header.extend(tuned.models.iter().map(|model| (*model).to_owned()));
    header.extend(tuned.measured.map(|_| MEASURED.to_owned()));
    header
}

fn csv(tuned: &Tuned<'_>, rows: &[Row<'_>]) -> Result<String, Report> {
    let mut header = header(tuned);
    header.extend(["rank", "measure", "error"].map(str::to_owned));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let plain = |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
    let cells = |row: &Row<'_>| {
        let mut cells: Vec<String> =
            row.parameters.iter().map(|parameter| parameter.value.to_string()).collect();
        cells.extend(row.times.iter().map(|time| plain(time.time_ms)));
        cells.extend(tuned.measured.map(|_| plain(row.measured_ms)));
        let first = row.times.first().and_then(|time| time.rank);
        cells.extend([first, row.measure].map(|place| plain(place.map(|place| place as f64))));
        let of_models = row.times.iter().filter_map(|time| time.error);
        let errors: Vec<&str> = row.error.into_iter().chain(of_models).collect();
        cells.push(errors.join("; "));
        cells
    };
    crate::csv::document(&header, &rows.iter().map(cells).collect::<Vec<_>>())
}

fn text(tuned: &Tuned<'_>, rows: &[Row<'_>], top: usize) -> String {
    let failed = rows.iter().filter(|row| row.error.is_some()).count();
    let tried = match untried(tuned) {
        0 => String::new(),
        _ => format!(" of {}", number::count(tuned.configurations as u64)),
    };
    let title = format!(
        "{}{tried} configurations on {}, times in ms and ranks",
        number::count(rows.len() as u64),
        tuned.gpu
    );
    let mut text = format!("{title}\n{}\n", "=".repeat(title.chars().count()));
    let mut head: Vec<String> =
        tuned.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    for model in tuned.models {
        head.extend([(*model).to_owned(), String::new()]);
    }
    head.extend(tuned.measured.map(|_| MEASURED.to_owned()));
    let mut lines = vec![head];
    let real = |number: Option<f64>| number.map_or("-".to_owned(), number::real);
    for row in rows.iter().filter(|row| row.error.is_none()).take(top) {
        let mut cells: Vec<String> =
            row.parameters.iter().map(|parameter| parameter.value.to_string()).collect();
        for time in &row.times {
            cells.push(real(time.time_ms));
            cells.push(time.rank.map_or(String::new(), |rank| format!("#{rank}")));
        }
        cells.extend(tuned.measured.map(|_| real(row.measured_ms)));
        lines.push(cells);
    }
    let alignment = vec![Align::Right; lines[0].len()];
    text += &aligned(2, &alignment, &lines);
    if rows.len() - failed > top {
        text +=
            &format!("\nThe first {top} are shown; --format csv has all of them, --top N more.\n");
    }
    if let Some(first) = rows.iter().find_map(|row| row.error) {
        text += &format!("\n{failed} without a time, the first because of this: {first}\n");
    }
    text += &advice(tuned, rows);
    let correlations = correlations(tuned);
    if !correlations.is_empty() {
        text += "\nRank correlation (Spearman)\n";
        let line = |one: &Correlation<'_>| {
            let value = one.spearman.map_or("-".to_owned(), |value| format!("{value:.3}"));
            vec![format!("{} and {}", one.first, one.second), value]
        };
        let lines: Vec<Vec<String>> = correlations.iter().map(line).collect();
        text += &aligned(2, &[Align::Left, Align::Right], &lines);
    }
    text
}

/// What the ranks leave open, and what to measure.
fn advice(tuned: &Tuned<'_>, rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    let Some(Ties { model, factor, best }) = ties(tuned, rows).into_iter().next() else {
        return text;
    };
    if best > 1 {
        text += &format!("\n{} configurations are the best", number::count(best as u64));
        text += &match VariantFactors::committed().find(model) {
            Some(found) => format!(
                ": their times differ by less than a factor of {factor:.2},\nas far as {model} errs \
                 between 4 of 5 pairs of measured variants ({} kernels on a GPU).\n",
                found.kernels
            ),
            None => format!(": {model} gives them the same time.\n"),
        };
    }
    let mut proposed: Vec<&Row<'_>> = rows.iter().filter(|row| row.measure.is_some()).collect();
    proposed.sort_by_key(|row| row.measure);
    if proposed.len() > 1 {
        text += "\nMeasure these first\n";
        let mut lines: Vec<Vec<String>> =
            vec![tuned.parameters.iter().map(|parameter| parameter.name.clone()).collect()];
        let values = |row: &&Row<'_>| {
            row.parameters.iter().map(|parameter| parameter.value.to_string()).collect()
        };
        lines.extend(proposed.iter().map(values));
        text += &aligned(2, &vec![Align::Right; lines[0].len()], &lines);
    }
    text
}
