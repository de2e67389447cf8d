//! Files that `gpucast profile` wrote, as JSON or CSV. Figures keep their kinds: what was modelled
//! stays modelled.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{ImportError, Position, Reason};
use super::table::Row;
use super::{Imported, number};
use crate::definitions::definition;
use crate::launch_profile::PROFILE_SCHEMA;
use crate::metric::{Kind, MetricValue, Metrics};
use crate::profile::KernelProfile;

const LAUNCH: &str = "launch";
const KERNEL: &str = "kernel";
const INVOCATIONS: &str = "invocations";
const METRIC: &str = "metric";
const VALUE: &str = "value";
const KIND: &str = "kind";

/// Returns true if a text is a JSON object, which no other format here is.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Returns true if a line is the header of our own table of metrics.
pub(super) fn is_header(line: &str) -> bool {
    Row::split(1, line).is_ok_and(|row| {
        [LAUNCH, KERNEL, METRIC, VALUE, KIND].into_iter().all(|name| row.find(name).is_some())
    })
}

#[derive(Deserialize)]
struct Document<'a> {
    schema: String,
    #[serde(borrow)]
    launches: Vec<Launch<'a>>,
}

#[derive(Deserialize)]
struct Launch<'a> {
    kernel: String,
    invocations: u64,
    #[serde(default, borrow)]
    metrics: BTreeMap<String, Figure<'a>>,
}

#[derive(Deserialize)]
struct Figure<'a> {
    /// As text: a reader of numbers would round counts of 2⁶⁴ or more.
    #[serde(borrow)]
    value: &'a RawValue,
    kind: Kind,
}

/// Reads the JSON of `gpucast profile`.
///
/// # Errors
///
/// When the text is no JSON, is another document, or has no metrics, as with `--by line`.
pub fn profile_json(text: &str) -> Result<Imported, ImportError> {
    let document: Document<'_> = serde_json::from_str(text).map_err(|error| {
        let position = Position { line: error.line().max(1), column: error.column().max(1) };
        // The parser's own place stands at the end of its sentence.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        ImportError { position, reason: Reason::NoProfile { message } }
    })?;
    let whole = |message: String| ImportError {
        position: Position::START,
        reason: Reason::NoProfile { message },
    };
    if document.schema != PROFILE_SCHEMA {
        return Err(whole(format!("its schema is `{}`", document.schema)));
    }
    let mut ignored = BTreeSet::new();
    let mut profiles = Vec::new();
    for mut launch in document.launches {
        let mut metrics = Metrics::new();
        for (name, figure) in std::mem::take(&mut launch.metrics) {
            let Some(metric) = definition(&name) else {
                ignored.insert(name);
                continue;
            };
            let value = figure.value.get();
            let value = number::parse(&name, value).map_err(|reason| {
                let offset = value.as_ptr().addr() - text.as_ptr().addr();
                ImportError { position: Position::of(text, offset), reason }
            })?;
            metrics.insert(name, MetricValue { value, unit: metric.unit, kind: figure.kind });
        }
        if metrics.is_empty() || launch.invocations == 0 {
            return Err(whole("a launch has no metrics by nvprof's names".to_owned()));
        }
        let Launch { kernel, invocations, .. } = launch;
        profiles.push(KernelProfile { kernel, invocations, measured_on: None, metrics });
    }
    match profiles.is_empty() {
        true => Err(whole("it has no launches".to_owned())),
        false => Ok(Imported { profiles, ignored: ignored.into_iter().collect() }),
    }
}

/// Reads the CSV of `gpucast profile`.
///
/// # Errors
///
/// When a row does not fit the header or has a figure that is no figure.
pub fn profile_csv(text: &str) -> Result<Imported, ImportError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let whole = |reason| ImportError { position: Position::START, reason };
    let (index, header) = lines.next().ok_or_else(|| whole(Reason::Empty))?;
    let header = Row::split(index + 1, header)?;
    let launch = header.require(LAUNCH)?;
    let kernel = header.require(KERNEL)?;
    let invocations = header.require(INVOCATIONS)?;
    let metric = header.require(METRIC)?;
    let value = header.require(VALUE)?;
    let kind = header.require(KIND)?;
    let mut profiles: Vec<(String, KernelProfile)> = Vec::new();
    let mut ignored = BTreeSet::new();
    for (index, line) in lines {
        let row = Row::split(index + 1, line)?;
        row.expect_len(header.len())?;
        let name = row.field(metric);
        let Some(definition) = definition(name) else {
            ignored.insert(name.to_owned());
            continue;
        };
        let figure = MetricValue {
            value: number::parse(name, row.field(value))
                .map_err(|reason| row.error(value, reason))?,
            unit: definition.unit,
            kind: named_kind(row.field(kind)).ok_or_else(|| {
                let message = format!("`{}` is no kind of a figure", row.field(kind));
                row.error(kind, Reason::NoProfile { message })
            })?,
        };
        let id = row.field(launch);
        if profiles.last().is_none_or(|(last, _)| last != id) {
            let text = row.field(invocations);
            let count = text.parse::<u64>().ok().filter(|&count| count > 0);
            let invocations = count.ok_or_else(|| {
                let reason = Reason::NotANumber { name: INVOCATIONS.into(), text: text.into() };
                row.error(invocations, reason)
            })?;
            let kernel = row.field(kernel).to_owned();
            let metrics = Metrics::new();
            let profile = KernelProfile { kernel, invocations, measured_on: None, metrics };
            profiles.push((id.to_owned(), profile));
        }
        if let Some((_, profile)) = profiles.last_mut() {
            profile.metrics.insert(name.to_owned(), figure);
        }
    }
    if profiles.is_empty() {
        return Err(whole(Reason::Empty));
    }
    let profiles = profiles.into_iter().map(|(_, profile)| profile).collect();
    Ok(Imported { profiles, ignored: ignored.into_iter().collect() })
}

