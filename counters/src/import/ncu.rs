//! The CSV of Nsight Compute: long (`ncu --csv`) and wide (`ncu --csv --page raw`).
//!
//! The long form has a row per launch and metric. The wide form has a row per launch, a column per
//! metric, and the units in a row of their own. Nsight Compute lists every launch; launches of a
//! kernel are averaged here, as nvprof does.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{ImportError, Position, Reason};
use super::table::Row;
use super::{Imported, number};
use crate::definitions::{Formula, WORD, definitions, is_nsight_name, nsight_definition};
use crate::export::PROCESS;
use crate::metric::{Kind, MetricValue, Metrics};
use crate::profile::KernelProfile;

const ID: &str = "ID";
const PROCESS_NAME: &str = "Process Name";
const HOST_NAME: &str = "Host Name";
const KERNEL: &str = "Kernel Name";
const METRIC_NAME: &str = "Metric Name";
const METRIC_UNIT: &str = "Metric Unit";
const METRIC_VALUE: &str = "Metric Value";

/// Returns true if a line is a header of Nsight Compute's table.
pub(super) fn is_header(line: &str) -> bool {
    Row::split(1, line).is_ok_and(|row| row.find(ID).is_some() && row.find(KERNEL).is_some())
}

/// The figures of one launch, by Nsight Compute's names.
type Launch = BTreeMap<String, f64>;

/// The launches of the file by kernel, in the order of their first appearance.
#[derive(Default)]
struct Launches {
    order: Vec<String>,
    by_kernel: BTreeMap<String, BTreeMap<String, Launch>>,
    ignored: BTreeSet<String>,
    /// True if some launch is one of the process of [`crate::export`], which models.
    modelled: bool,
}

