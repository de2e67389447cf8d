//! Advice as text and JSON: the verdict in three lines, then what to change, by gain and effort.

use gpucast_advice::rules::Evidence;
use gpucast_advice::verdict::{Costliest, ModelTime, Verdict};
use gpucast_advice::{Advice, Item};
use gpucast_forecast::input::kernel_name::signature;
use gpucast_forecast::{Report, number};
use gpucast_model::{duration, rough_duration};
use serde::Serialize;

use super::table::{Align, aligned, wrapped};
use crate::TextOrJson;

/// Text is this wide.
const WIDTH: usize = 96;

/// The name and version of the document.
pub const SCHEMA: &str = "gpucast.advice/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    advice: &'a [Advice],
}

/// All advice in the format asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(advice: &[Advice], format: TextOrJson) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(text(advice)),
        TextOrJson::Json => super::json::document(&Document { schema: SCHEMA, advice }),
    }
}

fn heading(title: &str) -> String {
    format!("{title}\n{}\n", "=".repeat(title.chars().count()))
}

fn text(advice: &[Advice]) -> String {
    let mut text = String::new();
    for one in advice {
        if !text.is_empty() {
            text.push('\n');
        }
        let mut title = format!("{} on {}", signature(&one.kernel), one.gpu);
        if one.launches > 1 {
            title += &format!(" (launch {} of {})", one.launch + 1, one.launches);
        }
        text.push_str(&heading(&title));
        text.push_str(&verdict(&one.verdict));
        text.push('\n');
        text.push_str(&wrapped("", 2, WIDTH, &one.origin));
        text.push_str("\nWhat to change\n");
        if one.items.is_empty() {
            text.push_str(&format!("  {NO_CHANGE}\n"));
            text.push_str(&roof(one).map_or(String::new(), |roof| wrapped("", 2, WIDTH, &roof)));
        }
        for (at, item) in one.items.iter().enumerate() {
            text.push_str(&advised(at + 1, item, one.verdict.time_ms));
        }
    }
    text
}

/// The roof of a launch that nothing is advised on, in sentences.
fn roof(advice: &Advice) -> Option<String> {
    let roof = advice.roof.as_ref()?;
    let share = 100.0 * roof.time_ms / advice.verdict.time_ms;
    let mut text = format!(
        "The roof is {}, bound by {} ({}), ",
        duration(roof.time_ms),
        roof.bound,
        roof.model
    );
    text += &match share {
        all if all >= 100.0 => "and is reached.".to_owned(),
        part => format!("{part:.0} % of the time."),
    };
    if let Some(takes) = roof.takes {
        text += &format!(" Nearer to it, or to a lower one, lead {takes}.");
    }
    Some(text)
}

/// What stands where changes would.
pub(crate) const NO_CHANGE: &str = "No rule finds a change that would gain 5 %.";

/// The verdict in three lines.
#[must_use]
pub fn verdict(verdict: &Verdict) -> String {
    let Verdict { time_ms, model, bound, .. } = verdict;
    let mut time = format!("{} by {model}", time_text(*time_ms, verdict.is_rough));
    if let Some(interval) = interval(verdict) {
        time += &format!("; {interval}");
    }
    if let Some(others) = others(verdict) {
        time += &format!("; {others}");
    }
    let spent: Vec<String> = verdict
        .spent
        .iter()
        .take(3)
        .map(|place| format!("{:.0} % {}", 100.0 * place.share, place.text))
        .collect();
    let mut bound = format!("bound by {bound}");
    if !spent.is_empty() {
        bound += &format!(": {}", spent.join(", "));
    }
    let lines = verdict.refusal.iter().cloned().chain([time, bound, costliest(verdict)]);
    let mut lines: String = lines.map(|line| wrapped("", 2, WIDTH, &line)).collect();
    if let Some(code) =
        verdict.costliest.as_ref().and_then(|costliest| costliest.place.text.as_ref())
    {
        lines.push_str(&format!("    {code}\n"));
    }
    lines
}

/// A time for people, with two digits if it is shorter than its launch.
fn time_text(time_ms: f64, is_rough: bool) -> String {
    if is_rough { rough_duration(time_ms) } else { duration(time_ms) }
}

/// The interval of the time, or why there is none, in words. Only the simulation has one; without
/// it the times of all models stand in its place.
pub(crate) fn interval(verdict: &Verdict) -> Option<String> {
    if let Some(interval) = &verdict.interval {
        return Some(interval.text());
    }
    if let Some(reason) = &verdict.interval_declined_because {
        return Some(format!("no interval, as {reason}"));
    }
    if !verdict.spent.is_empty() {
        return None;
    }
    let times = || {
        let of_models =
            verdict.models.iter().map(|model| model.with_left_out_ms.unwrap_or(model.time_ms));
        of_models.chain([verdict.time_ms])
    };
    let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let end = |time_ms: f64| time_text(time_ms, verdict.is_rough);
    let range = || format!("all models say {} to {}", end(low), end(high));
    (low < high).then(range)
}

