//! Predictions beside measurements, and their errors by the papers' formulas.

mod counted;
mod times;

use gpucast_model::agreement::{Pair, Summary, rank_correlation};
use serde::Serialize;

pub use counted::Comparing;
pub use times::{MeasuredTime, TimeChoice};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "gpucast.comparison/1";

/// One measured time and a model's prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The kernel, as its measurement names it.
    pub kernel: String,
    /// The GPU.
    pub gpu: String,
    /// The model.
    pub model: &'static str,
    /// The measured time in milliseconds.
    pub measured_ms: f64,
    /// The predicted time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_ms: Option<f64>,
    /// Equation 5.12 of the thesis, a fraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Place at which the time is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Reason why there is no prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declined_because: Option<String>,
    /// The codes of the prediction's warnings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warning_codes: Vec<&'static str>,
}

impl Row {
    /// Both times, if there are two.
    pub fn pair(&self) -> Option<Pair> {
        Some(Pair { predicted: self.predicted_ms?, measured: self.measured_ms })
    }
}

/// The errors of one group of rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The model.
    pub model: &'static str,
    /// `kernel`, `gpu`, or `all`.
    pub by: &'static str,
    /// The kernel or the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The errors.
    #[serde(flatten)]
    pub summary: Summary,
    /// The rank correlation over the kernels of a GPU: whether the prediction would choose well
    /// among them. Other groups have none, as a better GPU is faster with any model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_correlation: Option<f64>,
}

/// Rows and their errors in groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    schema: &'static str,
    /// A row for each time and model.
    pub rows: Vec<Row>,
    /// Errors of each model, each kernel, each GPU, and all.
    pub groups: Vec<Group>,
}

impl Comparison {
    /// Rows with the errors of their groups.
    pub fn new(rows: Vec<Row>) -> Self {
        let mut groups = Vec::new();
        for model in distinct(rows.iter().map(|row| row.model)) {
            let of_model = || rows.iter().filter(move |row| row.model == model);
            let mut add = |by, name: Option<&str>, rows: &mut dyn Iterator<Item = &Row>| {
                let pairs: Vec<Pair> = rows.filter_map(Row::pair).collect();
                groups.extend(Summary::of(&pairs).map(|summary| Group {
                    model,
                    by,
                    name: name.map(str::to_owned),
                    summary,
                    rank_correlation: (by == "gpu").then(|| rank_correlation(&pairs)).flatten(),
                }));
            };
            for kernel in distinct(of_model().map(|row| row.kernel.as_str())) {
                add("kernel", Some(kernel), &mut of_model().filter(|row| row.kernel == kernel));
            }
            for gpu in distinct(of_model().map(|row| row.gpu.as_str())) {
                add("gpu", Some(gpu), &mut of_model().filter(|row| row.gpu == gpu));
            }
            add("all", None, &mut of_model());
        }
        Self { schema: SCHEMA, rows, groups }
    }

    /// The models, in the order of their first rows.
    pub fn models(&self) -> Vec<&'static str> {
        distinct(self.rows.iter().map(|row| row.model))
    }
}

/// Each value once, in the order of their first occurrence.
pub fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}
