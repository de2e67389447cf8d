//! The launches of a KERNEL together.

use gpucast_model::Prediction;
use gpucast_model::timing::MeasuredLaunches;
use serde::Serialize;

use super::KernelView;

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
}

/// The totals where there are several launches, and a model predicts all of them. One pair of
/// events stands around all launches.
#[must_use]
pub fn totals(kernels: &[KernelView]) -> Vec<Total<'_>> {
    let mut totals: Vec<Total<'_>> = Vec::new();
    for kernel in kernels {
        let argument = kernel.argument;
        for view in &kernel.predictions {
            let Prediction { gpu, model, time_ms, .. } = &view.prediction;
            let same = |one: &&mut Total<'_>| {
                (one.argument, one.gpu, one.model) == (argument, gpu.as_str(), *model)
            };
            match totals.iter_mut().find(same) {
                Some(total) => {
                    total.launches += 1;
                    total.time_ms += time_ms;
                }
                None => {
                    totals.push(Total { argument, gpu, model, launches: 1, time_ms: *time_ms });
                }
            }
        }
    }
    totals.retain(|total| {
        let of_argument = kernels.iter().filter(|kernel| kernel.argument == total.argument);
        let launches = of_argument.map(|kernel| kernel.launches).max().unwrap_or(1);
        launches > 1 && total.launches == launches
    });
    totals.into_iter().filter_map(|total| measured_together(total, kernels)).collect()
}

/// A total as one measurement around all launches shows it; `None` if the GPU lacks a figure.
fn measured_together<'a>(total: Total<'a>, kernels: &[KernelView]) -> Option<Total<'a>> {
    let of_argument = kernels.iter().filter(|kernel| kernel.argument == total.argument);
    let mut timing = None;
    let mut launches = Vec::new();
    for kernel in of_argument {
        let Some(view) = kernel.predictions.iter().find(|view| {
            (view.prediction.gpu.as_str(), view.prediction.model) == (total.gpu, total.model)
        }) else {
            continue;
        };
        timing = view.measured_as.map(|timing| (timing, &view.gpu));
        launches.push(MeasuredLaunches {
            time_ms: view.prediction.time_ms,
            launches: kernel.profile.invocations,
        });
    }
    let Some((timing, gpu)) = timing else { return Some(total) };
    let time_ms = timing.around_all_ms(gpu, &launches).ok()?.unwrap_or(total.time_ms);
    Some(Total { time_ms, ..total })
}
