//! Advice as text and JSON: the verdict in three lines, then what to change, by gain.

use gpucast_advice::verdict::Verdict;
use gpucast_advice::{Advice, Item};
use gpucast_forecast::input::kernel_name::signature;
use gpucast_forecast::{Report, number};
use gpucast_model::duration;
use serde::Serialize;

use super::table::wrapped;
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
            text.push_str("  No rule finds a change that would gain 5 %.\n");
        }
        for (at, item) in one.items.iter().enumerate() {
            text.push_str(&advised(at + 1, item, one.verdict.time_ms));
        }
    }
    text
}

/// The verdict in three lines.
#[must_use]
pub fn verdict(verdict: &Verdict) -> String {
    let Verdict { time_ms, low_ms, high_ms, model, bound, .. } = verdict;
    let mut time = format!("{} by {model}", duration(*time_ms));
    if low_ms < high_ms {
        time += &format!(", between {} and {}", duration(*low_ms), duration(*high_ms));
    }
    let others: Vec<f64> = verdict
        .models
        .iter()
        .filter(|one| one.model != *model && !one.leaves_out)
        .map(|one| one.time_ms)
        .collect();
    let (least, most) = others
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), &time| (least.min(time), most.max(time)));
    match others.as_slice() {
        [] => {}
        [one] => time += &format!("; another model says {}", duration(*one)),
        _ => time += &format!("; other models say {} to {}", duration(least), duration(most)),
    }
    let spent: Vec<String> = verdict
        .spent
        .iter()
        .take(3)
        .map(|one| format!("{:.0} % {}", 100.0 * one.share, one.text))
        .collect();
    let mut bound = format!("bound by {bound}");
    if !spent.is_empty() {
        bound += &format!(": {}", spent.join(", "));
    }
    let costliest = verdict.costliest.as_ref();
    let place = costliest.map_or_else(
        || "no line stands out: the simulation did not run".to_owned(),
        |place| {
            format!(
                "line {} of {} costs most, {:.0} % of the warps' time",
                place.line,
                place.file,
                100.0 * place.share
            )
        },
    );
    let mut lines: String =
        [time, bound, place].iter().map(|line| wrapped("", 2, WIDTH, line)).collect();
    if let Some(code) = costliest.and_then(|place| place.text.as_ref()) {
        lines.push_str(&format!("    {code}\n"));
    }
    lines
}

/// One piece of advice; `time_ms` is the time without it.
fn advised(number: usize, item: &Item, time_ms: f64) -> String {
    let mut text = String::from("\n");
    let gain = match (item.speed_up, item.time_ms) {
        (Some(speed_up), Some(after)) => {
            format!("{speed_up:.2} ×  {} → {}", duration(time_ms), duration(after))
        }
        _ => "gain not known".to_owned(),
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
        text.push_str(&format!(
            "     {}: {}, ideal {} {}\n",
            one.counter,
            number::real(one.value),
            number::real(one.ideal),
            one.unit
        ));
    }
    if let Some(reason) = item.unseen_because {
        text.push_str(&wrapped("", 5, WIDTH, &format!("No model can see the gain: {reason}.")));
        return text;
    }
    let (agree, differ) = item.agreement();
    let of = |model: &&'static str| {
        let outcome = item.outcomes.iter().find(|one| one.model == *model);
        outcome.map_or(String::new(), |one| format!("{model} {:.2} ×", one.speed_up))
    };
    let agree: Vec<String> = agree.iter().map(of).collect();
    let mut models = format!("Gain by {}", agree.join(", "));
    if !differ.is_empty() {
        models += &format!("; none by {}", differ.join(", "));
    }
    text.push_str(&wrapped("", 5, WIDTH, &format!("{models}.")));
    if let Some(asked) = &item.asked {
        text.push_str(&format!("     predict {asked}\n"));
    }
    text
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
