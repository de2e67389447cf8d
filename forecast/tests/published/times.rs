//! The table of measured times beside those of each model, `docs/evidence/predicted-times.csv`.
//!
//! The program of `examples/evaluate` writes it and reads this file, too.

use std::fmt::Write;

use gpucast_model::conformal::{Kind, MeasuredError, TimeClass, back_end};

/// The models of the table, in the order of its columns.
pub(crate) const MODELS: [&str; 5] = [
    "sm-simulation",
    "interval",
    "component-throughput",
    "hierarchical-roofline",
    "quantitative-roofline",
];

/// A measured time and what the models say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Time {
    /// The set of times: `thesis`, `published`, `coulomb`, or a file of `corpus/measured`.
    pub(crate) set: String,
    /// The kernel with its parameters.
    pub(crate) kernel: String,
    /// The folder of the kernel in the corpus.
    pub(crate) family: String,
    pub(crate) gpu: String,
    /// The major number of the compute capability.
    pub(crate) capability: u32,
    /// `ptxas` or `rules`.
    pub(crate) machine: &'static str,
    /// What binds the simulated time; nothing where the simulation gives no interval.
    pub(crate) class: Option<TimeClass>,
    pub(crate) measured_ms: f64,
    /// The times of [`MODELS`], as far as they predict one.
    pub(crate) predicted_ms: [Option<f64>; MODELS.len()],
}

const FIRST_COLUMNS: &str = "set,kernel,family,gpu,capability,machine,bound_by,measured_ms";

/// The rows as CSV.
pub(crate) fn to_csv(times: &[Time]) -> String {
    let mut text = format!("{FIRST_COLUMNS},{}\n", MODELS.join(","));
    for time in times {
        let Time { set, kernel, family, gpu, capability, machine, .. } = time;
        // Lists of parameters are the only names with commas.
        let kernel = kernel.replace(',', ";");
        let class = time.class.map_or("", TimeClass::name);
        write!(
            text,
            "{set},{kernel},{family},{gpu},{capability},{machine},{class},{}",
            digits(time.measured_ms)
        )
        .unwrap();
        for predicted in time.predicted_ms {
            write!(text, ",{}", predicted.map_or_else(String::new, digits)).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Five digits: differences of a tenth of a percent show, and those of rounding do not.
fn digits(milliseconds: f64) -> String {
    let places = (4 - milliseconds.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{milliseconds:.places$}")
}

/// The rows of a text that [`to_csv`] wrote.
pub(crate) fn from_csv(text: &str) -> Vec<Time> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.records().map(|record| {
        let record = record.unwrap();
        let cell = |at: usize| record.get(at).unwrap().to_owned();
        let number = |at: usize| cell(at).parse::<f64>().ok();
        Time {
            set: cell(0),
            kernel: cell(1),
            family: cell(2),
            gpu: cell(3),
            capability: cell(4).parse().unwrap(),
            machine: back_end(&cell(5)).unwrap(),
            class: (!cell(6).is_empty()).then(|| cell(6).parse().unwrap()),
            measured_ms: number(7).unwrap(),
            predicted_ms: std::array::from_fn(|at| number(8 + at)),
        }
    });
    rows.collect()
}

impl Time {
    /// The error of the simulation, if its interval rests on such errors.
    pub(crate) fn error(&self) -> Option<MeasuredError> {
        let (class, capability, machine) = (self.class?, self.capability, Some(self.machine));
        Some(MeasuredError {
            family: self.family.clone(),
            gpu: self.gpu.clone(),
            kind: Kind { class, capability, machine },
            error: (self.measured_ms / self.predicted_ms[0]?).ln(),
        })
    }

    /// What tells it from other rows.
    pub(crate) fn key(&self) -> (String, String, String, String) {
        let Self { set, kernel, gpu, .. } = self;
        (set.clone(), self.machine.to_owned(), gpu.clone(), kernel.replace(',', ";"))
    }
}
