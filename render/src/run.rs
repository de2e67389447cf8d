//! The outcome of a run and of the comparison of its results, as text and JSON.

use gpucast_buffers::scalar::Literal;
use gpucast_forecast::Report;
use gpucast_forecast::input::expectation::Mismatch;
use gpucast_forecast::input::kernel_name::signature;
use gpucast_forecast::number;
use gpucast_forecast::run::execute::Timing;
use gpucast_forecast::run::expected::Compared;
use serde::Serialize;
use serde_json::{Value, json};

use crate::TextOrJson;
use crate::marks::Mark;

/// A launch that ran to its end.
#[derive(Serialize)]
pub struct Launched {
    /// Name of the kernel.
    pub kernel: String,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Number of times that it ran.
    pub invocations: u32,
    /// The reason why CTAs ran one after the other, if they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordered_because: Option<String>,
    /// The time of the execution, if it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// The whole result.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(
    launched: &[Launched],
    compared: &[Compared],
    format: TextOrJson,
) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(text(launched, compared)),
        TextOrJson::Json => super::json::document(&json!({
            "schema": "gpucast.run/1",
            "launches": launched,
            "expectations": compared.iter().map(expectation).collect::<Vec<Value>>(),
        })),
    }
}

/// What results are compared by, as titles of marks.
pub fn titles(compared: &[Compared]) -> impl Iterator<Item = String> {
    compared.iter().map(title)
}

fn title(compared: &Compared) -> String {
    format!("buffer {}", compared.buffer)
}

/// What ended a run early, at its line of the PTX.
#[must_use]
pub fn fault(report: &Report, file: &str) -> Mark {
    let anchor = report.anchor.as_deref();
    let before = anchor.and_then(|anchor| anchor.source.text.get(..anchor.range.start));
    let line = before.map(|before| before.matches('\n').count() + 1);
    let file = anchor.map_or(file, |anchor| &anchor.source.name);
    let mut message = report.message.clone();
    report.facts.iter().for_each(|fact| message += &format!("; {fact}"));
    Mark {
        rule: "fault".to_owned(),
        title: TO_ITS_END.to_owned(),
        message: message + ".",
        file: file.replace('\\', "/"),
        line: line.and_then(|line| u32::try_from(line).ok()),
    }
}

/// The title of what ends a run early.
pub const TO_ITS_END: &str = "runs to its end";

/// Buffers whose elements are not as a launch file of this name expects.
#[must_use]
pub fn marks(compared: &[Compared], file: &str) -> Vec<Mark> {
    let differs = compared.iter().filter(|buffer| !buffer.agrees());
    let mark = |compared @ Compared { buffer, against, comparison, .. }: &Compared| Mark {
        rule: "expectation".to_owned(),
        title: title(compared),
        message: format!(
            "{} of {} elements of {buffer} differ from {against}.",
            number::count(comparison.mismatches as u128),
            number::count(comparison.elements as u128)
        ),
        file: file.replace('\\', "/"),
        line: None,
    };
    differs.map(mark).collect()
}

fn expectation(compared: &Compared) -> Value {
    let comparison = &compared.comparison;
    json!({
        "buffer": compared.buffer,
        "against": compared.against,
        "rtol": compared.rtol,
        "atol": compared.atol,
        "elements": comparison.elements,
        "mismatches": comparison.mismatches,
        "greatest_difference": finite(comparison.greatest_difference),
        "first": comparison.first.iter().map(|Mismatch { index, got, want }| {
            json!({ "index": index, "got": literal(*got), "want": literal(*want) })
        }).collect::<Vec<Value>>(),
    })
}

/// A number, or its name where JSON has none for it.
fn literal(value: Literal) -> Value {
    match value {
        Literal::Integer(integer) => match (i64::try_from(integer), u64::try_from(integer)) {
            (Ok(integer), _) => json!(integer),
            (_, Ok(integer)) => json!(integer),
            _ => json!(integer.to_string()),
        },
        Literal::Real(real) => finite(real),
    }
}

fn finite(real: f64) -> Value {
    if real.is_finite() { json!(real) } else { json!(real.to_string()) }
}

fn text(launched: &[Launched], compared: &[Compared]) -> String {
    let mut text = String::new();
    let shape = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
    for launch in launched {
        let (grid, block) = (shape(launch.grid), shape(launch.block));
        let times = match launch.invocations {
            1 => String::new(),
            several => format!(", {several} times"),
        };
        text +=
            &format!("ran {}: {grid} blocks of {block} threads{times}", signature(&launch.kernel));
        if let Some(timing) = &launch.timing {
            text += &format!(" in {timing}");
        }
        text.push('\n');
        if let Some(why) = &launch.ordered_because {
            text += &format!("  blocks ran one after the other: {why}\n");
        }
    }
    for one in compared {
        text += &expectation_text(one);
    }
    text
}

/// `0`, `1e-5` or `3.338e-6`.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let text = format!("{value:.3e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn expectation_text(compared: &Compared) -> String {
    let Compared { buffer, against, rtol, atol, comparison } = compared;
    let elements = number::count(comparison.elements as u64);
    let (rtol, atol) = (short(*rtol), short(*atol));
    let difference = short(comparison.greatest_difference);
    if compared.agrees() {
        return format!(
            "ok {buffer}: {elements} elements agree with {against} (rtol {rtol}, atol \
             {atol}, greatest difference {difference})\n"
        );
    }
    let mismatches = number::count(comparison.mismatches as u64);
    let mut text = format!(
        "FAILED {buffer}: {mismatches} of {elements} elements differ from {against} (rtol \
         {rtol}, atol {atol}, greatest difference {difference})\n"
    );
    for Mismatch { index, got, want } in &comparison.first {
        text += &format!("  {buffer}[{index}]: got {got}, want {want}\n");
    }
    if comparison.mismatches > comparison.first.len() {
        text += "  …\n";
    }
    text
}
