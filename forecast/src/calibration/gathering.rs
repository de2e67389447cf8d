//! Samples of a file: measured times, and features from columns or from executing kernels.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_model::cost_model::{Feature, Formula, Names, Sample};
use gpucast_model::{Gpu, GpuLibrary, Needs};

use crate::choice::gpu_argument;
use crate::failure::{Report, SourceText};
use crate::input::cost_samples::{CostSample, Measured};
use crate::input::kernel_argument::ReadFailure;
use crate::run::kernel::Kernel;
use crate::run::sources::Counts;
use crate::run::supervisor::Supervisor;
use crate::settings::{LaunchOptions, MachineChoice, MachineSettings};

/// The sources of the features' values.
pub struct Gathering<'a> {
    /// The formula whose features are gathered.
    pub formula: &'a Formula,
    /// The names that its features use.
    pub names: &'a Names,
    /// The file of samples.
    pub source: &'a SourceText,
    /// The GPUs, one of which counts where the measured one cannot.
    pub library: &'a GpuLibrary,
    /// The measured GPU.
    pub gpu: &'a Gpu,
    /// The machine code and the limits of each execution. A limit of time begins when it is called.
    pub counts: &'a dyn Fn() -> Counts,
    /// How kernels are read; each sample says its size.
    pub launch: &'a LaunchOptions,
    /// Hears of progress and can end the executions.
    pub supervisor: &'a dyn Supervisor,
}

impl Gathering<'_> {
    /// The samples, in the file's order.
    ///
    /// # Errors
    ///
    /// A sample without a feature and without a kernel, and a kernel that cannot be executed.
    pub fn samples(&self, read: &[CostSample]) -> Result<Vec<Sample>, ReadFailure> {
        // Kernels that are measured several times are executed once.
        let mut executed: BTreeMap<&Measured, Vec<f64>> = BTreeMap::new();
        let mut samples = Vec::new();
        for sample in read {
            let mut features = vec![None; self.formula.features().len()];
            for (feature, value) in &sample.features {
                let place = self.formula.features().iter().position(|known| known == feature);
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
    fn execute(&self, sample: &CostSample, measured: &Measured) -> Result<Vec<f64>, ReadFailure> {
        let folder = Path::new(&*self.source.name).parent().unwrap_or(Path::new(""));
        let beside = folder.join(&measured.kernel);
        let input = match beside.exists() {
            true => beside.to_string_lossy().into_owned(),
            false => measured.kernel.clone(),
        };
        let launch = LaunchOptions { size: measured.size, ..self.launch.clone() };
        let reads_machine_code = self.formula.features().iter().any(Feature::reads_machine_code);
        let asked = (self.counts)();
        let machine = match reads_machine_code {
            true => asked.machine.clone(),
            false => MachineSettings { machine: MachineChoice::None, ..Default::default() },
        };
        let counts = Counts { machine, needs: Needs::FEATURES, ..asked };
        let kernel = Kernel::open(&input, &launch)?;
        // Features of PTX do not depend on the counting GPU; one that is not known to count will
        // do. The machine code is that of the GPU itself.
        let counting = reads_machine_code || gpu_argument::device_model(self.gpu).is_ok();
        let fallback = gpu_argument::find(self.library, "gtx-480")?;
        let counting_gpu = if counting { self.gpu } else { &fallback };
        let sources = kernel.count_with(counting_gpu, &counts, self.supervisor)?;
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
