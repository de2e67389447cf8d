//! Times that were published of corpus kernels: those of the thesis, and those that others
//! measured.

mod printed;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use gpucast_corpus::published::{MEASURED, SETS, TIMES};
use gpucast_counters::KernelProfile;
use gpucast_counters::import::metrics_toml;
use gpucast_model::gpu::Clock;
use gpucast_model::{Timing, error_fraction};
use serde::{Deserialize, Serialize};

use printed::Printed;

/// The file of the thesis's times.
#[derive(Deserialize)]
struct Thesis {
    times: Vec<ThesisTime>,
}

#[derive(Deserialize)]
struct ThesisTime {
    table: String,
    kernel: String,
    gpu: String,
    measured_ms: f64,
}

/// The file of the times that others measured.
#[derive(Deserialize)]
struct Others {
    /// The PTX that was measured, if it is not the one that a launch file names: `sm_80`.
    arch: Option<String>,
    sources: BTreeMap<String, String>,
    times: Vec<OtherTime>,
}

#[derive(Deserialize)]
struct OtherTime {
    /// A corpus kernel.
    kernel: String,
    gpu: String,
    source: String,
    /// The clock of the SMs, if the source tells it: `base`, `boost`, or megahertz.
    clock: Option<String>,
    /// The way of measuring, if the source tells it, as `--timing` names it.
    timing: Option<String>,
    /// Parameters of the corpus's launch file.
    #[serde(default)]
    param: BTreeMap<String, f64>,
    #[serde(flatten)]
    printed: Printed,
}

/// A published measurement beside a prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Milliseconds, of all invocations.
    pub measured_ms: f64,
    /// The relative error of the prediction, eq. 5.12.
    pub error: f64,
    /// Place of publication.
    pub source: String,
}

/// A time that a paper or a report printed, or that was measured for the corpus.
pub struct Published {
    /// The set of times that it belongs to.
    pub set: &'static str,
    /// The corpus kernel, if it has one.
    pub entry: Option<&'static str>,
    /// Name of the kernel in the source.
    pub kernel: String,
    /// The GPU that was measured.
    pub gpu: String,
    /// Milliseconds, of all invocations.
    pub measured_ms: f64,
    /// Place of publication.
    pub source: String,
    /// True if the thesis printed it, with a prediction of its own.
    pub is_of_thesis: bool,
    /// The clock of the SMs, if it is known.
    pub clock: Option<Clock>,
    /// The way of measuring, if it is known.
    pub timing: Option<Timing>,
    /// Parameters of the corpus's launch file that are not the usual ones.
    pub parameters: Vec<(String, f64)>,
    /// The corpus kernel's PTX that was measured, if it is known and not the usual one.
    pub arch: Option<String>,
}

impl Published {
    /// The corpus kernel, or the source's name for one that the corpus lacks, with the parameters.
    pub fn label(&self) -> String {
        let name = self.entry.unwrap_or(&self.kernel);
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        match parameters.as_slice() {
            [] => name.to_owned(),
            parameters => format!("{name} ({})", parameters.join(", ")),
        }
    }
}

/// All published times: the thesis's, then the others'.
pub fn times() -> &'static [Published] {
    static ALL: LazyLock<Vec<Published>> = LazyLock::new(read);
    &ALL
}

/// The times that were measured for the corpus.
pub fn measured_here() -> Vec<Published> {
    SETS.iter().flat_map(|(set, text)| others(set, text)).collect()
}

fn read() -> Vec<Published> {
    // A test makes sure that both files can be read completely.
    let thesis = toml::from_str(TIMES).unwrap_or(Thesis { times: Vec::new() });
    let of_thesis = |time: ThesisTime| Published {
        set: THESIS_SET,
        entry: entry_of_thesis(&time.kernel),
        source: format!("Konstantinidis 2017, table {}", time.table),
        is_of_thesis: true,
        kernel: time.kernel,
        gpu: time.gpu,
        measured_ms: time.measured_ms,
        clock: None,
        timing: None,
        parameters: Vec::new(),
        arch: None,
    };
    let thesis = thesis.times.into_iter().map(of_thesis);
    thesis.chain(others(OTHERS_SET, MEASURED)).collect()
}

/// The set of the thesis's times.
const THESIS_SET: &str = "thesis";

/// The set of the times that others measured and printed.
const OTHERS_SET: &str = "published";

/// The times of a file of measurements.
fn others(set: &'static str, text: &str) -> Vec<Published> {
    // A test makes sure that all files can be read completely.
    let others: Others = toml::from_str(text).unwrap_or(Others {
        arch: None,
        sources: BTreeMap::new(),
        times: Vec::new(),
    });
    let of_others = |time: OtherTime| {
        Some(Published {
            set,
            entry: Some(gpucast_corpus::find(&time.kernel)?.name),
            source: others.sources.get(&time.source)?.clone(),
            is_of_thesis: false,
            // A kernel has one name for its times and for its counts.
            kernel: name_in_thesis(&time.kernel).unwrap_or(time.kernel),
            gpu: time.gpu,
            measured_ms: time.printed.milliseconds()?,
            clock: time.clock.map(|text| text.parse()).transpose().ok()?,
            timing: time.timing.map(|text| text.parse()).transpose().ok()?,
            parameters: time.param.into_iter().collect(),
            arch: others.arch.clone(),
        })
    };
    others.times.into_iter().filter_map(of_others).collect()
}

