//! The CSV of `nvprof --csv --metrics …`: one row for each device, kernel and metric.
//!
//! nvprof prints the minimum, maximum and average over the invocations; the average times the
//! invocations is the total, up to the rounding of the average. Events stand in a table of their
//! own; those that are defined here are taken where no metric says the same.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{ImportError, Position, Reason};
use super::table::Row;
use super::{Imported, number};
use crate::definitions::{Nvprof, definition};
use crate::export::MODELLED_DEVICE;
use crate::metric::{Kind, MetricValue, Metrics};
use crate::profile::KernelProfile;

const DEVICE: &str = "Device";
const KERNEL: &str = "Kernel";
const INVOCATIONS: &str = "Invocations";
const METRIC_NAME: &str = "Metric Name";
const EVENT_NAME: &str = "Event Name";
const AVERAGE: &str = "Avg";

/// Returns true if a line is the header of nvprof's table of metrics.
pub(super) fn is_header(line: &str) -> bool {
    Row::split(1, line).is_ok_and(|row| {
        [KERNEL, INVOCATIONS, METRIC_NAME].into_iter().all(|name| row.find(name).is_some())
    })
}

/// The positions of the columns of the table in force.
struct Columns {
    device: usize,
    kernel: usize,
    invocations: usize,
    name: usize,
    average: usize,
    count: usize,
    events: bool,
}

impl Columns {
    /// Reads a header line; `None` if the row is none.
    fn of(row: &Row) -> Result<Option<Self>, ImportError> {
        let (name, events) = match (row.find(METRIC_NAME), row.find(EVENT_NAME)) {
            (Some(name), _) => (name, false),
            (None, Some(name)) => (name, true),
            (None, None) => return Ok(None),
        };
        Ok(Some(Self {
            device: row.require(DEVICE)?,
            kernel: row.require(KERNEL)?,
            invocations: row.require(INVOCATIONS)?,
            name,
            average: row.require(AVERAGE)?,
            count: row.len(),
            events,
        }))
    }
}

/// Reads nvprof's CSV.
///
/// A kernel that ran on two devices yields two profiles. Metrics and events that are not defined
/// here are listed in [`Imported::ignored`].
///
/// # Errors
///
/// When a row does not fit its header, a figure is not a number, a counter overflowed, or two
/// rows contradict each other.
pub fn nvprof_csv(text: &str) -> Result<Imported, ImportError> {
    let mut columns: Option<Columns> = None;
    let mut order: Vec<(String, String)> = Vec::new();
    let mut kernels: BTreeMap<(String, String), (u64, Metrics)> = BTreeMap::new();
    let mut ignored = BTreeSet::new();

    for (index, line) in text.lines().enumerate() {
        if line.starts_with("==") || line.trim().is_empty() {
            continue;
        }
        // Before the first header stands the program's own output, whatever its quotes.
        if columns.is_none() && !line.contains(INVOCATIONS) {
            continue;
        }
        let row = Row::split(index + 1, line)?;
        if let Some(found) = Columns::of(&row)? {
            columns = Some(found);
            continue;
        }
        let Some(columns) = &columns else { continue };
        row.expect_len(columns.count)?;
        let name = row.field(columns.name);
        let is_known = |nvprof| !columns.events || matches!(nvprof, Nvprof::Event);
        let Some(metric) = definition(name).filter(|metric| is_known(metric.nvprof)) else {
            ignored.insert(name.to_owned());
            continue;
        };

        let invocations = invocations(&row, columns.invocations)?;
        let value = number::parse(name, row.field(columns.average))
            .map_err(|reason| row.error(columns.average, reason))?;
        let key = (row.field(columns.device).to_owned(), row.field(columns.kernel).to_owned());
        let (known_invocations, metrics) = kernels.entry(key.clone()).or_insert_with(|| {
            order.push(key.clone());
            (invocations, Metrics::new())
        });
        let conflict = |name: &str| Reason::Conflict { name: name.into(), kernel: key.1.clone() };
        if *known_invocations != invocations {
            return Err(row.error(columns.invocations, conflict(INVOCATIONS)));
        }
        let figure = MetricValue { value, unit: metric.unit, kind: kind(&key.0) };
        if metrics.insert(name.to_owned(), figure).is_some_and(|earlier| earlier != figure) {
            return Err(row.error(columns.average, conflict(name)));
        }
    }

    let whole = |reason| ImportError { position: Position::START, reason };
    if columns.is_none() {
        return Err(whole(Reason::NoHeader));
    }
    if order.is_empty() {
        return Err(whole(Reason::Empty));
    }
    let profiles = order
        .into_iter()
        .filter_map(|key| {
            let (invocations, metrics) = kernels.remove(&key)?;
            let (device, kernel) = key;
            let measured = kind(&device) == Kind::Measured;
            let measured_on = measured.then(|| library_name(&device));
            let measured_on = measured_on.filter(|name| !name.is_empty());
            Some(KernelProfile { kernel, invocations, measured_on, metrics })
        })
        .collect();
    Ok(Imported { profiles, ignored: ignored.into_iter().collect() })
}

