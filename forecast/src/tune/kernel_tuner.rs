//! The cache files of Kernel Tuner, by the published schema of version 1.1.0.
//!
//! The file is a JSON object whose last member, `cache`, gets an entry for each configuration as it
//! is tried. A tuner that is still at work, or was killed, leaves it without its end. Entries may
//! have members of one's own: here `model_times`, the time by each model.
//!
//! Source: `cache/1.1.0/schema.json` of github.com/KernelTuner/kernel_tuner.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::date::date;
use super::trial::{ModelTime, Trial, TriedLaunch, Trouble, rounded};
use super::{Configuration, Parameter, Space};
use crate::failure::Report;

/// What an entry's `time` says in place of a number.
const INVALID: &str = "InvalidConfig";
const NOT_COMPILED: &str = "CompilationFailedConfig";
const NOT_RUN: &str = "RuntimeFailedConfig";

/// The entries of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CacheFile {
    /// The device's name.
    pub device: String,
    /// The entries by the configuration's key.
    pub entries: BTreeMap<String, Entry>,
}

/// A configuration that was tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// The time in milliseconds; `None` if it failed.
    pub time_ms: Option<f64>,
    /// The times by model, if this program wrote the entry.
    pub by_model: Vec<ModelTime>,
    /// Why there is no time, if this program wrote it.
    pub trouble: Option<Trouble>,
    /// Its launches, if this program wrote it.
    pub launches: Vec<TriedLaunch>,
}

impl Entry {
    /// The trial of the entry, if this program wrote it and it has an answer of each model.
    pub fn trial(&self, configuration: &Configuration, models: &[&str]) -> Option<Trial> {
        let time = |model: &&str| self.by_model.iter().find(|time| time.model == *model).cloned();
        let outcome = match &self.trouble {
            Some(trouble) => Err(trouble.clone()),
            None => Ok(models.iter().map(time).collect::<Option<Vec<ModelTime>>>()?),
        };
        Some(Trial {
            configuration: configuration.clone(),
            launches: self.launches.clone(),
            outcome,
        })
    }
}

/// The text before the first entry.
///
/// # Errors
///
/// If a name cannot be written, which no input brings about.
pub fn header(space: &Space, device: &str) -> Result<String, Report> {
    let names: Vec<&str> =
        space.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let mut values = Map::new();
    for parameter in &space.parameters {
        let of = parameter.values.iter().map(|&value| number(value)).collect();
        values.insert(parameter.name.clone(), Value::Array(of));
    }
    let members = [
        ("schema_version", json!("1.1.0")),
        ("device_name", json!(device)),
        ("kernel_name", json!(space.name())),
        ("problem_size", json!(space.problem_size)),
        ("tune_params_keys", json!(names)),
        ("tune_params", Value::Object(values)),
        ("objective", json!("time")),
    ];
    let mut text = "{\n".to_owned();
    for (name, value) in members {
        text += &format!("\"{name}\": {value},\n");
    }
    text += "\"cache\": {\n";
    Ok(text)
}

/// The entry of a configuration, with a comma and a line break behind it.
pub fn entry(space: &Space, trial: &Trial, now: SystemTime) -> String {
    let mut entry = Map::new();
    for (parameter, &value) in space.parameters.iter().zip(&trial.configuration.0) {
        entry.insert(parameter.name.clone(), number(value));
    }
    let (time, by_model) = match &trial.outcome {
        Err(Trouble::Compilation(_)) => (json!(NOT_COMPILED), None),
        Err(Trouble::Execution(_)) => (json!(NOT_RUN), None),
        Ok(times) => {
            let mut by_model = Map::new();
            for time in times {
                let value = match &time.time_ms {
                    Ok(time_ms) => json!(time_ms),
                    Err(reason) => json!(reason),
                };
                by_model.insert(time.model.clone(), value);
            }
            let first = times.first().and_then(|time| time.time_ms.as_ref().ok());
            (first.map_or(json!(INVALID), |time_ms| json!(time_ms)), Some(by_model))
        }
    };
    if let Some(time_ms) = time.as_f64() {
        entry.insert("times".to_owned(), json!([time_ms]));
    }
    entry.insert("time".to_owned(), time);
    if let Some(by_model) = by_model {
        entry.insert("model_times".to_owned(), Value::Object(by_model));
    }
    if let Err(trouble) = &trial.outcome {
        entry.insert("error".to_owned(), json!(trouble.reason()));
    }
    entry.insert("launches".to_owned(), json!(trial.launches));
    for name in
        ["compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"]
    {
        entry.insert(name.to_owned(), json!(0));
    }
    entry.insert("timestamp".to_owned(), json!(date(now, "+00:00")));
    format!("\"{}\": {},\n", trial.configuration.key(), Value::Object(entry))
}

/// The text behind the last entry, which has no comma.
const END: &str = "\n}\n}\n";

/// The text of a file with its end, whether it has one or was left without.
pub fn with_end(text: &str) -> String {
    without_end(text).trim_end().trim_end_matches(',').to_owned() + END
}

/// The text of a file up to its last entry, with a comma and a line break behind that: further
/// entries can follow. A last line that is cut off within its entry is left out.
pub fn without_end(text: &str) -> String {
    let closed =
        text.trim_end().strip_suffix('}').and_then(|rest| rest.trim_end().strip_suffix('}'));
    let is_closed = serde_json::from_str::<Value>(text).is_ok();
    let entries = match closed.filter(|_| is_closed) {
        Some(entries) => entries,
        None => match text.rsplit_once('\n') {
            // A tuning that was killed before the comma has lost nothing.
            Some((_, last)) if is_entry(last) => text,
            whole => whole.map_or("", |(lines, _)| lines),
        },
    };
    let entries = entries.trim_end().trim_end_matches(',');
    if entries.ends_with('{') { format!("{entries}\n") } else { format!("{entries},\n") }
}

