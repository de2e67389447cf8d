//! Times that papers measured, for the corpus kernels.

use gpucast_corpus::published::TIMES;
use gpucast_counters::KernelProfile;
use gpucast_counters::import::metrics_toml;
use gpucast_model::error_fraction;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Times {
    times: Vec<Time>,
}

#[derive(Deserialize)]
struct Time {
    table: String,
    kernel: String,
    gpu: String,
    measured_ms: f64,
}

/// A published measurement beside a prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Measurement {
    /// Milliseconds, of all invocations.
    pub(crate) measured_ms: f64,
    /// The relative error of the prediction, eq. 5.12.
    pub(crate) error: f64,
    /// Where it is printed.
    pub(crate) source: String,
}

/// A time that a paper printed.
pub(crate) struct Published {
    /// The corpus kernel, if it has one.
    pub(crate) entry: Option<&'static str>,
    /// What the paper calls the kernel.
    pub(crate) kernel: String,
    pub(crate) gpu: String,
    /// Milliseconds, of all invocations.
    pub(crate) measured_ms: f64,
    /// Where it is printed.
    pub(crate) source: String,
}

/// All published times.
pub(crate) fn times() -> Vec<Published> {
    // The corpus' own tests make sure that the file can be read.
    let times: Times = toml::from_str(TIMES).unwrap_or(Times { times: Vec::new() });
    let published = |time: Time| {
        let is_its = |entry: &&gpucast_corpus::Entry| {
            name_of_entry(entry.name).is_some_and(|name| name == time.kernel)
        };
        Published {
            entry: gpucast_corpus::entries().iter().find(is_its).map(|entry| entry.name),
            source: source(&time.table),
            kernel: time.kernel,
            gpu: time.gpu,
            measured_ms: time.measured_ms,
        }
    };
    times.times.into_iter().map(published).collect()
}

fn source(table: &str) -> String {
    format!("Konstantinidis 2017, table {table}")
}

/// The name under which a corpus kernel's times are published.
pub(crate) fn name_of_entry(corpus_name: &str) -> Option<String> {
    let text = gpucast_corpus::published::metrics(corpus_name)?;
    metrics_toml(text).ok().map(|profile| profile.kernel)
}

/// The name under which times are published for exactly these counts.
pub(crate) fn name_of_profile(profile: &KernelProfile) -> Option<String> {
    gpucast_corpus::entries()
        .iter()
        .filter_map(|entry| metrics_toml(entry.published?).ok())
        .any(|published| published == *profile)
        .then(|| profile.kernel.clone())
}

/// The measured time of a published kernel on a GPU, in milliseconds, with its source.
pub(crate) fn measured(name: &str, gpu: &str) -> Option<(f64, String)> {
    // The corpus' own tests make sure that the file can be read.
    let times: Times = toml::from_str(TIMES).ok()?;
    let time = times.times.into_iter().find(|time| time.kernel == name && time.gpu == gpu)?;
    Some((time.measured_ms, source(&time.table)))
}

/// The measurement that a prediction can be held against.
pub(crate) fn measurement(name: &str, gpu: &str, predicted_ms: f64) -> Option<Measurement> {
    let (measured_ms, source) = measured(name, gpu)?;
    Some(Measurement { measured_ms, error: error_fraction(predicted_ms, measured_ms), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_kernel_finds_its_times_although_the_paper_calls_it_otherwise() {
        let name = name_of_entry("sor-red-black").unwrap();
        assert_eq!(name, "sor");
        let (milliseconds, source) = measured(&name, "gtx-660").unwrap();
        assert_eq!((milliseconds, &*source), (34.851, "Konstantinidis 2017, table 5.9"));
        assert_eq!(name_of_entry("vector-add"), None);
    }

    #[test]
    fn other_counts_under_the_same_name_get_no_measurement() {
        let mut profile =
            metrics_toml(gpucast_corpus::published::metrics("sgemm").unwrap()).unwrap();
        assert_eq!(name_of_profile(&profile).as_deref(), Some("sgemm"));
        profile.invocations = 2;
        assert_eq!(name_of_profile(&profile), None);
    }
}
