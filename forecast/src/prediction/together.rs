//! The launches of a KERNEL together.

use gpucast_model::timing::MeasuredLaunches;
use gpucast_model::{Gpu, ModelError, Prediction, TimeInterval, Timing};
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

/// The milliseconds of launches in their order: what one measurement around all of them shows, if
/// there is one, or else their sum.
///
/// # Errors
///
/// When the GPU lacks a figure of the way of measuring.
pub(crate) fn shown_ms(
    timing: Option<Timing>,
    gpu: &Gpu,
    launches: &[MeasuredLaunches],
) -> Result<f64, ModelError> {
    let around = match timing {
        Some(timing) => timing.around_all_ms(gpu, launches)?,
        None => None,
    };
    Ok(around.unwrap_or_else(|| launches.iter().map(|launch| launch.time_ms).sum()))
}

/// The sum of launches as their way of measuring shows it; `None` if the GPU lacks a figure.
fn total<'a>(launches: &[Launch<'a>]) -> Option<Total<'a>> {
    let Launch { kernel, view } = launches.first()?;
    let times = launches.iter().map(|launch| MeasuredLaunches {
        time_ms: launch.view.prediction.time_ms,
        launches: launch.kernel.profile.invocations,
    });
    let times: Vec<MeasuredLaunches> = times.collect();
    let time_ms = shown_ms(view.measured_as.timing.timing(), &view.gpu, &times).ok()?;
    // An end of all is as far away as those of the launches are on average. They hold the part of
    // the measurement each, so that the interval is a little too wide rather than too narrow.
    let end = |end: fn(&TimeInterval) -> f64| -> Option<f64> {
        let predictions = launches.iter().map(|launch| &launch.view.prediction);
        let ends = predictions.map(|prediction| prediction.interval.as_ref().map(end));
        let ends: f64 = ends.sum::<Option<f64>>()?;
        Some(time_ms * ends / times.iter().map(|time| time.time_ms).sum::<f64>())
    };
    Some(Total {
        argument: kernel.argument,
        gpu: &view.prediction.gpu,
        model: view.prediction.model,
        launches: launches.len(),
        time_ms,
        interval_ms: end(|interval| interval.low_ms)
            .zip(end(|interval| interval.high_ms))
            .map(<[f64; 2]>::from),
        measured_as: view.measured_as,
    })
}
