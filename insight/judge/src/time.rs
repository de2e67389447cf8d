//! Both sides' predicted times on a GPU, and their ratio.
//!
//! Each time has an interval that 4 of 5 measured kernels lie in. The interval of the ratio takes
//! the two errors as independent: squares of half widths add up, in logarithms. What the model gets
//! wrong of both alike makes the truth narrower than that.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_advice::place::Places;
use gpucast_advice::{Depth, Item, Known, advise};
use gpucast_buffers::init::Init;
use gpucast_counters::Metrics;
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::model_choice::{self, Models};
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::prediction::protocol::Protocol;
use gpucast_forecast::prediction::together::totals;
use gpucast_forecast::prediction::{KernelView, predict};
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::run::sources::{self, Counts, Launched};
use gpucast_forecast::{Failure, Supervisor};
use gpucast_model::{AskedTiming, Bound, Gpu, duration};

/// How times are predicted.
#[derive(Clone, Copy)]
pub struct Forecast<'a> {
    /// The GPU.
    pub gpu: &'a Gpu,
    /// The models: the GPU's default one.
    pub models: &'a Models,
    /// The GPU whose counters are modelled.
    pub count_on: &'a CountOn,
    /// How launches are counted.
    pub counts: &'a Counts,
    /// The way of measuring.
    pub timing: AskedTiming,
}

/// The predicted time of a side: of all its launches together.
#[derive(Clone, Debug, PartialEq)]
pub struct SideTime {
    /// The time in milliseconds.
    pub time_ms: f64,
    /// The same for people.
    pub text: String,
    /// The ends of the interval that 4 of 5 measured times lie in, if there is one.
    pub interval_ms: Option<[f64; 2]>,
    /// The model.
    pub model: &'static str,
    /// What binds the longest launch.
    pub bound: Bound,
    /// How the time would have to be measured.
    pub measured_as: Protocol,
    /// Origin of the counts of the longest launch.
    pub origin: String,
}

/// The times of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The GPU.
    pub gpu: String,
    /// The reference's.
    pub reference: SideTime,
    /// The candidate's.
    pub candidate: SideTime,
    /// The reference's time over the candidate's.
    pub speed_up: f64,
    /// The ends of its interval, if both times have one by the same model.
    pub interval: Option<[f64; 2]>,
}

/// What the interval of a ratio says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// All of it is above one.
    Faster,
    /// All of it is below one.
    Slower,
    /// One lies inside, or there is no interval.
    Neither,
}

impl Times {
    pub(crate) fn new(gpu: &str, reference: SideTime, candidate: SideTime) -> Self {
        let is_of_one = reference.model == candidate.model;
        let ends = reference.interval_ms.zip(candidate.interval_ms).filter(|_| is_of_one);
        Self {
            gpu: gpu.to_owned(),
            speed_up: reference.time_ms / candidate.time_ms,
            interval: ends.map(|(reference, candidate)| ratio(reference, candidate)),
            reference,
            candidate,
        }
    }

    /// Which side is faster, if the interval decides.
    #[must_use]
    pub fn decided(&self) -> Decided {
        match self.interval {
            Some([low, _]) if low > 1.0 => Decided::Faster,
            Some([_, high]) if high < 1.0 => Decided::Slower,
            _ => Decided::Neither,
        }
    }
}

/// The interval of the ratio of two numbers of which each has one.
fn ratio(above: [f64; 2], below: [f64; 2]) -> [f64; 2] {
    let centre = |[low, high]: [f64; 2]| (low * high).ln() / 2.0;
    let half = |[low, high]: [f64; 2]| (high / low).ln() / 2.0;
    let middle = centre(above) - centre(below);
    let half = half(above).hypot(half(below));
    [(middle - half).exp(), (middle + half).exp()]
}

/// A side that is predicted: its launches with their first contents.
pub(crate) struct Predicted<'a> {
    pub(crate) plan: Plan,
    pub(crate) loaded: &'a Loaded,
    kernels: Vec<KernelView>,
    launched: Vec<Launched>,
}

/// A plan whose buffers hold what the first run gave them.
pub(crate) fn filled(plan: &Plan, contents: &[(usize, Arc<[u8]>)]) -> Plan {
    let mut plan = plan.clone();
    for (buffer, bytes) in contents {
        plan.buffers[*buffer].init = Init::Bytes(Arc::clone(bytes));
    }
    plan
}

/// A metric of operations that PTX asks for. An assembler loads constants by multiply-adds of half
/// precision, which compute nothing.
fn operations_of(counted: &Metrics, on_ptx: Option<&Metrics>, name: &str) -> f64 {
    let of = |metrics: &Metrics| metrics.get(name).map_or(0.0, |metric| metric.value.as_f64());
    match on_ptx {
        Some(on_ptx) if of(on_ptx) == 0.0 => 0.0,
        _ => of(counted),
    }
}

