//! The result files of KTT, the Kernel Tuning Toolkit, version 2.
//!
//! Source: `JsonConverters.cpp` and the tutorials' outputs in github.com/HiPerCoRe/KTT, for the
//! names of members and their units.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::date::date;
use super::kernel_tuner::{number, value_of};
use super::trial::{Trial, Trouble};
use super::{Configuration, Space};
use crate::failure::Report;

/// The time units of the file, with their milliseconds.
const UNITS: [(&str, f64); 4] =
    [("Nanoseconds", 1e-6), ("Microseconds", 1e-3), ("Milliseconds", 1.0), ("Seconds", 1e3)];

/// The results of trials, times by `model`.
pub fn document(
    space: &Space,
    device: &str,
    model: &str,
    trials: &[Trial],
    now: SystemTime,
) -> Value {
    let results: Vec<Value> = trials.iter().map(|trial| result(space, model, trial)).collect();
    json!({
        "Metadata": {
            "ComputeApi": "CUDA",
            "GlobalSizeType": "CUDA",
            "Platform": format!("gpucast, {model}"),
            "Device": device,
            "KttVersion": "2.2.0",
            "Timestamp": date(now, " UTC"),
            "TimeUnit": "Milliseconds",
        },
        "Results": results,
    })
}

fn result(space: &Space, model: &str, trial: &Trial) -> Value {
    let time = trial.time_ms(model);
    let status = match (&trial.outcome, time) {
        (Err(Trouble::Compilation(_)), _) => "CompilationFailed",
        (Err(Trouble::Execution(_)), _) | (Ok(_), None) => "ComputationFailed",
        (Ok(_), Some(_)) => "Ok",
    };
    let size = |[x, y, z]: [u32; 3]| json!({ "X": x, "Y": y, "Z": z });
    let configuration: Vec<Value> = space
        .parameters
        .iter()
        .zip(&trial.configuration.0)
        .map(|(parameter, &value)| {
            let ty = match number(value) {
                whole if whole.is_u64() => "UnsignedInt",
                whole if whole.is_i64() => "Int",
                _ => "Double",
            };
            json!({ "Name": parameter.name, "ValueType": ty, "Value": number(value) })
        })
        .collect();
    // Models give the time of all launches together; it stands at the first one.
    let shares = std::iter::once(time.unwrap_or(0.0)).chain(std::iter::repeat(0.0));
    let launches: Vec<Value> = trial
        .launches
        .iter()
        .zip(shares)
        .filter(|_| time.is_some())
        .map(|(launch, duration)| {
            json!({
                "KernelFunction": launch.kernel,
                "Duration": duration,
                "Overhead": 0.0,
                "CompilationOverhead": 0.0,
                "GlobalSize": size(launch.grid),
                "LocalSize": size(launch.block),
            })
        })
        .collect();
    let kernel = trial.launches.first().map_or("", |launch| launch.kernel.as_str());
    json!({
        "KernelName": kernel,
        "Status": status,
        "TotalDuration": time.unwrap_or(0.0),
        "TotalOverhead": 0.0,
        "ExtraDuration": 0.0,
        "DataMovementOverhead": 0.0,
        "ValidationOverhead": 0.0,
        "SearcherOverhead": 0.0,
        "CompilationOverhead": 0.0,
        "ProfilingOverhead": 0.0,
        "Configuration": configuration,
        "ComputationResults": launches,
    })
}

/// Returns true if a document seems to be of KTT.
pub fn is_one(document: &Value) -> bool {
    document.get("Metadata").is_some() && document.get("Results").is_some()
}

/// The times in milliseconds of a file's configurations, by their keys in the order of `space`.
/// Configurations that failed have none.
///
/// # Errors
///
/// If it is no such file, or of other parameters.
pub fn read(name: &str, document: &Value, space: &Space) -> Result<BTreeMap<String, f64>, Report> {
    let wrong = |what: String| Report::new(format!("{name} is no result file of KTT: {what}"));
    let unit = document["Metadata"]["TimeUnit"].as_str().unwrap_or_default();
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, milliseconds) = known.ok_or_else(|| wrong(format!("its time unit is `{unit}`")))?;
    let results =
        document["Results"].as_array().ok_or_else(|| wrong("it has no results".to_owned()))?;
    let mut times = BTreeMap::new();
    for result in results {
        let pairs = result["Configuration"].as_array().map_or(&[][..], Vec::as_slice);
        let value = |parameter: &str| {
            let pair = pairs.iter().find(|pair| pair["Name"] == parameter)?;
            value_of(&pair["Value"])
        };
        let values = space.parameters.iter().map(|parameter| {
            let name = &parameter.name;
            value(name).ok_or_else(|| wrong(format!("a configuration has no `{name}`")))
        });
        let configuration = Configuration(values.collect::<Result<_, _>>()?);
        if let (Some("Ok"), Some(time)) =
            (result["Status"].as_str(), result["TotalDuration"].as_f64())
        {
            times.insert(configuration.key(), time * milliseconds);
        }
    }
    Ok(times)
}
