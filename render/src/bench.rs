//! Speeds of the executor as text, JSON and CSV.

use gpucast_forecast::Report;
use gpucast_forecast::number;
use gpucast_forecast::run::bench::{Bench, Measurement, Way};
use serde::Serialize;
use serde_json::json;

use super::table::{Align, aligned};
use crate::Format;

/// A time beside those that it is compared with.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    measurement: &'a Measurement,
    median_s: f64,
    spread: f64,
    thread_instructions_per_s: f64,
    /// Its time over that of a run that counts nothing, on as many threads.
    over_run: Option<f64>,
    /// Its time over that of the same way in turns that record nothing; `None` of these.
    over_unrecorded: Option<f64>,
    /// The time on one thread over its time; `None` on one thread.
    speedup: Option<f64>,
}

/// A kernel with its times.
#[derive(Serialize)]
struct Kernel<'a> {
    kernel: &'a str,
    thread_instructions: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_slice_because: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_classes_because: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_sample_because: Option<&'a str>,
    measurements: Vec<Row<'a>>,
}

impl<'a> Kernel<'a> {
    fn of(bench: &'a Bench) -> Self {
        Self {
            kernel: &bench.kernel,
            thread_instructions: bench.thread_instructions,
            no_slice_because: bench.no_slice_because.as_deref(),
            no_classes_because: bench.no_classes_because.as_deref(),
            no_sample_because: bench.no_sample_because.as_deref(),
            measurements: rows(bench),
        }
    }
}

/// The times in the format asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(benches: &[Bench], format: Format) -> Result<String, Report> {
    match format {
        Format::Text => Ok(text(benches)),
        Format::Csv => csv(benches),
        Format::Json => {
            let kernels: Vec<_> = benches.iter().map(Kernel::of).collect();
            super::json::document(&json!({ "schema": "gpucast.bench/1", "kernels": kernels }))
        }
    }
}

fn rows(bench: &Bench) -> Vec<Row<'_>> {
    bench.measurements.iter().map(|measurement| row(bench, measurement)).collect()
}

fn row<'a>(bench: &'a Bench, measurement: &'a Measurement) -> Row<'a> {
    let Measurement { way, records, threads, .. } = *measurement;
    let several = threads > 1;
    let run = bench.of(Way::Run, false, several).filter(|_| way != Way::Run);
    let unrecorded = bench.of(way, false, several).filter(|_| records);
    let alone = bench.of(way, records, false).filter(|_| several);
    let median_s = measurement.median();
    Row {
        measurement,
        median_s,
        spread: measurement.spread(),
        thread_instructions_per_s: bench.thread_instructions as f64 / median_s,
        over_run: run.map(|run| measurement.over(run)),
        over_unrecorded: unrecorded.map(|unrecorded| measurement.over(unrecorded)),
        speedup: alone.map(|alone| alone.over(measurement)),
    }
}

fn csv(benches: &[Bench]) -> Result<String, Report> {
    let header = [
        "kernel",
        "thread_instructions",
        "way",
        "records",
        "threads",
        "rounds",
        "median_s",
        "spread",
        "thread_instructions_per_s",
        "over_run",
        "over_unrecorded",
        "speedup",
    ];
    let plain = |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| ratio.to_string());
    let mut lines = Vec::new();
    for bench in benches {
        for row in rows(bench) {
            lines.push(vec![
                bench.kernel.clone(),
                bench.thread_instructions.to_string(),
                row.measurement.way.name().to_owned(),
                row.measurement.records.to_string(),
                row.measurement.threads.to_string(),
                row.measurement.seconds.len().to_string(),
                row.median_s.to_string(),
                row.spread.to_string(),
                row.thread_instructions_per_s.to_string(),
                plain(row.over_run),
                plain(row.over_unrecorded),
                plain(row.speedup),
            ]);
        }
    }
    super::csv::document(&header, &lines)
}