/// The corpus kernel of a name that the thesis uses.
fn entry_of_thesis(kernel: &str) -> Option<&'static str> {
    let entries = gpucast_corpus::entries().iter();
    let mut named = entries.filter(|entry| name_in_thesis(entry.name).as_deref() == Some(kernel));
    named.next().map(|entry| entry.name)
}

/// Returns the thesis's name for a corpus kernel.
fn name_in_thesis(corpus_name: &str) -> Option<String> {
    let text = gpucast_corpus::published::metrics(corpus_name)?;
    metrics_toml(text).ok().map(|profile| profile.kernel)
}

/// The name under which a corpus kernel's times are published.
pub fn name_of_entry(corpus_name: &str) -> Option<String> {
    name_in_thesis(corpus_name).or_else(|| {
        let of_others = |time: &&Published| time.entry == Some(corpus_name);
        times().iter().find(of_others).map(|time| time.kernel.clone())
    })
}

/// The name under which times are published for exactly these counts.
pub fn name_of_profile(profile: &KernelProfile) -> Option<String> {
    gpucast_corpus::entries()
        .iter()
        .filter_map(|entry| metrics_toml(entry.published?).ok())
        .any(|published| published == *profile)
        .then(|| profile.kernel.clone())
}

/// The measured time of a published kernel on a GPU, in milliseconds, with its source. It is of
/// the launch as the corpus has it.
pub fn measured(name: &str, gpu: &str) -> Option<(f64, String)> {
    let is_it =
        |time: &&Published| time.kernel == name && time.gpu == gpu && time.parameters.is_empty();
    times().iter().find(is_it).map(|time| (time.measured_ms, time.source.clone()))
}

/// The measurement that a prediction can be held against.
pub fn measurement(name: &str, gpu: &str, predicted_ms: f64) -> Option<Measurement> {
    let (measured_ms, source) = measured(name, gpu)?;
    Some(Measurement { measured_ms, error: error_fraction(predicted_ms, measured_ms), source })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gpucast_model::GpuLibrary;

    use crate::Kernel;
    use crate::settings::LaunchOptions;

    use super::*;

    #[test]
    fn a_corpus_kernel_finds_its_times_although_the_paper_calls_it_otherwise() {
        let name = name_of_entry("sor-red-black").unwrap();
        assert_eq!(name, "sor");
        let (milliseconds, source) = measured(&name, "gtx-660").unwrap();
        assert_eq!((milliseconds, &*source), (34.851, "Konstantinidis 2017, table 5.9"));
        assert_eq!(name_of_entry("vector-add"), None);
        // Its counts stand in a table, its time in the text.
        let name = name_of_entry("nearest-neighbour").unwrap();
        assert_eq!(name, "nn-euc");
        assert!((measured(&name, "gtx-480").unwrap().0 - 0.00742).abs() < 1e-12);
    }

    #[test]
    fn every_time_is_read_and_has_a_kernel_a_gpu_and_a_source() {
        let thesis: Thesis = toml::from_str(TIMES).unwrap();
        let others: Others = toml::from_str(MEASURED).unwrap();
        let used: BTreeSet<&str> = others.times.iter().map(|time| &*time.source).collect();
        let known: BTreeSet<&str> = others.sources.keys().map(String::as_str).collect();
        assert_eq!(used, known);
        let times = times();
        assert_eq!(times.len(), thesis.times.len() + others.times.len());
        let library = GpuLibrary::builtin().unwrap();
        for time in times {
            assert!(library.get(&time.gpu).is_ok(), "{}", time.gpu);
            assert!(time.measured_ms > 0.0, "{} on {}", time.kernel, time.gpu);
        }
        let pairs: BTreeSet<_> = times.iter().map(|time| (&time.kernel, &time.gpu)).collect();
        assert_eq!(pairs.len(), times.len(), "a kernel has one time on a GPU");
    }

    #[test]
    fn a_rate_becomes_the_time_of_the_corpus_launch() {
        let name = name_of_entry("stream-copy").unwrap();
        let (milliseconds, source) = measured(&name, "gtx-980-ti").unwrap();
        assert_eq!(format!("{milliseconds:.2}"), "2.04");
        assert!(source.starts_with("GPU-STREAM 2.0"));
    }

    #[test]
    fn times_of_other_sizes_have_launches_of_their_own() {
        let of_other_sizes: Vec<&Published> =
            times().iter().filter(|time| !time.parameters.is_empty()).collect();
        assert_eq!(of_other_sizes.len(), 7);
        for time in of_other_sizes {
            let options =
                LaunchOptions { param: time.parameters.clone(), ..LaunchOptions::default() };
            assert!(Kernel::open(time.entry.unwrap(), &options).is_ok(), "{}", time.label());
        }
        // The usual launch has no time on this GPU.
        assert_eq!(measured("n-body", "rtx-3080"), None);
        let on_the_same = |time: &&Published| time.gpu == "rtx-3080" && time.kernel == "n-body";
        let time = times().iter().find(on_the_same).unwrap();
        assert_eq!(time.label(), "n-body (bodies = 69632, others = 15360)");
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
