//! Writes a GPU as TOML.

use std::fmt::Write;

use super::description::Gpu;
use super::quantity::{Units, Value};

/// Headings, each above the first of its fields.
const SECTIONS: [(&str, &str); 12] = [
    ("vendor", "What it is."),
    ("sm_count", "Cores."),
    ("sp_throughput", "What kernels get."),
    ("peak_memory_bandwidth", "Theoretical peaks."),
    ("issue_rate", "What an SM does in a clock."),
    ("arithmetic_latency", "Latencies."),
    ("memory_size", "Memory hierarchy."),
    ("warp_size", "Execution limits."),
    ("shared_memory_per_sm", "Shared memory and registers."),
    ("base_clock", "Clocks, and what a way of measuring adds."),
    ("power_limit", "Power."),
    ("issue_width", "The simulation of an SM."),
];

impl Gpu {
    /// The GPU as a TOML file that [`Gpu::from_toml`] reads: the fields that were given, or all
    /// that it has.
    #[must_use]
    pub fn to_toml(&self, all: bool) -> String {
        let mut text = format!(
            "name = {}\ndisplay_name = {}\n",
            quoted(&self.name),
            quoted(&self.display_name)
        );
        if !self.aliases.is_empty() {
            let names: Vec<String> = self.aliases.iter().map(|name| quoted(name)).collect();
            let _ = writeln!(text, "aliases = [{}]", names.join(", "));
        }
        let mut heading = None;
        for field in Self::FIELDS {
            if let Some((_, title)) = SECTIONS.iter().find(|(first, _)| first == field) {
                heading = Some(*title);
            }
            let Some(figure) = self.figure(field) else { continue };
            if !all && self.is_filled(field) {
                continue;
            }
            if let Some(title) = heading.take() {
                let _ = writeln!(text, "\n# {title}");
            }
            let units = Self::units(field).unwrap_or_default();
            let value = match &figure.value {
                Value::Text(text) => quoted(text),
                Value::Number(number) => {
                    let (number, unit) = in_a_round_unit(*number, units);
                    format!("{number}, unit = {}", quoted(unit))
                }
            };
            let _ = writeln!(
                text,
                "{field} = {{ value = {value}, source = {{ {} = {} }} }}",
                figure.source.kind(),
                quoted(figure.source.text())
            );
        }
        text
    }
}

/// The number in the largest unit in which it is whole. If it is whole in none, or if units are
/// powers of ten, which need no rounding, the first unit is used.
fn in_a_round_unit(number: f64, units: Units) -> (f64, &'static str) {
    let is_whole = |factor: f64| (number / factor).fract() == 0.0;
    units
        .iter()
        .rev()
        .find(|(_, factor)| factor % 1024.0 == 0.0 && is_whole(*factor))
        .or(units.first())
        .map_or((number, ""), |&(unit, factor)| (number / factor, unit))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
