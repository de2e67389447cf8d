//! The parts of a time: a line for each part, a column for each resource.

use gpucast_model::energy::in_joules;
use gpucast_model::{Bound, Energy, Part, duration};

use crate::table::{Align, aligned};

/// Parts that are shown one by one; the JSON has all.
const MOST_LINES: usize = 24;

/// The table of a prediction's parts, or nothing where it has only one with at most two components,
/// which the explanation tells.
pub(super) fn table(parts: &[Part]) -> Option<String> {
    let mut resources: Vec<Bound> = Vec::new();
    for component in parts.iter().flat_map(|part| &part.components) {
        if !resources.contains(&component.resource) {
            resources.push(component.resource);
        }
    }
    if parts.len() < 2 && resources.len() < 3 {
        return None;
    }
    let mut header = vec!["part".to_owned(), "time".to_owned(), "bound".to_owned()];
    header.extend(resources.iter().map(ToString::to_string));
    let mut rows = vec![header];
    for part in parts.iter().take(MOST_LINES) {
        let mut row = vec![part.name.clone(), duration(part.time_ms), part.bound.to_string()];
        row.extend(resources.iter().map(|resource| {
            let component =
                part.components.iter().find(|component| component.resource == *resource);
            let time = component.map(|component| component.time_ms).filter(|&time| time > 0.0);
            time.map_or_else(|| "-".to_owned(), duration)
        }));
        rows.push(row);
    }
    if let Some(rest) = parts.get(MOST_LINES..).filter(|rest| !rest.is_empty()) {
        let time = rest.iter().map(|part| part.time_ms).sum();
        rows.push(vec![format!("{} more", rest.len()), duration(time)]);
    }
    let columns = [Align::Left, Align::Right, Align::Left];
    let columns: Vec<Align> =
        columns.into_iter().chain(resources.iter().map(|_| Align::Right)).collect();
    Some(aligned(2, &columns, &rows))
}

/// The parts of an energy, each with its share.
pub(super) fn energy_table(energy: &Energy) -> String {
    let row = |of: &str, joules: f64| {
        vec![of.to_owned(), in_joules(joules), format!("{:.0} %", 100.0 * joules / energy.joules)]
    };
    let rows: Vec<Vec<String>> =
        energy.parts.iter().map(|part| row(part.of, part.joules)).collect();
    aligned(2, &[Align::Left, Align::Right, Align::Right], &rows)
}
