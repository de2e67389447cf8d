//! The launches of a KERNEL together.

use gpucast_model::timing::MeasuredLaunches;
use gpucast_model::{Prediction, TimeInterval};
use serde::Serialize;

use super::protocol::Protocol;
use super::{KernelView, PredictionView};

/// The times of all launches of a KERNEL on a GPU by a model, added up.
#[derive(Clone, Debug, Serialize)]
pub struct Total<'a> {
    /// The place of the KERNEL among those of the command, from 0 on.
    pub argument: usize,
    /// The GPU.
    pub gpu: &'a str,
    /// The model.
    pub model: &'static str,
    /// Launches.
    pub launches: usize,
    /// The time in milliseconds.
    pub time_ms: f64,
    /// The ends of its interval, if each launch has one: all of them are as much shorter or longer
    /// at once as theirs may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<[f64; 2]>,
    /// How all of it would have to be measured.
    pub measured_as: Protocol,
}

/// The totals where there are several launches, and a model predicts all of them. One measurement
/// stands around all launches, where it does so around one.
#[must_use]
pub fn totals(kernels: &[KernelView]) -> Vec<Total<'_>> {
    let mut groups: Vec<Vec<Launch<'_>>> = Vec::new();
    for kernel in kernels {
        for view in &kernel.predictions {
            let launch = Launch { kernel, view };
            match groups.iter_mut().find(|group| group.iter().any(|other| other.goes_with(&launch)))
            {
                Some(group) => group.push(launch),
                None => groups.push(vec![launch]),
            }
        }
    }
    let is_complete = |group: &Vec<Launch<'_>>| {
        let argument = group.first().map(|group| group.kernel.argument);
        let of_argument = kernels.iter().filter(|kernel| Some(kernel.argument) == argument);
        let launches = of_argument.map(|kernel| kernel.launches).max().unwrap_or(1);
        launches > 1 && group.len() == launches
    };
    groups.iter().filter(|group| is_complete(group)).filter_map(|group| total(group)).collect()
}

/// A launch of a KERNEL and a prediction of it.
#[derive(Clone, Copy)]
struct Launch<'a> {
    kernel: &'a KernelView,
    view: &'a PredictionView,
}

impl Launch<'_> {
    /// True if both are launches of one KERNEL, on one GPU and by one model.
    fn goes_with(&self, other: &Self) -> bool {
        let key = |one: &Self| {
            let Prediction { gpu, model, .. } = &one.view.prediction;
            (one.kernel.argument, gpu.clone(), *model)
        };
        key(self) == key(other)
    }
}

/// The sum of launches as their way of measuring shows it; `None` if the GPU lacks a figure.
fn total<'a>(launches: &[Launch<'a>]) -> Option<Total<'a>> {
    let Launch { kernel, view } = launches.first()?;
    let shown = |time: &dyn Fn(&Prediction) -> Option<f64>| -> Option<f64> {
        let times = launches.iter().map(|launch| {
            let time_ms = time(&launch.view.prediction)?;
            Some(MeasuredLaunches { time_ms, launches: launch.kernel.profile.invocations })
        });
        let times: Vec<MeasuredLaunches> = times.collect::<Option<_>>()?;
        let around = match view.measured_as.timing.timing() {
            Some(timing) => timing.around_all_ms(&view.gpu, &times).ok()?,
            None => None,
        };
        Some(around.unwrap_or_else(|| times.iter().map(|time| time.time_ms).sum()))
    };
    let end = |end: fn(&TimeInterval) -> f64| {
        shown(&|prediction: &Prediction| prediction.interval.as_ref().map(end))
    };
    Some(Total {
        argument: kernel.argument,
        gpu: &view.prediction.gpu,
        model: view.prediction.model,
        launches: launches.len(),
        time_ms: shown(&|prediction: &Prediction| Some(prediction.time_ms))?,
        interval_ms: end(|interval| interval.low_ms)
            .zip(end(|interval| interval.high_ms))
            .map(<[f64; 2]>::from),
        measured_as: view.measured_as,
    })
}