/// True if a line is a whole entry.
fn is_entry(line: &str) -> bool {
    let line = line.trim().trim_end_matches(',');
    let members: Result<Map<String, Value>, _> = serde_json::from_str(&format!("{{{line}}}"));
    members.is_ok_and(|members| members.len() == 1 && members.values().all(Value::is_object))
}

/// Reads a file, also one without its end.
///
/// # Errors
///
/// If it is no such file, or of other parameters.
pub fn read(name: &str, text: &str, space: &Space) -> Result<CacheFile, Report> {
    let wrong = || {
        Report::new(format!("{name} is no cache file of Kernel Tuner"))
            .hint("it begins with device_name, kernel_name, tune_params_keys and cache")
    };
    let document: Value = serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&with_end(text)))
        .map_err(|_| wrong())?;
    let member = |name: &str| document.get(name).ok_or_else(wrong);
    let device = member("device_name")?.as_str().ok_or_else(wrong)?.to_owned();
    let names = member("tune_params_keys")?.as_array().ok_or_else(wrong)?;
    for Parameter { name: parameter, .. } in &space.parameters {
        if !names.iter().any(|name| name == parameter) {
            return Err(Report::new(format!("{name} is of a space without `{parameter}`")));
        }
    }
    let mut entries = BTreeMap::new();
    for entry in member("cache")?.as_object().ok_or_else(wrong)?.values() {
        let parameters = space.parameters.iter();
        let values = parameters.map(|parameter| value_of(entry.get(&parameter.name)?));
        // Values that are no numbers belong to a space that no launch file can have.
        let Some(values) = values.collect::<Option<Vec<f64>>>() else { continue };
        entries.insert(Configuration(values).key(), read_entry(entry));
    }
    Ok(CacheFile { device, entries })
}

fn read_entry(entry: &Value) -> Entry {
    let time_of = |(model, value): (&String, &Value)| ModelTime {
        model: model.clone(),
        time_ms: match value.as_f64() {
            Some(time_ms) => Ok(rounded(time_ms)),
            None => Err(value.as_str().unwrap_or("it has no time").to_owned()),
        },
    };
    let by_model = entry.get("model_times").and_then(Value::as_object);
    let launches = entry.get("launches").cloned().unwrap_or_default();
    let reason = entry.get("error").and_then(Value::as_str).unwrap_or_default().to_owned();
    let trouble = match entry.get("time").and_then(Value::as_str) {
        Some(NOT_COMPILED) => Some(Trouble::Compilation(reason)),
        Some(NOT_RUN) => Some(Trouble::Execution(reason)),
        _ => None,
    };
    Entry {
        time_ms: entry.get("time").and_then(Value::as_f64),
        by_model: by_model.into_iter().flatten().map(time_of).collect(),
        trouble,
        // An entry without them gives results of KTT without launches.
        launches: serde_json::from_value(launches).unwrap_or_default(),
    }
}

/// A whole number without a fraction.
pub(super) fn number(value: f64) -> Value {
    match value.fract() == 0.0 && value.abs() < 9e15 {
        true => json!(value as i64),
        false => json!(value),
    }
}

/// A parameter's value; true and false are 1 and 0.
pub(super) fn value_of(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_bool().map(|truth| f64::from(u8::from(truth))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Kernel Tuner leaves a file when it is done, when it is killed, and amid a line.
    #[test]
    fn a_file_is_read_wherever_it_ends() {
        let head = "{\n\"device_name\": \"D\",\n\"kernel_name\": \"k\",\n\
                    \"tune_params_keys\": [\n\"x\",\n\"fast\"\n],\n\"cache\": {\n";
        let first = "\"16,1\": {\"x\": 16, \"fast\": true, \"time\": 2.5},\n";
        let second = "\"32,0\": {\"x\": 32, \"fast\": false, \"time\": \"InvalidConfig\"}";
        let space = Space::of_parameters(&["x", "fast"]);
        let keys = |text: &str| -> Vec<(String, Option<f64>)> {
            let file = read("cache.json", text, &space).unwrap();
            file.entries.into_iter().map(|(key, entry)| (key, entry.time_ms)).collect()
        };
        let both = [("16,1".to_owned(), Some(2.5)), ("32,0".to_owned(), None)];
        assert_eq!(keys(&format!("{head}{first}{second}\n}}\n}}")), both);
        assert_eq!(keys(&format!("{head}{first}{second},\n")), both);
        assert_eq!(keys(&format!("{head}{first}{}", &second[..20])), both[..1]);
        // Killed behind the last brace, before the comma, and amid the end.
        assert_eq!(keys(&format!("{head}{first}{second}")), both);
        assert_eq!(keys(&format!("{head}{first}{second}\n}}")), both);
        assert_eq!(with_end(&with_end(head)), format!("{}\n}}\n}}\n", head.trim_end()));
        assert_eq!(keys(head), []);
        let open = without_end(&format!("{head}{first}{second}\n}}\n}}"));
        assert_eq!(open, format!("{head}{first}{second},\n"));
        assert_eq!(without_end(&open), open);
        assert_eq!(without_end(head), head);
        assert!(read("cache.json", "{}", &space).is_err());
        assert!(read("cache.json", "", &space).is_err());
        let other = Space::of_parameters(&["y"]);
        assert!(read("cache.json", head, &other).is_err());
    }
}
