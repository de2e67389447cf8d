//! Counts and predictions of corpus kernels.

use gpucast_counters::metric::Number;
use gpucast_forecast::run::sources::{Counts, Source};
use gpucast_forecast::settings::{MachineChoice, MachineSettings, Size};
use gpucast_forecast::{Alone, Failure, Kernel, LaunchOptions};
use gpucast_model::{GpuLibrary, Needs};

/// The counts of a corpus kernel's first launch, as those of a GPU.
pub(crate) fn counted(kernel: &str, launch: &LaunchOptions, gpu: &str, counts: &Counts) -> Source {
    let gpu = GpuLibrary::builtin().unwrap().get(gpu).unwrap();
    let sources = Kernel::open(kernel, launch)
        .map_err(Failure::from)
        .and_then(|it| it.count_with(&gpu, counts, &Alone));
    let sources = sources.unwrap_or_else(|failure| panic!("{kernel}: {failure}"));
    sources.into_iter().next().unwrap_or_else(|| panic!("{kernel} has no launch"))
}

/// Settings by which machine instructions come from `machine`.
pub(crate) fn counts(machine: MachineChoice, needs: Needs) -> Counts {
    let machine = MachineSettings { machine, ..MachineSettings::default() };
    Counts { machine, needs, ..Counts::default() }
}

/// The launch of a size.
pub(crate) fn sized(size: Size) -> LaunchOptions {
    LaunchOptions { size: Some(size), ..LaunchOptions::default() }
}

/// The metrics of a launch.
pub(crate) struct Metrics {
    kernel: String,
    source: Source,
}

impl Metrics {
    pub(crate) fn of(kernel: &str, source: Source) -> Self {
        Self { kernel: kernel.to_owned(), source }
    }

    /// A metric; a mean over invocations need not be whole.
    pub(crate) fn real(&self, metric: &str) -> f64 {
        self.value(metric).as_f64()
    }

    /// A count.
    pub(crate) fn count(&self, metric: &str) -> u64 {
        match self.value(metric) {
            Number::Count(count) => count.try_into().unwrap(),
            Number::Real(real) => panic!("{}: {metric} is {real}, no count", self.kernel),
        }
    }

    pub(crate) fn sum(&self, metrics: &[&str]) -> u64 {
        metrics.iter().map(|metric| self.count(metric)).sum()
    }

    #[track_caller]
    pub(crate) fn check(&self, expected: &[(&str, u64)]) {
        for &(metric, value) in expected {
            assert_eq!(self.count(metric), value, "{}: {metric}", self.kernel);
        }
    }

    fn value(&self, metric: &str) -> Number {
        let metrics = &self.source.profile.metrics;
        let figure = metrics.get(metric);
        figure.unwrap_or_else(|| panic!("{}: {metric} is missing", self.kernel)).value
    }
}
