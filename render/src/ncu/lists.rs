//! Lists of sections, sets and metrics.

use std::fmt::Write as _;

use gpucast_forecast::nsight::{self, meaning, unit};

use super::sections::{DEFAULT_SET, SECTIONS, SETS};

/// The sections, with the sets that they belong to.
#[must_use]
pub fn list_sections() -> String {
    let width = SECTIONS.iter().map(|section| section.identifier.len()).max().unwrap_or(0);
    let named = SECTIONS.iter().map(|section| section.name.len()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  {:<named$}  Sets\n", "Identifier", "Display Name");
    for section in SECTIONS {
        let sets = SETS.iter().filter(|set| set.sections.contains(&section.identifier));
        let sets: Vec<&str> = sets.map(|set| set.name).collect();
        let (identifier, name) = (section.identifier, section.name);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{identifier:<width$}  {name:<named$}  {}", sets.join(", "));
    }
    text
}

/// The sets with their sections.
#[must_use]
pub fn list_sets() -> String {
    let width = SETS.iter().map(|set| set.name.len()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  Sections\n", "Identifier");
    for set in SETS {
        let default = if set.name == DEFAULT_SET { " (default)" } else { "" };
        let _ = writeln!(text, "{:<width$}  {}{default}", set.name, set.sections.join(", "));
    }
    text
}

/// Every metric that may have a value, with its unit and its meaning.
#[must_use]
pub fn query_metrics() -> String {
    let names = nsight::names();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let mut text =
        format!("{:<width$}  {:<15}  Metric Description\n", "Metric Name", "Metric Unit");
    for name in names {
        let meaning = meaning(&name).unwrap_or_default();
        let _ = writeln!(text, "{name:<width$}  {:<15}  {meaning}", unit(&name));
    }
    text
}
