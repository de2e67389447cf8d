//! What the driver tells, as fields of a GPU's file.

use std::fmt::Write as _;

use crate::device::Facts;

/// The field of the clock that figures are computed with.
pub(crate) const CLOCK: &str = "sp_clock";

/// What the driver tells, as the file of a GPU.
pub(crate) fn file(name: &str, facts: &Facts) -> String {
    let mut text = heading(name, facts);
    fields(&mut text, facts, CLOCK);
    text
}

/// The name of a file.
pub(crate) fn heading(name: &str, facts: &Facts) -> String {
    let display_name = &facts.name;
    format!("name = {name:?}\ndisplay_name = {display_name:?}\n")
}

/// The fields that the driver tells; `clock` is that of its clock.
pub(crate) fn fields(text: &mut String, facts: &Facts, clock: &str) {
    *text += "\n# What the driver tells.\n";
    let mut told = |field: &str, value: String, unit: &str| {
        let unit = if unit.is_empty() { String::new() } else { format!(" unit = {unit:?},") };
        let _ = writeln!(
            text,
            "{field} = {{ value = {value},{unit} source = {{ datasheet = \"told by the driver\" }} }}"
        );
    };
    told("vendor", "\"NVIDIA\"".to_owned(), "");
    told("compute_capability", format!("\"{}\"", facts.compute_capability), "");
    told("sm_count", facts.sm_count.to_string(), "SM");
    told(clock, facts.clock_mhz.to_string(), "MHz");
    told("l2_size", facts.l2_bytes.to_string(), "B");
    told("memory_size", facts.memory_bytes.to_string(), "B");
    if facts.memory_bus_bits > 0 {
        told("memory_bus_width", facts.memory_bus_bits.to_string(), "bit");
    }
    if let Some(peak) = facts.peak_bandwidth() {
        told("peak_memory_bandwidth", round(peak).to_string(), "GB/s");
    }
}

/// Six digits.
pub(crate) fn round(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