impl<'a> Predicted<'a> {
    /// Counts and predicts.
    pub(crate) fn new(
        plan: Plan,
        loaded: &'a Loaded,
        forecast: &Forecast<'_>,
        supervisor: &dyn Supervisor,
    ) -> Result<Self, Failure> {
        let chosen = forecast.models.of(forecast.gpu);
        let needs = model_choice::needs(&chosen);
        let counts = Counts { needs, ..forecast.counts.clone() };
        let counting_gpu = forecast.count_on.of(forecast.gpu, &chosen);
        let mut launched = sources::launched(&plan, loaded, counting_gpu, &counts, supervisor)?;
        let launches = launched.len();
        let gpus = std::slice::from_ref(forecast.gpu);
        let mut kernels = Vec::new();
        for (launch, one) in launched.iter_mut().enumerate() {
            one.source.ask(forecast.timing);
            let view = predict(forecast.models, &one.source, gpus, None, &[])?;
            kernels.push(KernelView { launch, launches, ..view });
        }
        Ok(Self { plan, loaded, kernels, launched })
    }

    /// Why the GPU refuses a launch, if it does.
    pub(crate) fn refusal(&self) -> Option<String> {
        let mut predictions = self.kernels.iter().flat_map(|kernel| &kernel.predictions);
        predictions.find_map(|view| view.prediction.refusal())
    }

    /// The time of all launches; `None` if some launch has no prediction.
    pub(crate) fn time(&self) -> Option<SideTime> {
        let longest = self.longest()?;
        let kernel = &self.kernels[longest];
        let view = kernel.predictions.first()?;
        let prediction = &view.prediction;
        let side = SideTime {
            time_ms: prediction.time_ms,
            text: prediction.time_text(),
            interval_ms: prediction.interval.as_ref().map(|it| [it.low_ms, it.high_ms]),
            model: prediction.model,
            bound: prediction.bound,
            measured_as: view.measured_as,
            origin: kernel.origin.clone(),
        };
        if self.kernels.len() == 1 {
            return Some(side);
        }
        let total = totals(&self.kernels).into_iter().next()?;
        let (time_ms, interval_ms) = (total.time_ms, total.interval_ms);
        let measured_as = total.measured_as;
        Some(SideTime { time_ms, text: duration(time_ms), interval_ms, measured_as, ..side })
    }

    /// The sum of a metric of operations over all launches.
    pub(crate) fn operations(&self, name: &str) -> f64 {
        let of = |one: &Launched| {
            let profile = &one.counted.profile;
            let on_ptx = profile.machine.as_ref().map(|_| &profile.ptx_metrics);
            operations_of(&profile.metrics, on_ptx, name) * profile.invocations as f64
        };
        self.launched.iter().map(of).sum()
    }

    /// The first advice on the longest launch.
    pub(crate) fn advice(
        &self,
        files: &BTreeMap<u32, CudaFile>,
        gpu: &Gpu,
    ) -> Result<Option<Item>, Failure> {
        let Some(longest) = self.longest() else { return Ok(None) };
        let places = Places { files, loaded: self.loaded };
        let predictions = &self.kernels[longest].predictions;
        let known = Known { predictions, depth: Depth::OneModel };
        let launched = &self.launched[longest];
        let advice = advise(&self.plan, places, launched, longest, gpu, known)?;
        Ok(advice.items.into_iter().next())
    }

    fn longest(&self) -> Option<usize> {
        let time = |kernel: &KernelView| Some(kernel.predictions.first()?.prediction.time_ms);
        let times: Option<Vec<f64>> = self.kernels.iter().map(time).collect();
        let times = times?;
        (0..times.len()).max_by(|&one, &other| times[one].total_cmp(&times[other]))
    }
}

#[cfg(test)]
mod tests {
    use gpucast_counters::{Kind, MetricValue, Number};

    use super::*;

    #[test]
    fn operations_that_no_ptx_asks_for_are_none() {
        let metrics = |value| -> Metrics {
            let value = Number::Count(value);
            let kind = Kind::Modelled;
            [("flops".to_owned(), MetricValue { value, unit: "operation", kind })].into()
        };
        // Constants that an assembler loads, operations that it has fused, and a kernel without
        // machine code.
        assert_eq!(operations_of(&metrics(4096), Some(&metrics(0)), "flops"), 0.0);
        assert_eq!(operations_of(&metrics(4096), Some(&metrics(2048)), "flops"), 4096.0);
        assert_eq!(operations_of(&metrics(4096), None, "flops"), 4096.0);
        assert_eq!(operations_of(&metrics(4096), None, "others"), 0.0);
    }

    #[test]
    fn half_widths_of_a_ratio_add_as_squares() {
        let close = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-12;
        // exp(±3) and exp(±4) around their centres: exp(±5) around the ratio.
        let around = |centre: f64, half: f64| [centre * (-half).exp(), centre * half.exp()];
        let [low, high] = ratio(around(6.0, 3.0), around(2.0, 4.0));
        assert!(close(low, 3.0 * (-5.0_f64).exp()) && close(high, 3.0 * 5.0_f64.exp()));
        assert_eq!(ratio([2.0, 2.0], [1.0, 1.0]), [2.0, 2.0]);
    }
}
