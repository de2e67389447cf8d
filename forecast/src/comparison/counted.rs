//! Predictions of measured times, with as few executions as their counts need.

use gpucast_model::{Conditions, Gpu, Warning};

use super::Row;
use super::times::{Launched, MeasuredTime, Origin};
use crate::choice::gpu_argument;
use crate::choice::model_choice::{self, Chosen};
use crate::input::kernel_argument::ReadFailure;
use crate::input::kernel_name;
use crate::run::counting::MOST_TOGETHER;
use crate::run::kernel::Kernel;
use crate::run::sources::{self, CountingGpu, Counts, Source};
use crate::run::supervisor::Supervisor;
use crate::settings::LaunchOptions;

/// The way in which kernels are executed and counted for a comparison.
pub struct Comparing<'a> {
    /// The machine code and the limits of each execution. A limit of time begins when it is called.
    pub counts: &'a dyn Fn() -> Counts,
    /// How kernels are read; each time says its size and parameters.
    pub launch: &'a LaunchOptions,
    /// Hears of progress and can end the comparison.
    pub supervisor: &'a dyn Supervisor,
}

/// A time whose counts are asked for, and the models that read them.
struct Wanted<'a> {
    time: &'a MeasuredTime,
    models: Vec<Chosen>,
}

/// The counts of a time, or why there are none; the outer error is one that no other kernel would
/// avoid.
type CountsOfTime = Result<Result<Vec<Source>, String>, ReadFailure>;

impl Comparing<'_> {
    /// A row for each time and model.
    ///
    /// # Errors
    ///
    /// A kernel that cannot be read or executed.
    pub fn rows(&self, times: &[MeasuredTime]) -> Result<Vec<Row>, ReadFailure> {
        // Times with the same counts are predicted together, and so are those of a few GPUs for
        // which a kernel is executed once: counts are large, and only those of one execution are
        // kept.
        let mut rows: Vec<Option<Vec<Row>>> = times.iter().map(|_| None).collect();
        for at in 0..times.len() {
            if rows[at].is_some() {
                continue;
            }
            let mut kinds: Vec<usize> = vec![at];
            for (other, time) in times.iter().enumerate().skip(at + 1) {
                let is_counted = |&kind: &usize| times[kind].counts.is_same(&time.counts);
                if kinds.len() < MOST_TOGETHER
                    && rows[other].is_none()
                    && times[at].counts.shares_execution(&time.counts)
                    && !kinds.iter().any(is_counted)
                {
                    kinds.push(other);
                }
            }
            let same = |kind: usize| {
                let same = move |other: &usize| times[*other].counts.is_same(&times[kind].counts);
                (0..times.len()).filter(same)
            };
            let asked: Vec<Wanted<'_>> = kinds
                .iter()
                .map(|&kind| {
                    let models = same(kind).flat_map(|other| times[other].models.clone());
                    Wanted { time: &times[kind], models: models.collect() }
                })
                .collect();
            let counted = self.count_each(&asked)?;
            for (&kind, sources) in kinds.iter().zip(counted) {
                let sources = sources?;
                for other in same(kind) {
                    let time = &times[other];
                    let of_time = time.models.iter().map(|model| row(time, &sources, model));
                    rows[other] = Some(of_time.collect());
                }
            }
        }
        Ok(rows.into_iter().flatten().flatten().collect())
    }

    /// The counts of one time, or of several that share an execution.
    fn count_each(&self, asked: &[Wanted<'_>]) -> Result<Vec<CountsOfTime>, ReadFailure> {
        let counting_gpu = |one: &Wanted<'_>| match &one.time.counts {
            Origin::Executed { counting_gpu, .. } => Some(Gpu::clone(counting_gpu)),
            Origin::File(_) | Origin::Published(_) | Origin::Nowhere => None,
        };
        let gpus: Vec<Gpu> = asked.iter().filter_map(counting_gpu).collect();
        let launched = match asked {
            [Wanted { time, .. }, _, ..] => match &time.counts {
                Origin::Executed { launched, .. } => launched,
                Origin::File(_) | Origin::Published(_) | Origin::Nowhere => return Ok(Vec::new()),
            },
            few => return Ok(few.iter().map(|wanted| self.count(wanted)).collect()),
        };
        let on = |(gpu, one)| on(gpu, one);
        let on: Vec<CountingGpu<'_>> = gpus.iter().zip(asked).map(on).collect();
        let each = self.open(launched)?.count_each(&on, &(self.counts)(), self.supervisor)?;
        Ok(each.into_iter().map(|counted| counted.map(Ok).map_err(ReadFailure::from)).collect())
    }

    /// The kernel of a time.
    fn open(&self, launched: &Launched) -> Result<Kernel, ReadFailure> {
        let Launched { input, size, parameters } = launched;
        let launch =
            LaunchOptions { size: *size, param: parameters.clone(), ..self.launch.clone() };
        Kernel::open(input, &launch)
    }

    fn count(&self, asked: &Wanted<'_>) -> CountsOfTime {
        let counted = match &asked.time.counts {
            Origin::Nowhere => return Ok(Err("the corpus has no such kernel".to_owned())),
            Origin::File(path) => sources::from_metrics(path, None).map_err(ReadFailure::from),
            Origin::Published(entry) => sources::from_publication(entry).map_err(ReadFailure::from),
            Origin::Executed { launched, counting_gpu } => {
                // Other rows may name GPUs that can count.
                if let Err(report) = gpu_argument::device_model(counting_gpu) {
                    return Ok(Err(report.message));
                }
                let CountingGpu { gpu, needs } = on(counting_gpu, asked);
                let counts = Counts { needs, ..(self.counts)() };
                self.open(launched)?
                    .count_with(gpu, &counts, self.supervisor)
                    .map_err(ReadFailure::from)
            }
        };
        // A fault of a kernel is worth the same words as in `predict`.
        counted.map(Ok)
    }
}

