//! The table of `ncu --csv --page raw`: one row per launch and one column per metric. The units
//! stand in a row of their own.

use std::collections::BTreeMap;

use super::{Choice, Device, Launch, PROCESS, quoted};
use crate::definitions::{Definition, definitions};
use crate::metric::Number;

/// The columns that stand before the metrics.
const HEADER: [&str; 11] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
];

/// Writes the metrics that Nsight Compute has, by its names, as `ncu --csv --page raw --print-units
/// base` would.
///
/// Nsight Compute lists every launch. Only the means of repetitions are known here, so each
/// repetition gets a row with the same figures. Their sum is that of the real ones.
#[must_use]
pub fn ncu_csv(launches: &[Launch<'_>], device: Device<'_>, choice: Choice<'_>) -> String {
    let columns = columns(launches, choice);
    let mut lines = vec![
        HEADER.into_iter().chain(columns.keys().copied()).map(quoted).collect::<Vec<_>>().join(","),
        std::iter::repeat_n("", HEADER.len())
            .chain(columns.iter().map(|(name, (metric, _))| unit(name, metric.unit)))
            .map(quoted)
            .collect::<Vec<_>>()
            .join(","),
    ];
    let mut id = 0_u64;
    for launch in launches {
        let figures: String = columns
            .values()
            .map(|(metric, worth)| match launch.mean.get(metric.name) {
                Some(figure) => format!(",{}", quoted(&printed(figure.value, *worth))),
                None => ",\"n/a\"".to_owned(),
            })
            .collect();
        for _ in 0..launch.invocations {
            let place = [
                &id.to_string(),
                "1",
                PROCESS,
                "127.0.0.1",
                launch.kernel,
                "1",
                "7",
                &extent(launch.block),
                &extent(launch.grid),
                "0",
                device.capability,
            ];
            lines.push(place.map(quoted).join(",") + &figures);
            id += 1;
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The metrics that some launch has, in the order of their names, with the factor that each counts
/// with.
fn columns(
    launches: &[Launch<'_>],
    choice: Choice<'_>,
) -> BTreeMap<&'static str, (&'static Definition, f64)> {
    let is_there = |metric: &&Definition| {
        choice(metric) && launches.iter().any(|launch| launch.mean.contains_key(metric.name))
    };
    definitions()
        .filter(is_there)
        .flat_map(|metric| metric.nsight_names().map(move |(name, worth)| (name, (metric, worth))))
        .collect()
}

fn extent([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// Nsight Compute's unit, unscaled.
fn unit(name: &str, unit: &str) -> &'static str {
    if name.ends_with("pct") || name.contains(".pct_of_") {
        return "%";
    }
    match unit {
        "instruction" | "operation" => "inst",
        "byte" => "byte",
        "request" => "request",
        "sector" => "sector",
        "transaction" if name.contains("sectors") => "sector",
        "warp" => "warp",
        "thread" if name.starts_with("launch__block") => "",
        "thread" => "thread",
        "block" if name.starts_with("launch__") => "",
        "block" => "block",
        "register" => "register/thread",
        "instruction/warp" => "inst/warp",
        _ => "",
    }
}

/// Thousands are separated; fractions have two decimals at least and six at most.
fn printed(number: Number, worth: f64) -> String {
    match number {
        Number::Count(count) if worth == 1.0 => thousands(&count.to_string()),
        number => {
            let text = format!("{:.6}", number.as_f64() / worth);
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            let fraction = fraction.trim_end_matches('0');
            format!("{}.{fraction:0<2}", thousands(whole))
        }
    }
}

fn thousands(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