impl Launches {
    /// Takes one figure of one launch; `value` and `unit` are as printed.
    fn take(
        &mut self,
        (kernel, id): (&str, &str),
        metric: &str,
        unit: &str,
        value: &str,
    ) -> Result<(), Reason> {
        let launches = self.by_kernel.entry(kernel.to_owned()).or_insert_with(|| {
            self.order.push(kernel.to_owned());
            BTreeMap::new()
        });
        let launch = launches.entry(id.to_owned()).or_default();
        if !is_nsight_name(metric) {
            self.ignored.insert(metric.to_owned());
            return Ok(());
        }
        if nsight_definition(metric).is_some_and(|(definition, _)| definition.unit == WORD) {
            return Ok(());
        }
        // An empty cell of the wide form is a metric that was not collected for this launch.
        if value.is_empty() || value == "n/a" {
            return Ok(());
        }
        let value = number::parse(metric, value)?.as_f64() * scale(metric, unit)?;
        match launch.insert(metric.to_owned(), value) {
            Some(earlier) if earlier != value => {
                Err(Reason::Conflict { name: metric.into(), kernel: kernel.into() })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn profiles(mut self) -> Result<Imported, ImportError> {
        let kind = if self.modelled { Kind::Modelled } else { Kind::Measured };
        let profiles: Vec<KernelProfile> = self
            .order
            .iter()
            .filter_map(|kernel| {
                let launches = self.by_kernel.remove(kernel)?;
                Some(KernelProfile {
                    kernel: kernel.clone(),
                    invocations: launches.len() as u64,
                    // The CSV names a device by index and capability, not by product.
                    measured_on: None,
                    metrics: average(&launches, kind),
                })
            })
            .collect();
        if profiles.iter().all(|profile| profile.metrics.is_empty()) {
            return Err(ImportError { position: Position::START, reason: Reason::Empty });
        }
        Ok(Imported { profiles, ignored: self.ignored.into_iter().collect() })
    }
}

/// nvprof's metrics, averaged over the launches; a metric that some launch lacks is left out.
fn average(launches: &BTreeMap<String, Launch>, kind: Kind) -> Metrics {
    let mut metrics = Metrics::new();
    for metric in definitions() {
        let values: Option<Vec<f64>> = launches
            .values()
            .map(|launch| metric.read_from().find_map(|formula| evaluate(formula, launch)))
            .collect();
        let Some(values) = values else { continue };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let value = number::whole_if_exact(mean);
        metrics.insert(metric.name.to_owned(), MetricValue { value, unit: metric.unit, kind });
    }
    metrics
}

fn evaluate(formula: Formula, launch: &Launch) -> Option<f64> {
    formula.iter().map(|(name, factor)| launch.get(*name).map(|value| value * factor)).sum()
}

/// Units of time by the release of Nsight Compute, in nanoseconds.
const TIMES: [([&str; 2], f64); 4] = [
    (["ns", "nsecond"], 1.0),
    (["us", "usecond"], 1e3),
    (["ms", "msecond"], 1e6),
    (["s", "second"], 1e9),
];

/// The factor of a unit's decimal prefix: `Mbyte` is 10⁶ bytes, `Kinst` 10³ instructions.
fn scale(metric: &str, unit: &str) -> Result<f64, Reason> {
    const BASES: [&str; 15] = [
        "",
        "%",
        "byte",
        "inst",
        "instruction",
        "sector",
        "request",
        "thread",
        "warp",
        "cycle",
        "register",
        "block",
        "branches",
        "SM",
        "B",
    ];
    let unit = unit.trim();
    if let Some((_, nanoseconds)) = TIMES.iter().find(|(names, _)| names.contains(&unit)) {
        return Ok(*nanoseconds);
    }
    // Of a ratio such as `Kbyte/block` the first part is scaled, if any.
    let (counted, per) = unit.split_once('/').unwrap_or((unit, ""));
    if BASES.contains(&counted) {
        return Ok(1.0);
    }
    let factor = match counted.chars().next() {
        Some('K' | 'k') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        Some('T') => 1e12,
        _ => 0.0,
    };
    if factor > 0.0 && BASES.contains(&&counted[1..]) {
        Ok(factor)
    } else if !per.is_empty() {
        Ok(1.0)
    } else {
        Err(Reason::UnknownUnit { name: metric.into(), unit: unit.into() })
    }
}

/// Reads Nsight Compute's CSV, long or wide.
///
/// Metrics that are not defined here are listed in [`Imported::ignored`]. `measured_on` stays
/// empty: this CSV does not name the GPU.
///
/// # Errors
///
/// When a row does not fit the header, a figure is not a number, or its unit cannot be converted.
pub fn ncu_csv(text: &str) -> Result<Imported, ImportError> {
    let mut rows = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((index, header)) = rows.find(|(_, line)| is_header(line)) else {
        return Err(ImportError { position: Position::START, reason: Reason::NoHeader });
    };
    let header = Row::split(index + 1, header)?;
    let rows = rows
        .filter(|(_, line)| !line.starts_with("=="))
        .map(|(index, line)| Row::split(index + 1, line));
    if header.find(METRIC_NAME).is_some() { long(&header, rows) } else { wide(&header, rows) }
}

fn long(
    header: &Row,
    rows: impl Iterator<Item = Result<Row, ImportError>>,
) -> Result<Imported, ImportError> {
    let (id, kernel) = (header.require(ID)?, header.require(KERNEL)?);
    let name = header.require(METRIC_NAME)?;
    let (unit, value) = (header.require(METRIC_UNIT)?, header.require(METRIC_VALUE)?);
    let origin = [header.find(PROCESS_NAME), header.find(HOST_NAME)];
    let mut launches = Launches::default();
    for row in rows {
        let row = row?;
        row.expect_len(header.len())?;
        // Rows of advice (`Rule Name`) have no metric.
        if row.field(name).is_empty() {
            continue;
        }
        launches.modelled |= origin.iter().flatten().any(|&column| row.field(column) == PROCESS);
        launches
            .take(
                (row.field(kernel), row.field(id)),
                row.field(name),
                row.field(unit),
                row.field(value),
            )
            .map_err(|reason| row.error(value, reason))?;
    }
    launches.profiles()
}

fn wide(
    header: &Row,
    rows: impl Iterator<Item = Result<Row, ImportError>>,
) -> Result<Imported, ImportError> {
    let (id, kernel) = (header.require(ID)?, header.require(KERNEL)?);
    let origin = [header.find(PROCESS_NAME), header.find(HOST_NAME)];
    // Metrics have a dot or a double underscore in their names; launch properties have none.
    let metrics: Vec<(usize, &str)> = header
        .fields()
        .enumerate()
        .filter(|(_, name)| name.contains("__") || name.contains('.'))
        .collect();
    let mut units: Vec<String> = vec![String::new(); header.len()];
    let mut launches = Launches::default();
    for row in rows {
        let row = row?;
        row.expect_len(header.len())?;
        if row.field(id).is_empty() {
            units = row.fields().map(str::to_owned).collect();
            continue;
        }
        launches.modelled |= origin.iter().flatten().any(|&column| row.field(column) == PROCESS);
        for &(index, name) in &metrics {
            let unit = units.get(index).map_or("", String::as_str);
            launches
                .take((row.field(kernel), row.field(id)), name, unit, row.field(index))
                .map_err(|reason| row.error(index, reason))?;
        }
    }
    launches.profiles()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Number;

    const LONG_HEADER: &str = "\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\
                               \"Metric Name\",\"Metric Unit\",\"Metric Value\"";

    #[test]
    fn the_long_form_is_averaged_over_launches_and_units_are_converted() {
        let text = format!(
            "==PROF== Connected to process 12\nprogram output, \"odd\n{LONG_HEADER}\n\
             \"0\",\"12\",\"axpy\",\"\",\"smsp__inst_executed.sum\",\"inst\",\"1,000\"\n\
             \"0\",\"12\",\"axpy\",\"\",\"dram__bytes_read.sum\",\"Mbyte\",\"1.5\"\n\
             \"1\",\"12\",\"axpy\",\"\",\"smsp__inst_executed.sum\",\"inst\",\"2,000\"\n\
             \"1\",\"12\",\"axpy\",\"\",\"dram__bytes_read.sum\",\"Kbyte\",\"500\"\n\
             \"1\",\"12\",\"axpy\",\"\",\"sm__no_such.sum\",\"odd\",\"5\"\n\
             \"0\",\"12\",\"axpy\",\"\",\"gpu__time_duration.sum\",\"usecond\",\"5.5\"\n\
             \"1\",\"12\",\"axpy\",\"\",\"gpu__time_duration.sum\",\"ns\",\"4500\"\n\
             \"1\",\"12\",\"axpy\",\"\",\"launch__func_cache_config\",\"\",\"CachePreferNone\"\n\
             \"1\",\"12\",\"axpy\",\"\",\"launch__sm_count\",\"SM\",\"40\"\n\
             ==PROF== Disconnected\n"
        );
        let imported = ncu_csv(&text).unwrap();
        let [axpy] = &imported.profiles[..] else { panic!("{imported:?}") };
        assert_eq!(axpy.invocations, 2);
        assert_eq!(axpy.metrics["inst_executed"].value, Number::Count(1500));
        assert_eq!(axpy.metrics["dram_read_bytes"].value, Number::Count(1_000_000));
        assert_eq!(axpy.metrics["gpu_time"].value, Number::Count(5000));
        assert_eq!(axpy.metrics["gpu_time"].kind, Kind::Measured);
        assert_eq!(imported.ignored, ["sm__no_such.sum"]);
    }

    #[test]
    fn the_wide_form_has_its_units_in_a_row_and_sums_follow_the_vendors_formula() {
        let text = "\"ID\",\"Kernel Name\",\"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum\",\
                    \"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum\",\
                    \"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum\",\
                    \"sm__warps_active.avg.pct_of_peak_sustained_active\"\n\
                    \"\",\"\",\"inst\",\"inst\",\"Kinst\",\"%\"\n\
                    \"0\",\"a(float*, int)\",\"5\",\"7\",\"10\",\"50.0\"\n\
                    \"1\",\"b\",\"0\",\"0\",\"0\",\"n/a\"\n";
        let imported = ncu_csv(text).unwrap();
        let [a, b] = &imported.profiles[..] else { panic!("{imported:?}") };
        assert_eq!(a.kernel, "a(float*, int)");
        assert_eq!(a.metrics["flop_count_sp_fma"].value, Number::Count(10_000));
        assert_eq!(a.metrics["flop_count_sp"].value, Number::Count(20_012));
        assert_eq!(a.metrics["achieved_occupancy"].value, Number::Real(0.5));
        assert_eq!(b.metrics["flop_count_sp"].value, Number::Count(0));
        assert!(!b.metrics.contains_key("achieved_occupancy"));
    }

    #[test]
    fn a_metric_that_one_launch_lacks_is_left_out_rather_than_averaged_over_fewer() {
        let text = format!(
            "{LONG_HEADER}\n\
             \"0\",\"1\",\"k\",\"\",\"smsp__inst_executed.sum\",\"inst\",\"1\"\n\
             \"0\",\"1\",\"k\",\"\",\"dram__sectors_read.sum\",\"sector\",\"8\"\n\
             \"1\",\"1\",\"k\",\"\",\"smsp__inst_executed.sum\",\"inst\",\"1\"\n"
        );
        let imported = ncu_csv(&text).unwrap();
        assert!(!imported.profiles[0].metrics.contains_key("dram_read_transactions"));
    }

    #[test]
    fn errors_name_the_place_and_the_remedy() {
        let row = |rest: &str| format!("{LONG_HEADER}\n\"0\",\"1\",\"k\",\"\",{rest}\n");
        let files = [
            "==PROF== nothing here".to_owned(),
            format!("{LONG_HEADER}\n"),
            "\"ID\",\"Kernel Name\",\"Metric Name\"\n".to_owned(),
            row("\"smsp__inst_executed.sum\",\"inst\",\"9,00\""),
            row("\"smsp__inst_executed.sum\",\"furlong\",\"9\""),
            row("\"smsp__inst_executed.sum\",\"ÄB\",\"9\""),
            row("\"smsp__inst_executed.sum\",\"inst\",\"(!) 9\""),
            row("\"smsp__inst_executed.sum\",\"inst\""),
            row("\"some__unknown.sum\",\"inst\",\"9\""),
        ];
        let report: Vec<String> = files
            .iter()
            .map(|text| {
                let error = ncu_csv(text).unwrap_err();
                format!("{error}\n  hint: {}", error.hint().unwrap_or_default())
            })
            .collect();
        insta::assert_snapshot!(report.join("\n"));
    }
}
