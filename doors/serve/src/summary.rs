//! An answer in a few lines, for agents whose clients show them text alone. Numbers are those of
//! the document, times with four digits.

use std::fmt::Write as _;

use serde_json::Value;

use crate::answer::Answer;

/// Lines of a list that are worth reading.
const MOST_LINES: usize = 40;

/// The answer in a few lines.
pub(crate) fn of(answer: &Answer) -> String {
    let document = answer.document.as_ref();
    let document: Option<Value> = document.and_then(|d| serde_json::from_str(d.get()).ok());
    let mut lines = Vec::new();
    if let Some(document) = &document {
        lines.extend(of_document(document).into_iter().take(MOST_LINES));
    }
    for error in &answer.errors {
        let place = &error["place"];
        let mut line = match place["line"].as_u64() {
            Some(number) => format!("error in {}:{number}: ", text(&place["file"])),
            None => "error: ".to_owned(),
        };
        line += &text(&error["message"]);
        if let Some(hint) = error["hint"].as_str() {
            let _ = write!(line, " ({hint})");
        }
        lines.push(line);
    }
    if !answer.notes.is_empty() {
        lines.extend(answer.notes.lines().take(MOST_LINES).map(str::to_owned));
    }
    if !answer.printed.is_empty() {
        lines.push(format!("printed: {}", answer.printed.trim_end()));
    }
    if lines.is_empty() {
        lines.push(format!("{} ended with status {}", answer.tool, answer.status));
    }
    lines.join("\n")
}