fn text(benches: &[Bench]) -> String {
    use Align::{Left, Right};
    let records =
        benches.iter().flat_map(|bench| &bench.measurements).any(|measurement| measurement.records);
    let mut columns = vec![Left, Left, Right, Right, Right, Right, Right, Right];
    let mut header =
        vec!["kernel", "way", "threads", "median", "spread", "G/s", "over run", "over one thread"];
    if records {
        columns.push(Right);
        header.push("over unrecorded");
    }
    let mut table = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    let ratio = |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| format!("{ratio:.2} ×"));
    for bench in benches {
        for (index, row) in rows(bench).iter().enumerate() {
            let kernel = if index == 0 { bench.kernel.clone() } else { String::new() };
            let recorded = if row.measurement.records { ", recorded" } else { "" };
            let mut cells = vec![
                kernel,
                format!("{}{recorded}", row.measurement.way.name()),
                row.measurement.threads.to_string(),
                format!("{} ms", number::real(row.median_s * 1e3)),
                format!("{:.0} %", row.spread * 100.0),
                format!("{:.2}", row.thread_instructions_per_s / 1e9),
                ratio(row.over_run),
                ratio(row.speedup),
            ];
            cells.extend(records.then(|| ratio(row.over_unrecorded)));
            table.push(cells);
        }
    }
    let mut text = aligned(0, &columns, &table);
    text += "\nrun: everything is computed, nobody counts; full: everything is computed and counted;\n\
             slice: everything is counted, and computed as far as counts depend on it;\n\
             classes: the same, computed for one CTA of each class\n\
             sample: all counts are estimated from a sample of the CTAs\n\
             G/s: billions of the launch's thread instructions per second; over run: time beside a\n\
             run on as many threads; over one thread: speed beside the same way on one thread\n";
    if records {
        text += "recorded: the order of events in some CTAs is recorded as well, as sm-simulation needs it;\n\
                 over unrecorded: time beside the same way without that, in the same rounds\n";
    }
    for bench in benches {
        if let Some(because) = &bench.no_slice_because {
            text += &format!("{} has no slice: {because}\n", bench.kernel);
        } else if let Some(because) = &bench.no_classes_because {
            text += &format!("{} has no classes: {because}\n", bench.kernel);
        }
        if let Some(because) = &bench.no_sample_because {
            text += &format!("{} has no sample: {because}\n", bench.kernel);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_beside_those_they_are_compared_with() {
        let turn = |way, records, threads, seconds: [f64; 3]| Measurement {
            way,
            records,
            threads,
            seconds: seconds.to_vec(),
        };
        let measured = |way, threads, seconds| turn(way, false, threads, seconds);
        let benches = [
            Bench {
                kernel: "sgemm".to_owned(),
                thread_instructions: 2_000_000_000,
                no_slice_because: None,
                no_classes_because: None,
                no_sample_because: None,
                measurements: vec![
                    measured(Way::Run, 1, [1.0, 1.1, 1.0]),
                    measured(Way::Full, 1, [1.5, 1.65, 1.5]),
                    measured(Way::Slice, 1, [0.5, 0.55, 0.5]),
                    measured(Way::Classes, 1, [0.1, 0.11, 0.1]),
                    measured(Way::Run, 2, [0.5, 0.55, 0.6]),
                    measured(Way::Full, 2, [0.75, 0.8, 0.75]),
                    measured(Way::Slice, 2, [0.25, 0.25, 0.25]),
                    measured(Way::Classes, 2, [0.05, 0.05, 0.06]),
                ],
            },
            Bench {
                kernel: "histogram".to_owned(),
                thread_instructions: 1_000_000,
                no_slice_because: Some("line 4 reads what other CTAs write".to_owned()),
                no_classes_because: None,
                no_sample_because: None,
                measurements: vec![
                    measured(Way::Run, 1, [0.001, 0.001, 0.001]),
                    measured(Way::Full, 1, [0.002, 0.002, 0.002]),
                ],
            },
        ];
        insta::assert_snapshot!("bench-text", document(&benches, Format::Text).unwrap());
        insta::assert_snapshot!("bench-csv", document(&benches, Format::Csv).unwrap());
        let recording = Bench {
            kernel: "spmv".to_owned(),
            measurements: vec![
                measured(Way::Run, 1, [1.0, 2.0, 1.0]),
                measured(Way::Full, 1, [1.5, 3.0, 1.5]),
                turn(Way::Full, true, 1, [1.8, 3.6, 1.8]),
            ],
            ..benches[1].clone()
        };
        let recorded = document(&[recording], Format::Text).unwrap();
        insta::assert_snapshot!("bench-recorded", recorded);
    }
}
