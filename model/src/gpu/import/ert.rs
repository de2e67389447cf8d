//! `roofline.json` of the Empirical Roofline Toolkit (Yang & Williams 2019, "ERT output").
//!
//! Levels are listed from the fastest, the device memory (`DRAM`) last. On a GPU the level above it
//! is the L2, whatever ERT calls it (the slides plot the `L1` of a V100 as its L2), and the one
//! before that the L1. A throughput without a precision is of double precision, which older
//! versions knew alone.

use serde::Deserialize;
use serde_json::Value;

use super::{Draft, ImportError, ImportProblem, at_start};
use crate::gpu::quantity::Raw;
use gpucast_counters::import::Position;

const BY: &str = "ERT";

#[derive(Deserialize)]
struct Roofline {
    empirical: Empirical,
}

#[derive(Deserialize)]
struct Empirical {
    gbytes: Ceilings,
    gflops: Ceilings,
    #[serde(default)]
    metadata: Value,
}

#[derive(Deserialize)]
struct Ceilings {
    data: Vec<(String, f64)>,
    #[serde(default)]
    metadata: Value,
}

pub(super) fn read(text: &str, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let roofline: Roofline = serde_json::from_str(text).map_err(|error| ImportError {
        position: Position { line: error.line().max(1), column: error.column().max(1) },
        problem: ImportProblem::Json { message: error.to_string() },
    })?;
    let Empirical { gbytes, gflops, metadata } = roofline.empirical;
    if [&metadata, &gbytes.metadata, &gflops.metadata].into_iter().any(ran_on_a_cpu) {
        return Err(at_start(ImportProblem::NotAGpu(
            "ERT ran on a CPU: its configuration says `ERT_GPU: [false]`",
        )));
    }
    let measured = draft.measured(BY);
    let memory = gbytes.data.iter().position(|(level, _)| level == "DRAM");
    let memory =
        memory.ok_or_else(|| at_start(ImportProblem::Missing { what: "bandwidth of `DRAM`" }))?;
    let mut set = |field, value: f64| draft.set(field, Raw::Number(value), measured.clone(), 1);
    set("memory_bandwidth", gbytes.data[memory].1)?;
    let caches = &gbytes.data[..memory];
    let mut from_memory = caches.iter().rev();
    if let Some((_, bandwidth)) = from_memory.next() {
        set("l2_bandwidth", *bandwidth)?;
    }
    if let Some((_, bandwidth)) = from_memory.next() {
        set("l1_bandwidth", *bandwidth)?;
    }
    let left_out: Vec<&str> = from_memory.map(|(level, _)| level.as_str()).collect();
    for (label, value) in &gflops.data {
        let field = match label.as_str() {
            "GFLOPs" | "FP64 GFLOPs" => "dp_throughput",
            "FP32 GFLOPs" => "sp_throughput",
            "FP16 GFLOPs" => "hp_throughput",
            label => {
                draft.note(format!("left out `{label}`: a GPU has no field for it"));
                continue;
            }
        };
        draft.set(field, Raw::Number(*value), measured.clone(), 1)?;
    }
    if let [(level, _)] = caches
        && level != "L2"
    {
        draft.note(format!(
            "the level `{level}` is taken for the L2, which is the cache above the memory"
        ));
    }
    if !left_out.is_empty() {
        draft.note(format!("left out {}: a GPU has no such cache", left_out.join(", ")));
    }
    Ok(())
}

/// Returns true if a metadata object holds `"ERT_GPU": [false]`, in the form of any version.
fn ran_on_a_cpu(metadata: &Value) -> bool {
    let gpu = &metadata["CONFIG"]["ERT_GPU"];
    let is_false = |value: &Value| *value == Value::Bool(false) || value == "False";
    let listed = gpu.as_array().is_some_and(|values| values.iter().any(is_false));
    // Version 1.1 writes its configuration as the text of a Python dictionary.
    let written = metadata[""].as_array().is_some_and(|texts| {
        texts.iter().filter_map(Value::as_str).any(|text| text.contains("'ERT_GPU': [False]"))
    });
    listed || written
}