/// The kind of this name, as files write it.
fn named_kind(name: &str) -> Option<Kind> {
    Some(match name {
        "exact" => Kind::Exact,
        "measured" => Kind::Measured,
        "modelled" => Kind::Modelled,
        "estimated" => Kind::Estimated,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Format, read};
    use super::*;
    use crate::metric::Number;

    const JSON: &str = r#"{
  "schema": "gpucast.profile/1",
  "launches": [
    {
      "kernel": "k",
      "grid": [1, 1, 1],
      "invocations": 2,
      "metrics": {
        "inst_executed": { "value": 7, "unit": "instruction", "kind": "estimated", "level": "machine" },
        "branch_efficiency": { "value": 87.5, "unit": "percent", "kind": "exact" },
        "a_metric_of_tomorrow": { "value": 1, "unit": "event", "kind": "exact" }
      }
    }
  ]
}"#;

    const CSV: &str = "launch,kernel,grid,block,invocations,metric,value,unit,kind,level\n\
                       0,\"f(int, int)\",1 x 1 x 1,32 x 1 x 1,2,inst_executed,7,instruction,estimated,machine\n\
                       0,\"f(int, int)\",1 x 1 x 1,32 x 1 x 1,2,branch_efficiency,87.5,percent,exact,ptx\n\
                       1,g,1 x 1 x 1,32 x 1 x 1,1,inst_executed,8,instruction,measured,ptx\n";

    #[test]
    fn our_own_files_keep_the_kinds_of_figures() {
        assert_eq!((Format::of(JSON), Format::of(CSV)), (Format::ProfileJson, Format::ProfileCsv));
        let of_json = read(JSON).unwrap();
        assert_eq!(of_json.ignored, ["a_metric_of_tomorrow"]);
        let of_csv = read(CSV).unwrap();
        assert_eq!(of_csv.profiles.len(), 2);
        assert_eq!(of_csv.profiles[0].kernel, "f(int, int)");
        for profile in [&of_json.profiles[0], &of_csv.profiles[0]] {
            assert_eq!(profile.invocations, 2);
            assert_eq!(profile.metrics["inst_executed"].kind, Kind::Estimated);
            assert_eq!(profile.metrics["branch_efficiency"].kind, Kind::Exact);
            assert_eq!(profile.metrics["branch_efficiency"].value.as_f64(), 87.5);
        }
        assert_eq!(of_csv.profiles[1].metrics["inst_executed"].kind, Kind::Measured);
    }

    #[test]
    fn other_documents_and_broken_ones_are_refused_with_their_place() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(
            error("{\"schema\": \"gpucast.run/1\", \"launches\": []}").contains("gpucast.run/1")
        );
        assert!(error(&JSON.replace("\"value\": 7", "\"value\": \"x\"")).starts_with("line 9,"));
        assert!(error(&JSON.replace("\"value\": 87.5", "\"value\": -1.0")).contains("negative"));
        assert!(error(&CSV.replace("estimated", "guessed")).contains("`guessed` is no kind"));
        assert!(error(&CSV.replace(",7,", ",seven,")).starts_with("line 2, column"));
        assert!(
            error("{\"schema\": \"gpucast.profile/1\", \"launches\": []}").contains("no launches")
        );
        for text in [JSON, CSV] {
            for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
                let _ = (read(&text[..end]), profile_json(&text[..end]), profile_csv(&text[..end]));
            }
        }
    }

    #[test]
    fn counts_beyond_64_bits_keep_their_digits() {
        let count = u128::from(u64::MAX) * 1_000_003;
        let json = JSON.replacen("\"value\": 7,", &format!("\"value\": {count},"), 1);
        let csv = CSV.replacen("inst_executed,7,", &format!("inst_executed,{count},"), 1);
        for text in [json, csv] {
            let profile = &read(&text).unwrap().profiles[0];
            assert_eq!(profile.metrics["inst_executed"].value, Number::Count(count), "{text}");
        }
    }
}
