//! Samples of a file: measured times, and features from columns or from executing kernels.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_forecast::Kernel;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::cost_samples::{CostSample, Measured};
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{LaunchOptions, MachineChoice, MachineSettings};
use gpucast_model::cost_model::{Feature, Formula, Names, Sample};
use gpucast_model::{Gpu, GpuLibrary, Needs};
use gpucast_toolchain::compiler::plain_cuda;

use crate::cli::CalibrateCost;
use crate::failure::{Failure, Report, SourceText};
use crate::interrupt;
use crate::output::Terminal;
use crate::project;

/// The sources of the features' values.
pub(super) struct Gathering<'a> {
    pub(super) formula: &'a Formula,
    pub(super) names: &'a Names,
    pub(super) source: &'a SourceText,
    pub(super) library: &'a GpuLibrary,
    pub(super) gpu: &'a Gpu,
    pub(super) arguments: &'a CalibrateCost,
}

impl Gathering<'_> {
    /// The samples, in the file's order.
    pub(super) fn samples(&self, read: &[CostSample]) -> Result<Vec<Sample>, Failure> {
        // Kernels that are measured several times are executed once.
        let mut executed: BTreeMap<&Measured, Vec<f64>> = BTreeMap::new();
        let mut samples = Vec::new();
        for sample in read {
            let mut features = vec![None; self.formula.features().len()];
            for (feature, value) in &sample.features {
                let place = self.formula.features().iter().position(|one| one == feature);
                if let Some(place) = place {
                    features[place] = Some(*value);
                }
            }
            if features.contains(&None) {
                let Some(measured) = &sample.measured else {
                    return Err(self.lacks(sample, &features).into());
                };
                if !executed.contains_key(measured) {
                    executed.insert(measured, self.execute(sample, measured)?);
                }
                for (feature, value) in features.iter_mut().zip(&executed[measured]) {
                    feature.get_or_insert(*value);
                }
            }
            samples.push(Sample {
                name: sample.name.clone(),
                features: features.into_iter().map(Option::unwrap_or_default).collect(),
                output: sample.seconds,
            });
        }
        Ok(samples)
    }

    fn lacks(&self, sample: &CostSample, features: &[Option<f64>]) -> Report {
        let lacking = self.formula.features().iter().zip(features);
        let name = lacking
            .filter(|(_, value)| value.is_none())
            .map(|(feature, _)| feature.to_string())
            .next()
            .unwrap_or_default();
        let message = format!("this sample has no `{name}`, and no kernel to gather it from");
        self.source
            .report(sample.range.clone(), message)
            .hint("add a column for the feature, or a column `kernel`")
    }

    /// The features of a kernel, from executing it.
    fn execute(&self, sample: &CostSample, measured: &Measured) -> Result<Vec<f64>, Failure> {
        let folder = Path::new(&*self.source.name).parent().unwrap_or(Path::new(""));
        let beside = folder.join(&measured.kernel);
        let input = match beside.exists() {
            true => beside.to_string_lossy().into_owned(),
            false => measured.kernel.clone(),
        };
        let launch = LaunchOptions {
            size: measured.size,
            cuda: plain_cuda(interrupt::stop()),
            project: project::current(),
            ..LaunchOptions::default()
        };
        let reads_machine_code = self.formula.features().iter().any(Feature::reads_machine_code);
        let without = MachineSettings { machine: MachineChoice::None, ..Default::default() };
        let counts = Counts {
            machine: match reads_machine_code {
                true => (&self.arguments.machine).into(),
                false => without,
            },
            execution: (&self.arguments.execution).into(),
            needs: Needs::FEATURES,
            ..Counts::default()
        };
        let terminal = Terminal::without_notes(&self.arguments.execution)?;
        let kernel = Kernel::open(&input, &launch)?;
        // Features of PTX do not depend on the counting GPU; one that is not known to count will
        // do. The machine code is that of the GPU itself.
        let counting = reads_machine_code || gpu_argument::device_model(self.gpu).is_ok();
        let fallback = gpu_argument::find(self.library, "gtx-480")?;
        let counting_gpu = if counting { self.gpu } else { &fallback };
        let sources = kernel.count_with(counting_gpu, &counts, &terminal)?;
        let launches: Vec<_> = sources
            .iter()
            .filter_map(|source| source.conditions.evidence.features.as_deref())
            .flatten()
            .collect();
        let [(features, 1)] = launches.as_slice() else {
            let message =
                format!("{} makes several launches; a sample is the time of one", measured.kernel);
            return Err(self.source.report(sample.range.clone(), message).into());
        };
        let value = |feature: &Feature| {
            feature.value(features, self.names).map_err(|error| {
                self.source
                    .report(sample.range.clone(), error.to_string())
                    .hint(format!("{}, or give a column for the feature", error.hint()))
                    .into()
            })
        };
        self.formula.features().iter().map(value).collect()
    }
}