fn of_document(document: &Value) -> Vec<String> {
    let schema = document["schema"].as_str().unwrap_or_default();
    match schema.split('/').next().unwrap_or_default() {
        "gpucast.check" => compiled(document),
        "gpucast.findings" => findings(document),
        "gpucast.run" => ran(document),
        "gpucast.profile" => profiled(document),
        "gpucast.predictions" => predicted(document),
        "gpucast.advice" => advised(document),
        "gpucast.judgement" => judged(document),
        "gpucast.explanation" => explained(document),
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A time, without digits that nobody believes.
fn four_digits(value: &Value) -> String {
    let Some(number) = value.as_f64().filter(|number| *number > 0.0) else {
        return value.to_string();
    };
    let behind = (3.0 - number.log10().floor()).max(0.0) as usize;
    format!("{number:.behind$}")
}

fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn compiled(document: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for file in each(&document["files"]) {
        for kernel in each(&file["kernels"]) {
            lines.push(format!(
                "{}: {} PTX instructions, {} bytes of shared memory, executable: {}",
                text(&kernel["name"]),
                kernel["instructions"],
                kernel["memory"]["shared_bytes"],
                kernel["executable"],
            ));
        }
        for error in each(&file["errors"]) {
            let line =
                error["line"].as_u64().map_or(String::new(), |line| format!("line {line}: "));
            lines.push(format!("error: {line}{}", text(&error["message"])));
        }
    }
    lines
}

fn findings(document: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for launch in each(&document["launches"]) {
        let kernel = text(&launch["kernel"]);
        let found: Vec<&Value> = each(&launch["findings"]).collect();
        lines.push(match (found.len(), launch["finished"] == true) {
            (0, true) => format!("{kernel}: nothing was found"),
            (0, false) => format!("{kernel}: nothing was found until the run ended early"),
            (number, _) => format!("{kernel}: {number} findings"),
        });
        for finding in found {
            let source = &finding["first"]["cuda"];
            let place = match (source["file"].as_str(), source["line"].as_u64()) {
                (Some(file), Some(line)) => format!("{file}:{line}"),
                _ => format!("PTX line {}", finding["first"]["ptx_line"]),
            };
            lines.push(format!(
                "{place}: {}, {} times",
                text(&finding["message"]),
                finding["count"]
            ));
        }
    }
    lines
}

fn ran(document: &Value) -> Vec<String> {
    let launches = each(&document["launches"]).count();
    let mut lines = vec![format!("{launches} launches ran to their end")];
    for expected in each(&document["expectations"]) {
        lines.push(format!(
            "{}: {} of {} elements differ",
            text(&expected["buffer"]),
            expected["mismatches"],
            expected["elements"],
        ));
    }
    lines
}

fn profiled(document: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for launch in each(&document["launches"]) {
        lines.push(format!(
            "{}, grid {}, block {}",
            text(&launch["kernel"]),
            launch["grid"],
            launch["block"]
        ));
        for (name, metric) in launch["metrics"].as_object().into_iter().flatten() {
            let (value, unit, kind) = (&metric["value"], &metric["unit"], &metric["kind"]);
            lines.push(format!("{name}: {value} {} ({})", text(unit), text(kind)));
        }
    }
    lines
}

fn predicted(document: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for prediction in each(&document["predictions"]) {
        lines.push(format!(
            "{} on {}: {}",
            text(&prediction["kernel"]),
            text(&prediction["gpu"]),
            time(prediction),
        ));
    }
    lines
}

/// A time with its model and interval.
fn time(value: &Value) -> String {
    let mut line = format!("{} ms", four_digits(&value["time_ms"]));
    if let Some(model) = value["model"].as_str() {
        let _ = write!(line, " by {model}");
    }
    let interval = &value["interval"];
    if interval.is_object() {
        let [low, high] = ["low_ms", "high_ms"].map(|end| four_digits(&interval[end]));
        let _ = write!(line, ", interval {low} to {high} ms");
    }
    if let Some(bound) = value["bound"].as_str() {
        let _ = write!(line, ", bound by {bound}");
    }
    line
}

fn advised(document: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for advice in each(&document["advice"]) {
        let (kernel, gpu) = (text(&advice["kernel"]), text(&advice["gpu"]));
        lines.push(format!("{kernel} on {gpu}: {}", time(&advice["verdict"])));
        let mut items = each(&advice["items"]).peekable();
        if items.peek().is_none() {
            lines.push("no change is known that gains 5 %".to_owned());
        }
        for item in items {
            let gain = item["speed_up"].as_f64();
            let gain = gain.map_or("?".to_owned(), |gain| format!("{gain:.2} ×"));
            lines.push(format!("{gain} {}: {}", text(&item["rule"]), text(&item["change"])));
        }
    }
    lines
}

fn judged(document: &Value) -> Vec<String> {
    let mut lines = vec![format!("verdict: {}", text(&document["verdict"]))];
    for evidence in each(&document["evidence"]) {
        let (code, message) = (text(&evidence["code"]), text(&evidence["message"]));
        let size = evidence["size"].as_str().map_or(String::new(), |size| format!(" at {size}"));
        lines.push(format!("{code}{size}: {message}"));
    }
    let times = &document["times"];
    if times.is_object() {
        lines.push(format!("reference: {}", time(&times["reference"])));
        lines.push(format!("candidate: {}", time(&times["candidate"])));
        let mut line = format!("speed-up: {}", four_digits(&times["speed_up"]));
        if let Some([low, high]) = times["speed_up_interval"].as_array().map(Vec::as_slice) {
            let _ = write!(line, ", interval {} to {}", four_digits(low), four_digits(high));
        }
        lines.push(line);
    }
    lines
}

fn explained(document: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for meaning in each(&document["meanings"]) {
        let names: Vec<String> = each(&meaning["names"]).map(text).collect();
        lines.push(format!("{} ({})", names.join(", "), text(&meaning["page"])));
        for (name, fact) in meaning["facts"].as_object().into_iter().flatten() {
            lines.push(format!("{name}: {}", text(fact)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_have_four_digits() {
        for (number, expected) in [
            (json!(0.004_192_907_801), "0.004193"),
            (json!(12.345_6), "12.35"),
            (json!(98_765.4), "98765"),
            (json!(0.0), "0.0"),
            (json!(null), "null"),
        ] {
            assert_eq!(four_digits(&number), expected);
        }
    }
}
