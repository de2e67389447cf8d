//! Two runs side by side as text, JSON and HTML.

mod advised;
mod findings;
mod lines;
mod markdown;
mod page;

use gpucast_advice::Advice;
use gpucast_forecast::Report;
use gpucast_forecast::difference::{CountChange, Difference, LaunchChange, TimeChange};
use gpucast_forecast::number;
use serde::Serialize;

use crate::marks::MarkFormat;
use crate::profile::View;
use crate::table::{Align, aligned};
pub use advised::{AdviceChange, Found, State};
pub use findings::{Checked, Held, held};
pub use lines::{LineChange, of_one as lines_of};

/// The form of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceFormat {
    /// For people.
    Text,
    /// For programs, versioned.
    Json,
    /// For a browser: one file that refers to nothing outside.
    Html,
    /// For a comment on a change, as GitHub and GitLab show it.
    Markdown,
    /// The broken limits at their lines, for code hosts and editors: SARIF 2.1.0.
    Sarif,
    /// The limits as test cases, for CI systems: JUnit's XML.
    Junit,
    /// The broken limits as annotations of a GitHub workflow.
    Github,
}

/// One of the runs that are compared.
pub struct Side<'a> {
    /// The name that the user gave it.
    pub name: &'a str,
    /// Its launches with their lines; `None` for a document of an earlier run, which has none.
    pub run: Option<SideRun<'a>>,
}

/// A side that was run now.
pub struct SideRun<'a> {
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
    lines: &'a [Vec<LineChange>],
    /// The causes of each launch.
    advice: &'a [Vec<AdviceChange>],
}

/// The parts of one launch that two runs have, and a document has not.
#[derive(Clone, Copy)]
struct Parts<'a> {
    lines: &'a [LineChange],
    advice: &'a [AdviceChange],
}

/// The difference in the form asked for. Forms with a verdict say which of the conditions that were
/// `checked` are broken.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(
    difference: &Difference,
    sides: &[Side<'_>; 2],
    checked: &[Checked],
    format: DifferenceFormat,
) -> Result<String, Report> {
    let [before, after] = sides;
    let names = [before.name, after.name];
    let (mut lines, mut advice) = (Vec::new(), Vec::new());
    if let (Some(before), Some(after)) = (&before.run, &after.run) {
        let launches = before.view.counted.iter().zip(after.view.counted);
        let views = [&before.view, &after.view];
        lines.extend(launches.map(|launch| lines::changes(views, launch)));
        let sides = [before.advice, after.advice];
        advice.extend((0..lines.len()).map(|launch| advised::changes(sides, launch)));
    }
    let findings = |form: MarkFormat| {
        let of_after = || {
            let after = after.run.as_ref();
            let counted = after
                .into_iter()
                .flat_map(|run| run.view.counted.iter().map(move |launch| (run, launch)));
            counted.map(|(run, one)| lines::of_one(&run.view, one)).collect()
        };
        // A document has no lines to be compared with.
        let lines = if lines.is_empty() { of_after() } else { lines.clone() };
        let growths = difference.growths();
        held("diff", &[Held { name: after.name, checked, lines: &lines, growths }], form)
    };
    let parts = lines.iter().zip(&advice).map(|(lines, advice)| Some(Parts { lines, advice }));
    let parts = parts.chain(std::iter::repeat(None)).take(difference.launches.len());
    let parts: Vec<Option<Parts<'_>>> = parts.collect();
    match format {
        DifferenceFormat::Text => Ok(text(difference, names, &parts)),
        DifferenceFormat::Json => {
            let document = Document { difference, lines: &lines, advice: &advice };
            crate::json::document(&document)
        }
        DifferenceFormat::Html => Ok(page::page(difference, names, &parts)),
        DifferenceFormat::Markdown => {
            let broken = checked.iter().flat_map(|condition| &condition.broken);
            let broken: Vec<&str> = broken.map(|broken| broken.sentence.as_str()).collect();
            Ok(markdown::text(difference, names, &parts, &broken))
        }
        DifferenceFormat::Sarif => findings(MarkFormat::Sarif),
        DifferenceFormat::Junit => findings(MarkFormat::Junit),
        DifferenceFormat::Github => findings(MarkFormat::Github),
    }
}

/// `+5.0 %`.
fn percent(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{:.1} %", 100.0 * change)
}

/// A value for people; empty if there is none.
fn value(value: Option<f64>) -> String {
    value.map_or_else(String::new, number::whole_or_real)
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

/// The kernel, or the kernels of both sides.
fn title(launch: &LaunchChange) -> String {
    match launch.before == launch.after {
        true => launch.before.clone(),
        false => format!("{} → {}", launch.before, launch.after),
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
            time.model.clone(),
            time.texts[0].clone(),
            time.texts[1].clone(),
            percent(time.change),
        ]
    }));
    use Align::{Left, Right};
    aligned(2, &[Left, Left, Right, Right, Right], &rows)
}

fn text(difference: &Difference, names: [&str; 2], parts: &[Option<Parts<'_>>]) -> String {
    let mut text = format!("before  {}\nafter   {}\n", names[0], names[1]);
    for (launch, parts) in difference.launches.iter().zip(parts) {
        let title = title(launch);
        text += &format!("\n{title}\n{}\n", "=".repeat(title.chars().count()));
        text += "Times\n";
        text += &times(&launch.times);
        if let Some(parts) = parts {
            text += "\nWhat to change (`gpucast advise` says how)\n";
            text += &advised::text(parts.advice);
        }
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
        if let Some(parts) = parts {
            text += "\nLines that differ\n";
            text += &lines::text(parts.lines);
        }
    }
    if difference.launches.len() > 1 {
        text += "\nAll launches together\n";
        text += &times(&difference.totals);
    }
    text
}
