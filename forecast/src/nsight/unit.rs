//! Units as Nsight Compute writes them, unscaled.

use gpucast_counters::definitions::nsight_definition;

use super::{rollup, stand_in};

/// The unit of a metric; empty for ratios and for names that nobody knows.
#[must_use]
pub fn unit(name: &str) -> &'static str {
    if name.ends_with("pct") || name.contains(".pct_of_") {
        return "%";
    }
    let found = nsight_definition(name).or_else(|| rollup::definition_of(name));
    let found = found.map(|(definition, _)| definition).or_else(|| stand_in(name));
    let Some(definition) = found else { return "" };
    let of_counter = quantity(name, definition.unit);
    let submetric = name.splitn(3, '.').nth(2).unwrap_or("");
    match (submetric, of_counter) {
        ("per_second", "byte") => "byte/s",
        ("per_second", "inst") => "inst/s",
        ("per_second", "sector") => "sector/s",
        ("per_second", "request") => "request/s",
        ("per_second", "cycle") => "hz",
        ("per_cycle_active" | "per_cycle_elapsed", "inst") => "inst/cycle",
        ("per_cycle_active" | "per_cycle_elapsed", "byte") => "byte/cycle",
        ("per_cycle_active" | "per_cycle_elapsed", "sector") => "sector/cycle",
        ("per_cycle_active" | "per_cycle_elapsed", "request") => "request/cycle",
        // Warps in a cycle are warps that are there at a time.
        ("per_cycle_active" | "per_cycle_elapsed", "warp") => "warp",
        ("" | "peak_sustained", unit) => unit,
        _ => "",
    }
}

/// The unit of what a counter counts.
fn quantity(name: &str, unit: &str) -> &'static str {
    match unit {
        "instruction" if name.contains("issue_stalled") => "inst",
        "instruction" if name.contains("branch_targets") => "branches",
        "instruction" | "operation" | "instruction/cycle" => "inst",
        "nanosecond" => "ns",
        "byte" if name.starts_with("launch__shared_mem_per_block") => "byte/block",
        "byte" if name == "launch__stack_size" => "",
        "byte" => "byte",
        "cycle" => "cycle",
        "request" => "request",
        "sector" => "sector",
        "transaction" if name.contains("sectors") => "sector",
        "warp" | "warp/cycle" => "warp",
        "thread" if name.starts_with("launch__block") => "",
        "thread" => "thread",
        "block" if name.starts_with("launch__occupancy") => "block",
        "block" if name.starts_with("launch__") => "",
        "block" => "block",
        "register" => "register/thread",
        "instruction/warp" => "inst/warp",
        "SM" => "SM",
        _ => "",
    }
}
