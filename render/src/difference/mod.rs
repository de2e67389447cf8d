//! Two runs side by side as text, JSON and HTML.

mod advised;
mod lines;
mod page;

use gpucast_advice::Advice;
use gpucast_forecast::Report;
use gpucast_forecast::difference::{CountChange, Difference, TimeChange};
use gpucast_forecast::number;
use serde::Serialize;

use crate::profile::View;
use crate::table::{Align, aligned};
pub use advised::{AdviceChange, Found, State};
pub use lines::LineChange;

/// The form of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceFormat {
    /// For people.
    Text,
    /// For programs, versioned.
    Json,
    /// For a browser: one file that refers to nothing outside.
    Html,
}

/// One of the runs that are compared.
pub struct Side<'a> {
    /// The name that the user gave it.
    pub name: &'a str,
    /// Its launches with their lines.
    pub view: View<'a>,
    /// The advice on each launch on each GPU.
    pub advice: &'a [Advice],
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    difference: &'a Difference,
    /// The lines of each launch.
    lines: Vec<Vec<LineChange>>,
    /// The causes of each launch.
    advice: Vec<Vec<AdviceChange>>,
}

/// The parts of one launch.
#[derive(Clone, Copy)]
struct Parts<'a> {
    lines: &'a [LineChange],
    advice: &'a [AdviceChange],
}

/// The difference in the form asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(
    difference: &Difference,
    sides: &[Side<'_>; 2],
    format: DifferenceFormat,
) -> Result<String, Report> {
    let [before, after] = sides;
    let launches = before.view.counted.iter().zip(after.view.counted);
    let lines: Vec<Vec<LineChange>> =
        launches.map(|launch| lines::changes([&before.view, &after.view], launch)).collect();
    let sides = [before.advice, after.advice];
    let advice: Vec<Vec<AdviceChange>> =
        (0..lines.len()).map(|launch| advised::changes(sides, launch)).collect();
    let parts = lines.iter().zip(&advice).map(|(lines, advice)| Parts { lines, advice });
    let parts: Vec<Parts<'_>> = parts.collect();
    match format {
        DifferenceFormat::Text => Ok(text(difference, [before.name, after.name], &parts)),
        DifferenceFormat::Json => crate::json::document(&Document { difference, lines, advice }),
        DifferenceFormat::Html => Ok(page::page(difference, [before.name, after.name], &parts)),
    }
}

/// `+5.0 %`.
fn percent(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{:.1} %", 100.0 * change)
}

/// A value for people; empty if there is none.
fn value(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(whole) if whole.fract() == 0.0 && (0.0..1e15).contains(&whole) => {
            number::count(whole as u128)
        }
        Some(real) => number::real(real),
    }
}

/// A change in words: `+5.0 %`, `new`, `gone`.
fn change(count: &CountChange) -> String {
    match (count.before, count.after, count.change()) {
        (_, _, Some(change)) => percent(change),
        (Some(0.0), Some(_), None) => "new".to_owned(),
        (None, Some(_), _) => "new".to_owned(),
        (Some(_), None, _) => "gone".to_owned(),
        _ => String::new(),
    }
}

fn owned(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|&cell| cell.to_owned()).collect()
}

fn times(times: &[TimeChange]) -> String {
    let mut rows = vec![owned(&["GPU", "model", "before", "after", "change"])];
    rows.extend(times.iter().map(|time| {
        vec![
            time.gpu.clone(),
            time.model.to_owned(),
            time.texts[0].clone(),
            time.texts[1].clone(),
            percent(time.change),
        ]
    }));
    use Align::{Left, Right};
    aligned(2, &[Left, Left, Right, Right, Right], &rows)
}

fn text(difference: &Difference, names: [&str; 2], parts: &[Parts<'_>]) -> String {
    let mut text = format!("before  {}\nafter   {}\n", names[0], names[1]);
    for (launch, Parts { lines, advice }) in difference.launches.iter().zip(parts) {
        let title = match launch.before == launch.after {
            true => launch.before.clone(),
            false => format!("{} → {}", launch.before, launch.after),
        };
        text += &format!("\n{title}\n{}\n", "=".repeat(title.chars().count()));
        text += "Times\n";
        text += &times(&launch.times);
        text += "\nWhat to change (`gpucast advise` says how)\n";
        text += &advised::text(advice);
        let changed: Vec<&CountChange> =
            launch.counts.iter().filter(|count| !count.is_same()).collect();
        let same = launch.counts.len() - changed.len();
        text += &format!("\nCounts that differ ({same} are the same)\n");
        let mut rows = vec![owned(&["metric", "before", "after", "unit", "change"])];
        rows.extend(changed.iter().map(|count| {
            let (before, after) = (value(count.before), value(count.after));
            vec![count.metric.clone(), before, after, count.unit.clone(), change(count)]
        }));
        use Align::{Left, Right};
        text += &aligned(2, &[Left, Right, Right, Left, Right], &rows);
        text += "\nLines that differ\n";
        text += &lines::text(lines);
    }
    if difference.launches.len() > 1 {
        text += "\nAll launches together\n";
        text += &times(&difference.totals);
    }
    text
}