/// The GPU whose counters are modelled for a time, with what its models read.
fn on<'a>(gpu: &'a Gpu, asked: &Wanted<'_>) -> CountingGpu<'a> {
    CountingGpu { gpu, needs: model_choice::needs(&asked.models) }
}

fn row(time: &MeasuredTime, sources: &Result<Vec<Source>, String>, chosen: &Chosen) -> Row {
    let predicted = sources.as_ref().map_err(String::clone).and_then(|sources| {
        let source = launch(sources, time.function.as_deref())?;
        let gpu = time.gpu.as_ref().map_err(String::clone)?;
        let timing = time.timing.over(source.conditions.timing);
        let conditions = Conditions { timing, ..source.conditions.clone() };
        let predicted = chosen.predict(&source.profile, gpu, &conditions);
        predicted.map_err(|error| error.to_string())
    });
    let mut row = Row {
        kernel: time.label.clone(),
        gpu: time.gpu_name.clone(),
        model: chosen.model.name(),
        measured_ms: time.measured_ms,
        predicted_ms: None,
        error: None,
        source: time.source.clone(),
        declined_because: None,
        warning_codes: Vec::new(),
    };
    match predicted {
        Ok(prediction) => {
            row.model = prediction.model;
            row.predicted_ms = Some(prediction.time_ms);
            row.error = row.pair().map(|pair| pair.error());
            row.warning_codes = prediction.warnings.iter().map(Warning::code).collect();
        }
        Err(reason) => row.declined_because = Some(reason),
    }
    row
}

/// The launch that was measured.
fn launch<'a>(sources: &'a [Source], function: Option<&str>) -> Result<&'a Source, String> {
    match (sources, function) {
        ([source], None) => Ok(source),
        (_, None) => Err(format!(
            "it launches {} kernels; a column `function` says which one was measured",
            sources.len()
        )),
        (sources, Some(function)) => {
            let names: Vec<&str> =
                sources.iter().map(|source| source.profile.kernel.as_str()).collect();
            let meant = kernel_name::meant(function, &names);
            let mut meant = sources.iter().filter(|it| meant.contains(&it.profile.kernel.as_str()));
            match (meant.next(), meant.next()) {
                (Some(source), None) => Ok(source),
                (None, _) => Err(format!("it launches no kernel `{function}`")),
                (Some(_), Some(_)) => Err(format!("it launches `{function}` several times")),
            }
        }
    }
}
