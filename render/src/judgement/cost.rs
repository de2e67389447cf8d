//! Times, work and advice of a judgement.

use gpucast_advice::Item;
use gpucast_forecast::number;
use gpucast_judge::judgement::Judgement;
use gpucast_judge::time::{Decided, SideTime, Times};
use gpucast_judge::work::{Bytes, Moved, Operations, Skipped, Work};
use gpucast_model::duration_range;
use serde_json::{Value, json};

use super::WIDTH;
use crate::advice::{capitalised, gain};
use crate::table::{Align, aligned, wrapped};

pub(super) fn text(judgement: &Judgement) -> String {
    let mut text = String::new();
    if let Some(times) = &judgement.times {
        text += &times_text(times);
    }
    if let Some(work) = &judgement.work {
        text += &work_text(work);
    }
    if let Some(advice) = &judgement.advice {
        text += &advice_text(advice);
    }
    text
}

fn times_text(times: &Times) -> String {
    let mut text = format!("\nTime on {}\n", times.gpu);
    let row = |name: &str, side: &SideTime| {
        let bound = format!("bound by {}", side.bound);
        vec![name.to_owned(), side.text.clone(), interval(side), bound]
    };
    let rows = [row("reference", &times.reference), row("candidate", &times.candidate)];
    text += &aligned(2, &[Align::Left, Align::Right, Align::Left, Align::Left], &rows);
    text += &wrapped("", 2, WIDTH, &speed_up(times));
    let SideTime { model, measured_as, .. } = &times.candidate;
    text += &wrapped("", 2, WIDTH, &format!("By {model}, measured as {}.", measured_as.text()));
    text
}

/// How much faster the candidate is, and what that decides.
pub(super) fn speed_up(times: &Times) -> String {
    let mut sentence = format!("{} × as fast", number::real(times.speed_up));
    sentence += &match times.interval {
        Some([low, high]) => format!(
            ", 4 of 5 times between {} and {} × if both errors are independent",
            number::real(low),
            number::real(high)
        ),
        None => ", without an interval".to_owned(),
    };
    sentence += match times.decided() {
        Decided::Faster => ": faster.",
        Decided::Slower => ": slower.",
        Decided::Neither => ": nothing decides which is faster.",
    };
    sentence
}

/// The interval of a time, in words.
pub(super) fn interval(side: &SideTime) -> String {
    let ends = side.interval_ms;
    ends.map_or_else(|| "no interval".to_owned(), |[low, high]| duration_range(low, high))
}

/// What each side reads, writes and computes: a row for each, with both numbers.
pub(super) fn work_rows(work: &Work) -> Vec<[String; 3]> {
    let bytes = |bytes: u64| number::count(bytes);
    let mut rows = Vec::new();
    for Moved { buffer, reference, candidate, .. } in &work.moved {
        let mut row = |name: String, of: fn(&Bytes) -> u64| {
            if of(reference) + of(candidate) > 0 {
                rows.push([name, bytes(of(reference)), bytes(of(candidate))]);
            }
        };
        row(format!("distinct bytes of {buffer} read"), |bytes| bytes.read);
        row(format!("distinct bytes of {buffer} written"), |bytes| bytes.written);
    }
    for Operations { metric, reference, candidate } in &work.operations {
        let [reference, candidate] = [reference, candidate].map(|&of| number::whole_or_real(of));
        rows.push([(*metric).to_owned(), reference, candidate]);
    }
    rows
}

fn work_text(work: &Work) -> String {
    let mut text = "\nWork against the reference's\n".to_owned();
    let mut rows = vec![["", "reference", "candidate"].map(str::to_owned).to_vec()];
    rows.extend(work_rows(work).into_iter().map(Vec::from));
    text += &aligned(2, &[Align::Left, Align::Right, Align::Right], &rows);
    for skipped in &work.skipped {
        text += &wrapped("", 2, WIDTH, &format!("{}.", capitalised(&sentence(skipped))));
    }
    text
}

/// What a candidate leaves out, in a sentence without a full stop.
pub(super) fn sentence(skipped: &Skipped) -> String {
    match skipped {
        Skipped::Reads { buffer, reference, candidate } => format!(
            "the candidate reads {} of the {} bytes of {buffer} that the reference reads, so that \
             nothing is said of its speed",
            number::count(*candidate),
            number::count(*reference)
        ),
        Skipped::Operations { reference, candidate } => format!(
            "the candidate does {} of the reference's operations, so that nothing is said of its \
             speed",
            number::percent(candidate / reference)
        ),
        Skipped::NarrowType { metric } => format!(
            "the candidate computes in a narrower type, `{metric}`, so that nothing is said of its \
             speed"
        ),
    }
}

fn advice_text(item: &Item) -> String {
    let mut text = format!("\nWhat to change first: {}, {}\n", item.rule, gain(item));
    text += &wrapped("", 2, WIDTH, &format!("{}. {}", capitalised(item.title), item.change));
    if let Some(place) = item.places.first() {
        let line = place.text.as_deref().unwrap_or_default();
        text += format!("  at {}:{}  {line}", place.file, place.line).trim_end();
        text.push('\n');
    }
    text
}

pub(super) fn times_value(times: &Times) -> Value {
    let side = |side: &SideTime| {
        let mut value = json!({
            "time_ms": side.time_ms,
            "model": side.model,
            "bound": side.bound,
            "measured_as": side.measured_as,
            "origin": side.origin,
        });
        if let Some(interval) = side.interval_ms {
            value["interval_ms"] = json!(interval);
        }
        value
    };
    let mut value = json!({
        "gpu": times.gpu,
        "reference": side(&times.reference),
        "candidate": side(&times.candidate),
        "speed_up": times.speed_up,
    });
    if let Some(interval) = times.interval {
        value["speed_up_interval"] = json!(interval);
    }
    value
}

pub(super) fn work_value(work: &Work) -> Value {
    let bytes = |bytes: &Bytes| json!({ "read": bytes.read, "written": bytes.written });
    json!({
        "buffers": work.moved.iter().map(|moved| json!({
            "buffer": moved.buffer,
            "is_input": moved.is_input,
            "reference_bytes": bytes(&moved.reference),
            "candidate_bytes": bytes(&moved.candidate),
        })).collect::<Vec<Value>>(),
        "operations": work.operations.iter().map(|one| json!({
            "metric": one.metric,
            "reference": one.reference,
            "candidate": one.candidate,
        })).collect::<Vec<Value>>(),
        "skipped": work.skipped.iter().map(|skipped| json!({
            "code": code(skipped),
            "message": sentence(skipped),
        })).collect::<Vec<Value>>(),
    })
}

fn code(skipped: &Skipped) -> &'static str {
    match skipped {
        Skipped::Reads { .. } => "reads-less",
        Skipped::Operations { .. } => "computes-less",
        Skipped::NarrowType { .. } => "narrow-type",
    }
}