/// The times of the other models, in words. Without the simulation their spread stands for the
/// interval, which is told already.
pub(crate) fn others(verdict: &Verdict) -> Option<String> {
    let others = || verdict.models.iter().filter(|model| model.model != verdict.model);
    let mut parts = Vec::new();
    if !verdict.spent.is_empty() {
        let mut times: Vec<&ModelTime> = others().filter(|other| !other.leaves_out).collect();
        times.sort_by(|a, b| a.time_ms.total_cmp(&b.time_ms));
        let text = |one: &ModelTime| time_text(one.time_ms, one.is_rough);
        match times.as_slice() {
            [] => {}
            [one] => parts.push(format!("another model says {}", text(one))),
            [least, .., most] if text(least) == text(most) => {
                parts.push(format!("other models say {}", text(least)));
            }
            [least, .., most] => {
                parts.push(format!("other models say {} to {}", text(least), text(most)));
            }
        }
    }
    for one in others().filter(|other| other.leaves_out) {
        parts.push(format!(
            "{} says {} and leaves work out",
            one.model,
            time_text(one.time_ms, one.is_rough)
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The line that costs most, in words.
pub(crate) fn costliest(verdict: &Verdict) -> String {
    let Some(Costliest { place, share_of }) = &verdict.costliest else {
        return "no line stands out".to_owned();
    };
    format!(
        "line {} of {} costs most, {:.0} % of the {share_of}",
        place.line,
        place.file,
        100.0 * place.share
    )
}

/// A counter with its value and the ideal one, in words.
pub(crate) fn evidence(one: &Evidence) -> String {
    let (value, ideal) = (number::real(one.value), number::real(one.ideal));
    format!("{}: {value}, ideal {ideal} {}", one.counter, one.unit)
}

/// The factor by which the time falls, in words.
pub(crate) fn gain(item: &Item) -> String {
    match (item.speed_up, item.gain_by) {
        (Some(speed_up), None) => format!("{speed_up:.2} ×"),
        (Some(speed_up), Some(model)) => format!("{speed_up:.2} × by {model}"),
        (None, _) => "not known".to_owned(),
    }
}

/// The models that see a gain and those that see none, or why none can, in words.
pub(crate) fn models(item: &Item) -> String {
    if let Some(reason) = item.unseen_because {
        return format!("No model can see the gain: {reason}.");
    }
    let (agree, differ) = item.agreement();
    let of = |model: &&'static str| {
        let outcome = item.outcomes.iter().find(|outcome| outcome.model == *model);
        outcome.map_or(String::new(), |outcome| format!("{model} {:.2} ×", outcome.speed_up))
    };
    let agree: Vec<String> = agree.iter().map(of).collect();
    match differ.as_slice() {
        [] => format!("Gain by {}.", agree.join(", ")),
        _ => format!("Gain by {}; none by {}.", agree.join(", "), differ.join(", ")),
    }
}

/// Changes that are named on a first screen.
const MOST_IN_SHORT: usize = 3;

/// The verdict and the best changes, a line each: the first screen of a prediction.
pub(crate) fn in_short(advice: &Advice) -> String {
    let mut text = verdict(&advice.verdict);
    if advice.items.is_empty() {
        text.push_str(&format!("\n  {NO_CHANGE}\n"));
        return text;
    }
    text.push_str("\nWhat to change (`gpucast advise` says how)\n");
    let row = |item: &Item| {
        let gain = match item.speed_up {
            Some(speed_up) => format!("{speed_up:.2} ×"),
            None => "-".to_owned(),
        };
        let place = item.places.first();
        let place =
            place.map_or_else(String::new, |place| format!("{}:{}", place.file, place.line));
        vec![gain, item.rule.to_owned(), item.title.to_owned(), place]
    };
    let rows: Vec<Vec<String>> = advice.items.iter().take(MOST_IN_SHORT).map(row).collect();
    text.push_str(&aligned(2, &[Align::Right, Align::Left, Align::Left, Align::Left], &rows));
    match advice.items.len().saturating_sub(MOST_IN_SHORT) {
        0 => {}
        more => text.push_str(&format!("  and {more} more\n")),
    }
    text
}

/// One piece of advice; `time_ms` is the time without it.
fn advised(number: usize, item: &Item, time_ms: f64) -> String {
    let mut text = String::from("\n");
    let gain = match (item.speed_up, item.time_ms) {
        (Some(_), Some(after)) => {
            format!("{}  {} → {}", gain(item), duration(time_ms), duration(after))
        }
        (Some(_), None) => gain(item),
        (None, _) => "gain not known".to_owned(),
    };
    text.push_str(&format!("  {number}. {gain}  {}\n", item.rule));
    text.push_str(&wrapped("", 5, WIDTH, &format!("{}. {}", capitalised(item.title), item.change)));
    for place in &item.places {
        let at = format!("at {}:{} ({:.0} %)", place.file, place.line, 100.0 * place.share);
        let line = place.text.as_deref().unwrap_or_default();
        text.push_str(format!("     {at}  {line}").trim_end());
        text.push('\n');
    }
    for one in &item.evidence {
        text.push_str(&format!("     {}\n", evidence(one)));
    }
    text.push_str(&wrapped("", 5, WIDTH, &models(item)));
    if let Some(asked) = &item.asked {
        text.push_str(&format!("     predict {asked}\n"));
    }
    text
}

/// The sentence with a capital letter.
pub(crate) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