fn invocations(row: &Row, index: usize) -> Result<u64, ImportError> {
    let text = row.field(index);
    let not_a_count = || Reason::NotANumber { name: INVOCATIONS.into(), text: text.into() };
    match text.trim().parse::<u64>() {
        Ok(0) | Err(_) => Err(row.error(index, not_a_count())),
        Ok(count) => Ok(count),
    }
}

/// The kind of a device's figures: files of [`crate::export`] say that theirs are modelled.
fn kind(device: &str) -> Kind {
    if device.contains(MODELLED_DEVICE) { Kind::Modelled } else { Kind::Measured }
}

/// The name of a device in GPU descriptions: `GeForce GTX 1060 6GB (0)` becomes `gtx-1060`.
fn library_name(device: &str) -> String {
    let model = device.rsplit_once(" (").map_or(device, |(model, _)| model);
    let lower = model.to_lowercase();
    lower
        .split_whitespace()
        .filter(|word| !matches!(*word, "nvidia" | "geforce") && !is_memory_size(word))
        .collect::<Vec<_>>()
        .join("-")
}

/// Returns true if a word of a product name is a memory size such as `6gb`.
fn is_memory_size(word: &str) -> bool {
    word.strip_suffix("gb")
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Number;

    const HEADER: &str = "\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\",\
                          \"Metric Description\",\"Min\",\"Max\",\"Avg\"";

    #[test]
    fn kernels_are_told_apart_and_averages_are_taken() {
        let text = format!(
            "==2085== NVPROF is profiling process 2085, command: ./sor\n\
             result \"unbalanced\n\
             ==2085== Metric result:\n{HEADER}\n\
             \"GeForce GTX 480 (0)\",\"sor(double*, int)\",4,\"inst_executed\",\"Instructions \
             Executed\",10,30,20\n\
             \"GeForce GTX 480 (0)\",\"sor(double*, int)\",4,\"warp_execution_efficiency\",\"x\",\
             78.20%,78.22%,78.21%\n\
             \"GeForce GTX 480 (0)\",\"init(int)\",1,\"inst_executed\",\"x\",7,7,7\n\
             \"GeForce GTX 480 (0)\",\"init(int)\",1,\"dram_utilization\",\"x\",\"High (9)\",\
             \"High (9)\",\"High (9)\"\n"
        );
        let imported = nvprof_csv(&text).unwrap();
        let [sor, init] = &imported.profiles[..] else { panic!("{imported:?}") };
        assert_eq!(sor.kernel, "sor(double*, int)");
        assert_eq!(sor.invocations, 4);
        assert_eq!(sor.measured_on.as_deref(), Some("gtx-480"));
        assert_eq!(sor.metrics["inst_executed"].value, Number::Count(20));
        assert_eq!(sor.metrics["warp_execution_efficiency"].value, Number::Real(78.21));
        assert_eq!(init.metrics.len(), 1);
        assert_eq!(imported.ignored, ["dram_utilization"]);
    }

    #[test]
    fn product_names_become_library_names() {
        assert_eq!(library_name("GeForce GTX 1060 6GB (0)"), "gtx-1060");
        assert_eq!(library_name("Tesla K20c (1)"), "tesla-k20c");
        assert_eq!(library_name("NVIDIA GeForce GTX 660"), "gtx-660");
    }

    #[test]
    fn errors_name_the_place_and_the_remedy() {
        let row = |rest: &str| format!("==1== banner\n{HEADER}\n\"G (0)\",\"k\",{rest}\n");
        let files = [
            "no table at all".to_owned(),
            format!("{HEADER}\n"),
            "\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\"\n".to_owned(),
            row("1,\"inst_executed\",\"x\",1,1,\"one\""),
            row("1,\"inst_executed\",\"x\",1,1,\"1,5\""),
            row("1,\"inst_executed\",\"x\",1,1,<OVERFLOW>"),
            row("1,\"inst_executed\",\"x\",1,1"),
            row("many,\"inst_executed\",\"x\",1,1,1"),
            row("1,\"inst_executed\",\"x,1,1,1"),
            row("1,\"inst_executed\",\"x\",1,1,1\n\"G (0)\",\"k\",2,\"inst_fp_32\",\"x\",1,1,1"),
            row("1,\"inst_executed\",\"x\",1,1,1\n\"G (0)\",\"k\",1,\"inst_executed\",\"x\",1,1,2"),
        ];
        let report: Vec<String> = files
            .iter()
            .map(|text| {
                let error = nvprof_csv(text).unwrap_err();
                format!("{error}\n  hint: {}", error.hint().unwrap_or_default())
            })
            .collect();
        insta::assert_snapshot!(report.join("\n"));
    }
}
